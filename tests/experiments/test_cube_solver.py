"""The solver's study: its plan, the smallest preset, and what it reports for made-up results."""

import math
from pathlib import Path

import pytest

from burnside.experiments.cube_solver import PRESETS, CubeSolver
from burnside.experiments.cube_solver.analysis import needed, table
from burnside.experiments.cube_solver.config import ARMS, RATES
from burnside.report.cube_solver import cube_solver_part
from burnside.report.page import Page
from burnside.runs import read_results, sweep
from burnside.stats import times_ratio


def test_every_arm_has_the_same_rates_and_seeds_of_their_own() -> None:
    cells = CubeSolver().plan("study")
    assert len({cell.name for cell in cells}) == len(cells)
    tuning = [cell for cell in cells if cell.config["kind"] == "rate"]
    assert {(c.config["arm"], c.config["rate"]) for c in tuning} == {(arm, rate) for arm in ARMS for rate in RATES}
    seeds = {kind: {c.seeds[0] for c in cells if c.config["kind"] == kind} for kind in ("rate", "budget", "size")}
    assert not seeds["rate"] & (seeds["budget"] | seeds["size"]) and len(seeds["budget"]) >= 5
    assert set(PRESETS) == {"smoke", "laptop", "study", "paper"}


def test_states_needed_are_interpolated_and_censored() -> None:
    def row(arm: str, seed: int, states: int, solved: int) -> dict[str, object]:
        return {"kind": "budget", "arm": arm, "seed": seed, "states": states, "solved": solved, "tried": 100}

    rows = [row("none", 0, 1000, 10), row("none", 0, 4000, 80), row("equivariant-48", 0, 100, 80)]
    rows += [row("equivariant-48", 0, 400, 100)]
    base, ours = needed(rows, "none"), needed(rows, "equivariant-48")
    assert base is not None and ours is not None and base.censored == 1 and ours.censored == 0
    assert ours.times[0] == pytest.approx(math.sqrt(100 * 400)) and base.times[0] == pytest.approx(4000)
    assert times_ratio(base, ours).bound == "at least"
    assert needed(rows, "position") is None


def test_smoke_and_its_part_of_the_report(tmp_path: Path) -> None:
    outcome = sweep(CubeSolver(), "smoke", tmp_path / "runs", workers=0)
    assert outcome.ok and len(outcome.done) == 7
    rows = table(tmp_path / "runs")
    assert {row["kind"] for row in rows} == {"budget", "size", "shipped", "slices", "needed"}
    assert all(0 <= row["solved"] <= 1 for row in rows if row["kind"] != "needed")
    shipped = [row for row in rows if row["kind"] == "shipped"]
    assert [(row["effort"], row["cubes"]) for row in shipped] == [(0, 2), (1, 1)]
    assert len(read_results(tmp_path / "runs").table("efforts")["length"]) == 3
    slices = [row for row in rows if row["kind"] == "slices"]
    assert [(row["n"], row["turns"], row["width"], row["cubes"]) for row in slices] == [(4, 2, 8, 2), (4, 5, 8, 2)]
    assert all(row["solved"] == 1 for row in slices)  # within the table of the last turns
    assert [row["table"] for row in slices] == [4, 5] and slices[1]["weights"] == 85_719
    assert {row["n"] for row in rows if row["kind"] not in ("slices", "needed")} == {3}
    page = Page("solver")
    cube_solver_part(page, "smoke", tmp_path / "runs", tmp_path / "out")
    text = page.write(tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert 'class="cube-player"' in text and "DeepCubeA" in text and "4×4×4" in text
    assert (tmp_path / "out" / "figures" / "cube-solver.svg").is_file()
