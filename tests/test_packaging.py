"""What is declared about the package: dependencies, pins, extras, make targets, and a light import."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
PINS = [line for line in (REPO / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]


def canonical(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert name, requirement
    return re.sub(r"[-_.]+", "-", name[0]).lower()


DECLARED = [*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)]


def test_mimicgen_is_never_a_dependency() -> None:
    """The package of that name on PyPI is not the robotics one."""
    assert "mimicgen" not in {canonical(line) for line in [*DECLARED, *PINS]}


def test_torch_is_pinned_exactly() -> None:
    assert "torch==2.13.0" in PINS


def test_constraints_are_plain_pins() -> None:
    """One version each, of no particular machine or build."""
    assert [line for line in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []
    names = [canonical(line) for line in PINS]
    assert len(names) == len(set(names))
    assert "burnside" not in names
    assert not any(name.startswith("nvidia") for name in names)


def test_constraints_cover_every_extra_but_robot() -> None:
    pinned = {canonical(line) for line in PINS}
    wanted = [
        *PROJECT["dependencies"],
        *(line for extra, lines in EXTRAS.items() if extra != "robot" for line in lines),
    ]
    assert {canonical(line) for line in wanted} - pinned == {"burnside"}, "`atlas` asks for other extras"


def test_make_installs_every_extra_but_robot_so_that_all_are_tested() -> None:
    (installed,) = re.findall(r"^EXTRAS\s*:= (.*)$", (REPO / "Makefile").read_text(), re.M)
    (inside,) = re.findall(r"burnside\[(.*)\]", EXTRAS["atlas"][0])
    assert {*installed.split(","), *inside.split(",")} == set(EXTRAS) - {"robot"}


def test_every_extra_of_the_design_exists() -> None:
    assert {"ray", "slurm", "robot", "sb3", "track", "dev", "envs", "learn", "docs"} <= set(EXTRAS)


def test_every_extra_is_documented() -> None:
    page = (REPO / "docs" / "install.md").read_text()
    documented = set(re.findall(r"`([a-z0-9-]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", page, re.M))))
    assert set(EXTRAS) - documented == set()


def test_requirements_have_lower_bounds() -> None:
    loose = [
        line for line in DECLARED if not re.search(r">=|==", line) and not line.startswith(("types-", "burnside["))
    ]
    assert loose == []


def test_version_is_one() -> None:
    import burnside

    assert burnside.__version__ == PROJECT["version"]
    assert f"version: {PROJECT['version']}\n" in (REPO / "CITATION.cff").read_text()


def test_import_is_light() -> None:
    """`import burnside` must not pay for what the caller may never use."""
    heavy = ["torch", "gymnasium", "matplotlib", "sympy", "igraph", "numba"]
    code = f"import sys, burnside; print(*[m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    "target",
    [
        "help",
        "install",
        "reproduce",
        "test",
        "test-all",
        "bench",
        "docs",
        "lint",
        "format",
        "constraints",
        "clean",
    ],
)
def test_makefile_has_target(target: str) -> None:
    assert re.search(rf"^{target}:.*## \S", (REPO / "Makefile").read_text(), re.M)


def test_make_installs_the_libraries_that_the_error_names() -> None:
    from burnside.envs.manipulation.opengl import PACKAGES

    assert re.findall(r"^DRAWERS\s*:= (.*)$", (REPO / "Makefile").read_text(), re.M) == ["; ".join(PACKAGES)]


@pytest.mark.skipif(os.name == "nt", reason="there is no executable bit on Windows")
def test_ci_gets_a_browser_runs_make_test_and_nothing_else() -> None:
    script = REPO / ".ci" / "run"
    assert os.access(script, os.X_OK)
    lines = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert lines[0] == "set -euo pipefail"
    assert [line for line in lines if "make" in line] == ["make browser", "make test"]


def test_every_package_has_its_licence_listed() -> None:
    """`docs/licences.md` is written by `make licences`; new pins need a new page."""
    listed = dict(
        re.findall(r"^\| ([a-z0-9-]+) \| (\d\S*) \| [^|]+ \| [^|]+ \|$", (REPO / "docs/licences.md").read_text(), re.M)
    )
    robot = (REPO / "constraints-robot.txt").read_text().splitlines()
    named = {canonical(line): line.split("==")[1] for line in [*robot, *PINS] if "==" in line and line[0] != "#"}
    assert listed == {name: version.split(";")[0].strip() for name, version in named.items()}
