"""The mistakes part of the report: measured ratios beside their predictions, and growth with the ring's size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from burnside._files import write_text
from burnside.experiments.mistakes import Setting
from burnside.experiments.mistakes.analysis import COLUMNS, RUN_COLUMNS, Summary, comparisons, growth, runs, summarise
from burnside.learning import Comparison
from burnside.report.page import Page
from burnside.report.parts import add_figures
from burnside.report.plots import Plot, as_csv, plot
from burnside.report.tables import number, span
from burnside.report.theory_plots import covering_curves, reduction
from burnside.stats.ratios import bound_text
from burnside.stats.scaling import Slope

__all__ = ["growth_plot", "limits_text", "mistakes_part", "ratio_plot"]

Results = Sequence[tuple[Setting, Comparison]]


def mistakes_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """Draw and tabulate the sweep of the preset; figures and their data go to ``out/figures``."""
    results = comparisons(folder)
    summary = summarise(results)
    page.text(
        "A mistake is an episode whose policy is more than ε worse than optimal (Def. 2); the executed policy is "
        "evaluated exactly. ε is a tenth of R*, δ = 0.1. UBEV uses heuristic widths (c times the span of its "
        "optimistic values), which carry no guarantee and are the same on M and on M̄."
    )
    _table(page, summary)
    figures = [ratio_plot(results), reduction()]
    if growth(results):
        figures.insert(1, growth_plot(results))
    if preset != "smoke":
        figures.append(covering_curves())
    tables: dict[str, tuple[Sequence[str], Sequence[Sequence[Any]]]] = {
        "mistakes": (COLUMNS, [list(row.values()) for row in summary.rows]),
        "mistakes-runs": (RUN_COLUMNS, runs(results)),
        "mistakes-growth": (("side", *Slope._fields), [(name, *slope) for name, slope in summary.growth.items()]),
    }
    for name, (headers, rows) in tables.items():
        write_text(out / "figures" / f"{name}.csv", as_csv(headers, rows))
    add_figures(page, figures, out)


def _table(page: Page, summary: Summary) -> None:
    headers = [
        "model", "c", "seeds", "mistakes on M", "on M̄", "ratio", "95 %", "joint reachable", "joint", "|G|", "paper",
        "capped",
    ]  # fmt: skip
    body = [
        [
            row["model"],
            number(row["scale"]),
            row["seeds"],
            number(row["mistakes M"]),
            number(row["mistakes quotient"]),
            number(row["ratio"]),
            limits_text(row),
            number(row["joint reachable"]),
            number(row["joint"]),
            number(row["order"]),
            number(row["paper"]),
            f"{row['capped M']} + {row['capped quotient']}",
        ]
        for row in summary.rows
    ]
    page.table(headers, body, "Mistakes of UBEV on M and on its quotient: burnside measure MODEL --learner ubev")
    page.text(
        "The ratio is that of the means, with a t interval of its logarithm over seeds. Capped runs (on M + on M̄) "
        "spent their budget before a long stretch without mistakes, so that some may be missing: on M the ratio can "
        "then only be larger, on M̄ only smaller."
    )
    off = ", ".join(f"{name} {value:.2f}×" for name, value in summary.errors.items() if value == value)
    page.text(f"How far each prediction is off, as a geometric mean over the rows: {off}.")
    for name, slope in summary.growth.items():
        page.text(f"Mistakes against N on {name}: exponent {slope.exponent:.2f} (95 %: {slope.interval}).")


def limits_text(row: Mapping[str, Any]) -> str:
    """The interval of a row for people; of a bound its limit.

    >>> limits_text({"bound": "at least", "low": 8.349, "high": None})
    'at least 8.34'
    """
    limit = row["low"] if row["bound"] == "at least" else row["high"]
    if row["bound"] in ("at least", "at most") and limit is not None:
        return bound_text(limit, row["bound"], 2 if limit < 10 else 1 if limit < 100 else 0)
    return row["bound"] or span(row["low"], row["high"])


def ratio_plot(results: Results) -> Plot:
    """Measured ratio against each prediction; on the diagonal the prediction is right."""
    kinds = ("reachable", "order", "paper")
    labels = {"reachable": "joint, reachable", "order": "order |G|", "paper": "paper's factor"}
    rows = [(s.name, k, getattr(c, k), c.ratio.value, c.ratio.low, c.ratio.high) for s, c in results for k in kinds]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for kind, marker in zip(kinds, "osx", strict=True):
            found = [(getattr(c, kind), c.ratio) for _, c in results if getattr(c, kind)]
            x, y = [p for p, _ in found], [r.value for _, r in found]
            spread = [
                [0.0 if r.low is None else r.value - r.low for _, r in found],
                [0.0 if r.high is None else r.high - r.value for _, r in found],
            ]
            axes.errorbar(x, y, yerr=spread, fmt=marker, markersize=5, capsize=2, linewidth=1, label=labels[kind])
            for bound, arrow in (("at least", "^"), ("at most", "v")):
                open_ended = [(p, r.value) for p, r in found if r.bound == bound]
                places = ([point[k] for point in open_ended] for k in (0, 1))
                axes.scatter(*places, marker=arrow, s=30, color="#5c6670", zorder=3)
        ends = [0.8, max(v for v in (*axes.get_xlim(), *axes.get_ylim()))]
        axes.plot(ends, ends, color="#5c6670", linestyle="--", linewidth=1)
        axes.set(xscale="log", yscale="log", xlabel="predicted saving", ylabel="measured: mistakes on M / on M̄")
        axes.legend()

    caption = (
        "Measured saving against three predictions, with 95 % t intervals over seeds; dashed: equality. Arrows: runs "
        "spent their budget, so that there is no limit on that side."
    )
    return plot(
        "mistakes-against-joint",
        caption,
        draw,
        ("model", "prediction", "predicted", "ratio", "low", "high"),
        rows,
        seeds=min((len(c.on_m) for _, c in results), default=0),
    )


def growth_plot(results: Results) -> Plot:
    """Mistakes on M and on M̄ against N, with fitted power laws."""
    slopes = growth(results)
    rings = [(s, c) for s, c in results if s.model == "slip-ring" and s.symmetry == "Z" and "goal" not in s.parameters]
    rows = []
    for setting, found in rings:
        for side, those in (("M", found.on_m), ("quotient", found.on_quotient)):
            rows += [(setting.parameters["n"], setting.scale, side, run.seed, run.mistakes()) for run in those]

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for name, slope in slopes.items():
            side, scale = name.split(", c = ")
            at = [(n, m) for n, c, s, _, m in rows if s == side and (c or 1.0) == float(scale)]
            sizes = sorted({n for n, _ in at})
            (line,) = axes.plot(
                sizes,
                [slope.at(n) for n in sizes],
                label=f"{name}: N^{slope.exponent:.2f} ({slope.interval})",
            )
            axes.scatter([n for n, _ in at], [max(m, 0.5) for _, m in at], s=10, color=line.get_color(), alpha=0.5)
        axes.set(xscale="log", yscale="log", xlabel="ring size N", ylabel="mistakes")
        axes.legend()

    caption = "Mistakes of UBEV on slippery rings, a dot per seed, with fitted power laws and 95 % t intervals."
    return plot("mistakes-against-n", caption, draw, ("n", "scale", "side", "seed", "mistakes"), rows)
