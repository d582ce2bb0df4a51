"""The command line: JSON as promised, plain text in a pipe, one sentence and exit code 2 on bad input."""

import json
import re
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

from burnside import zoo
from burnside.cli import main


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize(
    ("symmetry", "states", "pairs"), [("Z", 80, 320), ("D", 42, 160), ("graph", 13, 28), ("discover", 13, 28)]
)
def test_audit_json(capsys: pytest.CaptureFixture[str], symmetry: str, states: int, pairs: int) -> None:
    code, out, _ = run(capsys, "audit", "ring", "--n", "5", "--symmetry", symmetry, "--json")
    found = json.loads(out)
    assert code == 0 and found["model"] == "ring(n=5)"
    if symmetry == "discover":
        assert found["quotient"]["states"] <= states and found["quotient"]["pairs"] <= pairs
    else:
        assert (found["quotient"]["states"], found["quotient"]["pairs"]) == (states, pairs)


def test_words_may_follow_one_option_or_several(capsys: pytest.CaptureFixture[str]) -> None:
    one, two = (
        run(capsys, "audit", "ring", *words, "--json")
        for words in (("--param", "n=5", "end_reward=3"), ("--param", "n=5", "--param", "end_reward=3"))
    )
    assert one == two and one[0] == 0 and json.loads(one[1])["model"].startswith("ring(")


def test_minimise_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "minimise", "ring", "--n", "5", "--json")
    found = json.loads(out)
    assert code == 0 and (found["states"], found["pairs"]) == (8, 18)


def test_text_in_a_pipe_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "audit", "fig2")
    assert code == 0 and "\x1b[" not in out and "│" not in out
    assert "attainable: no" in out and "C̄·|(S×A)/G| = 2·8 = 16" in out


def test_zoo_lists_every_model(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "zoo", "--json")
    assert code == 0 and set(json.loads(out)) == {*zoo.names(), "cube"}
    assert "``" not in run(capsys, "zoo")[1]


@pytest.mark.parametrize("command", ["audit", "minimise", "measure --seeds 1 --max-episodes 20 --fresh"])
def test_arguments_of_a_gymnasium_constructor(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--param", "desc=['SFF','FHF','FFG']", "is_slippery=False", "--json"]
    name, *rest = command.split()
    code, out, _ = run(capsys, name, "FrozenLake-v1", *rest, *words)
    found = json.loads(out)
    assert code == 0 and found["model"] == "FrozenLake-v1(desc=['SFF', 'FHF', 'FFG'], is_slippery=False)"
    if command == "audit":
        assert found["states"] == 9 and found["successors"] == 1


def test_terminal_states_of_a_gymnasium_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "audit", "FrozenLake-v1", "--json")
    found = json.loads(out)
    assert code == 0 and (found["pairs"], found["quotient"]["pairs"], found["terminal_states"]) == (44, 42, 5)
    assert found["group"]["order"] == found["group"]["acting_order"] == 4
    _, out, _ = run(capsys, "audit", "FrozenLake-v1", "--terminal-actions", "--json")
    assert (json.loads(out)["pairs"], json.loads(out)["quotient"]["pairs"]) == (64, 47)
    _, out, _ = run(capsys, "audit", "FrozenLake-v1")
    assert "no choices there, so no pairs" in out and "31850496" not in out
    _, out, _ = run(capsys, "minimise", "FrozenLake-v1")
    assert "nothing is chosen in a terminal state" in out
    _, out, _ = run(capsys, "measure", "FrozenLake-v1", "--seeds", "1", "--max-episodes", "10", "--fresh")
    assert "5 states are terminal" in out
    _, out, _ = run(capsys, "audit", "CliffWalking-v1")
    assert "order |G|, on the pairs reachable from p₀" in out
    code, out, _ = run(
        capsys, "bounds", *["--states", "16", "--pairs", "44", "--succ", "3", "--horizon", "100", "--terminal", "5"]
    )
    assert code == 0 and "mistakes" in out


def test_measure_in_units_of_the_return(capsys: pytest.CaptureFixture[str]) -> None:
    """R* of CliffWalking is −13: ε cannot be a fraction of that."""
    words = ("--absolute", "--eps", "5", "--seeds", "1", "--max-episodes", "20", "--fresh")
    code, out, _ = run(capsys, "measure", "CliffWalking-v1", *words, "--json")
    found = json.loads(out)
    assert code == 0 and found["eps"] == 5 and found["best"] == -13
    code, out, _ = run(capsys, "measure", "CliffWalking-v1", *words)
    assert code == 0 and "ε = 5 (R* = -13)" in out


