"""What symmetry saved: curves with bands, ratios over thresholds, solved fractions, a dot for every seed; the study.

:func:`measure_page` is the page of ``burnside measure``; :func:`atlas_part` the part of the report, with one picture of
all environments: measured saving against group order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from burnside.experiments.atlas.analysis import Group, curve_band, groups, rows_of, table
from burnside.experiments.atlas.config import FRACTIONS, MAIN, PATIENCE, PRESETS, conditions
from burnside.report import style
from burnside.report.page import Page
from burnside.report.parts import add_results
from burnside.report.plots import Plot, plot
from burnside.report.tables import markdown, number
from burnside.runs.results import committed, unfinished
from burnside.stats.ratios import Ratio

__all__ = ["atlas_part", "measure_page", "plan_table", "savings_plot", "savings_rows", "savings_table"]

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
    """The ratio of a row for people."""
    if row["ratio"] is None and not row["bound"]:
        return "–"
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
            "–" if row["p"] is None else f"{row['p']:.3f}",
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
        axes.legend(fontsize=7)

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
        axes.set_xlabel("threshold, as a share of the way from random to best")
        axes.set_ylabel("steps of the baseline / steps of the arm")
        axes.legend(fontsize=7)

    caption = "How many times fewer steps, over thresholds that were fixed before; 95 % by Welch's t on logarithms"
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
                here = times.times[times.solved == solved]
                axes.plot(here, [k] * len(here), marker, color=colour, fillstyle="full" if solved else "none", ms=4)
        axes.set_yticks(range(len(found)), [_label(*key) for key in found])
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_xlabel(f"steps to {level:.4g}, sustained; triangles: not within the budget")

    return plot(_name(group, "seeds"), "Every seed", draw, ["arm", "control", "seed", "steps", "solved"], rows)


def add_group(page: Page, group: Group, out: Path) -> None:
    """One environment: its table and three figures."""
    page.table(HEADERS, savings_rows(rows_of(group)), _caption(group))
    for figure in (_curves(group), _over_thresholds(group), _dots(group)):
        figure.save(out / "figures")
        page.figure(figure.svg, figure.caption)


def _caption(group: Group) -> str:
    scale = "fixed before" if group.given else "measured in the baseline's own runs, since no scores were given"
    return (
        f"{' '.join(p for p in group.key if p)}: steps until {MAIN:.0%} of the way from {group.random:.4g} (random) to "
        f"{group.best:.4g} (best; {scale}) is reached in {PATIENCE} evaluations in a row: {group.threshold(MAIN):.4g}"
    )


def measure_page(found: Sequence[Group], out: Path, lead: str) -> Path:
    """The page of a measurement, ``report.html`` in a folder."""
    page = Page("What the symmetry saves", lead=lead)
    for group in found:
        page.section(" ".join(part for part in group.key if part))
        add_group(page, group, out)
    return page.write(out / "report.html")


# ---------------------------------------------------------------------- the study


def savings_plot(found: Sequence[Group], name: str = "atlas-savings") -> Plot | None:
    """One picture: environments by measured saving, the order of the group beside them, arms as colours."""
    rows = [row for group in found for row in rows_of(group) if row["arm"] != "baseline" and not row["control"]]
    shown = [row for row in rows if row["ratio"] is not None]
    if not shown:
        return None
    names = list(dict.fromkeys((row["env"], row["variant"]) for row in shown))
    orders = {(row["env"], row["variant"]): row["order"] for row in shown}
    arms = list(dict.fromkeys(row["arm"] for row in shown))

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for k, arm in enumerate(arms):
            mine = [row for row in shown if row["arm"] == arm]
            y = [names.index((row["env"], row["variant"])) + 0.09 * (k - len(arms) / 2) for row in mine]
            x = [row["ratio"] for row in mine]
            left = [row["ratio"] - (row["low"] if row["low"] is not None else row["ratio"]) for row in mine]
            right = [(row["high"] if row["high"] is not None else row["ratio"]) - row["ratio"] for row in mine]
            axes.errorbar(
                x, y, xerr=[left, right], fmt="o", ms=3.5, color=_COLOURS.get(arm, "#000"), label=arm, linewidth=1
            )
        for k, key in enumerate(names):
            if orders[key]:
                axes.plot([orders[key]] * 2, [k - 0.4, k + 0.4], color="#bbbbbb", linewidth=2, zorder=0)
        axes.axvline(1.0, color="#888888", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_yticks(range(len(names)), [" ".join(p for p in key if p) for key in names], fontsize=7)
        axes.invert_yaxis()
        axes.set_xlabel("steps of the baseline / steps of the arm; grey bars: the order of the group")
        axes.legend(fontsize=7)

    caption = "What symmetry saves: environments by arm, 95 % intervals over seeds; the grey bar is the group's order"
    headers = ["env", "variant", "arm", "ratio", "low", "high", "bound", "order"]
    data = [tuple(row[key] for key in headers) for row in shown]
    return plot(name, caption, draw, headers, data, size=(6.8, 1.2 + 0.42 * len(names)))


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
    rows = []
    for task in PRESETS["study"]:
        mine = {key: found.get((task.env, task.variant, *key)) for key in conditions(task)}
        if any(row is None or row["seeds"] < task.seeds for row in mine.values()):
            continue
        # of infinite groups every transition gets one image, see the config
        one_image = {("augment", ""): ("augment-random", "")}
        cells = [mine.get(key) or mine.get(one_image.get(key, key)) for key in wanted]
        orders = {row["order"] for row in mine.values() if row is not None and row["arm"] == "canonical"}
        rows.append(
            [
                f"`{task.env}`{', ' + task.variant if task.variant else ''}, {task.learner}",
                "∞" if None in orders else str(max(orders)),
                *("–" if row is None else ratio_text(row) for row in cells),
            ]
        )
    done = f"{len(rows)} of {len(PRESETS['study'])} tasks have finished."
    return f"{done}\n\n{markdown(heads, rows)}"


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
    figure = savings_plot(found, f"atlas-savings{suffix}")
    if figure is not None:
        figure.save(out / "figures")
        page.figure(figure.svg, figure.caption)
    rows = [row for group in found for row in rows_of(group)]
    page.table(
        ["environment", "learner", *HEADERS],
        [[f"{row['env']} {row['variant']}".strip(), row["learner"], *cells]
         for row, cells in zip(rows, savings_rows(rows), strict=True)],
        caption,
    )  # fmt: skip
