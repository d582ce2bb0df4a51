"""Rates of solved cubes by training states and by weights, and what an arm needs for nine in ten."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnside.experiments.cube_solver.config import ARMS, FIRST_TABLE
from burnside.runs import Results, read_results
from burnside.stats import Times, mean_interval, rate_over_seeds, times_ratio
from burnside.stats.ratios import ratio_columns
from burnside.stats.scaling import reaches

__all__ = ["NEEDED", "needed", "rates", "table"]

#: The rate of solved cubes that is asked for; fixed before the first run.
NEEDED = 0.9
_COLUMNS: dict[str, Any] = dict.fromkeys(
    [
        "kind", "n", "arm", "weights", "states", "rate", "effort", "turns", "width", "depth", "table", "seeds", "cubes",
        "solved", "solved_low", "solved_high", "length", "length_low", "length_high", "loss",
        "needed", "censored", "ratio", "ratio_low", "ratio_high", "ratio_bound",
    ]
)  # fmt: skip


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per kind, cube, arm, weights, states, rate and effort or search; then one per arm (``needed``).

    ``solved`` is the share of random cubes, with an interval whose unit is the seed; ``cubes`` is how many every seed
    tried; ``length`` is the mean over those that were solved, which differ between rows, with Student's interval over
    seeds in ``length_low`` and ``length_high``. Of cubes with slice turns, ``depth`` is how many layers the beam had
    and ``table`` how many of the last turns came from a table. ``needed`` is the geometric mean over seeds of the
    training states at which an arm solves nine cubes in ten, interpolated between budgets on a logarithmic scale; seeds
    that never do are ``censored`` and enter with their largest budget. ``ratio`` says how many times as many the arm
    ``none`` needs.
    """
    results = read_results(folder, allow_missing=allow_missing)
    return [*rates(results), *_needed_rows(results)]


def rates(results: Results) -> list[dict[str, Any]]:
    """The rows of the kinds ``rate``, ``budget``, ``size``, ``shipped`` and ``slices``."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in results.rows:
        kind = row["kind"]
        n = int(row["n"]) if kind == "slices" else 3
        effort = int(row["effort"]) if kind == "shipped" else None
        width = int(row["width"]) if kind in ("slices", "budget", "size", "rate") else None
        limits = (int(row["depth"]), int(row.get("table") or FIRST_TABLE)) if kind == "slices" else (None, None)
        learnt = (int(row["weights"]), int(row["states"]), float(row["rate"]))
        groups.setdefault((kind, n, row["arm"], *learnt, effort, width, int(row["turns"]), *limits), []).append(row)
    order = {kind: k for k, kind in enumerate(("rate", "budget", "size", "shipped", "slices"))}
    arms = {arm: k for k, arm in enumerate(ARMS)}
    out = []
    for key in sorted(groups, key=lambda key: (order[key[0]], key[1], arms[key[2]], *(x or 0 for x in key[3:]))):
        rows = groups[key]
        found = rate_over_seeds({int(r["seed"]): (int(r["solved"]), int(r["tried"])) for r in rows})
        lengths = {int(r["seed"]): r["length"] for r in rows if r["length"] is not None}
        length = mean_interval(lengths) if lengths else None
        names = ("kind", "n", "arm", "weights", "states", "rate", "effort", "width", "turns", "depth", "table")
        named = dict(zip(names, key, strict=True))
        out.append(
            _COLUMNS
            | named
            | {
                "seeds": len(rows),
                "cubes": int(rows[0]["tried"]),
                "solved": found.value,
                "solved_low": found.low,
                "solved_high": found.high,
                "length": None if length is None else length.value,
                "length_low": None if length is None else length.low,
                "length_high": None if length is None else length.high,
                "loss": None if any(r["loss"] is None for r in rows) else float(np.mean([r["loss"] for r in rows])),
            }
        )
    return out


def needed(rows: Sequence[Mapping[str, Any]], arm: str) -> Times | None:
    """Training states at which every seed of an arm solves nine cubes in ten; None without its cells.

    A seed that does so at its smallest budget already enters with that: the ratio to it is then too small.
    """
    curves: dict[int, dict[int, float]] = {}
    for row in rows:
        if row["kind"] == "budget" and row["arm"] == arm:
            curves.setdefault(int(row["seed"]), {})[int(row["states"])] = row["solved"] / row["tried"]
    if not curves:
        return None
    times, solved = [], []
    for seed in sorted(curves):
        budgets = sorted(curves[seed])
        level = reaches(np.log(budgets), [curves[seed][b] for b in budgets], NEEDED)
        times.append(math.exp(level.at))
        solved.append(level.bound != "at least")
    return Times(tuple(sorted(curves)), np.array(times), np.array(solved))


def _needed_rows(results: Results) -> list[dict[str, Any]]:
    found = {arm: times for arm in ARMS if (times := needed(results.rows, arm)) is not None}
    base = found.get("none")
    out = []
    for arm, times in found.items():
        row = _COLUMNS | {"kind": "needed", "arm": arm, "seeds": len(times.times)}
        row |= {"needed": float(np.exp(np.mean(np.log(times.times)))), "censored": times.censored}
        if base is not None and arm != "none":
            row |= ratio_columns(times_ratio(base, times))
        out.append(row)
    return out
