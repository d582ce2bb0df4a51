"""A residual network on placements (:mod:`burnside.envs.cube.placements`), with or without weights tied over a group.

inputs → h₁ → h₂ → blocks × (h₂ → h₂ → h₂, added to what came in), BatchNorm and ReLU throughout, and two heads: a score
for each turn, and a number. Where a group acts, hidden layers are channels of its regular representation, feature
(g, c) with k acting by (kg, c). Every linear map has one weight for each orbit of index pairs, and normalisation shares
its statistics over the group: scores move with the state, and the number does not change (an MDP-homomorphic network).
A network without symmetry is one whose group has a single element.

The matrices are torch's; everything else is compiled (:mod:`burnside.nn.placement_kernels`). ``plain=True`` has the
same network in plain torch, which tests hold it against.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.envs.cube.geometry import inverse_elements, products
from burnside.envs.cube.placements import CubePlacements
from burnside.errors import InvalidParameter
from burnside.nn import placement_kernels as kernels
from burnside.nn._torch import torch
from burnside.nn.layers import Initializer

__all__ = ["FoldedPlacementNet", "PlacementNet", "TyingGroup"]

_MOMENTUM, _EPSILON = 0.1, 1e-5
_ROWS = 2048


@dataclass(frozen=True, eq=False)
class TyingGroup:
    """A group that acts on placements and on scores; weights are shared over its orbits.

    Attributes:
        on_inputs: ``(order, placements)``: a left action.
        on_outputs: ``(order, scores)``: a left action.
        quotients: ``(order, order)``: ``[h, g]`` is the number of g⁻¹h.

    >>> from burnside.envs.cube import CubeSpec
    >>> from burnside.envs.cube.placements import placements
    >>> world = placements(CubeSpec(3))
    >>> TyingGroup.conjugation(world).order, TyingGroup.conjugation(world, sides=2).order, TyingGroup.none(world).order
    (48, 96, 1)
    """

    on_inputs: AnyArray
    on_outputs: AnyArray
    quotients: AnyArray

    @property
    def order(self) -> int:
        """Number of elements."""
        return len(self.on_inputs)

    @classmethod
    def none(cls, world: CubePlacements, sides: int = 1) -> TyingGroup:
        """The group with one element."""
        everything, turns = np.arange(world.count), np.arange(sides * world.spec.n_moves)
        return cls(everything[None], turns[None], np.zeros((1, 1), dtype=np.int64))

    @classmethod
    def conjugation(cls, world: CubePlacements, sides: int = 1) -> TyingGroup:
        """The 48 rotations and mirrors with recolouring; with two sides also the inversion, 96 elements.

        With two sides a state has two scores for every turn: for the last turn of a walk that leads to it, and for that
        of a walk that leads to its inverse. The inversion exchanges the sides.
        """
        inputs, turns = world.on_symmetries.astype(np.int64), world.turn_images
        quotients = products()[inverse_elements()].T  # [h, g] = g⁻¹h
        if sides == 1:
            return cls(inputs, turns, np.ascontiguousarray(quotients))
        count, order = turns.shape[1], len(inputs)
        both = np.concatenate([inputs, world.on_inverse.astype(np.int64)[inputs]])
        same, other = np.concatenate([turns, turns + count], axis=1), np.concatenate([turns + count, turns], axis=1)
        flips = np.array([[0, 1], [1, 0]])
        twice = (order * flips[:, None, :, None] + quotients[None, :, None, :]).reshape(2 * order, 2 * order)
        return cls(both, np.concatenate([same, other]), np.ascontiguousarray(twice))

    def inverses(self) -> IntArray:
        """``inverses()[g]``: the number of g⁻¹."""
        return np.asarray(self.quotients[0])  # g⁻¹e


class _Tie(torch.autograd.Function):
    """Shared weights written out as a matrix."""

    @staticmethod
    def forward(ctx: Any, weight: torch.Tensor, index: AnyArray, rows: bool) -> torch.Tensor:
        ctx.index, ctx.rows, ctx.shape = index, rows, weight.shape
        if rows:
            out = np.empty((index.shape[1], index.shape[0] * weight.shape[1]), dtype=np.float32)
            kernels.tie_rows(weight.detach().numpy(), index, out)
        else:
            out = np.empty(
                (index.shape[0] * weight.shape[1], index.shape[1] * weight.shape[2]),
                dtype=np.float32,
            )
            kernels.tie_group(weight.detach().numpy(), index, out)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        out = np.empty(ctx.shape, dtype=np.float32)
        collect = kernels.gather_rows if ctx.rows else kernels.gather_group
        collect(grads[0].contiguous().numpy(), ctx.index, out)
        return torch.from_numpy(out), None, None


class _AddRows(torch.autograd.Function):
    """``Σ_p table[rows[:, p]]``."""

    @staticmethod
    def forward(ctx: Any, table: torch.Tensor, rows: AnyArray) -> torch.Tensor:
        ctx.rows, ctx.shape = rows, table.shape
        out = np.empty((len(rows), table.shape[1]), dtype=np.float32)
        nothing = np.zeros(table.shape[1], dtype=np.float32)
        kernels.add_rows(table.detach().numpy(), rows, nothing, np.float32(-np.inf), out)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        out = np.empty(ctx.shape, dtype=np.float32)
        kernels.scatter_rows(grads[0].contiguous().numpy(), ctx.rows, out)
        return torch.from_numpy(out), None


class _NormRelu(torch.autograd.Function):
    """``relu(norm(x) + added)`` with statistics shared over the group, in training; changes the running statistics."""

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor,
        added: torch.Tensor | None,
        running: tuple[torch.Tensor, torch.Tensor],
    ) -> torch.Tensor:
        a = x.detach().numpy()
        batch, width = a.shape
        channels = len(weight)
        order = width // channels
        # two passes: about a rough centre first, for float32 loses digits far from it
        first, second = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
        kernels.sums(a, np.zeros(width, dtype=np.float32), first, second)
        mean = (first / batch).reshape(order, channels).mean(axis=0).astype(np.float32)
        kernels.sums(a, np.tile(mean, order), first, second)
        var = (second.astype(np.float64) / batch).reshape(order, channels).mean(axis=0).astype(np.float32)
        rate = 1.0 / np.sqrt(var + np.float32(_EPSILON))
        scale = weight.detach().numpy() * rate
        shift = bias.detach().numpy() - mean * scale
        out = np.empty_like(a)
        more = np.empty((0, 0), dtype=np.float32) if added is None else added.detach().numpy()
        kernels.normalise(a, np.tile(scale, order), np.tile(shift, order), more, out)
        running[0].lerp_(torch.from_numpy(mean), _MOMENTUM)
        many = batch * order
        running[1].lerp_(torch.from_numpy(var * np.float32(many / max(many - 1, 1))), _MOMENTUM)
        ctx.kept = (a, out, mean, rate, scale, added is not None)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        a, y, mean, rate, scale, has_added = ctx.kept
        batch, width = a.shape
        channels = len(mean)
        order = width // channels
        inner, out = np.empty_like(a), np.empty_like(a)
        total, product = np.empty(width, dtype=np.float32), np.empty(width, dtype=np.float32)
        wide = np.tile(mean, order)
        kernels.sums_back(grads[0].contiguous().numpy(), y, a, wide, inner, total, product)
        d_bias = total.reshape(order, channels).sum(axis=0)
        d_weight = product.reshape(order, channels).sum(axis=0) * rate
        many = np.float32(batch * order)
        offset, slope = scale * d_bias / many, scale * d_weight * rate / many
        kernels.normalise_back(
            inner, a, wide, np.tile(scale, order), np.tile(offset, order), np.tile(slope, order), out
        )
        return (
            torch.from_numpy(out),
            torch.from_numpy(d_weight),
            torch.from_numpy(d_bias),
            torch.from_numpy(inner) if has_added else None,
            None,
        )


class PlacementNet(torch.nn.Module):
    """The network; see the head of the file.

    >>> from burnside.envs.cube import CubeSpec
    >>> from burnside.envs.cube.placements import placements
    >>> world = placements(CubeSpec(3))
    >>> PlacementNet(TyingGroup.conjugation(world), (16, 4), 1, Initializer([0])).weights
    12398
    >>> PlacementNet(TyingGroup.none(world), (768, 192), 1, Initializer([0])).weights
    595021
    """

    def __init__(
        self, group: TyingGroup, channels: tuple[int, int], blocks: int, init: Initializer, *, plain: bool = False
    ) -> None:
        """Hidden layers have ``group.order`` times as many units as channels; one member of ``init``."""
        super().__init__()
        if len(channels) != 2 or min(channels) < 1 or blocks < 0:
            raise InvalidParameter(f"channels {channels} and blocks {blocks}: give two positive numbers and 0 or more")
        self.group, self.plain = group, plain
        order, inputs = group.on_inputs.shape
        outputs = group.on_outputs.shape[1]
        inverse = group.inverses()
        self._back = np.ascontiguousarray(group.on_inputs[inverse])  # [g, i] = g⁻¹·i
        self._quotients = np.ascontiguousarray(group.quotients)
        self._to_scores = np.ascontiguousarray(group.on_outputs[inverse])  # [h, o] = h⁻¹·o
        self._to_number = np.zeros((order, 1), dtype=np.int64)
        # scores that the group exchanges have one bias
        self._bias_of = np.unique(np.sort(group.on_outputs, axis=0)[0], return_inverse=True)[1]
        one, two = channels
        widths = [(one, two), *[(two, two)] * (2 * blocks)]
        norms = [one, *(b for _, b in widths)]
        self.first = torch.nn.Parameter(init.uniform((inputs, one), 1.0 / math.sqrt(inputs))[0])
        self.layers = torch.nn.ParameterList(
            [init.uniform((order, a, b), 1.0 / math.sqrt(order * a))[0] for a, b in widths]
        )
        self.scales = torch.nn.ParameterList([torch.ones(c) for c in norms])
        self.shifts = torch.nn.ParameterList([torch.zeros(c) for c in norms])
        for k, c in enumerate(norms):
            self.register_buffer(f"mean{k}", torch.zeros(c))
            self.register_buffer(f"var{k}", torch.ones(c))
        bound = 1.0 / math.sqrt(order * two)
        self.scores = torch.nn.Parameter(init.uniform((outputs, two, 1), bound)[0])
        self.score_bias = torch.nn.Parameter(torch.zeros(int(self._bias_of.max()) + 1))
        # a sum over the group of equal weights spreads √|G| times as far as one of independent ones
        self.number = torch.nn.Parameter(init.uniform((1, two, 1), bound / math.sqrt(order))[0])
        self.number_bias = torch.nn.Parameter(torch.zeros(1))

    @property
    def weights(self) -> int:
        """Number of parameters."""
        return sum(p.numel() for p in self.parameters())

    def forward(self, rows: AnyArray) -> tuple[torch.Tensor, torch.Tensor]:
        """Placements, uint16 ``(batch, pieces)``, to scores ``(batch, turns)`` and numbers ``(batch,)``."""
        if self.plain:
            index = torch.from_numpy(rows.astype(np.int64))
            x = torch.nn.functional.embedding_bag(index, self.written(self.first, self._back), mode="sum")
        else:
            x = _AddRows.apply(self.written(self.first, self._back), rows)
        x = self._norm(0, x)
        x = self._norm(1, x @ self.written(self.layers[0], self._quotients))
        for k in range(1, len(self.layers), 2):
            inside = self._norm(k + 1, x @ self.written(self.layers[k], self._quotients))
            x = self._norm(k + 2, inside @ self.written(self.layers[k + 1], self._quotients), x)
        scores = x @ self.written(self.scores, self._to_scores) + self.score_bias[self._bias_of]
        number = x @ self.written(self.number, self._to_number) + self.number_bias
        return scores, number[:, 0]

    def written(self, weight: torch.Tensor, index: AnyArray) -> torch.Tensor:
        """Shared weights as a matrix."""
        rows = weight.ndim == 2
        if not self.plain:
            return _Tie.apply(weight, index, rows)
        spread = weight[torch.from_numpy(index)]
        if rows:  # (g, i, c) to (i, g, c)
            return spread.transpose(0, 1).reshape(index.shape[1], -1)
        return spread.permute(0, 2, 1, 3).reshape(index.shape[0] * weight.shape[1], -1)  # (h, g, d, c) to (h, d, g, c)

    def _norm(self, k: int, x: torch.Tensor, added: torch.Tensor | None = None) -> torch.Tensor:
        weight, bias = self.scales[k], self.shifts[k]
        running = getattr(self, f"mean{k}"), getattr(self, f"var{k}")
        if self.training and not self.plain:
            return _NormRelu.apply(x, weight, bias, added, running)
        flat = x.reshape(-1, len(weight))
        out = torch.nn.functional.batch_norm(flat, *running, weight, bias, self.training, _MOMENTUM, _EPSILON)
        out = out.reshape(x.shape)
        return torch.relu(out if added is None else out + added)

    def affine(self, k: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale and shift of normalisation k in evaluation mode, for every unit."""
        scale = self.scales[k] * torch.rsqrt(getattr(self, f"var{k}") + _EPSILON)
        shift = self.shifts[k] - getattr(self, f"mean{k}") * scale
        return scale.repeat(self.group.order), shift.repeat(self.group.order)