def test_parameters_horizon_and_declared_default(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "audit", "slip-ring", "--n", "7", "--horizon", "3", "--param", "goal=fixed", "--json")
    found = json.loads(out)
    assert code == 0 and found["horizon"] == 3 and found["group"]["name"] == "Z7"
    assert found["factors"]["reachable"] == 1


def test_gymnasium_model_is_searched_for_symmetries(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "audit", "CliffWalking-v1", "--json")
    assert code == 0 and json.loads(out)["group"]["name"] in ("Aut(M)", "trivial")


def test_module_factory_and_symmetry(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_models.py").write_text(
        "import numpy as np\nimport burnside as bs\n"
        "def make(n=4):\n"
        "    P = np.zeros((n, 2, n))\n"
        "    for s in range(n):\n        P[s, 0, (s - 1) % n] = P[s, 1, (s + 1) % n] = 1\n"
        "    return bs.TabularMDP.from_dense(P, np.zeros((n, 2)), np.full(n, 1 / n), 3, name='walk')\n"
        "def turn(mdp):\n"
        "    return bs.Symmetry.from_actions(mdp, [np.roll(np.arange(mdp.n_states), 1)], name='turn')\n"
    )
    monkeypatch.chdir(tmp_path)
    code, out, _ = run(capsys, "audit", "my_models:make", "--n", "6", "--symmetry", "my_models:turn", "--json")
    found = json.loads(out)
    expected = {"name": "turn", "order": 6, "acting_order": 6}
    assert code == 0 and {key: found["group"][key] for key in expected} == expected
    assert found["group"]["log10_order"] == pytest.approx(0.778, abs=1e-3)
    assert found["quotient"]["states"] == 1


def test_file_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = zoo.grid(5).save(tmp_path / "grid.npz")
    code, out, _ = run(capsys, "audit", str(path), "--json")
    found = json.loads(out)
    assert code == 0 and found["quotient"]["pairs"] == 15


def test_show_writes_the_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for suffix in ("svg", "png", "html"):
        target = tmp_path / f"orbits.{suffix}"
        code, out, _ = run(capsys, "show", "fig2", "--out", str(target))
        assert code == 0 and target.stat().st_size > 1000 and str(target) in out


@pytest.mark.parametrize("command", ["audit", "audit --json", "show", "measure --seeds 1"])
def test_wrong_symmetry_is_one_sentence_and_exit_code_1(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    (tmp_path / "wrong.py").write_text(
        "import numpy as np\nimport burnside as bs\n"
        "def turn(mdp):\n    return bs.Symmetry.from_actions(mdp, [np.roll(np.arange(mdp.n_states), 1)])\n"
    )
    monkeypatch.chdir(tmp_path)
    name, *rest = command.split()
    code, out, err = run(capsys, name, "grid", "--symmetry", "wrong:turn", *rest)
    assert code == 1 and not out and "is not a symmetry of grid(n=5)" in err and "Traceback" not in err
    assert err.startswith("refused:") and len(err.strip().splitlines()) == 1 and "--trust" in err
    assert [path.name for path in tmp_path.iterdir() if path.name != "__pycache__"] == ["wrong.py"]


def test_a_wrong_symmetry_on_trust_attains_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "walks.py").write_text(
        "import numpy as np\nimport burnside as bs\n"
        "def walk():\n    P = np.stack([np.roll(np.eye(6), 1, 1), np.roll(np.eye(6), -1, 1)], axis=1)\n"
        "    return bs.TabularMDP.from_dense(P, np.eye(6)[:, [0, 0]], np.eye(6)[0], 4)\n"
        "def turns(mdp):\n    return bs.Symmetry.from_actions(mdp, [np.roll(np.arange(6), 1)], name='turns')\n"
    )
    monkeypatch.chdir(tmp_path)
    line = ("audit", "walks:walk", "--symmetry", "walks:turns", "--trust")
    code, out, _ = run(capsys, *line)
    assert code == 0 and "attainable: no — turns does not hold" in out and "can lose up to 6.667" in out
    assert "the symmetry does not hold: these figures rest on trust" in out
    code, out, _ = run(capsys, *line, "--json")
    found = json.loads(out)
    assert code == 0 and found["attainable"] is False and found["trusted"] is True
    assert found["verified"]["averaged"]["eps_r"] == pytest.approx(5 / 6)


def test_no_mistakes_give_no_ratio_and_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "measure", "slip-ring", "--n", "5", "--seeds", "1", "--eps", "0.97", "--fresh")
    assert code == 0 and "nan" not in out and "there is no ratio: give a smaller ε" in out


