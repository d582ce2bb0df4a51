"""Beam search with a policy: the paths that are likeliest to be a walk undone are kept, layer by layer.

The network is asked once for every *parent*, not for every child: its log-probabilities of the last turn score all the
children at once, and a path is worth the sum along it. With two sides a turn may also be undone at the beginning of the
walk, which is a turn of the inverse. An endgame table ends a search as soon as a kept state is in it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._resources import needs_memory
from burnside._types import AnyArray
from burnside.envs.cube.core import CubeSpec, apply_moves, as_array, is_solved
from burnside.envs.cube.placements import CubePlacements
from burnside.errors import InvalidParameter
from burnside.search.endgame import Endgame, endgame, placement_words, usual_depth
from burnside.search.plain import Children, Layer
from burnside.search.result import GOAL, SearchResult, check_count

__all__ = ["Policy", "PolicyBeamConfig", "policy_beam"]

#: Placements ``(batch, pieces)`` to log-probabilities of last turns ``(batch, sides · turns)`` and to lengths.
Policy = Callable[[AnyArray], tuple[AnyArray, AnyArray]]


@dataclass(frozen=True)
class PolicyBeamConfig:
    """Settings of the search.

    Attributes:
        width: states kept in a layer.
        depth: layers after which it gives up.
        table: depth of the endgame table; 0 has the goals only, None is what the cube allows (7 with 12 turns).

    >>> PolicyBeamConfig(width=0)
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: width must be a whole number from 1 on, got 0
    """

    width: int = 1024
    depth: int = 60
    table: int | None = None

    def __post_init__(self) -> None:
        check_count("width", self.width)
        check_count("depth", self.depth)
        if self.table is not None and (self.table != int(self.table) or self.table < 0):
            raise InvalidParameter(f"table must be a whole number from 0 on, got {self.table}")


class _Beam:
    """One search from one state, or from several that are as good: the likeliest paths of all of them are kept."""

    def __init__(self, world: CubePlacements, policy: Policy, config: PolicyBeamConfig, sides: int) -> None:
        self.world, self.policy, self.config = world, policy, config
        self.moves = np.concatenate([world.on_turns, world.on_left_turns]) if sides == 2 else world.on_turns
        self.undo = np.concatenate([world.undo + k * world.spec.n_moves for k in range(sides)])
        layer = 20 * len(self.moves) + 4 * len(world.goals[0]) + 20 * config.depth  # bytes for every kept state
        needs_memory(f"a beam of width {config.width}", config.width * layer, "use a narrower one, or less effort")
        self.words = placement_words(world)
        self.ends: Endgame = endgame(world, usual_depth(world) if config.table is None else config.table)
        self.seen = np.zeros(1 << 14, dtype=np.uint64)
        self.known = 0
        self.expanded = 0
        self.seconds = 0.0

    def run(self, starts: AnyArray) -> tuple[int, list[int], AnyArray | None]:
        """From which start, the moves to a state of the endgame table, and that state; None if there was none."""
        from burnside.search import policy_kernels as kernels

        count = len(starts)
        states, scores = starts, np.zeros(count, dtype=np.float32)
        layers: list[tuple[AnyArray, AnyArray]] = []
        keys = np.empty(count, dtype=np.uint64)
        kernels.state_keys(states, self.words, keys)
        self._reserve(count)
        kernels.insert_all(self.seen, np.empty(len(self.seen), np.int8), keys, 0, np.empty(count, dtype=np.bool_))
        self.known = count
        while True:
            near = self.ends.distances(states)
            if (near >= 0).any():
                ending = int(np.argmin(np.where(near >= 0, near, 127)))  # the first of the nearest: the likeliest
                return *self._path(layers, ending), states[ending]
            if len(layers) == self.config.depth or not len(states):
                return 0, [], None
            states, scores, parent, move = self._layer(states, scores)
            layers.append((parent, move))

    def _layer(self, states: AnyArray, scores: AnyArray) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
        from burnside.search import policy_kernels as kernels

        began = time.perf_counter()
        # A last turn is undone: the score of turn a is that of the move which undoes it.
        logs = np.ascontiguousarray(self.policy(states)[0][:, self.undo])
        self.seconds += time.perf_counter() - began
        self.expanded += len(states)
        width = self.config.width
        total = (scores[:, None] + logs).ravel()
        # Twice the width leaves room for duplicates; if it is not enough, all the others are looked at.
        first = np.argpartition(-total, 2 * width - 1) if 2 * width < len(total) else np.arange(len(total))
        self._reserve(width)
        out = Children(
            np.empty(width, dtype=np.int32), np.empty(width, dtype=np.int8), np.empty(width, dtype=np.float32)
        )
        layer, kept = Layer(states, scores, logs), 0
        for part in (first[: 2 * width], first[2 * width :]):
            if kept < width:
                order = part[np.lexsort((part, -total[part]))]  # of equals the first
                kept = kernels.best_children(layer, order, self.moves, self.words, self.seen, kept, out)
        self.known += kept
        parent, move, after = (column[:kept] for column in out)
        children = np.empty((kept, states.shape[1]), dtype=np.uint16)
        kernels.next_layer(states, self.moves, parent, move, children)
        return children, after - after.max(initial=-np.inf), parent, move

    def _reserve(self, more: int) -> None:
        """Room for keys that are seen: never more than half full."""
        from burnside.search import policy_kernels as kernels

        if 2 * (self.known + more) > len(self.seen):
            larger = np.zeros(1 << int(4 * (self.known + more)).bit_length(), dtype=np.uint64)
            kernels.grow(self.seen, larger)
            self.seen = larger

    def _path(self, layers: list[tuple[AnyArray, AnyArray]], row: int) -> tuple[int, list[int]]:
        """The start that a row of the last layer came from, and the moves between them."""
        moves = []
        for parent, move in layers[::-1]:
            moves.append(int(move[row]))
            row = int(parent[row])
        return row, moves[::-1]


def policy_beam(
    policy: Any,
    state: Any,
    config: PolicyBeamConfig | None = None,
    *,
    inverse: bool = False,
) -> SearchResult:
    """Search from one cube, given by its stickers, until a kept state is in the endgame table.

    Where slices turn, a cube may be solved in any of its 24 orientations. A policy that has learned walks from one of
    them (the goal ``fixed``) is given the cube in all 24, and the beam keeps what is likeliest.

    Args:
        policy: a :class:`~burnside.agents.cube_walks.CubePolicy`, or what has its ``world`` and ``config`` and
            can be called as one.
        state: where to begin, uint8 stickers; with outer turns a larger cube than the policy's is seen as a 3-cube.
        config: the settings.
        inverse: begin from s⁻¹ instead; its solution backwards is one of s.

    >>> from burnside.agents.common.members import Member
    >>> from burnside.agents.cube_walks import WalkConfig, WalkRun
    >>> from burnside.envs.cube import CubeSpec, solved
    >>> spec = CubeSpec(3)
    >>> policy = WalkRun(WalkConfig.preset("smoke"), spec, Member(0, "equivariant")).network()
    >>> start = apply_moves(spec, solved(spec), "R U F' L D2")
    >>> policy_beam(policy, start, PolicyBeamConfig(width=8, table=4)).length
    6
    """
    settings = config or PolicyBeamConfig()
    began = time.perf_counter()
    world: CubePlacements = policy.world
    sides = int(policy.config.sides)
    stickers = np.asarray(state)
    n = round((stickers.shape[-1] / 6) ** 0.5)
    # with outer turns a larger cube is seen as a 3-cube; where slices turn, any orientation is solved
    full = world.spec if n == world.spec.n and not world.spec.slices else CubeSpec(max(n, 2), world.spec.turns)
    start = world.encode(as_array(full, stickers))
    if inverse:
        start = world.sorted(world.on_inverse[start])
    turned = world.spec.slices and len(world.goals) == 1
    starts = world.sorted(world.on_positions[:, start]) if turned else start[None]
    beam = _Beam(world, policy, settings, sides)
    root, moves, end = beam.run(np.ascontiguousarray(starts))
    turns = None if end is None else _turns(world, moves, beam.ends.solve(end))
    if turns is not None and turned:  # turn a of the cube that was turned by g is turn g⁻¹·a of the cube itself
        back = np.argsort(world.turn_images[root])
        turns = [int(back[a]) for a in turns]
    if turns is not None and inverse:
        turns = [int(world.undo[a]) for a in turns[::-1]]
    if turns is not None and not bool(is_solved(full, apply_moves(full, stickers, turns))):
        turns = None  # two states had one key: possible in theory
    reason = GOAL if turns is not None else f"no state within {settings.depth} turns is in the endgame table"
    return SearchResult(
        turns is not None,
        tuple(turns or ()),
        full.format(turns or ()),
        reason,
        beam.expanded * len(beam.moves),
        beam.expanded,
        beam.expanded,
        time.perf_counter() - began,
        beam.seconds,
    )


def _turns(world: CubePlacements, moves: list[int], ending: list[int]) -> list[int]:
    """A sequence of turns from moves at both sides: those at the beginning of the walk come last, undone backwards.

    Right moves make s a₁ … aₘ, turns b₁ … bₖ of the inverse make bₖ⁻¹ … b₁⁻¹ s a₁ … aₘ. If that and then c₁ … cⱼ is
    solved, so is s a₁ … aₘ c₁ … cⱼ bₖ⁻¹ … b₁⁻¹.
    """
    count = world.spec.n_moves
    right = [a for a in moves if a < count]
    left = [a - count for a in moves if a >= count]
    return right + ending + [int(world.undo[b]) for b in left[::-1]]