class FoldedPlacementNet:
    """A network as search uses it: normalisation folded into the weights, shared weights written out once.

    >>> from burnside.envs.cube import CubeSpec
    >>> from burnside.envs.cube.placements import placements
    >>> world = placements(CubeSpec(3))
    >>> net = PlacementNet(TyingGroup.conjugation(world), (2, 1), 1, Initializer([0])).eval()
    >>> rows = np.repeat(world.goals, 3, axis=0)
    >>> torch.allclose(FoldedPlacementNet(net)(rows)[0], net(rows)[0], atol=1e-5)
    True
    """

    @torch.no_grad()
    def __init__(self, net: PlacementNet) -> None:
        """Copies what it needs."""
        indices = [net._back] + [net._quotients] * len(net.layers)
        products = []
        for k, (weight, index) in enumerate(zip([net.first, *net.layers], indices, strict=True)):
            scale, shift = net.affine(k)
            products.append(((net.written(weight, index) * scale).contiguous(), shift.contiguous()))
        first, bias = products[0]
        self.table, self.start = first.numpy(), bias.numpy()
        self.products = products[1:]
        heads = [net.written(net.scores, net._to_scores), net.written(net.number, net._to_number)]
        self.heads = torch.cat(heads, dim=1).contiguous()
        self.bias = torch.cat([net.score_bias[net._bias_of], net.number_bias])

    @torch.no_grad()
    def __call__(self, rows: AnyArray) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores ``(batch, turns)`` and numbers ``(batch,)``."""
        out = torch.empty(len(rows), len(self.bias))
        for at in range(0, len(rows), _ROWS):
            out[at : at + _ROWS] = self._chunk(rows[at : at + _ROWS])
        return out[:, :-1], out[:, -1]

    def _chunk(self, rows: AnyArray) -> torch.Tensor:
        hidden = np.empty((len(rows), self.table.shape[1]), dtype=np.float32)
        kernels.add_rows(self.table, rows, self.start, np.float32(0.0), hidden)
        weight, bias = self.products[0]
        x = torch.addmm(bias, torch.from_numpy(hidden), weight).relu_()
        for k in range(1, len(self.products), 2):
            (one, b1), (two, b2) = self.products[k : k + 2]
            inside = torch.addmm(b1, x, one).relu_()
            x = torch.addmm(b2, inside, two).add_(x).relu_()
        return torch.addmm(self.bias, x, self.heads)

    def flops(self) -> int:
        """Multiplications and additions of the products for one state; the table counts as one addition a column."""
        return self.table.shape[1] + 2 * sum(w.numel() for w, _ in self.products) + 2 * self.heads.numel()
