"""Table 2 beside ours, errors against labels, what a symmetry is worth in labels, and the curves of Fig. 4c."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray, IntArray
from burnside.agents.cube_values.config import ARMS
from burnside.experiments.cube.config import PAPER
from burnside.runs import Results, read_results
from burnside.stats import difference, mean_interval, rate_over_seeds
from burnside.stats.intervals import Interval, mean_band
from burnside.stats.scaling import crossing

__all__ = ["Curve", "Worth", "baseline_by_size", "by_depth", "curves", "label_errors", "table", "worth"]


def _of(results: Results, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in results.rows if all(row.get(key) == value for key, value in wanted.items())]


def _arms(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    found = {str(row["arm"]) for row in rows}
    return [arm for arm in ARMS if arm in found]


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per (kind, n, arm, labels); ``solved_…`` are percentages by beam search, as Table 2 has them.

    ``rmse`` is over exact distances with all depths weighted alike, with Student's interval over seeds; rates have
    Wilson's with seeds as the unit. ``rmse_gap`` and ``solved_gap`` are differences to the baseline, paired by seed,
    because a seed trains all arms on the same states. ``worth`` of a labels row says how many times as many labels the
    baseline needs for the same error; ``worth_bound`` (``at least``, ``at most``) that it is a bound. ``sd`` and ``se``
    are over seeds, both: the paper's ± cannot be a standard error (see the documentation). ``solution_length`` is a
    mean over the scrambles that were solved, which are not the same for all arms. Rows of kind ``astar`` are per cent
    solved by A* over the scrambles of ``turns`` turns (Table 2 as the paper has it).
    """
    results = read_results(folder, allow_missing=allow_missing)
    rows = [_label_row(results, *key) for key in _label_keys(results)]
    davi = _of(results, kind="davi")
    settings = {(int(r["n"]), ARMS.index(str(r["arm"])), int(r["states"]), str(r.get("shared") or "")) for r in davi}
    rows += [_davi_row(davi, n, ARMS[k], states, shared) for n, k, states, shared in sorted(settings)]
    return rows + _astar_rows(results)


def _label_keys(results: Results) -> list[tuple[int, str, int]]:
    rows = _of(results, kind="labels")
    sizes = sorted({(int(r["n"]), int(r["labels"])) for r in rows})
    return [(n, arm, count) for n, count in sizes for arm in _arms(_of(results, kind="labels", n=n, labels=count))]


_EMPTY: dict[str, Any] = dict.fromkeys(
    [
        "kind", "n", "arm", "shared", "labels", "states", "seeds", "rmse", "rmse_se", "rmse_low", "rmse_high",
        "rmse_gap", "rmse_gap_low", "rmse_gap_high", "distinct_inputs",
        "worth", "worth_low", "worth_high", "worth_bound", "greedy_mean", "greedy_low", "greedy_high", "solved_mean",
        "solved_sd", "solved_se", "solved_low", "solved_high", "solved_gap", "solved_gap_low", "solved_gap_high",
        "solution_length", "paper_mean", "paper_se", "turns",
    ]
)  # fmt: skip


def _label_row(results: Results, n: int, arm: str, count: int) -> dict[str, Any]:
    rows = _of(results, kind="labels", n=n, arm=arm, labels=count)
    row = _EMPTY | {"kind": "labels", "n": n, "arm": arm, "labels": count, "seeds": len(rows)} | _error(rows)
    row["distinct_inputs"] = float(np.mean([r["distinct_inputs"] for r in rows]))
    value = worth(results, n, arm, count)
    if value is not None:
        row |= {"worth": value.factor, "worth_low": value.low, "worth_high": value.high, "worth_bound": value.bound}
    return row


def _davi_row(davi: Sequence[Mapping[str, Any]], n: int, arm: str, states: int, shared: str) -> dict[str, Any]:
    rows = [r for r in davi if (r["n"], r["arm"], r["states"], str(r.get("shared") or "")) == (n, arm, states, shared)]
    base = [r for r in davi if (r["n"], r["arm"], r["states"]) == (n, "baseline", states)]
    row = _EMPTY | {"kind": "davi", "n": n, "arm": arm, "states": states, "seeds": len(rows)} | _error(rows)
    row["shared"] = shared if arm == "equivariant" and shared else None
    rates = _beam_rates(rows)
    sd = float(np.std(list(rates.values()), ddof=1)) if len(rows) > 1 else None
    lengths = [r["beam_length"] for r in rows if r["beam_length"] is not None]
    paper = PAPER.get((n, arm), (None, None))
    row |= _per_cent("greedy", rows) | _per_cent("beam", rows, "solved")
    if arm != "baseline" and {int(r["seed"]) for r in rows} & {int(r["seed"]) for r in base}:
        row |= _columns("rmse_gap", difference(_errors(rows), _errors(base), paired=True))
        row |= _columns("solved_gap", difference(rates, _beam_rates(base), paired=True))
    return row | {
        "solved_sd": sd,
        "solved_se": None if sd is None else sd / math.sqrt(len(rows)),
        "solution_length": float(np.mean(lengths)) if lengths else None,
        "paper_mean": paper[0],
        "paper_se": paper[1],
    }


