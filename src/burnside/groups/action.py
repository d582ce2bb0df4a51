"""Left actions of finite groups on finite sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import ClassVar

import numpy as np

from burnside._types import ArrayLike, IntArray
from burnside.errors import GroupTooLarge, InvalidAction, InvalidParameter
from burnside.groups import constructions
from burnside.groups.chain import Chain
from burnside.groups.group import Group
from burnside.groups.permutations import check_permutations, fixed_points, identity
from burnside.groups.points import Orbits

__all__ = ["Action"]

# Steps up to which the axioms are checked on the Cayley graph (about 1 ns each); beyond, by Schreier
# relators.
_CAYLEY_STEPS = 2_000_000_000


class Action(Orbits):
    """A left action of a group on ``{0, …, size-1}``: ``table[g, i] = g·i`` over ``group.elements``.

    >>> square = Action.natural(Group.dihedral(4))
    >>> square.on_functions(2).n_orbits          # necklaces of four beads in two colours, up to reflection
    6
    >>> square.on_functions(2).count()           # Burnside's lemma agrees
    6

    The axioms are checked: the identity moves nothing, and ``g·(h·i) = (gh)·i``. Orbits, representatives,
    transporters, stabilizers and freeness need generators only; ``table`` and ``count`` enumerate the group.
    """

    #: Steps ``order * size`` beyond which ``count`` refuses (about 1 ns each).
    count_limit: ClassVar[int] = 5_000_000_000

    def __init__(self, group: Group, table: ArrayLike) -> None:
        """Check the axioms, O(order · k · n): ``table[gen·h] = table[gen] ∘ table[h]`` for every generator."""
        rows = np.asarray(table)
        found = group.enumeration
        if rows.ndim != 2 or rows.shape[0] != group.order:
            raise InvalidAction(
                f"the table has shape {rows.shape}: {group.name} needs one row per element, ({group.order}, n)"
            )
        n = rows.shape[1]
        wrong = np.flatnonzero(rows[0] != np.arange(n))
        if wrong.size:
            i = int(wrong[0])
            raise InvalidAction(f"the identity (row 0) sends point {i} to {rows[0, i]}: it must leave every point")
        index = found.cayley[0]
        images = check_permutations(rows[index], n, "the image of generator")
        for j in range(len(images)):
            for h in range(group.order):
                broken = np.flatnonzero(rows[found.cayley[h, j]] != images[j][rows[h]])
                if broken.size:
                    i = int(broken[0])
                    raise InvalidAction(
                        f"the table is not a left action at g={index[j]}, h={h}, i={i}: g·(h·i) is "
                        f"{images[j][rows[h, i]]} but (gh)·i is {rows[found.cayley[h, j], i]}; "
                        "give table[g, i] = g·i over group.elements (a right action needs the inverse)"
                    )
        self._set(group, images)

    @classmethod
    def _trusted(cls, group: Group, images: IntArray) -> Action:
        action = cls.__new__(cls)
        action._set(group, images)
        return action

    @classmethod
    def from_generators(cls, group: Group, images: ArrayLike, *, check: bool = True, size: int | None = None) -> Action:
        """The action in which each generator acts as the permutation given for it, in the group's order.

        ``check`` proves that the images satisfy the relations of the group: on its Cayley graph if that is
        small, O(order · k · n), otherwise on the relators of a stabilizer chain. ``size`` is needed only
        without generators.

        >>> Action.from_generators(Group.cyclic(2), [[1, 0, 2]]).n_orbits
        2
        >>> Action.from_generators(Group.cyclic(2), [[1, 2, 0]])
        Traceback (most recent call last):
        ...
        burnside.errors.InvalidAction: these images are not an action of Z2: ...
        """
        rows = check_permutations(images, size, "the image of generator")
        if len(rows) != len(group.generators):
            raise InvalidAction(
                f"{group.name} has {len(group.generators)} generators but {len(rows)} images were given: "
                f"give one"
                " permutation per generator, in the order of group.generators"
            )
        action = cls._trusted(group, rows)
        if check:
            action._check_relations()
        return action

    def _check_relations(self) -> None:
        group, images = self._group, self._images
        start = f"these images are not an action of {group.name}: "
        end = "; give images that satisfy the relations of the group"
        steps = group.order * max(1, len(images)) * self.size
        if group.is_enumerable and steps <= _CAYLEY_STEPS:
            from burnside.groups import kernels

            found = group.enumeration
            j, h, i = kernels.check_cayley(images, found.cayley, found.parent, found.letter)
            if j >= 0:
                word = [*found.word(h), j]
                once, other = self.act_word(word, i), self.act_word(found.word(int(found.cayley[h, j])), i)
                raise InvalidAction(
                    f"{start}generator {j} after element {h} sends point {i} to {once}, but their "
                    f"product sends it to"
                    f" {other}{end}"
                )
            return
        moved = self._diagonal.broken_relator()
        if moved is not None:
            raise InvalidAction(f"{start}a product of generators equal to the identity moves point {moved}{end}")

    @classmethod
    def from_function(cls, group: Group, n: int, act: Callable[[IntArray, int], int], *, check: bool = True) -> Action:
        """The action with ``g·i = act(g, i)``, where ``g`` is a generator as a permutation of ``degree`` points.

        >>> Action.from_function(Group.cyclic(3), 3, lambda g, i: g[i]).is_transitive
        True
        """
        rows = [[int(act(gen, i)) for i in range(n)] for gen in group.generators]
        return cls.from_generators(group, np.array(rows, dtype=np.int64).reshape(-1, n), check=check, size=n)

    @classmethod
    def natural(cls, group: Group) -> Action:
        """The action on the points on which the group is represented.

        >>> Action.natural(Group.symmetric(12)).n_orbits
        1
        """
        return cls._trusted(group, group.generators)

    @classmethod
    def regular(cls, group: Group) -> Action:
        """The action on the group itself by left multiplication, ``g·h = gh``; free and transitive.

        >>> Action.regular(Group.dihedral(3)).is_free
        True
        """
        return cls._trusted(group, np.ascontiguousarray(group.enumeration.cayley.T))

    @classmethod
    def trivial(cls, group: Group, n: int) -> Action:
        """The action on ``n`` points that moves none.

        >>> Action.trivial(Group.cyclic(3), 4).n_orbits
        4
        """
        return cls._trusted(group, np.tile(identity(n), (len(group.generators), 1)))

    def product(self, other: Action) -> Action:
        """The action on pairs, ``g·(i, j) = (g·i, g·j)``, with ``(i, j)`` numbered ``i * other.size + j``.

        >>> Action.natural(Group.cyclic(5)).product(Action.natural(Group.cyclic(5))).n_orbits
        5
        """
        self._same_group(other)
        return self._trusted(self._group, constructions.product_images(self._images, other._images))

    def disjoint(self, other: Action) -> Action:
        """The action on the disjoint union; the points of ``other`` follow those of ``self``.

        >>> Action.natural(Group.cyclic(5)).disjoint(Action.trivial(Group.cyclic(5), 2)).size
        7
        """
        self._same_group(other)
        return self._trusted(self._group, constructions.disjoint_images(self._images, other._images))

    def on_functions(self, colours: int) -> Action:
        """The action on labellings of the points, ``(g·x)(v) = x(g⁻¹ v)``, numbered in C order (base
        ``colours``).

        >>> Action.natural(Group.cyclic(6)).on_functions(2).n_orbits
        14
        """
        if colours < 1:
            raise InvalidParameter(f"colours is {colours}: give at least 1")
        return self._trusted(self._group, constructions.function_images(self._images, colours))

    def wreath(self, top: int | Group) -> Action:
        """The product action of ``group.wreath(top)`` on tuples of points, numbered in C order.

        >>> Action.natural(Group.symmetric(5)).wreath(3)
        Action(S5 wr S3 on 125 points)
        """
        above = top if isinstance(top, Group) else Group.symmetric(top)
        return self._trusted(self._group.wreath(above), constructions.power_images(self._images, above.generators))

    def restrict(self, points: ArrayLike) -> Action:
        """The action on an invariant set of points, renumbered in the order given.

        >>> Action.natural(Group.named("Z2xZ3")).restrict([2, 3, 4]).size
        3
        """
        return self._trusted(self._group, constructions.restricted_images(self._images, points))

    def to_subgroup(self, subgroup: Group) -> Action:
        """The same points under a subgroup of the group.

        >>> action = Action.natural(Group.symmetric(4))
        >>> action.to_subgroup(action.stabilizer(0)).n_orbits
        2
        """
        rows = [self.image(gen) for gen in subgroup.generators]
        return self._trusted(subgroup, np.array(rows, dtype=np.int64).reshape(len(rows), self.size))

    def _same_group(self, other: Action) -> None:
        if self._group != other._group:
            raise InvalidAction(
                f"these are actions of different groups, {self._group.name} and {other._group.name}: "
                f"build both from"
                " the same Group"
            )

    @cached_property
    def _diagonal(self) -> Chain:
        """The chain of the group with the images carried along."""
        d = self._group.degree
        return Chain(np.hstack([self._group.generators, self._images + d]), d, self._group.order)

    def image(self, g: int | ArrayLike) -> IntArray:
        """The permutation of the points by which ``g`` acts; ``g`` is a permutation or an index in ``elements``.

        A permutation is carried through the stabilizer chain, so that the size of the group does not matter.

        >>> Action.natural(Group.symmetric(3)).product(Action.natural(Group.symmetric(3))).image([1, 0, 2])
        array([4, 3, 5, 1, 0, 2, 7, 6, 8])
        """
        group = self._group
        if isinstance(g, int | np.integer):
            if not 0 <= g < group.order:
                raise InvalidParameter(f"element {g} is not one of 0…{group.order - 1} of {group.name}")
            perm = group.elements[g]
        else:
            perm = check_permutations([np.asarray(g)], group.degree, "permutation")[0]
        whole = self._diagonal.factor(perm)
        if whole is None:
            raise InvalidAction(f"this permutation is not an element of {group.name}: choose elements of the group")
        return whole[group.degree :] - group.degree

    def act(self, g: int | ArrayLike, i: int) -> int:
        """The point ``g·i``; ``g`` is a permutation or an index in ``group.elements``.

        >>> Action.natural(Group.cyclic(5)).act(2, 4)
        1
        """
        group, i = self._group, self._point(i)
        if group.is_enumerable:  # one point along a word, instead of all points
            e = int(g) if isinstance(g, int | np.integer) else group.index(g)
            if not 0 <= e < group.order:
                raise InvalidParameter(f"element {e} is not one of 0…{group.order - 1} of {group.name}")
            return self.act_word(group.enumeration.word(e), i)
        return int(self.image(g)[i])

    def fixed(self, g: int | ArrayLike) -> IntArray:
        """The points that ``g`` leaves where they are.

        >>> Action.natural(Group.dihedral(5)).fixed([0, 4, 3, 2, 1])
        array([0])
        """
        return fixed_points(self.image(g))

    @cached_property
    def is_faithful(self) -> bool:
        """Whether only the identity fixes every point: the images generate a group of the same order.

        >>> Action.trivial(Group.cyclic(2), 3).is_faithful
        False
        """
        if self.size == 0:
            return self._group.order == 1
        if self._group.is_enumerable and self._group.order * self.size <= self.count_limit:
            return bool(np.count_nonzero(self.fixed_counts() == self.size) == 1)
        return Group(self._images, degree=self.size).order == self._group.order

    @cached_property
    def table(self) -> IntArray:
        """``table[g, i] = g·i`` over ``group.elements``; :class:`GroupTooLarge` beyond
        ``Action.table_limit``.

        >>> Action.natural(Group.cyclic(3)).table
        array([[0, 1, 2],
               [1, 2, 0],
               [2, 0, 1]])
        """
        if self._group.order * self.size > self.table_limit:
            raise GroupTooLarge(
                f"the table of {self._group.order} elements on {self.size} points exceeds "
                f"Action.table_limit ="
                f" {self.table_limit} entries: use image(g) for single elements, or orbits() and "
                f"transporter(i)"
            )
        table = self._group.enumeration.carry(self._images)
        table.flags.writeable = False
        return table

    def stabilizer(self, i: int) -> Group:
        """The subgroup that fixes ``i``, by few generators and without enumerating the group.

        Its order is ``|G| / |orbit|`` (orbit–stabilizer), which is also how the search for generators knows
        that it is complete.

        >>> Action.natural(Group.symmetric(12)).stabilizer(0).order
        39916800
        """
        group, orbit = self._group, self.orbit(i)
        d, order = group.degree, group.order // orbit.size
        name = f"Stab_{group.name}({i})"
        if orbit.size == 1:
            return Group._known(group.generators, name, group.order, d)
        if order * orbit.size != group.order:
            raise InvalidAction(
                f"the orbit of {i} has {orbit.size} points, which does not divide the order {group.order} of"
                f" {group.name}: these images are not an action; build it with check=True"
            )
        gens = np.empty((0, d), dtype=np.int64)
        if order > 1:
            rows = np.hstack([group.generators, constructions.restricted_images(self._images, orbit) + d])
            first = d + int(np.searchsorted(orbit, i))
            gens = _few(Chain(rows, d, group.order, first=first).stabilizer_generators(), order)
        return Group._known(gens, name, order, d)

    def fixed_counts(self) -> IntArray:
        """The number of fixed points of every element, in the order of ``group.elements``. O(order · size) time.

        >>> Action.natural(Group.symmetric(3)).fixed_counts().tolist()
        [3, 0, 1, 0, 1, 1]
        """
        from burnside.groups import kernels

        group = self._group
        if not group.is_enumerable or group.order * self.size > self.count_limit:
            raise GroupTooLarge(
                f"counting fixed points needs each of the {group.order} elements of {group.name} on "
                f"{self.size} points:"
                " use n_orbits, which needs generators only"
            )
        found = group.enumeration
        out = np.empty(found.order, dtype=np.int64)
        kernels.fix_counts(self._images, found.parent, found.letter, out)
        return out

    def count(self) -> int:
        """The number of orbits by Burnside's lemma, the average number of fixed points over the group.

        Independent of :meth:`orbits`, and so a cross-check of it. O(order · size) time, O(order) memory.

        >>> Action.natural(Group.cyclic(6)).on_functions(2).count()
        14
        """
        total = int(self.fixed_counts().sum())
        count, rest = divmod(total, self._group.order)
        if rest:
            raise InvalidAction(
                f"the fixed points of {self._group.name} sum to {total}, no multiple of its order: these "
                f"images are no"
                " action; build it with check=True"
            )
        return count

    def __repr__(self) -> str:
        """Group and number of points."""
        return f"Action({self._group.name} on {self.size} points)"


def _few(gens: IntArray, order: int) -> IntArray:
    """Leave out generators that the others make superfluous, while checking that is cheap."""
    if order > 10_000 or len(gens) < 2:
        return gens
    kept = gens
    for j in range(len(gens) - 1, -1, -1):
        fewer = np.delete(kept, j, axis=0)
        if len(fewer) and Group(fewer).order == order:
            kept = fewer
    return kept
