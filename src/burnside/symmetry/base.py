"""What a representation is: a small value that says how a space of observations, actions or states is moved.

There are two sorts of values:

- a :class:`Map` moves a space once (:class:`~burnside.symmetry.SignedPermutation`, :class:`~burnside.symmetry.Labels`,
  …). It is what *one generator* of a finite group does;
- others say what *every element* of a group does (:class:`~burnside.symmetry.Rotation`), or put representations
  together (:class:`PerGenerator`, :class:`ByKey`, :class:`InOrder`, :class:`Concat`, :class:`Stack`).

Python's own containers can be written for the latter: a list is one map for each generator, a dictionary is a ``Dict``
space, a tuple is a ``Tuple`` space. :func:`as_representation` turns them into values; :func:`to_data` and
:func:`from_data` write and read them as plain values for JSON and TOML.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.errors import InvalidAction, InvalidParameter, UnknownName

__all__ = [
    "ByKey",
    "Concat",
    "Function",
    "InOrder",
    "Map",
    "PerGenerator",
    "Representation",
    "Stack",
    "as_representation",
    "from_data",
    "to_data",
]

_KINDS: dict[str, type[Representation]] = {}


class Representation:
    """How a group acts on one space: an immutable value, compared by what it says."""

    #: The name in files; None for what cannot be written.
    kind: ClassVar[str | None] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "kind" in cls.__dict__ and cls.kind is not None:
            _KINDS[cls.kind] = cls

    @property
    def width(self) -> int | None:
        """How many numbers the vector has; None if it is not a vector."""
        return None

    def __add__(self, other: Any) -> Representation:
        """Vectors one after the other: ``(a + b)(x, y) = (a(x), b(y))``."""
        right = as_representation(other)
        for part in (self, right):
            if part.width is None:
                raise InvalidParameter(
                    f"{part!r} does not act on a vector of known width, so it cannot be added: for Dict and Tuple "
                    'spaces write {"key": …} or (…, …)'
                )
        return concat([self, right])

    def __mul__(self, times: int) -> Representation:
        """A flat history: the same representation on ``times`` vectors, one after the other."""
        if not isinstance(times, int) or times < 1:
            raise InvalidParameter(f"a vector is repeated a whole number of times, at least once, got {times!r}")
        return reduce(lambda a, b: a + b, [self] * times)

    def to_data(self) -> Any:
        """Plain values for JSON and TOML; :func:`from_data` reads them."""
        if self.kind is None:
            raise InvalidParameter(f"{self!r} is made of Python functions, which cannot be written to a file")
        # the values of this package are dataclasses unless they write themselves
        found = {f.name: _plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind} | {key: value for key, value in found.items() if value is not None}

    @classmethod
    def from_fields(cls, data: Mapping[str, Any]) -> Representation:
        """From the dictionary that :meth:`to_data` wrote, without ``kind``."""
        return cls(**data)


class Map(Representation):
    """One invertible map of a space onto itself: what one element of a group does there.

    ``m(x)`` applies it, to any leading axes; ``m @ n`` is first n, then m; ``m ** −1`` is the inverse.
    """

    #: How many axes one point of the space has: 0 for a label, 1 for a vector, 2 or 3 for an image; None: any.
    event_ndim: ClassVar[int | None] = 1

    def __call__(self, x: Any) -> Any:
        """The image of x."""
        raise NotImplementedError

    def __matmul__(self, other: Any) -> Map:
        """First ``other``, then this one."""
        raise NotImplementedError

    def inverse(self) -> Map:
        """The map that leads back."""
        raise NotImplementedError

    def identity(self) -> Map:
        """The map of the same space that changes nothing."""
        raise NotImplementedError

    def difference(self, other: Map) -> str | None:
        """Where two maps of one space differ, in words; None if they are the same."""
        raise NotImplementedError

    def matrix(self) -> FloatArray:
        """The matrix of the map, if it is linear."""
        raise InvalidParameter(f"{self!r} is not linear, so it has no matrix")

    def __pow__(self, power: int) -> Map:
        """The map applied ``power`` times; negative powers apply the inverse."""
        base = self.inverse() if power < 0 else self
        return reduce(lambda a, b: a @ b, [base] * abs(power), self.identity())

    def order(self, limit: int = 1000) -> int:
        """How often the map must be applied until everything is back; refuses beyond ``limit``.

        >>> from burnside.symmetry import SignedPermutation
        >>> SignedPermutation("1,-0").order()
        4
        """
        unit, power = self.identity(), self
        for count in range(1, limit + 1):
            if power.difference(unit) is None:
                return count
            power = self @ power
        raise InvalidAction(f"{self!r} applied {limit} times is not the identity: it generates no small finite group")


# ---------------------------------------------------------------------- putting representations together


@dataclass(frozen=True)
class PerGenerator(Representation):
    """One map for each generator of a finite group; written as a list.

    >>> from burnside.symmetry import SignedPermutation
    >>> as_representation(["-0,1", "0,-1"])
    PerGenerator((SignedPermutation('-0,1'), SignedPermutation('0,-1')))
    """

    maps: tuple[Representation, ...]

    kind = "generators"

    def __post_init__(self) -> None:
        object.__setattr__(self, "maps", tuple(as_representation(m) for m in self.maps))
        if not self.maps:
            raise InvalidParameter("an empty list is not a representation: give one map for each generator")
        if len({m.width for m in self.maps}) > 1:
            raise InvalidAction(
                f"the generators must act on one space, but their maps have widths {[m.width for m in self.maps]}"
            )

    @property
    def width(self) -> int | None:
        """The width of the maps."""
        return self.maps[0].width

    def to_data(self) -> Any:
        """A list."""
        return [to_data(m) for m in self.maps]

    def __repr__(self) -> str:
        """The maps."""
        return f"PerGenerator({self.maps!r})"


@dataclass(frozen=True, eq=False)
class ByKey(Representation):
    """A ``Dict`` space: every key has its own representation; written as a dictionary."""

    parts: Mapping[str, Representation]

    kind = "dict"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", {str(k): as_representation(v) for k, v in self.parts.items()})
        if not self.parts:
            raise InvalidParameter("an empty dictionary is not a representation: give one for each key of the space")

    def to_data(self) -> Any:
        """A dictionary of kind ``dict``."""
        return {"kind": "dict", "parts": {key: to_data(part) for key, part in self.parts.items()}}

    def __eq__(self, other: object) -> bool:
        """The same keys with the same representations, in any order."""
        return isinstance(other, ByKey) and dict(self.parts) == dict(other.parts)

    def __hash__(self) -> int:
        """Hash of the keys and parts."""
        return hash(frozenset(self.parts.items()))

    def __repr__(self) -> str:
        """As it was written."""
        return repr(dict(self.parts))


@dataclass(frozen=True)
class InOrder(Representation):
    """A ``Tuple`` space: every place has its own representation; written as a tuple."""

    parts: tuple[Representation, ...]

    kind = "tuple"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(as_representation(part) for part in self.parts))
        if not self.parts:
            raise InvalidParameter("an empty tuple is not a representation: give one for each place of the space")

    def to_data(self) -> Any:
        """A dictionary of kind ``tuple``."""
        return {"kind": "tuple", "parts": [to_data(part) for part in self.parts]}

    def __repr__(self) -> str:
        """As it was written."""
        return repr(self.parts)


@dataclass(frozen=True)
class Concat(Representation):
    """Vectors one after the other, written ``a + b``."""

    parts: tuple[Representation, ...]

    kind = "sum"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(as_representation(part) for part in self.parts))

    @property
    def width(self) -> int:
        """The widths together."""
        return sum(part.width or 0 for part in self.parts)

    def to_data(self) -> Any:
        """A dictionary of kind ``sum``."""
        return {"kind": "sum", "parts": [to_data(part) for part in self.parts]}

    def __repr__(self) -> str:
        """As it was written."""
        return " + ".join(repr(part) for part in self.parts)


@dataclass(frozen=True)
class Stack(Representation):
    """A frame stack or history: ``times`` observations along a new first axis, all moved by one element.

    Use ``rep * times`` where the history is one flat vector instead.

    >>> from burnside.symmetry import EnvSymmetry, SignedPermutation
    >>> mirror = EnvSymmetry("mirror", Stack(SignedPermutation("-0,1"), 2), "-0")
    >>> mirror.act_on_observation(1, np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[-1.,  2.],
           [-3.,  4.]])
    """

    part: Representation
    times: int

    kind = "stack"

    def __post_init__(self) -> None:
        object.__setattr__(self, "part", as_representation(self.part))
        if not isinstance(self.times, int) or self.times < 1:
            raise InvalidParameter(f"a stack has a whole number of frames, at least one, got {self.times!r}")

    def to_data(self) -> Any:
        """A dictionary of kind ``stack``."""
        return {"kind": "stack", "part": to_data(self.part), "times": self.times}

    @classmethod
    def from_fields(cls, data: Mapping[str, Any]) -> Representation:
        """Read the part as well."""
        return cls(from_data(data["part"]), int(data["times"]))


@dataclass(frozen=True)
class Function(Representation):
    """A function ``(g, x) → g·x`` of your own, where nothing ready-made fits; it cannot be written to a file."""

    act: Callable[[Any, Any], Any]


def concat(parts: list[Representation]) -> Representation:
    """Vectors one after the other, in the simplest form there is."""
    flat: list[Representation] = []
    for part in parts:
        for piece in part.parts if isinstance(part, Concat) else (part,):
            merged = flat[-1].merge(piece) if flat and hasattr(flat[-1], "merge") else None
            if merged is None:
                flat.append(piece)
            else:
                flat[-1] = merged
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


# ---------------------------------------------------------------------- written and read


def as_representation(spec: Any) -> Representation:
    """A value from what a user writes: a string is a signed permutation, a list one map per generator, and so on.

    >>> as_representation({"position": "-0,1", "colour": "trivial"})
    {'position': SignedPermutation('-0,1'), 'colour': Trivial()}
    """
    if isinstance(spec, Representation):
        return spec
    if isinstance(spec, str):
        return _from_text(spec)
    if isinstance(spec, Mapping):
        return ByKey(spec)
    if isinstance(spec, tuple):
        return InOrder(spec)
    if isinstance(spec, list):
        return PerGenerator(tuple(spec))
    if callable(spec):
        return Function(spec)
    raise InvalidParameter(
        f"a {type(spec).__name__} is not a representation: give a SignedPermutation, a Rotation, a string such as "
        '"0,1,-2", a list (one per generator), a dictionary or a tuple'
    )


def _from_text(text: str) -> Representation:
    word, _, rest = text.strip().partition(" ")
    if word == "trivial":
        return _KINDS["trivial"].from_fields({"width": int(rest)} if rest else {})
    if word in ("labels", "image"):
        return _KINDS[word].from_fields({"table" if word == "labels" else "op": rest})
    return _KINDS["signed"].from_fields({"text": text})


def to_data(spec: Any) -> Any:
    """Plain values of a representation, for JSON and TOML."""
    return as_representation(spec).to_data()


def from_data(data: Any) -> Representation:
    """The representation that :func:`to_data` wrote.

    >>> from_data({"kind": "tuple", "parts": ["0,-1", "labels 1,0"]})
    (SignedPermutation('0,-1'), Labels('1,0'))
    """
    if isinstance(data, str):
        return _from_text(data)
    if isinstance(data, list):
        return PerGenerator(tuple(from_data(item) for item in data))
    if not isinstance(data, Mapping) or "kind" not in data:
        raise InvalidParameter(f"a representation is a string, a list or a table with a kind, got {data!r:.80}")
    kind, rest = data["kind"], {key: value for key, value in data.items() if key != "kind"}
    try:
        if kind == "dict":
            return ByKey({key: from_data(part) for key, part in rest["parts"].items()})
        if kind in ("tuple", "sum"):
            parts = [from_data(part) for part in rest["parts"]]
            return InOrder(tuple(parts)) if kind == "tuple" else concat(parts)
        if kind not in _KINDS:
            raise UnknownName("kind of representation", str(kind), _KINDS)
        return _KINDS[kind].from_fields(rest)
    except (KeyError, TypeError, AttributeError) as error:
        raise InvalidParameter(f"a representation of kind {kind!r} cannot be read from {rest!r:.80}: {error}") from None


def _plain(value: Any) -> Any:
    """Numbers, strings, lists: what JSON and TOML have."""
    if isinstance(value, Representation):
        return value.to_data()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def frozen(values: Any, dtype: Any) -> AnyArray:
    """A read-only array: values are shared, and must not change."""
    found = np.array(values, dtype=dtype)
    found.flags.writeable = False
    return found
