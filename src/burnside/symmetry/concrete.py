"""A declaration in the form that networks and buffers need: finite, by representations, and as maps of flat vectors.

- :func:`finite`: a finite subgroup of SO(2), O(2) or SO(3), which approximates it;
- :func:`represented`: representations that are read off from functions of the user's, where those are linear;
- :func:`channels_first`: pictures as learners store them;
- :func:`squashed`: actions scaled to [−1, 1], as off-policy learners store them;
- :func:`flat_maps`: what every element does to the numbers that a network sees (labels as one-hot vectors).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.errors import GroupTooLarge, InvalidAction, InvalidParameter
from burnside.groups import Group
from burnside.symmetry.acting import Acting, FunctionActing, LeafActing, StackActing, TreeActing, TrivialActing
from burnside.symmetry.affine import Affine, affine, concat_maps
from burnside.symmetry.base import ByKey, InOrder, Map, PerGenerator, Representation
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.groups import ContinuousGroup
from burnside.symmetry.images import Image
from burnside.symmetry.labels import Labels, MultiLabels
from burnside.symmetry.vectors import SignedPermutation, Trivial, unmoved

__all__ = ["channels_first", "finite", "flat_maps", "represented", "squashed"]

_MOST = 1000  # elements of a group that is read off from functions
_MOST_TURNS = 9999  # of a part of a continuous group; names of groups have four digits


def finite(symmetry: EnvSymmetry, size: int = 8) -> EnvSymmetry:
    """The same symmetry with a finite group: itself, or the part of a continuous one that has ``size`` turns.

    SO(2) becomes the cyclic group of ``size`` turns, O(2) the dihedral group of twice as many elements, SO(3) the 24
    turns of a cube. What is then exactly equivariant is so under that part only.

    >>> from burnside.symmetry import Rotation
    >>> turns = EnvSymmetry("SO(2)", Rotation((0, 1)), Rotation((0, 1)), name="turns")
    >>> found = finite(turns, 6)
    >>> found.order, found.name
    (6, 'turns, C6 of SO(2)')
    """
    if not isinstance(symmetry.group, ContinuousGroup):
        if symmetry.elements is None:
            raise InvalidParameter(f"{symmetry.name} does not list its elements: give EnvSymmetry(…, elements=…)")
        return symmetry
    whole = symmetry.group.name
    if symmetry.group.has_translations:
        raise InvalidParameter(
            f"{whole} has no finite subgroup that comes near to it, because of its translations: use a canonical form"
        )
    if not 2 <= size <= _MOST_TURNS:
        raise InvalidParameter(f"a subgroup of {whole} has 2 to {_MOST_TURNS} turns here, got {size}")
    part = {"SO(2)": f"C{size}", "O(2)": f"D{size}", "SO(3)": "O"}[whole]
    name = f"{symmetry.name}, {part} of {whole}"
    return symmetry.changed(group=part, name=name, domain=None, canonicalizer=None)


# ---------------------------------------------------------------------- functions as representations


def represented(symmetry: EnvSymmetry, observation_space: Any, action_space: Any) -> EnvSymmetry:
    """The same symmetry by representations; those are read off where the user gave functions, if these are linear.

    >>> from gymnasium.spaces import Box, Discrete
    >>> walk = EnvSymmetry([-1], lambda g, x: g * x, lambda g, a: a if g == 1 else 1 - a, name="mirror")
    >>> print(represented(walk, Box(-1, 1, (2,)), Discrete(2)))
    mirror: group read off with 2 elements
      observation: PerGenerator((SignedPermutation('-0,-1'),))
      action: PerGenerator((Labels('1,0'),))
    """
    on = {"observation": symmetry.on("observation"), "action": symmetry.on("action")}
    if not any(isinstance(acting, FunctionActing) for acting in on.values()):
        return symmetry
    spaces = {"observation": observation_space, "action": action_space}
    maps = {what: [_read_off(on[what], g, spaces[what], what) for g in symmetry.generators] for what in on}
    group = _generated(list(zip(maps["observation"], maps["action"], strict=True)), symmetry.name)
    return EnvSymmetry(group, maps["observation"], maps["action"], name=symmetry.name, names=symmetry.names)


def _read_off(acting: Acting, g: Any, space: Any, what: str) -> Map:
    """The map of one element, found by applying the function; refused where it is neither linear nor a relabelling."""
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        labels = [int(acting.act(g, a)) - int(space.start) for a in range(space.start, space.start + space.n)]
        return Labels(labels, int(space.start))
    if not (isinstance(space, spaces.Box) and len(space.shape) == 1):
        raise InvalidParameter(
            f"how the group acts on the {what} is a function, and {space} is neither a vector nor Discrete: give "
            "representations instead (SignedPermutation, Rotation, Labels, Image, …)"
        )
    rng = np.random.default_rng(0)
    width = space.shape[0]

    def act(x: AnyArray) -> AnyArray:
        try:
            return np.asarray(acting.act(g, x.astype(space.dtype)), dtype=np.float64)
        except Exception as error:
            raise InvalidParameter(
                f"how the group acts on the {what} is a function that does not take any vector "
                f"({type(error).__name__}: {error!s:.80}), so no matrix can be read off: give a representation, "
                "or use the arm 'canonical'"
            ) from error

    offset = act(np.zeros(width))
    matrix = np.stack([act(row) - offset for row in np.eye(width)], axis=1)
    for _ in range(4):
        x = np.round(rng.normal(scale=4.0, size=width))
        if not np.allclose(act(x), matrix @ x + offset, atol=1e-5):
            raise InvalidParameter(
                f"how the group acts on the {what} is a function that is not linear, so a network cannot follow it: "
                "give a representation, or use the arm 'canonical'"
            )
    return Affine(np.where(np.abs(np.round(matrix) - matrix) < 1e-6, np.round(matrix), matrix), offset).simple()


def _generated(generators: Sequence[tuple[Map, Map]], name: str) -> Group:
    """The abstract group that pairs of maps generate, as permutations of its own elements."""
    unit = tuple(m.identity() for m in generators[0])
    elements: list[tuple[Map, ...]] = [unit]
    numbers = {tuple(map(_key, unit)): 0}
    images: list[list[int]] = [[] for _ in generators]

    def number(pair: tuple[Map, ...]) -> int:
        key = tuple(map(_key, pair))
        if key not in numbers:
            if len(elements) == _MOST:
                raise GroupTooLarge(
                    f"the generators of {name} generate more than {_MOST} elements, too many for a network or a batch: "
                    "declare a finite subgroup, or use a canonical form"
                )
            numbers[key] = len(elements)
            elements.append(pair)
        return numbers[key]

    for h in elements:  # which grows meanwhile
        for j, s in enumerate(generators):
            images[j].append(number(tuple(a @ b for a, b in zip(s, h, strict=True))))
    if len(elements) == 1:
        raise InvalidAction(f"the generators of {name} change nothing, so there is nothing to learn from them")
    return Group(images, name="read off")


def _key(m: Map) -> bytes:
    """The same for maps that agree up to rounding."""
    if isinstance(m, Labels):
        return m.table.tobytes()
    general = affine(m)
    return (np.round(np.column_stack([general.linear, general.offset]), 5) + 0.0).tobytes()


# ---------------------------------------------------------------------- pictures


def channels_first(symmetry: EnvSymmetry) -> EnvSymmetry:
    """The same symmetry for pictures whose channels were moved to the front, as learners want them.

    >>> from burnside.symmetry import Image
    >>> channels_first(EnvSymmetry("mirror", Image("flip_lr"), "labels 1,0")).observation
    Image('flip_lr', channels='first')
    """
    return symmetry.changed(observation=_moved_channels(symmetry.observation))


def _moved_channels(rep: Representation) -> Representation:
    if isinstance(rep, Image) and rep.channels == "last":
        return Image(rep.op, "first", rep.permute)
    if isinstance(rep, PerGenerator):
        return PerGenerator(tuple(_moved_channels(m) for m in rep.maps))
    if isinstance(rep, ByKey):
        return ByKey({key: _moved_channels(part) for key, part in rep.parts.items()})
    if isinstance(rep, InOrder):
        return InOrder(tuple(_moved_channels(part) for part in rep.parts))
    return rep


# ---------------------------------------------------------------------- scaled actions


def squashed(symmetry: EnvSymmetry, space: Any) -> EnvSymmetry:
    """The same symmetry for actions that were scaled to [−1, 1], as SAC, TD3 and their replay buffers hold them.

    There it must be a signed permutation: nothing else commutes with tanh.

    >>> from gymnasium.spaces import Box
    >>> squashed(EnvSymmetry("mirror", "-0", Affine([[-1.0]], [4.0])), Box(1, 3, (1,))).action
    PerGenerator((SignedPermutation('-0'),))
    """
    from gymnasium import spaces

    if not isinstance(space, spaces.Box):
        return symmetry
    low, high = np.asarray(space.low, np.float64).ravel(), np.asarray(space.high, np.float64).ravel()
    half, middle = (high - low) / 2, (high + low) / 2
    if symmetry.on("action").group.order is None:  # turned actions have no bounds, so these are signs at most
        if not np.allclose(middle, 0.0):
            raise InvalidParameter(f"{symmetry.name} needs actions between −b and b, but their bounds are {space}")
        return symmetry
    maps = []
    for g in symmetry.generators:
        m = affine(flat_maps(symmetry.on("action"), space)[int(g)])
        offset = (m.linear @ middle + m.offset - middle) / half
        scaled = Affine(_tidy(m.linear * half / half[:, None]), _tidy(offset)).simple()
        if not isinstance(scaled, SignedPermutation):
            raise InvalidParameter(
                f"{symmetry.name} turns actions into each other, and SAC squashes each of them by tanh, which does not "
                "commute with turns: use PPO, or quarter turns only"
            )
        maps.append(scaled)
    return symmetry.changed(action=maps, domain=None, canonicalizer=None)


def _tidy(x: FloatArray) -> FloatArray:
    return np.where(np.abs(np.round(x) - x) < 1e-5, np.round(x), x) + 0.0


# ---------------------------------------------------------------------- flat vectors


def flat_maps(acting: Acting, space: Any, *, logits: bool = False) -> list[Map]:
    """What every element does to points of a space that are written as one vector of numbers; labels as one-hot.

    Args:
        acting: the action of a finite group.
        space: its Gymnasium space.
        logits: for the numbers that a network says *about* actions: logits and Q-values. A logit of ``MultiBinary``
            then changes sign where its label changes; as an observation, 0 and 1 change places.

    >>> from gymnasium.spaces import Discrete
    >>> mirror = EnvSymmetry("mirror", "-0,1", "labels 1,0")
    >>> flat_maps(mirror.on("action"), Discrete(2))
    [SignedPermutation('0,1'), SignedPermutation('1,0')]
    """
    from gymnasium import spaces

    order = acting.group.order
    if order is None:
        raise InvalidParameter(f"{acting.group} has infinitely many elements: take a finite subgroup of it")
    if isinstance(acting, TrivialActing):
        return [unmoved(spaces.flatdim(space))] * order
    if isinstance(acting, TreeActing):
        inside = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        columns = [flat_maps(acting.inside[key], part, logits=logits) for key, part in inside]
        return [concat_maps(maps) for maps in zip(*columns, strict=True)]
    if isinstance(acting, StackActing):
        frame = spaces.Box(space.low[0], space.high[0], dtype=space.dtype)
        return [concat_maps([m] * acting.times) for m in flat_maps(acting.part, frame, logits=logits)]
    if isinstance(acting, LeafActing):
        return [_flat(m, space, logits) for m in acting.maps]
    raise InvalidParameter("the symmetry is given by functions: give representations, or see represented()")


def _flat(m: Map, space: Any, logits: bool) -> Map:
    from gymnasium import spaces

    if isinstance(m, Labels):
        return m.one_hot()
    if isinstance(m, MultiLabels):
        if isinstance(space, spaces.MultiBinary):
            signs = [-1 if rename is not None else 1 for rename in m.labels]
            move = SignedPermutation(m.places, signs)
            return move if logits else Affine(move.matrix(), [float(s < 0) for s in signs])
        return _one_hot_blocks(m, np.asarray(space.nvec, dtype=np.int64))
    if isinstance(m, Image):
        raise InvalidParameter("pictures are no flat vectors: use group averaging or augmentation for them")
    if isinstance(m, Trivial):
        return unmoved(spaces.flatdim(space))
    return m if isinstance(m, SignedPermutation) else affine(m).simple()


def _one_hot_blocks(m: MultiLabels, counts: AnyArray) -> SignedPermutation:
    """Several labels, each as a one-hot vector, one after the other."""
    start = np.concatenate([[0], np.cumsum(counts)])
    index = np.empty(int(start[-1]), dtype=np.int64)
    for i, rename in enumerate(m.labels):
        k = int(m.places[i])
        table = np.arange(counts[i]) if rename is None else rename.table
        index[start[i] + table] = start[k] + np.arange(counts[k])
    return SignedPermutation(index, np.ones(index.size))
