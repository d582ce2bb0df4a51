"""Times to a threshold, right-censored: a run that never reached it is known to need longer than its budget.

Reported are the solved fraction (Wilson), the restricted mean, and the Kaplan–Meier median; a plain mean ± SE, as the
paper reports it, only when every run reached the threshold. Never a mean over those that did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from burnside._types import ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.stats.intervals import Interval, check_level, wilson

__all__ = ["Curve", "Estimate", "Ratio", "Reach", "Times", "first_reach", "first_reach_evaluated", "paired_ratio"]


class Reach(NamedTuple):
    """When a threshold was reached; if it was not, ``time`` is how long the run lasted."""

    time: int
    solved: bool


class Estimate(NamedTuple):
    """A value and its standard error; the error of a single seed is None."""

    value: float
    se: float | None


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

    @property
    def single_seed(self) -> bool:
        """Whether there is one seed only, which every output must say."""
        return len(self.seeds) == 1

    @property
    def censored(self) -> int:
        """How many runs did not reach the threshold."""
        return int((~self.solved).sum())

    @property
    def horizon(self) -> float:
        """Up to where nothing is hidden: the smallest budget among the censored runs, else the largest time."""
        return float(self.times[~self.solved].min() if self.censored else self.times.max())

    def solved_fraction(self, level: float = 0.95) -> Interval:
        """Share of solved runs, with Wilson's interval."""
        return wilson(int(self.solved.sum()), len(self.seeds), level)

    def mean(self) -> Estimate | None:
        """Mean and standard error as the paper reports them; None if a run is censored."""
        if self.censored:
            return None
        n = len(self.seeds)
        return Estimate(float(self.times.mean()), None if n == 1 else float(self.times.std(ddof=1) / np.sqrt(n)))

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

    def median(self, level: float = 0.95) -> Interval:
        """Kaplan–Meier median with the interval of Brookmeyer and Crowley; NaN and None where it is not reached.

        On a flat piece at exactly one half it is the middle of that piece, which without censoring is the ordinary
        median. ``value`` is NaN if fewer than half of the runs solved.
        """
        curve = self.kaplan_meier(level)
        value = _crossing(curve.times, curve.survival)
        if self.single_seed:
            return Interval(value if value is not None else float("nan"), None, None)
        low, high = _first(curve.times, curve.low <= 0.5), _first(curve.times, curve.high <= 0.5)
        return Interval(value if value is not None else float("nan"), low, high)

    def restricted_mean(self, tau: float | None = None) -> Estimate:
        """Mean of min(time, τ): the area under the Kaplan–Meier curve up to τ, by default the horizon.

        The standard error is Greenwood's with the factor n/(n − 1), so that without censoring before τ it is that of
        the plain mean of min(time, τ).

        >>> Times((0, 1), (10, 20), (True, True)).restricted_mean()
        Estimate(value=15.0, se=5.0)
        """
        tau = self.horizon if tau is None else float(tau)
        if not 0 < tau <= self.times.max():
            raise InvalidParameter(f"τ must be positive and at most the longest run, {self.times.max():g}, not {tau:g}")
        curve = self.kaplan_meier()
        keep = curve.times < tau
        edges = np.concatenate([[0.0], curve.times[keep], [tau]])
        heights = np.concatenate([[1.0], curve.survival[keep]])
        areas = np.diff(edges) * heights
        n = len(self.seeds)
        if n == 1:
            return Estimate(float(areas.sum()), None)
        after = np.cumsum(areas[::-1])[::-1][1:]  # area beyond every event before τ
        at_risk = curve.at_risk[keep]
        before = np.concatenate([[1.0], curve.survival[keep][:-1]]) if keep.any() else np.empty(0)
        events = at_risk * (1 - curve.survival[keep] / before)
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(at_risk - events > 1e-9, after**2 * events / (at_risk * (at_risk - events)), 0.0)
        return Estimate(float(areas.sum()), float(np.sqrt(terms.sum() * n / (n - 1))))

    def summary(self, budget: int | None = None) -> dict[str, Any]:
        """The columns of a table of times, in plain values; None where a number would not be honest."""
        plain, restricted, middle = self.mean(), self.restricted_mean(), self.median()
        rate = self.solved_fraction()
        return {
            "seeds": len(self.seeds),
            "solved": rate.value,
            "solved_low": rate.low,
            "solved_high": rate.high,
            "mean": plain.value if plain else None,
            "se": plain.se if plain else None,
            "restricted_mean": restricted.value,
            "restricted_se": restricted.se,
            "median": None if np.isnan(middle.value) else middle.value,
            "median_low": middle.low,
            "median_high": middle.high,
            "censored": self.censored,
            "budget": int(self.times.max()) if budget is None else budget,
            "single_seed": self.single_seed,
        }


