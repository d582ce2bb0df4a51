"""A table of the last turns: the distance of every class of states near a goal.

States are the same if a rotation or a mirror with recolouring, or the inversion, takes one to the other: they are as
far from the goal. So the 9.2 million states within 7 turns of the solved 3-cube are 97 thousand entries, made in 0.15
seconds. A table never guesses: what it has not got is farther away than its depth.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import AnyArray, IntArray
from burnside.envs.cube.placements import CubePlacements
from burnside.errors import InvalidParameter

__all__ = ["Endgame", "endgame", "placement_words", "usual_depth"]

_SEED = 2_024  # any: the keys of a search need only differ


def placement_words(world: CubePlacements) -> AnyArray:
    """A random word for each placement, from which keys of states are made."""
    return hash_u64(_SEED, Stream.MISC, np.arange(world.count))


def usual_depth(world: CubePlacements) -> int:
    """The depth of a table that is made in a second or two: 7 with 12 turns, less with more.

    >>> from burnside.envs.cube import CubeSpec
    >>> from burnside.envs.cube.placements import placements
    >>> usual_depth(placements(CubeSpec(3))), usual_depth(placements(CubeSpec(4, "slices")))
    (7, 6)
    """
    turns = world.spec.n_moves
    return 7 if turns <= 12 else 6 if turns <= 24 else 5 if turns <= 30 else 4


@lru_cache(maxsize=4)
def endgame(world: CubePlacements, depth: int) -> Endgame:
    """The table of a cube, made once."""
    return Endgame(world, depth)


class Endgame:
    """Distances of all states within ``depth`` turns of a goal, one entry for each class of them.

    Attributes:
        world: The placements of the cube.
        depth: How far it reaches.
        classes: Entries at each distance.

    >>> from burnside.envs.cube import CubeSpec
    >>> from burnside.envs.cube.placements import placements
    >>> Endgame(placements(CubeSpec(3)), 4).classes
    (1, 1, 5, 17, 130)
    """

    def __init__(self, world: CubePlacements, depth: int) -> None:
        """Breadth first from the goals."""
        if depth < 0:
            raise InvalidParameter(f"the depth of an endgame table is {depth}: give 0 or more")
        self.world, self.depth = world, depth
        words = placement_words(world)
        images, moves = [world.on_symmetries], [world.on_turns]
        if world.has_inverse and len(world.goals) == 1:
            images.append(world.on_inverse[world.on_symmetries])
            moves.append(world.on_left_turns)  # an entry stands for s and s⁻¹, and both have neighbours
        turned = np.concatenate(moves)
        self._words = np.ascontiguousarray(words[np.concatenate(images)].T)  # (placements, images)
        self._table, self._values = np.zeros(1 << 12, dtype=np.uint64), np.full(1 << 12, -1, dtype=np.int8)
        layer = world.goals
        layer = layer[self._add(layer, 0)]
        counts = [len(layer)]
        for distance in range(1, depth + 1):
            children = turned[:, layer].reshape(-1, world.pieces)
            self._reserve(sum(counts) + len(children))
            layer = children[self._add(children, distance)]
            counts.append(len(layer))
        self.classes = tuple(counts)

    def _reserve(self, count: int) -> None:
        if 2 * count <= len(self._table):
            return
        size = 1 << int(2 * count - 1).bit_length()
        full = self._table != 0
        keys, values = self._table[full], self._values[full]
        self._table, self._values = np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int8)
        from burnside.search import policy_kernels as kernels

        for value in np.unique(values):
            mine = keys[values == value]
            kernels.insert_all(self._table, self._values, mine, int(value), np.empty(len(mine), dtype=np.bool_))

    def _keys(self, states: AnyArray) -> AnyArray:
        from burnside.search import policy_kernels as kernels

        out = np.empty(len(states), dtype=np.uint64)
        kernels.class_keys(states, self._words, out)
        return out

    def _add(self, states: AnyArray, distance: int) -> AnyArray:
        from burnside.search import policy_kernels as kernels

        fresh = np.empty(len(states), dtype=np.bool_)
        kernels.insert_all(self._table, self._values, self._keys(states), distance, fresh)
        return fresh

    def distances(self, states: AnyArray) -> IntArray:
        """Distances of states given by placements, in any order; −1 for those farther away than the table reaches."""
        from burnside.search import policy_kernels as kernels

        rows = np.ascontiguousarray(states, dtype=np.uint16)
        out = np.empty(len(rows), dtype=np.int64)
        kernels.find(self._table, self._values, self._keys(rows), out)
        return out

    def solve(self, state: AnyArray) -> list[int]:
        """The turns of a shortest way to a goal, for a state that is in the table.

        >>> from burnside.envs.cube import CubeSpec, apply_moves, solved
        >>> from burnside.envs.cube.placements import placements
        >>> spec = CubeSpec(3)
        >>> table = Endgame(placements(spec), 3)
        >>> spec.format(table.solve(table.world.encode(apply_moves(spec, solved(spec), "R U F'"))))
        "F U' R'"
        """
        (left,) = self.distances(state[None])
        if left < 0:
            raise InvalidParameter(f"this state is more than {self.depth} turns away from a goal")
        turns = []
        while left:
            children = self.world.on_turns[:, state]
            turn = int(np.argmax(self.distances(children) == left - 1))
            turns.append(turn)
            state, left = children[turn], left - 1
        return turns
