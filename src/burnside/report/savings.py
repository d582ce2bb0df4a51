"""What symmetry saved: curves with bands, ratios over thresholds, solved fractions, a dot for every seed; the study.

:func:`measure_page` is the page of ``burnside measure``; :func:`atlas_part` the part of the report, with one picture of
all environments: measured saving against group order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnside.experiments.atlas.analysis import BY_SYMMETRY, Group, curve_band, groups, rows_of, table, verdicts
from burnside.experiments.atlas.config import FRACTIONS, MAIN, PATIENCE, PRESETS, conditions
from burnside.report import style
from burnside.report.page import Page
from burnside.report.parts import add_results
from burnside.report.plots import Plot, plot
from burnside.report.tables import markdown, number
from burnside.runs.results import committed, unfinished
from burnside.stats.ratios import Ratio

__all__ = [
    "arms_of",
    "atlas_part",
    "measure_page",
    "plan_table",
    "ratio_dots",
    "savings_plot",
    "savings_rows",
    "savings_table",
    "verdict_table",
]

_COLOURS = style.ARM_COLOURS
_STYLES = {"": "-", "domain": "--", "feature": ":", "placebo": "-."}
HEADERS = [
    "arm",
    "control",
    "seeds",
    "solved",
    "median steps",
    "times fewer, 95 %",
    "p",
    "order",
    "updates",
    "s / run",
    "verdict",
]


def _label(arm: str, control: str) -> str:
    return f"{arm}, {control}" if control else arm


def ratio_text(row: dict[str, Any]) -> str:
    """The ratio of a row for people; where runs of both sides do not arrive, that of the steps within the budget."""
    if row["ratio"] is None and not row["bound"]:
        return "–"
    if row["bound"] == "not decided" and row["within"] is not None:
        return "within the budget " + Ratio(row["within"], row["within_low"], row["within_high"], "", (0, 0)).text()
    value = math.nan if row["ratio"] is None else row["ratio"]
    return Ratio(value, row["low"], row["high"], row["bound"] or "", (0, 0)).text()


def savings_rows(rows: Sequence[dict[str, Any]]) -> list[list[object]]:
    """Rows of ``burnside measure`` as cells of a table; see :data:`HEADERS`."""
    return [
        [
            row["arm"],
            row["control"] or "–",
            row["seeds"],
            f"{row['solved']:.0%}",
            number(row["steps"]),
            ratio_text(row),
            "–" if row["p"] is None else "< 0.001" if row["p"] < 0.001 else f"{row['p']:.3f}",
            "∞" if row["order"] is None and row["arm"] != "baseline" else row["order"],
            number(round(row["updates"])),
            "–" if row["seconds"] is None else f"{row['seconds']:.0f}",
            row["verdict"] or "–",
        ]
        for row in rows
    ]


def _name(group: Group, what: str) -> str:
    words = "-".join(part for part in group.key if part)
    return what + "-" + "".join(c if c.isalnum() else "-" for c in words).lower()


def _legend_below(figure: Any) -> None:
    """A legend that hides no data."""
    figure.legend(loc="outside lower center", ncols=4, fontsize=7)


def _plain_ticks(axis: Any) -> None:
    """Plain numbers on a logarithmic axis."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.set_minor_locator(LogLocator(subs=()))


def _curves(group: Group) -> Plot:
    rows: list[tuple[Any, ...]] = []
    bands = {key: curve_band(scores) for key, scores in group.conditions.items()}
    for (arm, control), band in bands.items():
        rows += [(arm, control, *point) for point in zip(*band.values(), strict=True)]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for (arm, control), band in bands.items():
            colour = _COLOURS.get(arm, "#000000")
            label = _label(arm, control)
            axes.plot(band["step"], band["mean"], _STYLES[control], color=colour, label=label)
            if not control:
                axes.fill_between(band["step"], band["low"], band["high"], color=colour, alpha=0.15, linewidth=0)
        for fraction in FRACTIONS:
            axes.axhline(group.threshold(fraction), color="#bbbbbb", linewidth=0.6)
        axes.set_xlabel("environment steps")
        axes.set_ylabel("mean return of greedy episodes")
        _legend_below(figure)

    caption = f"{' '.join(p for p in group.key if p)}: mean over seeds with 95 % bands (arms). Lines: the thresholds"
    return plot(_name(group, "curves"), caption, draw, ["arm", "control", "step", "mean", "low", "high"], rows)


