"""The planar tasks in the report: episodes to 90 % by frame and spread, demonstrations, fine-tuning, the theorem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnside.experiments.planar.analysis import cover_rows, finetune_curves, table
from burnside.experiments.planar.config import ARMS
from burnside.report import style
from burnside.report.page import Page
from burnside.report.parts import add_figures, add_results
from burnside.report.plots import Plot, band, plot
from burnside.report.tables import number, per_cent, with_limits
from burnside.runs import Results, read_results
from burnside.stats.ratios import Ratio

__all__ = ["finetune_plot", "imitation_plot", "planar_part", "ratio_text", "saving_text", "show", "spread_plot"]

_COLOURS = style.ARM_COLOURS


def planar_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """Tabulate and draw the sweep of the preset; the committed study is shown beside it."""
    page.text(
        "Planar manipulation whose rules commute exactly with the rigid motions of the plane. Scenes are spread by "
        "translations up to L and rotations up to Θ. The arm 'robot' sees and acts in the robot's frame, which is a "
        "canonical form under SE(2); 'relative' takes positions relative to the robot and keeps the world's "
        "directions; 'world' takes everything as it is. All have the same network and width of input."
    )
    add_results(page, "planar", show, preset, folder, out)


def show(page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
    """Add one folder of results to the page."""
    results, rows = read_results(folder, allow_missing=True), table(folder, allow_missing=True)
    of = {kind: [row for row in rows if row["kind"] == kind] for kind in ("ppo", "imitation", "finetune")}
    page.table(
        [
            "task",
            "L",
            "Θ",
            "arm",
            "seeds",
            "solved",
            "restricted mean",
            "median",
            "budget",
            "times the robot's, 95 %",
        ],
        [_ppo_cells(row) for row in of["ppo"]],
        f"{caption}. PPO: episodes until 90 % of the last 500 succeed; unsolved runs are censored at the budget, and "
        f"the ratio of geometric means (Welch's t on logarithms) is then a lower limit",
    )
    page.table(
        ["task", "demonstrations", "arm", "seeds", "success", "95 %", "world needs, times as many"],
        [_imitation_cells(row) for row in of["imitation"]],
        f"{caption}. Imitation: success on held-out scenes",
    )
    page.table(
        ["task", "arm", "demonstrations", "seeds", "before", "after", "gain in points", "95 %", "environment steps"],
        [_finetune_cells(row) for row in of["finetune"]],
        f"{caption}. PPO over the denoising chain, from an imitation policy",
    )
    spreads = sorted({(float(row["shift"]), float(row["turn"])) for row in of["ppo"]})
    page.table(
        ["L", "Θ", "α", "log10 N(S×A, α), world", "relative", "robot = quotient", "log10 of the factor"],
        [
            [row["shift"], f"{row['turn']:.2f}", row["alpha"]]
            + [f"{row[key]:.1f}" for key in ("log10_world", "log10_relative", "log10_robot", "log10_ratio")]
            for row in cover_rows(spreads)
        ],
        "Theorem 3 beside it: covers, in the max norm, of what expert episodes visit. The factor grows with the "
        "spread, as the measured one should; its size is that of a bound, not of a learner",
    )
    figures = (spread_plot(results, rows, suffix), imitation_plot(rows, suffix), finetune_plot(results, suffix))
    add_figures(page, figures, out)


def ratio_text(row: dict[str, Any], digits: int = 1) -> str:
    """The ratio of a row for people; see :meth:`burnside.stats.Ratio.text`."""
    if row["ratio_bound"] is None:
        return "–"
    value = math.nan if row["ratio"] is None else row["ratio"]
    return Ratio(value, row["ratio_low"], row["ratio_high"], row["ratio_bound"], (0, 0)).text(digits)


def saving_text(row: Mapping[str, Any]) -> str:
    """How many times as many demonstrations the world's frame needs, for people."""
    if row["saving"] is None:
        return "–"
    return with_limits(row["saving"], row["saving_low"], row["saving_high"], row["saving_bound"])


def _ppo_cells(row: dict[str, Any]) -> list[object]:
    return [
        *(row["task"], row["shift"], f"{row['turn']:.2f}", row["arm"], row["seeds"], f"{row['solved']:.0%}"),
        number(None if row["restricted_mean"] is None else round(row["restricted_mean"])),
        number(row["median"]),
        row["budget"],
        ratio_text(row),
    ]


def _imitation_cells(row: dict[str, Any]) -> list[object]:
    return [
        *(row["task"], row["demos"], row["arm"], row["seeds"]),
        f"{row['success_mean']:.1%}",
        per_cent(row["success_low"], row["success_high"]),
        saving_text(row),
    ]


