"""Intervals that cover what they say, also for a handful of seeds.

A seed is the unit: it gives one number, or one count of successes. Episodes of one run are not runs; passed as such
they would make every interval far too narrow, so they are refused.

- A mean over seeds: Student's t (:func:`mean_interval`, and :func:`mean_band` for curves).
- A difference of means: Welch's t, or the paired t if the two sides belong together seed by seed (:func:`difference`).
- A rate within one run: Wilson's interval, or the exact one of Clopper and Pearson.
- A rate over seeds: Wilson's interval with the effective number of trials (:func:`rate_over_seeds`).

Ratios are in :mod:`burnside.stats.ratios`, times to a threshold in :mod:`burnside.stats.censored`. The coverage is
measured in ``tests/stats/test_coverage.py``. A single seed has no interval. Neither have seeds that are all equal: a
spread of zero says that the numbers are bounded or discrete, not that the next seed will be the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from burnside._types import ArrayLike, FloatArray
from burnside.errors import InvalidParameter

__all__ = [
    "Band",
    "Interval",
    "clopper_pearson",
    "difference",
    "mean_band",
    "mean_interval",
    "rate_over_seeds",
    "wilson",
]


class Interval(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None where there is none."""

    value: float
    low: float | None
    high: float | None


class Band(NamedTuple):
    """Intervals along a curve; ``low`` and ``high`` are NaN where there is none."""

    value: FloatArray
    low: FloatArray
    high: FloatArray


def check_level(level: float) -> float:
    """``level`` if it lies strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InvalidParameter(f"the level of an interval must lie strictly between 0 and 1, not {level!r}")
    return level


def students(level: float, freedom: float) -> float:
    """Student's two-sided quantile: ``scipy.stats.t.ppf``, without its overhead and its half second of import.

    >>> round(students(0.95, 2), 3), round(students(0.95, 9), 3)
    (4.303, 2.262)
    """
    return float(stdtrit(freedom, 0.5 + check_level(level) / 2))


def standard_error(values: FloatArray) -> float:
    """Standard error of a mean: NaN for one value, and exactly zero if all are equal."""
    if values.size == 1:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(values.size)) if np.ptp(values) > 0 else 0.0


def welch(errors: ArrayLike, sizes: ArrayLike, level: float) -> float | None:
    """Half width of the interval of a sum of independent means, from their standard errors and numbers of values.

    Welch and Satterthwaite's degrees of freedom. Of two means it is the interval of ``scipy.stats.ttest_ind``, which
    takes neither standard errors nor, without a warning, a side whose values are all equal. None if there is none.
    """
    parts, counts = np.asarray(errors, dtype=np.float64) ** 2, np.asarray(sizes)
    total = float(parts.sum())
    if not total > 0:  # a single value somewhere, or no spread at all
        return None
    return students(level, total**2 / float((parts**2 / (counts - 1)).sum())) * total**0.5


def mean_interval(values: Mapping[int, float], level: float = 0.95) -> Interval:
    """Mean over seeds with Student's interval.

    Args:
        values: one number per seed, by the label of the seed.
        level: of the interval.

    >>> mean_interval({7: 1.0, 3: 3.0, 5: 2.0})
    Interval(value=2.0, low=-0.484..., high=4.484...)
    >>> mean_interval({7: 1.0}), mean_interval({7: 1.0, 3: 1.0})
    (Interval(value=1.0, low=None, high=None), Interval(value=1.0, low=None, high=None))
    """
    sample = by_seed(values)
    value, low, high = mean_band(sample[:, None], level)
    return Interval(float(value[0]), _number(low[0]), _number(high[0]))


def mean_band(values: ArrayLike, level: float = 0.95) -> Band:
    """Mean over seeds with Student's interval at every point of a curve.

    Args:
        values: (seeds × points).
        level: of the intervals, each by itself.

    >>> mean_band([[1.0, 5.0], [3.0, 5.0]]).low
    array([-10.706...,  nan])
    """
    curves = _finite(values)
    if curves.ndim != 2:
        raise InvalidParameter(f"curves must be an array (seeds × points), not of shape {curves.shape}")
    n = len(curves)
    mean = curves.mean(axis=0)
    if n == 1:
        return Band(mean, np.full_like(mean, np.nan), np.full_like(mean, np.nan))
    error = curves.std(axis=0, ddof=1) / np.sqrt(n)
    # seeds that are equal may differ in the last bit of their mean
    error = np.where(np.ptp(curves, axis=0) > 0, error, np.nan)
    half = students(level, n - 1) * error
    return Band(mean, mean - half, mean + half)


def difference(
    first: Mapping[int, float], second: Mapping[int, float], *, paired: bool = False, level: float = 0.95
) -> Interval:
    """Difference of two means over seeds, first minus second.

    Args:
        first: one number per seed, by the label of the seed.
        second: likewise.
        paired: whether equal seeds belong together, such as one run before and after: the paired t over the seeds that
            both have. Otherwise Welch's t, which allows different variances and different numbers of seeds.
        level: of the interval.

    >>> difference({0: 5.0, 1: 7.0}, {0: 1.0, 1: 2.0}, paired=True)
    Interval(value=4.5, low=-1.853..., high=10.853...)
    """
    if paired:
        shared = [seed for seed in first if seed in second]
        if not shared:
            raise InvalidParameter("the two have no seed in common, so nothing can be paired")
        return mean_interval({seed: first[seed] - second[seed] for seed in shared}, level)
    a, b = by_seed(first), by_seed(second)
    value = float(a.mean() - b.mean())
    half = welch([standard_error(a), standard_error(b)], [a.size, b.size], level)
    return Interval(value, None, None) if half is None else Interval(value, value - half, value + half)


def wilson(k: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's interval of a rate of k out of n independent trials, such as the episodes of *one* policy.

    It covers 95 % on average over rates, and a little less for some. Over several seeds use :func:`rate_over_seeds`.

    >>> [round(x, 4) for x in wilson(9, 10)]
    [0.9, 0.5958, 0.9821]
    >>> [round(x, 4) for x in wilson(10, 10)]
    [1.0, 0.7225, 1.0]
    """
    return _proportion(k, n, level, "wilson")


