"""A browser and a compiler are tried, not looked for; ``.ci/need`` installs what does not work and tries again."""

import subprocess
import sys
from pathlib import Path

import pytest

from burnside.cli import tools

REPO = Path(__file__).resolve().parents[2]
WORKS = "echo '<html><head><title>42</title></head></html>'"


def program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first place where programs are looked for; the browsers of this machine are hidden."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CC", raising=False)
    for name in tools._BROWSERS:
        program(tmp_path, name, "exit 1")
    tools.chromium.cache_clear()
    yield tmp_path
    tools.chromium.cache_clear()


def test_a_browser_that_only_tells_of_another_package_is_none(folder: Path) -> None:
    stub = program(folder, "chromium", "echo 'Command requires the chromium snap to be installed.'")
    assert tools.chromium() is None
    assert "shows no page (Command requires the chromium snap" in tools.chromium_trouble(str(stub))


def test_the_first_browser_that_works_is_taken(folder: Path) -> None:
    program(folder, "google-chrome", WORKS)
    assert tools.chromium() == str(folder / "google-chrome")


def test_a_browser_that_hangs_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "_PATIENCE", 1)
    assert "no answer after 1 seconds" in tools.chromium_trouble(str(program(folder, "chromium", "exec sleep 60")))


def test_a_file_that_cannot_be_run_is_no_browser(folder: Path) -> None:
    (folder / "chromium").write_bytes(b"\x7fELF of another machine")
    assert "shows no page" in tools.chromium_trouble(str(folder / "chromium"))


@pytest.mark.skipif(tools.compiler() is None, reason="no C compiler works here")
def test_a_compiler_that_does_not_compile_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tools.compiler()
    broken = program(folder, "broken-cc", "echo 'cc1: not found' >&2; exit 1")
    empty = program(folder, "empty-cc", "while [ $# -gt 1 ]; do shift; done; echo 'exit 3' > $1; chmod +x $1")
    assert tools.compiler_trouble(str(broken)) == "it cannot compile a program (cc1: not found)"
    assert tools.compiler_trouble(str(empty)).startswith("what it compiles does not run")
    monkeypatch.setenv("CC", "broken-cc")
    assert tools.compiler() == real


def test_missing_headers_are_named(folder: Path) -> None:
    cc = program(folder, "cc", "echo 'test.c:1: fatal error: Python.h: No such file' >&2; exit 1")
    assert "Python.h" in tools.python_headers(str(cc))


def test_it_runs_without_the_package(folder: Path) -> None:
    """make asks it before anything is installed, with whatever Python there is."""
    script = REPO / "src" / "burnside" / "cli" / "tools.py"
    command = [sys.executable, "-I", "-S", str(script)]
    done = subprocess.run([*command, "browser"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith("no browser works here: ")
    program(folder, "chromium", WORKS)
    done = subprocess.run([*command, "browser"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"the browser works: {folder / 'chromium'}\n")
    assert subprocess.run([*command, "piano"], capture_output=True).returncode == 2


APT = """
echo "$*" >> {log}
case "$*" in update*) exit 0;; esac
for last; do :; done
[ "$last" = nothing ] && exit 100
touch {folder}/has-$last
"""


@pytest.fixture
def need(folder: Path) -> Path:
    """Where a fake apt-get leaves a file for every package; sudo and id are root's."""
    program(folder, "apt-get", APT.format(log=folder / "log", folder=folder))
    program(folder, "sudo", 'shift; exec "$@"')
    program(folder, "try", f'[ -f {folder}/has-right ] && echo "it works" || {{ echo "it does not work"; exit 1; }}')
    return folder


def ask(packages: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(REPO / ".ci" / "need"), packages, "try"], capture_output=True, text=True)


def test_nothing_is_installed_where_it_works(need: Path) -> None:
    (need / "has-right").touch()
    done = ask("right")
    assert (done.returncode, done.stdout, done.stderr) == (0, "it works\n", "")
    assert not (need / "log").exists()


def test_packages_are_tried_one_choice_after_the_other_until_it_works(need: Path) -> None:
    done = ask("nothing; wrong; right; never")
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "it works"
    assert "installing wrong" in done.stdout and "could not install nothing" in done.stdout
    installed = [line.split()[-1] for line in (need / "log").read_text().splitlines() if line.startswith("install")]
    assert installed == ["nothing", "wrong", "right"]


def test_what_stays_broken_is_said(need: Path) -> None:
    done = ask("wrong")
    assert done.returncode == 1 and done.stderr == "it does not work\n"
    done = ask("nothing")
    assert done.returncode == 1 and "as root: apt install nothing" in done.stderr
