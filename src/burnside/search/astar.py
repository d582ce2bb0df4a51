"""Batch-weighted A* (DeepCubeA): the open states with the lowest λ·g + h are expanded, many at a time.

With λ = 1, a batch of one and a heuristic that never overestimates, the first solution is a shortest one. Smaller λ and
larger batches trade length for speed. A goal ends the search when it is popped, not when it is first seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.errors import InvalidParameter
from burnside.search import plain
from burnside.search.puzzle import CanonicalForm, Heuristic, Puzzle, check_starts
from burnside.search.result import GOAL, Evaluator, SearchResult, check_count, finished, keys_of

__all__ = ["AStarConfig", "astar"]

_FIRST = 1024  # nodes there is room for at the beginning


@dataclass(frozen=True)
class AStarConfig:
    """Settings of the search.

    Attributes:
        weight: λ in f = λ·g + h, where g counts the moves made and h estimates those left; DeepCubeA has 0.6.
        batch: states expanded in one step; DeepCubeA has 10 000 for three graphics cards.
        cap: the search ends before it makes more children than this, duplicates included.
        network_rows: states the heuristic gets in one call, at most.

    >>> AStarConfig(weight=-1)
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: weight must be a finite number from 0 on, got -1
    """

    weight: float = 0.6
    batch: int = 1000
    cap: int = 1_000_000
    network_rows: int = 8192

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise InvalidParameter(f"weight must be a finite number from 0 on, got {self.weight}")
        for name in ("batch", "cap", "network_rows"):
            check_count(name, getattr(self, name))


class _Nodes:
    """The nodes of a search, the table from keys to nodes, and the heap of open nodes, as flat arrays that grow."""

    def __init__(self, state: AnyArray, key: AnyArray) -> None:
        self.count = self.open = 0
        self.states = np.empty((_FIRST, len(state)), dtype=np.uint8)
        self.keys = np.empty((_FIRST, len(key)), dtype=np.uint64)
        self.parent = np.empty(_FIRST, dtype=np.int32)
        self.move = np.empty(_FIRST, dtype=np.int16)
        self.depth = np.empty(_FIRST, dtype=np.int32)
        self.source = np.empty(_FIRST, dtype=np.int32)
        self.superseded = np.zeros(_FIRST, dtype=np.bool_)
        self.h = np.empty(_FIRST, dtype=np.float32)
        self.goal = np.zeros(_FIRST, dtype=np.bool_)
        self.heap_rank = np.empty(_FIRST, dtype=np.uint64)
        self.heap_node = np.empty(_FIRST, dtype=np.int32)
        self.table = np.full(4 * _FIRST, -1, dtype=np.int32)
        self.states[0], self.keys[0] = state, key
        self.parent[0] = self.move[0] = self.source[0] = -1
        self.depth[0] = 0
        self.count = 1
        self._rehash(len(self.table))

    def _rehash(self, size: int) -> None:
        from burnside.search import kernels

        self.table = np.full(size, -1, dtype=np.int32)
        kernels.rehash(self.table, self.keys, self.superseded, self.count)

    def reserve(self, more: int) -> None:
        """Make room for this many nodes more."""
        needed = self.count + more
        if needed > len(self.states):
            size = 2 ** math.ceil(math.log2(needed))
            for name, value in vars(self).items():
                if isinstance(value, np.ndarray) and name != "table":
                    grown = np.empty((size, *value.shape[1:]), dtype=value.dtype)
                    grown[: len(value)] = value
                    setattr(self, name, grown)
        if 2 * needed > len(self.table):
            self._rehash(2 ** math.ceil(math.log2(4 * needed)))

    def admit(self, children: AnyArray, keys: AnyArray, parents: AnyArray) -> int:
        """Append the children that are new or cheaper; returns the number of the first of them."""
        from burnside.search import kernels

        first = self.count
        self.reserve(children.shape[0] * children.shape[1])
        nodes = plain.Nodes(
            self.states, self.keys, self.parent, self.move, self.depth, self.source, self.superseded, self.table
        )
        self.count = kernels.admit(nodes, children, keys, parents, first)
        return first

    def value(self, first: int, puzzle: Puzzle, evaluator: Evaluator) -> int:
        """Fill in heuristics and goals of the nodes from ``first`` on; returns how many the heuristic was asked for."""
        from burnside.search import kernels

        rows = slice(first, self.count)
        self.goal[rows] = puzzle.is_goal(self.states[rows])
        source = self.source[rows]
        new = first + np.flatnonzero(source < 0)
        self.h[new] = evaluator(self.states[new], self.goal[new])
        kernels.inherit(self.h, self.source, first, self.count)
        return len(new)

    def push(self, first: int, weight: float) -> None:
        """Open the nodes from ``first`` on: by λ·g + h, then by h, so that of equals the deepest comes first."""
        from burnside.search import kernels

        h = self.h[first : self.count]
        f = (weight * self.depth[first : self.count] + h).astype(np.float32)
        # Floats from 0 on are ordered as their bits are.
        rank = f.view(np.uint32).astype(np.uint64) << np.uint64(32) | h.view(np.uint32).astype(np.uint64)
        self.open = kernels.push_many(self.heap_rank, self.heap_node, self.open, rank, first, self.superseded)

    def pop(self, limit: int) -> AnyArray:
        """The best open nodes, in order."""
        from burnside.search import kernels

        out = np.empty(limit, dtype=np.int32)
        taken, self.open = kernels.pop(self.heap_rank, self.heap_node, self.open, self.superseded, out)
        return out[:taken]

    def path(self, node: int) -> list[int]:
        """The moves from the first node to this one."""
        moves = []
        while self.parent[node] >= 0:
            moves.append(int(self.move[node]))
            node = int(self.parent[node])
        return moves[::-1]


def astar(
    puzzle: Puzzle,
    state: Any,
    heuristic: Heuristic,
    config: AStarConfig | None = None,
    *,
    canonical: CanonicalForm | None = None,
) -> SearchResult:
    """Search from one state until a goal is popped or the node cap is reached.

    A state that is met again by a shorter way is reopened. With a canonical form, states are the same if their forms
    are: that needs a form that keeps distances (``conjugation``, also with the inverse; ``position`` where every
    orientation is a goal). The node keeps the state that was really reached, so the solution is one of ``state``.

    Args:
        puzzle: the moves and the goals.
        state: where to begin, uint8.
        heuristic: the estimated number of moves to the nearest goal.
        config: the settings.
        canonical: a function to ``(representatives, …)``, such as ``CubeSymmetry(spec).canonicalizer``.

    >>> from burnside.envs.cube import CubeSpec, apply_moves, solved
    >>> from burnside.envs.cube.tables import two_values
    >>> from burnside.search import CubePuzzle
    >>> spec = CubeSpec(2)
    >>> start = apply_moves(spec, solved(spec), "R U")
    >>> found = astar(CubePuzzle(spec), start, two_values, AStarConfig(weight=1, batch=1))
    >>> found.solved, found.text, found.generated                     # L' for R': up to a turn of the whole cube
    (True, "U' L'", 24)
    """
    config = config or AStarConfig()
    evaluator = Evaluator(heuristic, config.network_rows)
    keys = keys_of(puzzle, canonical)
    start = check_starts(puzzle, state, many=False)
    nodes = _Nodes(start[0], keys(start)[0])
    evaluated = nodes.value(0, puzzle, evaluator)
    nodes.push(0, config.weight)
    expanded = best = 0
    moves = puzzle.n_moves
    while True:
        limit = min(config.batch, config.cap // moves - expanded)
        popped = nodes.pop(max(limit, 1))
        goals = popped[nodes.goal[popped]]
        counts = (expanded * moves, expanded, evaluated)
        if len(goals):
            shortest = int(goals[np.argmin(nodes.depth[goals])])
            return finished(puzzle, nodes.path(shortest), GOAL, counts, evaluator)
        if not len(popped) or limit < 1:
            reason = "node cap reached" if len(popped) else "no state is left to expand"
            end = float(nodes.h[best]), nodes.states[best]
            return finished(puzzle, nodes.path(best), reason, counts, evaluator, end)
        children = puzzle.children(nodes.states[popped])
        shape = children.shape[:2]
        offered = keys(children.reshape(-1, children.shape[-1])).reshape(*shape, -1)
        first = nodes.admit(children, offered, popped)
        expanded += len(popped)
        if first == nodes.count:
            continue
        evaluated += nodes.value(first, puzzle, evaluator)
        nodes.push(first, config.weight)
        least = first + int(np.argmin(nodes.h[first : nodes.count]))
        if nodes.h[least] < nodes.h[best]:
            best = least
