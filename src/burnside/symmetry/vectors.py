"""Maps of vectors that only move numbers about and change their signs: signed permutations, and nothing at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, ArrayLike, FloatArray
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.symmetry.base import Map, Representation, frozen

__all__ = ["SignedPermutation", "Trivial", "parse_permutation", "unmoved"]


class SignedPermutation(Map):
    """Numbers of a vector change places and signs: ``new[i] = ±old[index]``.

    Args:
        spec: for every place i the index of the old number that comes there, with its sign: ``"0,1,-2"``, and ``"-0"``
            is the number 0 with its sign changed. Signs alone, ``"+ - -"``, leave all places as they are. A list may
            hold such strings or whole numbers; zero has no sign as a number, so a list of numbers of which some are
            negative is refused: ``["-0", -1]`` says which is meant.
        signs: +1 and −1 for every place, if the indices in ``spec`` carry no signs.

    >>> walker = SignedPermutation("0,2,1,-3")
    >>> walker(np.array([10.0, 11.0, 12.0, 13.0]))
    array([ 10.,  12.,  11., -13.])
    >>> walker @ walker == SignedPermutation("0,1,2,3"), walker.order()
    (True, 2)
    """

    kind = "signed"

    def __init__(self, spec: str | ArrayLike, signs: ArrayLike | None = None) -> None:
        index, sign = parse_permutation(spec, signs)
        self.index: AnyArray = frozen(index, np.int64)
        self.signs: AnyArray = frozen(sign, np.int8)
        # Whether all numbers keep their place, all keep their sign, or nothing but signs changes, and all of them.
        self.stays = bool((self.index == np.arange(self.index.size)).all())
        self.keeps = bool((self.signs > 0).all())
        self.negates = self.stays and bool((self.signs < 0).all())
        self._by_dtype: dict[Any, AnyArray] = {}

    @classmethod
    def by_names(cls, names: Sequence[str], moves: Mapping[str, str]) -> SignedPermutation:
        """From names: ``{"left_hip": "-right_hip"}`` is ``new[left_hip] = −old[right_hip]``.

        A partner that is not mentioned moves back with the same sign; all others stay.

        >>> SignedPermutation.by_names(["x", "left", "right"], {"left": "-right", "x": "-x"})
        SignedPermutation('-0,-2,-1')
        """
        place = {name: i for i, name in enumerate(names)}
        if len(place) != len(names):
            raise InvalidParameter("the names of the coordinates must differ from each other")
        tokens = [str(i) for i in range(len(names))]
        for new, old in _with_partners(moves).items():
            sign, source = ("-", old[1:]) if old[:1] in "-−" else ("", old.removeprefix("+"))
            for name in (new, source):
                if name not in place:
                    raise UnknownName("coordinate", name, names)
            tokens[place[new]] = f"{sign}{place[source]}"
        return cls(",".join(tokens))

    @classmethod
    def by_slices(
        cls,
        width: int,
        swap: Iterable[tuple[tuple[int, int], tuple[int, int]]] = (),
        flip: Iterable[int | tuple[int, int]] = (),
    ) -> SignedPermutation:
        """From slices ``(start, stop)``: pairs that change places, and numbers or slices that change sign.

        >>> SignedPermutation.by_slices(6, swap=[((0, 2), (2, 4))], flip=[0, 2, (4, 6)])
        SignedPermutation('-2,3,-0,1,-4,-5')
        """
        index, signs = np.arange(width), np.ones(width, dtype=np.int64)
        for (a, b), (c, d) in swap:
            if b - a != d - c or not (0 <= a <= b <= width and 0 <= c <= d <= width):
                raise InvalidParameter(f"slices ({a}, {b}) and ({c}, {d}) cannot change places in {width} numbers")
            index[a:b], index[c:d] = np.arange(c, d), np.arange(a, b)
        for where in flip:
            start, stop = (where, where + 1) if isinstance(where, int) else where
            if not 0 <= start < stop <= width:
                raise InvalidParameter(f"({start}, {stop}) is not a slice of {width} numbers")
            signs[start:stop] *= -1
        return cls(index, signs)

    @property
    def width(self) -> int:
        """How many numbers there are."""
        return self.index.size

    def __call__(self, x: Any) -> Any:
        """The vector moved; its type is kept."""
        x = x if type(x) is np.ndarray else np.asarray(x)
        if x.shape[-1:] != self.index.shape:
            raise InvalidParameter(f"{self!r} needs {self.index.size} numbers on the last axis, got shape {x.shape}")
        return self.apply(x)

    def apply(self, x: AnyArray) -> AnyArray:
        """The same for an array that is known to fit."""
        if self.negates and x.dtype.kind in "if":
            return -x
        out = x if self.stays else x[..., self.index]
        if self.keeps:
            return out
        signs = self._by_dtype.get(x.dtype)
        return out * (self.signs_like(x.dtype) if signs is None else signs)

    def signs_like(self, dtype: Any) -> AnyArray:
        """The signs as numbers of a type; refuses types that have no negative numbers."""
        if dtype.kind not in "if" and not self.keeps:
            raise InvalidParameter(
                f"{self!r} changes signs, but numbers of type {dtype} have none: use a signed type, or Labels and "
                "MultiLabels for numbers that are names"
            )
        return self._by_dtype.setdefault(dtype, frozen(self.signs, dtype))

    def __matmul__(self, other: Any) -> Map:
        """First ``other``, then this one."""
        if isinstance(other, SignedPermutation):
            same_width(self, other)
            return SignedPermutation(other.index[self.index], self.signs * other.signs[self.index])
        return NotImplemented if not isinstance(other, Map) else self.affine() @ other

    def inverse(self) -> SignedPermutation:
        """The signed permutation that leads back."""
        back = np.argsort(self.index)
        return SignedPermutation(back, self.signs[back])

    def identity(self) -> SignedPermutation:
        """All numbers stay."""
        return SignedPermutation(np.arange(self.width), np.ones(self.width))

    def difference(self, other: Map) -> str | None:
        """The first number that comes from elsewhere, or with another sign."""
        if not isinstance(other, SignedPermutation):
            return self.affine().difference(other)
        same_width(self, other)
        wrong = np.flatnonzero((self.index != other.index) | (self.signs != other.signs))
        if not wrong.size:
            return None
        i = int(wrong[0])
        return f"new[{i}] is {self.token(i, 'old[{}]')} instead of {other.token(i, 'old[{}]')}"

    def affine(self) -> Map:
        """The same as an :class:`Affine` map."""
        from burnside.symmetry.affine import Affine

        return Affine(self.matrix())

    def token(self, i: int, form: str = "{}") -> str:
        """What comes to place i, as text."""
        return ("-" if self.signs[i] < 0 else "") + form.format(self.index[i])

    def matrix(self) -> FloatArray:
        """The matrix, with one ±1 in every row.

        >>> SignedPermutation("1,-0").matrix().tolist()
        [[0.0, 1.0], [-1.0, 0.0]]
        """
        out = np.zeros((self.width, self.width))
        out[np.arange(self.width), self.index] = self.signs
        return out

    def merge(self, other: Representation) -> Representation | None:
        """One signed permutation for two vectors, one after the other."""
        if isinstance(other, Trivial) and other.width is not None:
            other = unmoved(other.width)
        if not isinstance(other, SignedPermutation):
            return None
        index = np.concatenate([self.index, other.index + self.width])
        return SignedPermutation(index, np.concatenate([self.signs, other.signs]))

    def __str__(self) -> str:
        """``0,1,-2``: for every place the index that comes there, zero with a sign."""
        return ",".join(self.token(i) for i in range(self.width))

    def __repr__(self) -> str:
        """The text in quotes."""
        return f"SignedPermutation({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        """Same places and signs."""
        return (
            isinstance(other, SignedPermutation)
            and np.array_equal(self.index, other.index)
            and np.array_equal(self.signs, other.signs)
        )

    def __hash__(self) -> int:
        """Hash of places and signs."""
        return hash((self.index.tobytes(), self.signs.tobytes()))

    def to_data(self) -> str:
        """The text."""
        return str(self)

    @classmethod
    def from_fields(cls, data: Mapping[str, Any]) -> SignedPermutation:
        """From its text."""
        return cls(data["text"])


def _with_partners(moves: Mapping[str, str]) -> dict[str, str]:
    """Moves with the way back added where it was left out."""
    found = dict(moves)
    for new, old in moves.items():
        sign, source = (old[0], old[1:]) if old[:1] in ("-", "−", "+") else ("", old)
        found.setdefault(source, f"{sign}{new}")
    return found


def same_width(a: Any, b: Any) -> None:
    """Refuse maps of vectors of different widths."""
    if a.width != b.width:
        raise InvalidAction(f"maps of vectors of different widths, {a.width} and {b.width}, cannot follow each other")


def parse_permutation(spec: Any, signs: Any = None) -> tuple[AnyArray, AnyArray]:
    """Places and signs from what a user writes; refuses what is not a permutation, and says why.

    >>> parse_permutation("1,-0")
    (array([1, 0]), array([ 1, -1]))
    """
    if isinstance(spec, str):
        tokens: list[Any] = [t for t in re.split(r"[,\s]+", spec.strip().strip("[]()")) if t]
    else:
        tokens = list(np.asarray(spec).ravel().tolist()) if not isinstance(spec, list | tuple) else list(spec)
    if not tokens:
        raise InvalidAction("a permutation of no numbers was given: list one index for every place")
    if all(isinstance(t, str) and t in ("+", "-", "−") for t in tokens):
        tokens = [("-" if t != "+" else "") + str(i) for i, t in enumerate(tokens)]
    pairs = [_token(t, spec) for t in tokens]
    bare = [not isinstance(t, str) and t == 0 for t in tokens]
    if signs is None and any(bare) and any(not isinstance(t, str) and t < 0 for t in tokens):
        raise InvalidAction(
            f"a number 0 has no sign, so {spec!r:.80} does not say which is meant: write a string, where -0 is "
            "another thing than 0, or give signs"
        )
    index = np.array([i for i, _ in pairs], dtype=np.int64)
    sign = np.array([s for _, s in pairs], dtype=np.int64)
    if signs is not None:
        given = np.asarray(signs)
        if given.shape != index.shape or not np.isin(given, (-1, 1)).all():
            raise InvalidAction(f"signs must be {index.size} times +1 or −1, got {signs!r:.80}")
        sign = sign * given.astype(np.int64)
    counts = np.bincount(index, minlength=index.size)
    if counts.size > index.size:
        raise InvalidAction(f"{spec!r:.120} is not a permutation: it has {index.size} places, but names index "
                            f"{counts.size - 1}; indices run from 0 to {index.size - 1}")  # fmt: skip
    if (counts != 1).any():
        twice, never = np.flatnonzero(counts > 1), np.flatnonzero(counts == 0)
        raise InvalidAction(
            f"{spec!r:.120} is not a permutation: index {int(twice[0])} is used {int(counts[twice[0]])} times and "
            f"index {int(never[0])} never; every index must be used once"
        )
    return index, sign


def _token(token: Any, spec: Any) -> tuple[int, int]:
    if isinstance(token, str):
        match = re.fullmatch(r"([+\-−]?)(\d+)", token.strip())
        if match:
            return int(match[2]), -1 if match[1] in ("-", "−") else 1
    elif isinstance(token, int | np.integer) and not isinstance(token, bool):
        return abs(int(token)), -1 if token < 0 else 1
    raise InvalidAction(
        f"{token!r} in {spec!r:.80} is not an index: write whole numbers, with a minus where the sign changes, such as "
        '"0,1,-2"'
    )


@dataclass(frozen=True)
class Trivial(Map):
    """Nothing changes, under any element of any group.

    Attributes:
        width: how many numbers, if it is a vector that stands beside others in a sum; None fits every space.

    >>> Trivial()("anything")
    'anything'
    >>> SignedPermutation("-0") + Trivial(2)
    SignedPermutation('-0,1,2')
    """

    width: int | None = None

    kind = "trivial"
    event_ndim = None

    def __call__(self, x: Any) -> Any:
        """The same."""
        if self.width is not None and np.shape(x)[-1:] != (self.width,):
            raise InvalidParameter(f"{self!r} needs {self.width} numbers on the last axis, got shape {np.shape(x)}")
        return x

    def __matmul__(self, other: Any) -> Map:
        """The other map."""
        return other

    def inverse(self) -> Trivial:
        """Itself."""
        return self

    def identity(self) -> Trivial:
        """Itself."""
        return self

    def difference(self, other: Map) -> str | None:
        """Whether the other one changes anything."""
        if isinstance(other, Trivial):
            return None
        return other.difference(other.identity())

    def matrix(self) -> FloatArray:
        """The unit matrix."""
        if self.width is None:
            return super().matrix()
        return np.eye(self.width)

    def merge(self, other: Representation) -> Representation | None:
        """One value for two vectors, one after the other."""
        if self.width is None or other.width is None:
            return None
        if isinstance(other, SignedPermutation):
            return unmoved(self.width).merge(other)
        return Trivial(self.width + other.width) if isinstance(other, Trivial) else None

    def to_data(self) -> Any:
        """A word, with the width if there is one."""
        return "trivial" if self.width is None else f"trivial {self.width}"

    def __repr__(self) -> str:
        """With the width, if there is one."""
        return f"Trivial({'' if self.width is None else self.width})"


def unmoved(width: int) -> SignedPermutation:
    """The signed permutation that changes nothing."""
    return SignedPermutation(np.arange(width), np.ones(width))