def clopper_pearson(k: int, n: int, level: float = 0.95) -> Interval:
    """The exact interval of a rate of k out of n independent trials; it never covers less than ``level``.

    >>> [round(x, 4) for x in clopper_pearson(9, 10)]
    [0.9, 0.555, 0.9975]
    """
    return _proportion(k, n, level, "exact")


def _proportion(k: int, n: int, level: float, method: Literal["exact", "wilson"]) -> Interval:
    from scipy import stats

    if n < 1 or not 0 <= k <= n:
        raise InvalidParameter(f"a rate needs 0 ≤ k ≤ n and n ≥ 1, not {k} of {n}")
    found = stats.binomtest(int(k), int(n)).proportion_ci(check_level(level), method=method)
    return Interval(k / n, float(found.low), float(found.high))


def rate_over_seeds(counts: Mapping[int, tuple[int, int]], level: float = 0.95) -> Interval:
    """Rate of success with seeds as the unit: pooled successes, Wilson's interval with effective trials.

    Trials of one seed are alike, because they share a trained policy. Wilson's interval over all trials, as if they
    were independent, is too narrow by as much as seeds differ. Here the trials are replaced by the number of
    independent ones that would have the variance observed between seeds at Student's quantile (Korn and Graubard's
    effective sample size), and by no more than there are. The interval stays inside [0, 1], and exists where every
    seed succeeded always. If all seeds play the same scenes, it is about those scenes.

    Args:
        counts: by seed, (successes, trials).
        level: of the interval.

    >>> [round(x, 3) for x in rate_over_seeds({0: (15, 50), 1: (16, 50), 2: (23, 50)})]
    [0.36, 0.185, 0.582]
    >>> rate_over_seeds({0: (50, 50), 1: (50, 50)}).low == wilson(100, 100).low
    True
    >>> rate_over_seeds({0: (15, 50)})
    Interval(value=0.3, low=None, high=None)
    """
    if not isinstance(counts, Mapping) or not counts:
        raise InvalidParameter("give the successes and trials of every seed, by its label: {seed: (k, n), …}")
    for label, (k, n) in counts.items():
        if n < 1 or not 0 <= k <= n:
            raise InvalidParameter(f"a rate needs 0 ≤ k ≤ n and n ≥ 1, not {k} of {n} (seed {label})")
    won, played = np.array(list(counts.values()), dtype=np.float64).T
    seeds, total = len(counts), float(played.sum())
    value = float(won.sum() / total)
    if seeds == 1:
        return Interval(value, None, None)
    z, t = float(ndtri(0.5 + check_level(level) / 2)), students(level, seeds - 1)
    # the variance of a ratio of sums over clusters
    variance = seeds / (seeds - 1) * float(((won - value * played) ** 2).sum()) / total**2
    effective = min(total, value * (1 - value) / variance * (z / t) ** 2) if variance > 0 else total
    centre = (value + z * z / (2 * effective)) / (1 + z * z / effective)
    half = z / (1 + z * z / effective) * np.sqrt(value * (1 - value) / effective + (z / (2 * effective)) ** 2)
    low = 0.0 if value == 0 else max(0.0, float(centre - half))
    high = 1.0 if value == 1 else min(1.0, float(centre + half))
    return Interval(value, low, high)


def by_seed(values: Mapping[int, float]) -> FloatArray:
    """The numbers in the order of the labels given; anything but one finite number per seed is refused."""
    if not isinstance(values, Mapping):
        raise InvalidParameter("give one value per seed, by its label: {seed: value, …}; episodes are not runs")
    if not values:
        raise InvalidParameter("there is no seed")
    for label, value in values.items():
        if np.ndim(value) != 0:
            raise InvalidParameter(
                f"seed {label} has {np.size(value)} values: a run gives one, so average its episodes first"
            )
    return _finite(list(values.values()))


def _finite(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not np.isfinite(array).all():
        raise InvalidParameter("statistics need at least one value, and all of them finite")
    return array


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
