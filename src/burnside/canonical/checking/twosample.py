"""Whether two samples of outcomes come from one distribution.

Numbers that agree up to the tolerance are first made equal, in both samples together, so that rounding decides nothing.
Then statistics are computed for the samples as they are and for random divisions of the same outcomes into two (a
permutation test, which is exact however rare the outcomes are and however few): for every number the difference of the
mean ranks and of the spread of the ranks; the energy distance of all numbers together, which sees every difference of
the joint laws; χ² on outcomes that repeat themselves, and the largest difference in the frequency of one of them. Each
is brought to the same scale over the divisions, and the largest decides.

The statistics are kept apart by component, so that a reward that differs is not blamed on the dynamics.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.canonical.base import numbers, precision, structure
from burnside.canonical.checking.access import Outcome
from burnside.canonical.checking.tolerance import Ruler, typical

__all__ = [
    "GROUPS",
    "Encoded",
    "best",
    "distances",
    "divisions",
    "encode",
    "keys_of",
    "merged",
    "p_values",
    "resolution",
    "statistics",
    "total_variation",
]

#: What is tested by itself. ``joint`` is what the components do together.
GROUPS = ("dynamics", "reward", "termination", "truncation", "joint")

_COLUMNS = 64  # numbers that are tested one by one; all of them go into the joint statistics
_LARGE = 2 * 10**7  # numbers up to which keys are merged
_CHUNK = 2 * 10**6  # entries of the divisions that are held at a time
_FIRST = 199  # divisions that tell the clearly equal from the rest


# ---------------------------------------------------------------------- equal up to rounding


def merged(values: FloatArray, widths: FloatArray | float) -> FloatArray:
    """Ranks of each column, the same for numbers that are linked by steps of at most the width of the column.

    Numbers so dense that links make a long chain are continuous: they keep ranks of their own.

    >>> merged(np.array([[0.0], [1.0], [1.0 + 1e-9], [5.0]]), 1e-6).ravel().tolist()
    [0.0, 1.5, 1.5, 3.0]
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    with np.errstate(invalid="ignore", over="ignore"):  # ∞ − ∞
        differ = ~((ordered[1:] == ordered[:-1]) | (np.isnan(ordered[1:]) & np.isnan(ordered[:-1])))
        fresh = differ & ~(np.diff(ordered, axis=0) <= widths)
        first, last = _ends(fresh)
        long = _at(ordered, last) - _at(ordered, first) > 3 * np.asarray(widths)
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


def _widths(values: FloatArray, eps: FloatArray, ruler: Ruler, more: FloatArray | float = 0.0) -> FloatArray:
    """How far numbers of a column may be apart and count as equal: by its own scale, and rounding of its own type."""
    largest = np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values))
    scale = ruler.scale if ruler.fits(values.shape[1]) else np.zeros(values.shape[1])
    return np.where(eps > 0, ruler.tol * scale + 2 * eps * largest + more, 0.0)


def keys_of(things: Sequence[object], tolerance: float) -> list[Hashable]:
    """A hashable stand-in for each thing, equal for those whose numbers agree, each up to its own typical size.

    >>> one, two, three = keys_of([np.array([1 / 64]), [1 / 64 + 1e-12], np.float32([0.5])], 1e-6)
    >>> one == two, one == three
    (True, False)
    """
    forms = [structure(x, values=True) for x in things]
    rows = [numbers(x) + 0.0 for x in things]  # adding 0.0 turns −0.0 into 0.0, which has other bytes
    groups: dict[Hashable, dict[bytes, FloatArray]] = defaultdict(dict)
    kinds: dict[Hashable, FloatArray] = {}
    for thing, form, row in zip(things, forms, rows, strict=True):
        groups[form].setdefault(row.tobytes(), row)
        if form not in kinds:
            kinds[form] = precision(thing)
        else:
            kinds[form] = np.maximum(kinds[form], precision(thing))
    names: dict[tuple[Hashable, bytes], bytes] = {}
    for form, members in groups.items():
        values = np.stack(list(members.values()))
        ranks = values
        if 0 < values.size <= _LARGE:
            largest = np.max(np.abs(values), axis=0, initial=0.0, where=np.isfinite(values))
            widths = np.where(kinds[form] > 0, tolerance * typical(values) + 2 * kinds[form] * largest, 0.0)
            ranks = merged(values, widths)
        names |= {(form, raw): rank.tobytes() for raw, rank in zip(members, ranks, strict=True)}
    return [(form, names[form, row.tobytes()]) for form, row in zip(forms, rows, strict=True)]


