"""The groups an environment can have: finite ones, and rotations and motions of the plane and of space.

A group here says what its *elements* are, in one form per group, so that everything else can be written once:

- finite groups: the elements are the numbers ``0 … order − 1``, as in :attr:`burnside.groups.Group.elements`;
  0 is the identity;
- ``SO(2)``, ``O(2)``: 2×2 matrices; ``SO(3)``: 3×3 matrices;
- ``SE(2)``, ``SE(3)``: homogeneous 3×3 and 4×4 matrices.

Elements may be batched (leading axes). Finite groups that are named after turns and mirrors of the plane (``mirror``,
``C4``, ``D4``, ``V4``) or of the cube (``O``, ``Oh``) also know their matrices, so that
:class:`~burnside.symmetry.Rotation` and :class:`~burnside.symmetry.Image` can be used with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._random import Stream, normal, randint, uniform
from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter, UnknownName
from burnside.groups import Group
from burnside.groups.rigid import invert, quaternion_to_matrix, rigid, so2_exp, so3_exp

__all__ = ["CONTINUOUS", "ContinuousGroup", "EnvGroup", "FiniteGroup", "env_group"]

_SMALL = 500  # elements that are listed without compiled code
_SLOTS = 8  # random numbers that one element may take: those of different counters must not meet


def _exact(matrix: AnyArray) -> FloatArray:
    """A matrix whose entries that are 0, ±½ or ±1 up to rounding are exactly so: quarter turns come out exact."""
    halves = np.round(2 * np.asarray(matrix, dtype=np.float64)) / 2
    return np.where(np.abs(halves - matrix) < 1e-12, halves, matrix) + 0.0


class EnvGroup:
    """What finite and continuous groups have in common; see :func:`env_group` for how to get one."""

    name: str
    #: How many elements there are; None if infinitely many.
    order: int | None
    #: Dimension of the space whose motions these are (2 or 3); None if the group is not known to move one.
    dimension: int | None

    @property
    def generators(self) -> list[Any]:
        """Elements that generate the group; a dense part of it, if the group is continuous."""
        raise NotImplementedError

    @property
    def elements(self) -> Sequence[Any] | None:
        """All elements, or None if there are infinitely many."""
        raise NotImplementedError

    @property
    def identity(self) -> Any:
        """The element that changes nothing."""
        raise NotImplementedError

    def inverse(self, g: Any) -> Any:
        """``g⁻¹``."""
        raise NotImplementedError

    def compose(self, g: Any, h: Any) -> Any:
        """``gh``: first h, then g."""
        raise NotImplementedError

    def random_element(self, seed: int, counter: ArrayLike) -> Any:
        """A random element (one for each counter), a pure function of seed and counter."""
        raise NotImplementedError

    def lead(self, g: Any) -> tuple[int, ...]:
        """The leading axes of elements: ``()`` for a single one."""
        raise NotImplementedError

    def motion(self, g: Any) -> tuple[FloatArray, FloatArray | None]:
        """Rotation ``(…, d, d)`` (perhaps with a reflection) and translation ``(…, d)`` of elements."""
        raise NotImplementedError

    def to_data(self) -> Any:
        """Plain values for JSON and TOML; :func:`env_group` reads them."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class FiniteGroup(EnvGroup):
    """A finite group; its elements are the numbers ``0 … order − 1``, and 0 is the identity.

    Attributes:
        group: the abstract group.
        name: shown in reports.
        matrices: for each *generator* the matrix by which it moves the plane or space, if it does.

    >>> square = env_group("D4")
    >>> square, square.generators, square.compose(1, 1)
    (D4, [1, 2], 3)
    """

    group: Group
    name: str = ""
    matrices: FloatArray | None = None

    def __post_init__(self) -> None:
        if not len(self.group.generators):
            raise InvalidParameter("the trivial group has no generators, so there is nothing to declare")
        object.__setattr__(self, "name", self.name or self.group.name)

    @cached_property
    def tree(self) -> GroupTree:
        """All elements by how they come about from generators."""
        found = _small_tree(self.group)
        if found is not None:
            return found
        large = self.group.enumeration
        return GroupTree(large.elements, large.cayley, large.parent, large.letter)

    @property
    def order(self) -> int:  # type: ignore[override]
        """How many elements there are."""
        return len(self.tree.elements)

    @property
    def dimension(self) -> int | None:  # type: ignore[override]
        """Dimension of the space the matrices move; None without matrices."""
        return None if self.matrices is None else int(self.matrices.shape[-1])

    @cached_property
    def generators(self) -> list[int]:
        """The numbers of the generators."""
        return [int(e) for e in self.tree.cayley[0]]

    @property
    def elements(self) -> range:
        """The numbers of all elements."""
        return range(self.order)

    @property
    def identity(self) -> int:
        """0."""
        return 0

    @cached_property
    def _mul(self) -> IntArray:
        """``_mul[g, h]`` is the number of gh."""
        if self.order > Group.table_limit:
            return self.group.mul  # which says that there are too many
        table = np.empty((self.order, self.order), dtype=np.int64)
        table[0] = np.arange(self.order)
        for e in range(1, self.order):
            table[e] = self.tree.cayley[table[self.tree.parent[e]], self.tree.letter[e]]
        return table

    @cached_property
    def _inv(self) -> IntArray:
        return np.argmin(self._mul, axis=1) if self.order <= Group.table_limit else self.group.inv

    @cached_property
    def _inverses(self) -> list[int]:
        return self._inv.tolist()

    def inverse(self, g: Any) -> Any:
        """``g⁻¹``."""
        if g.__class__ is int:
            return self._inverses[g]
        found = self._inv[np.asarray(g)]
        return int(found) if found.ndim == 0 else found

    def compose(self, g: Any, h: Any) -> Any:
        """``gh``: first h, then g."""
        found = self._mul[g, h]
        return int(found) if np.ndim(found) == 0 else found

    def random_element(self, seed: int, counter: ArrayLike) -> Any:
        """A uniformly random element for each counter."""
        found = randint(seed, Stream.AUGMENT, counter, self.order)
        return int(found) if found.ndim == 0 else found

    def lead(self, g: Any) -> tuple[int, ...]:
        """The axes of an array of numbers."""
        return np.shape(g)

    def check_elements(self, g: Any) -> AnyArray:
        """An array of numbers of elements; refuses what are none."""
        found = np.asarray(g)
        if found.dtype.kind not in "iu" or (found.size and not (found.min() >= 0 and found.max() < self.order)):
            raise InvalidParameter(f"the elements of {self.name} are the numbers 0…{self.order - 1}, got {g!r:.80}")
        return found

    @cached_property
    def element_matrices(self) -> FloatArray:
        """``(order, d, d)``: the matrix of every element."""
        if self.matrices is None:
            raise InvalidParameter(
                f"the group {self.name} is not known to move the plane or space, so turns mean nothing to it: declare "
                "it by name (mirror, C4, D4, V4, O, Oh) or give one signed permutation for each generator"
            )
        found = self.tree
        out = np.empty((self.order, *self.matrices.shape[1:]))
        out[0] = np.eye(self.matrices.shape[-1])
        for e in range(1, self.order):
            out[e] = _exact(self.matrices[found.letter[e]] @ out[found.parent[e]])
        return out

    def motion(self, g: Any) -> tuple[FloatArray, None]:
        """The matrices of elements; there is no translation."""
        return self.element_matrices[g], None

    def to_data(self) -> Any:
        """The name, if :func:`env_group` would understand it, else the generating permutations."""
        try:
            if env_group(self.name) == self:
                return self.name
        except (UnknownName, InvalidParameter):
            pass
        found: dict[str, Any] = {"name": self.name, "permutations": self.group.generators.tolist()}
        if self.matrices is not None:
            found["matrices"] = self.matrices.tolist()
        return found

    def __eq__(self, other: object) -> bool:
        """Same generators, and the same matrices."""
        if not isinstance(other, FiniteGroup) or self.group != other.group:
            return False
        if self.matrices is None or other.matrices is None:
            return self.matrices is other.matrices
        return self.matrices.shape == other.matrices.shape and bool(np.allclose(self.matrices, other.matrices))

    def __hash__(self) -> int:
        """Hash of the generators."""
        return hash(self.group)

    def __repr__(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True)
