"""The 1D game in the report: Table 1 beside the paper's, Fig. 4a, and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnside.experiments.arms import read_arms
from burnside.experiments.ring1d import PAPER
from burnside.experiments.ring1d.analysis import PARTS, by_rule, growth, ratios, returns_by_part, table
from burnside.report.page import Page
from burnside.report.parts import add_figures, add_results
from burnside.report.plots import Plot, band, plot
from burnside.report.style import ARM_COLOURS
from burnside.report.tables import number, spaced, with_error
from burnside.runs import Results
from burnside.stats.intervals import mean_band
from burnside.theory.bounds import Size, leading_log10

__all__ = ["curves_plot", "returns_plot", "ring1d_part", "times_plot"]


def ring1d_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """Draw and tabulate the sweep of the preset; the committed study is shown beside it."""
    page.text(
        "DQN on the ring of App. C. A run has converged at the first episode at which the mean return of its last 100 "
        "training episodes reaches 95 % of the exact expected optimal return. Runs that never do are censored: they "
        "count as solved in no column, and the restricted mean takes them at their budget. Steps are those a run took "
        "until it converged, or until its episodes were over.",
        "A censored run need not be one that would converge with more episodes: the last figure shows whether its "
        "return still rises when the budget ends, or falls.",
    )
    add_results(page, "ring1d", show, preset, folder, out)


def show(page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
    """Add one folder of results to the page."""
    results = read_arms(folder, allow_missing=True)
    rows = table(folder, allow_missing=True)
    body = [
        [
            row["n"],
            row["arm"],
            row["variant"],
            row["seeds"],
            f"{row['solved']:.0%}",
            with_error(row["mean"], row["se"]),
            with_error(row["restricted_mean"], row["restricted_se"]),
            number(row["median"]),
            ("≥ " if row["censored"] else "") + with_error(row["steps_mean"], row["steps_se"]),
            row["budget"],
            with_error(row["paper_mean"], row["paper_se"]),
        ]
        for row in rows
    ]
    headers = [
        "N",
        "arm",
        "DQN",
        "seeds",
        "solved",
        "mean ± SE",
        "restricted mean",
        "median",
        "in steps",
        "budget",
        "paper",
    ]
    page.table(headers, body, caption)
    found = [[n, ratio.text(), ratio.censored[0], ratio.censored[1]] for n, ratio in ratios(results).items()]
    if found:
        page.table(
            ["N", "baseline / canonical, 95 %", "censored, baseline", "censored, canonical"],
            found,
            "Episodes of the baseline over those of the canonical agent: geometric means, Welch's t on logarithms. "
            "Where the baseline is censored, the lower limit with its runs at their budget",
        )
    for row in rows:
        if row["late_change_high"] is not None and row["late_change_high"] < 0:
            low, high = row["late_change_low"], row["late_change_high"]
            page.text(
                f"N = {row['n']}, {row['arm']}{_which(row)}: the training return falls by {-row['late_change']:.1f} "
                f"(95 %: {-high:.1f} to {-low:.1f}) from the fifth tenth of the budget to the last. Training makes it "
                f"worse, so its censored runs do not measure the samples it needs."
            )
    for arm in ("baseline", "canonical"):
        slope = growth(results, arm)
        if slope is not None:
            page.text(f"{arm}: episodes grow as N^{slope.exponent:.2f} ({slope.interval}).")
    rules = by_rule(folder, allow_missing=True)
    keys = ("n", "arm", "variant", "budget")
    keyed = {rule: {tuple(r[key] for key in keys): r for r in rows} for rule, rows in rules.items()}
    compared = [
        [*key, *(number(_rounded(keyed[rule][key]["restricted_mean"])) for rule in rules)] for key in keyed["train95"]
    ]
    page.table(["N", "arm", "DQN", "budget", *rules], compared, "Restricted mean under other readings of 'converged'")
    plots = (times_plot, curves_plot, returns_plot)
    add_figures(page, (draw(results, suffix) for draw in plots), out)


def _which(row: Mapping[str, Any]) -> str:
    """What sets a row apart from the others of its size and arm."""
    variant = "" if row["variant"] == "paper" else f" with {row['variant']}"
    return f"{variant} ({spaced(row['budget'])} episodes)"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def times_plot(results: Results, suffix: str = "") -> Plot:
    """Fig. 4a: episodes to convergence against N, the paper's points, and the bound's leading term."""
    least: dict[tuple[int, str], int] = {}
    for r in results.rows:
        least[r["n"], r["arm"]] = min(r["episodes"], least.get((r["n"], r["arm"]), r["episodes"]))
    rows = [
        (r["n"], r["arm"], r["seed"], r["train95"], r["train95_solved"])
        for r in results.rows
        if r["episodes"] == least[r["n"], r["arm"]] and (r.get("variant") or "paper") == "paper"
    ]
    sizes = sorted({r[0] for r in rows})

    def draw(figure: Any) -> None:
        left, right = figure.subplots(1, 2, width_ratios=[3, 2])
        for arm in sorted({r[1] for r in rows}):
            colour = ARM_COLOURS[arm]
            mine = [r for r in rows if r[1] == arm]
            solved, open_ = ([r for r in mine if r[4] == flag] for flag in (True, False))
            left.scatter([r[0] for r in solved], [r[3] for r in solved], s=9, color=colour, alpha=0.5)
            left.scatter(
                [r[0] for r in open_], [r[3] for r in open_], s=18, marker="^", facecolors="none", edgecolors=colour
            )
            means = [np.mean([r[3] for r in mine if r[0] == n]) for n in sizes if any(r[0] == n for r in mine)]
            left.plot([n for n in sizes if any(r[0] == n for r in mine)], means, color=colour, label=arm)
            paper = [(n, v[0]) for (n, c), v in PAPER.items() if c == arm and n in sizes]
            if paper:
                left.plot(
                    *zip(*paper, strict=True),
                    color=colour,
                    linestyle=":",
                    marker="x",
                    linewidth=1,
                    label=f"{arm}, paper",
                )
        left.set(yscale="log", xlabel="N", ylabel="episodes to convergence")
        left.legend()
        whole = [leading_log10(Size(n * n * 2 ** (n - 1), 4 * n * n * 2 ** (n - 1), 1), 4 * n, 1.0, 0.1) for n in sizes]
        right.plot(sizes, whole, color=ARM_COLOURS["baseline"], label="M")
        right.plot(
            sizes,
            [v - np.log10(n) for v, n in zip(whole, sizes, strict=True)],
            color=ARM_COLOURS["canonical"],
            label="M̄ = M / Z_N",
        )
        right.set(xlabel="N", ylabel="log10 of the bound (leading term)")
        right.legend()

    caption = (
        "Fig. 4a: episodes to convergence, a dot per seed; open triangles are censored at their budget, and the lines "
        "are means with them there, hence lower bounds; dotted: the paper's Table 1. Right: the leading term of the "
        "bound for the tabular game, ε = 1, δ = 0.1; it counts 2^(N−1) boards, which a network need not tell apart, so "
        "it predicts the ratio N at best and not the curve."
    )
    headers = ("n", "arm", "seed", "episodes", "solved")
    return plot(
        f"fig4a-ring1d{suffix}",
        caption,
        draw,
        headers,
        rows,
        size=(9, 3.8),
        seeds=len({r[2] for r in rows}),
    )


def curves_plot(results: Results, suffix: str = "", window: int = 100) -> Plot:
    """Learning curves: moving averages of the training return, mean and range over seeds."""
    columns = results.table("episodes")
    sizes = sorted({int(n) for n in np.unique(columns["n"])})
    rows: list[tuple[Any, ...]] = []
    curves: dict[tuple[int, str], tuple[Any, Any, Any, Any]] = {}
    for n in sizes:
        for arm in sorted({str(c) for c in np.unique(columns["arm"])}):
            chosen = (columns["n"] == n) & (columns["arm"] == arm)
            if not chosen.any():
                continue
            seeds = np.unique(columns["seed"][chosen])
            returns = [columns["returns"][chosen & (columns["seed"] == s)].astype(float) for s in seeds]
            length = min(r.size for r in returns)
            smooth = np.stack([np.convolve(r[:length], np.ones(window) / window, mode="valid") for r in returns])
            step = max(1, smooth.shape[1] // 200)
            x = np.arange(window, length + 1)[::step]
            curves[n, arm] = (x, smooth.mean(0)[::step], smooth.min(0)[::step], smooth.max(0)[::step])
            rows += [(n, arm, *map(float, v)) for v in zip(*curves[n, arm], strict=True)]

    def draw(figure: Any) -> None:
        across = min(3, len(sizes))
        down = -(-len(sizes) // across)
        panels = figure.subplots(down, across, squeeze=False)
        for k, n in enumerate(sizes):
            axes = panels[k // across][k % across]
            for (size, arm), (x, mean, low, high) in curves.items():
                if size == n:
                    band(axes, x, mean, low, high, color=ARM_COLOURS[arm], label=arm, linewidth=1.2)
            axes.set_title(f"N = {n}", fontsize=9, loc="left")
            axes.set_xscale("log")
        for k in range(len(sizes), down * across):
            panels[k // across][k % across].axis("off")
        panels[0][0].legend()

    caption = (
        f"Training return, moving average over {window} episodes: mean over seeds, band from the lowest to the highest."
    )
    headers = ("n", "arm", "episode", "mean", "low", "high")
    height = 2.2 * -(-len(sizes) // 3) + 0.4
    return plot(f"curves-ring1d{suffix}", caption, draw, headers, rows, size=(9, height))


def returns_plot(results: Results, suffix: str = "", only: Sequence[int] = ()) -> Plot:
    """Does further training help? The return in each tenth of the budget, on a linear axis, with 95 % bands.

    Args:
        results: of the sweep.
        suffix: of the name.
        only: these sizes; all of them if empty.
    """
    chosen = {
        key[:3]: parts
        for key, parts in returns_by_part(results).items()
        if (not only or key[0] in only) and key[3] == "paper" and key[2] <= 10_000
    }
    found = {key: mean_band(parts) for key, parts in chosen.items()}
    targets = {int(r["n"]): 0.95 * float(r["optimum"]) for r in results.rows}
    sizes = sorted({n for n, _, _ in found})
    ends = {key: np.arange(1, PARTS + 1) * key[2] // PARTS for key in found}

    def draw(figure: Any) -> None:
        across = max(1, min(2 if len(sizes) == 4 else 3, len(sizes)))
        down = max(1, -(-len(sizes) // across))
        panels = figure.subplots(down, across, squeeze=False)
        for k, n in enumerate(sizes):
            axes = panels[k // across][k % across]
            for key, returns in found.items():
                size, arm, _ = key
                if size == n:
                    look: Any = {"label": arm, "marker": "o", "markersize": 2, "linewidth": 1.2}
                    band(axes, ends[key], *returns, color=ARM_COLOURS[arm], **look)
            axes.axhline(targets[n], color="#5c6670", linestyle=":", linewidth=1)
            axes.set_title(f"N = {n}", fontsize=9, loc="left")
            if k % across == 0:
                axes.set_ylabel("training return")
            if k >= len(sizes) - across:
                axes.set_xlabel("episodes")
        for k in range(len(sizes), down * across):
            panels[k // across][k % across].axis("off")
        if sizes:
            panels[0][0].legend()

    caption = (
        "Mean training return in each tenth of the budget against episodes: mean over seeds with Student's 95 % band; "
        "dotted: 95 % of the optimum, where a run counts as converged."
    )
    rows = [
        (*key[:2], int(end), *map(float, point))
        for key, returns in found.items()
        for end, *point in zip(ends[key], *returns, strict=True)
    ]
    headers = ("n", "arm", "episodes", "return", "low", "high")
    height = 2.2 * max(1, -(-len(sizes) // (2 if len(sizes) == 4 else 3))) + 0.4
    seeds = len({r["seed"] for r in results.rows})
    return plot(f"returns-ring1d{suffix}", caption, draw, headers, rows, size=(9, height), seeds=seeds)
