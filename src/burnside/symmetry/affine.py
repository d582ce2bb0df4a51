"""General maps of vectors: ``x → A x + b``, where some numbers may be angles or quaternions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike, FloatArray
from burnside.errors import InvalidAction, InvalidParameter
from burnside.symmetry.base import Map, frozen
from burnside.symmetry.vectors import SignedPermutation, Trivial, same_width, unmoved

__all__ = ["Affine", "Folding", "Shift", "affine", "concat_maps", "is_exact"]

_TOLERANCE = 1e-9  # maps that agree so far are the same: products of turns are rounded


@dataclass(frozen=True)
class Folding:
    """What different numbers of a vector mean the same: angles up to full turns, quaternions up to their sign.

    Attributes:
        periodic: for every such number (place, lowest value, period).
        quaternions: the four places of each quaternion, the real part first.
    """

    periodic: tuple[tuple[int, float, float], ...] = ()
    quaternions: tuple[tuple[int, int, int, int], ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to fold."""
        return bool(self.periodic or self.quaternions)

    def shifted(self, by: int) -> Folding:
        """The same, ``by`` places further on."""
        return Folding(
            tuple((i + by, low, period) for i, low, period in self.periodic),
            tuple((a + by, b + by, c + by, d + by) for a, b, c, d in self.quaternions),
        )

    def __add__(self, other: Folding) -> Folding:
        """Both."""
        return Folding(self.periodic + other.periodic, self.quaternions + other.quaternions)

    def __call__(self, x: AnyArray) -> AnyArray:
        """Angles in their range, and quaternions with their first number that is not 0 positive; changes x in place."""
        for i, low, period in self.periodic:
            value = x[..., i]
            inside = (value >= low) & (value < low + period)
            if not inside.all():  # what is in range keeps its bits
                wrapped = low + np.mod(value - low, period)
                wrapped = np.where(wrapped >= low + period, low, wrapped)
                x[..., i] = np.where(inside, value, wrapped)
        for quad in self.quaternions:
            places = list(quad)
            q = x[..., places]
            first = np.take_along_axis(q, np.argmax(np.abs(q) > 1e-12, axis=-1)[..., None], axis=-1)
            x[..., places] = np.where(first < 0, -q, q)
        return x