BAD = [
    (["audit", "rnig"], "did you mean 'ring'"),
    (["audit", "ring", "--n", "4"], "n ≥ 5"),
    (["audit", "ring", "--symmetry", "Q"], "unknown symmetry"),
    (["audit", "ring", "--param", "colour=3"], "no parameter 'colour'"),
    (["audit", "ring", "--param", "colour"], "name=value"),
    (["audit", "grid", "--param", "n=5.5"], "must be a whole number"),
    (["audit", "slip-ring", "--param", "slip=much"], "must be a number"),
    (["audit", "nowhere.json"], "no file"),
    (["audit", "no_such_module_x:make"], "cannot import"),
    (["audit", "burnside.mdp.zoo:rnig"], "did you mean 'ring'"),
    (["audit", "burnside.mdp.zoo:names"], "must be, or return"),
    (["audit", "ring", "--eps", "0"], "eps"),
    (["audit", "ring", "--delta", "1"], "delta"),
    (["minimise", "ring", "--n", "30"], "too large"),
    (["show", "ring", "--n", "20"], "too large"),
    (["show", "fig2", "--out", "picture.bmp"], "svg, png or html"),
    (["reproduce", "--only", "thoery"], "did you mean 'theory'"),
]


@pytest.mark.parametrize(("argv", "hint"), BAD, ids=[" ".join(argv) for argv, _ in BAD])
def test_bad_input_is_one_clear_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], hint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *argv)
    assert code == 2 and not out
    assert hint in err.replace("\n", " ") and "Traceback" not in err


def test_pickled_file_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = zoo.fig2().save(tmp_path / "evil.npz")
    with np.load(path) as whole:
        arrays = dict(whole)
    for name in ("format", "rewards", "initial", "state_names"):
        np.savez(path, **(arrays | {name: np.array([{"a": 1}] * 16, dtype=object)}))
        code, _, err = run(capsys, "audit", str(path))
        assert code == 2 and "pickled objects, which are never loaded" in err
    np.savez(path, format=np.array([{"a": 1}], dtype=object))
    code, _, err = run(capsys, "audit", str(path))
    assert code == 2 and "not an MDP" in err


def test_unknown_command_and_help_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "adit")[0] == 2
    code, out, _ = run(capsys, "--help")
    assert code == 0
    assert out.index("your environment") < out.index("your model") < out.index("the paper") < out.index("housekeeping")
    assert max(len(line) for line in out.splitlines()) <= 90


def test_help_has_every_command_once_and_the_beginning_runs(capsys: pytest.CaptureFixture[str]) -> None:
    from burnside.cli import commands, overview
    from burnside.cli.claims import command_problem

    listed = [name for group in overview.COMMANDS.values() for name in group]
    parsed = [part.__metadata__[0].name for part in typing.get_args(commands.Command)]
    assert sorted(listed) == sorted(parsed)
    code, out, _ = run(capsys)
    assert code == 0
    begin = re.findall(r"^  (burnside .*?)   ", out, re.M)
    assert len(begin) == 6 and "burnside --help" in out
    for command in begin:
        assert command_problem(f"{command} --json") is None


def test_an_old_name_of_an_option_is_taken_with_a_note(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    missing = str(tmp_path / "none.hdf5")
    for option, noted in (("--frame", True), ("--arm", False)):
        code, _, err = run(capsys, "train", "robot", "--demos", missing, option, "gripper", "--out", str(tmp_path))
        assert code == 2 and ("--frame is called --arm now" in err) is noted, err


def test_help_is_quick_because_little_is_loaded() -> None:
    code = "import sys; from burnside.cli import main; main(['--help']); main([]); print('tyro' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_the_installed_command_runs_in_a_pipe() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "burnside", "audit", "fig2", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout)["factors"]["paper"] == 8


def test_ctrl_c_while_modules_are_imported_is_one_word() -> None:
    script = (
        "import os, signal, sys\n"
        "class Press:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'rich.table':\n            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Press())\n"
        "from burnside.cli import main\n"
        "sys.exit(main(['zoo']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_reproduce_writes_the_report_and_survives_a_failing_part(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = run(capsys, "reproduce", "--preset", "smoke", "--only", "theory", "--out", str(tmp_path))
    page = (tmp_path / "index.html").read_text()
    assert code == 0 and "done in" in out and "ring(n=5)" in page and "64 would become 8" in page
    from burnside.cli import reproduce_parts as module

    def fail(*_: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(module, "front_section", lambda page, *_: page)  # it has been drawn once

    monkeypatch.setitem(module.PARTS, "broken", module.Part("Broken", fail))
    code, out, err = run(capsys, "reproduce", "--preset", "smoke", "--only", "theory,broken", "--out", str(tmp_path))
    page = (tmp_path / "index.html").read_text()
    assert code == 1 and "no such luck" in err and "This part failed" in page and "ring(n=5)" in page
