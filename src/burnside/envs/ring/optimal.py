"""The exact optimal return of a board by dynamic programming, and its expectation over boards.

Undiscounted, as returns are reported. An optimal player never needs to know more than the board, which it sees, so this
is the best any learner can reach; the 95 % threshold of the experiments refers to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.envs.ring.core import MOVES, RingSpec, RingState, initial
from burnside.errors import InvalidParameter

__all__ = ["ExpectedReturn", "enumerated_optimal_return", "expected_optimal_return", "optimal_return", "optimal_values"]

_CHUNK = 2**22  # numbers held at once
_ENUMERATION_LIMIT = 20
_ERROR = 1e-4  # what still counts as exact


@dataclass(frozen=True)
class ExpectedReturn:
    """An expectation over boards.

    Attributes:
        value: the expected optimal return.
        se: standard error of ``value``, 0 if it is exact. (It is also 0 if all sampled boards agree, as in three
            dimensions, where a path without mines practically always exists.)
        error: proved bound: apart from sampling, the truth lies between ``value`` and ``value + error``.
        method: ``"exact"``, ``"enumeration"`` or ``"sampling"``.
        boards: boards looked at by the last two, 0 for the first.
    """

    value: float
    se: float
    error: float
    method: str
    boards: int

    def __float__(self) -> float:
        return self.value


def optimal_values(spec: RingSpec, items: AnyArray, steps: int | None = None) -> FloatArray:
    """``(B, cells)``: the best return from every cell of every board with ``steps`` left (default: the time limit).

    Backward induction: ``V_k(q) = max_a r(q + a) + [q + a is not the goal] V_{k−1}(q + a)``. The maximum over the 4^d
    moves is taken axis by axis, and the loop ends early once nothing changes any more.

    >>> board = np.array([[0, -1, -1, -1, -1, 1, -1, -1, -1, 0]], dtype=np.int8)
    >>> optimal_values(RingSpec(10), board).tolist()
    [[9.0, 9.0, 9.0, 10.0, 10.0, 9.0, 10.0, 10.0, 9.0, 9.0]]
    """
    boards = np.asarray(items)
    if boards.ndim != 2 or boards.shape[1] != spec.n_cells or not ((boards > 0).sum(axis=1) == 1).all():
        raise InvalidParameter(f"need boards of shape (B, {spec.n_cells}) with one end each, got shape {boards.shape}")
    left = spec.time_limit if steps is None else steps
    size = max(1, _CHUNK // spec.n_cells)
    parts = [_values(spec, boards[i : i + size], left) for i in range(0, len(boards), size)]
    return np.concatenate(parts) if parts else np.zeros((0, spec.n_cells))


def _values(spec: RingSpec, boards: AnyArray, steps: int) -> FloatArray:
    grid = boards.reshape(-1, *spec.shape)
    reward = np.where(grid > 0, spec.end_reward, grid.astype(np.float64))
    going_on = grid <= 0
    value = np.zeros_like(reward)
    for _ in range(steps):
        entering = reward + going_on * value
        for axis in range(1, spec.d + 1):
            entering = np.maximum.reduce([np.roll(entering, -m, axis=axis) for m in MOVES])
        if np.array_equal(entering, value):
            break
        value = entering
    return value.reshape(len(boards), -1)


def optimal_return(state: RingState) -> FloatArray:
    """``(B,)``: the best return that can still be collected from each game, in the time it has left.

    >>> from burnside.envs.ring.core import RingSpec, initial
    >>> optimal_return(initial(RingSpec(10), seeds=[0, 1, 2], episodes=0)).tolist()
    [10.0, 10.0, 8.0]
    """
    out = np.empty(len(state))
    for t in np.unique(state.t):
        rows = np.flatnonzero(state.t == t)
        values = optimal_values(state.spec, state.items[rows], max(0, state.spec.time_limit - int(t)))
        out[rows] = values[np.arange(len(rows)), state.pos[rows]]
    return out


def expected_optimal_return(spec: RingSpec, *, boards: int = 20_000, seed: int = 0) -> ExpectedReturn:
    """The expectation of the optimal return over boards and goals, at the start of an episode; cached.

    In one dimension it is exact (see ``_exact_ring``) whenever entering the goal is never worse than staying away from
    it, which is so up to n = 45 with the default rewards; beyond, it is taken as long as the proved error is below 1e-4
    (1.6e-6 at n = 50). In all other cases ``boards`` boards are sampled, each averaged over all places of the goal, and
    the standard error is stated.

    >>> expected_optimal_return(RingSpec(10))
    ExpectedReturn(value=9.709918..., se=0.0, error=0.0, method='exact', boards=0)
    """
    return _expected(spec, boards, seed)


@lru_cache(maxsize=256)
def _expected(spec: RingSpec, boards: int, seed: int) -> ExpectedReturn:
    if spec.d == 1 and spec.time_limit >= spec.n:
        value, error = _exact_ring(spec)
        if error <= _ERROR:
            return ExpectedReturn(value, 0.0, error if error > 1e-15 else 0.0, "exact", 0)
    if boards < 2:
        raise InvalidParameter(f"boards must be at least 2 for a standard error, got {boards}")
    # By translation, one board with its end averaged over all starts is as good as n^d pairs of start and goal.
    size = max(1, _CHUNK // spec.n_cells)
    means = []
    for first in range(0, boards, size):
        state = initial(spec, seed, np.arange(first, min(boards, first + size)))
        means.append(optimal_values(spec, state.items).mean(axis=1))
    found = np.concatenate(means)
    return ExpectedReturn(float(found.mean()), float(found.std(ddof=1) / math.sqrt(boards)), 0.0, "sampling", boards)


# ---------------------------------------------------------------------- one dimension, exactly


def _path_costs(cells: int, p: float) -> FloatArray:
    """Distribution of the fewest mines that must be entered to pass ``cells`` cells with steps 1 and 2.

    With c(i) the cost of standing on cell i, ``c(i) = mine(i) + min(c(i−1), c(i−2))``; c(i) and c(i−1) differ by at
    most one, so (c(i), c(i) − c(i−1)) is a small Markov chain. The end cell beyond the last costs min(c(k), c(k−1)).
    """
    top = cells // 2 + 2
    # law[difference + 1, cost]; the start costs 0, and so would the (useless) cell before it: cost ∞, difference −1
    law = np.zeros((3, top + 1))
    law[0, 0] = 1.0
    for _ in range(cells):
        after = np.zeros_like(law)
        for difference in (-1, 0, 1):
            # min(c(i), c(i−1)) = c(i) − max(difference, 0)
            back = max(difference, 0)
            base = np.concatenate([law[difference + 1, back:], np.zeros(back)])
            for mine, weight in ((0, 1 - p), (1, p)):
                # c(i+1) − c(i) = mine − back
                moved = np.concatenate([np.zeros(mine), base[: top + 1 - mine]])
                after[mine - back + 1] += weight * moved
        law = after
    cost = law[0] + law[1]
    cost[:-1] += law[2, 1:]
    return cost


def _exact_ring(spec: RingSpec) -> tuple[float, float]:
    """The expectation in one dimension, and how far it can be from the truth.

    A walk with steps ±1, ±2 from start to goal meets at least one of any two neighbouring cells on its way, so its
    visited cells, in order, are a monotone walk that enters no more mines: the best walk goes straight round one of the
    two sides. The sides share no cell, so their costs are independent, and each has the law of ``_path_costs``. With
    the goal on the start (one case in n) the best is to step out and back, at the cost of one mine if all four cells in
    reach are mines. The only other way to play is to avoid the goal until the end, at a return of at most 0; it can
    gain at most ``(cost − E)⁺`` over walking, whose expectation bounds the error. (The time limit does not matter: a
    straight walk takes fewer than n steps.)
    """
    n, p, reward = spec.n, spec.p_mine, spec.end_reward
    total, error = reward - p**4, max(0.0, 1.0 - reward)
    for k in range(1, n):
        one, other = _path_costs(k - 1, p), _path_costs(n - k - 1, p)
        size = max(len(one), len(other))
        above = [1.0 - np.cumsum(np.pad(law, (0, size - len(law)))) for law in (one, other)]
        both = np.clip(above[0], 0, 1) * np.clip(above[1], 0, 1)  # P(min > c) for c = 0, 1, …
        chance = np.concatenate([[1.0], both[:-1]]) - both
        costs = np.arange(size)
        total += reward - float(costs @ chance)
        error += float(np.maximum(costs - reward, 0) @ np.maximum(chance, 0))
    return total / n, error / n


def enumerated_optimal_return(spec: RingSpec) -> ExpectedReturn:
    """The expectation by dynamic programming on every board, for rings of at most 20 cells; slow, and a check.

    >>> spec = RingSpec(7)
    >>> abs(enumerated_optimal_return(spec).value - expected_optimal_return(spec).value) < 1e-12
    True
    """
    cells = spec.n_cells
    if cells > _ENUMERATION_LIMIT:
        raise InvalidParameter(f"{cells} cells have 2^{cells - 1} boards, too many to enumerate (up to 20 cells)")
    total = 0.0
    size = max(1, _CHUNK // cells)
    for first in range(0, 2 ** (cells - 1), size):
        index = np.arange(first, min(2 ** (cells - 1), first + size))
        mined: IntArray = (index[:, None] >> np.arange(cells - 1)) & 1
        items = np.concatenate([np.ones((len(index), 1), np.int8), -mined.astype(np.int8)], axis=1)
        count = mined.sum(axis=1)
        weight = spec.p_mine**count * (1 - spec.p_mine) ** (cells - 1 - count)
        total += float(weight @ optimal_values(spec, items).mean(axis=1))
    return ExpectedReturn(total, 0.0, 0.0, "enumeration", 2 ** (cells - 1))
