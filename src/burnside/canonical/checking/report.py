"""What a verdict reports: deviations, coverage, the worst number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside.canonical.checking.evidence import Deviations, Stratum, finite
from burnside.canonical.checking.spaces import Numbers
from burnside.canonical.checking.walks import Coverage

__all__ = ["coverage_of", "largest_law", "measures_of", "worst_of"]

_MOST_RANGES = 512

Row = dict[str, Any]


def worst_of(rows: Sequence[Row]) -> str | None:
    """The number that differs most in units of its own scale; violations come first. None if nothing differs.

    >>> row = {"largest": 0.1, "spread": 1.0, "share": 0.0}
    >>> worst_of([row | {"name": "x"}, row | {"name": "y", "spread": 0.01}])
    'y'
    """

    def size(row: Row) -> tuple[bool, float]:
        if row["largest"] is None:
            return True, math.inf
        return row["share"] > 0, row["largest"] / row["spread"] if row["spread"] else row["largest"]

    differing = [row for row in rows if row["largest"] is None or row["largest"] > 0]
    return str(max(differing, key=size)["name"]) if differing else None


def measures_of(rows: Sequence[Row], deviations: Deviations) -> dict[str, tuple[float | None, float | None]]:
    """Largest and median difference of each component; of the dynamics, those of its worst number."""
    if not deviations.compared:
        return {}
    shown = [row for row in rows if row["index"] is not None]
    named = worst_of(shown)
    dynamics = next((row for row in shown if row["name"] == named), None)
    reward = next((row for row in rows if row["index"] is None), None)
    return {
        "dynamics": (0.0, 0.0) if dynamics is None else (dynamics["largest"], dynamics["median"]),
        "reward": (None, None) if reward is None else (reward["largest"], reward["median"]),
        "termination": (deviations.ends["terminated"], None),
        "truncation": (deviations.ends["truncated"], None),
    }


def largest_law(method: str, rows: Sequence[Row], strata: Sequence[Stratum]) -> float:
    """Def. 7's distance of the laws: 1 where deterministic outcomes differ."""
    measured = max((row["largest"] or 0.0 for row in rows if row["index"] is not None), default=0.0)
    if method == "table":
        return measured
    refuting = [s for s in strata if s.kind.refutes]
    parts = ("dynamics", "termination")  # an episode that ends leads to another state than one that continues
    if method == "deterministic":
        return float(any(s.violations[part] for s in refuting for part in parts))
    amounts = [s.examples[part].amount for s in refuting for part in parts if part in s.examples]
    if method == "visited pairs":  # whose rows are distances of laws too
        amounts.append(measured)
    return min(1.0, max(amounts, default=0.0))


def coverage_of(
    strata: Sequence[Stratum], walked: Coverage, explored: Coverage | None, described: Numbers
) -> dict[str, Any]:
    """Where the check looked: places of each kind, episodes and their ends, the ranges that were seen."""
    ranges = _ranges(walked, explored, described)
    shares = [float(row["share"]) for row in ranges if "share" in row]
    return {
        "places": {s.kind.name: _places(s) for s in strata},
        "episodes": walked.episodes,
        "steps": walked.steps,
        "longest": walked.longest,
        "terminated": walked.terminated,
        "truncated": walked.truncated,
        "ranges": ranges,
        "share": min(shares) if shares else None,
    }


def _places(stratum: Stratum) -> dict[str, Any]:
    return {
        "tested": stratum.tested,
        "violations": dict(stratum.violations),
        "doubtful": dict(stratum.doubtful),
        "within_rounding": stratum.rounding,
        "skipped": dict(stratum.skipped),
        "refutes": stratum.kind.refutes,
        "what": stratum.kind.what,
    }


def _ranges(walked: Coverage, explored: Coverage | None, described: Numbers) -> list[Row]:
    """What was seen of every number and, where it has bounds, which share of them."""
    low, high = walked.low, walked.high
    if explored is not None and low.size and explored.low.size == low.size:
        low, high = np.fmin(low, explored.low), np.fmax(high, explored.high)
    if described.label.size != low.size:
        return []
    found: list[Row] = []
    for k in range(min(low.size, _MOST_RANGES)):
        row: Row = {"name": described.names[k], "low": finite(low[k]), "high": finite(high[k])}
        if described.bounded[k]:
            row["share"] = float(min(1.0, (high[k] - low[k]) / (described.high[k] - described.low[k])))
        found.append(row)
    return found
