"""Table 1 and the curves, from the folder of a sweep or its compact form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from burnside.errors import UnknownName
from burnside.experiments.ring1d.config import PAPER, RULES
from burnside.runs import Results, read_results
from burnside.stats import Slope, loglog_slope
from burnside.stats.censored import Ratio, Times, paired_ratio

__all__ = ["by_rule", "growth", "ratios", "table", "times"]


def times(results: Results, n: int, condition: str, rule: str = "train95", *, unit: str = "episodes") -> Times:
    """Times to convergence of one row of the table, some of them censored."""
    if rule not in RULES:
        raise UnknownName("convergence rule", rule, RULES)
    column = rule if unit == "episodes" else f"{rule}_steps"
    rows = [row for row in results.rows if row["n"] == n and row["condition"] == condition]
    return Times(
        tuple(row["seed"] for row in rows),
        np.array([row[column] for row in rows], dtype=np.float64),
        np.array([row[f"{rule}_solved"] for row in rows]),
    )


def _settings(results: Results) -> list[tuple[int, str]]:
    return sorted({(int(row["n"]), str(row["condition"])) for row in results.rows})


def table(folder: Path, allow_missing: bool = False, rule: str = "train95") -> list[dict[str, Any]]:
    """One row per (N, condition): ours with its censoring beside the paper's mean and standard error."""
    results = read_results(folder, allow_missing=allow_missing)
    rows = []
    for n, condition in _settings(results):
        found = times(results, n, condition, rule)
        budget = max(int(r["episodes"]) for r in results.rows if r["n"] == n and r["condition"] == condition)
        steps = times(results, n, condition, rule, unit="steps")
        paper = PAPER.get((n, condition), (None, None))
        summary = found.summary(budget)
        rows.append(
            {
                "n": n,
                "condition": condition,
                **summary,
                "restricted_mean_steps": steps.restricted_mean().value,
                "paper_mean": paper[0],
                "paper_se": paper[1],
            }
        )
    return rows


def by_rule(folder: Path, allow_missing: bool = False) -> dict[str, list[dict[str, Any]]]:
    """The table under every reading of 'converged'."""
    return {rule: table(folder, allow_missing, rule) for rule in RULES}


def ratios(results: Results, rule: str = "train95") -> dict[int, Ratio]:
    """Baseline over canonical for every N that has both, paired by seed."""
    sizes = sorted({n for n, c in _settings(results) if c == "baseline" and (n, "canonical") in _settings(results)})
    both = {n: [times(results, n, condition, rule) for condition in ("baseline", "canonical")] for n in sizes}
    missing = bool(results.missing)
    return {
        n: paired_ratio(slow, fast, seed=n, allow_missing=missing)
        for n, (slow, fast) in both.items()
        if set(slow.seeds) & set(fast.seeds)
    }


def growth(results: Results, condition: str, rule: str = "train95") -> Slope | None:
    """Exponent of episodes in N over the sizes that every seed solved; None if there are fewer than two of them."""
    chosen = []
    for n, found in _settings(results):
        if found == condition:
            reached = times(results, n, condition, rule)
            if not reached.censored:
                chosen.append((float(n), reached.times.tolist()))
    if len(chosen) < 2:
        return None
    return loglog_slope([n for n, _ in chosen], [sample for _, sample in chosen])
