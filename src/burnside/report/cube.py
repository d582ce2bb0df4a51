"""The cube in the report: Table 2 beside ours, errors against labels and depth, Fig. 4c, and a solution to play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from burnside.experiments.cube import cube_spec
from burnside.experiments.cube.analysis import by_depth, curves, label_errors, table
from burnside.experiments.cube.config import PAPER
from burnside.report.page import Page
from burnside.report.parts import add_figures, add_results
from burnside.report.plots import Plot, band, plot
from burnside.report.style import ARM_COLOURS
from burnside.report.tables import Table, between, spaced, with_error, with_interval, with_limits
from burnside.runs import Results, read_results

__all__ = [
    "astar_table",
    "cube_part",
    "curve_plot",
    "davi_table",
    "depth_plot",
    "gap_table",
    "label_plot",
    "label_table",
    "show",
    "worth_text",
]

#: A row of the experiment's table.
Row = Mapping[str, Any]


def cube_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """Tabulate and draw the sweep of the preset; the committed study is shown beside it."""
    page.text(
        "Which symmetry? The paper's canonicalization ('position') turns the stickers and keeps the colours. With the "
        "12 outer turns no two reachable states of a 3-cube or larger are related by it, so it saves nothing there. "
        "The symmetry that holds is 'conjugation': turn the cube and rename its colours, 24 elements, 48 with mirrors. "
        "'augment' shows training states through random elements of it, 'equivariant' shares weights over it. With "
        "outer turns the 4- and 5-cube are the 3-cube with more stickers; run burnside audit cube to see the counts."
    )
    _player(page)
    add_results(page, "cube", show, preset, folder, out)


def _player(page: Page) -> None:
    """A 2-cube solved in the fewest turns, by its exact table."""
    from burnside.envs.cube.core import scramble
    from burnside.envs.cube.tables import two_values
    from burnside.report.cube_view import add_player
    from burnside.search import CubePuzzle, greedy

    spec = cube_spec(2)
    start, _ = scramble(spec, 1, 25)
    (found,) = greedy(CubePuzzle(spec), start, two_values)
    add_player(page, spec, start[0], found.moves, title="a 2-cube, solved in the fewest turns by its exact table")


def show(page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
    """Add one folder of results to the page."""
    results = read_results(folder, allow_missing=True)
    rows = table(folder, allow_missing=True)
    headers, cells = label_table(rows)
    page.table(headers, cells, f"{caption}. Error on held-out states after regression on exact distances")
    headers, cells = davi_table(rows)
    page.table(
        headers,
        cells,
        f"{caption}. Value iteration: error, and percentages solved by greedy play (states at exact depths) and by "
        f"beam search (random scrambles); the paper's Table 2 has A* after full-scale training. The length is that of "
        f"the scrambles an arm solved, which differ",
    )
    page.table(*gap_table(rows), f"{caption}. Differences to the baseline, paired by seed")
    headers, cells = astar_table(rows)
    if cells:
        page.table(headers, cells, f"{caption}. A* by turns of the scramble, with the paper's Table 2 beside it")
    add_figures(page, (draw(results, suffix) for draw in (label_plot, depth_plot, curve_plot)), out)


def worth_text(row: Row) -> str:
    """What an arm is worth in labels, for people: of a bound its confidence limit, where there is one."""
    return with_limits(row["worth"], row["worth_low"], row["worth_high"], row["worth_bound"])


def label_table(rows: Sequence[Row]) -> Table:
    """Errors after regression on exact distances; for the report and for the page of the experiment."""
    headers = ("N", "labels", "arm", "seeds", "distinct inputs", "RMSE", "95 %", "worth in labels")
    return headers, [
        [
            str(row["n"]),
            spaced(row["labels"]),
            row["arm"],
            str(row["seeds"]),
            spaced(row["distinct_inputs"]),
            with_error(row["rmse"], row["rmse_se"], 3),
            between(row["rmse_low"], row["rmse_high"], 3),
            "–" if row["worth"] is None else worth_text(row),
        ]
        for row in rows
        if row["kind"] == "labels"
    ]


def davi_table(rows: Sequence[Row]) -> Table:
    """Errors and rates after value iteration, likewise."""
    headers = (
        *("N", "arm", "states", "seeds", "RMSE", "95 %", "greedy, %"),
        *("beam, % (mean ± SD)", "± SE", "95 %", "length", "paper, %"),
    )
    return headers, [
        [
            str(row["n"]),
            row["arm"],
            spaced(row["states"]),
            str(row["seeds"]),
            with_error(row["rmse"], row["rmse_se"], 3),
            between(row["rmse_low"], row["rmse_high"], 3),
            with_interval(row["greedy_mean"], row["greedy_low"], row["greedy_high"]),
            with_error(row["solved_mean"], row["solved_sd"]),
            spaced(row["solved_se"], 1),
            between(row["solved_low"], row["solved_high"]),
            spaced(row["solution_length"], 1),
            with_error(row["paper_mean"], row["paper_se"]),
        ]
        for row in rows
        if row["kind"] == "davi"
    ]


def astar_table(rows: Sequence[Row]) -> Table:
    """Table 2 as the paper has it: per cent solved by A*, likewise. It does not say over which scrambles."""
    headers = ("N", "turns", "arm", "states", "seeds", "A*, %", "points minus the baseline's", "paper, %")
    return headers, [
        [
            str(row["n"]),
            row["turns"],
            row["arm"] + (f" over {row['shared']}" if row["shared"] else ""),
            spaced(row["states"]),
            str(row["seeds"]),
            with_interval(row["solved_mean"], row["solved_low"], row["solved_high"]),
            with_interval(row["solved_gap"], row["solved_gap_low"], row["solved_gap_high"]),
            with_error(*PAPER.get((row["n"], row["arm"]), (None, None))),
        ]
        for row in rows
        if row["kind"] == "astar"
    ]


def gap_table(rows: Sequence[Row]) -> Table:
    """What value iteration gains over the baseline, likewise."""

    def gap(row: Row, name: str, digits: int) -> str:
        return with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], digits=digits)

    return ("N", "arm", "seeds", "RMSE minus the baseline's", "beam, points minus the baseline's"), [
        [str(row["n"]), row["arm"], str(row["seeds"]), gap(row, "rmse_gap", 3), gap(row, "solved_gap", 1)]
        for row in rows
        if row["kind"] == "davi" and row["rmse_gap"] is not None
    ]


def label_plot(results: Results, suffix: str = "") -> Plot | None:
    """Error against the number of labels: what a symmetry is worth is a shift to the left."""
    rows = [r for r in results.rows if r["kind"] == "labels"]
    sizes = sorted({int(r["n"]) for r in rows})
    if not rows:
        return None
    data: list[tuple[Any, ...]] = []

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(sizes), squeeze=False)[0]
        for axes, n in zip(panels, sizes, strict=True):
            for arm, colour in ARM_COLOURS.items():
                errors = label_errors(results, n, arm)
                for count, by_seed in errors.items():
                    axes.scatter([count] * len(by_seed), list(by_seed.values()), s=9, color=colour, alpha=0.5)
                    data.extend((n, arm, count, seed, value) for seed, value in by_seed.items())
                if errors:
                    means = [sum(v.values()) / len(v) for v in errors.values()]
                    axes.plot(list(errors), means, color=colour, label=arm)
            axes.set(xscale="log", yscale="log", xlabel="exact labels", ylabel="RMSE", title=f"N = {n}")
            axes.legend()

    caption = "Error on held-out states against the number of exactly labelled states, a dot per seed."
    headers = ("n", "arm", "labels", "seed", "rmse")
    seeds = len({r["seed"] for r in rows})
    return plot(f"labels-cube{suffix}", caption, draw, headers, data, size=(5 * len(sizes), 3.6), seeds=seeds)


def depth_plot(results: Results, suffix: str = "") -> Plot | None:
    """Error and bias of value iteration against the exact distance."""
    sizes = sorted({int(r["n"]) for r in results.rows if r["kind"] == "davi"})
    if not sizes:
        return None
    data: list[tuple[Any, ...]] = []

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(sizes), squeeze=False)[0]
        for axes, n in zip(panels, sizes, strict=True):
            for arm, found in by_depth(results, n).items():
                axes.plot(found["depth"], found["rmse"], color=ARM_COLOURS[arm], label=arm)
                axes.plot(found["depth"], found["bias"], color=ARM_COLOURS[arm], linestyle=":")
                data.extend(
                    (n, arm, *map(float, point))
                    for point in zip(found["depth"], found["rmse"], found["bias"], found["greedy"], strict=True)
                )
            axes.set(xlabel="exact distance", ylabel="RMSE (solid), bias (dotted)", title=f"N = {n}")
        panels[0].legend()

    caption = "Value error after value iteration against the exact distance, mean over seeds."
    headers = ("n", "arm", "depth", "rmse", "bias", "greedy")
    return plot(f"depths-cube{suffix}", caption, draw, headers, data, size=(3.2 * len(sizes), 3.2))


def curve_plot(results: Results, suffix: str = "") -> Plot | None:
    """Fig. 4c: the rate greedy play solves against the states seen, with 95 % bands over seeds."""
    found = curves(results)
    if not found:
        return None
    sizes = sorted({curve.n for curve in found})

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(sizes), squeeze=False, sharey=True)[0]
        for axes, n in zip(panels, sizes, strict=True):
            for curve in found:
                if curve.n == n:
                    look = {"color": ARM_COLOURS[curve.arm], "label": curve.arm}
                    band(axes, curve.states, curve.greedy, curve.low, curve.high, scale=100, **look)
            axes.set(xlabel="states", title=f"N = {n}")
        panels[0].set_ylabel("solved greedily, %")
        panels[0].legend()

    rows = [
        (c.n, c.arm, c.seeds, *map(float, point))
        for c in found
        for point in zip(c.states, c.greedy, c.low, c.high, c.rmse, strict=True)
    ]
    caption = (
        "Fig. 4c: share of test states (all exact depths alike) that greedy play solves, against the states seen by "
        "value iteration; mean over seeds, Student's 95 % band."
    )
    headers = ("n", "arm", "seeds", "states", "greedy", "low", "high", "rmse")
    seeds = min(c.seeds for c in found)
    return plot(f"fig4c-cube{suffix}", caption, draw, headers, rows, size=(3.2 * len(sizes), 3.2), seeds=seeds)
