"""The examples run as they are, with small numbers; ``robot.py`` is run by ``tests/robot/test_cell.py``."""

import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

#: What is said on the command line, a package that must be there, and what is printed.
CASES: dict[str, tuple[list[str], str, list[str]]] = {
    "own_environment": (["512"], "gymnasium", ["slope 0.0: holds", "slope 0.05: refuted", "after 512 steps"]),
    "walker_sb3": (["64"], "stable_baselines3", ["baseline: return", "averaging: return"]),
    "minigrid_sb3": (["64"], "minigrid", ["differ: True", "trained on 64 steps"]),
    "tabular": ([], "gymnasium", ["it holds: True", "52 state-action pairs", "lifted"]),
    "cube": ([], "torch", ["quarter turns)"]),
    "planar": (["200"], "gymnasium", ["world: ", "robot: "]),
    "cluster": ([], "gymnasium", ["0 failed", "N = "]),
}


def test_every_example_is_listed_and_tested() -> None:
    scripts = {path.stem for path in EXAMPLES.glob("*.py")}
    assert scripts == {*CASES, "robot"} and len(scripts) == 8
    # Python looks beside a script first: minigrid.py would be what its own `import minigrid` finds
    assert [name for name in scripts if importlib.util.find_spec(name) is not None] == []
    page = (EXAMPLES / "README.md").read_text()
    assert all(f"`{name}.py`" in page for name in scripts)


@pytest.mark.parametrize("name", CASES)
def test_example(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments, package, promised = CASES[name]
    pytest.importorskip(package, reason=f"{package} is not installed: examples/README.md says which extras it needs")
    if name == "walker_sb3":
        pytest.importorskip("mujoco", reason="mujoco is not installed: pip install 'burnside[mujoco]'")
    monkeypatch.chdir(tmp_path)
    script = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(script), *arguments])
    runpy.run_path(str(script), run_name="__main__")
    printed = capsys.readouterr().out
    assert [text for text in promised if text not in printed] == []
    if name == "tabular":  # the three values are one
        assert len({word.rstrip(",") for word in printed.split() if word.startswith("0.")}) == 1