class Ratio(NamedTuple):
    """Ratio of two restricted means with a paired bootstrap interval of its logarithm.

    Attributes:
        ratio, low, high: the ratio; no interval with a single seed.
        log_ratio: its natural logarithm.
        tau: where the times were restricted.
        seeds: the pairs used.
        censored: unsolved runs of both.
        cut: runs of both whose time is hidden or beyond τ. If only the first has some, the ratio is a lower bound.
    """

    ratio: float
    low: float | None
    high: float | None
    log_ratio: float
    tau: float
    seeds: tuple[int, ...]
    censored: tuple[int, int]
    cut: tuple[int, int] = (0, 0)

    @property
    def single_seed(self) -> bool:
        """Whether it rests on one seed, which every output must say."""
        return len(self.seeds) == 1

    @property
    def lower_bound(self) -> bool:
        """Whether the true ratio can only be larger: of the slower one some times are not known, of the other all."""
        return self.cut[0] > 0 and self.cut[1] == 0


def paired_ratio(
    slow: Times,
    fast: Times,
    *,
    tau: float | None = None,
    seed: int = 0,
    draws: int = 10_000,
    level: float = 0.95,
    allow_missing: bool = False,
) -> Ratio:
    """How many times longer ``slow`` takes than ``fast``, pairing runs by the label of their seed.

    Both are restricted at a common τ, by default where nothing is hidden of either, so that min(time, τ) is known for
    every run; the bootstrap draws pairs.

    >>> a, b = Times((7, 3), (400, 800), (True, True)), Times((3, 7), (200, 100), (True, True))
    >>> paired_ratio(a, b)[:3]
    (4.0, 4.0, 4.0)
    """
    shared = [s for s in slow.seeds if s in fast.seeds]
    if not allow_missing and set(slow.seeds) != set(fast.seeds):
        lone = sorted(set(slow.seeds) ^ set(fast.seeds))
        raise InvalidParameter(f"seeds without a partner: {lone}; finish the runs, or allow missing ones")
    if not shared:
        raise InvalidParameter("the two have no seed in common, so nothing can be paired")
    x, y = _pick(slow, shared), _pick(fast, shared)
    hidden = min([t.horizon for t in (x, y) if t.censored], default=float(max(x.times.max(), y.times.max())))
    tau = hidden if tau is None else float(tau)
    if not 0 < tau <= hidden:
        raise InvalidParameter(f"τ must be positive and at most {hidden:g}, since some runs end there, not {tau:g}")
    a, b = np.minimum(x.times, tau), np.minimum(y.times, tau)
    log_ratio = float(np.log(a.mean() / b.mean()))
    counts = (x.censored, y.censored)
    cut = (_cut(x, tau), _cut(y, tau))
    if len(shared) == 1:
        return Ratio(float(np.exp(log_ratio)), None, None, log_ratio, tau, tuple(shared), counts, cut)
    drawn = np.random.default_rng(seed).integers(len(shared), size=(draws, len(shared)))
    logs = np.log(a[drawn].mean(axis=1) / b[drawn].mean(axis=1))
    low, high = np.exp(np.quantile(logs, [(1 - check_level(level)) / 2, (1 + level) / 2]))
    return Ratio(float(a.mean() / b.mean()), float(low), float(high), log_ratio, tau, tuple(shared), counts, cut)


def _cut(times: Times, tau: float) -> int:
    return int((~times.solved | (times.times > tau)).sum())


def _pick(times: Times, seeds: Sequence[int]) -> Times:
    where = [times.seeds.index(s) for s in seeds]
    return Times(tuple(seeds), times.times[where], times.solved[where])


def _first(times: FloatArray, reached: Any) -> float | None:
    hits = np.flatnonzero(reached)
    return float(times[hits[0]]) if hits.size else None


def _crossing(times: FloatArray, survival: FloatArray) -> float | None:
    """First time with survival at most one half; on a flat piece at one half, its middle."""
    hits = np.flatnonzero(survival <= 0.5 + 1e-12)
    if not hits.size:
        return None
    k = int(hits[0])
    if abs(survival[k] - 0.5) < 1e-12 and k + 1 < times.size:
        return float((times[k] + times[k + 1]) / 2)
    return float(times[k])