class Affine(Map):
    """``x → A x + b``, for vectors some of whose numbers may be angles or quaternions (:class:`Folding`).

    The general form of maps of vectors; what :class:`Rotation` and :class:`Shift` become for an element of a finite
    group. Results are rounded, so maps that agree up to 1e-9 count as the same.

    >>> swap = Affine([[0, 1], [1, 0]], [1, 0])
    >>> swap(np.array([5.0, 7.0])), swap.inverse()(np.array([8.0, 5.0]))
    (array([8., 5.]), array([5., 7.]))
    """

    kind = "affine"

    def __init__(self, matrix: ArrayLike, offset: ArrayLike | None = None, folding: Folding | None = None) -> None:
        self.linear: FloatArray = frozen(matrix, np.float64)
        if self.linear.ndim != 2 or self.linear.shape[0] != self.linear.shape[1]:
            raise InvalidAction(f"a map of vectors is a square matrix, got shape {self.linear.shape}")
        if not np.isfinite(self.linear).all() or abs(np.linalg.det(self.linear)) < 1e-9:
            raise InvalidAction("this matrix cannot be inverted, so it is not an element of a group")
        n = self.linear.shape[0]
        self.offset: FloatArray = frozen(np.zeros(n) if offset is None else offset, np.float64)
        if self.offset.shape != (n,):
            raise InvalidAction(f"the offset needs {n} numbers, got shape {self.offset.shape}")
        self.folding = Folding() if folding is None else folding

    @property
    def width(self) -> int:
        """How many numbers there are."""
        return self.linear.shape[0]

    def __call__(self, x: Any) -> Any:
        """The vector moved; floating types are kept, others become float64."""
        x = np.asarray(x)
        if x.shape[-1:] != (self.width,):
            raise InvalidParameter(f"this map needs {self.width} numbers on the last axis, got shape {x.shape}")
        out = x @ self._transposed
        if self._shifts:
            out = out + self.offset
        out = out.astype(x.dtype) if x.dtype.kind == "f" and out.dtype != x.dtype else out
        return self.folding(out) if self.folding else out

    @cached_property
    def _transposed(self) -> FloatArray:
        return np.ascontiguousarray(self.linear.T)

    @cached_property
    def _shifts(self) -> bool:
        return bool(self.offset.any())

    def __matmul__(self, other: Any) -> Map:
        """First ``other``, then this one."""
        if isinstance(other, Trivial):
            return self
        if not isinstance(other, Map):
            return NotImplemented
        right = affine(other)
        same_width(self, right)
        folding = self.folding if self.folding else right.folding
        return Affine(self.linear @ right.linear, self.linear @ right.offset + self.offset, folding)

    def inverse(self) -> Affine:
        """The map that leads back."""
        back = np.linalg.inv(self.linear)
        return Affine(back, -back @ self.offset, self.folding)

    def identity(self) -> Affine:
        """All numbers stay, up to folding."""
        return Affine(np.eye(self.width), None, self.folding)

    def difference(self, other: Map) -> str | None:
        """The first number that is made differently."""
        if isinstance(other, Trivial):
            other = self.identity()
        right = affine(other)
        same_width(self, right)
        linear, offset = right.linear - self.linear, right.offset - self.offset
        for i, _, period in self.folding.periodic + right.folding.periodic:
            offset[i] -= period * np.round(offset[i] / period)
        for quad in self.folding.quaternions + right.folding.quaternions:
            rows = list(quad)
            if np.abs(right.linear[rows] + self.linear[rows]).max() < _TOLERANCE:
                linear[rows] = 0.0  # −q is the same rotation as q
        wrong = np.flatnonzero((np.abs(linear) > _TOLERANCE).any(axis=1) | (np.abs(offset) > _TOLERANCE))
        if not wrong.size:
            return None
        i = int(wrong[0])
        return f"new[{i}] is {_sum_text(self, i)} instead of {_sum_text(right, i)}"

    def matrix(self) -> FloatArray:
        """A, if there is no offset and nothing is folded."""
        if self._shifts or self.folding:
            return super().matrix()
        return self.linear

    def simple(self) -> Map:
        """A signed permutation, if that is all it is."""
        exact = np.abs(self.linear)
        if self._shifts or self.folding or not (np.isin(exact, (0.0, 1.0)).all() and (exact.sum(axis=1) == 1).all()):
            return self
        index = np.argmax(exact, axis=1)
        return SignedPermutation(index, self.linear[np.arange(self.width), index])

    def __eq__(self, other: object) -> bool:
        """The same numbers, exactly."""
        return (
            isinstance(other, Affine)
            and np.array_equal(self.linear, other.linear)
            and np.array_equal(self.offset, other.offset)
            and self.folding == other.folding
        )

    def __hash__(self) -> int:
        """Hash of the numbers."""
        return hash((self.linear.tobytes(), self.offset.tobytes(), self.folding))

    def __repr__(self) -> str:
        """The size only, if it is large."""
        return f"Affine({self.linear.round(4).tolist()})" if self.width <= 3 else f"Affine(<{self.width}×{self.width}>)"

    def to_data(self) -> Any:
        """Matrix and offset."""
        if self.folding:
            raise InvalidParameter("a map with angles or quaternions is written as the Rotation or Shift it came from")
        found: dict[str, Any] = {"kind": "affine", "matrix": self.linear.tolist()}
        return found | ({"offset": self.offset.tolist()} if self._shifts else {})


def _sum_text(m: Affine, i: int) -> str:
    terms = [f"{m.linear[i, j]:+.4g}·old[{j}]" for j in np.flatnonzero(np.abs(m.linear[i]) > _TOLERANCE)[:4]]
    return " ".join(terms + ([f"{m.offset[i]:+.4g}"] if abs(m.offset[i]) > _TOLERANCE else [])) or "0"


