"""The wheel: it builds, holds what it should and nothing else, and works in an environment outside the checkout."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from itertools import islice
from pathlib import Path

import pytest

import burnside

REPO = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def committed_files() -> list[Path]:
    """The compact results that git keeps, or all that look like them in an unpacked sdist."""
    done = subprocess.run(["git", "ls-files", "results/*/*"], cwd=REPO, capture_output=True, text=True)
    listed = [REPO / name for name in done.stdout.split()] if done.returncode == 0 else (REPO / "results").glob("*/*")
    return [path for path in listed if path.parent.parent == REPO / "results"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree; its build backend comes from the package index."""
    out = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(out), str(REPO)], capture_output=True, text=True
    )
    if done.returncode and "hatchling" in done.stderr and "Could not find a version" in done.stderr:
        pytest.skip("needs the package hatchling, and no index has it")
    assert done.returncode == 0, done.stderr
    (path,) = out.glob("*.whl")
    return path


def test_contents(wheel: Path) -> None:
    assert wheel.name == f"burnside-{burnside.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        about = file.read(f"burnside-{burnside.__version__}.dist-info/METADATA").decode()
    sources = {
        f"burnside/{path.relative_to(REPO / 'src' / 'burnside').as_posix()}"
        for path in (REPO / "src" / "burnside").rglob("*.py")
    }
    assert sources <= names, sources - names
    assert {"burnside/py.typed", *(f"burnside/report/claims/claims.{kind}" for kind in ("toml", "json"))} <= names
    strange = [n for n in names if not n.startswith(("burnside/", f"burnside-{burnside.__version__}.dist-info/"))]
    compiled = [n for n in names if n.endswith((".pyc", ".nbi", ".nbc"))]
    assert not strange and not compiled
    kept = {f"burnside/results/{path.relative_to(REPO / 'results').as_posix()}" for path in committed_files()}
    assert kept == {n for n in names if n.startswith("burnside/results/")} and len(kept) > 20
    assert wheel.stat().st_size < 12e6
    assert "Requires-Python: >=3.11" in about and "Provides-Extra: learn" in about and "Typing :: Typed" in about


