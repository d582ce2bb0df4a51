"""What generators alone decide about an action: orbits, representatives, words and transporters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np

from burnside._types import IntArray
from burnside.errors import GroupTooLarge, InvalidParameter
from burnside.groups.group import Group
from burnside.groups.orbits import SchreierTree, orbit_labels, orbit_sizes, representatives, schreier_tree
from burnside.groups.permutations import inverse

__all__ = ["Orbits"]


class Orbits:
    """The part of :class:`~burnside.groups.Action` that never looks at more than the generators.

    >>> from burnside.groups import Action
    >>> Action.natural(Group.symmetric(30)).orbit(3).size
    30
    """

    #: Entries beyond which ``table`` and ``transporters`` refuse (int64: 400 MB).
    table_limit: ClassVar[int] = 50_000_000

    def _set(self, group: Group, images: IntArray) -> None:
        images = images.copy()
        images.flags.writeable = False
        self._group = group
        self._images = images

    @property
    def group(self) -> Group:
        """The group that acts."""
        return self._group

    @property
    def size(self) -> int:
        """The number of points."""
        return int(self._images.shape[1])

    @property
    def generator_images(self) -> IntArray:
        """The permutation by which each generator acts, one row each; read-only."""
        return self._images

    @cached_property
    def _labels(self) -> IntArray:
        labels = orbit_labels(self._images)
        labels.flags.writeable = False
        return labels

    def orbits(self) -> IntArray:
        """The orbit number of every point, numbered by smallest member; linear in the points; read-only.

        >>> from burnside.groups import Action
        >>> Action.from_generators(Group.cyclic(2), [[1, 0, 2]]).orbits()
        array([0, 0, 1])
        """
        return self._labels

    @cached_property
    def representatives(self) -> IntArray:
        """The smallest member of every orbit."""
        return representatives(self._labels)

    @cached_property
    def orbit_sizes(self) -> IntArray:
        """The number of points in every orbit."""
        return orbit_sizes(self._labels)

    @property
    def n_orbits(self) -> int:
        """The number of orbits, from generators only; compare :meth:`count`."""
        return len(self.representatives)

    def orbit(self, i: int) -> IntArray:
        """The points of the orbit of ``i``, ascending.

        >>> from burnside.groups import Action
        >>> Action.from_generators(Group.cyclic(2), [[1, 0, 2]]).orbit(1)
        array([0, 1])
        """
        return np.flatnonzero(self._labels == self._labels[self._point(i)]).astype(np.int64, copy=False)

    @property
    def is_transitive(self) -> bool:
        """Whether there is exactly one orbit."""
        return self.n_orbits == 1

    @property
    def is_free(self) -> bool:
        """Whether only the identity fixes a point: every orbit has as many points as the group has elements.

        >>> from burnside.groups import Action
        >>> Action.natural(Group.cyclic(5)).is_free, Action.natural(Group.dihedral(5)).is_free
        (True, False)
        """
        order = self._group.order
        return all(int(size) == order for size in np.unique(self.orbit_sizes))

    @cached_property
    def tree(self) -> SchreierTree:
        """For every point the generator that leads towards its representative."""
        return schreier_tree(self._images, self.size)

    def word(self, i: int) -> tuple[int, ...]:
        """Letters that carry ``i`` to its representative, in the order applied (see :meth:`act_word`).

        >>> from burnside.groups import Action
        >>> Action.natural(Group.cyclic(5)).word(4)
        (0,)
        """
        return self.tree.word(self._point(i))

    def act_word(self, letters: Sequence[int], i: int) -> int:
        """The point to which ``i`` is carried; letter ``j < k`` is generator ``j``, letter ``k + j`` its inverse.

        >>> from burnside.groups import Action
        >>> Action.natural(Group.cyclic(5)).act_word([0, 0, 1], 3)
        4
        """
        k = len(self._images)
        i = self._point(i)
        for letter in letters:
            if not 0 <= letter < 2 * k:
                raise InvalidParameter(f"letter {letter} is not one of 0…{2 * k - 1}: there are {k} generators")
            i = int(self._images[letter, i] if letter < k else self._inverse_images[letter - k, i])
        return i

    @cached_property
    def _inverse_images(self) -> IntArray:
        return inverse(self._images)

    def transporter(self, i: int) -> IntArray:
        """A group element, as a permutation of ``degree`` points, with ``g·i`` the representative of ``i``.

        >>> from burnside.groups import Action
        >>> Action.natural(Group.cyclic(5)).transporter(2)
        array([3, 4, 0, 1, 2])
        """
        return self._group.product(self.word(i))

    def transporters(self) -> IntArray:
        """The transporters of all points, shape (size, degree); ``group.indices`` turns them into indices.

        >>> from burnside.groups import Action
        >>> Action.natural(Group.cyclic(3)).transporters()
        array([[0, 1, 2],
               [2, 0, 1],
               [1, 2, 0]])
        """
        from burnside.groups import kernels

        gens = self._group.generators
        if self.size * self._group.degree > self.table_limit:
            raise GroupTooLarge(
                f"the transporters of {self.size} points on {self._group.degree} points exceed "
                f"Action.table_limit ="
                f" {self.table_limit} entries: ask for those you need with transporter(i)"
            )
        out = np.empty((self.size, self._group.degree), dtype=np.int64)
        tree = self.tree
        kernels.carry(tree.step, tree.towards, tree.order, gens, inverse(gens), out)
        return out

    def _point(self, i: int) -> int:
        if not 0 <= i < self.size:
            raise InvalidParameter(f"point {i} is not one of 0…{self.size - 1}")
        return int(i)