def _over_thresholds(group: Group) -> Plot:
    found = {key: group.over_thresholds(key) for key in group.conditions if key != ("baseline", "")}
    rows = [(arm, control, *point.values()) for (arm, control), points in found.items() for point in points]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for k, ((arm, control), points) in enumerate(found.items()):
            usable = [p for p in points if p["ratio"] is not None]
            if not usable:
                continue
            x = [p["fraction"] + 0.003 * k for p in usable]
            y = [p["ratio"] for p in usable]
            down = [p["ratio"] - (p["low"] if p["low"] is not None else p["ratio"]) for p in usable]
            up = [(p["high"] if p["high"] is not None else p["ratio"]) - p["ratio"] for p in usable]
            colour = _COLOURS.get(arm, "#000000")
            axes.errorbar(x, y, [down, up], fmt="o" + _STYLES[control], color=colour, label=_label(arm, control), ms=3)
        axes.axhline(1.0, color="#888888", linewidth=0.8)
        axes.set_yscale("log")
        _plain_ticks(axes.yaxis)
        axes.set_xticks(FRACTIONS, [f"{fraction:.0%}" for fraction in FRACTIONS])
        axes.set_xlabel("threshold, as a share of the way from random to best")
        axes.set_ylabel("steps of the baseline / steps of the arm")
        if axes.get_legend_handles_labels()[0]:  # else no ratio is known
            _legend_below(figure)

    before = "that were fixed before" if group.given else "on a scale measured in the baseline's runs"
    caption = f"How many times fewer steps, over thresholds {before}; 95 % by Welch's t on logarithms"
    return plot(
        _name(group, "ratios"),
        caption,
        draw,
        ["arm", "control", "fraction", "score", "ratio", "low", "high", "bound"],
        rows,
    )


def _dots(group: Group) -> Plot:
    level = group.threshold(MAIN)
    found = {key: scores.times(level) for key, scores in group.conditions.items()}
    rows = [
        (arm, control, seed, float(time), bool(solved))
        for (arm, control), times in found.items()
        for seed, time, solved in zip(times.seeds, times.times, times.solved, strict=True)
    ]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for k, ((arm, _control), times) in enumerate(found.items()):
            colour = _COLOURS.get(arm, "#000000")
            for solved, marker in ((True, "o"), (False, "^")):
                here = np.flatnonzero(times.solved == solved)
                place = k + 0.5 * (here / len(times.solved) - 0.5)  # apart, since many arrive at the same evaluation
                fill = "full" if solved else "none"
                axes.plot(times.times[here], place, marker, color=colour, fillstyle=fill, ms=4)
        axes.set_yticks(range(len(found)), [_label(*key) for key in found])
        axes.set_xscale("log")
        _plain_ticks(axes.xaxis)
        axes.invert_yaxis()
        axes.set_xlabel(f"steps to {level:.4g}, sustained; triangles: not within the budget")

    return plot(_name(group, "seeds"), "Every seed", draw, ["arm", "control", "seed", "steps", "solved"], rows)


def add_group(page: Page, group: Group, out: Path, refuted: bool | None = None) -> None:
    """One environment: its table and three figures."""
    page.table(HEADERS, savings_rows(rows_of(group, refuted)), _caption(group))
    for figure in (_curves(group), _over_thresholds(group), _dots(group)):
        figure.save(out / "figures")
        page.figure(figure.svg, figure.caption)


def _caption(group: Group) -> str:
    ends = ("random", "best; fixed before")
    if not group.given:
        ends = "the baseline's first evaluation", "its best one; no scores were given"
    return (
        f"{' '.join(p for p in group.key if p)}: steps until {MAIN:.0%} of the way from {group.random:.4g} ({ends[0]}) "
        f"to {group.best:.4g} ({ends[1]}) is reached in {PATIENCE} evaluations in a row: {group.threshold(MAIN):.4g}"
    )


def measure_page(found: Sequence[Group], out: Path, lead: str, refuted: bool | None = None) -> Path:
    """The page of a measurement, ``report.html`` in a folder; ``refuted``: the check refutes its symmetry."""
    page = Page("What the symmetry saves", lead=lead)
    for group in found:
        page.section(" ".join(part for part in group.key if part))
        add_group(page, group, out, refuted)
    return page.write(out / "report.html")


# ---------------------------------------------------------------------- the study


#: Ticks of the picture.
_TIMES = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32)


