"""Maps of numbers that are names: the labels of ``Discrete`` and ``MultiDiscrete`` spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.symmetry.base import Map, frozen
from burnside.symmetry.vectors import SignedPermutation, Trivial, parse_permutation

__all__ = ["Labels", "MultiLabels"]


class Labels(Map):
    """A permutation of labels: label ``a`` becomes ``table[a]``.

    Args:
        table: for every label what it becomes, ``"1,0"`` or a list.
        start: the first label, as in ``Discrete(n, start=…)``; the table counts from 0 all the same.

    Mind the direction: for *one-hot vectors*, whose numbers change places, use :meth:`one_hot`.

    >>> turn = Labels("1,2,3,0")                                      # up, right, down, left: a quarter turn
    >>> turn(0), turn(np.array([0, 3]))
    (1, array([1, 0]))
    """

    kind = "labels"
    event_ndim = 0

    def __init__(self, table: str | ArrayLike, start: int = 0) -> None:
        index, signs = parse_permutation(table)
        if (signs < 0).any():
            raise InvalidAction(f"labels have no signs, but {table!r:.80} has: write each label's image, such as '1,0'")
        self.table: AnyArray = frozen(index, np.int64)
        self.start = int(start)
        self._list: list[int] = (index + self.start).tolist()

    @classmethod
    def by_names(cls, names: Sequence[str], moves: Mapping[str, str]) -> Labels:
        """From names: ``{"left": "right"}`` also brings right to left, unless it is said otherwise.

        >>> Labels.by_names(["stay", "left", "right"], {"left": "right"})
        Labels('0,2,1')
        """
        place = {name: i for i, name in enumerate(names)}
        if len(place) != len(names):
            raise InvalidParameter("the names of the labels must differ from each other")
        table = list(range(len(names)))
        for a, b in ({b: a for a, b in moves.items()} | dict(moves)).items():
            for name in (a, b):
                if name not in place:
                    raise UnknownName("label", name, names)
            table[place[a]] = place[b]
        return cls(table)

    @property
    def count(self) -> int:
        """How many labels there are."""
        return self.table.size

    def one_hot(self) -> SignedPermutation:
        """The same for labels that are written as one-hot vectors.

        >>> Labels("1,2,0").one_hot()(np.array([1, 0, 0]))                     # label 0 becomes 1
        array([0, 1, 0])
        """
        return SignedPermutation(np.argsort(self.table), np.ones(self.count))

    def __call__(self, x: Any) -> Any:
        """The labels' images; a single label gives a plain integer."""
        if x.__class__ is int or isinstance(x, np.integer):
            number = int(x) - self.start
            if not 0 <= number < len(self._list):
                raise self._refused(x)
            return self._list[number]
        label = np.asarray(x)
        if label.dtype.kind == "f" and (label == np.round(label)).all():
            label = label.astype(np.int64)
        place = label - self.start if label.dtype.kind in "iu" else None
        if place is None or (label.size and not (place.min() >= 0 and place.max() < self.count)):
            raise self._refused(x)
        return (self.table[place] + self.start).astype(label.dtype)

    def _refused(self, x: Any) -> InvalidParameter:
        return InvalidParameter(f"labels are numbered {self.start}…{self.start + self.count - 1}, got {x!r:.80}")

    def __matmul__(self, other: Any) -> Map:
        """First ``other``, then this one."""
        if isinstance(other, Trivial):
            return self
        if not isinstance(other, Labels) or other.count != self.count or other.start != self.start:
            raise InvalidAction(f"{self!r} and {other!r} act on different spaces: all generators must act on the same")
        return Labels(self.table[other.table], self.start)

    def inverse(self) -> Labels:
        """The permutation that leads back."""
        return Labels(np.argsort(self.table), self.start)

    def identity(self) -> Labels:
        """All labels stay."""
        return Labels(np.arange(self.count), self.start)

    def difference(self, other: Map) -> str | None:
        """The first label that goes elsewhere."""
        if isinstance(other, Trivial):
            other = self.identity()
        if not isinstance(other, Labels) or other.count != self.count or other.start != self.start:
            return f"{self!r} acts on another space than {other!r}"
        wrong = np.flatnonzero(self.table != other.table)
        if not wrong.size:
            return None
        i = int(wrong[0])
        return f"label {i + self.start} becomes {self._list[i]} instead of {other._list[i]}"

    def __str__(self) -> str:
        """``1,0``: for every label what it becomes."""
        return ",".join(map(str, self.table.tolist()))

    def __repr__(self) -> str:
        """The table in quotes."""
        return f"Labels({str(self)!r}{f', start={self.start}' if self.start else ''})"

    def __eq__(self, other: object) -> bool:
        """The same table."""
        return isinstance(other, Labels) and self.start == other.start and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        """Hash of the table."""
        return hash((self.start, self.table.tobytes()))

    def to_data(self) -> Any:
        """``labels 1,0``."""
        return {"kind": "labels", "table": str(self), "start": self.start} if self.start else f"labels {self}"


