"""The 3D experiment: its plan, a sweep that is stopped and resumed, its table and curves, what circling explains."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnside.agents.dqn.config import DQNConfig
from burnside.agents.ppo import RingPPOConfig
from burnside.envs.ring.core import RingSpec
from burnside.errors import UnknownName, UnreadableFile
from burnside.experiments.arms import KEY, read_arms
from burnside.experiments.ring3d import PAPER, PRESETS, Ring3D, Setting
from burnside.experiments.ring3d import config as config_module
from burnside.experiments.ring3d.analysis import circling, curves, final, references, settings
from burnside.experiments.ring3d.config import Budget, Plan, agent
from burnside.experiments.ring3d.run import _cells
from burnside.experiments.ring3d.walks import constant_play, random_play
from burnside.runs import Cell, sweep
from burnside.runs.folder import CellFolder
from burnside.runs.job import Experiment, Job
from burnside.runs.results import compact

TINY = replace(
    PRESETS["smoke"],
    settings=(
        Setting("dqn", "baseline", "pool"),
        Setting("ppo", "canonical", "pool"),
        Setting("ppo", "canonical", "flatten"),
    ),
)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setitem(config_module.PRESETS, "smoke", TINY)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished sweep of ``TINY``."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("ring3d")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(config_module.PRESETS, "smoke", TINY)
        assert sweep(Ring3D(), "smoke", folder, workers=0, device="cpu", progress="none").ok
    return folder


def test_it_fits_the_protocols() -> None:
    assert isinstance(Ring3D(), Experiment) and isinstance(Ring3D(), Job)


def test_the_paper_preset_is_the_papers() -> None:
    cells = Ring3D().plan("paper")
    assert len(cells) == 8 and all(cell.seeds == tuple(range(10)) for cell in cells)
    for cell in cells:
        kind = DQNConfig if cell.config["algorithm"] == "dqn" else RingPPOConfig
        assert cell.config["agent"] == kind.preset("ring3d", encoder=cell.config["encoder"]).to_json()
        assert cell.config["episodes"] == 50_000 and cell.config["n"] == 5


def _key(cell: Cell) -> tuple[object, ...]:
    found = cell.config
    return (found["algorithm"], found[KEY], found["encoder"], found.get("variant", ""), found["episodes"])


@pytest.mark.parametrize("preset", PRESETS)
def test_plans_are_whole(preset: str) -> None:
    cells = Ring3D().plan(preset)
    assert len({cell.name for cell in cells}) == len(cells)
    for plan in (PRESETS[preset], *PRESETS[preset].also):
        for setting in plan.settings:
            episodes = plan.budgets[setting.algorithm].episodes
            key = (setting.algorithm, setting.arm, setting.encoder, setting.variant, episodes)
            mine = [c for c in cells if _key(c) == key]
            assert sorted(seed for cell in mine for seed in cell.seeds) == list(range(plan.seeds))


def test_the_study_has_what_was_promised() -> None:
    assert PRESETS["study"].seeds >= 5 and len(PRESETS["study"].settings) == 6
    with pytest.raises(UnknownName):
        Ring3D().plan("huge")


def test_the_paper_is_a_policy_that_runs_in_circles() -> None:
    """−67.38 ± 1.12 lies among circles of two to five cells; the formula is what is measured."""
    mean, se = PAPER["baseline"]
    assert circling(2) < mean < circling(5) and abs(circling(5) - mean) < se
    spec = RingSpec(5, d=3)
    (to_and_fro, _), (round_trip, _) = constant_play(spec, (0, 63), 8000), constant_play(spec, (63,), 8000)
    assert abs(to_and_fro.returns.mean() - circling(2)) < 0.6
    assert abs(round_trip.returns.mean() - circling(5)) < 0.6


def test_random_play_is_near_its_expectation() -> None:
    """Chance 1/125 per step to enter the goal, 0.7 mines per other step; worse than −35 and better than −39."""
    found, walk = random_play(RingSpec(5, d=3), 4000)
    assert -39 < found.returns.mean() < -35
    assert abs(found.success.mean() - (1 - (124 / 125) ** 100)) < 0.03
    assert np.array_equal(found.returns, 20.0 * found.success - walk.mines)


@pytest.mark.parametrize("action", [0, 21, 63])
def test_one_move_for_ever_is_worse_than_random(action: int) -> None:
    """It goes round N cells: 5 of 125 goals are found, otherwise a hundred steps at 0.7 mines: about −66.5."""
    found, walk = constant_play(RingSpec(5, d=3), (action,), 5000)
    assert walk.entered.sum(axis=1).max() == 5
    assert abs(found.success.mean() - 5 / 125) < 0.01 and abs(found.returns.mean() + 66.5) < 1.0


def test_references() -> None:
    random, constant, best = references()
    assert -39 < random["sampled_mean"] < -35 and constant["greedy_mean"] < -65 and best["greedy_mean"] > 19.9
    assert constant["cells"] <= 5


# ---------------------------------------------------------------------- running


def test_sweep_table_and_compact(swept: Path, tmp_path: Path) -> None:
    results = read_arms(swept)
    assert [setting for setting, _ in settings(results)] == list(TINY.settings)
    assert set(final(results, TINY.settings[0])) == {0, 1}
    table = Ring3D().table(swept, False)
    assert [row["algorithm"] for row in table[:3]] == ["dqn", "ppo", "ppo"] and len(table) == 6
    for row in table[:3]:
        assert row["seeds"] == 2 and row["greedy_low"] < row["greedy_mean"] < row["greedy_high"]
        assert -101 <= row["greedy_mean"] <= 20
        assert 0 <= row["solved"] <= 1 and row["cells"] >= 1
    assert table[0]["paper_mean"] == -67.38 and table[1]["paper_mean"] == 16.96 and table[2]["paper_mean"] is None
    found = curves(results, window=2, points=3)
    assert [c.seeds for c in found] == [2, 2, 2] and all(c.episode[-1] == 4 for c in found)
    returns = results.table("episodes")
    mine = returns["algorithm"] == "dqn"
    last = [returns["returns"][mine & (returns["seed"] == s)][-2:].mean() for s in (0, 1)]
    assert np.isclose(found[0].mean[-1], np.mean(last))
    assert {"train", "greedy", "sampled"} <= set(results.table("curves"))
    compact(swept, tmp_path / "small")
    assert Ring3D().table(tmp_path / "small", False) == table
    json.dumps(table, allow_nan=False)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("setting", [0, 1], ids=["dqn", "ppo"])
def test_stopped_and_resumed_at_every_turn(tmp_path: Path, setting: int) -> None:
    """A cell that is stopped at every check of the clock ends with the very same result, tables and log."""
    cell = Ring3D().plan("smoke")[setting]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(cell, whole, stop_every=None)
    attempts = 0
    while not run(cell, broken, stop_every=1):
        attempts += 1
    assert attempts > 2
    for name in ("result.json", "log.jsonl"):
        one, two = (find(folder, cell, name).read_text() for folder in (whole, broken))
        assert one == two
    for table in ("episodes", "curves"):
        one, two = (CellFolder(folder, cell).table(table) for folder in (whole, broken))
        assert all(np.array_equal(one[k], two[k]) for k in one) and one.keys() == two.keys()


def find(folder: Path, cell: Cell, name: str) -> Path:
    return folder / "cells" / cell.name / name


def run(cell: Cell, folder: Path, stop_every: int | None) -> bool:
    from burnside.runs.work import Task, run_one

    task = Task(Ring3D(), folder, device="cpu")
    outcome = run_one(task, cell, stop=lambda: stop_every is not None)
    assert outcome.status in ("done", "stopped"), outcome
    return outcome.status == "done"


@pytest.mark.usefixtures("tiny")
def test_a_missing_cell_is_an_error(swept: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(swept, folder)
    find(folder, Ring3D().plan("smoke")[0], "result.json").unlink()
    with pytest.raises(UnreadableFile, match="allow"):
        Ring3D().table(folder, False)
    assert len(Ring3D().table(folder, True)) == 5


def test_a_variant_is_another_row_and_changes_one_thing() -> None:
    plain, changed = Setting("ppo", "canonical", "pool"), Setting("ppo", "canonical", "pool", "value")
    plan = Plan(1, {"ppo": Budget(40)}, evaluate_every=20, settings=(plain, changed))
    mine, other = (agent(setting, plan).to_json() for setting in (plain, changed))
    assert {key for key in mine if mine[key] != other[key]} == {"value_weight"}
    cells = [cell for setting in plan.settings for cell in _cells(plan, setting)]
    assert "variant" not in cells[0].config and cells[1].config["variant"] == "value"
    assert len({cell.name for cell in cells}) == 2
