"""How many times as much: ratios of times and of counts, with intervals that know about censored runs.

Times vary by factors, so their ratio is taken between geometric means, and its interval is Welch's t on logarithms
(:func:`times_ratio`). Counts may be zero, so their ratio is taken between means, and its interval is that of the
logarithm of the means (:func:`means_ratio`).

A run that did not arrive within its budget is known to need longer. With such runs at their budget on the slower side
alone, the ratio can only be larger: it is then a bound, and its interval has a lower limit only. Where both sides have
such runs nothing is known, and the ratio says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from burnside._types import FloatArray
from burnside.errors import InvalidParameter
from burnside.stats.censored import Times
from burnside.stats.intervals import by_seed, standard_error, welch

__all__ = [
    "Bound",
    "Ratio",
    "bound_text",
    "means_ratio",
    "permutation_test",
    "ratio_columns",
    "restricted_ratio",
    "times_ratio",
]

#: Of a ratio: an estimate, a lower bound, an upper bound, or neither.
Bound = Literal["", "at least", "at most", "not decided"]


class Ratio(NamedTuple):
    """How many times as much the first needs as the second.

    Attributes:
        value: the estimate; with a bound, the ratio with censored runs at their budget. Of times it is NaN if it is not
            decided; of counts it is then the ratio of what was counted.
        low, high: confidence limits: both, or the one that a bound has; None where there is none.
        bound: ``at least`` if runs of the first are censored, ``at most`` if runs of the second are, ``not decided``
            if runs of both are, else empty.
        seeds: runs of both.
        censored: unfinished runs of both.
    """

    value: float
    low: float | None
    high: float | None
    bound: Bound
    seeds: tuple[int, int]
    censored: tuple[int, int] = (0, 0)

    @property
    def single_seed(self) -> bool:
        """Whether a side rests on one seed, which every output must say."""
        return min(self.seeds) == 1

    def text(self, digits: int = 2) -> str:
        """For people: where runs are censored, the confidence limit and not the estimate.

        >>> Ratio(2.0, 1.5, 2.7, "", (5, 5)).text(), Ratio(7.6, 6.29, None, "at least", (5, 5), (3, 0)).text(1)
        ('2.00 (1.50–2.70)', 'at least 6.2')
        >>> Ratio(math.nan, None, None, "not decided", (5, 5), (3, 1)).text(), Ratio(2.0, None, None, "", (1, 1)).text()
        ('not decided', '2.00 (no interval)')
        """
        if self.bound == "not decided" or math.isnan(self.value):
            return "not decided"
        limit = self.low if self.low is not None else self.high
        if limit is None:
            return f"{self.bound} {self.value:.{digits}f} (no interval)".strip()
        if self.bound:
            return bound_text(limit, self.bound, digits)
        return f"{self.value:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f})"


def times_ratio(slow: Times, fast: Times, level: float = 0.95) -> Ratio:
    """How many times as long ``slow`` takes as ``fast``: geometric means, with Welch's interval of the logarithms.

    Censored runs enter at their budget. A geometric mean of such times is at most the true one, so that with censored
    runs of ``slow`` alone the ratio is a lower bound. ``low`` is then the lower limit of the interval, and there is no
    upper one. (The limit is the same with and without censored runs, so that the chance of being one or the other does
    not spoil the coverage.)

    >>> found = times_ratio(Times((0, 1), (400, 800), (True, True)), Times((0, 1), (90, 110), (True, True)))
    >>> round(found.value, 3), found.bound
    (5.685, '')
    >>> times_ratio(Times((0, 1), (900, 900), (False, False)), Times((0, 1), (90, 110), (True, True))).text()
    'at least 2.52'
    """
    x, y = np.log(slow.times), np.log(fast.times)
    censored = (slow.censored, fast.censored)
    bound = _bound(censored)
    seeds = (x.size, y.size)
    if bound == "not decided":
        return Ratio(math.nan, None, None, bound, seeds, censored)
    value = float(x.mean() - y.mean())
    low, high = _limits(value, welch([standard_error(x), standard_error(y)], seeds, level), bound)
    return Ratio(math.exp(value), low, high, bound, seeds, censored)


def restricted_ratio(slow: Times, fast: Times, level: float = 0.95) -> Ratio:
    """How many times as long ``slow`` takes as ``fast`` *within the budget*: a run ends when it arrives or is cut off.

    That is another question than :func:`times_ratio` asks, and it has an answer where runs of both sides are cut off.
    The more runs are, the closer to 1 it usually is: always if one side is ahead at every time, not if the curves of
    arrivals cross. Both sides need the same budget.

    >>> some = Times((0, 1, 2), (400, 500, 900), (True, True, False))
    >>> restricted_ratio(some, Times((0, 1, 2), (100, 200, 900), (True, True, False))).text()
    '2.15 (0.19–24.78)'
    """
    whole = [Times(each.seeds, each.times, np.ones(len(each.seeds), dtype=np.bool_)) for each in (slow, fast)]
    return times_ratio(whole[0], whole[1], level)._replace(censored=(slow.censored, fast.censored))


def means_ratio(
    first: Mapping[int, float],
    second: Mapping[int, float],
    level: float = 0.95,
    *,
    censored: tuple[int, int] = (0, 0),
) -> Ratio:
    """Ratio of the means of two counts that may be zero for some seeds, such as mistakes.

    The interval is Welch's t for the difference of ln(mean), with the standard errors s/(√n·mean). For counts whose
    deviation is about their mean it covers 94 %; for heavier tails (log-normal with σ = 1) 89 to 95 %.

    Args:
        first: one count per seed, by the label of the seed.
        second: likewise.
        level: of the interval.
        censored: how many runs of both ended before all was counted; their counts can only grow.

    >>> means_ratio({0: 10, 1: 14}, {0: 0, 1: 4}).value, means_ratio({0: 3}, {0: 0}).value
    (6.0, inf)
    """
    a, b = by_seed(first), by_seed(second)
    if min(a.min(), b.min()) < 0:
        raise InvalidParameter("counts cannot be negative")
    bound, seeds = _bound(censored), (a.size, b.size)
    top, bottom = float(a.mean()), float(b.mean())
    if top == 0 or bottom == 0:
        value = math.nan if top == bottom else math.inf if bottom == 0 else 0.0
        return Ratio(value, None, None, bound, seeds, censored)
    if bound == "not decided":
        return Ratio(top / bottom, None, None, bound, seeds, censored)
    half = welch([standard_error(a) / top, standard_error(b) / bottom], seeds, level)
    low, high = _limits(math.log(top / bottom), half, bound)
    return Ratio(top / bottom, low, high, bound, seeds, censored)


def bound_text(limit: float, bound: str, digits: int) -> str:
    """A limit for people, rounded to the safe side.

    >>> bound_text(6.29, "at least", 1), bound_text(6.21, "at most", 1)
    ('at least 6.2', 'at most 6.3')
    """
    scaled = round(limit * 10**digits, 6)  # 0.3 * 10 is a little more than 3
    safe = math.floor(scaled) if bound == "at least" else math.ceil(scaled)
    return f"{bound} {safe / 10**digits:.{digits}f}"


def ratio_columns(found: Ratio | None, name: str = "ratio") -> dict[str, Any]:
    """A ratio as columns of a table: ``ratio``, ``ratio_low``, ``ratio_high``, ``ratio_bound``; None without one.

    >>> ratio_columns(Ratio(math.nan, None, None, "not decided", (5, 5), (3, 1)))
    {'ratio': None, 'ratio_low': None, 'ratio_high': None, 'ratio_bound': 'not decided'}
    """
    keys = (name, f"{name}_low", f"{name}_high", f"{name}_bound")
    if found is None:
        return dict.fromkeys(keys)
    value = found.value if math.isfinite(found.value) else None
    return dict(zip(keys, (value, found.low, found.high, found.bound), strict=True))


def _bound(censored: tuple[int, int]) -> Bound:
    first, second = (count > 0 for count in censored)
    return "not decided" if first and second else "at least" if first else "at most" if second else ""


def _limits(value: float, half: float | None, bound: Bound) -> tuple[float | None, float | None]:
    """Limits of a logarithm as factors; a bound has one of them."""
    if half is None:
        return None, None
    return (
        None if bound == "at most" else math.exp(value - half),
        None if bound == "at least" else math.exp(value + half),
    )


def permutation_test(slow: Times, fast: Times) -> float | None:
    """The exact two-sided permutation test of equal logarithms of times; runs that did not arrive count their budget.

    All ways to divide the runs into two sides are counted, so it is exact for any distribution of the times; with runs
    that are cut at one budget it is valid too. None for a single seed, or above 2 · 12 seeds.

    >>> permutation_test(Times((0, 1, 2), (4, 5, 6), (True,) * 3), Times((0, 1, 2), (1, 2, 3), (True,) * 3))
    0.1
    """
    x, y = np.log(slow.times), np.log(fast.times)
    n, both = x.size, np.concatenate([x, y])
    if min(n, y.size) < 2 or both.size > 24:
        return None
    half = both.size // 2
    left, right = (_subset_sums(part) for part in (both[:half], both[half:]))
    counts = left[0][:, None] + right[0][None]
    sums = (left[1][:, None] + right[1][None])[counts == n]
    middle = n * both.mean()
    away = abs(float(x.sum()) - middle)
    return float((np.abs(sums - middle) >= away - 1e-9).mean())


def _subset_sums(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How many numbers every subset has, and their sum."""
    bits = (np.arange(2**values.size)[:, None] >> np.arange(values.size)) & 1
    return bits.sum(axis=1).astype(np.float64), bits @ values