class MultiLabels(Map):
    """Several labels that change places, and names within each place: ``new[i] = labels[i](old[places[i]])``.

    Args:
        labels: for every place the relabelling of what comes there (a table, ``"1,0"``), or None if names stay.
        places: which old place each one comes from; default each its own.

    >>> swap = MultiLabels([None, "1,0", "1,0"], places="0,2,1")
    >>> swap(np.array([5, 0, 1]))
    array([5, 0, 1])
    >>> swap(np.array([5, 0, 0]))
    array([5, 1, 1])
    """

    kind = "multilabels"

    def __init__(self, labels: Sequence[Any], places: str | ArrayLike | None = None) -> None:
        found = [None if m is None or m == "" else m if isinstance(m, Labels) else Labels(m) for m in labels]
        self.labels: tuple[Labels | None, ...] = tuple(
            None if m is not None and np.array_equal(m.table, np.arange(m.count)) else m for m in found
        )
        index, signs = parse_permutation(",".join(map(str, range(len(found)))) if places is None else places)
        if (signs < 0).any() or index.size != len(found):
            raise InvalidAction(
                f"places must be a permutation of {len(found)} places without signs, got {places!r:.80}"
            )
        self.places: AnyArray = frozen(index, np.int64)

    @property
    def count(self) -> int:
        """How many labels there are."""
        return len(self.labels)

    def __call__(self, x: Any) -> Any:
        """The labels moved and renamed."""
        found = np.asarray(x)
        if found.shape[-1:] != (self.count,):
            raise InvalidParameter(f"{self!r} needs {self.count} labels on the last axis, got shape {found.shape}")
        out = found[..., self.places]
        for i, rename in enumerate(self.labels):
            if rename is not None:
                out[..., i] = rename(out[..., i])
        return out

    def __matmul__(self, other: Any) -> Map:
        """First ``other``, then this one."""
        if isinstance(other, Trivial):
            return self
        if not isinstance(other, MultiLabels) or other.count != self.count:
            raise InvalidAction(f"{self!r} and {other!r} act on different spaces: all generators must act on the same")
        renamed = [_then(m, other.labels[p]) for m, p in zip(self.labels, self.places.tolist(), strict=True)]
        return MultiLabels(renamed, other.places[self.places])

    def inverse(self) -> MultiLabels:
        """The map that leads back."""
        back = np.argsort(self.places)
        renamed = [self.labels[i] for i in back.tolist()]
        return MultiLabels([None if m is None else m.inverse() for m in renamed], back)

    def identity(self) -> MultiLabels:
        """All stays."""
        return MultiLabels([None] * self.count)

    def difference(self, other: Map) -> str | None:
        """The first place with another origin or other names."""
        if isinstance(other, Trivial):
            other = self.identity()
        if not isinstance(other, MultiLabels) or other.count != self.count:
            return f"{self!r} acts on another space than {other!r}"
        for i in range(self.count):
            if self.places[i] != other.places[i]:
                return f"place {i} comes from {self.places[i]} instead of {other.places[i]}"
            if self.labels[i] != other.labels[i]:
                return f"the labels of place {i} become {self.labels[i]} instead of {other.labels[i]}"
        return None

    def __repr__(self) -> str:
        """Tables and places."""
        tables = [None if m is None else str(m) for m in self.labels]
        return f"MultiLabels({tables}, places='{','.join(map(str, self.places.tolist()))}')"

    def __eq__(self, other: object) -> bool:
        """The same places and names."""
        return (
            isinstance(other, MultiLabels) and self.labels == other.labels and np.array_equal(self.places, other.places)
        )

    def __hash__(self) -> int:
        """Hash of both."""
        return hash((self.labels, self.places.tobytes()))

    def to_data(self) -> Any:
        """Tables (empty where names stay) and places."""
        return {
            "kind": "multilabels",
            "labels": ["" if m is None else str(m) for m in self.labels],
            "places": ",".join(map(str, self.places.tolist())),
        }


def _then(second: Labels | None, first: Labels | None) -> Map | None:
    if second is None or first is None:
        return first if second is None else second
    return second @ first