@dataclass(frozen=True)
class Shift(Map):
    """Angles or phases that a generator shifts, and perhaps reverses: ``new = sign·old + by``, within its period.

    Attributes:
        by: the shift.
        period: after which values repeat; ``inf`` if they do not.
        low: the least value; values lie in ``[low, low + period)``.
        sign: −1 if the direction is reversed.
        width: how many such numbers there are.

    A gait phase in [0, 1) moves on by half a period when left and right change roles. A phase that is given as its
    cosine and sine changes both signs then: ``SignedPermutation("- -")``.

    >>> Shift(0.5, period=1.0, low=0.0)(np.array([0.1, ]))
    array([0.6])
    >>> Shift(0.5, period=1.0, low=0.0).order()
    2
    """

    by: float
    period: float = 2 * math.pi
    low: float = -math.pi
    sign: int = 1
    width: int = 1

    kind = "shift"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.by) and self.period > 0 and self.sign in (-1, 1) and self.width >= 1):
            raise InvalidParameter(f"a shift needs a finite number, a positive period and a sign of ±1, got {self!r}")

    @cached_property
    def _affine(self) -> Affine:
        periodic = math.isfinite(self.period)
        folding = Folding(tuple((i, self.low, self.period) for i in range(self.width)) if periodic else ())
        return Affine(self.sign * np.eye(self.width), np.full(self.width, self.by), folding)

    def __call__(self, x: Any) -> Any:
        """The numbers shifted."""
        return self._affine(x)

    def __matmul__(self, other: Any) -> Map:
        """First ``other``, then this one."""
        return self._affine @ other

    def inverse(self) -> Map:
        """The shift back."""
        return self._affine.inverse()

    def identity(self) -> Map:
        """No shift."""
        return self._affine.identity()

    def difference(self, other: Map) -> str | None:
        """Whether the sums differ, up to periods."""
        return self._affine.difference(other)

    def to_data(self) -> Any:
        """The fields; an infinite period is left out of neither JSON nor TOML: it is written as 0."""
        found = super().to_data()
        return found | ({} if math.isfinite(self.period) else {"period": 0.0})

    @classmethod
    def from_fields(cls, data: Mapping[str, Any]) -> Shift:
        """A period of 0 means none."""
        found = dict(data)
        return cls(**(found | ({"period": math.inf} if found.get("period") == 0 else {})))


def affine(m: Map) -> Affine:
    """Any map of vectors in the general form."""
    if isinstance(m, Affine):
        return m
    if isinstance(m, Shift):
        return m._affine
    if isinstance(m, SignedPermutation) or (isinstance(m, Trivial) and m.width is not None):
        return Affine(m.matrix())
    raise InvalidAction(f"{m!r} is not a map of vectors: all generators must act on the same space")


def concat_maps(maps: Sequence[Map]) -> Map:
    """The map of vectors that stand one after the other."""
    if all(isinstance(m, Trivial) for m in maps):
        return Trivial(sum(m.width or 0 for m in maps))
    if all(isinstance(m, SignedPermutation | Trivial) for m in maps):
        found: Any = None
        for m in maps:
            piece = unmoved(m.width or 0) if isinstance(m, Trivial) else m
            found = piece if found is None else found.merge(piece)
        return found
    parts = [affine(m) for m in maps]
    width = sum(p.width for p in parts)
    matrix, offset, folding, start = np.zeros((width, width)), np.zeros(width), Folding(), 0
    for p in parts:
        stop = start + p.width
        matrix[start:stop, start:stop], offset[start:stop] = p.linear, p.offset
        folding, start = folding + p.folding.shifted(start), stop
    return Affine(matrix, offset, folding)


def is_exact(m: Map) -> bool:
    """Whether applying the map is free of rounding."""
    return not isinstance(m, Affine | Shift)
