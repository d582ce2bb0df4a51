"""The cube experiment: cells resume to the same bits, the table has Table 2's form, worth is what it says."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnside.errors import UnknownName
from burnside.experiments.cube import PAPER, PRESETS, Cube, cube_spec
from burnside.experiments.cube.analysis import by_depth, curves, table, worth
from burnside.experiments.cube.config import EPOCH_STATES
from burnside.experiments.registry import EXPERIMENTS
from burnside.runs import Cell, Context, Results, read_results, sweep


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cube")
    outcome = sweep(Cube(), "smoke", folder, workers=0, progress="none")
    assert outcome.ok and len(outcome.done) == 10
    return folder


def test_plans() -> None:
    for preset in PRESETS:
        cells = Cube().plan(preset)
        assert len({cell.name for cell in cells}) == len(cells)
    study = PRESETS["study"]
    parts = [*study.labels, *(part for part in study.davi if not part.solve)]
    assert all(part.seeds >= 5 for part in parts if part.n in (3, 4, 5))
    assert all(part.seeds >= 3 and part.solve.depths[-1] == 100 for part in study.davi if part.solve)
    assert {part.n for part in study.davi} == {2, 3, 4, 5, 6}
    paper = PRESETS["paper"].davi
    assert {part.n for part in paper} == {2, 3, 4, 5, 6} and all(part.seeds == 10 for part in paper)
    assert {(part.n, part.agent.states // EPOCH_STATES) for part in paper} == {(n, 10_000) for n in range(2, 7)} | {
        (5, 50_000)
    }
    assert all(part.solve and part.solve.scrambles == 50 and part.solve.cap > 0 for part in paper)
    shared = {
        cell.config["agent"]["equivariant_group"]
        for cell in Cube().plan("paper")
        if cell.config["arm"] == "equivariant" and cell.config["kind"] == "davi"
    }
    assert shared == {"position", "conjugation"}
    assert {n for n, _ in PAPER} == {2, 3, 4, 5}
    assert cube_spec(2).goal == "any-orientation"
    with pytest.raises(UnknownName, match="laptop"):
        Cube().plan("laptp")


def test_the_table(smoke: Path) -> None:
    rows = table(smoke)
    assert [(r["kind"], r["arm"], r["labels"]) for r in rows] == [
        ("labels", "baseline", 200),
        ("labels", "conjugation", 200),
        ("labels", "equivariant", 200),
        ("labels", "baseline", 400),
        ("labels", "conjugation", 400),
        ("labels", "equivariant", 400),
        ("davi", "baseline", None),
        ("davi", "conjugation", None),
        ("astar", "baseline", None),
        ("astar", "conjugation", None),
    ]
    assert len({tuple(row) for row in rows}) == 1  # the same keys everywhere
    assert rows[-4]["paper_mean"] == 98.7 and rows[-3]["paper_mean"] is None  # conjugation is not the paper's
    assert all(r["rmse"] > 0 for r in rows[:-2]) and all(0 <= r["solved_mean"] <= 100 for r in rows[-4:])
    assert rows[0]["distinct_inputs"] > rows[1]["distinct_inputs"]
    results = read_results(smoke)
    # A* with 500 nodes: all states at depth 1 and most at 2
    assert [(r["n"], r["turns"], r["seeds"]) for r in rows[-2:]] == [(3, "1–10", 2)] * 2
    raw = results.table("solve_rates")
    last = (raw["states_so_far"] == 6000) & (raw["arm"] == "baseline")
    expected = 100 * raw["solved"][last].sum() / raw["tried"][last].sum()
    assert rows[-2]["solved_mean"] == pytest.approx(expected) and expected > 50
    assert rows[-1]["solved_gap"] is not None and rows[-2]["solved_gap"] is None
    assert set(by_depth(results, 3)) == {"baseline", "conjugation"}
    assert by_depth(results, 3)["baseline"]["depth"].tolist() == list(range(7))
    assert set(by_depth(results, 3, "labels")) == {"baseline", "conjugation", "equivariant"}
    assert [(c.arm, c.seeds, c.states.tolist()) for c in curves(results)] == [
        ("baseline", 2, [3000, 6000]),
        ("conjugation", 2, [3000, 6000]),
    ]
    assert "cube" in EXPERIMENTS


def _results(errors: Mapping[str, Mapping[int, list[float]]]) -> Results:
    rows: list[dict[str, Any]] = [
        {"kind": "labels", "n": 3, "arm": arm, "labels": count, "seed": seed, "rmse": rmse}
        for arm, by_count in errors.items()
        for count, values in by_count.items()
        for seed, rmse in enumerate(values)
    ]
    return Results(rows, (), {})


def test_worth_is_the_shift_along_the_axis_of_labels() -> None:
    # the baseline's error is 100 / √labels, the other's that of 24 times as many
    base = {count: [100 / math.sqrt(count)] * 2 for count in (1_000, 10_000, 100_000)}
    other = {count: [100 / math.sqrt(24 * count)] * 2 for count in (1_000, 10_000)}
    results = _results({"baseline": base, "conjugation": other})
    found = worth(results, 3, "conjugation", 1_000)
    assert found is not None and found.factor == pytest.approx(24) and not found.bound
    assert found.low is None and found.high is None  # seeds without a spread
    beyond = worth(results, 3, "conjugation", 10_000)
    assert beyond is not None and beyond.bound == "at least" and beyond.factor == pytest.approx(10)
    assert worth(results, 3, "baseline", 1_000) is None


def test_a_killed_run_goes_on_to_the_same_bits(smoke: Path, tmp_path: Path) -> None:
    cells = [cell for cell in Cube().plan("smoke") if cell.config["kind"] == "davi"]

    class Dies(Cube):
        def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
            keep, count = context.checkpoint, [0]

            def checkpoint(*args: Any, **meta: Any) -> None:
                keep(*args, **meta)
                count[0] += 1
                if count[0] == 1:
                    raise RuntimeError("the power went")

            context.checkpoint = checkpoint  # type: ignore[method-assign]
            return super().run_cell(cell, context)

    only = {"kind": "davi", "arm": "conjugation"}
    options: dict[str, Any] = {"workers": 0, "progress": "none", "checkpoint_seconds": 0.0, "only": only}
    assert len(sweep(Dies(), "smoke", tmp_path, **options).failed) == 2
    assert sweep(Cube(), "smoke", tmp_path, workers=0, progress="none", only=only).ok
    rows = {row["seed"]: row for row in read_results(tmp_path).rows}
    for row in read_results(smoke).rows:
        if row["kind"] == "davi" and row["arm"] == "conjugation":
            assert rows[row["seed"]] == {key: row[key] for key in rows[row["seed"]]}
    assert len(cells) == 4 and np.isfinite([r["rmse"] for r in rows.values()]).all()


def test_the_report_draws_it(smoke: Path, tmp_path: Path) -> None:
    from burnside.report.cube import show
    from burnside.report.page import Page

    page = Page("cube", lead="a test")
    page.section("cube", id="cube")
    show(page, smoke, "smoke", tmp_path)
    text = page.render()
    assert text.count("<svg") >= 3 and "conjugation" in text and "98.7" in text
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert {"fig4c-cube.svg", "labels-cube.csv", "depths-cube.png"} <= names
    assert (tmp_path / "figures" / "labels-cube.csv").read_text().count("\n") == 7