def _per_cent(test: str, rows: Sequence[Mapping[str, Any]], name: str = "") -> dict[str, Any]:
    found = rate_over_seeds({int(r["seed"]): (int(r[f"{test}_solved"]), int(r[f"{test}_tried"])) for r in rows})
    scaled = Interval(*(None if v is None else 100.0 * v for v in found))  # type: ignore[arg-type]
    columns = _columns(name or test, scaled)
    return {f"{name or test}_mean": columns.pop(name or test)} | columns


def _columns(name: str, found: Interval) -> dict[str, Any]:
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _errors(rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    return {int(r["seed"]): float(r["rmse"]) for r in rows}


def _error(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = _errors(rows)
    spread = float(np.std(list(values.values()), ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return _columns("rmse", mean_interval(values)) | {"rmse_se": spread}


def label_errors(results: Results, n: int, arm: str) -> dict[int, dict[int, float]]:
    """Errors by number of labels and seed."""
    out: dict[int, dict[int, float]] = {}
    for row in _of(results, kind="labels", n=n, arm=arm):
        out.setdefault(int(row["labels"]), {})[int(row["seed"])] = float(row["rmse"])
    return dict(sorted(out.items()))


@dataclass(frozen=True)
class Worth:
    """The measured effective size of a symmetry: how many times as many labels the baseline needs.

    Attributes:
        factor: the estimate.
        low, high: 95 % limits over seeds; None for one seed, and where the baseline's curve ends first.
        bound: ``at least`` where the baseline never gets as low, ``at most`` where it is never as high, else empty. The
            limit that a bound has is then the number to quote.
    """

    factor: float
    low: float | None
    high: float | None
    bound: str


def worth(results: Results, n: int, arm: str, count: int) -> Worth | None:
    """How many times as many labels the baseline needs to be as good as an arm with ``count``.

    The baseline's error is interpolated between its numbers of labels, both on a logarithmic scale, and not beyond
    them. A seed has the same labels for all arms, so that its own curve of the baseline is compared with its own error
    (:func:`burnside.stats.crossing`). None for the baseline itself, or where it has not been run.
    """
    if arm == "baseline":
        return None
    base, mine = label_errors(results, n, "baseline"), label_errors(results, n, arm).get(count, {})
    seeds = sorted(set(mine).intersection(*base.values())) if base else []
    if len(base) < 2 or not seeds:
        return None
    falling = -np.log([[base[c][s] for c in base] for s in seeds])
    found = crossing(np.log(list(base)), falling, -np.log([mine[s] for s in seeds]))

    low, high = (None if place is None else _times_as_many(place, count) for place in (found.low, found.high))
    return Worth(_times_as_many(found.at, count), low, high, found.bound)


def _times_as_many(place: float, count: int) -> float:
    return round(math.exp(place - math.log(count)), 10)


def _first_setting(columns: Mapping[str, Any], chosen: BoolArray) -> BoolArray:
    """Of several budgets or shared symmetries, the smallest budget and the first symmetry: a curve mixes none."""
    for key in ("states", "shared"):
        if key in columns and chosen.any():
            chosen = chosen & (columns[key] == min(columns[key][chosen]))
    return chosen


def _cubes_and_arms(columns: Mapping[str, Any]) -> Iterator[tuple[int, str, BoolArray]]:
    """Every cube and arm of a table, with its rows of the first setting."""
    for n in np.unique(columns["n"]):
        for arm in ARMS:
            chosen = _first_setting(columns, (columns["n"] == n) & (columns["arm"] == arm))
            if chosen.any():
                yield int(n), arm, chosen


def by_depth(results: Results, n: int, kind: str = "davi") -> dict[str, dict[str, FloatArray]]:
    """Errors and biases against depth, mean over seeds, per arm: the columns ``depth``, ``rmse``, ``bias``, ``greedy``.

    For labels, at the largest number of them.
    """
    columns = results.table("davi_depths" if kind == "davi" else "label_depths")
    mine = columns["n"] == n
    if kind == "labels" and mine.any():
        mine &= columns["labels"] == columns["labels"][mine].max()
    out: dict[str, dict[str, FloatArray]] = {}
    for arm in ARMS:
        chosen = _first_setting(columns, mine & (columns["arm"] == arm))
        if not chosen.any():
            continue
        depths = np.unique(columns["depth"][chosen])

        def mean(values: FloatArray, chosen: Any = chosen, depths: Any = depths) -> FloatArray:
            return np.array([values[chosen & (columns["depth"] == d)].mean() for d in depths])

        rate = np.where(columns["greedy"] >= 0, columns["greedy"] / np.maximum(columns["count"], 1), np.nan)
        out[arm] = {
            "depth": depths.astype(np.float64),
            "rmse": mean(columns["rmse"]),
            "bias": mean(columns["bias"]),
            "greedy": mean(rate),
        }
    return out


def baseline_by_size(results: Results) -> list[tuple[int, int, Interval, Interval]]:
    """Does the baseline get worse with larger cubes? N, seeds, and what error and per cent solved are more than at 3.

    Welch's t: cubes of different sizes share no states.
    """
    found = {
        n: rows for n in range(3, 10) if (rows := [r for r in _of(results, kind="davi", n=n) if r["arm"] == "baseline"])
    }
    three = found.pop(3, [])
    return [
        (
            n,
            len(rows),
            difference(_errors(rows), _errors(three)),
            difference(_beam_rates(rows), _beam_rates(three)),
        )
        for n, rows in found.items()
        if three
    ]


def _beam_rates(rows: Sequence[Mapping[str, Any]]) -> dict[int, float]:
    return {int(r["seed"]): 100.0 * r["beam_solved"] / r["beam_tried"] for r in rows}


#: Depths of scrambles that are shown together.
_TOGETHER = {"1–10": range(1, 11), "11–20": range(11, 21), "21–30": range(21, 31), "100": range(100, 101)}


def _astar_rows(results: Results) -> list[dict[str, Any]]:
    """Per cent solved by A* at the last evaluation, for depths together; the unit of the intervals is the seed."""
    if "solve_rates" not in results.tables:
        return []
    columns = results.table("solve_rates")
    cells, of = np.unique(columns["cell"], return_inverse=True)
    rows = {row["cell"]: row for row in results.rows}
    counts: dict[tuple[int, str, int, str, str], dict[int, tuple[int, int]]] = {}
    for k, cell in enumerate(cells):
        row, mine = rows[str(cell)], of == k
        mine &= columns["states_so_far"] == columns["states_so_far"][mine].max()
        for turns, depths in _TOGETHER.items():
            here = mine & np.isin(columns["depth"], list(depths))
            if here.any():
                key = (int(row["n"]), str(row["arm"]), int(row["states"]), turns, str(row.get("shared") or ""))
                pair = (int(columns["solved"][here].sum()), int(columns["tried"][here].sum()))
                counts.setdefault(key, {})[int(row["seed"])] = pair
    order = list(_TOGETHER)
    out = []
    for n, arm, states, turns, shared in sorted(counts, key=lambda k: (k[0], order.index(k[3]), ARMS.index(k[1]), k)):
        own, base = counts[n, arm, states, turns, shared], counts.get((n, "baseline", states, turns, shared), {})
        rates, theirs = ({s: 100.0 * k / m for s, (k, m) in found.items()} for found in (own, base))
        scaled = Interval(*(None if v is None else 100.0 * v for v in rate_over_seeds(own)))  # type: ignore[arg-type]
        columns = _columns("solved", scaled)
        row = _EMPTY | {"kind": "astar", "n": n, "arm": arm, "states": states, "turns": turns, "seeds": len(own)}
        row |= {"solved_mean": columns.pop("solved")} | columns
        row["shared"] = shared if arm == "equivariant" and shared else None
        if arm != "baseline" and set(rates) & set(theirs):
            row |= _columns("solved_gap", difference(rates, theirs, paired=True))
        out.append(row)
    return out


@dataclass(frozen=True)
class Curve:
    """A learning curve of Fig. 4c.

    Attributes:
        n: size of the cube.
        arm: whose.
        seeds: how many.
        states: where the points are.
        greedy, rmse: mean over seeds of the rate greedy play solves, and of the error.
        low, high: of the rate, Student's 95 % over seeds, inside [0, 1]; NaN for a single seed.
    """

    n: int
    arm: str
    seeds: int
    states: IntArray
    greedy: FloatArray
    rmse: FloatArray
    low: FloatArray
    high: FloatArray


def curves(results: Results) -> list[Curve]:
    """One per cube and arm of value iteration."""
    if "curve" not in results.tables:
        return []
    columns = results.table("curve")
    out = []
    for n, arm, chosen in _cubes_and_arms(columns):
        seeds = np.unique(columns["seed"][chosen])
        states = np.unique(columns["states_so_far"][chosen])
        of = {
            key: np.stack([columns[key][chosen & (columns["seed"] == s)] for s in seeds]).astype(np.float64)
            for key in ("greedy", "rmse")
        }
        mean, low, high = mean_band(of["greedy"])
        error = of["rmse"].mean(axis=0)
        out.append(Curve(n, arm, len(seeds), states, mean, error, np.maximum(low, 0.0), np.minimum(high, 1.0)))
    return out
