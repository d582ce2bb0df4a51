"""The robot experiment without the simulator: plans, the gate, the table, curves, and the part of the report."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest

from burnside.cli.train_robot import TrainRobot
from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.imitate_finetune import gate_says, training_curve
from burnside.experiments.registry import EXPERIMENTS
from burnside.experiments.robot import ARMS, PRESETS, Recipe, Robot, recipe
from burnside.experiments.robot.analysis import finetune_curves, rows_of
from burnside.experiments.robot.config import LATER, OBSERVATIONS, VARIANTS, Part, part_recipe
from burnside.runs import Results


def test_plans() -> None:
    for preset in PRESETS:
        cells = Robot().plan(preset)
        assert len({cell.name for cell in cells}) == len(cells)
        for cell in cells:
            found = Recipe.from_json(cell.config)
            assert found.to_json() == {key: cell.config[key] for key in found.to_json()}
    study = Robot().plan("study")
    arms = {(c.config["task"], c.config["arm"]) for c in study if c.config["observation"] == "state"}
    assert {("stack-three", arm) for arm in ("world", "base", "gripper")} <= arms
    tuned = [c for c in study if c.config["finetune"] != "no"]
    assert all(c.config["agent"]["budget"] >= 100_000 for c in tuned if c.config["observation"] == "state")
    with pytest.raises(UnknownName, match="laptop"):
        Robot().plan("laptp")
    assert "robot" in EXPERIMENTS


def test_the_command_knows_every_frame_and_observation() -> None:
    assert get_args(get_type_hints(TrainRobot)["arm"]) == ARMS
    assert get_args(get_type_hints(TrainRobot)["observation"]) == OBSERVATIONS


def test_recipes() -> None:
    found = recipe("paper", "stack-three", "gripper", observation="cloud")
    assert found.policy.layers == 12 and found.policy.points == 1024 and found.agent.budget == 2_000_000
    assert found.policy.obs_dim == 11 and found.cloud and asdict(found.agent)["rollout_unit"] == "episodes"
    assert recipe("study", "stack-three", "world", observation="cloud", points=128).policy.points == 128
    tokens, cloud = (recipe("study", "stack-three", "world", observation=seen) for seen in ("tokens", "cloud"))
    assert tokens.observation == "tokens" and not tokens.cloud and tokens.imitation == cloud.imitation
    assert tokens.policy.obs_dim == recipe("study", "stack-three", "world").policy.obs_dim
    same = ("trunk", "layers", "heads", "width", "horizon", "n_act")
    assert all(getattr(tokens.policy, name) == getattr(cloud.policy, name) for name in same)
    for wrong, words in (({"arm": "robot"}, "gripper"), ({"preset": "huge"}, "study"), ({"task": "stack"}, "stack-")):
        with pytest.raises(UnknownName, match=words):
            recipe(**{"preset": "study", "task": "stack-three", "arm": "world", **wrong})
    with pytest.raises(InvalidParameter, match="at least 1"):
        recipe("study", "stack-three", "world", demos=0)


def test_the_gate() -> None:
    assert gate_says(0.2) is None and gate_says(0.6) is None
    assert "more updates" in str(gate_says(0.19)) and "little is left" not in str(gate_says(0.19))
    assert "92 %" in str(gate_says(0.92))


def row(arm: str, seed: int, before: int, after: int | None, demos: int = 500) -> dict[str, Any]:
    own = {"task": "stack-three", "observation": "state", "arm": arm, "demos": demos, "seed": seed, "scenes": 50}
    return {
        **own,
        "cell": f"{arm}{seed}{demos}",
        "successes": before,
        "after": after,
        "gate": 10 <= before <= 30,
        "training": 0.5,
        "env_steps": 100_000,
    }


def test_rates_are_pooled_and_gains_paired() -> None:
    results = Results([row("world", 0, 10, 20), row("world", 1, 20, 20), row("world", 2, 45, None)], (), {})
    found, tuned = rows_of(results)
    assert (found["kind"], tuned["kind"], found["features"], found["shift"]) == ("imitation", "finetune", "poses", 0.0)
    assert found["successes"] == 75 and found["success"] == 0.5 and found["inside_gate"] == 2
    assert found["success_low"] < 0.2 and found["success_high"] > 0.8  # 75 of 150 alone would be 42 to 58 %
    assert tuned["seeds"] == 2 and tuned["before"] == 0.3 and tuned["success"] == 0.4
    assert tuned["gain"] == pytest.approx(0.1) and tuned["gain_low"] < 0 < tuned["gain_high"]


def fair(arm: str, seed: int, won: int, demos: int, spread: tuple[float, float] = (0.0, 0.0)) -> dict[str, Any]:
    setting = {**LATER, "features": "relations", "shift": spread[0], "turn": spread[1]}
    return {**row(arm, seed, won, None, demos), **setting, "task": "stack-two"}


def test_demonstrations_for_equal_success() -> None:
    """The hand's frame is run once and stands beside every spread; the world's has a curve at each."""
    far = (0.3, 180.0)
    rows = [fair("world", s, won + s, n, far) for s in range(3) for n, won in ((30, 5), (60, 10), (300, 40))]
    rows += [fair("world", s, won + s, n) for s in range(3) for n, won in ((30, 20), (60, 45))]
    rows += [fair("gripper", s, 40 + s, 30) for s in range(3)] + [
        fair("augmented", s, 10 + s, 30, far) for s in range(3)
    ]
    rows += [row("world", s, 9, None, 50) for s in range(2)]  # of the first study: another task and other features
    found = {(r["turn"], r["arm"]): r for r in rows_of(Results(rows, (), {})) if r["kind"] == "saving"}
    assert found.keys() == {(180.0, "gripper"), (180.0, "augmented"), (0.0, "gripper")}
    hand = found[180.0, "gripper"]
    assert hand["saving"] == pytest.approx(10.0) and hand["saving_low"] <= 10.0 and hand["demos"] == 30
    assert hand["gap"] == pytest.approx(0.7)  # against the world's frame at that spread
    assert found[180.0, "augmented"]["saving"] == pytest.approx(2.0)
    assert 1.0 < found[0.0, "gripper"]["saving"] < 2.0
    rows += [fair("gripper", s, 30 + s, 30, far) for s in range(3)]  # run at that spread after all: then that counts
    again = {(r["turn"], r["arm"]): r for r in rows_of(Results(rows, (), {})) if r["kind"] == "saving"}
    assert again.keys() == found.keys() and again[180.0, "gripper"]["saving"] < 10.0


def test_the_one_cell_that_checks_the_invariance_does_not_replace_all_seeds() -> None:
    """The study plays one cell of the hand's frame far away: it is a check, and the saving stays that of all seeds."""
    far = (0.3, 180.0)
    rows = [fair("world", s, won + s, n, far) for s in range(3) for n, won in ((30, 5), (60, 10), (300, 40))]
    rows += [fair("gripper", s, 40 + s, 30) for s in range(3)]
    alone = [r for r in rows_of(Results(rows, (), {})) if r["kind"] == "saving"]
    rows += [fair("gripper", 0, 40, 30, far)]
    found = [r for r in rows_of(Results(rows, (), {})) if r["kind"] == "saving"]
    assert found == alone and found[0]["seeds"] == 3 and found[0]["saving_low"] is not None


