"""Times to a threshold, right-censored: a run that never reached it is known to need longer than its budget.

Reported are the solved fraction (Wilson), the restricted mean, and the Kaplan–Meier median; a plain mean ± SE, as the
paper reports it, only when every run reached the threshold. Never a mean over those that did.

Only a *time to the threshold* belongs here. What a run used up when its budget ended, such as environment steps
after the last episode, is observed and not censored: its mean is a plain one (:func:`burnside.stats.mean_interval`).
As a restricted mean it would be cut at the run that used least.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr

from burnside._types import ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.stats.intervals import Interval, check_level, students, wilson

__all__ = ["Curve", "Estimate", "Median", "Reach", "Times", "first_reach", "first_reach_evaluated"]


class Reach(NamedTuple):
    """When a threshold was reached; if it was not, ``time`` is how long the run lasted."""

    time: int
    solved: bool


class Estimate(NamedTuple):
    """A mean with its standard error (None for a single seed) and Student's interval (None without a spread)."""

    value: float
    se: float | None
    low: float | None = None
    high: float | None = None


class Median(NamedTuple):
    """A median between two of the times; ``coverage`` is the exact one of that interval, at least the level asked for.

    ``value`` is NaN where fewer than half of the runs solved. A limit is None where the runs cannot give it: the upper
    one if too few of them solved, both (and the coverage) if there are too few runs for the level.
    """

    value: float
    low: float | None
    high: float | None
    coverage: float | None


class Curve(NamedTuple):
    """A Kaplan–Meier curve: the share of runs not solved after ``times``, with a band, and the runs at risk."""

    times: FloatArray
    survival: FloatArray
    low: FloatArray
    high: FloatArray
    at_risk: IntArray


def first_reach(returns: ArrayLike, threshold: float, window: int = 100) -> Reach:
    """First episode (counted from 1) at which the mean return of the last ``window`` episodes reaches ``threshold``.

    The window must be full, so that the earliest answer is ``window``.

    >>> first_reach([0, 0, 1, 1, 1], 1.0, window=3)
    Reach(time=5, solved=True)
    >>> first_reach([0, 0, 1, 1, 0], 1.0, window=3)
    Reach(time=5, solved=False)
    """
    values = np.asarray(returns, dtype=np.float64)
    if values.ndim != 1 or values.size == 0 or not np.isfinite(values).all():
        raise InvalidParameter(f"returns must be finite numbers, one per episode of one run, not shape {values.shape}")
    if window < 1:
        raise InvalidParameter(f"the window must be at least one episode, not {window}")
    if values.size >= window:
        # Not a running sum: its rounding would depend on everything before the window.
        means = np.lib.stride_tricks.sliding_window_view(values, window).mean(axis=1)
        hits = np.flatnonzero(means >= threshold)
        if hits.size:
            return Reach(int(hits[0]) + window, True)
    return Reach(values.size, False)


def first_reach_evaluated(
    episodes: ArrayLike, scores: ArrayLike, threshold: float, *, budget: int | None = None, patience: int = 1
) -> Reach:
    """First evaluation whose score reaches ``threshold``, and those after it too if ``patience`` exceeds 1.

    Args:
        episodes: after which episodes the policy was evaluated, increasing.
        scores: of the evaluations, such as greedy returns.
        threshold: to reach.
        budget: how long the run lasted; default: its last evaluation.
        patience: how many evaluations in a row must reach it; the time is that of the first of them.

    >>> first_reach_evaluated([100, 200, 300], [0.2, 0.9, 0.95], 0.9)
    Reach(time=200, solved=True)
    >>> first_reach_evaluated([100, 200, 300], [0.95, 0.8, 0.95], 0.9, patience=2, budget=350)
    Reach(time=350, solved=False)
    """
    when, values = np.asarray(episodes, dtype=np.int64), np.asarray(scores, dtype=np.float64)
    if when.ndim != 1 or when.shape != values.shape or not when.size or (np.diff(when) <= 0).any():
        raise InvalidParameter("evaluations need one score each, after increasing numbers of episodes")
    if patience < 1 or not np.isfinite(values).all():
        raise InvalidParameter("evaluations need finite scores and a patience of at least 1")
    good = values >= threshold
    for k in range(good.size - patience + 1):
        if good[k : k + patience].all():
            return Reach(int(when[k]), True)
    return Reach(int(when[-1] if budget is None else budget), False)


