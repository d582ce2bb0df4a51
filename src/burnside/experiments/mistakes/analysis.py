"""What the measurements say: which prediction fits, and how mistakes grow with the ring."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnside._types import AnyArray
from burnside.errors import DamagedFile
from burnside.experiments.mistakes.config import Setting
from burnside.experiments.mistakes.run import SIDES, run_of
from burnside.learning import Comparison
from burnside.runs import read_results
from burnside.stats.scaling import Slope, loglog_slope

__all__ = [
    "COLUMNS",
    "RUN_COLUMNS",
    "Summary",
    "comparisons",
    "growth",
    "mean_error",
    "rows",
    "runs",
    "summarise",
    "table",
]

COLUMNS = (
    "model", "learner", "scale", "seeds", "mistakes M", "mistakes quotient", "ratio", "low", "high", "bound",
    "joint reachable", "joint", "order", "paper", "capped M", "capped quotient",
)  # fmt: skip
RUN_COLUMNS = ("model", "learner", "scale", "side", "seed", "mistakes", "episodes", "capped")

#: The predictions that are compared with the measured ratio.
PREDICTIONS = ("reachable", "joint", "order", "paper")


@dataclass(frozen=True)
class Summary:
    """All rows, the geometric mean error of every prediction, and the growth of mistakes with the ring's size."""

    rows: list[dict[str, Any]]
    errors: dict[str, float]
    growth: dict[str, Slope]


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per setting, with the columns :data:`COLUMNS`, from the folder of a sweep or the committed table."""
    kept = folder / "mistakes.csv"  # the committed results are tables of the report
    if not kept.exists():
        return rows(comparisons(folder, allow_missing))
    with kept.open(encoding="utf-8", newline="") as file:
        return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def _value(text: str) -> Any:
    """A value of a CSV file: a number, a text, or nothing."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text or None


def comparisons(folder: Path, allow_missing: bool = False) -> list[tuple[Setting, Comparison]]:
    """The settings of a sweep with the runs that have finished; one that has none on a side is left out."""
    results = read_results(folder, allow_missing=allow_missing)
    gaps = results.table("gaps") if "gaps" in results.tables else {}
    kept: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for row in results.rows:
        kept.setdefault(str(row["settings"]), {side: [] for side in SIDES})[str(row["side"])].append(row)
    found = []
    for words, sides in kept.items():
        if not all(sides.values()):
            continue
        setting = Setting(**json.loads(words))
        on_m, on_quotient = ([run_of(row, _of(gaps, row)) for row in sides[side]] for side in SIDES)
        predicted = {key: sides["M"][0][key] for key in (*PREDICTIONS, "terminal_states")}
        found.append((setting, Comparison.of(setting.name, on_m, on_quotient, predicted)))
    return found


def _of(gaps: Mapping[str, AnyArray], row: Mapping[str, Any]) -> dict[str, AnyArray]:
    """The gaps of the run of a row."""
    if not gaps:
        raise DamagedFile("the results have no gaps: run the sweep again, which keeps its results")
    mine = gaps["cell"] == row["cell"]
    return {key: gaps[key][mine] for key in ("gap", "length")}


def rows(results: Sequence[tuple[Setting, Comparison]]) -> list[dict[str, Any]]:
    """One row per setting, with the columns :data:`COLUMNS`.

    ``ratio`` is that of the means, with a t interval of its logarithm. Where runs spent their budget, mistakes may be
    missing; on M alone that makes the ratio a lower bound (``bound``), and the interval has a lower limit only.
    """
    table = []
    for setting, found in results:
        plain = found.to_dict()
        mistakes = plain["mistakes"]
        values = (
            setting.name,
            setting.learner,
            setting.scale,
            len(plain["seeds"]),
            _mean(mistakes["M"]),
            _mean(mistakes["quotient"]),
            found.ratio.value,
            found.ratio.low,
            found.ratio.high,
            found.ratio.bound,
            found.reachable,
            found.joint,
            found.order,
            found.paper,
            plain["capped"]["M"],
            plain["capped"]["quotient"],
        )
        table.append(dict(zip(COLUMNS, values, strict=True)))
    return table


def runs(results: Sequence[tuple[Setting, Comparison]]) -> list[tuple[Any, ...]]:
    """One row per run, with the columns :data:`RUN_COLUMNS`: what every other number is computed from."""
    return [
        (setting.name, setting.learner, setting.scale, side, run.seed, run.mistakes(), run.episodes, run.capped)
        for setting, found in results
        for side, those in (("M", found.on_m), ("quotient", found.on_quotient))
        for run in those
    ]


def mean_error(results: Sequence[tuple[Setting, Comparison]], prediction: str) -> float:
    """Geometric mean of the factor by which a prediction is off; 1 is perfect. Rows without it are left out."""
    factors = [found.errors[prediction] for _, found in results]
    usable = [f for f in factors if f is not None and math.isfinite(f)]
    return math.exp(sum(math.log(f) for f in usable) / len(usable)) if usable else math.nan


def growth(results: Sequence[tuple[Setting, Comparison]]) -> dict[str, Slope]:
    """Exponents of mistakes in N, on M and on M̄, over the rings that share one width; at least two are needed.

    A ring some of whose runs ended at their budget is left out: of those only a lower bound is known.
    """
    found: dict[str, Slope] = {}
    rings = [(s, c) for s, c in results if s.model == "slip-ring" and s.symmetry == "Z" and "goal" not in s.parameters]
    for scale in sorted({s.scale or 1.0 for s, _ in rings}):
        chosen = [(s, c) for s, c in rings if (s.scale or 1.0) == scale]
        for side, pick in (("M", "on_m"), ("quotient", "on_quotient")):
            whole = [(s, getattr(c, pick)) for s, c in chosen if not any(run.capped for run in getattr(c, pick))]
            sizes = [float(s.parameters["n"]) for s, _ in whole]
            samples = [[float(run.mistakes()) for run in runs] for _, runs in whole]
            if len(whole) >= 2 and all(sum(sample) > 0 for sample in samples):
                found[f"{side}, c = {scale:g}"] = loglog_slope(sizes, samples, of="arithmetic")
    return found


def summarise(results: Sequence[tuple[Setting, Comparison]]) -> Summary:
    """Everything the report shows."""
    return Summary(rows(results), {p: mean_error(results, p) for p in PREDICTIONS}, growth(results))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
