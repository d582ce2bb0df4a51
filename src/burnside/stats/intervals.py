"""Intervals with an explicit seed, and scores of several tasks in rliable's format.

Scores have names, never positions: seeds are labels, and a seed gives one score per task. Episodes of one run are no
runs; passed as such they would make every interval far too narrow, so they are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from burnside._types import ArrayLike, FloatArray
from burnside.errors import InvalidParameter

__all__ = [
    "Interval",
    "Scores",
    "bootstrap",
    "iqm",
    "optimality_gap",
    "point_estimates",
    "rliable_export",
    "score_table",
    "stratified_bootstrap",
    "wilson",
]


class Interval(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None where there is none (a single seed)."""

    value: float
    low: float | None
    high: float | None

    @property
    def single_seed(self) -> bool:
        """Whether it rests on one seed, which every output must say."""
        return self.low is None


def check_level(level: float) -> float:
    """``level`` if it lies strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InvalidParameter(f"the level of an interval must lie strictly between 0 and 1, not {level!r}")
    return level


def wilson(k: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's interval of a rate of k out of n; unlike p ± z·SE it never leaves [0, 1].

    >>> [round(x, 4) for x in wilson(9, 10)]
    [0.9, 0.5958, 0.9821]
    >>> [round(x, 4) for x in wilson(10, 10)]
    [1.0, 0.7225, 1.0]
    """
    if n < 1 or not 0 <= k <= n:
        raise InvalidParameter(f"a rate needs 0 ≤ k ≤ n and n ≥ 1, not {k} of {n}")
    z = NormalDist().inv_cdf(0.5 + check_level(level) / 2)
    p = k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low = 0.0 if k == 0 else max(0.0, float(centre - half))
    high = 1.0 if k == n else min(1.0, float(centre + half))
    return Interval(p, low, high)


def iqm(values: ArrayLike) -> float:
    """Interquartile mean: the mean without the lowest and the highest quarter (whole values only, as in rliable).

    >>> iqm([0, 1, 2, 3, 4, 5, 6, 700])
    3.5
    """
    flat = np.sort(_finite(values).ravel())
    cut = flat.size // 4
    return float(flat[cut : flat.size - cut].mean())


def optimality_gap(values: ArrayLike, gamma: float = 1.0) -> float:
    """How far the scores stay below ``gamma`` on average, those above it counted as ``gamma``.

    >>> optimality_gap([0.5, 2.0])
    0.25
    """
    return float(gamma - np.minimum(_finite(values), gamma).mean())


def bootstrap(
    values: Mapping[int, float],
    statistic: Callable[[FloatArray], FloatArray] | None = None,
    *,
    seed: int = 0,
    draws: int = 10_000,
    level: float = 0.95,
) -> Interval:
    """Percentile bootstrap over seeds; the same arguments give the same interval.

    Of few seeds it covers the truth less often than ``level`` says, since no resample is wider than the sample: a 95 %
    interval of the mean of normal numbers covers it in 50 % of the cases with 2 seeds, 74 with 3, 83 with 5, 90 with
    10 (``tests/stats/test_intervals.py`` measures it). Say with how many seeds it was made.

    Args:
        values: one number per seed, by the label of the seed.
        statistic: along the last axis; default the mean.
        seed: of the resampling.
        draws: of the resampling.
        level: of the interval.

    >>> bootstrap({7: 1.0, 3: 1.0})
    Interval(value=1.0, low=1.0, high=1.0)
    >>> bootstrap({7: 1.0})
    Interval(value=1.0, low=None, high=None)
    """
    sample = by_seed(values)
    apply = statistic or (lambda x: np.asarray(x.mean(axis=-1)))
    value = float(apply(sample))
    if sample.size == 1:
        return Interval(value, None, None)
    rng = np.random.default_rng(seed)
    found = apply(sample[rng.integers(sample.size, size=(draws, sample.size))])
    low, high = np.quantile(found, [(1 - check_level(level)) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))


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


@dataclass(frozen=True)
class Scores:
    """Scores of several algorithms on several tasks, with names.

    Attributes:
        values: for every algorithm an array (seeds × tasks).
        tasks: names of the columns.
        seeds: for every algorithm the labels of the rows.
    """

    values: dict[str, FloatArray]
    tasks: tuple[str, ...]
    seeds: dict[str, tuple[int, ...]]

    @property
    def single_seed(self) -> bool:
        """Whether some algorithm has one seed only, which every output must say."""
        return any(len(labels) == 1 for labels in self.seeds.values())


