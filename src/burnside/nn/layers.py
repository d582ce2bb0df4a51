"""Layers with a leading member axis: parameters ``(members, …)``, inputs ``(members, batch, …)``.

Members never mix: entry ``m`` of the output depends on entry ``m`` of the input and of the parameters alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from burnside._random import Stream, uniform
from burnside.nn._torch import torch

__all__ = ["BatchConv3d", "BatchLinear", "Initializer"]


class Initializer:
    """Draws parameters for many members from the counter-based stream INIT of their seeds.

    A member's parameters are a function of its seed and of the order in which the layers are made, never of the other
    members. The compiled learners draw in the same order: both begin with the same network.

    >>> draws = Initializer([7, 3])
    >>> both, alone = draws.uniform((2, 2), 1.0), Initializer([3]).uniform((2, 2), 1.0)
    >>> bool((both[1] == alone[0]).all()), bool((both[0] == both[1]).any())
    (True, False)
    """

    def __init__(self, seeds: Sequence[int]) -> None:
        """One member per seed."""
        self.seeds = np.asarray(seeds, dtype=np.uint64)
        self.counter = 0

    @property
    def members(self) -> int:
        """How many."""
        return len(self.seeds)

    def uniform(self, shape: Sequence[int], bound: float) -> torch.Tensor:
        """Uniform numbers in ±bound, shape ``(members, *shape)``, float32."""
        count = math.prod(shape)
        counters = np.arange(self.counter, self.counter + count)
        self.counter += count
        u = uniform(self.seeds[:, None], Stream.INIT, counters)
        values = ((2 * u - 1) * bound).astype(np.float32)
        return torch.from_numpy(values.reshape(self.members, *shape))


class BatchLinear(torch.nn.Module):
    """``x @ weight + bias`` per member, initialised as ``torch.nn.Linear`` (uniform on ±1/√inputs).

    >>> layer = BatchLinear(3, 2, Initializer([0, 1]))
    >>> layer(torch.zeros(2, 5, 3)).shape
    torch.Size([2, 5, 2])
    """

    def __init__(self, inputs: int, outputs: int, init: Initializer) -> None:
        """A layer for every member of ``init``."""
        super().__init__()
        bound = 1.0 / math.sqrt(inputs)
        self.weight = torch.nn.Parameter(init.uniform((inputs, outputs), bound))
        self.bias = torch.nn.Parameter(init.uniform((outputs,), bound))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(members, batch, inputs)`` to ``(members, batch, outputs)``."""
        return torch.baddbmm(self.bias[:, None, :], x, self.weight)

    def using(self, params: Mapping[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
        """As :meth:`forward`, with the parameters that ``params`` has under the name of the layer."""
        return torch.baddbmm(params[f"{name}.bias"][:, None, :], x, params[f"{name}.weight"])


class BatchConv3d(torch.nn.Module):
    """A 3D convolution per member: kernel 3, zero padding 1, so that the grid keeps its size.

    The members are the groups of one grouped convolution. Initialised as ``torch.nn.Conv3d``.

    >>> layer = BatchConv3d(1, 4, Initializer([0, 1]))
    >>> layer(torch.zeros(2, 5, 1, 3, 3, 3)).shape
    torch.Size([2, 5, 4, 3, 3, 3])
    """

    def __init__(self, inputs: int, outputs: int, init: Initializer, kernel: int = 3) -> None:
        """A layer for every member of ``init``; ``kernel`` is odd."""
        super().__init__()
        bound = 1.0 / math.sqrt(inputs * kernel**3)
        self.padding = kernel // 2
        self.weight = torch.nn.Parameter(init.uniform((outputs, inputs, kernel, kernel, kernel), bound))
        self.bias = torch.nn.Parameter(init.uniform((outputs,), bound))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(members, batch, inputs, n, n, n)`` to ``(members, batch, outputs, n, n, n)``."""
        members, batch, _, *grid = x.shape
        if members == 1:  # a plain convolution: no transposes, and the fastest kernels
            out = torch.nn.functional.conv3d(x[0], self.weight[0], self.bias[0], padding=self.padding)
            return out[None]
        out = torch.nn.functional.conv3d(
            x.transpose(0, 1).reshape(batch, -1, *grid),
            self.weight.flatten(0, 1),
            self.bias.flatten(),
            padding=self.padding,
            groups=members,
        )
        return out.reshape(batch, members, -1, *grid).transpose(0, 1)
