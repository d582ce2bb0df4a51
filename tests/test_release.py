"""The wheel: it builds, holds what it should and nothing else, and works in an environment outside the checkout."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import burnside

REPO = Path(__file__).resolve().parents[1]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


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
    found = run(outside, command, "audit", "rnig")
    assert found.returncode == 2 and "did you mean 'ring'" in found.stderr and "Traceback" not in found.stderr


@pytest.mark.slow
def test_compiled_code_ledger_and_doctor_outside_the_checkout(outside: Path) -> None:
    """Everything is compiled anew there. No results and no tests are there: what rests on them is skipped."""
    command = str(outside / "burnside")
    found = run(outside, command, "audit", "fig2", "--json")
    assert found.returncode == 0 and json.loads(found.stdout)["quotient"]["pairs"] == 8, found.stderr
    found = run(outside, command, "claims", "--check", "--json")
    content = json.loads(found.stdout)
    assert found.returncode == 0 and content["problems"] == {}, found.stderr
    assert content["shown"] > 20 and "fig-4a" in content["skipped"] and "thm-1" not in content["skipped"]
    found = run(outside, command, "doctor", "--json")
    assert found.returncode == 0 and json.loads(found.stdout)["ok"], found.stderr
