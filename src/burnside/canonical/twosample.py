"""Whether two samples of outcomes come from one distribution.

Numbers that agree up to the tolerance are first made equal, in both samples together, so that rounding decides nothing.
Then two tests share the level: Kolmogorov–Smirnov on every single number, and a permutation test of what the numbers do
together. The latter takes the best of three statistics: the energy distance of the ranks (consistent against every
difference of the joint laws), χ² on the outcomes that repeat themselves, without pooling the rare ones, and the largest
difference in the frequency of one outcome. Permutations calibrate it exactly, however rare the outcomes are.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.canonical.access import Outcome
from burnside.canonical.base import numbers, structure

__all__ = [
    "Comparison",
    "compare",
    "encoded",
    "keys_of",
    "merged",
    "p_value",
    "resolution",
    "spread",
    "total_variation",
]

_MOST = 1000  # outcomes of either sample that are permuted: distances of all pairs are kept
_FIRST = 99  # permutations that tell the clearly equal from the rest
_LARGE = 2 * 10**7  # numbers up to which keys are merged


@dataclass(frozen=True)
class Comparison:
    """What a test found: the p-value, and how many events it looked at (for :func:`resolution`)."""

    p: float
    events: int


# ---------------------------------------------------------------------- equal up to rounding


def merged(values: FloatArray, width: float) -> FloatArray:
    """Ranks of each column, the same for numbers that are linked by steps of at most ``width``.

    Numbers so dense that links make a long chain are continuous: they keep ranks of their own.

    >>> merged(np.array([[0.0], [1.0], [1.0 + 1e-9], [5.0]]), 1e-6).ravel().tolist()
    [0.0, 1.5, 1.5, 3.0]
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        differ = ~((ordered[1:] == ordered[:-1]) | (np.isnan(ordered[1:]) & np.isnan(ordered[:-1])))
        fresh = differ & ~(np.diff(ordered, axis=0) <= width)
        first, last = _ends(fresh)
        long = _at(ordered, last) - _at(ordered, first) > 3 * width
    first, last = _ends(fresh | (differ & long[1:]))
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2, axis=0)
    return ranks


def _ends(fresh: AnyArray) -> tuple[IntArray, IntArray]:
    """For every row of sorted columns, the first and last row of its class, given which rows begin a new one."""
    rows = np.arange(len(fresh) + 1)[:, None]
    edge = np.ones((1, fresh.shape[1]), dtype=bool)
    first = np.maximum.accumulate(np.where(np.concatenate([edge, fresh]), rows, 0), axis=0)
    final = np.where(np.concatenate([fresh, edge]), rows, len(fresh))
    return first, np.minimum.accumulate(final[::-1], axis=0)[::-1]


def _at(ordered: FloatArray, rows: IntArray) -> FloatArray:
    return np.take_along_axis(ordered, rows, axis=0)


def _width(values: FloatArray, tolerance: float) -> float:
    return tolerance * float(np.max(np.abs(values), initial=1.0, where=np.isfinite(values)))


def keys_of(things: Sequence[object], tolerance: float) -> list[Hashable]:
    """A hashable stand-in for each observation, equal for those that agree up to the tolerance.

    >>> one, two, three = keys_of([np.array([1 / 64]), [1 / 64 + 1e-12], np.float32([0.5])], 1e-6)
    >>> one == two, one == three
    (True, False)
    """
    forms = [structure(x, values=True) for x in things]
    rows = [numbers(x) + 0.0 for x in things]  # adding 0.0 turns −0.0 into 0.0, which has other bytes
    groups: dict[Hashable, dict[bytes, FloatArray]] = defaultdict(dict)
    for form, row in zip(forms, rows, strict=True):
        groups[form].setdefault(row.tobytes(), row)
    names: dict[tuple[Hashable, bytes], bytes] = {}
    for form, members in groups.items():
        values = np.stack(list(members.values()))
        ranks = values if values.size > _LARGE else merged(values, _width(values, tolerance))
        names |= {(form, raw): rank.tobytes() for raw, rank in zip(members, ranks, strict=True)}
    return [(form, names[form, row.tobytes()]) for form, row in zip(forms, rows, strict=True)]


def encoded(outcomes: Sequence[Outcome], tolerance: float) -> tuple[FloatArray, IntArray]:
    """The ranks of all numbers that vary, one row for each outcome; and the number of the outcome in a list of all."""
    rewards = np.array([[o.reward] for o in outcomes], dtype=np.float64)
    columns = [merged(rewards, _width(rewards, tolerance)), np.array([[float(o.terminated)] for o in outcomes])]
    rows = [numbers(o.observation) for o in outcomes]
    forms = [structure(o.observation, values=True) for o in outcomes]
    if len({row.size for row in rows}) == 1 and rows[0].size:
        values = np.stack(rows)
        columns.append(merged(values, _width(values, tolerance)))
        seen: list[Hashable] = list(forms)
    else:
        seen = keys_of([o.observation for o in outcomes], tolerance)
    ranks = np.concatenate(columns, axis=1)
    ranks = ranks[:, np.ptp(ranks, axis=0) > 0]
    names: dict[Hashable, int] = {}
    labels = [names.setdefault((key, row.tobytes()), len(names)) for key, row in zip(seen, ranks, strict=True)]
    return ranks, np.array(labels)


# ---------------------------------------------------------------------- the test


