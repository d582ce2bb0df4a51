"""Linear layers that commute with a finite group: signed permutations and rotations, not permutations alone.

``W ρ_in(g) = ρ_out(g) W`` for all g is a set of linear equations for W. Its solutions are spanned by a basis that is
found once: coordinates that the group never mixes form blocks; between two blocks that only permute and change signs,
the solutions are orbits of index pairs with signs (an orbit that meets itself with the other sign is zero); between
others they are the range of the projection ``W → (1/|G|) Σ_g ρ_out(g) W ρ_in(g)⁻¹``. The weights of a layer are the
coefficients in that basis, so a layer is equivariant for every value of them.

:class:`~burnside.nn.OrbitLinear` is the case of permutations, for groups too large to list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch

__all__ = ["EquivariantLinear", "RelaxedLinear", "commutant", "equivariant_mlp", "regular"]

_SMALL = 1e-9
_LARGEST = 3000  # numbers in a block of weights that needs a projection


def regular(table: IntArray, copies: int = 1) -> FloatArray:
    """The regular representation, ``(order, order · copies, order · copies)``: hidden units that are permuted.

    >>> regular(np.array([[0, 1], [1, 0]]))[1].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    order = len(table)
    one = np.zeros((order, order, order))
    for g in range(order):
        one[g, table[g], np.arange(order)] = 1.0
    return np.stack([np.kron(np.eye(copies), one[g]) for g in range(order)])


# ---------------------------------------------------------------------- the basis


def commutant(rho_in: FloatArray, rho_out: FloatArray) -> tuple[IntArray, IntArray, FloatArray, int]:
    """A basis of all W with ``W ρ_in(g) = ρ_out(g) W``, sparse: (entry, coefficient, value) and how many there are.

    Entry ``o · inputs + i`` of W is the sum of ``value · θ[coefficient]``. The basis is orthonormal.

    >>> signs = np.array([np.eye(2), -np.eye(2)])
    >>> commutant(signs, np.ones((2, 1, 1)))[3], commutant(signs, signs)[3]          # odd to even; odd to odd
    (0, 4)
    """
    inputs = rho_in.shape[-1]
    entries, coefficients, values, count = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0)], 0
    for rows, out in _kinds(rho_out):
        for columns, inside in _kinds(rho_in):  # rows and columns: (blocks of this kind, numbers in a block)
            for matrix in _between(inside, out):
                o, i = np.nonzero(np.abs(matrix) > _SMALL)
                entry = rows[:, None, o] * inputs + columns[None, :, i]
                pairs = count + np.arange(len(rows) * len(columns)).reshape(len(rows), len(columns), 1)
                entries.append(entry.ravel())
                coefficients.append(np.broadcast_to(pairs, entry.shape).ravel())
                values.append(np.broadcast_to(matrix[o, i], entry.shape).ravel())
                count += len(rows) * len(columns)
    return np.concatenate(entries), np.concatenate(coefficients), np.concatenate(values), count


def _kinds(rho: FloatArray) -> list[tuple[IntArray, FloatArray]]:
    """Blocks that move alike, together: their coordinates ``(blocks, size)``, and the matrices of one of them."""
    found: dict[bytes, tuple[list[IntArray], FloatArray]] = {}
    for block in _blocks(rho):
        inside = rho[:, block][:, :, block]
        found.setdefault(inside.tobytes(), ([], inside))[0].append(block)
    return [(np.stack(blocks), inside) for blocks, inside in found.values()]


def _blocks(rho: FloatArray) -> list[IntArray]:
    """Coordinates that some element mixes, together."""
    from scipy.sparse.csgraph import connected_components

    number, label = connected_components(np.abs(rho).max(0) > _SMALL, directed=False)
    return [np.flatnonzero(label == k) for k in range(number)]


def _between(rho_in: FloatArray, rho_out: FloatArray) -> list[FloatArray]:
    """An orthonormal basis between two blocks."""
    if _is_signed(rho_in) and _is_signed(rho_out):
        return _signed_orbits(rho_in, rho_out)
    size = rho_in.shape[-1] * rho_out.shape[-1]
    if size > _LARGEST:
        raise InvalidParameter(
            f"a block of {size} weights is too large to solve for: use group averaging for this representation"
        )
    inverse = np.linalg.inv(rho_in)
    # Row-major vectors: the projection is (1/|G|) Σ ρ_out ⊗ ρ_in⁻ᵀ. Its range is where its eigenvalue is 1.
    projection = np.mean([np.kron(a, b.T) for a, b in zip(rho_out, inverse, strict=True)], axis=0)
    left, singular, _ = np.linalg.svd(projection)
    rank = round(float(np.trace(projection)))
    if rank and singular[rank - 1] < 0.5:  # a projection has none between 0 and 1, unless it is not a representation
        raise InvalidParameter("these matrices are not a representation of a group: their mean is not a projection")
    return [left[:, k].reshape(rho_out.shape[-1], rho_in.shape[-1]) for k in range(rank)]