@dataclass(frozen=True)
class Encoded:
    """Outcomes as ranks and labels, one row for each.

    Attributes:
        ranks: of all numbers that vary: of the observation, then reward, termination, truncation.
        columns: which number of the observation each column is; −1, −2, −3 for the other three.
        observed: the number of the observation in a list of all different ones.
        rewarded: the same for the reward.
        labels: the same for whole outcomes.
    """

    ranks: FloatArray
    columns: IntArray
    observed: IntArray
    rewarded: IntArray
    labels: IntArray


def encode(outcomes: Sequence[Outcome], ruler: Ruler, more: FloatArray | float = 0.0) -> Encoded:
    """Outcomes of both samples together; ``more`` is what rounding adds to the numbers of the observation."""
    count = len(outcomes)
    rewards = np.array([[o.reward] for o in outcomes], dtype=np.float64)
    eps = max(o.reward_eps for o in outcomes)
    largest = float(np.max(np.abs(rewards), initial=0.0, where=np.isfinite(rewards)))
    paid = merged(rewards, ruler.tol * ruler.reward_scale + 2 * eps * largest)
    ends = np.array([[o.terminated, o.truncated] for o in outcomes], dtype=np.float64)
    forms = [structure(o.observation, values=True) for o in outcomes]
    rows = [numbers(o.observation) for o in outcomes]
    shown = np.zeros((count, 0))
    keys: list[Hashable] = list(forms)
    if len({row.size for row in rows}) == 1 and rows[0].size:
        values = np.stack(rows)
        types = np.maximum(precision(outcomes[0].observation), precision(outcomes[-1].observation))
        shown = merged(values, _widths(values, types, ruler, more))
    elif len(set(forms)) > 1 or rows[0].size:
        keys = keys_of([o.observation for o in outcomes], ruler.tol)
    columns = np.concatenate([np.arange(shown.shape[1]), [-1, -2, -3]])
    ranks = np.concatenate([shown, paid, ends], axis=1)
    observed = _labels(keys, shown[:, np.ptp(shown, axis=0) > 0] if shown.shape[1] else shown)
    rewarded = _labels([()] * count, paid)
    whole = _labels(list(zip(observed.tolist(), rewarded.tolist(), strict=True)), ends)
    varies = np.ptp(ranks, axis=0) > 0
    return Encoded(ranks[:, varies], columns[varies], observed, rewarded, whole)


def _labels(keys: Sequence[Hashable], ranks: FloatArray) -> IntArray:
    names: dict[Hashable, int] = {}
    return np.array([names.setdefault((key, row.tobytes()), len(names)) for key, row in zip(keys, ranks, strict=True)])


# ---------------------------------------------------------------------- statistics


def divisions(one: int, other: int, count: int, rng: np.random.Generator) -> FloatArray:
    """Weights of the two samples, first as they are and then as chance divides them: 1/n in one, −1/m in the other."""
    weights = np.concatenate([np.full(one, 1 / one), np.full(other, -1 / other)])
    return np.concatenate([weights[None], rng.permuted(np.tile(weights, (count, 1)), axis=1)])


def distances(ranks: FloatArray) -> FloatArray:
    """The distances between all rows, after every column is brought to variance one."""
    scaled = _standard(ranks)
    norms = np.sum(scaled**2, axis=1)
    return np.sqrt(np.maximum(norms[:, None] + norms[None] - 2 * scaled @ scaled.T, 0.0))


def _standard(ranks: FloatArray) -> FloatArray:
    return (ranks - ranks.mean(axis=0)) / np.maximum(ranks.std(axis=0), 1e-12)


def statistics(coded: Encoded, signs: FloatArray) -> dict[str, FloatArray]:
    """For each group that varies, its statistics: one row for every division."""
    found: dict[str, list[FloatArray]] = {name: [] for name in GROUPS}
    seen = coded.columns >= 0
    chosen = np.flatnonzero(seen)[:_COLUMNS]
    if chosen.size:
        found["dynamics"] += _alone(coded.ranks[:, chosen], signs)
    if seen.sum() > 1:
        found["dynamics"].append(_energy(coded.ranks[:, seen], signs))
    found["dynamics"] += _frequencies(coded.observed, signs)
    for name, column in (("reward", -1), ("termination", -2), ("truncation", -3)):
        at = np.flatnonzero(coded.columns == column)
        if at.size:
            found[name] += _alone(coded.ranks[:, at], signs)
    found["reward"] += _frequencies(coded.rewarded, signs)
    if sum(bool(found[name]) for name in GROUPS) > 1:
        if coded.ranks.shape[1] > 1:
            found["joint"].append(_energy(coded.ranks, signs))
        found["joint"] += _frequencies(coded.labels, signs)
    return {name: np.concatenate(parts, axis=1) for name, parts in found.items() if parts}


def _alone(ranks: FloatArray, signs: FloatArray) -> list[FloatArray]:
    """Every column by itself: mean rank, and how far ranks are from the middle one."""
    scaled = _standard(ranks)
    away = _standard(np.abs(ranks - np.median(ranks, axis=0)))
    return [np.abs(signs @ scaled), np.abs(signs @ away)]