@pytest.fixture(scope="module")
def outside(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it and our own dependencies behind it."""
    where = tmp_path_factory.mktemp("outside")
    venv.create(where / "venv", symlinks=os.name != "nt")
    scripts = where / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip())
    # a path file only appends: the wheel is found first, and the editable install of the checkout is not followed
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    subprocess.run(
        [*PIP, "--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True
    )
    return scripts


def run(outside: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(argv, cwd=outside.parent.parent, env=environment, capture_output=True, text=True)


def test_it_works_outside_the_checkout(outside: Path) -> None:
    found = run(outside, str(outside / "python"), "-c", "import burnside; print(burnside.__file__)")
    assert str(outside.parent) in found.stdout, found.stderr
    command = str(outside / "burnside")
    assert run(outside, command, "--version").stdout == f"burnside {burnside.__version__}\n"
    sizes = ["--states", "100", "--pairs", "400", "--succ", "2", "--horizon", "10", "--eps", "1"]
    found = run(outside, command, "bounds", *sizes, "--json")
    assert found.returncode == 0 and json.loads(found.stdout)["explicit"]["w_min"] == 2.5e-4, found.stderr
    found = run(outside, command, "claims", "--id", "thm-1")
    assert found.returncode == 0 and "burnside audit bandit" in found.stdout, found.stderr
    found = run(outside, command, "table", "ring1d")  # the committed results are in the wheel
    assert found.returncode == 0 and "177 334.3" in found.stdout and "at least 4.9" in found.stdout, found.stderr
    found = run(outside, command, "audit", "rnig")
    assert found.returncode == 2 and "did you mean 'ring'" in found.stderr and "Traceback" not in found.stderr


@pytest.mark.slow
def test_compiled_code_ledger_and_doctor_outside_the_checkout(outside: Path) -> None:
    """Everything is compiled anew there. The results are there too: nothing is skipped for want of them."""
    command = str(outside / "burnside")
    found = run(outside, command, "audit", "fig2", "--json")
    assert found.returncode == 0 and json.loads(found.stdout)["quotient"]["pairs"] == 8, found.stderr
    found = run(outside, command, "claims", "--check", "--json")
    content = json.loads(found.stdout)
    assert found.returncode == 0 and content["problems"] == {}, found.stderr
    assert content["shown"] > 40 and "fig-4a" not in content["skipped"] and "thm-1" not in content["skipped"]
    found = run(outside, command, "doctor", "--json")
    assert found.returncode == 0 and json.loads(found.stdout)["ok"], found.stderr


# ---------------------------------------------------------------------- clean environments: minutes, and an index


def pythons() -> list[str]:
    """The interpreters we support that run here: those on the path, and those that pyenv has."""
    (oldest,) = re.findall(r"requires-python = \">=3\.(\d+)\"", (REPO / "pyproject.toml").read_text())
    found = []
    for minor in range(int(oldest), 15):
        kept = sorted(map(str, (Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python")))
        # a shim of pyenv is on the path although it starts nothing
        runs = (name for name in (f"python3.{minor}", *kept) if shutil.which(name) and _runs(name))
        found += islice(runs, 1)
    return found or [sys.executable]


def _runs(python: str) -> bool:
    return subprocess.run([python, "-c", "import venv"], capture_output=True).returncode == 0


def clean(where: Path, python: str = sys.executable) -> Path:
    subprocess.run([python, "-m", "venv", str(where)], check=True)
    return where / ("Scripts" if os.name == "nt" else "bin")


@pytest.mark.slow
@pytest.mark.parametrize("python", pythons())
def test_the_core_alone_shows_what_readme_shows_first(wheel: Path, python: str, tmp_path: Path) -> None:
    """A bare environment, the wheel with nothing but its own dependencies, and the first screen of README."""
    scripts = clean(tmp_path / "venv", python)
    pins = ["-c", str(REPO / "constraints.txt")]
    subprocess.run([str(scripts / "python"), "-m", "pip", "install", "--quiet", *pins, str(wheel)], check=True)
    screen = first_screen()
    commands = [line[2:] for line in re.findall(r"^\$ burnside .*$", screen, re.M)]
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command, comments=True)
        if words[1:2] in (["solve"], ["measure"]):  # the first needs torch and says so, the second takes minutes
            continue
        found = run(scripts, str(scripts / "burnside"), *words[1:])
        assert found.returncode == 0, (command, found.stderr)
    found = run(scripts, str(scripts / "burnside"), "solve", "--n", "3", "--scramble", "5")
    assert found.returncode == 2 and "burnside[learn]" in found.stderr and "Traceback" not in found.stderr
    (code,) = re.findall(r"```python\n(.*?)```", screen, re.S)
    found = run(scripts, str(scripts / "python"), "-c", code)
    assert found.returncode == 0, found.stderr


def first_screen() -> str:
    """README up to its second heading."""
    return re.split(r"^## ", (REPO / "README.md").read_text(), flags=re.M)[0]


@pytest.mark.slow
def test_every_extra_can_be_installed_beside_the_core(wheel: Path, tmp_path: Path) -> None:
    scripts = clean(tmp_path / "venv")
    extras = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in extras:
        pins = "constraints-robot.txt" if extra == "robot" else "constraints.txt"
        argv = ["install", "--quiet", "--dry-run", "-c", str(REPO / pins), f"{wheel}[{extra}]"]
        done = subprocess.run([str(scripts / "python"), "-m", "pip", *argv], capture_output=True, text=True)
        assert done.returncode == 0, (extra, done.stderr)


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    scripts = clean(tmp_path / "venv")
    subprocess.run([str(scripts / "python"), "-m", "pip", "install", "--quiet", "hatchling"], check=True)
    build = [str(scripts / "python"), "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(build, cwd=REPO, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    subprocess.run([*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(sdist)], check=True)
    (again,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as two:
        assert set(one.namelist()) == set(two.namelist())
