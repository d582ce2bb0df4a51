"""Table 1 and the curves, from the folder of a sweep or its compact form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.errors import UnknownName
from burnside.experiments.arms import read_arms
from burnside.experiments.ring1d.config import PAPER, RULES, VARIANTS
from burnside.runs import Results
from burnside.stats import mean_interval
from burnside.stats.censored import Times
from burnside.stats.intervals import mean_band
from burnside.stats.ratios import Ratio, ratio_columns, times_ratio
from burnside.stats.scaling import Slope, loglog_slope

__all__ = ["PARTS", "by_rule", "growth", "ratios", "returns_by_part", "table", "times"]

#: Into how many equal parts a run is cut to show whether its return still rises, or falls.
PARTS = 10


def times(
    results: Results, n: int, arm: str, rule: str = "train95", *, budget: int | None = None, variant: str = "paper"
) -> Times:
    """Episodes to convergence of one row of the table, some of them censored at the budget.

    Args:
        results: of the sweep.
        n: size of the ring.
        arm: how the symmetry is used.
        rule: when a run counts as converged.
        budget: episodes of the runs; default the smallest there is. Runs with different budgets are never mixed.
        variant: of DQN, see ``config.VARIANTS``.
    """
    if rule not in RULES:
        raise UnknownName("convergence rule", rule, RULES)
    rows = _of(results, n, arm, budget, variant)
    return Times(
        tuple(row["seed"] for row in rows),
        np.array([row[rule] for row in rows], dtype=np.float64),
        np.array([row[f"{rule}_solved"] for row in rows]),
    )


def _variant(row: Mapping[str, Any]) -> str:
    return row.get("variant") or "paper"  # the first runs had none


def _of(results: Results, n: int, arm: str, budget: int | None = None, variant: str = "paper") -> list[dict[str, Any]]:
    rows = [row for row in results.rows if row["n"] == n and row["arm"] == arm and _variant(row) == variant]
    chosen = min((int(row["episodes"]) for row in rows), default=0) if budget is None else budget
    return [row for row in rows if int(row["episodes"]) == chosen]


def _settings(results: Results) -> list[tuple[int, str, int, str]]:
    """N, arm, budget and variant of the rows of the table."""
    found = {(int(row["n"]), str(row["arm"]), int(row["episodes"]), _variant(row)) for row in results.rows}
    return sorted(found, key=lambda each: (*each[:3], list(VARIANTS).index(each[3])))


def _smallest(results: Results) -> dict[tuple[int, str], int]:
    """The smallest budget of every N and arm."""
    return {(n, arm): budget for n, arm, budget, variant in reversed(_settings(results)) if variant == "paper"}


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per (N, arm, budget, variant): ours with its censoring beside the paper's mean and standard error.

    ``steps_…`` is the mean over seeds of the environment steps a run took until it converged, or until its episodes
    were over. Those are steps that were taken, not censored times: where runs are censored, the mean is a lower bound
    of the steps to convergence. ``ratio_…`` of an arm says how many times as many episodes the baseline takes within
    the same budget; ``ratio_bound`` says where that is a bound. ``feature_ratio_…`` of the canonical agent says the
    same of the feature alone, its control.

    ``returns`` is the mean training return in each tenth of the budget, and ``late_change`` that of the last tenth
    minus that of the fifth, seed by seed: below zero the run gets worse with training.
    """
    results = read_arms(folder, allow_missing=allow_missing)
    compared, returns = _ratios(results, "train95"), returns_by_part(results)
    rows = _table(results, "train95")
    for row in rows:
        key = (row["n"], row["arm"], row["budget"], row["variant"])
        row |= ratio_columns(compared.get(key))
        row |= _return_columns(returns.get(key))
        row |= ratio_columns(_feature(results, *key), "feature_ratio")
    return rows


def _feature(results: Results, n: int, arm: str, budget: int, variant: str) -> Ratio | None:
    """Of the canonical agent: how many times as many episodes the feature alone takes."""
    if arm != "canonical" or not _of(results, n, "feature", budget, variant):
        return None
    feature, ours = (times(results, n, who, budget=budget, variant=variant) for who in ("feature", arm))
    return times_ratio(feature, ours)


def by_rule(folder: Path, allow_missing: bool = False) -> dict[str, list[dict[str, Any]]]:
    """The times of the table under every reading of 'converged'."""
    results = read_arms(folder, allow_missing=allow_missing)
    return {rule: _table(results, rule) for rule in RULES}


