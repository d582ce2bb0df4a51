"""What a group of an environment is; and finite groups, whose elements are numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._random import Stream, randint
from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter, UnknownName
from burnside.groups import Group

__all__ = ["EnvGroup", "FiniteGroup", "GroupTree", "exact"]

_SMALL = 500  # elements that are listed without compiled code


def exact(matrix: AnyArray) -> FloatArray:
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

    >>> from burnside.symmetry.groups import env_group
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
            out[e] = exact(self.matrices[found.letter[e]] @ out[found.parent[e]])
        return out

    def motion(self, g: Any) -> tuple[FloatArray, None]:
        """The matrices of elements; there is no translation."""
        return self.element_matrices[g], None

    def to_data(self) -> Any:
        """The name, if :func:`env_group` would understand it, else the generating permutations."""
        from burnside.symmetry.groups import env_group

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
