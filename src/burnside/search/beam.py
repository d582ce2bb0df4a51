"""Beam search: layer by layer, the states with the lowest heuristic are kept, for many given states at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.errors import InvalidParameter
from burnside.search.puzzle import CanonicalForm, Heuristic, Puzzle, check_starts
from burnside.search.result import GOAL, Evaluator, SearchResult, check_count, finished, keys_of

__all__ = ["BeamConfig", "beam"]


@dataclass(frozen=True)
class BeamConfig:
    """Settings of the search.

    Attributes:
        width: states kept in a layer.
        depth: moves after which it gives up.
        memory: a state is not kept again if it was in one of this many layers before.
        network_rows: states the heuristic gets in one call, at most.

    >>> BeamConfig(width=0)
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: width must be a whole number from 1 on, got 0
    """

    width: int = 1024
    depth: int = 40
    memory: int = 3
    network_rows: int = 8192

    def __post_init__(self) -> None:
        for name in ("width", "depth", "network_rows"):
            check_count(name, getattr(self, name))
        if self.memory != int(self.memory) or self.memory < 0:
            raise InvalidParameter(f"memory must be a whole number from 0 on, got {self.memory}")


@dataclass
class _Layer:
    """The states kept at one depth: whose they are, and how they were reached from the layer before."""

    states: AnyArray
    owner: IntArray
    parent: IntArray
    move: IntArray


def _path(layers: list[_Layer], row: int) -> list[int]:
    moves = []
    for layer in layers[:0:-1]:
        moves.append(int(layer.move[row]))
        row = int(layer.parent[row])
    return moves[::-1]


def beam(
    puzzle: Puzzle,
    states: Any,
    heuristic: Heuristic,
    config: BeamConfig | None = None,
    *,
    canonical: CanonicalForm | None = None,
) -> list[SearchResult]:
    """Search from one or several states, each with a beam of its own; a state ends with the first goal in its layer.

    The heuristic is called on the children of all states together. Beams do not mix: with a heuristic whose values do
    not depend on the batch, a state has the same result alone and among others.

    Args:
        puzzle: the moves and the goals.
        states: where to begin, uint8, one row per state.
        heuristic: the estimated number of moves to the nearest goal.
        config: the settings.
        canonical: a form under which states count as the same; see :func:`burnside.search.astar`.

    >>> from burnside.envs.cube import CubeSpec, apply_moves, solved
    >>> from burnside.envs.cube.tables import two_values
    >>> from burnside.search import CubePuzzle
    >>> spec = CubeSpec(2)
    >>> found = beam(CubePuzzle(spec), apply_moves(spec, solved(spec), "R U"), two_values, BeamConfig(width=4))
    >>> found[0].text, found[0].generated
    ("U' L'", 60)
    """
    from burnside.search import kernels

    config = config or BeamConfig()
    evaluator = Evaluator(heuristic, config.network_rows)
    keys = keys_of(puzzle, canonical)
    starts = check_starts(puzzle, states, many=True)
    total, moves = len(starts), puzzle.n_moves
    results: list[SearchResult | None] = [None] * total
    expanded, evaluated = np.zeros(total, dtype=np.int64), np.zeros(total, dtype=np.int64)
    everyone = np.arange(total)
    goals = puzzle.is_goal(starts)
    for k in np.flatnonzero(goals):
        results[k] = finished(puzzle, [], GOAL, (0, 0, 0), evaluator)
    begin = everyone[~goals]
    layers = [_Layer(starts[begin], begin, np.full(len(begin), -1), np.full(len(begin), -1))]
    recent = [_owned(keys(starts[begin]), begin)]
    h = evaluator(starts[begin], goals[begin])
    evaluated[begin] += 1
    best_h = np.full(total, np.inf, dtype=np.float32)
    best_h[begin] = h
    best_state = starts.copy()
    best_path: list[list[int]] = [[] for _ in range(total)]

    def counts(k: int) -> tuple[int, int, int]:
        return int(expanded[k]) * moves, int(expanded[k]), int(evaluated[k])

    def give_up(k: int, reason: str) -> SearchResult:
        return finished(puzzle, best_path[k], reason, counts(k), evaluator, (float(best_h[k]), best_state[k]))

    for _ in range(config.depth):
        last = layers[-1]
        if not len(last.owner):
            break
        expanded += np.bincount(last.owner, minlength=total)
        children = puzzle.children(last.states)
        flat = children.reshape(-1, children.shape[-1])
        owner = np.repeat(last.owner, moves)
        own = _owned(keys(flat), owner)
        fresh = np.empty(len(flat), dtype=np.bool_)
        kernels.fresh_rows(np.concatenate([own[:0], *recent]), own, fresh)
        rows = np.flatnonzero(fresh)
        offered, owner = flat[rows], owner[rows]
        goals = puzzle.is_goal(offered)
        done = np.unique(owner[goals])
        for k in done:
            row = int(rows[np.argmax(goals & (owner == k))])
            path = [*_path(layers, row // moves), row % moves]
            results[k] = finished(puzzle, path, GOAL, counts(k), evaluator)
        going = ~np.isin(owner, done)
        rows, offered, owner = rows[going], offered[going], owner[going]
        h = evaluator(offered, np.zeros(len(offered), dtype=np.bool_))
        evaluated += np.bincount(owner, minlength=total)
        order = np.lexsort((h, owner))  # stable: of equals the first child is taken
        place = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
        leaders = order[place == 0]
        kept = order[place < config.width]
        layers.append(_Layer(offered[kept], owner[kept], rows[kept] // moves, rows[kept] % moves))
        recent = [*recent, own[rows[kept]]][-config.memory :] if config.memory else []
        for row in leaders[h[leaders] < best_h[owner[leaders]]]:
            one = int(owner[row])
            best_h[one], best_state[one] = h[row], offered[row]
            best_path[one] = [*_path(layers[:-1], int(rows[row]) // moves), int(rows[row]) % moves]
        for stuck in set(last.owner.tolist()) - set(owner.tolist()) - set(done.tolist()):
            results[stuck] = give_up(stuck, "no state is left to expand")
    limit = f"depth limit of {config.depth} moves reached"
    return [give_up(k, limit) if found is None else found for k, found in enumerate(results)]


def _owned(keys: AnyArray, owner: IntArray) -> AnyArray:
    """Keys that differ between the beams of different states."""
    return np.concatenate([keys, owner.astype(np.uint64)[:, None]], axis=1)
