"""The solver of random cubes in the report: a cube to play, what each arm solved, and a picture with other solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from burnside.envs.cube.core import CubeSpec
from burnside.experiments.cube_solver import PUBLISHED
from burnside.experiments.cube_solver.analysis import NEEDED, table
from burnside.experiments.cube_solver.config import ARMS
from burnside.experiments.cube_solver.run import cube
from burnside.report import style
from burnside.report.columns import needed_states
from burnside.report.cube_view import add_player
from burnside.report.page import Page
from burnside.report.parts import add_figures, add_results
from burnside.report.plots import Plot, band, plot
from burnside.report.tables import per_cent, spaced, with_interval, with_limits
from burnside.runs import Results, read_results

__all__ = ["cube_solver_part", "needed_text", "show", "solver_plot"]

_COLOURS = style.ARM_COLOURS


def cube_solver_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """A solution to play, tables and the picture; the committed study is shown beside them."""
    page.text(
        "A policy learns from random walks which turn was the last one, and a beam undoes the likeliest ones. Walks "
        "cost nothing to label, so states, weights and the width of the beam are all there is to compare. The cube has "
        "48 rotations and mirrors with recolouring; with s and its inverse, which are as far from solved, 96."
    )
    _player(page, folder)
    add_results(page, "cube_solver", show, preset, folder, out)


def _player(page: Page, folder: Path) -> None:
    """One of the random cubes, as the last network of the sweep solved it."""
    results = read_results(folder, allow_missing=True)
    if "solution" not in results.tables:
        page.text("None of the random cubes was solved here, so there is no solution to play.")
        return
    columns = results.table("solution")
    last = columns["states"] == columns["states"].max()
    chosen = last & (columns["cell"] == columns["cell"][last][-1])
    turns = [int(turn) for turn in columns["turn"][chosen]]
    number, length = int(columns["cube"][chosen][0]), int(columns["turns"][chosen][0])
    arm, states = str(columns["arm"][chosen][0]), int(columns["states"][chosen][0])
    title = f"random cube {number} of {length} turns, solved in {len(turns)} by '{arm}' after {spaced(states)} walks"
    add_player(page, CubeSpec(3), cube(length, number), turns, title=title)


def show(page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
    """Add one folder of results to the page."""
    results, rows = read_results(folder, allow_missing=True), table(folder, allow_missing=True)
    page.table(
        ["question", "arm", "weights", "training states", "rate", "seeds", "solved", "95 %", "mean length"],
        [_cells(row) for row in rows if row["kind"] not in ("needed", "shipped", "slices")],
        f"{caption}. Random cubes that a plain beam solves; the length is that of those an arm solved, which differ",
    )
    if shipped := [row for row in rows if row["kind"] == "shipped"]:
        page.table(
            ["effort", "seeds", "random cubes each", "solved", "95 %", "mean length, 95 % over seeds"],
            [_shipped_cells(row) for row in shipped],
            f"{caption}. The recipe of the shipped policy: networks of other seeds, each searched as 'burnside solve' "
            "searches, with a beam of 1024 · 2ᵉ at effort e",
        )
    if slices := [row for row in rows if row["kind"] == "slices"]:
        page.table(
            ["cube", "weights", "walks", "beam", "layers", "turns", "seeds", "cubes", "solved", "95 %", "mean length"],
            [_slices_cells(row) for row in slices],
            f"{caption}. Cubes whose inner layers turn too: scrambles of several lengths, beams of several widths",
        )
    page.table(
        ["arm", "seeds", f"training states for {100 * NEEDED:.0f} %", "censored", "times fewer than 'none'"],
        [
            [row["arm"], row["seeds"], needed_states(row), row["censored"], needed_text(row)]
            for row in rows
            if row["kind"] == "needed"
        ],
        f"{caption}. Training states at which nine cubes in ten are solved: geometric mean over seeds, censored at "
        "their largest budget; the ratio has Welch's 95 % interval on logarithms",
    )
    add_figures(page, [solver_plot(results, rows, suffix)], out)


def needed_text(row: Mapping[str, Any]) -> str:
    """How many times as many states the arm without symmetry needs, for people."""
    if row["ratio_bound"] == "not decided":
        return "not decided"
    if row["ratio"] is None:
        return "–"
    return with_limits(row["ratio"], row["ratio_low"], row["ratio_high"], row["ratio_bound"])


def _shipped_cells(row: Mapping[str, Any]) -> list[object]:
    length = with_interval(row["length"], row["length_low"], row["length_high"], digits=2)
    limits = per_cent(row["solved_low"], row["solved_high"])
    return [row["effort"], row["seeds"], row["cubes"], f"{100 * row['solved']:.1f} %", limits, length]


def _slices_cells(row: Mapping[str, Any]) -> list[object]:
    learnt = [f"{row['n']}×{row['n']}×{row['n']}", spaced(row["weights"]), spaced(row["states"]), spaced(row["width"])]
    learnt += [str(row["depth"]), str(row["turns"])]
    limits = per_cent(row["solved_low"], row["solved_high"])
    length = "–" if row["length"] is None else f"{row['length']:.1f}"
    return [*learnt, row["seeds"], row["cubes"], f"{100 * row['solved']:.1f} %", limits, length]


def _cells(row: Mapping[str, Any]) -> list[object]:
    solved = "–" if row["solved"] is None else f"{100 * row['solved']:.1f} %"
    limits = per_cent(row["solved_low"], row["solved_high"])
    length = "–" if row["length"] is None else f"{row['length']:.1f}"
    return [
        row["kind"],
        row["arm"],
        spaced(row["weights"]),
        spaced(row["states"]),
        f"{row['rate']:g}",
        row["seeds"],
        solved,
        limits,
        length,
    ]


def _together(points: Sequence[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """Points with the names of all that lie within a factor of six of them in both directions, once.

    >>> _together([("a", 1.0, 1.0), ("b", 100.0, 1.0), ("c", 2.0, 2.0)])
    [('a, c', 1.0, 1.0), ('b', 100.0, 1.0)]
    """
    out: list[tuple[str, float, float]] = []
    for name, x, y in points:
        near = next((k for k, (_, u, v) in enumerate(out) if max(x / u, u / x, y / v, v / y) < 6), None)
        if near is None:
            out.append((name, x, y))
        else:
            out[near] = (f"{out[near][0]}, {name}", *out[near][1:])
    return out


def solver_plot(results: Results, rows: list[dict[str, Any]], suffix: str = "") -> Plot | None:
    """Solved against training states and against weights, and where each solver stands in both."""
    budgets = [row for row in rows if row["kind"] == "budget"]
    if not budgets:
        return None
    sizes = [row for row in rows if row["kind"] == "size"]
    data: list[tuple[Any, ...]] = []

    def curve(axes: Any, chosen: list[dict[str, Any]], key: str) -> None:
        for arm in ARMS:
            mine = sorted((row for row in chosen if row["arm"] == arm), key=lambda row: float(row[key]))
            if mine:
                x = [row[key] for row in mine]
                middle = [row["solved"] for row in mine]
                low, high = (
                    [value if row[name] is None else row[name] for row, value in zip(mine, middle, strict=True)]
                    for name in ("solved_low", "solved_high")
                )
                band(axes, x, middle, low, high, color=_COLOURS[arm], scale=100.0, label=arm, marker="o", markersize=3)
                data.extend((key, arm, row[key], row["solved"], row["solved_low"], row["solved_high"]) for row in mine)
        axes.axhline(100 * NEEDED, color=style.MUTED, linewidth=0.8, linestyle=":")
        axes.set(xscale="log", ylim=(-3, 103), ylabel="random cubes solved, %")

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, 3)
        curve(panels[0], budgets, "states")
        panels[0].set(xlabel="training states", title="by training states")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
        curve(panels[1], sizes, "weights")
        panels[1].set(xlabel="weights", title="by weights")
        weights = {row["arm"]: row["weights"] for row in budgets}
        dots = [
            (row["arm"], row["needed"], weights[row["arm"]])
            for row in rows
            if row["kind"] == "needed" and not row["censored"]
        ]
        crosses = [(solver.name, solver.states, solver.weights) for solver in PUBLISHED]
        for name, x, y in dots:
            panels[2].scatter(x, y, color=_COLOURS[name], zorder=3)
        for _, x, y in crosses:
            panels[2].scatter(x, y, color=style.INK, marker="x", zorder=3)
        for points, above in ((dots, 5), (crosses, -10)):
            for names, x, y in _together(points):
                right = x > 1e9
                panels[2].annotate(names, (x, y), fontsize=7, xytext=(-4 if right else 4, above),
                                   textcoords="offset points", ha="right" if right else "left")  # fmt: skip
        data.extend(("needed", *dot, None, None) for dot in dots)
        data.extend(("published", *cross, None, None) for cross in crosses)
        panels[2].set(xscale="log", yscale="log", xlabel="training states", ylabel="weights", title="and other solvers")

    seeds = min(row["seeds"] for row in budgets)
    width = sorted({int(row["width"]) for row in results.rows})
    caption = (
        f"Share of random cubes that a plain beam of width {', '.join(map(str, width))} solves, by training states "
        f"and against weights, with 95 % intervals over seeds. Right: the states at which our arms solve "
        f"{100 * NEEDED:.0f} % of them (dots), and published solvers as their authors trained them (crosses), which "
        f"solve all of theirs with wider beams: {'; '.join(f'{s.name}: {s.note}' for s in PUBLISHED)}."
    )
    headers = ("panel", "arm", "x", "y", "low", "high")
    return plot(f"cube-solver{suffix}", caption, draw, headers, data, size=(11, 3.8), seeds=seeds)
