"""The cube in the report: Table 2 beside ours, errors against labels and depth, Fig. 4c, and a solution to play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from burnside.experiments.cube import cube_spec
from burnside.experiments.cube.analysis import by_depth, curves, label_errors, table
from burnside.report.page import Page
from burnside.report.parts import Report
from burnside.report.plots import Plot, plot
from burnside.report.tables import number, plus_minus, with_limits
from burnside.runs import Results, read_results
from burnside.runs.results import committed

__all__ = ["cube_part", "curve_plot", "depth_plot", "label_plot", "show", "worth_text"]

_COLOURS = {
    "baseline": "#d55e00",
    "position": "#e69f00",
    "conjugation": "#0072b2",
    "augment": "#009e73",
    "equivariant": "#cc79a7",
}


def cube_part(page: Page, preset: str, report: Report, out: Path) -> None:
    """Tabulate and draw the sweep of the preset; the committed study is shown beside it."""
    folder = Path("runs") / "cube" / preset
    page.text(
        "Which symmetry? The paper's canonicalization ('position') turns the stickers and keeps the colours. With the "
        "12 outer turns no two reachable states of a 3-cube or larger are related by it, so it saves nothing there. "
        "The symmetry that holds is 'conjugation': turn the cube and rename its colours, 24 elements, 48 with mirrors. "
        "'augment' shows training states through random elements of it, 'equivariant' shares weights over it. With "
        "outer turns the 4- and 5-cube are the 3-cube with more stickers; run burnside audit cube to see the counts."
    )
    _player(page)
    show(page, folder, f"This machine, preset '{preset}': burnside sweep cube --preset {preset}", out)
    study = committed("cube")
    if study is not None:
        show(page, study, "The committed study: burnside sweep cube --preset study", out, suffix="-study")


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
    page.table(
        ["N", "labels", "arm", "seeds", "distinct inputs", "RMSE ± SE", "95 %", "worth in labels"],
        [_label_cells(row) for row in rows if row["kind"] == "labels"],
        f"{caption}. Error on held-out states after regression on exact distances",
    )
    page.table(
        ["N", "arm", "states", "seeds", "RMSE ± SE", "95 %", "minus the baseline's", "greedy", "95 %",
         "beam: mean ± SD", "± SE", "95 %", "minus the baseline's", "length", "paper"],
        [_davi_cells(row) for row in rows if row["kind"] == "davi"],
        f"{caption}. Value iteration: error, and percentages solved by greedy play (states at exact depths) and by "
        f"beam search (random scrambles); the paper's Table 2 has A* after full-scale training. Differences to the "
        f"baseline are paired by seed; the length is that of the scrambles an arm solved, which differ",
    )  # fmt: skip
    figures = [label_plot(results, suffix), depth_plot(results, suffix), curve_plot(results, suffix)]
    for figure in figures:
        if figure is not None:
            figure.save(out / "figures")
            page.figure(figure.svg, figure.caption)


def _interval(low: float | None, high: float | None, digits: int = 2) -> str:
    return "–" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"


def _error(row: dict[str, Any]) -> str:
    return f"{row['rmse']:.3f}" + ("" if row["rmse_se"] is None else f" ± {row['rmse_se']:.3f}")


def worth_text(row: dict[str, Any]) -> str:
    """What an arm is worth in labels, for people: of a bound its confidence limit, where there is one."""
    return with_limits(row["worth"], row["worth_low"], row["worth_high"], row["worth_bound"])


def _label_cells(row: dict[str, Any]) -> list[object]:
    worth = "–"
    if row["worth"] is not None:
        worth = worth_text(row)
    low, high = row["rmse_low"], row["rmse_high"]
    inputs = number(round(row["distinct_inputs"]))
    return [row["n"], row["labels"], row["arm"], row["seeds"], inputs, _error(row), _interval(low, high, 3), worth]


def _davi_cells(row: dict[str, Any]) -> list[object]:
    return [
        row["n"],
        row["arm"],
        row["states"],
        row["seeds"],
        _error(row),
        _interval(row["rmse_low"], row["rmse_high"], 3),
        _gap(row, "rmse_gap", 3),
        f"{row['greedy_mean']:.1f} %",
        _interval(row["greedy_low"], row["greedy_high"], 1),
        plus_minus(row["solved_mean"], row["solved_sd"]),
        number(row["solved_se"]),
        _interval(row["solved_low"], row["solved_high"], 1),
        _gap(row, "solved_gap", 1),
        number(None if row["solution_length"] is None else round(row["solution_length"], 1)),
        plus_minus(row["paper_mean"], row["paper_se"]),
    ]


def _gap(row: dict[str, Any], name: str, digits: int) -> str:
    if row[name] is None:
        return "–"
    ends = "" if row[f"{name}_low"] is None else f" ({_interval(row[f'{name}_low'], row[f'{name}_high'], digits)})"
    return f"{row[name]:+.{digits}f}{ends}"


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
            for arm, colour in _COLOURS.items():
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
    single = len({r["seed"] for r in rows}) < 2
    mark = "single seed" if single else None
    return plot(f"labels-cube{suffix}", caption, draw, headers, data, size=(5 * len(sizes), 3.6), watermark=mark)


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
                axes.plot(found["depth"], found["rmse"], color=_COLOURS[arm], label=arm)
                axes.plot(found["depth"], found["bias"], color=_COLOURS[arm], linestyle=":")
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
                    axes.plot(curve.states, 100 * curve.greedy, color=_COLOURS[curve.arm], label=curve.arm)
                    axes.fill_between(
                        curve.states, 100 * curve.low, 100 * curve.high, color=_COLOURS[curve.arm], alpha=0.15, lw=0
                    )
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
    mark = "single seed" if min(c.seeds for c in found) < 2 else None
    return plot(f"fig4c-cube{suffix}", caption, draw, headers, rows, size=(3.2 * len(sizes), 3.2), watermark=mark)