def _is_signed(rho: FloatArray) -> bool:
    sizes = np.abs(rho)
    return bool(np.isin(sizes, (0.0, 1.0)).all() and (sizes.sum(-1) == 1).all() and (sizes.sum(-2) == 1).all())


def _signed_orbits(rho_in: FloatArray, rho_out: FloatArray) -> list[FloatArray]:
    """Orbits of index pairs; those that meet themselves with the other sign are zero. Nothing is solved: exact."""
    shape = (rho_out.shape[-1], rho_in.shape[-1])
    to_in, to_out = np.abs(rho_in).argmax(-2), np.abs(rho_out).argmax(-2)  # column i goes to row to[g, i]
    sign_in = np.take_along_axis(rho_in, to_in[:, None], 1)[:, 0]
    sign_out = np.take_along_axis(rho_out, to_out[:, None], 1)[:, 0]
    done = np.zeros(shape, dtype=np.bool_)
    found = []
    for o, i in np.ndindex(shape):
        if done[o, i]:
            continue
        matrix = np.zeros(shape)
        np.add.at(matrix, (to_out[:, o], to_in[:, i]), sign_out[:, o] * sign_in[:, i])
        done[to_out[:, o], to_in[:, i]] = True
        if matrix.any():
            found.append(matrix / np.linalg.norm(matrix))
    return found


# ---------------------------------------------------------------------- the layers


class EquivariantLinear(torch.nn.Module):
    """``y = W x + b`` with all the freedom that ``f(g·x) = g·f(x)`` leaves; in the place of ``torch.nn.Linear``.

    Args:
        rho_in: the matrices of all elements on the inputs, ``(order, inputs, inputs)``.
        rho_out: those on the outputs, in the same order.
        bias: whether there is one; it is a vector that no element moves.
        gain: W is drawn with the size of an orthogonal matrix times this; None: with that of ``torch.nn.Linear``.

    >>> turn = np.array([[0.0, -1.0], [1.0, 0.0]])
    >>> turns = np.stack([np.linalg.matrix_power(turn, k) for k in range(4)])
    >>> layer = EquivariantLinear(turns, turns)
    >>> layer.theta.numel(), layer.beta.numel()                      # a complex number; no vector stays
    (2, 0)
    >>> x = torch.randn(5, 2)
    >>> quarter = torch.from_numpy(turn).float()
    >>> torch.allclose(layer(x @ quarter.T), layer(x) @ quarter.T, atol=1e-6)
    True
    """

    def __init__(self, rho_in: Any, rho_out: Any, *, bias: bool = True, gain: float | None = None) -> None:
        """Find the basis, and draw its coefficients."""
        super().__init__()
        rho_in, rho_out = np.asarray(rho_in, dtype=np.float64), np.asarray(rho_out, dtype=np.float64)
        if rho_in.ndim != 3 or rho_out.ndim != 3 or len(rho_in) != len(rho_out):
            raise InvalidParameter(
                f"give one square matrix for each element on both sides, got shapes {rho_in.shape} and {rho_out.shape}"
            )
        self.inputs, self.outputs = rho_in.shape[-1], rho_out.shape[-1]
        count = self._keep("weight", commutant(rho_in, rho_out), self.inputs * self.outputs)
        self.theta = torch.nn.Parameter(torch.empty(count))
        fixed = (
            commutant(np.ones((len(rho_out), 1, 1)), rho_out) if bias else (np.empty(0), np.empty(0), np.empty(0), 0)
        )
        self.beta = torch.nn.Parameter(torch.zeros(self._keep("bias", fixed, self.outputs)))
        self.reset(gain)

    def _keep(self, name: str, basis: tuple[AnyArray, AnyArray, AnyArray, int], size: int) -> int:
        """The basis as a table: for every entry the coefficients it is made of, equally many, with zeros added."""
        entry, coefficient, value, count = basis
        entry = entry.astype(np.int64)
        order = np.argsort(entry, kind="stable")
        entry, coefficient, value = entry[order], coefficient[order], value[order]
        rank = np.arange(len(entry)) - np.searchsorted(entry, entry)
        most = int(rank.max(initial=0)) + 1
        which, how_much = np.zeros((size, most), dtype=np.int64), np.zeros((size, most))
        which[entry, rank], how_much[entry, rank] = coefficient, value
        self.register_buffer(f"{name}_index", torch.from_numpy(which.ravel()), persistent=False)
        self.register_buffer(f"{name}_value", torch.from_numpy(how_much), persistent=False)
        return count

    def reset(self, gain: float | None = None) -> None:
        """Draw W anew, with the size (the root of the sum of squares) of a usual layer of this shape."""
        if gain is None:
            size = math.sqrt(self.outputs / 3)  # uniform on ±1/√inputs
        else:
            size = gain * math.sqrt(min(self.inputs, self.outputs))
        with torch.no_grad():
            count = max(1, self.theta.numel())
            self.theta.normal_(0.0, size / math.sqrt(count))
            self.beta.zero_()

    def _expanded(self, name: str, coefficients: torch.Tensor) -> torch.Tensor:
        index, value = getattr(self, f"{name}_index"), getattr(self, f"{name}_value").to(coefficients.dtype)
        if not coefficients.numel():
            return value.sum(-1)  # zeros
        return (coefficients.index_select(0, index).reshape(value.shape) * value).sum(-1)

    @property
    def weight(self) -> torch.Tensor:
        """W, ``(outputs, inputs)``."""
        return self._expanded("weight", self.theta).reshape(self.outputs, self.inputs)

    @property
    def bias(self) -> torch.Tensor:
        """b."""
        return self._expanded("bias", self.beta)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(…, inputs)`` to ``(…, outputs)``."""
        return torch.nn.functional.linear(x, self.weight, self.bias)


class RelaxedLinear(torch.nn.Module):
    """An equivariant layer and a free one beside it, scaled down: for symmetries that hold nearly.

    ``y = W x + b + α (V x + c)`` with an equivariant W and a free V that begins at zero: the layer is exactly
    equivariant before training and leaves the symmetry only as far as the data pull it. A step of Adam moves αV by α
    times as much as W. With α = 0 it is :class:`EquivariantLinear`.

    >>> mirror = np.array([np.eye(2), -np.eye(2)])
    >>> layer = RelaxedLinear(mirror, mirror, relaxation=0.1)
    >>> float(layer.deviation())                                     # share of the weights that breaks the symmetry
    0.0
    """

    def __init__(self, rho_in: Any, rho_out: Any, *, relaxation: float = 0.1, gain: float | None = None) -> None:
        """The equivariant part as in :class:`EquivariantLinear`, the free one zero."""
        super().__init__()
        if not relaxation >= 0:
            raise InvalidParameter(f"relaxation is 0 or more, got {relaxation}")
        self.equivariant = EquivariantLinear(rho_in, rho_out, gain=gain)
        self.relaxation = float(relaxation)
        self.free_weight = torch.nn.Parameter(torch.zeros(self.equivariant.outputs, self.equivariant.inputs))
        self.free_bias = torch.nn.Parameter(torch.zeros(self.equivariant.outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(…, inputs)`` to ``(…, outputs)``."""
        free = torch.nn.functional.linear(x, self.free_weight, self.free_bias)
        return self.equivariant(x) + self.relaxation * free

    def deviation(self) -> torch.Tensor:
        """The size of the free part relative to the whole; 0 before training. It bounds how far the layer deviates."""
        with torch.no_grad():
            free = self.relaxation * self.free_weight
            return free.norm() / (self.equivariant.weight + free).norm().clamp_min(1e-12)