def p_value(one: Sequence[Outcome], other: Sequence[Outcome], tolerance: float) -> float:
    """The probability of samples at least this different, were they of one distribution.

    >>> rng = np.random.default_rng(0)
    >>> draw = lambda sign: [Outcome(np.array([z, sign * z]), 0.0, False) for z in rng.normal(size=100)]
    >>> bool(p_value(draw(1), draw(1), 1e-6) > 0.05), bool(p_value(draw(1), draw(-1), 1e-6) < 0.05)
    (True, True)
    """
    return compare(one, other, tolerance, 0.01, np.random.default_rng(0)).p


def compare(
    one: Sequence[Outcome], other: Sequence[Outcome], tolerance: float, level: float, rng: np.random.Generator
) -> Comparison:
    """The two tests, with so many permutations that a p-value below the level can be reached."""
    ranks, labels = encoded([*one, *other], tolerance)
    kinds = int(labels.max()) + 1
    if kinds == 1:
        return Comparison(1.0, 1)
    repeats = 2 * kinds <= len(labels)
    events = max(1, 2 * ranks.shape[1] + (6 * kinds if repeats else 0))
    weights = np.concatenate([np.full(len(one), 1 / len(one)), np.full(len(other), -1 / len(other))])
    alone = _smirnov(ranks, weights, len(one) * len(other) / len(weights))
    if 2 * alone < level / 10:  # different enough: permutations could only say the same
        return Comparison(2 * alone, events)
    kept = np.concatenate([np.arange(min(len(one), _MOST)), len(one) + np.arange(min(len(other), _MOST))])
    together = _permuted(ranks[kept], labels[kept], min(len(one), _MOST), level, rng)
    return Comparison(min(1.0, 2 * min(alone, together)), events)


def _smirnov(ranks: FloatArray, weights: FloatArray, n: float) -> float:
    """The least p-value of all columns, times their number.

    The bound e·exp(−2nD²) of Dvoretzky, Kiefer and Wolfowitz, with Wei and Dudley's constant for two samples, holds for
    any number of draws and for ties.
    """
    if not ranks.shape[1]:
        return 1.0
    order = np.argsort(ranks, axis=0, kind="stable")
    ordered = np.take_along_axis(ranks, order, axis=0)
    gap = np.abs(np.cumsum(weights[order], axis=0))[:-1]
    largest = float(np.max(gap, where=ordered[1:] != ordered[:-1], initial=0.0))
    return min(1.0, ranks.shape[1] * math.exp(1.0 - 2.0 * n * largest**2))


def spread(ranks: FloatArray) -> FloatArray:
    """The distances between all rows, after every column is brought to variance one."""
    scaled = (ranks - ranks.mean(axis=0)) / np.maximum(ranks.std(axis=0), 1e-12)
    norms = np.sum(scaled**2, axis=1)
    return np.sqrt(np.maximum(norms[:, None] + norms[None] - 2 * scaled @ scaled.T, 0.0))


def _permuted(ranks: FloatArray, labels: IntArray, size: int, level: float, rng: np.random.Generator) -> float:
    """The p-value of the best statistic; after few permutations already where it is far from the level."""
    _, labels, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) == 1:
        return 1.0
    weights = np.concatenate([np.full(size, 1 / size), np.full(len(labels) - size, -1 / (len(labels) - size))])
    distances = spread(ranks) if ranks.shape[1] else None
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    scale = np.sqrt(counts * (len(labels) - counts))

    def statistics(signs: FloatArray) -> FloatArray:
        found = [] if distances is None else [-np.einsum("ij,ij->i", signs @ distances, signs)]
        if len(counts) < len(labels):
            shares = np.add.reduceat(signs[:, order], starts, axis=1)
            found += [np.sum(shares**2 / counts, axis=1), np.max(np.abs(shares) / scale, axis=1)]
        return np.stack(found, axis=1) if found else np.zeros((len(signs), 1))

    rows = statistics(weights[None])
    for total in (_FIRST, math.ceil(12 / level)):
        more = total + 1 - len(rows)
        if more > 0:
            rows = np.concatenate([rows, statistics(rng.permuted(np.tile(weights, (more, 1)), axis=1))])
        p = _best(rows)
        if p > max(0.1, 5 * level):  # stopping here can only keep a difference from being called one
            break
    return p


def _best(rows: FloatArray) -> float:
    """The rank of the first row, when each is judged by the statistic that ranks it highest."""
    shares = np.empty_like(rows)
    for k in range(rows.shape[1]):
        column = rows[:, k]
        slack = 1e-9 * max(1e-300, float(np.abs(column).max()))  # sums of one set in another order
        shares[:, k] = 1 - np.searchsorted(np.sort(column), column - slack, side="left") / len(column)
    best = shares.min(axis=1)
    return float(np.mean(best <= best[0] + 1e-12))


# ---------------------------------------------------------------------- how much was seen


def total_variation(one: Sequence[Outcome], other: Sequence[Outcome], tolerance: float) -> float:
    """The distance of the two empirical distributions."""
    _, labels = encoded([*one, *other], tolerance)
    kinds = int(labels.max()) + 1
    left, right = (np.bincount(part, minlength=kinds) / len(part) for part in np.split(labels, [len(one)]))
    return 0.5 * float(np.abs(left - right).sum())


def resolution(draws: int, level: float, confidence: float, events: int = 1) -> float:
    """Roughly, the least difference in the probability of an event that this many draws on either side bring to light.

    The events are those that are looked at one by one: an outcome (where outcomes repeat themselves), and a number
    below a bound. Hoeffding's inequality, once for a false alarm in any of them and once for missing a true one.

    >>> round(resolution(400, 0.01, 0.99, events=10), 2)
    0.25
    """
    alarm, miss = math.log(2 * events / level), math.log(2 / (1 - confidence))
    return min(1.0, (math.sqrt(alarm) + math.sqrt(miss)) / math.sqrt(draws))
