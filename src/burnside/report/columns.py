"""The tables of experiments with columns for people: what is compared, the ratio with its interval, the paper's number.

``burnside table NAME`` prints them; its ``--json`` has every column of the analysis. An experiment without a layout
here is shown with the columns of its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from burnside.report.tables import number, per_cent, spaced, with_error, with_interval, with_limits

__all__ = ["Section", "needed_states", "readable"]

Row = Mapping[str, Any]
Cell = Callable[[Row], str]


class Section(NamedTuple):
    """Rows that answer one question.

    Attributes:
        title: the question.
        headers: of the columns.
        rows: of text.
    """

    title: str
    headers: Sequence[str]
    rows: list[list[str]]


def readable(experiment: str, rows: Sequence[Row]) -> list[Section]:
    """The rows of an experiment's table, as sections with columns for people.

    >>> row = {"n": 5, "arm": "canonical", "seeds": 10, "solved": 1.0, "restricted_mean": 277.9, "censored": 0,
    ...        "restricted_low": 259.4, "restricted_high": 296.4, "budget": 10000, "paper_mean": 290.1,
    ...        "paper_se": 13.0, "ratio": 1.162, "ratio_low": 1.030, "ratio_high": 1.309, "ratio_bound": ""}
    >>> readable("ring1d", [row])[0].rows[0][1:]
    ['canonical', '10 of 10', '278 (259–296)', '1.16 (1.03–1.31)', '290.1 ± 13.0']
    """
    return _LAYOUTS.get(experiment, _plain)(rows)


def _section(title: str, columns: Mapping[str, Cell], rows: Iterable[Row]) -> list[Section]:
    """A section without the columns that say nothing in any row; none at all without rows."""
    found = [[cell(row) for cell in columns.values()] for row in rows]
    kept = [k for k, _ in enumerate(columns) if any(row[k] not in ("–", "") for row in found)]
    headers = list(columns)
    return [Section(title, [headers[k] for k in kept], [[row[k] for k in kept] for row in found])] if found else []


def _of(rows: Iterable[Row], kind: str) -> list[Row]:
    return [row for row in rows if row["kind"] == kind]


# ---------------------------------------------------------------------- cells


def _text(*keys: str) -> Cell:
    """The values of some keys that the row has, one after the other."""

    def cell(row: Row) -> str:
        words = [str(row[key]) for key in keys if row.get(key) not in (None, "", "paper")]
        return ", ".join(words) or "–"

    return cell


def _count(key: str) -> Cell:
    return lambda row: spaced(row.get(key))


def _solved(row: Row) -> str:
    """How many of the seeds got there."""
    if row.get("solved") is None or row.get("seeds") is None:
        return "–"
    return f"{round(row['solved'] * row['seeds'])} of {row['seeds']}"


def _times(name: str = "ratio", low: str = "", high: str = "", bound: str = "") -> Cell:
    """A ratio with its interval; of a bound, the limit."""
    keys = (name, low or f"{name}_low", high or f"{name}_high", bound or f"{name}_bound")

    def cell(row: Row) -> str:
        value, lowest, highest, word = (row.get(key) for key in keys)
        return "–" if value is None else with_limits(value, lowest, highest, word or "", 2)

    return cell


def _mean(name: str, digits: int = 1, suffix: str = "_mean") -> Cell:
    return lambda row: with_interval(
        row.get(name + suffix), row.get(f"{name}_low"), row.get(f"{name}_high"), digits=digits
    )


def _rate(name: str, suffix: str = "") -> Cell:
    """A share as a percentage, with its interval."""

    def cell(row: Row) -> str:
        value, low, high = row.get(name + suffix), row.get(f"{name}_low"), row.get(f"{name}_high")
        if value is None:
            return "–"
        limits = per_cent(low, high, 0)
        return f"{spaced(100 * value)} %" + ("" if limits == "–" else f" ({limits})")

    return cell


def _points(name: str, suffix: str = "") -> Cell:
    """A difference of shares in percentage points."""

    def cell(row: Row) -> str:
        found = [row.get(key) for key in (name + suffix, f"{name}_low", f"{name}_high")]
        return with_interval(*(None if value is None else 100 * value for value in found), digits=0)

    return cell


def _paper(row: Row) -> str:
    return with_error(row.get("paper_mean"), row.get("paper_se"))


def _until(row: Row) -> str:
    """The restricted mean of times; above it where runs are censored."""
    mean, low, high = (row.get(f"restricted_{end}") for end in ("mean", "low", "high"))
    if mean is None:
        return "–"
    if row["solved"] < 1:
        return f"more than {spaced(mean)}"
    return with_interval(mean, low, high, digits=0)


def needed_states(row: Row) -> str:
    """Training states for nine cubes in ten; of seeds that never get there it is known that they need more.

    >>> needed_states({"needed": 985133.0, "censored": 4}), needed_states({"needed": 253668.0, "censored": 0})
    ('more than 985 133', '253 668')
    """
    return ("more than " if row["censored"] else "") + spaced(row["needed"])


def _spread(row: Row) -> str:
    """How far scenes or cells are moved about."""
    if row.get("shift") is None:
        return "–"
    return f"{row['shift']:g} m, {math.degrees(row['turn']):.0f}°" if row["shift"] or row["turn"] else "none"


# ---------------------------------------------------------------------- experiments


def _ring1d(rows: Sequence[Row]) -> list[Section]:
    budgets = {row["budget"] for row in rows}
    columns: dict[str, Cell] = {
        "N": _count("n"),
        "budget": lambda row: spaced(row["budget"]) if len(budgets) > 1 else "–",
        "arm": _text("arm", "variant"),
        "converged": _solved,
        "episodes to converge": _until,
        "baseline takes × as many": _times(),
        "paper: episodes": _paper,
    }
    return _section("1D game: episodes until the return first reaches 95 % of the optimum", columns, rows)


def _ring3d(rows: Sequence[Row]) -> list[Section]:
    columns: dict[str, Cell] = {
        "learner": _text("algorithm", "encoder", "variant"),
        "arm": _text("arm"),
        "seeds": _count("seeds"),
        "episodes": _count("episodes"),
        "final return, greedy": _mean("greedy"),
        "sampled": _mean("sampled"),
        "goal entered": _rate("solved"),
        "paper: final return": _paper,
    }
    return _section("3D game: the return of the last policy", columns, rows)


def _cube(rows: Sequence[Row]) -> list[Section]:
    labels: dict[str, Cell] = {
        "cube": lambda row: f"N = {row['n']}, {spaced(row['labels'])} labels",
        "arm": _text("arm"),
        "seeds": _count("seeds"),
        "error of distances": _mean("rmse", 2, ""),
        "baseline needs × as many": _times("worth"),
    }
    davi: dict[str, Cell] = {
        "cube": lambda row: f"N = {row['n']}, {spaced(row['states'])} states",
        "arm": _text("arm", "shared"),
        "seeds": _count("seeds"),
        "solved, %": _mean("solved"),
        "more than the baseline": _mean("solved_gap", 1, ""),
        "error of distances": _mean("rmse", 2, ""),
        "paper: solved, %": _paper,
    }
    astar: dict[str, Cell] = {
        "cube": lambda row: f"N = {row['n']}, {row['turns']} turns",
        "arm": _text("arm", "shared"),
        "states": _count("states"),
        "seeds": _count("seeds"),
        "solved, %": _mean("solved"),
        "more than the baseline": _mean("solved_gap", 1, ""),
    }
    return [
        *_section("exact distances as labels: what a symmetry is worth in labels", labels, _of(rows, "labels")),
        *_section("value iteration: cubes solved by beam search (Table 2)", davi, _of(rows, "davi")),
        *_section("value iteration: cubes solved by A* (Table 2)", astar, _of(rows, "astar")),
    ]


def _cube_solver(rows: Sequence[Row]) -> list[Section]:
    rates: dict[str, Cell] = {
        "arm": _text("arm"),
        "weights": _count("weights"),
        "training states": _count("states"),
        "learning rate": lambda row: number(row.get("rate")),
        "seeds": _count("seeds"),
        "random cubes solved": _rate("solved"),
        "turns": lambda row: spaced(row.get("length"), 1),
    }
    needed: dict[str, Cell] = {
        "arm": _text("arm"),
        "reached": lambda row: f"{row['seeds'] - row['censored']} of {row['seeds']}",
        "training states": needed_states,
        "arm none needs × as many": _times(),
    }
    shipped: dict[str, Cell] = {
        "effort": _count("effort"),
        "seeds": _count("seeds"),
        "cubes each": _count("cubes"),
        "random cubes solved": _rate("solved"),
        "turns": lambda row: with_interval(row.get("length"), row.get("length_low"), row.get("length_high")),
    }
    slices: dict[str, Cell] = {
        "cube": lambda row: f"{row['n']}×{row['n']}×{row['n']}",
        "weights": _count("weights"),
        "training states": _count("states"),
        "beam": _count("width"),
        "layers": _count("depth"),
        "turns of the scramble": _count("turns"),
        "seeds": _count("seeds"),
        "cubes each": _count("cubes"),
        "random cubes solved": _rate("solved"),
        "turns of the solution": lambda row: spaced(row.get("length"), 1),
    }
    return [
        *_section("training states until nine random cubes in ten are solved", needed, _of(rows, "needed")),
        *_section("by training states", rates, _of(rows, "budget")),
        *_section("by weights", rates, _of(rows, "size")),
        *_section("the recipe of the shipped policy, by effort", shipped, _of(rows, "shipped")),
        *_section("cubes whose inner layers turn, by width of the beam and scramble", slices, _of(rows, "slices")),
        *_section("choice of the learning rate", rates, _of(rows, "rate")),
    ]


def _planar(rows: Sequence[Row]) -> list[Section]:
    place: dict[str, Cell] = {"task": _text("task"), "spread": _spread, "arm": _text("arm", "variant")}
    ppo: dict[str, Cell] = {
        **place,
        "reached": _solved,
        "episodes to 90 %": _until,
        "× the robot's frame": _times(),
        "success after": _rate("success", "_mean"),
    }
    imitation: dict[str, Cell] = {
        **place,
        "demonstrations": _count("demos"),
        "seeds": _count("seeds"),
        "success": _rate("success", "_mean"),
        "world needs × as many": _times("saving"),
    }
    tuned: dict[str, Cell] = {
        **place,
        "demonstrations": _count("demos"),
        "seeds": _count("seeds"),
        "before": _rate("before", "_mean"),
        "after": _rate("success", "_mean"),
        "gain, points": _points("gain", "_mean"),
        "gain minus that of all changes": _points("gain_gap"),
    }
    return [
        *_section("PPO: episodes until 90 % succeed", ppo, _of(rows, "ppo")),
        *_section("imitation: success by demonstrations", imitation, _of(rows, "imitation")),
        *_section("fine-tuning", tuned, _of(rows, "finetune")),
        *_section("fine-tuning with one change taken back", tuned, _of(rows, "ablation")),
    ]


def _robot(rows: Sequence[Row]) -> list[Section]:
    place: dict[str, Cell] = {
        "task": _text("task"),
        "policy sees": _text("observation", "features"),
        "cells moved by": _spread,
        "arm": _text("arm"),
        "demonstrations": _count("demos"),
        "seeds": _count("seeds"),
    }
    imitation = {**place, "success": _rate("success"), "more than world, points": _points("gap")}
    saving = {**place, "success": _rate("success"), "world needs × as many": _times("saving")}
    tuned: dict[str, Cell] = {
        **place,
        "variant": _text("variant", "pays"),
        "before": _rate("before"),
        "after": _rate("success"),
        "gain, points": _points("gain"),
    }
    return [
        *_section("what a frame saves: demonstrations for equal success", saving, _of(rows, "saving")),
        *_section("imitation", imitation, _of(rows, "imitation")),
        *_section("fine-tuning", tuned, _of(rows, "finetune")),
    ]


def _mistakes(rows: Sequence[Row]) -> list[Section]:
    columns: dict[str, Cell] = {
        "model": _text("model"),
        "learner": lambda row: f"{row['learner']}, c = {number(row['scale'])}",
        "seeds": _count("seeds"),
        "mistakes on M": lambda row: spaced(row["mistakes M"], 1),
        "on its quotient": lambda row: spaced(row["mistakes quotient"], 1),
        "ratio": _times("ratio", "low", "high", "bound"),
        "orbits predict": lambda row: number(row["joint reachable"]),
        "paper's factor": lambda row: number(row["paper"]),
    }
    return _section("mistakes of a tabular learner, with and without the symmetry", columns, rows)


def _order(row: Row) -> str:
    """Of the group that an arm uses; the baseline uses none."""
    if row["arm"] == "baseline":
        return "–"
    return "infinite" if row.get("order") is None else spaced(row["order"])


def _atlas(rows: Sequence[Row]) -> list[Section]:
    from burnside.report.savings import ratio_text  # which imports what the measurement does

    def reached(row: Row) -> str:
        early = row.get("at_first")
        return _solved(row) + (f", {early} at once" if early else "")

    columns: dict[str, Cell] = {
        "environment": _text("env", "variant"),
        "learner": _text("learner"),
        "arm": lambda row: f"{row['arm']} (control: {row['control']})" if row["control"] else str(row["arm"]),
        "group order": _order,
        "reached (at once: first evaluation)": reached,
        "steps, median": _count("steps"),
        "baseline takes × as many": lambda row: ratio_text(dict(row)),
        "verdict": _text("verdict"),
    }
    return _section("steps to a sustained threshold, with and without the symmetry", columns, rows)


def _plain(rows: Sequence[Row]) -> list[Section]:
    """Every column that is not a curve, as it is."""
    keys = dict.fromkeys(key for row in rows for key, value in row.items() if not isinstance(value, list))
    return [Section("", list(keys), [[_as_it_is(row.get(key)) for key in keys] for row in rows])]


def _as_it_is(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number(value) if isinstance(value, (int, float)) else str(value)


_LAYOUTS: dict[str, Callable[[Sequence[Row]], list[Section]]] = {
    "ring1d": _ring1d,
    "ring3d": _ring3d,
    "cube": _cube,
    "cube_solver": _cube_solver,
    "planar": _planar,
    "robot": _robot,
    "mistakes": _mistakes,
    "atlas": _atlas,
}
