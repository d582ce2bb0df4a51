"""The 3D game in the report: final returns beside the paper's, and the learning curves of Fig. 4b."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from burnside.experiments.arms import read_arms
from burnside.experiments.ring3d import PAPER, Setting
from burnside.experiments.ring3d.analysis import circling, curves, table
from burnside.experiments.ring3d.config import ALGORITHMS, VARIANTS
from burnside.report.page import Page
from burnside.report.parts import add_figures, add_results
from burnside.report.plots import Plot, plot
from burnside.report.style import ARM_COLOURS
from burnside.report.tables import Table, between, spaced, with_error, with_limits
from burnside.runs import Results

__all__ = ["curve_plots", "final_table", "ring3d_part", "show", "variant_table"]

#: Changes of a learner that have a curve: none, and those that it cannot do without; the others are in the table.
_DRAWN = ("", "smallest")
#: An arm is a colour, the encoder is the line.
_LINES = {"pool": "-", "flatten": "--"}


def ring3d_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """Tabulate and draw the sweep of the preset; the committed study is shown beside it."""
    page.text(
        "DQN and PPO on the 3D game of App. C, N = 5. The paper gives one number per arm and neither the "
        "algorithm nor how the policy was played, so greedy and sampled play of both are shown. 'pool' is the paper's "
        "encoder, which averages over all cells; 'flatten' keeps places.",
        f"Why a trained policy can end below a random one: a policy that ignores the board and is played greedily runs "
        f"in a circle of a few cells, and pays for a mine on 70 % of 100 steps unless the goal happens to lie on it, "
        f"which gives {circling(2):.1f} to {circling(5):.1f} for circles of two to five cells; the paper's baseline "
        f"has {with_error(*PAPER['baseline'])}.",
    )
    add_results(page, "ring3d", show, preset, folder, out)


def show(page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
    """Add one folder of results to the page."""
    results = read_arms(folder, allow_missing=True)
    rows = table(folder, allow_missing=True)
    page.table(*final_table(rows), caption)
    if changed := variant_table(rows)[1]:
        page.table(variant_table(rows)[0], changed, f"{caption}. App. C's PPO with changes, by their names in VARIANTS")
    add_figures(page, curve_plots(results, suffix), out)


def final_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Final returns of App. C's learners beside the paper's; for the report and for the page of the experiment."""

    def line(row: Mapping[str, Any]) -> list[str]:
        learned = row["seeds"] is not None
        return [
            row["algorithm"].upper() if learned else row["algorithm"],
            row["arm"] or "",
            row["encoder"] or "",
            str(row["seeds"] or ""),
            str(row["episodes"] or ""),
            spaced(row["updates"]) if learned else "",
            _score(row, "greedy"),
            between(row["greedy_low"], row["greedy_high"]) if learned else "",
            _score(row, "sampled"),
            between(row["sampled_low"], row["sampled_high"]) if learned else "",
            _score(row, "late"),
            f"{100 * row['solved']:.0f} %",
            "" if row["cells"] is None else f"{row['cells']:.0f}",
            with_error(row["paper_mean"], row["paper_se"], 2) if learned else "",
        ]

    headers = (
        *("algorithm", "arm", "encoder", "seeds", "episodes", "updates", "greedy", "95 %", "sampled", "95 %"),
        *("last 5 greedy", "solved", "cells", "the paper"),
    )
    return headers, [line(row) for row in rows if not row["variant"]]


def _score(row: Mapping[str, Any], name: str) -> str:
    return "" if row[f"{name}_mean"] is None else with_error(row[f"{name}_mean"], row[f"{name}_se"])


def variant_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Final returns with changes of App. C's PPO, in the order in which they were tried."""
    names = list(VARIANTS)
    changed = sorted(
        (row for row in rows if row["variant"]),
        key=lambda row: (
            row["episodes"],
            names.index(row["variant"]),
            row["encoder"] != "pool",
            row["arm"] == "baseline",
        ),
    )
    headers = (
        *("change", "arm", "encoder", "seeds", "episodes"),
        *(
            "greedy",
            "sampled",
            "last 100 training episodes",
            "solved",
            "episodes until learned",
            "times the canonical agent's",
        ),
    )
    return headers, [
        [
            row["variant"],
            row["arm"],
            row["encoder"],
            str(row["seeds"]),
            spaced(row["episodes"]),
            *(_score(row, name) for name in ("greedy", "sampled", "train")),
            f"{100 * row['solved']:.0f} %",
            f"{row['seeds'] - row['until_censored']} of {row['seeds']} seeds"
            + (f": {spaced(row['until'])}" if not row["until_censored"] else ""),
            with_limits(row["ratio"], row["ratio_low"], row["ratio_high"], row["ratio_bound"], 2)
            if row["ratio"] is not None
            else "not decided"
            if row["ratio_bound"] == "not decided"
            else "–",
        ]
        for row in changed
    ]


def curve_plots(results: Results, suffix: str = "", window: int | None = None) -> list[Plot]:
    """Fig. 4b, one plot per algorithm and budget: moving averages of the training return, with Student's 95 % bands.

    The default window is a fifth of the run, from 10 to 100 episodes: over more, a short curve would be all start.
    """
    out = []
    rows = [row for row in results.rows if (row.get("variant") or "") in _DRAWN]
    found = {(str(row["algorithm"]), int(row["episodes"])) for row in rows}
    for algorithm, budget in sorted(found, key=lambda each: (ALGORITHMS.index(each[0]), each[1])):
        wide = min(100, max(10, budget // 5)) if window is None else window
        shortest = min(episodes for name, episodes in found if name == algorithm)
        name = f"fig4b-ring3d-{algorithm}" + ("" if budget == shortest else f"-{budget}")
        key = (algorithm, budget)
        mine = [
            curve
            for curve in curves(results, window=wide)
            if (curve.setting.algorithm, curve.budget) == key and curve.setting.variant in _DRAWN
        ]

        def draw(figure: Any, mine: Any = mine) -> None:
            axes = figure.subplots()
            for curve in mine:
                setting: Setting = curve.setting
                colour = ARM_COLOURS[setting.arm]
                label = ", ".join(word for word in (setting.arm, setting.encoder, setting.variant) if word)
                axes.plot(curve.episode, curve.mean, color=colour, linestyle=_LINES[setting.encoder], label=label)
                if curve.seeds > 1:
                    axes.fill_between(curve.episode, curve.low, curve.high, color=colour, alpha=0.15, linewidth=0)
            for arm, (mean, _) in PAPER.items():
                axes.axhline(mean, color=ARM_COLOURS[arm], linestyle=":", linewidth=1)
            axes.set(xlabel="episode", ylabel="training return", ylim=(-75, 22))
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2)

        points = [
            (curve.setting.arm, curve.setting.encoder, curve.setting.variant, curve.seeds, *map(float, point))
            for curve in mine
            for point in zip(curve.episode, curve.mean, curve.low, curve.high, strict=True)
        ]
        caption = (
            f"Fig. 4b, {algorithm.upper()}: training return, moving average over {wide} episodes (fewer at the "
            f"start), mean over seeds with Student's 95 % band; dotted: the paper's final rewards."
        )
        out.append(
            plot(
                f"{name}{suffix}",
                caption,
                draw,
                ("arm", "encoder", "variant", "seeds", "episode", "mean", "low", "high"),
                points,
                seeds=min(curve.seeds for curve in mine),
            )
        )
    return out