def score_table(
    rows: Iterable[Mapping[str, Any]],
    *,
    algorithm: str = "condition",
    task: str = "n",
    score: str = "score",
    seed: str = "seed",
    allow_missing: bool = False,
) -> Scores:
    """Scores from long-form rows; names and labels keep the order in which they appear.

    A second score for the same seed and task is refused (episodes are not runs), and so is a missing one; with
    ``allow_missing`` seeds that lack a task are left out.

    >>> rows = [{"condition": "a", "n": n, "seed": s, "score": 10 * n + s} for n in (5, 10) for s in (7, 3)]
    >>> table = score_table(rows)
    >>> table.tasks, table.seeds, table.values["a"].tolist()
    (('5', '10'), {'a': (7, 3)}, [[57.0, 107.0], [53.0, 103.0]])
    """
    found: dict[str, dict[int, dict[str, float]]] = {}
    tasks: dict[str, None] = {}
    for row in rows:
        try:
            name, where, label, value = str(row[algorithm]), str(row[task]), row[seed], row[score]
        except KeyError as error:
            raise InvalidParameter(f"a row has no column {error.args[0]!r}, only: {', '.join(row)}") from None
        tasks.setdefault(where)
        mine = found.setdefault(name, {}).setdefault(int(label), {})
        if where in mine:
            raise InvalidParameter(
                f"{name} has several scores for seed {label} on {where}: a run gives one, so average its episodes first"
            )
        if value is not None:
            mine[where] = float(value)
    if not found:
        raise InvalidParameter("there are no rows to make scores of")
    missing = [(a, s, t) for a, seeds in found.items() for s, mine in seeds.items() for t in tasks if t not in mine]
    if missing and not allow_missing:
        name, label, where = missing[0]
        raise InvalidParameter(
            f"{len(missing)} scores are missing (first: {name}, seed {label} on {where}): finish the runs, or allow "
            f"missing ones"
        )
    lacking = {(a, s) for a, s, _ in missing}
    kept = {a: {s: mine for s, mine in seeds.items() if (a, s) not in lacking} for a, seeds in found.items()}
    for name, seeds in kept.items():
        if not seeds:
            raise InvalidParameter(f"{name} has no seed with a score on every task")
    values = {a: np.array([[mine[t] for t in tasks] for mine in seeds.values()]) for a, seeds in kept.items()}
    return Scores(values, tuple(tasks), {a: tuple(seeds) for a, seeds in kept.items()})


def rliable_export(scores: Scores) -> dict[str, FloatArray]:
    """What rliable's functions take: a dict from algorithm to an array (runs × tasks)."""
    return {name: array.copy() for name, array in scores.values.items()}


def point_estimates(array: ArrayLike, gamma: float = 1.0) -> dict[str, float]:
    """rliable's aggregate metrics of an array (runs × tasks).

    >>> point_estimates([[0.0, 1.0], [2.0, 3.0]])
    {'iqm': 1.5, 'mean': 1.5, 'median': 1.5, 'optimality_gap': 0.25}
    """
    values = _finite(array)
    if values.ndim != 2:
        raise InvalidParameter(f"scores must be an array (runs × tasks), not of shape {values.shape}")
    per_task = values.mean(axis=0)
    return {
        "iqm": iqm(values),
        "mean": float(per_task.mean()),
        "median": float(np.median(per_task)),
        "optimality_gap": optimality_gap(values, gamma),
    }


def stratified_bootstrap(
    array: ArrayLike,
    statistic: Callable[[FloatArray], float] = iqm,
    *,
    seed: int = 0,
    draws: int = 2_000,
    level: float = 0.95,
) -> Interval:
    """Interval of a statistic of (runs × tasks), the runs resampled within every task, as rliable does it.

    rliable takes a ``random_state`` and then draws from numpy's global generator; here the seed is used.

    >>> stratified_bootstrap([[1.0, 2.0]]).single_seed
    True
    """
    values = _finite(array)
    if values.ndim != 2:
        raise InvalidParameter(f"scores must be an array (runs × tasks), not of shape {values.shape}")
    runs, tasks = values.shape
    if runs == 1:
        return Interval(float(statistic(values)), None, None)
    rng = np.random.default_rng(seed)
    found = [float(statistic(values[rng.integers(runs, size=(runs, tasks)), np.arange(tasks)])) for _ in range(draws)]
    low, high = np.quantile(found, [(1 - check_level(level)) / 2, (1 + level) / 2])
    return Interval(float(statistic(values)), float(low), float(high))


def _finite(values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0 or not np.isfinite(array).all():
        raise InvalidParameter("statistics need at least one value, and all of them finite")
    return array