def _energy(ranks: FloatArray, signs: FloatArray) -> FloatArray:
    apart = distances(ranks)
    found = -np.einsum("ij,ij->i", signs @ apart, signs)
    return np.cbrt(np.maximum(found, 0.0))[:, None]


def _frequencies(labels: IntArray, signs: FloatArray) -> list[FloatArray]:
    """χ² without pooling, and the largest difference of a single frequency; nothing if no outcome repeats itself."""
    _, index, counts = np.unique(labels, return_inverse=True, return_counts=True)
    if len(counts) == 1 or len(counts) == len(labels):
        return []
    order = np.argsort(index, kind="stable")
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    shares = np.add.reduceat(signs[:, order], starts, axis=1)
    scale = np.sqrt(counts * (len(labels) - counts))
    chi = np.cbrt(np.sum(shares**2 / counts, axis=1))
    return [chi[:, None], np.max(np.abs(shares) / scale, axis=1)[:, None]]


def best(rows: FloatArray) -> float:
    """The p-value of the first row, when every row is judged by the statistic in which it stands out most."""
    spread = rows.std(axis=0)
    varies = spread > 1e-12 * np.maximum(np.abs(rows).max(axis=0), 1e-300)
    if not varies.any():
        return 1.0
    largest = ((rows[:, varies] - rows[:, varies].mean(axis=0)) / spread[varies]).max(axis=1)
    return float(np.mean(largest >= largest[0] - 1e-9))


# ---------------------------------------------------------------------- the test


def p_values(
    one: Sequence[Outcome],
    other: Sequence[Outcome],
    ruler: Ruler,
    level: float,
    rng: np.random.Generator,
    more: FloatArray | float = 0.0,
) -> dict[str, float]:
    """For each group that varies, the probability of samples at least this different, were they of one distribution.

    With so many divisions that a p-value below the level can be reached; few where that is out of reach.

    >>> rng, ruler = np.random.default_rng(0), Ruler(1e-6, np.ones(2), 1.0, np.zeros(2, bool))
    >>> draw = lambda sign: [Outcome(np.array([z, sign * z]), 0.0, False) for z in rng.normal(size=100)]
    >>> bool(p_values(draw(1), draw(1), ruler, 0.05, rng)["dynamics"] > 0.05)
    True
    >>> bool(p_values(draw(1), draw(-1), ruler, 0.05, rng)["dynamics"] < 0.05)
    True
    """
    coded = encode([*one, *other], ruler, more)
    if coded.labels.max() == 0:
        return {}
    found = statistics(coded, divisions(len(one), len(other), _FIRST, rng))
    ps = {name: best(rows) for name, rows in found.items()}
    wanted = math.ceil(12 / level)
    # Stopping early where it is far from the level can only keep a difference from being called one.
    if wanted > _FIRST and min(ps.values(), default=1.0) <= max(0.05, 5 * level):
        chunk = max(100, _CHUNK // (len(one) + len(other)))
        rows = {name: [part] for name, part in found.items()}
        for start in range(_FIRST, wanted, chunk):
            more_signs = divisions(len(one), len(other), min(chunk, wanted - start), rng)[1:]
            for name, part in statistics(coded, more_signs).items():
                rows[name].append(part)
        ps = {name: best(np.concatenate(parts)) for name, parts in rows.items()}
    return ps


# ---------------------------------------------------------------------- how much was seen


def total_variation(one: IntArray, other: IntArray) -> float:
    """The distance of two empirical distributions of labels."""
    kinds = int(max(one.max(), other.max())) + 1
    left, right = (np.bincount(part, minlength=kinds) / len(part) for part in (one, other))
    return 0.5 * float(np.abs(left - right).sum())


def resolution(stages: Sequence[tuple[int, float]], power: float, events: int) -> float:
    """Roughly, the least difference in the probability of an event that is seen with this probability.

    Args:
        stages: draws on either side and level of tests that must all alarm.
        power: the probability of seeing it.
        events: how many statistics share each level.

    >>> round(resolution([(32, 0.2), (64, 0.1)], 0.5, 5), 2)
    0.3
    """
    from scipy import stats

    def seen(apart: float) -> float:
        found = 1.0
        for draws, level in stages:
            p = np.array([0.5 - apart / 2, 0.5 + apart / 2])
            error = math.sqrt(float(np.sum(p * (1 - p))) / draws) or 1e-9
            null = math.sqrt(0.5 / draws)
            found *= float(stats.norm.sf((stats.norm.isf(level / (2 * events)) * null - apart) / error))
        return found

    low, high = 0.0, 1.0
    if seen(high) < power:
        return 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if seen(middle) >= power else (middle, high)
    return high

