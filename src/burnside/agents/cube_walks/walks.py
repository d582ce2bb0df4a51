"""Batches of random walks, as an arm shows them: states and labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from burnside._random import Stream, randint
from burnside._types import AnyArray, IntArray
from burnside.agents.common.members import Member
from burnside.agents.cube_walks.config import WalkConfig, check_cube_arm
from burnside.envs.cube.core import CubeSpec
from burnside.envs.cube.placements import CubePlacements, placements

__all__ = ["ArmForm", "WalkTables", "Walks", "arm_world", "plain_walks", "random_walks"]


class WalkTables(NamedTuple):
    """What a compiled walk needs of :class:`~burnside.envs.cube.placements.CubePlacements`."""

    goals: AnyArray
    on_turns: AnyArray
    place_of: AnyArray


class Walks(NamedTuple):
    """Random walks from a goal.

    Attributes:
        states: Placements where they end, uint16 ``(batch, pieces)``, in the order of the places.
        first, last: Their first and last turns.
        lengths: Their lengths.
    """

    states: AnyArray
    first: IntArray
    last: IntArray
    lengths: IntArray


def random_walks(world: CubePlacements, longest: int, seed: int, first: int, count: int) -> Walks:
    """Walks number ``first`` to ``first + count − 1`` of a seed; no turn undoes the one before it.

    They use the stream ENV, as scrambles do: try a network on scrambles of another seed than that of its training.

    >>> from burnside.envs.cube import CubeSpec
    >>> walks = random_walks(placements(CubeSpec(3)), 26, 0, 0, 1000)
    >>> int(walks.lengths.min()), int(walks.lengths.max()), walks.states.shape
    (1, 26, (1000, 20))
    """
    from burnside.agents.cube_walks import kernels

    rows = np.empty((count, world.pieces), dtype=np.uint16)
    walks = Walks(rows, *(np.empty(count, dtype=np.int64) for _ in range(3)))
    kernels.walk_states(WalkTables(world.goals, world.on_turns, world.place_of), seed, first, longest, walks)
    return walks


def plain_walks(world: CubePlacements, longest: int, seed: int, first: int, count: int) -> Walks:
    """The same as :func:`random_walks`, turn by turn in numpy: the plain twin of the compiled loop."""
    base = 256 * np.arange(first, first + count)
    lengths = 1 + randint(seed, Stream.ENV, base, longest)
    states = world.goals[randint(seed, Stream.ENV, base + 1, len(world.goals))]
    turns = randint(seed, Stream.ENV, base + 2, world.spec.n_moves)
    begin = turns.copy()
    for t in range(longest):
        if t:
            back = world.undo[turns]
            after = randint(seed, Stream.ENV, base + 2 + t, world.spec.n_moves - 1)
            turns = np.where(t < lengths, after + (after >= back), turns)
        moved = np.take_along_axis(world.on_turns[turns], states.astype(np.int64), axis=1)
        states = np.where((t < lengths)[:, None], moved, states)
    return Walks(world.sorted(states), begin, turns, lengths)


def arm_world(spec: CubeSpec, arm: str) -> CubePlacements:
    """The placements an arm sees: rotations that do not recolour also move the centres."""
    return placements(spec, centres=arm == "position" and spec.n >= 3 and not spec.slices)


class ArmForm:
    """How an arm shows a state to its network, and what its scores mean for the state itself.

    >>> world = placements(CubeSpec(3))
    >>> walks = random_walks(world, 26, 0, 0, 5)
    >>> shown, g = ArmForm(WalkConfig(), CubeSpec(3), "conjugation").canonical(walks.states)
    >>> bool((shown[:, 0] <= walks.states[:, 0]).all()), g.shape
    (True, (5,))
    """

    def __init__(self, config: WalkConfig, spec: CubeSpec, arm: str) -> None:
        """For one arm of one cube."""
        check_cube_arm(config, spec, arm)
        self.arm, self.config = arm, config
        self.world = arm_world(spec, arm)
        world = self.world
        self.images = world.on_positions if arm == "position" else world.on_symmetries
        self.turns = world.turn_images[: len(self.images)]
        place = world.place_of[self.images[:, world.first[:-1]]]  # [g, p]: where place p goes
        self.sources = np.argsort(place, axis=1)

    def canonical(self, states: AnyArray) -> tuple[AnyArray, IntArray]:
        """The smallest images and the elements that lead to them; states in the order of the places."""
        from burnside.agents.cube_walks import kernels

        out, chosen = np.empty_like(states), np.empty(len(states), dtype=np.int64)
        kernels.smallest_placements(states, self.images, self.sources, out, chosen)
        return out, chosen

    def batch(self, member: Member, update: int) -> tuple[AnyArray, IntArray, IntArray]:
        """The states of an update, their labels ``(batch, sides)``, and the lengths of the walks."""
        config = self.config
        first = update * config.batch
        walks = random_walks(self.world, config.walk, member.seed, first, config.batch)
        states, labels = walks.states, walks.last[:, None]
        if self.arm in ("position", "conjugation"):
            states, g = self.canonical(states)
            labels = self.turns[g, walks.last][:, None]
        elif self.arm == "augment":
            g = randint(member.seed, Stream.AUGMENT, np.arange(first, first + config.batch), len(self.images))
            states = np.take_along_axis(self.images[g], states.astype(np.int64), axis=1)
            labels = self.turns[g, walks.last][:, None]
        if config.sides == 2:  # the walk back from s⁻¹ begins with what undoes the first turn
            labels = np.stack([walks.last, self.world.undo[walks.first]], axis=1)
        return states, labels, walks.lengths
