"""Table 2 beside ours, errors against labels, what a symmetry is worth in labels, and the curves of Fig. 4c."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray, IntArray
from burnside.agents.davi.config import ARMS
from burnside.experiments.cube.config import PAPER
from burnside.runs import Results, read_results
from burnside.stats import bootstrap, reaches, wilson

__all__ = ["Curve", "Worth", "by_depth", "curves", "label_errors", "solve_rates", "table", "worth"]


def _of(results: Results, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in results.rows if all(row.get(key) == value for key, value in wanted.items())]


def _arms(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    found = {str(row["arm"]) for row in rows}
    return [arm for arm in ARMS if arm in found]


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per (kind, n, arm, labels); ``solved_…`` are percentages by beam search, as Table 2 has them.

    ``rmse`` is over exact distances with all depths weighted alike. ``worth`` of a labels row says how many times as
    many labels the baseline needs for the same error; ``worth_bound`` (``at least``, ``at most``) that it is a bound.
    ``sd`` and ``se`` are over seeds, both: the paper's ± cannot be a standard error (see the documentation).
    """
    results = read_results(folder, allow_missing=allow_missing)
    rows = [_label_row(results, *key) for key in _label_keys(results)]
    davi = _of(results, kind="davi")
    settings = {(int(r["n"]), ARMS.index(str(r["arm"])), int(r["states"]), str(r.get("shared") or "")) for r in davi}
    return rows + [_davi_row(davi, n, ARMS[k], states, shared) for n, k, states, shared in sorted(settings)]


def _label_keys(results: Results) -> list[tuple[int, str, int]]:
    rows = _of(results, kind="labels")
    sizes = sorted({(int(r["n"]), int(r["labels"])) for r in rows})
    return [(n, arm, count) for n, count in sizes for arm in _arms(_of(results, kind="labels", n=n, labels=count))]