def equivariant_mlp(
    rho_in: FloatArray,
    rho_out: FloatArray | None,
    widths: Sequence[int],
    activation: Callable[[], torch.nn.Module],
    *,
    table: IntArray,
    relaxation: float | None = None,
    gain: float | None = None,
    last_gain: float | None = None,
) -> tuple[torch.nn.Sequential, FloatArray]:
    """Equivariant layers with activations between them, and the representation of what comes out.

    Hidden units come in full sets of |G| that the group permutes (copies of the regular representation), so that any
    activation commutes with it. A width is rounded to a multiple of |G|.

    Args:
        rho_in: matrices of all elements on the inputs.
        rho_out: those on the outputs; None: end with the last hidden layer.
        widths: hidden units of each layer.
        activation: makes an activation.
        table: the multiplication table of the group.
        relaxation: makes the layers :class:`RelaxedLinear` with this α.
        gain: see :class:`EquivariantLinear`.
        last_gain: that of the output layer.
    """

    def layer(a: FloatArray, b: FloatArray, size: float | None) -> torch.nn.Module:
        if relaxation is None:
            return EquivariantLinear(a, b, gain=size)
        return RelaxedLinear(a, b, relaxation=relaxation, gain=size)

    layers: list[torch.nn.Module] = []
    seen = rho_in
    for width in widths:
        hidden = regular(table, max(1, round(width / len(table))))
        layers += [layer(seen, hidden, gain), activation()]
        seen = hidden
    if rho_out is not None:
        layers.append(layer(seen, rho_out, last_gain))
        seen = rho_out
    return torch.nn.Sequential(*layers), seen