def _finetune_cells(row: dict[str, Any]) -> list[object]:
    return [
        *(row["task"], row["arm"], row["demos"], row["seeds"]),
        f"{row['before_mean']:.1%}",
        f"{row['success_mean']:.1%}",
        f"{100 * row['gain_mean']:.1f}",
        per_cent(row["gain_low"], row["gain_high"]),
        row["env_steps"],
    ]


def spread_plot(results: Results, rows: list[dict[str, Any]], suffix: str = "") -> Plot | None:
    """Episodes to 90 % against the spread, per arm; a triangle is a run that did not arrive."""
    mine = [row for row in results.rows if row["kind"] == "ppo"]
    if not mine:
        return None
    spreads = sorted({(float(r["shift"]), float(r["turn"])) for r in mine})

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for k, arm in enumerate(ARMS):
            for solved, marker in ((True, "o"), (False, "^")):
                chosen = [r for r in mine if r["arm"] == arm and r["solved"] == solved]
                x = [spreads.index((float(r["shift"]), float(r["turn"]))) + 0.12 * (k - 1) for r in chosen]
                face = _COLOURS[arm] if solved else "none"
                axes.scatter(x, [r["reached"] for r in chosen], s=16, marker=marker, facecolors=face,
                             edgecolors=_COLOURS[arm])  # fmt: skip
            means = [r["restricted_mean"] for s in spreads for r in rows
                     if r["kind"] == "ppo" and r["arm"] == arm and (r["shift"], r["turn"]) == s]  # fmt: skip
            if len(means) == len(spreads):
                axes.plot(range(len(spreads)), means, color=_COLOURS[arm], label=arm)
        axes.set_xticks(range(len(spreads)), [f"L = {a:g}, Θ = {b:.2f}" for a, b in spreads])
        axes.set(yscale="log", ylabel="episodes until 90 % succeed")
        axes.legend()

    caption = (
        "Episodes until 90 % succeed against the spread of the scenes, a dot per seed; open triangles are censored."
    )
    headers = ("task", "shift", "turn", "arm", "seed", "episodes", "solved")
    data = [[r[key] for key in ("task", "shift", "turn", "arm", "seed", "reached", "solved")] for r in mine]
    return plot(f"spread-planar{suffix}", caption, draw, headers, data, seeds=len({r["seed"] for r in mine}))


def imitation_plot(rows: list[dict[str, Any]], suffix: str = "") -> Plot | None:
    """Success against the number of demonstrations."""
    mine = [row for row in rows if row["kind"] == "imitation"]
    tasks = sorted({row["task"] for row in mine})
    if not mine:
        return None

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
        for axes, task in zip(panels, tasks, strict=True):
            for arm in ARMS:
                chosen = [r for r in mine if r["task"] == task and r["arm"] == arm]
                x, y = [r["demos"] for r in chosen], [100 * r["success_mean"] for r in chosen]
                axes.plot(x, y, color=_COLOURS[arm], marker="o", markersize=3, label=arm)
                if chosen and all(r["success_low"] is not None for r in chosen):
                    low, high = ([100 * r[f"success_{end}"] for r in chosen] for end in ("low", "high"))
                    axes.fill_between(x, low, high, color=_COLOURS[arm], alpha=0.15, linewidth=0)
            axes.set(xscale="log", xlabel="demonstrations", title=task, ylim=(0, 102))
        panels[0].set_ylabel("success, %")
        panels[0].legend()

    headers = ("task", "demos", "arm", "seeds", "success", "low", "high")
    keys = ("task", "demos", "arm", "seeds", "success_mean", "success_low", "success_high")
    seeds = min(r["seeds"] for r in mine)
    caption = "Imitation: success on held-out scenes against the number of demonstrations, 95 % over seeds."
    data = [[r[key] for key in keys] for r in mine]
    return plot(f"imitation-planar{suffix}", caption, draw, headers, data, size=(4.2 * len(tasks), 3.4), seeds=seeds)


def finetune_plot(results: Results, suffix: str = "") -> Plot | None:
    """Fig. 5 in small: success against environment steps."""
    found = finetune_curves(results)
    if not found:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for curve in found:
            look = {"color": _COLOURS[curve.arm], "label": f"{curve.task}, {curve.arm}"}
            band(axes, curve.env_steps, curve.mean, curve.low, curve.high, scale=100, **look)
        axes.set(xlabel="environment steps", ylabel="success, %", ylim=(0, 102))
        axes.legend()

    rows = [
        (c.task, c.arm, c.seeds, *map(float, point))
        for c in found
        for point in zip(c.env_steps, c.mean, c.low, c.high, strict=True)
    ]
    caption = "PPO over the denoising chain (Fig. 5 in small): success on held-out scenes, Student's 95 % over seeds."
    headers = ("task", "arm", "seeds", "env_steps", "success", "low", "high")
    return plot(f"fig5-planar{suffix}", caption, draw, headers, rows, seeds=min(c.seeds for c in found))