_EMPTY: dict[str, Any] = dict.fromkeys(
    [
        "kind", "n", "arm", "shared", "labels", "states", "seeds", "rmse", "rmse_se", "rmse_low", "rmse_high",
        "distinct_inputs",
        "worth", "worth_low", "worth_high", "worth_bound", "greedy_mean", "greedy_low", "greedy_high", "solved_mean",
        "solved_sd", "solved_se", "solved_low", "solved_high", "solution_length", "paper_mean", "paper_se",
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
    wanted = (n, arm, states, shared)
    rows = [r for r in davi if (r["n"], r["arm"], r["states"], str(r.get("shared") or "")) == wanted]
    row = _EMPTY | {"kind": "davi", "n": n, "arm": arm, "states": states, "seeds": len(rows)} | _error(rows)
    row["shared"] = shared if arm == "equivariant" and shared else None
    greedy = bootstrap({int(r["seed"]): 100.0 * r["greedy_solved"] / r["greedy_tried"] for r in rows})
    solved = {int(r["seed"]): 100.0 * r["beam_solved"] / r["beam_tried"] for r in rows}
    interval = bootstrap(solved)
    sd = float(np.std(list(solved.values()), ddof=1)) if len(rows) > 1 else None
    lengths = [r["beam_length"] for r in rows if r["beam_length"] is not None]
    paper = PAPER.get((n, arm), (None, None))
    return row | {
        "greedy_mean": greedy.value,
        "greedy_low": greedy.low,
        "greedy_high": greedy.high,
        "solved_mean": interval.value,
        "solved_sd": sd,
        "solved_se": None if sd is None else sd / math.sqrt(len(rows)),
        "solved_low": interval.low,
        "solved_high": interval.high,
        "solution_length": float(np.mean(lengths)) if lengths else None,
        "paper_mean": paper[0],
        "paper_se": paper[1],
    }


def _error(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = {int(r["seed"]): float(r["rmse"]) for r in rows}
    interval = bootstrap(values)
    spread = float(np.std(list(values.values()), ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None
    return {"rmse": interval.value, "rmse_se": spread, "rmse_low": interval.low, "rmse_high": interval.high}


def label_errors(results: Results, n: int, arm: str) -> dict[int, dict[int, float]]:
    """Errors by number of labels and seed."""
    out: dict[int, dict[int, float]] = {}
    for row in _of(results, kind="labels", n=n, arm=arm):
        out.setdefault(int(row["labels"]), {})[int(row["seed"])] = float(row["rmse"])
    return dict(sorted(out.items()))


@dataclass(frozen=True)
class Worth:
    """The measured effective size of a symmetry: so many times as many labels does the baseline need.

    Attributes:
        factor: the estimate.
        low, high: 95 % bootstrap interval over seeds; None for one seed.
        bound: ``at least`` where the baseline never gets as low, ``at most`` where it is never as high, else empty.
    """

    factor: float
    low: float | None
    high: float | None
    bound: str


def worth(results: Results, n: int, arm: str, count: int, *, draws: int = 2_000) -> Worth | None:
    """How many times as many labels the baseline needs to be as good as an arm with ``count``.

    The baseline's error is interpolated between its numbers of labels, both on a logarithmic scale, and not beyond
    them. Seeds are resampled together for both arms. None for the baseline itself, or where it has not been run.
    """
    if arm == "baseline":
        return None
    base, mine = label_errors(results, n, "baseline"), label_errors(results, n, arm).get(count, {})
    seeds = sorted(set(mine).intersection(*base.values())) if base else []
    if len(base) < 2 or not seeds:
        return None
    counts = np.log(np.array(list(base), dtype=np.float64))
    errors = np.array([[base[c][s] for s in seeds] for c in base])
    own = np.array([mine[s] for s in seeds])

    def shift(chosen: IntArray) -> tuple[float, str]:
        return _shift(counts, np.log(errors[:, chosen].mean(axis=1)), math.log(own[chosen].mean()), math.log(count))

    everyone = np.arange(len(seeds))
    factor, bound = shift(everyone)
    if len(seeds) == 1:
        return Worth(factor, None, None, bound)
    rng = np.random.default_rng(0)
    drawn = [shift(rng.integers(len(seeds), size=len(seeds)))[0] for _ in range(draws)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Worth(factor, float(low), float(high), bound)


def _shift(counts: FloatArray, errors: FloatArray, own: float, at: float) -> tuple[float, str]:
    """Where a falling curve reaches a height, relative to ``at``; and on which side it ends if it does not.

    >>> _shift(np.log([1000.0, 4000.0]), np.log([1.0, 0.5]), math.log(0.5), math.log(1000.0))
    (4.0, '')
    >>> _shift(np.log([1000.0, 4000.0]), np.log([1.0, 0.5]), math.log(0.4), math.log(2000.0))
    (2.0, 'at least')
    >>> _shift(np.log([1000.0, 4000.0]), np.log([1.0, 0.5]), math.log(1.1), math.log(1000.0))
    (1.0, 'at most')
    """
    found = reaches(counts, -errors, -own)
    return float(round(math.exp(found.at - at), 10)), found.bound


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


def solve_rates(results: Results) -> list[dict[str, Any]]:
    """A* at the last evaluation, per cube, arm and depth of scramble, over all seeds, with its 95 % Wilson interval."""
    if "solve_rates" not in results.tables:
        return []
    columns = results.table("solve_rates")
    out = []
    for n, arm, chosen in _cubes_and_arms(columns):
        last = chosen & (columns["states_so_far"] == columns["states_so_far"][chosen].max())
        for depth in np.unique(columns["depth"][last]):
            here = last & (columns["depth"] == depth)
            solved, tried = int(columns["solved"][here].sum()), int(columns["tried"][here].sum())
            interval = wilson(solved, tried)
            row = {"n": n, "arm": arm, "depth": int(depth), "solved": solved, "tried": tried}
            out.append(row | {"low": interval.low, "high": interval.high})
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
        low, high: of the rate, 95 % bootstrap over seeds (equal to the mean for a single seed).
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
        rng = np.random.default_rng(0)
        drawn = of["greedy"][rng.integers(len(seeds), size=(1_000, len(seeds)))].mean(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        mean, error = of["greedy"].mean(axis=0), of["rmse"].mean(axis=0)
        out.append(Curve(n, arm, len(seeds), states, mean, error, low, high))
    return out