def _table(results: Results, rule: str) -> list[dict[str, Any]]:
    rows = []
    for n, arm, budget, variant in _settings(results):
        runs = _of(results, n, arm, budget, variant)
        steps = mean_interval({row["seed"]: float(row[f"{rule}_steps"]) for row in runs})
        spread = float(np.std([row[f"{rule}_steps"] for row in runs], ddof=1)) if len(runs) > 1 else None
        paper = PAPER.get((n, arm), (None, None)) if variant == "paper" else (None, None)
        rows.append(
            {
                "n": n,
                "arm": arm,
                "variant": variant,
                **times(results, n, arm, rule, budget=budget, variant=variant).summary(budget),
                "steps_mean": steps.value,
                "steps_se": None if spread is None else spread / len(runs) ** 0.5,
                "steps_low": steps.low,
                "steps_high": steps.high,
                "paper_mean": paper[0],
                "paper_se": paper[1],
            }
        )
    return rows


def _return_columns(parts: FloatArray | None) -> dict[str, Any]:
    keys = ("returns", "returns_low", "returns_high", "late_change", "late_change_low", "late_change_high")
    if parts is None:
        return dict.fromkeys(keys)
    band = mean_band(parts)
    change = mean_interval(dict(enumerate(parts[:, -1] - parts[:, PARTS // 2 - 1])))
    curves = [[None if np.isnan(v) else float(v) for v in curve] for curve in band]
    return dict(zip(keys, (*curves, change.value, change.low, change.high), strict=True))


def returns_by_part(results: Results) -> dict[tuple[int, str, int, str], FloatArray]:
    """Mean training return of every run in each of ten equal parts of its budget, as (seeds × parts).

    By N, arm, budget and variant; runs shorter than ten episodes are left out.
    """
    variants = {row["cell"]: _variant(row) for row in results.rows}
    runs: dict[tuple[int, str, int, str], list[FloatArray]] = {}
    for name in ("episodes", "curve"):  # every episode of short runs, means of a hundred of long ones
        if name not in results.tables:
            continue
        columns = results.table(name)
        cells, seeds = columns["cell"], columns["seed"]
        starts = np.flatnonzero(np.r_[True, (cells[1:] != cells[:-1]) | (seeds[1:] != seeds[:-1])])
        for start, end in zip(starts, [*starts[1:], len(seeds)], strict=True):
            key = tuple(columns[column][start] for column in ("n", "arm", "episodes"))
            returns = columns["returns"][start:end].astype(np.float64)
            if returns.size >= PARTS:
                setting = (int(key[0]), str(key[1]), int(key[2]), variants[str(cells[start])])
                runs.setdefault(setting, []).append(np.array([part.mean() for part in np.array_split(returns, PARTS)]))
    return {key: np.array(runs[key]) for key in _settings(results) if key in runs}


def ratios(results: Results, rule: str = "train95", arm: str = "canonical") -> dict[int, Ratio]:
    """Baseline over another arm for every N that has both: geometric means of episodes, Welch's t on logarithms.

    Of several budgets the smallest of the arm; the table has the others.
    Pairing by seed would gain nothing: in the committed study the logarithms of both arms correlate by −0.4 to
    0.4 over seeds (sizes that all of them solved), 0.0 on average.
    """
    found: dict[int, Ratio] = {}
    for (n, which, _, variant), ratio in _ratios(results, rule).items():
        if (which, variant) == (arm, "paper"):
            found.setdefault(n, ratio)
    return found


def _ratios(results: Results, rule: str) -> dict[tuple[int, str, int, str], Ratio]:
    """By N, arm, budget and variant, the budgets of an arm increasing.

    The baseline is the one with the same budget, or else with the next larger one, censored where the arm's budget
    ends: nothing in a run depends on its budget, so that a shorter run by the same version on the same machine would
    have been the beginning of it. (Others round differently, so that equal seeds give other curves.)
    """
    settings = _settings(results)
    found: dict[tuple[int, str, int, str], Ratio] = {}
    for n, arm, budget, variant in settings:
        longer = [b for m, a, b, v in settings if (m, a, v) == (n, "baseline", variant) and b >= budget]
        if arm == "baseline" or not longer:
            continue
        base = times(results, n, "baseline", rule, budget=min(longer), variant=variant).until(budget)
        found[n, arm, budget, variant] = times_ratio(base, times(results, n, arm, rule, budget=budget, variant=variant))
    return found


def growth(results: Results, arm: str, rule: str = "train95") -> Slope | None:
    """Exponent of episodes in N over the sizes that every seed solved; None if there are fewer than two of them."""
    chosen = []
    for (n, found), budget in sorted(_smallest(results).items()):
        if found == arm:
            reached = times(results, n, arm, rule, budget=budget)
            if not reached.censored:
                chosen.append((float(n), reached.times.tolist()))
    if len(chosen) < 2:
        return None
    return loglog_slope([n for n, _ in chosen], [sample for _, sample in chosen])
