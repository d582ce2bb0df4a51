"""Networks against the truth: value error per depth, solve rates of greedy play, and exact labels to learn from.

The truth is the exact table at n = 2, and a ball around the solved cube elsewhere: for outer turns and n ≥ 4 that of
the 3-cube, with stickers repeated (``geometry.collapse``), since these are the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from burnside._random import Stream, randint
from burnside._types import AnyArray, FloatArray, IntArray
from burnside.envs.cube.core import CubeSpec, children, is_solved, move
from burnside.envs.cube.geometry import collapse
from burnside.envs.cube.symmetry import CubeSymmetry
from burnside.envs.cube.tables import ball, two_states, two_table
from burnside.errors import InvalidParameter

__all__ = ["DepthErrors", "SolveRates", "exact_labels", "greedy_solve_rate", "sample_depth", "value_error"]

_DEEPEST = 14  # of the 2-cube


@lru_cache(maxsize=2)
def _layers_of_ball(n: int, slices: bool, goal: str, depth: int) -> list[AnyArray]:
    states, distance = ball(CubeSpec(n, "slices" if slices else "outer", goal), depth)
    return np.split(states, np.cumsum(np.bincount(distance))[:-1])


@lru_cache(maxsize=1)
def _layers_of_two() -> list[IntArray]:
    table = two_table()
    return [np.flatnonzero(table == d) for d in range(_DEEPEST + 1)]


def deepest(spec: CubeSpec) -> int:
    """How deep the truth is known by default: 14 at n = 2, 6 with outer turns, 4 with slice turns."""
    if spec.n == 2 and spec.goal == "any-orientation":
        return _DEEPEST
    return 4 if spec.slices else 6


def sample_depth(spec: CubeSpec, depth: int, count: int, seed: int = 0, *, first: int = 0) -> AnyArray:
    """States at exactly a depth, drawn uniformly with replacement from the stream EVAL; uint8 ``(count, 6n²)``.

    ``first`` numbers the first of them: other numbers are independent draws. At n = 2 with any orientation as goal,
    each state is turned by a random rotation.

    >>> from burnside.envs.cube.tables import two_values
    >>> two_values(sample_depth(CubeSpec(2), 5, 4)).tolist(), sample_depth(CubeSpec(5), 2, 3).shape
    ([5, 5, 5, 5], (3, 150))
    """
    if depth < 0 or count < 0:
        raise InvalidParameter(f"depth {depth} and count {count} must be 0 or more")
    # Every depth has a range of counters of its own, and every draw two of them.
    number = 2 * (np.arange(first, first + count) + (depth << 32))
    if spec.n == 2 and spec.goal == "any-orientation" and not spec.slices:
        if depth > _DEEPEST:
            raise InvalidParameter(f"no state of the 2-cube is {depth} turns deep: at most {_DEEPEST}")
        pool = _layers_of_two()[depth]
        states = two_states(pool[randint(seed, Stream.EVAL, number, len(pool))])
        turned: AnyArray = CubeSymmetry(spec, "position").act(randint(seed, Stream.EVAL, number + 1, 24), states)
        return turned
    known = 4 if depth <= 4 else max(depth, 6)  # few sizes, so that the cache has them
    if spec.slices or spec.n == 2:
        layer = _layers_of_ball(spec.n, spec.slices, spec.goal, known)[depth]
        return layer[randint(seed, Stream.EVAL, number, len(layer))]
    layer = _layers_of_ball(3, False, "fixed", known)[depth]
    states = layer[randint(seed, Stream.EVAL, number, len(layer))]
    return states if spec.n == 3 else states[:, collapse(spec.n)]


def exact_labels(spec: CubeSpec, count: int, seed: int = 0, *, depth: int | None = None) -> tuple[AnyArray, AnyArray]:
    """Depth-balanced exact labels, with replacement: ``(states, distances)``, depths 1 to ``depth`` as even as they go.

    A smaller count with the same seed and depth gives a subset of a larger one.

    >>> states, labels = exact_labels(CubeSpec(3), 10, depth=4)
    >>> states.shape, np.bincount(labels.astype(int)).tolist()
    ((10, 54), [0, 3, 3, 2, 2])
    """
    last = deepest(spec) if depth is None else depth
    if count < 1 or last < 1:
        raise InvalidParameter(f"count {count} and depth {last} must be at least 1")
    states = np.empty((count, spec.n_stickers), dtype=np.uint8)
    labels = (np.arange(count) % last + 1).astype(np.float32)
    for d in range(1, last + 1):
        states[d - 1 :: last] = sample_depth(spec, d, len(states[d - 1 :: last]), seed)
    return states, labels


@dataclass(frozen=True)
class DepthErrors:
    """Errors of a value function, per depth.

    Attributes:
        depth: Distances.
        count: States looked at.
        rmse: Root of the mean squared error.
        bias: Mean of estimate minus truth.
    """

    depth: IntArray
    count: IntArray
    rmse: FloatArray
    bias: FloatArray

    @property
    def total(self) -> float:
        """Root mean squared error with all depths from 1 on weighted alike."""
        return float(np.sqrt(np.mean(self.rmse[self.depth > 0] ** 2)))

    def rows(self) -> list[dict[str, float]]:
        """One dictionary per depth, for tables."""
        names = ("depth", "count", "rmse", "bias")
        return [
            dict(zip(names, row, strict=True)) for row in zip(*(getattr(self, n).tolist() for n in names), strict=True)
        ]


def _function(network: Any) -> Callable[[AnyArray], AnyArray]:
    found: Callable[[AnyArray], AnyArray] = getattr(network, "value_fn", network)
    return found


#: Seeds of test states are moved away from those of runs, which count from 0.
_HELD_OUT = 1 << 62


def value_error(
    network: Any, spec: CubeSpec, depth: int | None = None, *, per_depth: int = 1000, seed: int = 0
) -> DepthErrors:
    """Error of a network (or any function of states) against exact distances, depth by depth.

    Args:
        network: A :class:`~burnside.agents.cube_values.CubeValue`, or a function of uint8 states.
        spec: The cube.
        depth: The greatest depth (default: what is known, 14 at n = 2 and 6 for outer turns).
        per_depth: States at each depth, with replacement; depth 0 has one.
        seed: Of the test states, which are not those of :func:`exact_labels` with this seed.

    >>> value_error(lambda states: np.full(len(states), 2.0), CubeSpec(3), 3, per_depth=10).bias.tolist()
    [2.0, 1.0, 0.0, -1.0]
    """
    last, function = deepest(spec) if depth is None else depth, _function(network)
    rows = []
    for d in range(last + 1):
        states = sample_depth(spec, d, per_depth if d else 1, seed + _HELD_OUT)
        error = np.asarray(function(states), dtype=np.float64) - d
        rows.append((d, len(states), np.sqrt(np.mean(error**2)), error.mean()))
    depths, counts, rmse, bias = np.array(rows, dtype=np.float64).T.copy()
    return DepthErrors(depths.astype(np.int64), counts.astype(np.int64), rmse, bias)


@dataclass(frozen=True)
class SolveRates:
    """How many states were solved, per depth.

    Attributes:
        depth: Distances (or lengths of scrambles).
        count: States tried.
        solved: Of these, solved.
        shortest: Of these, solved in as few turns as ``depth``, or fewer.
    """

    depth: IntArray
    count: IntArray
    solved: IntArray
    shortest: IntArray

    @property
    def rate(self) -> FloatArray:
        """Fractions solved."""
        return np.asarray(self.solved / self.count)


def greedy_paths(network: Any, spec: CubeSpec, states: AnyArray, limit: int) -> IntArray:
    """Turns greedy play needs from each state, −1 where it does not solve it within ``limit`` turns.

    It takes the child with the least value, the first of equals, and a solved child before all others.

    >>> from burnside.envs.cube import apply_moves, solved
    >>> from burnside.envs.cube.tables import two_values
    >>> start = apply_moves(CubeSpec(2), solved(CubeSpec(2), 1), "R U F")
    >>> greedy_paths(two_values, CubeSpec(2), start, 5).tolist()
    [3]
    """
    function = _function(network)
    turns = np.where(np.asarray(is_solved(spec, states)), 0, -1).astype(np.int64)
    current = states.copy()
    for t in range(1, limit + 1):
        open_ = np.flatnonzero(turns < 0)
        if not open_.size:
            break
        after = children(spec, current[open_])
        values = np.array(function(after.reshape(-1, spec.n_stickers)), dtype=np.float64).reshape(after.shape[:2])
        goal = np.asarray(is_solved(spec, after))
        values[goal] = -1.0
        best = values.argmin(axis=1)
        current[open_] = move(spec, current[open_], best)
        turns[open_[goal.any(axis=1)]] = t
    return turns


def greedy_solve_rate(
    network: Any,
    spec: CubeSpec,
    depths: Sequence[int] | None = None,
    *,
    per_depth: int = 200,
    limit: int | None = None,
    seed: int = 0,
) -> SolveRates:
    """How often always taking the child with the least value solves states at exact depths.

    Args:
        network: As for :func:`value_error`.
        spec: The cube.
        depths: Which (default: all from 1 to what is known).
        per_depth: States at each.
        limit: Turns allowed (default: twice the depth plus 10).
        seed: Of the test states.

    >>> from burnside.envs.cube.tables import two_values
    >>> greedy_solve_rate(two_values, CubeSpec(2), [3, 9], per_depth=20).shortest.tolist()
    [20, 20]
    """
    chosen = list(range(1, deepest(spec) + 1)) if depths is None else list(depths)
    rows = []
    for d in chosen:
        states = sample_depth(spec, d, per_depth, seed + _HELD_OUT)
        turns = greedy_paths(network, spec, states, 2 * d + 10 if limit is None else limit)
        rows.append((d, len(states), int((turns >= 0).sum()), int(((turns >= 0) & (turns <= d)).sum())))
    depth, count, solved, shortest = np.array(rows, dtype=np.int64).reshape(-1, 4).T.copy()
    return SolveRates(depth, count, solved, shortest)
