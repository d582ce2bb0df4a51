"""The tables and pictures of the documentation that come from committed results: one function each.

A block is a table, or a sentence full of numbers; :mod:`burnside.report.pages` puts them into the pages.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from burnside.experiments.arms import read_arms
from burnside.experiments.robot.config import PILOT_SEED
from burnside.report.atlas import atlas_tables
from burnside.report.claims.compute import committed_file
from burnside.report.columns import needed_states
from burnside.report.cube import astar_table, davi_table, gap_table, label_table
from burnside.report.cube_solver import needed_text
from burnside.report.front import saving_card
from burnside.report.mistakes import limits_text
from burnside.report.planar import ratio_text, saving_text
from burnside.report.plots import Plot
from burnside.report.ring3d import final_table, variant_table
from burnside.report.savings import arms_of, plan_table, savings_plot, savings_table, verdict_table
from burnside.report.tables import (
    between,
    markdown,
    number,
    spaced,
    three_digits,
    with_error,
    with_interval,
    with_limits,
)
from burnside.runs import Results, read_results
from burnside.runs.results import committed

__all__ = ["BLOCKS", "FIGURES"]

#: By name, what can stand in a block of a page.
BLOCKS: dict[str, Callable[[], str]] = {}
#: By file name, the pictures.
FIGURES: dict[str, Callable[[], Plot]] = {}
#: What stands in the place of a table whose cells have not run.
_PLANNED = "These runs are planned and have not been made yet."


def block(name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Register a function as the maker of a block."""

    def register(function: Callable[[], str]) -> Callable[[], str]:
        BLOCKS[name] = cache(function)
        return function

    return register


block("atlas")(atlas_tables)
block("atlas-plan")(plan_table)
block("atlas-savings")(savings_table)
block("atlas-verdicts")(verdict_table)


def _atlas_figure() -> Plot:
    from burnside.experiments.atlas.analysis import table

    found = savings_plot(arms_of(table(committed_file("atlas"))))
    assert found is not None
    return found


FIGURES["atlas-savings.svg"] = cache(_atlas_figure)


def _per_cent(row: Mapping[str, Any], name: str, digits: int = 1, value: str = "_mean") -> str:
    ends = (row[f"{name}{value}"], row[f"{name}_low"], row[f"{name}_high"])
    return with_interval(*(None if end is None else 100 * end for end in ends), digits=digits)


@cache
def _results(experiment: str) -> Results:
    return read_arms(committed_file(experiment))


@cache
def _rows(experiment: str) -> tuple[dict[str, Any], ...]:
    from burnside.experiments.registry import EXPERIMENTS

    return tuple(EXPERIMENTS[experiment].table(committed_file(experiment), False))


# ---------------------------------------------------------------------- the 1D game


