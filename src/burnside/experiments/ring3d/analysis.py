"""Final returns beside the paper's, what a policy that learned nothing gets, and the learning curves of Fig. 4b."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import FloatArray, IntArray
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.optimal import expected_optimal_return
from burnside.errors import UnknownName
from burnside.experiments.arms import read_arms
from burnside.experiments.ring3d.config import ALGORITHMS, PAPER, Setting
from burnside.experiments.ring3d.walks import constant_play, random_play
from burnside.runs import Results
from burnside.stats import Times, mean_interval, times_ratio
from burnside.stats.censored import first_reach
from burnside.stats.intervals import mean_band
from burnside.stats.ratios import ratio_columns

__all__ = ["COLUMNS", "Curve", "circling", "curves", "final", "references", "settings", "table", "times"]

#: Readings of "final reward": the last policy played greedily, sampled; mean of the last five greedy evaluations; the
#: last hundred training episodes.
SCORES = ("greedy", "sampled", "late", "train")
_BOARDS = 8_000  # of the policies that learn nothing
#: Columns of the table; every row has all of them, None where one does not apply.
COLUMNS = (
    *("algorithm", "arm", "encoder", "variant", "seeds", "episodes", "updates"),
    *("greedy_mean", "greedy_se", "greedy_low", "greedy_high"),
    *("sampled_mean", "sampled_se", "sampled_low", "sampled_high"),
    *("late_mean", "late_se", "train_mean", "train_se"),
    *("solved", "cells", "mines", "paper_mean", "paper_se"),
    *("until", "until_censored", "ratio", "ratio_low", "ratio_high", "ratio_bound"),
)
#: What counts as learned: the mean of the last hundred training returns, as a share of the way from random play to the
#: optimum. The atlas study's threshold, taken over when the runs with ``smallest`` had been made.
LEARNED = 0.8
#: What is added to the name of a change where the goal's frame is a feature of the baseline.
FEATURE = ", feature"


def settings(results: Results) -> list[tuple[Setting, int]]:
    """The rows of the table with their budgets in episodes: DQN first, the paper's encoder first, short runs first."""
    found = {(_setting(row), int(row["episodes"])) for row in results.rows}

    def place(each: tuple[Setting, int]) -> tuple[Any, ...]:
        setting, episodes = each
        return ALGORITHMS.index(setting.algorithm), setting.variant, setting.encoder != "pool", episodes, setting.arm

    return sorted(found, key=place)


def _setting(row: Mapping[str, Any]) -> Setting:
    return Setting(str(row["algorithm"]), str(row["arm"]), str(row["encoder"]), row.get("variant") or "")


def _rows(results: Results, setting: Setting, episodes: int | None = None) -> list[dict[str, Any]]:
    rows = [row for row in results.rows if _setting(row) == setting]
    budget = min((int(row["episodes"]) for row in rows), default=0) if episodes is None else episodes
    return [row for row in rows if int(row["episodes"]) == budget]