class GroupTree:
    """Elements (as permutations) and how they come about: see :class:`burnside.groups.enumeration.Enumeration`."""

    elements: IntArray
    cayley: IntArray
    parent: IntArray
    letter: IntArray

    def word(self, e: int) -> tuple[int, ...]:
        """The generators whose product an element is, in the order in which they are applied."""
        letters = []
        while e != 0:
            letters.append(int(self.letter[e]))
            e = int(self.parent[e])
        return tuple(reversed(letters))


def _small_tree(group: Group) -> GroupTree | None:
    """The elements in the same order as ``group.elements``, without compiled code: loading that takes a second or two,
    which is too long to declare that CartPole has two elements. None if there are more than some hundreds.
    """
    gens = [row.tolist() for row in group.generators]
    start = tuple(range(group.degree))
    number, rows = {start: 0}, [start]
    cayley: list[list[int]] = []
    parent, letter = [-1], [-1]
    for h, row in enumerate(rows):  # which grows meanwhile
        cayley.append([])
        for j, gen in enumerate(gens):
            image = tuple(gen[i] for i in row)
            if image not in number:
                if len(rows) == _SMALL:
                    return None
                number[image] = len(rows)
                rows.append(image)
                parent.append(h)
                letter.append(j)
            cayley[h].append(number[image])
    return GroupTree(*(np.array(part, dtype=np.int64) for part in (rows, cayley, parent, letter)))


