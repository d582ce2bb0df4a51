"""How make keeps its environments: a stamp is believed only while what it stands for works.

The interpreter is a shell script that writes down how it was called, so that no package is installed here.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")

# Answers as its environment's files say: `alive` (imports work), `sound` (doctor is content), `red` (a test fails),
# `untyped` (mypy fails).
INTERPRETER = """#!/bin/sh
here=$(dirname "$(dirname "$0")")
echo "$*" | cut -c 1-60 | head -n 1 >> log
case "$*" in
  *"-m venv"*)
    for last; do :; done
    mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; cp "$0" "$last/bin/oxlint"; touch "$last/alive" "$last/sound";;
  *"-m pytest"*) [ ! -f "$here/red" ];;
  *"-m mypy"*) [ ! -f "$here/untyped" ] || { echo "a wrong type"; exit 1; };;
  *"doctor"*) echo "what the doctor says"; [ -f "$here/sound" ];;
  *"import os, sys, numpy"*) [ -f "$here/alive" ];;
esac
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "constraints-robot.txt"):
        shutil.copy(REPO / name, tmp_path / name)
        os.utime(tmp_path / name, (1_000_000_000, 1_000_000_000))
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "need").write_text('#!/bin/sh\necho "need $1" >> log\n')
    (tmp_path / ".ci" / "need").chmod(0o755)
    (tmp_path / "python").write_text(INTERPRETER)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def make(folder: Path, *targets: str) -> tuple[int, str, str]:
    """Exit code, what was printed, and how the interpreters were called."""
    (folder / "log").write_text("")
    command = ["make", "--no-print-directory", f"PYTHON={folder / 'python'}", *(targets or (".venv/.installed-dev",))]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr, (folder / "log").read_text()


def test_an_environment_is_made_once(folder: Path) -> None:
    code, said, calls = make(folder)
    assert code == 0 and "installing burnside[" in said and "-m venv" in calls and "-m pip install" in calls
    code, said, calls = make(folder)
    assert (code, said) == (0, "") and "pip install" not in calls and "-m venv" not in calls


def test_what_was_installed_is_imported_before_the_stamp_is_written(folder: Path) -> None:
    make(folder)
    (folder / ".venv" / "sound").unlink()
    os.utime(folder / ".venv" / ".installed-dev", (900_000_000, 900_000_000))
    code, said, _ = make(folder)
    assert code != 0 and "what the doctor says" in said and not (folder / ".venv" / ".installed-dev").exists()
    (folder / ".venv" / "sound").touch()
    assert make(folder)[0] == 0 and (folder / ".venv" / ".installed-dev").exists()


def test_an_environment_that_was_moved_is_made_anew_whatever_its_stamp_says(folder: Path) -> None:
    make(folder)
    (folder / ".venv" / "alive").unlink()
    code, said, calls = make(folder)
    assert code == 0 and "does not work any more" in said and "-m venv" in calls and "-m pip install" in calls


def test_new_pins_are_installed_into_what_is_there(folder: Path) -> None:
    make(folder)
    os.utime(folder / "constraints.txt")
    os.utime(folder / ".venv" / ".installed-dev", (1_100_000_000, 1_100_000_000))
    code, _, calls = make(folder)
    assert code == 0 and "-m venv" not in calls and "-m pip install" in calls


@pytest.mark.parametrize("target", [".venv/.installed-dev", ".venv-robot/.installed"])
def test_an_installation_that_was_killed_is_started_afresh(folder: Path, target: str) -> None:
    make(folder, target)
    busy = folder / target.split("/")[0] / ".installing"
    busy.write_text("999999999\n")
    code, said, calls = make(folder, target)
    assert code == 0 and "was interrupted: starting afresh" in said and "-m venv" in calls and not busy.exists()
    busy.write_text(f"{os.getpid()}\n")  # that number belongs to something else now
    assert make(folder, target)[0] == 0 and not busy.exists()
    with subprocess.Popen(["sh", "-c", ": .installing; sleep 60; :"]) as other:
        busy.write_text(f"{other.pid}\n")
        code, said, calls = make(folder, target)
        other.kill()
    assert code != 0 and "another make is installing" in said and "-m pip" not in calls


def test_the_robot_environment_asks_for_a_compiler_first(folder: Path) -> None:
    calls = make(folder, ".venv-robot/.installed")[2].splitlines()
    (need,) = [k for k, line in enumerate(calls) if line.startswith("need gcc")]
    newer, packages = [k for k, line in enumerate(calls) if line.startswith("-m pip install")]
    assert need < newer < packages and "--upgrade pip" in calls[newer] and "-c constraints" in calls[packages]


def test_make_test_runs_both_suites_and_fails_with_either(folder: Path) -> None:
    code, said, calls = make(folder, "test")
    assert code == 0, said
    lines = calls.splitlines()
    assert len([line for line in lines if line.startswith("-m pytest")]) == 2 and "need libosmesa6" in calls
    assert "-m mypy" in calls and "-m ruff check ." in calls and "-m mkdocs build --strict" in calls
    for environment in (".venv", ".venv-robot"):
        (folder / environment / "red").touch()
        assert make(folder, "test")[0] != 0
        (folder / environment / "red").unlink()
    assert make(folder, "test")[0] == 0


def test_make_test_can_leave_the_simulator_out(folder: Path) -> None:
    code, said, calls = make(folder, "test", "ROBOTTESTS=0")
    assert code == 0, said
    assert calls.count("-m pytest") == 1 and not (folder / ".venv-robot").exists()


def test_a_robot_environment_that_cannot_be_made_fails_and_says_why_in_the_end(folder: Path) -> None:
    make(folder, "test")
    (folder / ".venv-robot" / "sound").unlink()
    (folder / ".venv-robot" / ".installed").unlink()
    code, said, calls = make(folder, "test")
    assert code != 0 and "what the doctor says" in said.split("--- make test-simulator")[1]
    assert calls.count("-m pytest") == 1  # the tests of the other environment were run


def test_what_looks_at_the_sources_fails_make_test_beside_the_tests(folder: Path) -> None:
    make(folder, "test")
    (folder / ".venv" / "untyped").touch()
    code, said, calls = make(folder, "test")
    assert code != 0 and "a wrong type" in said.split("--- make test-sources")[1]
    assert calls.count("-m pytest") == 2
