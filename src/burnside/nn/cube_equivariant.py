"""A residual value network whose value the symmetries of the cube cannot change (an MDP-homomorphic network).

The group permutes the one-hot inputs, entry (sticker, colour), and the hidden layers are channels of the regular
representation: feature (g, c), on which k acts by (kg, c). Linear maps that commute with the group share weights over
the orbits of index pairs (:class:`burnside.nn.OrbitLinear`); since the group acts freely on itself, orbits are numbered
by g⁻¹h, and each layer is a group convolution: the shared weights are written out as a matrix once, and used as any
other. Normalisation shares its statistics over the group and the value is a sum over it, so f(g·s) = f(s) up to the
rounding of float32.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from burnside.envs.cube.geometry import inverse_elements, products
from burnside.envs.cube.symmetry import CubeSymmetry
from burnside.nn._torch import torch
from burnside.nn.layers import Initializer
from burnside.nn.residual import MemberNorm, ResidualValue

__all__ = ["EquivariantValue", "GroupLinear", "LiftLinear", "PoolLinear"]


class LiftLinear(torch.nn.Module):
    """From inputs to the regular representation: ``y[g, c] = Σᵢ w[g⁻¹·i, c] x[i] + b[c]``.

    >>> from burnside.envs.cube import CubeSpec
    >>> layer = LiftLinear(CubeSymmetry(CubeSpec(2)), 3, Initializer([0]))
    >>> layer.weight.shape, layer.dense()[0].shape
    (torch.Size([1, 144, 3]), torch.Size([1, 144, 72]))
    """

    index: torch.Tensor

    def __init__(self, symmetry: CubeSymmetry, channels: int, init: Initializer) -> None:
        """A layer for every member of ``init``; initialised as ``torch.nn.Linear``."""
        super().__init__()
        on_inputs = symmetry.on_inputs
        self.order, self.channels, inputs = len(on_inputs), channels, on_inputs.shape[1]
        back = on_inputs[inverse_elements()[: self.order]]  # back[g, i] = g⁻¹·i
        self.register_buffer("index", torch.from_numpy(back.T.ravel().copy()), persistent=False)
        bound = 1.0 / math.sqrt(inputs)
        self.weight = torch.nn.Parameter(init.uniform((inputs, channels), bound))
        self.bias = torch.nn.Parameter(init.uniform((channels,), bound))

    def dense(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The matrix ``(members, inputs, |G|·channels)`` and the bias."""
        members, inputs, _ = self.weight.shape
        return self.weight[:, self.index].reshape(members, inputs, -1), self.bias.repeat(1, self.order)


class GroupLinear(torch.nn.Module):
    """From the regular representation to itself: ``y[g, c] = Σ w[g⁻¹h, d, c] x[h, d] + b[c]``.

    >>> layer = GroupLinear(24, 5, 3, Initializer([0]))
    >>> layer.weight.shape, layer.dense()[0].shape
    (torch.Size([1, 24, 5, 3]), torch.Size([1, 120, 72]))
    """

    index: torch.Tensor

    def __init__(self, order: int, inputs: int, outputs: int, init: Initializer) -> None:
        """Channels in and out; ``order`` is 24 or 48."""
        super().__init__()
        self.order = order
        table = products()[:order, :order]
        quotient = table[inverse_elements()[:order]].T  # [h, g] = g⁻¹h
        self.register_buffer("index", torch.from_numpy(np.ascontiguousarray(quotient)), persistent=False)
        bound = 1.0 / math.sqrt(order * inputs)
        self.weight = torch.nn.Parameter(init.uniform((order, inputs, outputs), bound))
        self.bias = torch.nn.Parameter(init.uniform((outputs,), bound))

    def dense(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The matrix ``(members, |G|·inputs, |G|·outputs)`` and the bias."""
        members, order, inputs, outputs = self.weight.shape
        written = self.weight[:, self.index].permute(0, 1, 3, 2, 4)  # (members, h, d, g, c)
        return written.reshape(members, order * inputs, order * outputs), self.bias.repeat(1, order)


class PoolLinear(torch.nn.Module):
    """A sum over the group, then a linear map: invariant.

    It is a mean over the group up to the scale of the weights, and that scale matters: with the mean, Adam moves the
    value |G| times more slowly than in a network without sharing, and does not get anywhere in a few hundred updates.
    The weights begin √|G| times smaller than those of a network without sharing, because a sum of |G| equal weights
    spreads √|G| times as far as one of independent ones: otherwise some seeds begin 9 below the targets and spend
    half of their training on the way back.

    >>> PoolLinear(24, 5, Initializer([0])).dense()[0].shape
    torch.Size([1, 120, 1])
    """

    def __init__(self, order: int, inputs: int, init: Initializer) -> None:
        """From ``inputs`` channels to one number."""
        super().__init__()
        self.order = order
        self.weight = torch.nn.Parameter(init.uniform((inputs, 1), 1.0 / (order * math.sqrt(inputs))))
        self.bias = torch.nn.Parameter(init.uniform((1,), 1.0 / math.sqrt(order * inputs)))

    def dense(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The matrix ``(members, |G|·inputs, 1)`` and the bias."""
        return self.weight.repeat(1, self.order, 1), self.bias


class EquivariantValue(ResidualValue):
    """:class:`ResidualValue` with orbit-shared weights; hidden layers have at least ``hidden`` units.

    >>> from burnside.envs.cube import CubeSpec, apply_moves, solved
    >>> symmetry = CubeSymmetry(CubeSpec(3), "conjugation+mirror")
    >>> net = EquivariantValue(symmetry, (96, 48), 1, Initializer([0])).eval()
    >>> state = apply_moves(CubeSpec(3), solved(CubeSpec(3)), "R U F' L")
    >>> values = net(torch.from_numpy(symmetry.act(np.arange(48), state))[None])
    >>> bool((values - values[0, 0]).abs().max() < 1e-6)
    True
    """

    def __init__(self, symmetry: CubeSymmetry, hidden: tuple[int, int], blocks: int, init: Initializer) -> None:
        """A network for every member of ``init``; ``symmetry`` must permute the inputs."""
        self.symmetry = symmetry
        super().__init__(symmetry.spec, hidden, blocks, init)

    def _channels(self, width: int) -> int:
        return -(-width // self.symmetry.base)

    def _layers(self, widths: list[int], init: Initializer) -> list[torch.nn.Module]:
        order, channels = self.symmetry.base, [self._channels(width) for width in widths[1:]]
        first = LiftLinear(self.symmetry, channels[0], init)
        return [first, *(GroupLinear(order, a, b, init) for a, b in pairwise(channels))]

    def _norms(self, widths: list[int], members: int) -> list[torch.nn.Module]:
        order = self.symmetry.base
        return [MemberNorm(self._channels(width), members, order) for width in widths[1:]]

    def _out(self, width: int, init: Initializer) -> torch.nn.Module:
        return PoolLinear(self.symmetry.base, self._channels(width), init)