def final(results: Results, setting: Setting, score: str = "greedy", episodes: int | None = None) -> dict[int, float]:
    """The final return of every seed, by one of the readings ``SCORES``.

    Runs with different budgets are never mixed: ``episodes`` says which, by default the shortest.
    """
    if score not in SCORES:
        raise UnknownName("final return", score, SCORES)
    return {int(row["seed"]): float(row[f"{score}_return"]) for row in _rows(results, setting, episodes)}


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per setting and budget beside the paper's number, then the policies that learned nothing.

    The keys are ``COLUMNS``.

    ``…_mean``, ``…_se``, ``…_low`` and ``…_high`` are over seeds (Student's 95 %). ``solved``, ``cells`` and ``mines``
    describe greedy play: share of boards on which the goal was entered, different cells entered per episode, mines per
    step.

    ``until`` is the geometric mean over seeds of the episodes until the training return has come :data:`LEARNED` of
    the way from random play to the optimum, the ``until_censored`` seeds that never do at their budget; ``ratio_…``
    says how many times as many that is as the canonical agent with the same settings takes.
    """
    results = read_arms(folder, allow_missing=allow_missing)
    reached = times(results)
    out = [_summary(results, setting, episodes) | _until(reached, setting, episodes) for setting, episodes in reached]
    sizes = sorted({int(row["n"]) for row in results.rows})
    return out + [row for n in sizes for row in references(n)]


def times(results: Results) -> dict[tuple[Setting, int], Times]:
    """Episodes until a setting has learned, by setting and budget, in the order of the table."""
    columns, rows = results.table("episodes"), results.rows
    sizes = {int(row["n"]) for row in rows}
    threshold = {n: _learned(n) for n in sizes}
    found = {}
    for setting, budget in settings(results):
        mine = _rows(results, setting, budget)
        reaches = {}
        for row in mine:
            own = (columns["cell"] == row["cell"]) & (columns["seed"] == row["seed"])
            reaches[int(row["seed"])] = first_reach(columns["returns"][own], threshold[int(row["n"])])
        found[setting, budget] = Times.of(reaches)
    return found


def _learned(n: int) -> float:
    rows = {row["algorithm"]: row for row in references(n)}
    low, high = rows["uniform random"]["sampled_mean"], rows["optimum"]["greedy_mean"]
    return float(low + LEARNED * (high - low))


def _until(reached: Mapping[tuple[Setting, int], Times], setting: Setting, episodes: int) -> dict[str, Any]:
    own = reached[setting, episodes]
    columns = {"until": float(np.exp(np.mean(np.log(own.times)))), "until_censored": own.censored}
    ours = replace(setting, arm="canonical", variant=setting.variant.removesuffix(FEATURE))
    if setting == ours or (ours, episodes) not in reached:
        return columns
    return columns | ratio_columns(times_ratio(own, reached[ours, episodes]))


def _summary(results: Results, setting: Setting, episodes: int) -> dict[str, Any]:
    rows = _rows(results, setting, episodes)
    row = _row(
        algorithm=setting.algorithm,
        arm=setting.arm,
        encoder=setting.encoder,
        variant=setting.variant,
        seeds=len(rows),
        episodes=episodes,
        updates=float(np.mean([r["total_updates"] for r in rows])),
    )
    for score in SCORES:
        values = final(results, setting, score, episodes)
        interval = mean_interval(values)
        spread = float(np.std(list(values.values()), ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
        row |= {f"{score}_mean": interval.value, f"{score}_se": spread}
        if score in ("greedy", "sampled"):
            row |= {f"{score}_low": interval.low, f"{score}_high": interval.high}
    for key in ("solved", "cells", "mines"):
        row[key] = float(np.mean([r[f"greedy_{key}"] for r in rows]))
    as_paper = setting.encoder == "pool" and not setting.variant
    paper = PAPER.get(setting.arm, (None, None)) if as_paper else (None, None)
    return row | {"paper_mean": paper[0], "paper_se": paper[1]}


def references(n: int = 5) -> list[dict[str, Any]]:
    """Policies that learn nothing, on the same held-out boards, and the optimum: what the table is to be read against.

    >>> [row["algorithm"] for row in references()]
    ['uniform random', 'one move for ever', 'optimum']
    """
    return [dict(row) for row in _references(n)]


@lru_cache(maxsize=4)
def _references(n: int) -> tuple[dict[str, Any], ...]:
    spec = RingSpec(n, d=3)
    last = spec.n_actions - 1
    found = {
        "uniform random": random_play(spec, _BOARDS),
        "one move for ever": constant_play(spec, (last,), _BOARDS),
    }
    rows: list[dict[str, Any]] = []
    for name, (episodes, walk) in found.items():
        summary = walk.summary(episodes)
        score = "sampled_mean" if name == "uniform random" else "greedy_mean"
        # over boards, not seeds: these policies have none
        error = float(episodes.returns.std(ddof=1) / math.sqrt(_BOARDS))
        kept = {key: summary[key] for key in ("solved", "cells", "mines")}
        rows.append(_row(algorithm=name, **{score: summary["return"], score.replace("mean", "se"): error}, **kept))
    best = expected_optimal_return(spec, boards=1_000).value
    return (*rows, _row(algorithm="optimum", greedy_mean=best, solved=1.0))


def _row(**known: Any) -> dict[str, Any]:
    return dict.fromkeys(COLUMNS) | known


def circling(cells: int, n: int = 5, p_mine: float = 0.7, end_reward: float = 20.0, limit: int = 100) -> float:
    """Expected return of a policy that ignores the board and runs in a circle of ``cells`` cells, including the start.

    The goal is on the circle with probability ``cells / n³``, and then entered at a step uniform in 1 … cells;
    otherwise every step costs p, to the time limit.

    >>> [round(circling(c), 2) for c in (2, 3, 4, 5)]
    [-68.57, -67.86, -67.15, -66.46]
    """
    hit = cells / n**3
    return hit * (end_reward - p_mine * (cells - 1) / 2) - (1 - hit) * p_mine * limit


@dataclass(frozen=True)
class Curve:
    """A learning curve of Fig. 4b.

    Attributes:
        setting: whose.
        budget: episodes of the runs.
        seeds: how many.
        episode: where the points are.
        mean, low, high: of the training return over seeds, Student's 95 % (NaN for a single seed).
    """

    setting: Setting
    budget: int
    seeds: int
    episode: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def curves(results: Results, *, window: int = 100, points: int = 200) -> list[Curve]:
    """Moving averages of the training return by setting and budget; the first points average fewer episodes."""
    columns = results.table("episodes")
    cells: dict[tuple[Setting, int], set[str]] = {}
    for row in results.rows:
        cells.setdefault((_setting(row), int(row["episodes"])), set()).add(row["cell"])
    out = []
    for setting, budget in settings(results):
        mine = np.isin(columns["cell"], sorted(cells[setting, budget]))
        runs = [columns["returns"][mine & (columns["seed"] == s)] for s in np.unique(columns["seed"][mine])]
        length = min(len(run) for run in runs)
        at = np.unique(np.linspace(1, length, min(points, length)).astype(np.int64))
        means = np.stack([_moving(run[:length].astype(np.float64), window)[at - 1] for run in runs])
        out.append(Curve(setting, budget, len(runs), at, *mean_band(means)))
    return out


def _moving(values: FloatArray, window: int) -> FloatArray:
    sums = np.cumsum(np.concatenate([[0.0], values]))
    last = np.arange(1, len(values) + 1)
    first = np.maximum(0, last - window)
    return np.asarray((sums[last] - sums[first]) / (last - first))
