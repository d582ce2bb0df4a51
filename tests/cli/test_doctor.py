"""``burnside doctor``, ``--version`` and ``completion``."""

import importlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import burnside
from burnside.cli import doctor, main, tools
from burnside.cli.doctor import satisfies


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = main(list(argv))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Extras are believed to import: that takes ten seconds and is tested in tests of its own."""
    monkeypatch.setattr(doctor, "_import_trouble", lambda packages: ("", ""))


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"burnside {burnside.__version__}\n", "")


def test_it_is_readable(capsys: pytest.CaptureFixture[str], quick: None) -> None:
    code, out, _ = run(capsys, "doctor")
    assert code == 0 and "everything that is needed works" in out and "\x1b[" not in out


def test_all_is_well_here(capsys: pytest.CaptureFixture[str], quick: None) -> None:
    """That the extras can be imported was found when they were installed: make does not go on without it."""
    code, out, _ = run(capsys, "doctor", "--json")
    found = json.loads(out)
    assert code == 0 and found["ok"] and set(found) == {"ok", "machine", "core", "extras", "numbers", "tools"}
    names = {line["what"] for line in found["core"]}
    assert {"numpy", "scipy", "igraph", "tyro", "self-test"} <= names
    assert {"envs", "learn", "ray", "slurm", "sb3", "robot", "track", "docs", "dev"} <= {
        line["what"] for line in found["extras"]
    }
    assert {"threads", "BLAS", "device"} == {line["what"] for line in found["numbers"]}
    assert {"OSMesa", "EGL", "Chromium", "C compiler"} == {line["what"] for line in found["tools"]}


def without(monkeypatch: pytest.MonkeyPatch, *missing: str) -> None:
    real = importlib.metadata.version

    def version(name: str) -> str:
        if name in missing:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


def test_a_missing_extra_is_named_with_its_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    without(monkeypatch, "ray")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    tools.chromium.cache_clear()
    code, out, _ = run(capsys, "doctor", "--json")
    tools.chromium.cache_clear()
    found = json.loads(out)
    ray = next(line for line in found["extras"] if line["what"] == "ray")
    assert code == 0 and ray["status"] == "missing" and "[ray]" in ray["remedy"] and "pip install" in ray["remedy"]
    browser = next(line for line in found["tools"] if line["what"] == "Chromium")
    assert browser["status"] == "missing" and "apt install chromium" in browser["remedy"]


def test_a_missing_extra_that_is_needed_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    without(monkeypatch, "safetensors")
    assert run(capsys, "doctor")[0] == 0
    code, out, _ = run(capsys, "doctor", "--need", "envs", "learn")
    assert code == 1 and "broken: learn" in out and "safetensors not installed" in out
    code, _, err = run(capsys, "doctor", "--need", "lern")
    assert code == 2 and "lern" in err and "learn" in err


def test_a_missing_needed_package_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    without(monkeypatch, "igraph")
    code, out, _ = run(capsys, "doctor")
    assert code == 1 and "BROKEN" in out and "pip install 'igraph>=" in out and "broken: igraph" in out


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("raise RuntimeError('built for another machine')", "built for another machine"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "died of signal 9"),
        ("import sys\nsys.exit(7)", "exit code 7"),
    ],
)
def test_an_extra_that_is_installed_but_cannot_be_imported_is_broken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str, reason: str
) -> None:
    """Another ``gymnasium`` comes first: its version is right, and it does not work."""
    (tmp_path / "gymnasium.py").write_text(content)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    found = doctor._extra("envs", [doctor.Requirement("gymnasium", ">=1.0", "envs")])
    assert found.status == "broken"
    assert found.detail.startswith("gymnasium cannot be imported: ") and found.detail.endswith(reason)
    assert "--force-reinstall 'gymnasium>=1.0'" in found.remedy
    monkeypatch.setattr(doctor, "_extras", lambda wanted, need: [found])
    assert run(capsys, "doctor")[0] == 1


def test_modules_of_packages() -> None:
    assert [doctor.module_of(name) for name in ("numpy", "mkdocs-material", "mypy", "scipy-stubs", "PyYAML")] == [
        "numpy",
        "material",
        "mypy",
        "",
        "yaml",
    ]


def test_a_package_that_cannot_be_imported_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quick: None
) -> None:
    real = importlib.import_module

    def load(name: str, package: str | None = None) -> Any:
        if name == "sympy":
            raise OSError("libgmp.so: wrong ELF class")
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", load)
    code, out, _ = run(capsys, "doctor", "--json")
    sympy = next(line for line in json.loads(out)["core"] if line["what"] == "sympy")
    assert code == 1 and sympy["status"] == "broken" and "wrong ELF class" in sympy["detail"]


@pytest.mark.parametrize(
    ("version", "bounds", "good"),
    [
        ("2.4.6", ">=1.26", True),
        ("1.25.9", ">=1.26", False),
        ("1.10", ">=1.9", True),
        ("1.0", ">=1.0.0", True),
        ("2.13.0+cpu", "==2.13.0", True),
        ("3.10.1", ">=3.3.7,<3.10", False),
        ("3.9", ">=3.3.7,<3.10", True),
        ("1", "!=1", False),
        ("1", "", True),
    ],
)
def test_bounds(version: str, bounds: str, good: bool) -> None:
    assert satisfies(version, bounds) is good


def test_requirements_are_those_of_the_package() -> None:
    found = doctor.requirements()
    assert ("numpy", ">=1.26", "") in {(r.name, r.bounds, r.extra) for r in found}
    gymnasium = importlib.metadata.requires("gymnasium") or []
    if any(line.startswith("box2d") for line in gymnasium):  # what the extra of another package brings is needed, too
        assert {"gymnasium", "box2d"} <= {r.name for r in found if r.extra == "box2d"}
    assert ("robosuite", "==1.5.2", "robot") in {(r.name, r.bounds, r.extra) for r in found}


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    code, out, _ = run(capsys, "completion", shell)
    assert code == 0 and "burnside" in out and "reproduce" in out and "claims" in out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=out, text=True, check=True, capture_output=True)
    assert run(capsys, "completion", "fisch")[0] == 2


def completed(script: Path, *words: str) -> list[str]:
    """What the script offers in a real bash when Tab is pressed at the end of these words."""
    line = " ".join(f"'{word}'" for word in words)
    press = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _tyro_burnside"
    ask = f"source {script}; {press}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which("bash") or not shutil.which("python3"), reason="there is no bash here")
def test_names_are_completed_in_bash(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "burnside.bash"
    script.write_text(run(capsys, "completion", "bash")[1])
    assert completed(script, "burnside", "mea") == ["measure"]
    assert completed(script, "burnside", "atlas", "Walker") == ["Walker2d-v4", "Walker2d-v5"]
    assert "dm_control/walker-walk-v0" in completed(script, "burnside", "check", "dm_control/")
    assert completed(script, "burnside", "audit", "slip") == ["slip-ring"]
    assert completed(script, "burnside", "table", "rin") == ["ring1d", "ring3d"]
    assert completed(script, "burnside", "table", "ring1d", "--js") == ["--json"]
    assert completed(script, "burnside", "sweep", "ring1d", "--engine", "r") == ["ray"]


def test_version_is_quick_because_nothing_else_is_loaded() -> None:
    code = "import sys; from burnside.cli import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "tyro", "torch"} & set(done.stdout.split())