def arms_of(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the table without the baseline and the controls."""
    return [row for row in rows if row["arm"] != "baseline" and not row["control"]]


def savings_plot(
    rows: Sequence[dict[str, Any]], name: str = "atlas-savings", least: tuple[float, float] = (6.8, 3.1)
) -> Plot | None:
    """One picture: environments by measured saving, the order of the group beside them, arms as colours.

    Args:
        rows: of the table, arms only; None is returned where none of them has a ratio.
        name: of the files.
        least: inches, width and least height.
    """
    known = [row for row in rows if row["ratio"] is not None or row["within"] is not None]
    if not known:
        return None
    found = list(dict.fromkeys((row["env"], row["variant"]) for row in known))
    first = list(dict.fromkeys(env for env, _ in found))
    names = sorted(found, key=lambda key: first.index(key[0]))
    orders = {key: {row["order"] for row in rows if (row["env"], row["variant"]) == key} for key in names}
    arms = [arm for arm in style.ARM_COLOURS if any(row["arm"] == arm for row in known)]
    # where runs of both sides do not arrive, the ratio of the steps within the budget
    shown = [row if row["ratio"] is not None else _spent(row) for row in known]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for k, arm in enumerate(arms):
            mine = [row for row in shown if row["arm"] == arm]
            place = [names.index((row["env"], row["variant"])) + 0.76 * (k + 0.5) / len(arms) - 0.38 for row in mine]
            ratio_dots(axes, mine, place, arm)
        for k, key in enumerate(names):
            if None not in orders[key]:
                axes.plot([max(orders[key])] * 2, [k - 0.42, k + 0.42], color=style.LINE, linewidth=4, zorder=1)
        axes.axvline(1.0, color=style.MUTED, linewidth=1)
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        ticks = [value for value in _TIMES if low <= value <= high]
        axes.set_xticks(ticks, [f"{value:g}" for value in ticks])
        axes.minorticks_off()
        axes.set_yticks(range(len(names)), [_short(*key) for key in names], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("times fewer steps")
        axes.plot([], [], "o", color=style.MUTED, markersize=4, label="filled: by symmetry")
        axes.plot([], [], color=style.LINE, linewidth=4, label="order of the group")
        figure.legend(loc="outside lower center", ncols=3, fontsize=7)

    caption = (
        "What symmetry saves, environment by environment, with 95 % intervals over seeds. Filled: shown to be by "
        "symmetry. Grey bars: the order of the group, where it is finite"
    )
    headers = ("env", "variant", "arm", "ratio", "low", "high", "bound", "verdict", "order")
    data = [tuple(row[key] for key in headers) for row in shown]
    size = (least[0], max(least[1], 1.4 + 0.062 * len(names) * (len(arms) + 1)))
    return plot(name, caption, draw, headers, data, size=size)


def _spent(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the ratio of the steps spent within the budget in the place of its own."""
    ends = {"ratio": row["within"], "low": row["within_low"], "high": row["within_high"]}
    return row | ends | {"bound": "within the budget"}


def _short(env: str, variant: str) -> str:
    """The name of a task, short enough to stand beside a picture; a variant comes after the task it varies.

    >>> _short("burnside/PlanarPush-v0", ""), _short("MiniGrid-DoorKey-5x5-v0", ""), _short("Reacher-v5", "mirror only")
    ('PlanarPush', 'MiniGrid DoorKey', '… mirror only')
    """
    name = re.sub(
        r"(Continuous)?(-Random)?(-5x5)?-v(?!4)\d+$", "", env.split("/")[-1].replace("MiniGrid-", "MiniGrid ")
    )
    return f"… {variant}" if variant else name


def ratio_dots(axes: Any, rows: Sequence[dict[str, Any]], place: Sequence[float], arm: str) -> None:
    """Ratios with what is known of their intervals; a bound points to where the ratio may be."""
    colour = style.arm_colour(arm)
    for row, y in zip(rows, place, strict=True):
        low, high = (row["ratio"] if row[end] is None else row[end] for end in ("low", "high"))
        marker = {"at least": ">", "at most": "<"}.get(row["bound"], "o")
        axes.plot([low, high], [y, y], color=colour, linewidth=1.2, zorder=2)
        inside = colour if row.get("verdict", BY_SYMMETRY) == BY_SYMMETRY else "white"
        axes.plot([row["ratio"]], [y], marker, color=colour, markerfacecolor=inside, markersize=4, zorder=3)
    axes.plot([], [], "o", color=colour, markersize=4, label=arm)


def plan_table() -> str:
    """The tasks of the study with what they cost, for the page of the documentation."""
    heads = ["environment", "family", "learner", "steps", "seeds", "conditions", "core-hours"]
    rows, total = [], 0.0
    for task in PRESETS["study"]:
        count = len(conditions(task))
        hours = task.cost * task.seeds * count / 3600
        total += hours
        rows.append(
            [f"`{task.env}` {task.variant}".strip(), task.family, task.learner, number(task.steps), str(task.seeds),
             str(count), f"{hours:.1f}"]
        )  # fmt: skip
    return markdown(heads, [*rows, ["all", "", "", "", "", "", f"{total:.1f}"]])


def savings_table() -> str:
    """The ratios of the study's tasks that have finished, a line each, for the page of the documentation."""
    folder = committed("atlas") or unfinished("atlas")
    if folder is None:
        return "No task has finished yet."
    found = {(row["env"], row["variant"], row["arm"], row["control"]): row for row in table(folder, allow_missing=True)}
    shown = ("canonical", "augment", "averaging")
    heads = [
        "environment, learner", "order", *shown, "canonical, other domain", "feature alone", "placebo, canonical",
        "placebo, averaging",
    ]  # fmt: skip
    wanted = [*((arm, "") for arm in shown), ("canonical", "domain"), ("canonical", "feature")]
    wanted += [("canonical", "placebo"), ("averaging", "placebo")]
    rows, early = [], []
    for task in PRESETS["study"]:
        mine = {key: found.get((task.env, task.variant, *key)) for key in conditions(task)}
        if any(row is None or row["seeds"] < task.seeds for row in mine.values()):
            continue
        # of infinite groups every transition gets one image, see the config
        one_image = {("augment", ""): ("augment-random", "")}
        cells = [mine.get(key) or mine.get(one_image.get(key, key)) for key in wanted]
        name = f"`{task.env}`{', ' + task.variant if task.variant else ''}"
        there = [
            f"{_label(row['arm'], row['control'])} {row['at_first']} of {row['seeds']}"
            for row in mine.values()
            if row is not None and row["at_first"]
        ]
        early += [f"{name}: {', '.join(there)}"] if there else []
        # a network is averaged over a part of an infinite group only: the form knows the whole one
        named = [row for row in mine.values() if row is not None and row["arm"] == "canonical"]
        orders = {row["order"] for row in named or mine.values() if row is not None and row["arm"] != "baseline"}
        rows.append(
            [
                f"{name}, {task.learner}",
                "∞" if None in orders else str(max(orders)),
                *("–" if row is None else ratio_text(row) for row in cells),
            ]
        )
    done = f"{len(rows)} of {len(PRESETS['study'])} tasks have finished."
    first = (
        f"Runs that are there at their first evaluation may have needed fewer steps than it counts: "
        f"{'; '.join(early)}. Where they are runs of the arm, its ratio may be larger, upper limits included; where "
        f"they are the baseline's, smaller."
    )
    return f"{done}\n\n{markdown(heads, rows)}" + (f"\n\n{first}" if early else "")


def verdict_table() -> str:
    """What may be said of every arm of the study, a line for each task that has finished."""
    folder = committed("atlas") or unfinished("atlas")
    if folder is None:
        return "No task has finished yet."
    words = {
        "a saving by symmetry": "saves by symmetry",
        "a saving": "saves; not shown to be by symmetry",
        "not decided": "not decided",
        "a loss": "loses",
    }
    rows = []
    for group in groups(folder, allow_missing=True):
        said: dict[str, list[str]] = {word: [] for word in words}
        for (arm, _), verdict in verdicts(group).items():
            said[next(word for word in words if verdict.startswith(word))].append(arm)
        env, variant, learner = group.key
        task = f"`{env}`{', ' + variant if variant else ''}, {learner}"
        rows.append([task, *(", ".join(arms) or "–" for arms in said.values())])
    return markdown(["environment, learner", *words.values()], rows)


def atlas_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """Tabulate and draw the sweep of the preset; the committed study is shown beside it."""
    page.text(
        "How many times fewer environment steps a learner needs to a sustained threshold because it uses a symmetry, "
        "in environments people use. Thresholds and budgets were fixed before; controls stand beside every arm: "
        "another fundamental domain, its indicator as a feature, and a symmetry of the same shape that does not hold. "
        "A saving that a control shares is not called a saving by symmetry."
    )
    add_results(page, "atlas", show, preset, folder, out)


def show(page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
    """Add one folder of results to the page."""
    found = groups(folder, allow_missing=True)
    rows = [row for group in found for row in rows_of(group)]
    figure = savings_plot(arms_of(rows), f"atlas-savings{suffix}")
    if figure is not None:
        figure.save(out / "figures")
        page.figure(figure.svg, figure.caption)
    page.table(
        ["environment", "learner", *HEADERS],
        [[f"{row['env']} {row['variant']}".strip(), row["learner"], *cells]
         for row, cells in zip(rows, savings_rows(rows), strict=True)],
        caption,
    )  # fmt: skip
