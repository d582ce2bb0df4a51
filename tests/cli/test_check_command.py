"""``burnside check``: exit codes 0, 1, 3 and 2, what is printed, and the options."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnside.cli import main
from burnside.cli.check import open_environment

CASES = "tests.canonical.cases"
REFLECTION = "burnside.canonical.known:cartpole_reflection"


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict, str]:
    code = main(["check", *arguments, "--json"])
    said = capsys.readouterr()
    return code, json.loads(said.out) if said.out else {}, said.err


def test_three_answers(capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = check(capsys, "MountainCar-v0", "--symmetry", f"{CASES}:mountain_mirror", "--samples", "400")
    assert code == 1 and found["verdict"] == "refuted" and found["env"] == "MountainCar-v0"
    code, found, _ = check(capsys, f"{CASES}:TicTacToe", "--symmetry", f"{CASES}:d4", "--samples", "40")
    assert code == 3 and found["verdict"] == "inconclusive" and "samples" in found["advice"]
    code, found, _ = check(capsys, "CartPole-v1", "--symmetry", REFLECTION, "--samples", "460")
    assert code == 0 and found["verdict"] == "holds" and found["failure_rate"] <= 0.01
    code, _, err = check(capsys, "CartPole-v1", "--symmetry", "no_such_module:x")
    assert code == 2 and "cannot import" in err


def test_a_state_that_cannot_be_set_is_told_in_words(capsys: pytest.CaptureFixture[str], tmp_path, monkeypatch) -> None:
    """As in Box2D: whole trajectories are compared, and that method has words, too."""
    (tmp_path / "my_closed.py").write_text(
        "import gymnasium as gym\n"
        "class Closed(gym.Wrapper):\n    unwrapped = property(lambda self: self)\n"
        "make = lambda: Closed(gym.make('CartPole-v1'))\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert main(["check", "my_closed:make", "--symmetry", REFLECTION, "--samples", "50"]) == 3
    said = capsys.readouterr().out
    assert "method: trajectories, " in said and "whole trajectories of random play" in said


@pytest.mark.slow
def test_three_answers_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(capsys, "MountainCar-v0", "--symmetry", f"{CASES}:mountain_mirror")[0] == 1
    assert check(capsys, "CartPole-v1", "--symmetry", REFLECTION)[0] == 0
    assert check(capsys, f"{CASES}:TicTacToe", "--symmetry", f"{CASES}:d4")[0] == 0


@pytest.mark.parametrize(
    ("env", "part"),
    [("BesideLarge", "dynamics"), ("LargeReward", "reward"), ("cart_cut", "truncation")],
)
def test_components_are_named(capsys: pytest.CaptureFixture[str], env: str, part: str) -> None:
    symmetry = "cart" if env == "cart_cut" else "MIRROR"
    arguments = (f"{CASES}:{env}", "--symmetry", f"{CASES}:{symmetry}", "--samples", "80")
    code, found, _ = check(capsys, *arguments)
    assert code == 1 and found["components"][part]["verdict"] == "refuted"
    assert main(["check", *arguments]) == 1
    said = capsys.readouterr().out
    assert "is refuted" in said and part in said and "counter-example" in said


def test_options(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_line.py").write_text(
        "import numpy as np\n"
        "from tests.canonical.cases import FarGoal, MIRROR\n"
        "make = lambda goal=2.0: FarGoal(goal)\n"
        "right = lambda x: 1\n"
        "wrong = lambda x: 'right'\n"
        "states = [np.array([1.95])]\n"
        "def more(env):\n    return [np.array([env.unwrapped.goal - 0.05])]\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    few = ("--symmetry", "my_line:MIRROR", "--samples", "60", "--places", "walk", "--param", "goal=50")
    code, found, _ = check(capsys, "my_line:make", *few, "--max-failure-rate", "0.1")
    assert code == 0 and list(found["coverage"]["places"]) == ["walk"] and found["max_failure_rate"] == 0.1
    code, found, _ = check(capsys, "my_line:make", *few, "--tol", "0.1", "--draws", "20", "--confidence", "0.9")
    assert code == 3 and found["tolerance"] == 0.1 and found["confidence"] == 0.9
    assert check(capsys, "my_line:make", *few[:-1], "goal=2", "--policy", "my_line:right")[0] == 1
    for states in ("states", "more"):
        code, found, _ = check(capsys, "my_line:make", *few[:-1], "goal=2", "--states", f"my_line:{states}")
        assert code == 1 and found["coverage"]["places"]["states"]["violations"]
    for bad in (
        ("--policy", "my_line:wrong"),
        ("--policy", "my_line:states"),
        ("--states", "my_line:MIRROR"),
        ("--places", "moon"),
        ("--draws", "1"),
        ("--max-failure-rate", "2"),
        ("--tol", "-1"),
    ):
        code, _, err = check(capsys, "my_line:make", *few, *bad)
        assert code == 2 and "Traceback" not in err, bad


def test_text_from_outside_is_printed_as_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "my_odd.py").write_text(
        "import gymnasium as gym, numpy as np\n"
        "from burnside.canonical import EnvSymmetry\n"
        "class Odd(gym.Env):\n"
        "    observation_space = gym.spaces.Dict({'[/x]': gym.spaces.Discrete(3)})\n"
        "    action_space = gym.spaces.Discrete(2)\n"
        "    def reset(self, *, seed=None, options=None):\n        self.k = 0\n        return {'[/x]': 0}, {}\n"
        "    def step(self, a):\n        return {'[/x]': 1 + int(a)}, float(a), True, False, {}\n"
        "flip = EnvSymmetry([1], lambda g, x: x, lambda g, a: 1 - a, name='[/q] flip')\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert main(["check", "my_odd:Odd", "--symmetry", "my_odd:flip", "--samples", "60"]) == 1
    assert "[/q] flip" in capsys.readouterr().out


def test_ctrl_c_stops_at_once() -> None:
    arguments = ["check", f"{CASES}:TicTacToe", "--symmetry", f"{CASES}:d4"]
    code = f"import sys; from burnside.cli import main; sys.exit(main({arguments}))"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([p for p in sys.path if p])}
    root = Path(__file__).parents[2]
    run = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=root,
    )
    time.sleep(8)
    assert run.poll() is None, "it should still be at work"
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130 and "interrupted" in err and "Traceback" not in err


def test_tasks_of_dm_control_by_the_name_that_lint_takes():
    pytest.importorskip("dm_control")
    assert open_environment("dm_control:pendulum-swingup", ()).spec.id == "dm_control/pendulum-swingup-v0"