def test_cells_that_differ_after_imitation_count_once() -> None:
    rows = [fair("world", 0, 10, 60) | {"cell": pays, "pays": pays, "after": after, "training": 0.3}
            for pays, after in (("staged", 20), ("sparse", 12))]  # fmt: skip
    kinds = rows_of(Results(rows, (), {}))
    assert [(r["kind"], r["pays"], r["successes"]) for r in kinds] == [
        ("imitation", None, 10), ("finetune", "sparse", 12), ("finetune", "staged", 20),
    ]  # fmt: skip


def test_the_fair_settings_are_the_same_for_all_arms() -> None:
    first, second = (recipe("study", "stack-two", arm, features="relations", spread=(0.3, 180.0))
                     for arm in ("world", "gripper"))  # fmt: skip
    assert first.policy == second.policy and first.policy.n_obs == 1 and first.scales == "metric"
    assert first.substeps == 10 and first.scenes == 200 and first.test_from == 200_000 and first.pool == 600
    assert recipe("study", "stack-two", "augmented", features="relations", spread=(0.1, 0.0)).frame == "world"
    old = recipe("study", "stack-three", "world")
    assert "setting" not in old.to_json() and old.policy.n_obs == 2  # cells of the first study keep their names
    for wrong, words in (
        ({"arm": "augmented"}, "give a spread"),
        ({"arm": "base", "spread": (0.1, 0.0)}, "relations"),
        ({"spread": (-1.0, 0.0)}, "metres"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            recipe(**{"preset": "study", "task": "stack-two", "arm": "world", **wrong})
    with pytest.raises(UnknownName, match="relations"):
        recipe("study", "stack-two", "world", features="all")


def test_variants_of_ppo() -> None:
    plain = part_recipe("study", Part("stack-two", ("world",), (60,), 1, features="relations"), "world", 60)
    for name, changes in VARIANTS.items():
        part = Part("stack-two", ("world",), (60,), 1, "always", features="relations", variant=name, updates=7)
        found = part_recipe("study", part, "world", 60)
        assert found.imitation["steps"] == 7 and Recipe.from_json(found.to_json()) == found
        same = (found.policy, found.agent) == (plain.policy, plain.agent)
        assert same == (changes == ({}, {})), f"{name} changes nothing"
    with pytest.raises(UnknownName, match="one clip"):
        part_recipe("study", Part("stack-two", ("world",), (60,), 1, variant="two clips"), "world", 60)


def test_curves() -> None:
    rows = [(0.0, 400.0, 0.0, 400.0, 0.0), (10.0, 200.0, 1.0, 600.0, 0.0), (10.0, 200.0, 1.0, 1000.0, 1.0)]
    found = training_curve(rows, points=2)
    assert found["env_steps"].tolist() == [500, 1000] and found["episodes"].tolist() == [1, 2]
    assert found["success"].tolist() == [0.0, 1.0]
    assert training_curve([])["success"].size == 0
    columns = {
        **{key: np.array([value] * 6) for key, value in (("task", "stack-three"), ("observation", "state"))},
        "arm": np.array(["world"] * 6),
        "demos": np.array([500, 500, 500, 500, 100, 100]),
        "seed": np.array([0, 0, 1, 1, 0, 0]),
        "cell": np.array(["world0500", "world0500", "world1500", "world1500", "world0100", "world0100"]),
        "env_steps": np.array([0, 100, 0, 120, 0, 90]),
        "successes": np.array([10, 20, 20, 40, 5, 50]),
    }
    cells = [row("world", 0, 10, 20), row("world", 1, 20, 40), row("world", 0, 5, 50, demos=100)]
    fewer, curve = finetune_curves(Results(cells, (), {}, {"finetune": columns}))
    assert (fewer.demos, curve.demos) == (100, 500), "the same seed from other demonstrations is another run"
    assert fewer.mean.tolist() == [0.1, 1.0] and fewer.seeds == 1
    assert curve.env_steps.tolist() == [0, 110] and curve.mean.tolist() == [0.3, 0.6] and curve.seeds == 2
    assert (curve.low < curve.mean).all() and (curve.mean < curve.high).all()
    assert np.isnan(fewer.low).all()  # one seed


def test_a_simulator_elsewhere_must_work_not_only_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from burnside.report import robot

    monkeypatch.chdir(tmp_path)
    assert robot.simulator_python() is None, "no environment"
    python = tmp_path / ".venv-robot" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    assert robot.simulator_python() is None, "it says nothing"
    monkeypatch.setattr(robot, "_NEEDED", ("numpy",))
    monkeypatch.setenv("BURNSIDE_ROBOT_PYTHON", sys.executable)
    assert robot.simulator_python() == Path(sys.executable)
    monkeypatch.setattr(robot, "_NEEDED", ("numpy", "no_such_simulator"))
    assert robot.simulator_python() is None, "it lacks a package"


def test_without_the_simulator_the_part_says_so(tmp_path: Path) -> None:
    from burnside.report import robot
    from burnside.report.page import Page

    page = Page("robot", lead="a test")
    page.section("robot", id="robot")
    robot.robot_part(page, "smoke", tmp_path / "nothing", tmp_path)
    assert "make test-robot" in page.render()
