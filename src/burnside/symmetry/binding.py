"""From a group and a representation to an action: the maps of all elements, and the check that they are one.

For a finite group every element gets its map once, as the product of generators that leads to it, and the relations of
the group are checked on all of them. That is all there is to check: the Cayley graph contains every relation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burnside.errors import GroupTooLarge, InvalidAction
from burnside.symmetry.acting import (
    Acting,
    ConcatActing,
    FunctionActing,
    LeafActing,
    RotationActing,
    StackActing,
    TreeActing,
    TrivialActing,
)
from burnside.symmetry.affine import concat_maps
from burnside.symmetry.base import (
    ByKey,
    Concat,
    Function,
    InOrder,
    Map,
    PerGenerator,
    Representation,
    Stack,
    as_representation,
)
from burnside.symmetry.given import GivenGroup
from burnside.symmetry.groups import ContinuousGroup, EnvGroup, FiniteGroup
from burnside.symmetry.images import Image
from burnside.symmetry.rotations import Rotation
from burnside.symmetry.vectors import Trivial

__all__ = ["bind"]

_MOST = 100_000  # elements that get a map of their own


def bind(group: EnvGroup, spec: Any) -> Acting:
    """The action of a group by a representation; :class:`~burnside.errors.InvalidAction` if it is not an action.

    >>> import numpy as np
    >>> from burnside.symmetry.groups import env_group
    >>> act = bind(env_group("V4"), ["-0,1", "0,-1"]).act
    >>> act(3, np.array([1.0, 2.0]))                     # both reflections
    array([-1., -2.])
    """
    rep = as_representation(spec)
    if isinstance(rep, Function):
        return FunctionActing(group, rep.act)
    if isinstance(group, GivenGroup):
        if group.base is None:
            raise InvalidAction(
                f"{rep!r} acts by a group that is known by name or as a Group; generators of your own need functions"
            )
        return bind(group.base, rep)
    if isinstance(rep, PerGenerator):
        rep = _transposed(rep)
    if isinstance(rep, PerGenerator) and all(isinstance(m, Trivial) for m in rep.maps):
        rep = rep.maps[0]
    if isinstance(rep, ByKey):
        return TreeActing(group, {key: bind(group, part) for key, part in rep.parts.items()}, sequence=False)
    if isinstance(rep, InOrder):
        return TreeActing(group, {i: bind(group, part) for i, part in enumerate(rep.parts)}, sequence=True)
    if isinstance(rep, Stack):
        return StackActing(bind(group, rep.part), rep.times)
    if isinstance(rep, Trivial):
        return TrivialActing(group, rep.width)
    if isinstance(group, FiniteGroup):
        return LeafActing(group, _close(group, _generator_maps(group, rep)))
    assert isinstance(group, ContinuousGroup)
    if isinstance(rep, Rotation):
        return RotationActing(group, rep)
    if isinstance(rep, Concat):
        return ConcatActing([(bind(group, part), part.width or 0) for part in rep.parts])
    raise InvalidAction(
        f"{rep!r} says what one generator does, but {group} has infinitely many elements: use Rotation for numbers "
        "that turn, and Trivial for what stays"
    )


def _transposed(rep: PerGenerator) -> Representation:
    """A list of dictionaries, one per generator, as a dictionary of lists; likewise tuples."""
    first = rep.maps[0]
    if not isinstance(first, ByKey | InOrder):
        return rep
    if any(type(m) is not type(first) for m in rep.maps):
        raise InvalidAction("the generators must act on one space: give a dictionary (or tuple) for each of them")
    parts: list[Any] = [m.parts for m in rep.maps]  # type: ignore[attr-defined]
    if isinstance(first, InOrder):
        if len({len(p) for p in parts}) > 1:
            raise InvalidAction("the generators must act on one space: their tuples have different lengths")
        return InOrder(tuple(PerGenerator(maps) for maps in zip(*parts, strict=True)))
    if len({frozenset(p) for p in parts}) > 1:
        raise InvalidAction("the generators must act on one space: their dictionaries have different keys")
    return ByKey({key: PerGenerator(tuple(p[key] for p in parts)) for key in first.parts})


def _generator_maps(group: FiniteGroup, rep: Representation) -> list[Map]:
    """What every generator does."""
    count = len(group.generators)
    if isinstance(rep, PerGenerator):
        if len(rep.maps) != count:
            raise InvalidAction(f"{group} has {count} generators, but the list has {len(rep.maps)} maps: give one each")
        return [_one_map(group, j, m) for j, m in enumerate(rep.maps)]
    if isinstance(rep, Map) and not isinstance(rep, Trivial) and not _geometric(rep) and count != 1:
        raise InvalidAction(f"{group} has {count} generators: give a list of {count} maps instead of {rep!r}")
    if isinstance(rep, Concat):
        columns = [_generator_maps(group, part) for part in rep.parts]
        return [concat_maps(maps) for maps in zip(*columns, strict=True)]
    return [_one_map(group, j, rep) for j in range(count)]


def _geometric(rep: Representation) -> bool:
    return isinstance(rep, Image) and rep.op is None


def _one_map(group: FiniteGroup, j: int, rep: Representation) -> Map:
    """What one generator does."""
    if isinstance(rep, Rotation):
        return rep.map(group.element_matrices[group.generators[j]])
    if isinstance(rep, Image) and rep.op is None:
        if group.dimension != 2:
            group.element_matrices  # noqa: B018 - refuses groups that do not move the plane
            raise InvalidAction(
                f"{group} moves space, not the plane of an image: give one Image with an op per generator"
            )
        return Image.of_matrix(group.element_matrices[group.generators[j]], rep.channels)
    if isinstance(rep, Concat):
        return concat_maps([_one_map(group, j, part) for part in rep.parts])
    if isinstance(rep, Map):
        return rep
    raise InvalidAction(
        f"{rep!r} is not a map that a generator could be: give a SignedPermutation, Labels, Image or Shift"
    )


def _close(group: FiniteGroup, maps: list[Map]) -> list[Map]:
    """The map of every element, from those of the generators; checks every relation of the group."""
    if group.order > _MOST:
        raise GroupTooLarge(f"{group} has {group.order} elements, more than {_MOST}: declare a subgroup")
    if all(isinstance(m, Trivial) for m in maps):
        return [maps[0]] * group.order
    model = next(m for m in maps if not isinstance(m, Trivial))
    unit = model.identity()
    maps = [unit if isinstance(m, Trivial) else m for m in maps]
    for j, m in enumerate(maps):
        _check_order(group, j, m, unit)
    found = group.tree
    elements: list[Map] = [unit]
    for e in range(1, group.order):
        elements.append(maps[int(found.letter[e])] @ elements[int(found.parent[e])])
    for h in range(group.order):
        for j, m in enumerate(maps):
            wrong = (m @ elements[h]).difference(elements[int(found.cayley[h, j])])
            if wrong is not None:
                first, second = (*found.word(h), j), found.word(int(found.cayley[h, j]))
                raise InvalidAction(
                    f"the maps do not multiply as the generators of {group} do: the generators {_word(first)}, one "
                    f"after the other, are the same element as {_word(second)}, but their maps differ: {wrong}"
                )
    return elements


def _word(letters: Sequence[int]) -> str:
    return ", ".join(map(str, letters)) or "nothing"


def _check_order(group: FiniteGroup, j: int, m: Map, unit: Map) -> None:
    """A generator of order n must have a map whose n-th power is the identity: M(M(x)) = x for a mirror."""
    n, g = 1, group.generators[j]
    power = g
    while power != 0:
        power, n = group.compose(g, power), n + 1
    wrong = (m**n).difference(unit)
    if wrong is not None:
        times = "twice" if n == 2 else f"{n} times"
        raise InvalidAction(
            f"generator {j} of {group} has order {n}, but its map {m!r} applied {times} is not the identity: {wrong}"
        )