@dataclass(frozen=True)
class Times:
    """Times of several seeds, some of them censored; every seed is there once.

    Attributes:
        seeds: labels.
        times: when the threshold was reached, or how long the run lasted.
        solved: whether it was reached.

    >>> runs = Times((7, 3, 5), (200, 500, 1000), (True, True, False))
    >>> runs.mean(), runs.restricted_mean().value, runs.median().value
    (None, 566.6666666666667, 500.0)
    """

    seeds: tuple[int, ...]
    times: FloatArray
    solved: Any

    def __post_init__(self) -> None:
        seeds = tuple(int(s) for s in self.seeds)
        times, solved = np.asarray(self.times, dtype=np.float64), np.asarray(self.solved, dtype=np.bool_)
        if not seeds or times.shape != (len(seeds),) or solved.shape != times.shape:
            raise InvalidParameter(f"{len(seeds)} seeds need as many times and solved flags, not {times.shape}")
        if len(set(seeds)) != len(seeds):
            raise InvalidParameter("a seed appears twice: a run gives one time, so do not pass episodes as runs")
        if not (np.isfinite(times).all() and (times > 0).all()):
            raise InvalidParameter("times must be positive and finite; a run that never solved has its budget as time")
        for name, value in (("seeds", seeds), ("times", times), ("solved", solved)):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, runs: Mapping[int, Reach]) -> Times:
        """From one :class:`Reach` per seed.

        >>> Times.of({7: Reach(200, True), 3: Reach(900, False)}).seeds
        (7, 3)
        """
        return cls(tuple(runs), np.array([r.time for r in runs.values()]), np.array([r.solved for r in runs.values()]))

    def until(self, budget: float) -> Times:
        """The same runs, stopped at a smaller budget: what comes later is censored there.

        >>> Times((0, 1), (200, 900), (True, True)).until(500).restricted_mean().value
        350.0
        """
        return Times(self.seeds, np.minimum(self.times, budget), self.solved & (self.times <= budget))

    @property
    def single_seed(self) -> bool:
        """Whether there is one seed only, which every output must say."""
        return len(self.seeds) == 1

    @property
    def censored(self) -> int:
        """How many runs did not reach the threshold."""
        return int((~self.solved).sum())

    @property
    def horizon(self) -> float | None:
        """Up to where nothing is hidden: the budget of the censored runs, else the largest time.

        None if the censored runs had different budgets: then every τ is a choice, and the smallest is a bad one.
        """
        budgets = np.unique(self.times[~self.solved])
        if budgets.size > 1:
            return None
        return float(budgets[0] if budgets.size else self.times.max())

    def solved_fraction(self, level: float = 0.95) -> Interval:
        """Share of solved runs, with Wilson's interval."""
        return wilson(int(self.solved.sum()), len(self.seeds), level)

    def mean(self, level: float = 0.95) -> Estimate | None:
        """Mean and standard error as the paper reports them, with Student's interval; None if a run is censored."""
        if self.censored:
            return None
        n = len(self.seeds)
        return _estimate(float(self.times.mean()), self.times.std(ddof=1) / np.sqrt(n) if n > 1 else None, n, level)

    def kaplan_meier(self, level: float = 0.95) -> Curve:
        """The curve at the times where runs were solved; the band is Greenwood's on the log(−log) scale."""
        z = NormalDist().inv_cdf(0.5 + check_level(level) / 2)
        when = np.unique(self.times[self.solved])
        at_risk = (self.times[None, :] >= when[:, None]).sum(axis=1)
        events = ((self.times[None, :] == when[:, None]) & self.solved[None, :]).sum(axis=1)
        survival = np.cumprod(1 - events / at_risk)
        with np.errstate(divide="ignore", invalid="ignore"):
            greenwood = np.cumsum(events / (at_risk * (at_risk - events)))
            theta = z * np.sqrt(greenwood) / np.log(survival)
            low, high = survival ** np.exp(-theta), survival ** np.exp(theta)
        inside = (survival > 0) & (survival < 1)
        low, high = np.where(inside, low, survival), np.where(inside, high, 1.0)
        if when.size > 1 and survival[-1] <= 0:
            high[-1] = high[-2]  # all runs at risk were solved: its error is not known, the upper band stays
        return Curve(when, survival, low, high, at_risk.astype(np.int64))

    def median(self, level: float = 0.95) -> Median:
        """Kaplan–Meier median, with the exact interval between two order statistics.

        The true median lies below the r-th smallest of n times with the probability that fewer than r of n fair coins
        show heads, whatever the times are distributed like. So the limits are the r-th smallest and the r-th largest
        time, with the largest r that ``level`` allows; below six runs no r does at 95 %. A censored run counts as no
        shorter than its budget: it may be the lower limit, but not the upper one.

        On a flat piece at exactly one half the median is the middle of that piece, which without censoring is the
        ordinary median.

        >>> Times(tuple(range(6)), (1, 2, 3, 4, 5, 6), (True,) * 6).median()
        Median(value=3.5, low=1.0, high=6.0, coverage=0.96875)
        """
        curve = self.kaplan_meier(level)
        value = _crossing(curve.times, curve.survival)
        n = len(self.seeds)
        missed = 2 * bdtr(np.arange(n // 2), n, 0.5)  # by the limits of r = 1, 2, …
        rank = int((missed <= 1 - check_level(level) + 1e-12).sum())
        point = float("nan") if value is None else value
        if rank == 0:
            return Median(point, None, None, None)
        solved = np.sort(self.times[self.solved])
        low = float(np.sort(self.times)[rank - 1])
        high = float(solved[n - rank]) if solved.size > n - rank else None
        return Median(point, low, high, float(1 - missed[rank - 1]))

    def restricted_mean(self, tau: float | None = None, level: float = 0.95) -> Estimate:
        """Mean of min(time, τ): the area under the Kaplan–Meier curve up to τ, by default the horizon.

        The standard error is Greenwood's with the factor n/(n − 1), so that without censoring before τ it is that of
        the plain mean of min(time, τ); the interval is Student's, and ends at τ where runs are censored.

        >>> Times((0, 1), (10, 20), (True, True)).restricted_mean()
        Estimate(value=15.0, se=5.0, low=-48.53..., high=78.53...)
        """
        chosen = self.horizon if tau is None else float(tau)
        if chosen is None:
            ends = self.times[~self.solved]
            raise InvalidParameter(
                f"the runs that did not solve ended at different times, from {ends.min():g} to {ends.max():g}: give τ, "
                f"or take a plain mean if what you want is what the runs used"
            )
        tau = chosen
        if not 0 < tau <= self.times.max():
            raise InvalidParameter(f"τ must be positive and at most the longest run, {self.times.max():g}, not {tau:g}")
        curve = self.kaplan_meier()
        keep = curve.times < tau
        edges = np.concatenate([[0.0], curve.times[keep], [tau]])
        heights = np.concatenate([[1.0], curve.survival[keep]])
        areas = np.diff(edges) * heights
        n = len(self.seeds)
        if n == 1:
            return _estimate(float(areas.sum()), None, n, level)
        after = np.cumsum(areas[::-1])[::-1][1:]  # area beyond every event before τ
        at_risk = curve.at_risk[keep]
        before = np.concatenate([[1.0], curve.survival[keep][:-1]]) if keep.any() else np.empty(0)
        events = at_risk * (1 - curve.survival[keep] / before)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(at_risk - events > 1e-9, after**2 * events / (at_risk * (at_risk - events)), 0.0)
        found = _estimate(float(areas.sum()), float(np.sqrt(terms.sum() * n / (n - 1))), n, level)
        return found if found.high is None or not self.censored else found._replace(high=min(found.high, tau))

    def summary(self, budget: int | None = None) -> dict[str, Any]:
        """The columns of a table of times, in plain values; None where a number would not be honest."""
        plain, middle, rate = self.mean(), self.median(), self.solved_fraction()
        horizon = self.horizon
        restricted = None if horizon is None else self.restricted_mean(horizon)
        return {
            "seeds": len(self.seeds),
            "solved": rate.value,
            "solved_low": rate.low,
            "solved_high": rate.high,
            "mean": plain.value if plain else None,
            "se": plain.se if plain else None,
            "mean_low": plain.low if plain else None,
            "mean_high": plain.high if plain else None,
            "restricted_mean": restricted.value if restricted else None,
            "restricted_se": restricted.se if restricted else None,
            "restricted_low": restricted.low if restricted else None,
            "restricted_high": restricted.high if restricted else None,
            "median": None if np.isnan(middle.value) else middle.value,
            "median_low": middle.low,
            "median_high": middle.high,
            "censored": self.censored,
            "budget": int(self.times.max()) if budget is None else budget,
            "single_seed": self.single_seed,
        }


def _estimate(value: float, se: float | None, n: int, level: float) -> Estimate:
    if se is None or not se > 1e-9 * abs(value):  # no spread beyond rounding
        return Estimate(value, None if se is None else float(se))
    half = students(level, n - 1) * float(se)
    return Estimate(value, float(se), value - half, value + half)


def _crossing(times: FloatArray, survival: FloatArray) -> float | None:
    """First time with survival at most one half; on a flat piece at one half, its middle."""
    hits = np.flatnonzero(survival <= 0.5 + 1e-12)
    if not hits.size:
        return None
    k = int(hits[0])
    if abs(survival[k] - 0.5) < 1e-12 and k + 1 < times.size:
        return float((times[k] + times[k + 1]) / 2)
    return float(times[k])
