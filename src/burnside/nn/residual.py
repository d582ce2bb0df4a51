"""The residual value network of DeepCubeA with a member axis, and any such network folded for fast evaluation.

Stickers go in as uint8 colours. The first product is with one-hot columns, so for evaluation it becomes a sum of table
rows, two stickers to a row: four times as fast as the product at 54 stickers and 512 units. Where several stickers
always show the same colour (cubes with n > 3 and outer turns, ``geometry.collapse``) their weights are added up first,
which is the same function, and the cost of the layer that of the 3-cube.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from burnside._types import AnyArray
from burnside.envs.cube.core import CubeSpec
from burnside.envs.cube.geometry import collapse, representatives
from burnside.errors import InvalidModel, InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.layers import BatchLinear, Initializer

__all__ = ["FoldedValue", "MemberNorm", "ResidualValue", "StickerInputs"]

_ROWS = 2048  # rows evaluated at a time: their activations stay in the cache


class MemberNorm(torch.nn.Module):
    """Batch normalisation per member, as ``torch.nn.BatchNorm1d``: ε 1e-5, running statistics with momentum 0.1.

    With ``group`` > 1 the features are ``group`` blocks of ``channels``, and a channel has one mean, one variance and
    one scale for all blocks: normalising then commutes with permutations of the blocks.

    >>> norm = MemberNorm(3, 2)
    >>> out = norm(torch.randn(2, 50, 3))
    >>> bool(out.mean(1).abs().max() < 1e-5), norm.eval()(torch.ones(2, 1, 3)).shape
    (True, torch.Size([2, 1, 3]))
    """

    mean: torch.Tensor
    var: torch.Tensor

    def __init__(self, channels: int, members: int, group: int = 1) -> None:
        """Scale one, shift zero, running mean zero and variance one."""
        super().__init__()
        self.channels, self.group, self.epsilon, self.momentum = channels, group, 1e-5, 0.1
        self.weight = torch.nn.Parameter(torch.ones(members, channels))
        self.bias = torch.nn.Parameter(torch.zeros(members, channels))
        self.register_buffer("mean", torch.zeros(members, channels))
        self.register_buffer("var", torch.ones(members, channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(members, batch, group · channels)`` to the same shape."""
        members, rows = x.shape[0], x.shape[1] * self.group
        flat = x.reshape(members, rows, self.channels)
        # One call for all members: they are further channels.
        flat = flat[0] if members == 1 else flat.transpose(0, 1).reshape(rows, members * self.channels)
        out = torch.nn.functional.batch_norm(
            flat,
            self.mean.view(-1),
            self.var.view(-1),
            self.weight.reshape(-1),
            self.bias.reshape(-1),
            self.training,
            self.momentum,
            self.epsilon,
        )
        return out.reshape(rows, members, self.channels).transpose(0, 1).reshape(x.shape)

    def affine(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale and shift of every feature in evaluation mode, each ``(members, group · channels)``."""
        scale = self.weight * torch.rsqrt(self.var + self.epsilon)
        shift = self.bias - self.mean * scale
        return scale.repeat(1, self.group), shift.repeat(1, self.group)


class StickerInputs(torch.nn.Module):
    """Colours as one-hot columns, with stickers of one colour merged where a cube has such.

    >>> StickerInputs(CubeSpec(5)).width, StickerInputs(CubeSpec(5, turns="slices")).width
    (324, 900)
    """

    kept: torch.Tensor | None
    merged: torch.Tensor | None

    def __init__(self, spec: CubeSpec) -> None:
        """For the states of a cube."""
        super().__init__()
        self.stickers = spec.n_stickers
        merges = spec.n > 3 and not spec.slices
        kept, merged = (_tensor(representatives(spec.n)), _tensor(collapse(spec.n))) if merges else (None, None)
        self.register_buffer("kept", kept, persistent=False)
        self.register_buffer("merged", merged, persistent=False)
        self.register_buffer("eye", torch.eye(6), persistent=False)

    eye: torch.Tensor

    @property
    def width(self) -> int:
        """Columns after merging."""
        return 6 * (self.stickers if self.kept is None else len(self.kept))

    def pick(self, states: torch.Tensor) -> torch.Tensor:
        """The stickers that matter, ``(…, width / 6)``."""
        if states.shape[-1] != self.stickers:
            raise InvalidModel(f"this network reads {self.stickers} stickers, got shape {tuple(states.shape)}")
        return states if self.kept is None else states[..., self.kept]

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """One-hot columns, float32."""
        seen = self.pick(states)
        return torch.nn.functional.embedding(seen.long(), self.eye).reshape(*seen.shape[:-1], -1)

    def weight(self, full: torch.Tensor) -> torch.Tensor:
        """Weights ``(members, 36n², outputs)`` of a first layer, added up over merged stickers."""
        if self.merged is None:
            return full
        parts = full.unflatten(1, (-1, 6))
        zeros = torch.zeros(full.shape[0], self.width // 6, 6, full.shape[2], dtype=full.dtype, device=full.device)
        return zeros.index_add(1, self.merged, parts).flatten(1, 2)


def _tensor(array: AnyArray) -> torch.Tensor:
    return torch.from_numpy(np.array(array))


def _dense(layer: torch.nn.Module) -> tuple[torch.Tensor, torch.Tensor]:
    """Weight ``(members, inputs, outputs)`` and bias ``(members, outputs)`` of a layer, shared weights written out."""
    if isinstance(layer, BatchLinear):
        return layer.weight, layer.bias
    found: tuple[torch.Tensor, torch.Tensor] = layer.dense()  # type: ignore[operator]
    return found


class ResidualValue(torch.nn.Module):
    """inputs → h₁ → h₂ → blocks × (h₂ → h₂ → h₂, added to what came in) → 1, BatchNorm and ReLU throughout.

    ``hidden=(5000, 1000), blocks=4`` is the network of DeepCubeA:

    >>> net = ResidualValue(CubeSpec(3), (16, 8), 4, Initializer([0, 1]))
    >>> net(torch.zeros(2, 5, 54, dtype=torch.uint8)).shape
    torch.Size([2, 5])
    >>> ResidualValue.count(324, (5000, 1000), 4)
    14663001
    """

    def __init__(self, spec: CubeSpec, hidden: tuple[int, int], blocks: int, init: Initializer) -> None:
        """A network for every member of ``init``."""
        super().__init__()
        check_widths(hidden, blocks)
        self.inputs = StickerInputs(spec)
        widths = [spec.n_inputs, hidden[0], *[hidden[1]] * (1 + 2 * blocks)]
        self.layers = torch.nn.ModuleList(self._layers(widths, init))
        self.norms = torch.nn.ModuleList(self._norms(widths, init.members))
        self.out = self._out(widths[-1], init)

    # What a network with shared weights replaces.

    def _layers(self, widths: list[int], init: Initializer) -> list[torch.nn.Module]:
        return [BatchLinear(a, b, init) for a, b in pairwise(widths)]

    def _norms(self, widths: list[int], members: int) -> list[torch.nn.Module]:
        return [MemberNorm(width, members) for width in widths[1:]]

    def _out(self, width: int, init: Initializer) -> torch.nn.Module:
        return BatchLinear(width, 1, init)

    @staticmethod
    def count(inputs: int, hidden: tuple[int, int], blocks: int) -> int:
        """Number of parameters of one member."""
        widths = [inputs, hidden[0], *[hidden[1]] * (1 + 2 * blocks)]
        return sum(a * b + 3 * b for a, b in pairwise(widths)) + hidden[1] + 1

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Colours ``(members, batch, 6n²)`` to values ``(members, batch)``."""
        weight, bias = _dense(self.layers[0])
        x = torch.baddbmm(bias[:, None, :], self.inputs(states), self.inputs.weight(weight))
        x = torch.relu(self.norms[0](x))
        x = torch.relu(self._product(1, x))
        for k in range(2, len(self.layers), 2):
            x = torch.relu(x + self._product(k + 1, torch.relu(self._product(k, x))))
        weight, bias = _dense(self.out)
        return torch.baddbmm(bias[:, None, :], x, weight)[:, :, 0]

    def _product(self, k: int, x: torch.Tensor) -> torch.Tensor:
        weight, bias = _dense(self.layers[k])
        out: torch.Tensor = self.norms[k](torch.baddbmm(bias[:, None, :], x, weight))
        return out


def check_widths(hidden: tuple[int, int], blocks: int) -> None:
    """Refuse what is not a network, in one sentence."""
    if len(hidden) != 2 or min(hidden) < 1 or blocks < 0:
        raise InvalidParameter(f"hidden {hidden} and blocks {blocks}: give two positive widths and 0 or more blocks")


class FoldedValue:
    """One member of a network in evaluation mode: normalisation folded into the weights, a table as first layer.

    >>> net = ResidualValue(CubeSpec(2), (16, 8), 1, Initializer([3])).eval()
    >>> states = torch.randint(0, 6, (7, 24), dtype=torch.uint8)
    >>> torch.allclose(FoldedValue(net)(states), net(states[None])[0], atol=1e-5)
    True
    """

    @torch.no_grad()
    def __init__(self, net: ResidualValue, member: int = 0) -> None:
        """Copies what it needs: the network may change afterwards."""
        self.inputs = net.inputs
        products = []
        for layer, norm in zip(net.layers, net.norms, strict=True):
            weight, bias = _dense(layer)
            scale, shift = norm.affine()  # type: ignore[operator]
            products.append((weight[member] * scale[member], bias[member] * scale[member] + shift[member]))
        weight, bias = _dense(net.out)
        self.out = (weight[member].clone(), bias[member].clone())
        first, self.bias = products[0]
        self.products = products[1:]
        single = net.inputs.weight(first[None])[0].reshape(-1, 2, 6, first.shape[1])  # pairs of stickers
        self.table = (single[:, 0, :, None] + single[:, 1, None, :]).reshape(-1, first.shape[1])
        self.offsets = 36 * torch.arange(len(single), dtype=torch.int32, device=first.device)

    @torch.no_grad()
    def __call__(self, states: torch.Tensor) -> torch.Tensor:
        """Values ``(batch,)`` of colours ``(batch, 6n²)``, uint8."""
        out = torch.empty(len(states), dtype=torch.float32, device=self.bias.device)
        for first in range(0, len(states), _ROWS):
            rows = states[first : first + _ROWS]
            out[first : first + len(rows)] = self._chunk(rows.to(self.bias.device))
        return out

    def _chunk(self, states: torch.Tensor) -> torch.Tensor:
        seen = self.inputs.pick(states)
        index = torch.add(seen[:, 1::2], seen[:, 0::2], alpha=6).to(torch.int32) + self.offsets
        x = torch.nn.functional.embedding_bag(index, self.table, mode="sum").add_(self.bias).relu_()
        weight, bias = self.products[0]
        x = torch.addmm(bias, x, weight).relu_()
        for k in range(1, len(self.products), 2):
            (one, b1), (two, b2) = self.products[k : k + 2]
            inside = torch.addmm(b1, x, one).relu_()
            x = torch.addmm(b2, inside, two).add_(x).relu_()
        return torch.addmm(self.out[1], x, self.out[0])[:, 0]

    def flops(self) -> int:
        """Multiplications and additions of the bare products for one state (the table as a product)."""
        first = 2 * self.inputs.width * self.table.shape[1]
        return first + 2 * sum(w.numel() for w, _ in self.products) + 2 * self.out[0].numel()
