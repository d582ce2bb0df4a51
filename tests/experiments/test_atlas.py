"""The study of what symmetry saves: cells, thresholds, verdicts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from burnside.cli import main
from burnside.errors import InvalidParameter
from burnside.experiments.atlas.analysis import Group, Scores, groups, rows_of, verdicts
from burnside.experiments.atlas.config import FRACTIONS, PRESETS, Task, conditions
from burnside.experiments.atlas.run import Atlas, Measurement, cells_of
from burnside.experiments.atlas.tasks import TicTacToe
from burnside.runs import sweep

TINY = Task(
    "CartPole-v1", "classic control", "ppo", 1536, 22.0, 500.0, every=512, episodes=2, seeds=3, block=3,
    arms=("baseline", "averaging"), settings={"hidden": [16, 16]},
)  # fmt: skip


def test_plans_have_every_control_beside_its_arm():
    for preset in ("smoke", "laptop", "study"):
        cells = Atlas().plan(preset)
        assert len({cell.name for cell in cells}) == len(cells)
    for task in PRESETS["study"]:
        found = conditions(task)
        assert found[0] == ("baseline", "") and (task.arms[1], "placebo") in found
    envs = {task.env for task in PRESETS["study"]}
    assert len(envs) >= 14 and len({task.family for task in PRESETS["study"]}) >= 5


def test_a_measurement_from_cells_to_rows(tmp_path):
    job = Measurement((TINY,), "measure")
    assert sweep(job, "measure", tmp_path, workers=0, progress="none").ok
    (group,) = groups(tmp_path)
    rows = rows_of(group)
    assert [(row["arm"], row["control"]) for row in rows] == conditions(TINY)
    assert rows[1]["order"] == 2 and rows[2]["placebo"] == "refuted"
    assert {len(group.over_thresholds(key)) for key in group.conditions} == {len(FRACTIONS)}
    again = sweep(job, "measure", tmp_path, workers=0, progress="none")
    assert len(again.skipped) == len(cells_of(TINY))


def scores(times, budget=1000):
    """Runs that reach the best score at a time, or never."""
    curves = {}
    for seed, time_ in enumerate(times):
        step = np.arange(10, budget + 10, 10)
        curves[seed] = step, np.where(step >= (time_ or 10**9), 100.0, 0.0)
    rows = [{"order": 2, "updates": 1, "placebo_verdict": "", "seed": s} for s in curves]
    return Scores(curves, rows, budget, None)


def group(**conditions_):
    named = {tuple(key.split("_")) if "_" in key else (key, ""): scores(v) for key, v in conditions_.items()}
    return Group(("x", "", "ppo"), {"family": ""}, named, 0.0, 100.0, True)


SLOW, FAST = (400, 420, 440, 410), (100, 110, 120, 105)


def test_a_saving_that_a_control_shares_is_not_by_symmetry():
    said = verdicts(group(baseline=SLOW, averaging=FAST, averaging_placebo=SLOW))
    assert said["averaging", ""] == "a saving by symmetry"
    said = verdicts(group(baseline=SLOW, averaging=FAST, averaging_placebo=FAST))
    assert "placebo" in said["averaging", ""] and "not by symmetry" in said["averaging", ""]
    said = verdicts(group(baseline=SLOW, canonical=FAST, canonical_domain=SLOW, canonical_placebo=SLOW))
    assert "this domain" in said["canonical", ""]
    assert verdicts(group(baseline=FAST, averaging=SLOW))["averaging", ""] == "a loss"
    assert verdicts(group(baseline=FAST, averaging=FAST))["averaging", ""] == "not decided here"


def test_censored_runs_are_bounds_and_two_solved_runs_have_no_interval():
    found = group(baseline=(None,) * 4, averaging=FAST).ratio(("averaging", ""))
    assert found.bound == "at least" and found.high is None and found.low > 1
    assert group(baseline=(400, 500), averaging=(100, 110)).ratio(("averaging", "")).low is None
    both = group(baseline=(400, None, 500, 600), averaging=(None, 100, 120, 130)).ratio(("averaging", ""))
    assert both.bound == "not decided"


def test_bad_tasks_are_refused():
    with pytest.raises(InvalidParameter, match="random"):
        Task("CartPole-v1", "", "ppo", 1000, 500.0, 22.0)
    with pytest.raises(InvalidParameter, match="never evaluated"):
        Task("CartPole-v1", "", "ppo", 100, every=512)


def test_the_board_game_follows_gymnasium():
    from gymnasium.utils.env_checker import check_env

    check_env(TicTacToe(), skip_render_check=True)


def test_the_command_prints_json(tmp_path, capsys):
    words = ["measure", "CartPole-v1", "--learner", "ppo", "--seeds", "2", "--steps", "1024", "--every", "512"]
    more = ["--arms", "baseline,averaging", "--controls", "none", "--episodes", "2", "--workers", "0"]
    assert main([*words, *more, "--setting", "hidden=[16,16]", "--runs", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"rows", "thresholds", "reference", "overall", "tuning"} <= set(found)
    assert [row["arm"] for row in found["rows"]] == ["baseline", "averaging"]
    assert Path(found["report"]).exists()


def test_the_command_refuses_bad_words(capsys):
    assert main(["measure", "CartPole-v1", "--learner", "ppo", "--arms", "baseline,mirrors"]) == 2
    assert main(["measure", "CartPole-v1", "--learner", "a2c"]) == 2
    assert main(["measure", "MountainCar-v0", "--learner", "sb3:A2C"]) == 2
    assert "arm" in capsys.readouterr().err
    for domain in ("nothing", "7"):
        assert main(["measure", "CartPole-v1", "--learner", "ppo", "--domain", domain]) == 2
    assert "unknown coordinate 'nothing'" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_ten_times_it_ends_with_the_same_bits(tmp_path):
    command = [sys.executable, "-m", "burnside", "measure", "Pendulum-v1", "--learner", "sac", "--seeds", "1"]
    command += ["--arms", "baseline", "--controls", "none", "--steps", "3000", "--workers", "1", "--json"]
    plain = subprocess.run([*command, "--runs", str(tmp_path / "a")], capture_output=True, check=True)
    for _ in range(10):
        run = subprocess.Popen([*command, "--runs", str(tmp_path / "b")], start_new_session=True)
        time.sleep(6)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    ended = subprocess.run([*command, "--runs", str(tmp_path / "b")], capture_output=True, check=True)
    one, two = (json.loads(out.stdout)["rows"] for out in (plain, ended))
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in one] == [
        {k: v for k, v in row.items() if k != "seconds"} for row in two
    ]


@pytest.mark.slow
def test_ray_runs_two_environments(tmp_path):
    pytest.importorskip("ray")
    assert sweep(Atlas(), "smoke", tmp_path, engine="ray", workers=2, progress="none").ok
    assert len(groups(tmp_path)) == 2