def _arms(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    order = ("baseline", "canonical", "augment", "equivariant", "feature")
    return sorted(rows, key=lambda row: (row["n"], order.index(row["arm"]), row["budget"]))


#: Episodes of the runs that Table 1 is compared with; longer ones have tables of their own.
_STUDY_1D = 10_000
#: And of those with other learning rates.
_TUNED_1D = 20_000


def _ring1d_study() -> list[Mapping[str, Any]]:
    return [row for row in _arms(_rows("ring1d")) if row["budget"] <= _STUDY_1D and row["variant"] == "paper"]


@block("ring1d-times")
def _ring1d_times() -> str:
    from burnside.experiments.ring1d.analysis import by_rule

    rules = by_rule(committed_file("ring1d"))
    other = {
        rule: {(r["n"], r["arm"], r["budget"]): r for r in rows if r["variant"] == "paper"}
        for rule, rows in rules.items()
    }

    def under(rule: str, row: Mapping[str, Any]) -> str:
        found = other[rule][row["n"], row["arm"], row["budget"]]
        return f"{spaced(found['restricted_mean'])} ({found['seeds'] - found['censored']}/{found['seeds']})"

    return markdown(
        ["N", "arm", "ours, mean ± SE", "95 %", "restricted mean", "paper", "solved",
         "environment steps, mean ± SE", "90 % rule", "greedy rule"],
        [
            [
                str(row["n"]),
                row["arm"],
                with_error(row["mean"], row["se"]),
                between(row["mean_low"], row["mean_high"], 0),
                spaced(row["restricted_mean"]),
                with_error(row["paper_mean"], row["paper_se"]),
                f"{row['seeds'] - row['censored']}/{row['seeds']}",
                ("≥ " if row["censored"] else "") + with_error(row["steps_mean"], row["steps_se"], 0),
                under("train90", row),
                under("greedy95", row),
            ]
            for row in _ring1d_study()
        ],
    )  # fmt: skip


@block("ring1d-arms")
def _ring1d_arms() -> str:
    rows = {(row["n"], row["arm"]): row for row in _ring1d_study()}
    arms = ("canonical", "feature", "equivariant", "augment")
    sizes = [n for n in dict.fromkeys(n for n, _ in rows) if {(n, "equivariant"), (n, "feature")} & set(rows)]

    def cell(n: int, arm: str) -> str:
        row = rows.get((n, arm))
        if row is None:
            return "–"
        limits = (row["ratio"], row["ratio_low"], row["ratio_high"], row["ratio_bound"])
        said = "not decided" if row["ratio"] is None else with_limits(*limits, 2)
        return f"{said}, {row['seeds'] - row['censored']} of {row['seeds']}"

    def over_feature(n: int) -> str:
        row = rows.get((n, "canonical"), {})
        if row.get("feature_ratio") is None:
            return "–"
        limits = (row["feature_ratio"], row["feature_ratio_low"], row["feature_ratio_high"], row["feature_ratio_bound"])
        return with_limits(*limits, 2)

    return markdown(
        ["N", *(f"`{arm}`" for arm in arms), "`feature` over `canonical`"],
        [[str(n), *(cell(n, arm) for arm in arms), over_feature(n)] for n in sizes],
    )


@block("ring1d-long")
def _ring1d_long() -> str:
    chosen = [row for row in _rows("ring1d") if row["budget"] > _STUDY_1D]
    if not chosen:
        return _PLANNED
    return markdown(
        ["N", "arm", "DQN", "episodes", "converged", *(str(k) for k in range(1, 11)), "last − fifth tenth"],
        [
            [
                str(row["n"]),
                row["arm"],
                "App. C" if row["variant"] == "paper" else f"`{row['variant']}`",
                spaced(row["budget"]),
                f"{row['seeds'] - row['censored']} of {row['seeds']}",
                *(spaced(value, 1) for value in row["returns"]),
                with_interval(row["late_change"], row["late_change_low"], row["late_change_high"]),
            ]
            for row in chosen
        ],
    )


@block("ring1d-slow")
def _ring1d_slow() -> str:
    variants = {"paper": "App. C, 0.001", "slow": "0.00025", "slower": "0.0001"}
    shown = [row for row in _rows("ring1d") if row["arm"] == "canonical" and row["budget"] <= _TUNED_1D]
    rows = {(row["n"], row["variant"]): row for row in shown}
    sizes = sorted({n for n, variant in rows if variant == "slow"})
    if not sizes:
        return _PLANNED

    def cell(n: int, variant: str, name: str) -> str:
        row = rows.get((n, variant))
        if row is None or (row[name] is None and not row[f"{name}_bound"]):
            return "–"
        value, low, high, bound = (row[f"{name}{part}"] for part in ("", "_low", "_high", "_bound"))
        return with_limits(value, low, high, bound, 2)

    baseline = [f"baseline, rate {text}" for text in variants.values()]
    feature = [f"feature, rate {variants[variant]}" for variant in ("paper", "slow")]
    return markdown(
        ["N", *baseline, *feature],
        [
            [
                str(n),
                *(cell(n, variant, "ratio") for variant in variants),
                *(cell(n, variant, "feature_ratio") for variant in ("paper", "slow")),
            ]
            for n in sizes
        ],
    )


@block("ring1d-ratios")
def _ring1d_ratios() -> str:
    from burnside.experiments.ring1d.analysis import ratios

    rules = {"95 % rule": "train95", "90 % rule": "train90", "greedy rule": "greedy95"}
    found = {name: ratios(_results("ring1d"), rule) for name, rule in rules.items()}
    sizes = list(found["95 % rule"])
    return markdown(["N", *found], [[str(n), *(by_size[n].text() for by_size in found.values())] for n in sizes])


@block("ring1d-growth")
def _ring1d_growth() -> str:
    from burnside.experiments.ring1d.analysis import growth

    words = []
    for arm, name in (("baseline", "the baseline (N ≤ 30)"), ("canonical", "the canonical agent (N ≤ 50)")):
        slope = growth(_results("ring1d"), arm)
        assert slope is not None
        words.append(f"N^{with_interval(slope.exponent, slope.low, slope.high, digits=2)} for {name}")
    return f"Over the sizes that every seed solved, episodes grow as {' and as '.join(words)}."


@block("ring1d-returns")
def _ring1d_returns() -> str:
    chosen = [row for row in _ring1d_study() if row["n"] >= 30 and row["arm"] in ("baseline", "canonical")]
    return markdown(
        ["N", "arm", *(str(k) for k in range(1, 11)), "last − fifth tenth"],
        [
            [
                str(row["n"]),
                row["arm"],
                *(spaced(value, 1) for value in row["returns"]),
                with_interval(row["late_change"], row["late_change_low"], row["late_change_high"]),
            ]
            for row in chosen
        ],
    )


def _ring1d_figure() -> Plot:
    from burnside.report.ring1d import returns_plot

    return returns_plot(_results("ring1d"), only=(30, 35, 40, 50))


FIGURES["returns-ring1d.svg"] = cache(_ring1d_figure)


# ---------------------------------------------------------------------- README's picture


def _saving() -> str:
    """What the library is for, in one picture: environments people use, or the plane until that study is there."""
    card = saving_card()
    return f"![{card.title}](docs/images/saving.svg)\n\n{card.title} {card.sentence} `burnside table {card.tab}`"


def _saving_figure() -> Plot:
    found = saving_card().picture
    assert found is not None
    return found


block("saving")(_saving)
FIGURES["saving.svg"] = cache(_saving_figure)


# ---------------------------------------------------------------------- the 3D game


block("ring3d-final")(lambda: markdown(*final_table(_rows("ring3d"))))


@block("ring3d-changes")
def _ring3d_changes() -> str:
    headers, cells = variant_table(_rows("ring3d"))
    return markdown(headers, cells) if cells else _PLANNED


# ---------------------------------------------------------------------- the cube


block("cube-labels")(lambda: markdown(*label_table(_rows("cube"))))
block("cube-davi")(lambda: markdown(*davi_table(_rows("cube"))))
block("cube-gaps")(lambda: markdown(*gap_table(_rows("cube"))))


@block("cube-sizes")
def _cube_sizes() -> str:
    from burnside.experiments.cube.analysis import baseline_by_size

    return markdown(
        ["baseline at", "seeds", "RMSE minus that at N = 3", "beam, points minus those at N = 3"],
        [
            [f"N = {n}", str(seeds), with_interval(*error, digits=3), with_interval(*solved)]
            for n, seeds, error, solved in baseline_by_size(_results("cube"))
        ],
    )


@block("cube-astar")
def _cube_astar() -> str:
    headers, cells = astar_table(_rows("cube"))
    return markdown(headers, cells) if cells else _PLANNED


def _solver_rows(kind: str) -> list[dict[str, Any]]:
    if committed("cube_solver") is None:
        return []
    return [row for row in _rows("cube_solver") if row["kind"] == kind]


def _solved(row: Mapping[str, Any]) -> str:
    return _per_cent(row, "solved", value="")


def _length(row: Mapping[str, Any]) -> str:
    return "–" if row["length"] is None else f"{row['length']:.1f}"


@block("cube-solver-needed")
def _cube_solver_needed() -> str:
    rows = _solver_rows("needed")
    if not rows:
        return _PLANNED
    return markdown(
        ["arm", "seeds", "training states for 90 %", "seeds that never do", "times fewer than `none`"],
        [
            [f"`{r['arm']}`", str(r["seeds"]), needed_states(r), str(r["censored"]), needed_text(r)] for r in rows
        ],
    )  # fmt: skip


@block("cube-solver-budgets")
def _cube_solver_budgets() -> str:
    rows = _solver_rows("budget")
    if not rows:
        return _PLANNED
    return markdown(
        ["arm", "weights", "training states", "seeds", "solved, %", "mean length"],
        [
            [f"`{r['arm']}`", spaced(r["weights"]), spaced(r["states"]), str(r["seeds"]), _solved(r), _length(r)]
            for r in rows
        ],
    )  # fmt: skip


@block("cube-solver-sizes")
def _cube_solver_sizes() -> str:
    rows = sorted(_solver_rows("size"), key=lambda r: int(r["weights"]))
    if not rows:
        return _PLANNED
    return markdown(
        ["weights", "arm", "seeds", "solved, %", "mean length"],
        [[spaced(r["weights"]), f"`{r['arm']}`", str(r["seeds"]), _solved(r), _length(r)] for r in rows],
    )


@block("cube-solver-shipped")
def _cube_solver_shipped() -> str:
    rows = _solver_rows("shipped")
    if not rows:
        return _PLANNED
    return markdown(
        ["effort", "width", "training seeds", "cubes each", "solved, %", "mean length"],
        [
            [
                str(r["effort"]),
                spaced(1024 << int(r["effort"])),
                str(r["seeds"]),
                spaced(r["cubes"]),
                _solved(r),
                with_interval(r["length"], r["length_low"], r["length_high"], digits=2),
            ]
            for r in rows
        ],
    )


@block("cube-solver-slices")
def _cube_solver_slices() -> str:
    rows = _solver_rows("slices")
    if not rows:
        return _PLANNED
    return markdown(
        [
            *("cube", "weights", "training states", "beam", "layers", "table"),
            *("turns of the scramble", "cubes", "solved, %", "mean length"),
        ],
        [
            [
                f"{r['n']}×{r['n']}×{r['n']}",
                spaced(r["weights"]),
                spaced(r["states"]),
                spaced(r["width"]),
                str(r["depth"]),
                str(r["table"]),
                str(r["turns"]),
                spaced(r["cubes"]),
                f"{100 * r['solved']:.0f}",
                _length(r),
            ]
            for r in rows
        ],
    )


def _cube_solver_figure() -> Plot:
    from burnside.experiments.cube_solver.analysis import table
    from burnside.report.cube_solver import solver_plot

    folder = committed_file("cube_solver")
    found = solver_plot(read_results(folder), table(folder))
    assert found is not None
    return found


if committed("cube_solver") is not None:
    FIGURES["cube-solver.svg"] = cache(_cube_solver_figure)


# ---------------------------------------------------------------------- planar


def _planar(kind: str) -> list[dict[str, Any]]:
    return [row for row in _rows("planar") if row["kind"] == kind]


_ANGLES = {0.0: "0", 1.57: "π/2", 3.14: "π"}


@block("planar-ppo")
def _planar_ppo() -> str:
    by_spread: dict[tuple[float, float], dict[str, dict[str, Any]]] = {}
    for row in _planar("ppo"):
        by_spread.setdefault((row["shift"], row["turn"]), {})[row["arm"]] = row

    def episodes(row: Mapping[str, Any]) -> str:
        solved = round(row["solved"] * row["seeds"])
        return f"{spaced(row['restricted_mean'])} ({solved} of {row['seeds']})"

    arms = ("world", "relative", "robot")
    return markdown(
        ["L, Θ", *(f"`{arm}`" for arm in arms), "world / robot", "relative / robot"],
        [
            [
                f"{shift:g}, {_ANGLES[round(turn, 2)]}",
                *(episodes(rows[arm]) for arm in arms),
                ratio_text(rows["world"]),
                ratio_text(rows["relative"]),
            ]
            for (shift, turn), rows in sorted(by_spread.items())
        ],
    )


@block("planar-imitation")
def _planar_imitation() -> str:
    found = {(row["task"], row["demos"], row["arm"]): row for row in _planar("imitation")}
    arms = ("world", "relative", "robot")
    lines, last = [], None
    for task, demos in sorted({key[:2] for key in found}):
        rows = [found.get((task, demos, arm)) for arm in arms]
        lines.append(
            [
                "" if task == last else f"`{task}`",
                spaced(demos),
                *("–" if row is None else _per_cent(row, "success") for row in rows),
                *("–" if row is None else saving_text(row) for row in rows[1:]),
            ]
        )
        last = task
    return markdown(
        ["task", "demonstrations", *(f"`{arm}`" for arm in arms), "saving, `relative`", "saving, `robot`"], lines
    )


@block("planar-finetune")
def _planar_finetune() -> str:
    return markdown(
        ["arm", "before, %", "after, %", "gain, points"],
        [
            [f"`{row['arm']}`", *(_per_cent(row, name) for name in ("before", "success", "gain"))]
            for row in _planar("finetune")
        ],
    )


# ---------------------------------------------------------------------- robot


_TASK_NAMES = {"stack-two": "stack-two", "stack-three": "stack-three", "nut-assembly": "nut assembly"}


def _robot_imitation(observations: Sequence[str]) -> str:
    sees = {"state": "poses", "cloud": "clouds", "tokens": "poses, clouds' network"}
    lines, last = [], None
    for row in _rows("robot"):
        if row["kind"] != "imitation" or row["observation"] not in observations or row["features"] != "poses":
            continue
        task = f"{_TASK_NAMES[row['task']]}, {sees[row['observation']]}"
        gap = (None if row[key] is None else 100 * row[key] for key in ("gap", "gap_low", "gap_high"))
        lines.append(
            [
                "" if task == last else task,
                str(row["demos"]),
                f"`{row['arm']}`",
                str(row["seeds"]),
                f"{row['successes']} of {row['seeds'] * row['scenes']}",
                _per_cent(row, "success", 0, ""),
                with_interval(*gap, digits=0),
            ]
        )
        last = task
    return markdown(
        ["imitation", "demonstrations", "frame", "seeds", "solved", "%, with 95 %", "points minus `world`"], lines
    )


@block("robot-clouds")
def _robot_clouds() -> str:
    return _robot_imitation(("cloud",))


@block("robot-poses")
def _robot_poses() -> str:
    return _robot_imitation(("state", "tokens"))


@block("robot-finetune")
def _robot_finetune() -> str:
    sees = {"state": "poses", "cloud": "clouds"}
    rows = [row for row in _rows("robot") if row["kind"] == "finetune" and row["features"] == "poses"]
    return markdown(
        ["fine-tuning", "from", "frame", "steps", "seeds", "before", "after", "gain, points"],
        [
            [
                f"{row['task'].replace('nut-assembly', 'nut assembly')}, {sees[row['observation']]}",
                str(row["demos"]),
                f"`{row['arm']}`",
                spaced(round(row["env_steps"], -3)),
                str(row["seeds"]),
                f"{round(row['before'] * row['seeds'] * row['scenes'])} of {row['seeds'] * row['scenes']}",
                f"{row['successes']} of {row['seeds'] * row['scenes']}",
                _per_cent(row, "gain", 0, ""),
            ]
            for row in rows
        ],
    )


def _fair_rows(kind: str) -> list[dict[str, Any]]:
    """Rows of the comparison of frames, and of what fine-tuning does from its policies."""
    return [row for row in _rows("robot") if row["kind"] == kind and row["features"] == "relations"]


def _fair_place(row: Mapping[str, Any]) -> list[str]:
    moved = f"± {row['shift']:g} m, {row['turn']:g}°" if row["shift"] or row["turn"] else "stands still"
    task = _TASK_NAMES[row["task"]] + (", clouds" if row["observation"] == "cloud" else "")
    return [task, moved, f"`{row['arm']}`"]


def _by_demonstrations(rows: Sequence[Mapping[str, Any]], cell: Callable[[Mapping[str, Any]], str]) -> str:
    """One line per task, cell and frame, one column per number of demonstrations."""
    sizes = sorted({int(row["demos"]) for row in rows})
    lines: dict[tuple[str, ...], dict[int, str]] = {}
    for row in rows:
        lines.setdefault(tuple(_fair_place(row)), {})[int(row["demos"])] = cell(row)
    return markdown(
        ["task", "cell", "frame", *map(str, sizes)],
        [[*place, *(found.get(size, "–") for size in sizes)] for place, found in lines.items()],
    )


@block("robot-frames")
def _robot_frames() -> str:
    rows = [row for row in _fair_rows("imitation") if not row["mishaps"]]
    if not rows:
        return _PLANNED
    return _by_demonstrations(rows, lambda row: _per_cent(row, "success", 0, ""))


@block("robot-savings")
def _robot_savings() -> str:
    rows = [row for row in _fair_rows("saving") if not row["mishaps"]]
    return _by_demonstrations(rows, saving_text) if rows else _PLANNED


@block("robot-pilot")
def _robot_pilot() -> str:
    return _tuning_table([row for row in _fair_rows("finetune") if row["test_from"] == PILOT_SEED])


@block("robot-tuning")
def _robot_tuning() -> str:
    return _tuning_table([row for row in _fair_rows("finetune") if row["test_from"] != PILOT_SEED])


def _tuning_table(rows: Sequence[Mapping[str, Any]]) -> str:
    if not rows:
        return _PLANNED

    def share(row: Mapping[str, Any], name: str) -> str:
        return "–" if row[name] is None else f"{100 * row[name]:.0f}"

    return markdown(
        [
            *("task", "cell", "frame", "demonstrations", "PPO", "reward", "steps", "seeds"),
            *("before, %", "after, %", "gain, points", "training episodes, first and last, %"),
        ],
        [
            [
                *_fair_place(row),
                str(row["demos"]),
                row["variant"] or "repaired",
                row["pays"],
                spaced(round(row["env_steps"], -3)),
                str(row["seeds"]),
                _per_cent(row, "before", 0, ""),
                _per_cent(row, "success", 0, ""),
                _per_cent(row, "gain", 0, ""),
                f"{share(row, 'training_first')}, {share(row, 'training_last')}",
            ]
            for row in rows
        ],
    )


# ---------------------------------------------------------------------- mistakes


def _mistakes(name: str) -> list[dict[str, str]]:
    with committed_file("mistakes", f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


#: How the models are called on the page.
_MODELS = {
    "slip-ring(n=5) / Z": "slip-ring 5, Z₅",
    "slip-ring(n=10) / Z": "slip-ring 10, Z₁₀",
    "slip-ring(n=15) / Z": "slip-ring 15, Z₁₅",
    "slip-ring(n=20) / Z": "slip-ring 20, Z₂₀",
    "slip-ring(n=10) / D": "slip-ring 10, D₁₀",
    "slip-ring(n=10, goal=fixed) / Z": "slip-ring 10, goal fixed in p₀",
    "grid(n=5)": "grid 5×5, D₄",
    "torus(n=3)": "torus 3×3, translations and D₄",
    "hypercube(d=4)": "hypercube 4, S₄",
    "hypercube(d=6)": "hypercube 6, S₆",
    "river(length=5)": "symmetric RiverSwim, Z₂",
    "river-product()": "RiverSwim³, S₃",
}


def _float(text: str) -> float | None:
    return float(text) if text else None


@block("mistakes-ratios")
def _mistakes_ratios() -> str:
    def cells(row: Mapping[str, str]) -> list[str]:
        limits: dict[str, Any] = {"bound": row["bound"], "low": _float(row["low"]), "high": _float(row["high"])}
        counts = (float(row[key]) for key in ("mistakes M", "mistakes quotient"))
        return [
            _MODELS[row["model"]],
            number(float(row["scale"])),
            *(spaced(count) if count >= 100 else three_digits(count) for count in counts),
            three_digits(float(row["ratio"])),
            limits_text(limits),
            *(f"{float(row[key]):.3g}" for key in ("joint reachable", "joint", "order", "paper")),
            f"{row['capped M']} + {row['capped quotient']}",
        ]

    return markdown(
        ["model", "c", "M", "M̄", "ratio", "95 %", "joint reachable", "joint", "order of G", "paper", "capped"],
        [cells(row) for row in _mistakes("mistakes")],
    )


@block("mistakes-growth")
def _mistakes_growth() -> str:
    found = {
        row["side"]: with_interval(*(_float(row[key]) for key in ("exponent", "low", "high")), digits=2)
        for row in _mistakes("mistakes-growth")
    }
    return (
        f"Mistakes grow with the ring as N^{found['M, c = 0.3']} on M and N^{found['quotient, c = 0.3']} on M̄ between "
        f"15 and 20 cells at c = 0.3, and as N^{found['quotient, c = 1']} on M̄ between 5 and 10 at c = 1."
    )