#: Continuous groups: the dimension of the space, whether there are reflections, whether there are translations.
CONTINUOUS = {
    "SO(2)": (2, False, False),
    "O(2)": (2, True, False),
    "SO(3)": (3, False, False),
    "SE(2)": (2, False, True),
    "SE(3)": (3, False, True),
}


@dataclass(frozen=True)
class ContinuousGroup(EnvGroup):
    """Rotations, reflections and translations of the plane or of space; elements are matrices.

    Attributes:
        name: one of ``SO(2)``, ``O(2)``, ``SO(3)``, ``SE(2)``, ``SE(3)``.
        reach: random translations lie between −reach and reach, along each axis.

    >>> turns = env_group("SO(2)")
    >>> turns.rotation(np.pi / 2).round(6).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    >>> turns.random_element(seed=0, counter=[0, 1, 2]).shape
    (3, 2, 2)
    """

    name: str
    reach: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in CONTINUOUS:
            raise UnknownName("continuous group", self.name, CONTINUOUS)
        if not (self.reach > 0 and math.isfinite(self.reach)):
            raise InvalidParameter(f"reach must be a positive number, got {self.reach}")

    @property
    def order(self) -> None:  # type: ignore[override]
        """None: there are infinitely many elements."""
        return

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Dimension of the space."""
        return CONTINUOUS[self.name][0]

    @property
    def has_reflections(self) -> bool:
        """Whether there are elements of determinant −1."""
        return CONTINUOUS[self.name][1]

    @property
    def has_translations(self) -> bool:
        """Whether there are translations."""
        return CONTINUOUS[self.name][2]

    def rotation(self, angle: ArrayLike, axis: ArrayLike = (0, 0, 1), *, reflect: bool = False) -> FloatArray:
        """The element that turns by an angle; in space about an axis. ``reflect``: after the mirror ``y → −y``."""
        angles = np.asarray(angle, dtype=np.float64)
        if self.dimension == 2:
            turn = so2_exp(angles)
            if reflect:
                if not self.has_reflections:
                    raise InvalidParameter(f"{self.name} has no reflections: use O(2)")
                turn = turn * np.array([1.0, -1.0])
        else:
            unit = np.asarray(axis, dtype=np.float64)
            turn = so3_exp(angles[..., None] * unit / np.linalg.norm(unit))
        return rigid(turn) if self.has_translations else turn

    def translation(self, shift: ArrayLike) -> FloatArray:
        """The element that moves every point by ``shift``."""
        if not self.has_translations:
            raise InvalidParameter(f"{self.name} has no translations: use SE({self.dimension})")
        moved = np.asarray(shift, dtype=np.float64)
        return rigid(
            np.broadcast_to(np.eye(self.dimension), (*moved.shape[:-1], self.dimension, self.dimension)), moved
        )

    @property
    def generators(self) -> list[FloatArray]:
        """Elements whose products come as near as one likes to every element.

        One radian is no fraction of a full turn, so its multiples are dense in the circle. What holds for these
        elements, exactly, holds for the whole group if it depends on the element continuously.
        """
        found = [self.rotation(1.0)]
        if self.dimension == 3:
            found.append(self.rotation(1.0, (1, 0, 0)))
        if self.has_reflections:
            found.append(self.rotation(0.0, reflect=True))
        if self.has_translations:
            found.append(self.translation(self.reach * np.eye(self.dimension)[0]))
        return found

    @property
    def elements(self) -> None:
        """None: there are infinitely many; use :meth:`random_element`."""
        return

    @property
    def identity(self) -> FloatArray:
        """The unit matrix."""
        return np.eye(self.dimension + self.has_translations)

    def inverse(self, g: Any) -> Any:
        """``g⁻¹``."""
        return invert(g) if self.has_translations else np.swapaxes(np.asarray(g), -1, -2)

    def compose(self, g: Any, h: Any) -> Any:
        """``gh``: first h, then g."""
        return np.matmul(g, h)

    def random_element(self, seed: int, counter: ArrayLike) -> FloatArray:
        """Rotations uniform over the group; translations uniform in a box of half-width :attr:`reach`."""
        first = _SLOTS * np.asarray(counter)
        if self.dimension == 2:
            turn = so2_exp(2 * np.pi * uniform(seed, Stream.AUGMENT, first))
            if self.has_reflections:
                flip = np.where(uniform(seed, Stream.AUGMENT, first + 1) < 0.5, 1.0, -1.0)
                turn = turn * np.stack([np.ones_like(flip), flip], axis=-1)[..., None, :]
        else:
            four = np.stack([normal(seed, Stream.AUGMENT, first // 2 + k) for k in range(4)], axis=-1)
            turn = quaternion_to_matrix(four)
        if not self.has_translations:
            return turn
        # another stream than the rotation, whose normal numbers take all the slots
        shift = [uniform(seed, Stream.MISC, first + k) for k in range(self.dimension)]
        return rigid(turn, self.reach * (2 * np.stack(shift, axis=-1) - 1))

    def lead(self, g: Any) -> tuple[int, ...]:
        """The axes before the matrices."""
        size = self.dimension + self.has_translations
        shape = np.shape(g)
        if shape[-2:] != (size, size):
            raise InvalidParameter(f"elements of {self.name} are {size}×{size} matrices, got shape {shape}")
        return shape[:-2]

    def motion(self, g: Any) -> tuple[FloatArray, FloatArray | None]:
        """Rotation and translation."""
        self.lead(g)
        found, d = np.asarray(g, dtype=np.float64), self.dimension
        return found[..., :d, :d], (found[..., :d, d] if self.has_translations else None)

    def to_data(self) -> Any:
        """The name, with the reach where it matters."""
        return self.name if self.reach == 1.0 else {"name": self.name, "reach": self.reach}

    def __repr__(self) -> str:
        """The name."""
        return self.name


def env_group(spec: Any) -> EnvGroup:
    """A group from its name, from a :class:`~burnside.groups.Group`, or from what ``to_data`` wrote.

    Names: ``mirror`` (one reflection, ``y → −y``), ``C2``, ``C3``, … (turns of the plane; also ``Z2``, …), ``D4`` or
    ``C4v`` (turns and mirrors of a square; any number), ``V4`` (the mirrors ``y → −y`` and ``x → −x``), ``O`` and
    ``Oh`` (the 24 rotations of a cube, and with the inversion 48 symmetries), every other name of
    :meth:`burnside.groups.Group.named`, and ``SO(2)``, ``O(2)``, ``SO(3)``, ``SE(2)``, ``SE(3)``.

    >>> [env_group(name).order for name in ("mirror", "C4", "C4v", "V4", "Oh", "S3", "SO(2)")]
    [2, 4, 8, 4, 48, 6, None]
    """
    if isinstance(spec, EnvGroup):
        return spec
    if isinstance(spec, Group):
        return FiniteGroup(spec)
    if isinstance(spec, dict):
        return _from_data(spec)
    if not isinstance(spec, str):
        raise InvalidParameter(f"a group is given by name or as a Group, got a {type(spec).__name__}")
    name = spec.strip().replace(" ", "")
    short = name.upper().replace("(", "").replace(")", "")
    for known in CONTINUOUS:
        if short == known.replace("(", "").replace(")", ""):
            return ContinuousGroup(known)
    return _named(name)


def _named(name: str) -> FiniteGroup:
    mirror = np.diag([1.0, -1.0])
    if name.lower() == "mirror":
        return FiniteGroup(Group.cyclic(2), "mirror", mirror[None])
    if name == "V4":
        return FiniteGroup(Group.dihedral(2), "V4", np.stack([mirror, -mirror]))
    if match := re.fullmatch(r"(?:[CZ]_?(\d{1,4}))", name):
        n = int(match[1])
        if n > 1:
            return FiniteGroup(Group.cyclic(n), f"C{n}", _exact(so2_exp(2 * np.pi / n))[None])
    if match := re.fullmatch(r"D_?(\d{1,4})|C_?(\d{1,4})v", name):
        n = int(match[1] or match[2])
        if n > 1:
            return FiniteGroup(Group.dihedral(n), f"D{n}", np.stack([_exact(so2_exp(2 * np.pi / n)), mirror]))
    if name in ("O", "Oh"):
        quarter_z = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
        quarter_x = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
        more = [-np.eye(3)] if name == "Oh" else []
        return FiniteGroup(Group.octahedral(full=name == "Oh"), name, np.stack([quarter_z, quarter_x, *more]))
    try:
        return FiniteGroup(Group.named(name))
    except UnknownName:
        known = ["mirror", "C<n>", "D<n>", "C<n>v", "V4", "S<n>", "B<n>", "O", "Oh", "<group>x<group>", *CONTINUOUS]
        raise UnknownName("group", name, known) from None


def _from_data(data: dict[str, Any]) -> EnvGroup:
    if "permutations" in data:
        matrices = None if "matrices" not in data else np.asarray(data["matrices"], dtype=np.float64)
        name = data.get("name")
        return FiniteGroup(Group(data["permutations"], name=name), name or "", matrices)
    if "name" in data:
        found = env_group(data["name"])
        if isinstance(found, ContinuousGroup) and "reach" in data:
            return ContinuousGroup(found.name, float(data["reach"]))
        return found
    raise InvalidParameter(f"a group needs a name or permutations, got {data!r:.80}")
