"""The whole pipeline on the simulator: the experiment, the command, its gate, NVIDIA's scenes, the symmetry."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from burnside.cli import main
from burnside.envs.manipulation import read_demonstrations
from burnside.envs.manipulation.nvidia import find_nvidia, nvidia_demonstrations, nvidia_scene
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import BurnsideError, InvalidParameter, UnreadableFile
from burnside.experiments.robot import Robot, recipe
from burnside.experiments.robot.analysis import finetune_curves, table
from burnside.experiments.robot.demonstrations import find_demonstrations
from burnside.experiments.robot.symmetry import MOTIONS, measure
from burnside.nn.flow import load_policy
from burnside.runs import Cell, Context, read_results, sweep

DATA = Path(__file__).parent / "data"


@pytest.fixture
def demos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder whose demonstrations are the samples of the repository."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "runs" / "demos"
    folder.mkdir(parents=True)
    for task in ("stack-three", "nut-assembly"):
        (folder / f"{task}.hdf5").write_bytes((DATA / f"{task}-sample.hdf5").read_bytes())
    return tmp_path


def test_the_experiment_runs_resumes_and_is_drawn(demos: Path) -> None:
    from burnside.report.page import Page
    from burnside.report.robot import show

    options: dict[str, Any] = {"workers": 0, "progress": "none"}
    whole = demos / "whole"
    outcome = sweep(Robot(), "smoke", whole, **options)
    assert outcome.ok and len(outcome.done) == 7, outcome.failed
    rows = table(whole)
    assert [(r["kind"], r["task"], r["arm"]) for r in rows] == [
        ("imitation", "stack-two", "world"),
        ("imitation", "stack-two", "base"),
        ("imitation", "stack-two", "augmented"),
        ("imitation", "stack-two", "augmented-relative"),
        ("imitation", "stack-three", "world"),
        ("imitation", "stack-three", "gripper"),
        ("imitation", "nut-assembly", "gripper"),
        ("finetune", "stack-two", "world"),
        ("finetune", "stack-two", "base"),
        ("finetune", "stack-three", "world"),
        ("finetune", "stack-three", "gripper"),
    ]  # the gate of nut-assembly was closed
    assert rows[0]["success_high"] is None, "one seed has no interval"
    assert [c.env_steps[0] for c in finetune_curves(read_results(whole))] == [0, 0, 0, 0]

    rollouts = read_results(whole).table("rollouts")
    assert (rollouts["explained_variance"] <= 1).all() and set(rollouts["success"]) <= {0.0, 1.0, 0.5}

    class Dies(Robot):
        def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
            keep, stages = context.checkpoint, []

            def checkpoint(*args: Any, **meta: Any) -> None:
                keep(*args, **meta)
                stages.append(meta["stage"])
                if stages[-1] == "ppo":
                    raise RuntimeError("the power went")

            context.checkpoint = checkpoint  # type: ignore[method-assign]
            return super().run_cell(cell, context)

    again, only = demos / "again", {"task": "stack-two", "arm": "base"}  # cells, stages and the clock are kept too
    assert len(sweep(Dies(), "smoke", again, checkpoint_seconds=0.0, only=only, **options).failed) == 1
    assert sweep(Robot(), "smoke", again, only=only, **options).ok
    (found,) = read_results(again).rows
    (expected,) = [r for r in read_results(whole).rows if r["arm"] == "base" and r["task"] == "stack-two"]
    assert found == {key: expected[key] for key in found}

    page = Page("robot", lead="a test")
    page.section("robot", id="robot")
    show(page, whole, "smoke", demos)
    assert "nut-assembly" in page.render() and (demos / "figures" / "fig5-robot.csv").exists()


def test_the_command_and_its_gate(demos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "robot", "--task", "stack-three", "--arm", "gripper", "--preset", "smoke", "--out", "policy"]
    command += ["--workers", "0"]
    assert main([*command, "--stage", "finetune"]) == 2
    assert "--stage imitate" in capsys.readouterr().err.replace("\n", " ")
    assert main([*command, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["scenes"] == 2 and facts["low"] <= facts["success"] <= facts["high"] and facts["demonstrations"] == 2
    assert main([*command, "--stage", "finetune"]) == 1
    assert "20 to 60 %" in capsys.readouterr().err.replace("\n", " ")
    assert main([*command, "--stage", "finetune", "--anyway", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["env_steps"] >= 64 and found["curve"][-1] == [found["env_steps"], found["successes"]]
    first = load_policy("policy/finetuned.safetensors").state_dict()
    assert main([*command, "--stage", "finetune", "--anyway"]) == 0  # the cell has finished
    again = load_policy("policy/finetuned.safetensors").state_dict()
    assert all(bool((again[name] == value).all()) for name, value in first.items())
    rows = table(Path("policy"))  # the folder is that of a sweep
    assert [(r["kind"], r["arm"], r["env_steps"]) for r in rows][1:] == [("finetune", "gripper", found["env_steps"])]
    wrong = [*command, "--stage", "finetune"]
    wrong[wrong.index("gripper")] = "world"
    assert main(wrong) == 2
    assert "gripper" in capsys.readouterr().err
    assert main([*command, "--demonstrations", "11", "--out", "other"]) == 2
    assert "10 demonstrations" in capsys.readouterr().err.replace("\n", " ")
    assert main([*command, "--demos", str(DATA / "nut-assembly-sample.hdf5"), "--out", "other"]) == 2
    assert "NutAssembly_D0" in capsys.readouterr().err


def test_a_stopped_command_resumes(demos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["train", "robot", "--preset", "smoke", "--workers", "0", "--json"]
    assert main([*command, "--out", "whole"]) == 0
    assert main([*command, "--out", "whole", "--stage", "finetune", "--anyway"]) == 0
    keep = Context.checkpoint

    def checkpoint(self: Context, *args: Any, **meta: Any) -> None:
        keep(self, *args, **meta)
        raise RuntimeError("the power went")

    for stage in ("imitate", "finetune"):
        again = [*command, "--out", "again", "--stage", stage, "--anyway"]
        with monkeypatch.context() as patch:
            patch.setattr(Context, "due", lambda self: True)
            patch.setattr(Context, "checkpoint", checkpoint)
            assert main(again) == 1
        assert main(again) == 0
    for name in ("imitated", "finetuned"):
        assert Path(f"again/{name}.safetensors").read_bytes() == Path(f"whole/{name}.safetensors").read_bytes()
        one, two = (json.loads(Path(f"{folder}/{name}.json").read_text()) for folder in ("again", "whole"))
        assert one | {"policy": ""} == two | {"policy": ""}
    (Path("again") / "imitated.json").write_text(  # as written before --frame became --arm
        Path("again/imitated.json").read_text().replace('"arm"', '"frame"')
    )
    assert main([*command, "--out", "again", "--stage", "finetune", "--frame", "gripper"]) == 1  # the gate, not the arm


def test_demonstrations_are_made_where_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    wanted = recipe("smoke", "stack-three", "world", demos=1)
    made = find_demonstrations(wanted)
    sample = read_demonstrations(DATA / "stack-three-sample.hdf5", 1)
    assert np.array_equal(made.demos[0].actions, sample.demos[0].actions)  # the same command made both
    assert [path.name for path in Path("runs/demos").iterdir()] == ["stack-three-1.hdf5"]
    Path("runs/demos/stack-three-1.hdf5").rename("runs/demos/stack-three.hdf5")
    with pytest.raises(InvalidParameter, match="noise"):
        find_demonstrations(recipe("smoke", "stack-three", "world", demos=1).__class__(
            **{**wanted.__dict__, "noise": 0.001}
        ))  # fmt: skip


def test_poses_in_the_network_of_the_clouds(demos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "robot", "--preset", "smoke", "--out", "tokens", "--observation", "tokens"]
    command += ["--demonstrations", "1", "--updates", "2", "--workers", "0", "--json"]
    assert main(command) == 0, capsys.readouterr().err
    assert load_policy("tokens/imitated.safetensors").config.trunk == "ditx"


@pytest.mark.slow
def test_clouds_go_through_the_whole_pipeline(demos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "robot", "--frame", "gripper", "--preset", "smoke", "--out", "cloud", "--observation", "cloud"]
    command += ["--points", "16", "--demonstrations", "1", "--workers", "0", "--json"]
    assert main(command) == 0, capsys.readouterr().err
    assert (demos / "runs" / "demos" / "clouds-stack-three-0.003" / "0-16.npz").exists()
    assert main([*command, "--stage", "finetune", "--anyway"]) == 0


def test_nvidias_scenes_are_used_if_they_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BurnsideError, match="PyPI is not it"):
        find_nvidia(find_task("stack-three"))
    from burnside.envs.manipulation.scenes import stack_three_class

    fake = type("StackThree_D1", (stack_three_class(),), {})  # robosuite registers the class by its name
    names = ("mimicgen", "mimicgen.envs", "mimicgen.envs.robosuite", "mimicgen.envs.robosuite.stack")
    for name in names:
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    with pytest.raises(BurnsideError, match="StackThree_D1"):
        find_nvidia(find_task("stack-three"))  # a package of that name without the class
    sys.modules[names[-1]].StackThree_D1 = fake  # type: ignore[attr-defined]
    scene = nvidia_scene("stack-three")
    assert scene.model.nq == 9 + 3 * 7

    import h5py

    path = tmp_path / "core.hdf5"
    sample = read_demonstrations(DATA / "stack-three-sample.hdf5", 1).demos[0]
    states = np.zeros((len(sample), 1 + scene.model.nq + scene.model.nv))
    at = int(scene.model.joint("cubeB_joint0").qposadr[0])
    states[:, [1 + int(scene.model.joint(f"cube{c}_joint0").qposadr[0]) + 3 for c in "ABC"]] = 1.0
    states[:, 1 + at : 1 + at + 3] = [0.1, -0.2, 0.83]
    with h5py.File(DATA / "stack-three-sample.hdf5") as source, h5py.File(path, "w") as target:
        source.copy("data", target)
        for name in list(target["data"])[1:]:
            del target["data"][name]
        del target["data/demo_0/obs/object_poses"]
    with pytest.raises(UnreadableFile, match="simulator states"):
        nvidia_demonstrations(path, scene)
    with h5py.File(path, "a") as target:
        target["data/demo_0/states"] = states
    (demo,) = nvidia_demonstrations(path, scene).demos
    assert demo.objects is not None and demo.object_rotations is not None
    np.testing.assert_allclose(demo.objects[5, 1], [0.1, -0.2, 0.83])
    np.testing.assert_allclose(demo.object_rotations[5, 1], np.eye(3))


def test_only_rotations_about_the_base_are_symmetries() -> None:
    chosen = [m for m in MOTIONS if m.name in ("none", "rotation about the base's axis, 10°", "translation away, 5 cm")]
    still, turned, away = measure("stack-three", 1, chosen)
    assert still.hand[0] == 0 and turned.hand[0] < 1e-12 and turned.objects[0] < 1e-9
    assert turned.success == 1 and away.hand[0] > 1e-4
