"""Greedy descent: always to the child with the lowest heuristic; the cheapest search, for many states at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside.search.puzzle import Heuristic, Puzzle, check_starts
from burnside.search.result import GOAL, Evaluator, SearchResult, check_count, finished

__all__ = ["greedy"]


def greedy(
    puzzle: Puzzle, states: Any, heuristic: Heuristic, *, depth: int = 40, network_rows: int = 8192
) -> list[SearchResult]:
    """Follow the heuristic downhill from one or several states.

    A goal among the children is taken; of equal children the first. The choice depends on the state alone, so a path
    that comes back to one of its states never ends: it is given up there.

    Args:
        puzzle: the moves and the goals.
        states: where to begin, uint8, one row per state.
        heuristic: the estimated number of moves to the nearest goal.
        depth: moves after which it gives up.
        network_rows: states the heuristic gets in one call, at most.

    >>> from burnside.envs.cube import CubeSpec, scramble
    >>> from burnside.envs.cube.tables import two_values
    >>> from burnside.search import CubePuzzle
    >>> start, _ = scramble(CubeSpec(2), seeds=range(3), lengths=9)
    >>> [found.length for found in greedy(CubePuzzle(CubeSpec(2)), start, two_values)] == two_values(start).tolist()
    True
    """
    check_count("depth", depth)
    evaluator = Evaluator(heuristic, network_rows)
    current = check_starts(puzzle, states, many=True).copy()
    total, moves = len(current), puzzle.n_moves
    results: list[SearchResult | None] = [None] * total
    goals = puzzle.is_goal(current)
    for k in np.flatnonzero(goals):
        results[k] = finished(puzzle, [], GOAL, (0, 0, 0), evaluator)
    alive = np.flatnonzero(~goals)
    best_h = np.full(total, np.inf, dtype=np.float32)
    best_h[alive] = evaluator(current[alive], goals[alive])
    best_length, best_state = np.zeros(total, dtype=np.int64), current.copy()
    path = np.full((total, depth), -1, dtype=np.int64)
    visited = [puzzle.keys(current)]

    def give_up(k: int, reason: str, steps: int) -> SearchResult:
        counts = (steps * moves, steps, 1 + steps * moves)
        end = (float(best_h[k]), best_state[k])
        return finished(puzzle, path[k, : best_length[k]].tolist(), reason, counts, evaluator, end)

    for step in range(depth):
        if not len(alive):
            break
        children = puzzle.children(current[alive])
        flat = children.reshape(-1, children.shape[-1])
        goals = puzzle.is_goal(flat)
        h = evaluator(flat, goals)
        choice = np.argmin(np.where(goals, -1.0, h).reshape(-1, moves), axis=1)  # a goal comes before any estimate
        row = np.arange(len(alive)) * moves + choice
        path[alive, step] = choice
        current[alive] = flat[row]
        done = goals[row]
        for k in alive[done]:
            counts = ((step + 1) * moves, step + 1, 1 + (step + 1) * moves)
            results[k] = finished(puzzle, path[k, : step + 1].tolist(), GOAL, counts, evaluator)
        better = ~done & (h[row] < best_h[alive])
        who = alive[better]
        best_h[who], best_length[who], best_state[who] = h[row][better], step + 1, current[who]
        keys = puzzle.keys(current)
        circling = np.zeros(total, dtype=np.bool_)
        for before in visited:
            circling |= (before == keys).all(axis=1)
        for k in alive[~done & circling[alive]]:
            results[k] = give_up(k, "the path came back to one of its states", step + 1)
        visited.append(keys)
        alive = alive[~done & ~circling[alive]]
    limit = f"depth limit of {depth} moves reached"
    return [give_up(k, limit, depth) if found is None else found for k, found in enumerate(results)]
