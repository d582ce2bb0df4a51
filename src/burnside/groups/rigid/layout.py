"""What the numbers of a flat vector are, and so how rigid motions act on it: points, vectors, headings, scalars.

An observation or action of a robot is a vector of named parts. A motion ``g = (R, t)`` takes a point p to ``R p + t``,
vectors, headings and the two columns of a rot6d to ``R v``, and leaves scalars alone. With this table, one function
serves every task: see :meth:`Layout.act`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._types import BoolArray, IntArray
from burnside.errors import InvalidParameter, UnknownName
from burnside.groups.rigid.arrays import as_like, is_torch, namespace

__all__ = ["KINDS", "Layout"]

#: How many vectors of the space a part of each kind is made of; a scalar is made of none.
KINDS = {"point": 1, "vector": 1, "heading": 1, "rot6d": 2, "scalar": 0}


@dataclass(frozen=True)
class Layout:
    """The named parts of a flat vector, in order.

    Attributes:
        parts: pairs (name, kind); the kinds are ``point``, ``vector`` (a velocity, a direction), ``heading`` (cosine
            and sine of an angle in the plane), ``rot6d`` (the first two columns of a rotation) and ``scalar``.
        d: dimension of the space, 2 or 3.

    >>> push = Layout((("robot", "point"), ("heading", "heading"), ("puck", "point"), ("grip", "scalar")))
    >>> push.width, push.slice("puck")
    (7, slice(4, 6, None))
    >>> quarter = np.array([[0, -1, 5], [1, 0, 0], [0, 0, 1.0]])          # a quarter turn, then 5 to the right
    >>> push.act(quarter, np.array([0, 0, 1, 0, 2, 0, 0.5])).tolist()
    [5.0, 0.0, 0.0, 1.0, 5.0, 2.0, 0.5]
    """

    parts: tuple[tuple[str, str], ...]
    d: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple((str(name), str(kind)) for name, kind in self.parts))
        if self.d not in (2, 3):
            raise InvalidParameter(f"a layout lives in 2 or 3 dimensions, got d={self.d}")
        for _, kind in self.parts:
            if kind not in KINDS:
                raise UnknownName("kind of part", kind, KINDS)
            if (kind == "heading" and self.d != 2) or (kind == "rot6d" and self.d != 3):
                raise InvalidParameter(f"a {kind} needs {2 if kind == 'heading' else 3} dimensions, not {self.d}")
        names = [name for name, _ in self.parts]
        if not names or len(set(names)) != len(names):
            raise InvalidParameter(f"a layout needs parts with names that differ, got {names}")

    @cached_property
    def _slices(self) -> dict[str, slice]:
        found, start = {}, 0
        for name, kind in self.parts:
            stop = start + (KINDS[kind] * self.d or 1)
            found[name] = slice(start, stop)
            start = stop
        return found

    @property
    def width(self) -> int:
        """How many numbers there are."""
        return self._slices[self.parts[-1][0]].stop

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return tuple(name for name, _ in self.parts)

    def slice(self, name: str) -> slice:
        """Where a part stands."""
        if name not in self._slices:
            raise UnknownName("part", name, self._slices)
        return self._slices[name]

    def of_kind(self, *kinds: str) -> tuple[str, ...]:
        """The names of the parts of these kinds."""
        return tuple(name for name, kind in self.parts if kind in kinds)

    @cached_property
    def columns(self) -> IntArray:
        """``(k, d)``: the columns of each of the k vectors, a rot6d counting as two."""
        rows = []
        for name, kind in self.parts:
            first = self._slices[name].start
            rows += [np.arange(self.d) + first + j * self.d for j in range(KINDS[kind])]
        return np.array(rows, dtype=np.int64).reshape(-1, self.d)

    @cached_property
    def is_point(self) -> BoolArray:
        """``(k,)``: which of the vectors are points, which translations move."""
        return np.array([kind == "point" for _, kind in self.parts for _ in range(KINDS[kind])], dtype=np.bool_)

    def act(self, g: Any, x: Any) -> Any:
        """The vector ``g·x``; leading axes broadcast, and dtype and device are those of x.

        Args:
            g: ``(…, d+1, d+1)`` homogeneous matrices.
            x: ``(…, width)``.
        """
        if not is_torch(x):
            x = np.asarray(x)
        if tuple(x.shape[-1:]) != (self.width,):
            raise InvalidParameter(
                f"a vector of {', '.join(self.names)} has {self.width} numbers, got shape {tuple(x.shape)}"
            )
        xp, motion = namespace(x), as_like(g, x)
        if tuple(motion.shape[-2:]) != (self.d + 1, self.d + 1):
            raise InvalidParameter(
                f"a motion in {self.d} dimensions is a {self.d + 1}×{self.d + 1} matrix, got shape "
                f"{tuple(motion.shape)}"
            )
        lead = np.broadcast_shapes(tuple(x.shape[:-1]), tuple(motion.shape[:-2]))
        out = xp.broadcast_to(x, (*lead, self.width))
        out = out.clone() if xp is not np else out.copy()
        if not len(self.columns):
            return out
        columns = as_index(self.columns, x)
        turned = xp.matmul(x[..., columns], xp.swapaxes(motion[..., : self.d, : self.d], -1, -2))
        shift = motion[..., None, : self.d, self.d] * as_like(self.is_point.astype(np.float64), x)[:, None]
        out[..., columns] = turned + shift
        return out


def as_index(index: IntArray, x: Any) -> Any:
    """An index array for numpy arrays or tensors."""
    return namespace(x).from_numpy(index).to(x.device) if is_torch(x) else index
