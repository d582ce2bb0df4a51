"""``burnside doctor``: what works here, what is missing and how to get it.

Nothing is believed because it is there: packages are imported (those of an extra in a process of their own, since an
import may crash), OpenGL libraries draw a picture, the browser shows a page, the compiler builds a program.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement as Declared
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from burnside.cli.console import output, print_json, styled, table
from burnside.cli.tools import chromium, compiler, python_headers
from burnside.errors import UnknownName

__all__ = ["Doctor", "Requirement", "examine", "satisfies"]

Status = Literal["ok", "missing", "broken", "note"]

#: An import takes seconds at most; one that hangs is given up.
_PATIENCE = 180
#: Imports modules one after the other, saying which comes next.
_IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    print(name, flush=True)
    importlib.import_module(name)
"""
#: Extras that are for people who change Burnside, last.
_LAST = ("docs", "dev")


@dataclass(frozen=True)
class Finding:
    """One line of the examination."""

    what: str
    status: Status
    detail: str
    remedy: str = ""


@dataclass(frozen=True)
class Requirement:
    """A requirement of the package: name, bounds such as ``>=1.0,<2``, and the extra it belongs to."""

    name: str
    bounds: str
    extra: str = ""


@dataclass(frozen=True)
class Doctor:
    """Show what is installed, which extras are missing and how to install them, and threads, device and BLAS."""

    json: bool = False
    """Print one JSON object."""
    need: tuple[str, ...] = ()
    """Extras that must be installed, such as learn or robot: exit code 1 if one is missing."""

    def run(self) -> int:
        """Run the command: 1 if something that is needed, or installed, is broken."""
        console = output()
        report: dict[str, list[Finding]] = {}
        for title, findings in examine(self.need):
            report[title] = findings
            if self.json:
                continue
            rows = table(title, "", "")
            rows.columns[1].justify = rows.columns[2].justify = "left"
            for f in findings:
                mark = {"ok": "ok", "missing": "missing", "broken": "BROKEN", "note": ""}[f.status]
                rows.add_row(f.what, styled((mark, "bold red" if f.status == "broken" else "")), f.detail)
            console.print(rows)
            console.print()
        broken = [finding for findings in report.values() for finding in findings if finding.status == "broken"]
        if self.json:
            content = {
                title: [{"what": f.what, "status": f.status, "detail": f.detail, "remedy": f.remedy} for f in findings]
                for title, findings in report.items()
            }
            print_json({"ok": not broken, **content})
            return 1 if broken else 0
        for f in [f for findings in report.values() for f in findings if f.remedy]:
            console.print(f"{f.what}: {f.remedy}", soft_wrap=True)
        what = ", ".join(f.what for f in broken)
        console.print(f"broken: {what}" if broken else "everything that is needed works")
        return 1 if broken else 0


def examine(need: tuple[str, ...] = ()) -> Iterator[tuple[str, list[Finding]]]:
    """Headings and their findings, one heading after the other.

    Args:
        need: extras whose absence is an error.
    """
    wanted = requirements()
    known = {r.extra for r in wanted if r.extra}
    for name in need:
        if name not in known:
            raise UnknownName("extra", name, known)
    yield "machine", _machine()
    yield "core", [*(_package(r, needed=True) for r in wanted if not r.extra), _self_test()]
    yield "extras", _extras(wanted, need)
    yield "numbers", [*_threads(), _blas(), _device()]
    yield "tools", _tools()


def requirements() -> list[Requirement]:
    """What the installed package declares, extras included."""
    found = []
    for line in importlib.metadata.requires("burnside") or []:
        wanted = Declared(line)
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", str(wanted.marker))
        found.append(Requirement(wanted.name, str(wanted.specifier), extra[1] if extra else ""))
        found += [replace(inner, extra=found[-1].extra) for inner in _of_extras(wanted)]
    return found


def _of_extras(wanted: Declared) -> list[Requirement]:
    """What the extras in brackets bring: of ``gymnasium[box2d]`` Box2D and pygame, if gymnasium is there to say so."""
    if not wanted.extras:
        return []
    try:
        lines = importlib.metadata.requires(wanted.name) or []
    except importlib.metadata.PackageNotFoundError:
        return []
    inner = [declared for declared in map(Declared, lines) if declared.marker is not None]
    return [
        Requirement(one.name, str(one.specifier))
        for one in inner
        if one.marker is not None
        and not one.marker.evaluate({"extra": ""})
        and any(one.marker.evaluate({"extra": name}) for name in wanted.extras)
    ]


def satisfies(version: str, bounds: str) -> bool:
    """Whether a version is within bounds such as ``>=1.0,<2``; what is installed before its release counts too.

    >>> satisfies("1.26.4", ">=1.26,<2"), satisfies("2.0", ">=1.26,<2"), satisfies("1.5.2", "==1.5.2")
    (True, False, True)
    """
    try:
        return SpecifierSet(bounds).contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _machine() -> list[Finding]:
    version = platform.python_version()
    old = sys.version_info < (3, 11)
    python = Finding("Python", "broken" if old else "ok", version, "install Python 3.11 or newer" if old else "")
    from burnside import __version__

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    return [
        Finding("burnside", "ok", __version__),
        python,
        Finding("system", "note", f"{platform.system()} {platform.machine()}"),
        Finding("processors", "note", f"{usable} usable of {os.cpu_count()}"),
        Finding("free space here", "note", f"{free:.1f} GB"),
        _writable(),
    ]


def _writable() -> Finding:
    try:
        with tempfile.TemporaryFile() as file:
            file.write(b"x")
    except OSError as error:
        return Finding("temporary files", "broken", str(error), "set TMPDIR to a folder with room")
    return Finding("temporary files", "ok", "can be written")


def _package(wanted: Requirement, *, needed: bool) -> Finding:
    bad: Status = "broken" if needed else "missing"
    try:
        version = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        remedy = f"pip install '{wanted.name}{wanted.bounds}'" if needed else ""
        return Finding(wanted.name, bad, "not installed", remedy)
    if not satisfies(version, wanted.bounds):
        remedy = f"pip install '{wanted.name}{wanted.bounds}'"
        return Finding(wanted.name, bad, f"{version}, but {wanted.bounds} is needed", remedy)
    if needed:
        try:
            importlib.import_module(module_of(wanted.name))
        except Exception as error:  # whatever a package does when it is imported, it does not work here
            return Finding(wanted.name, "broken", f"{version}, cannot be imported: {error}", _again(wanted))
    return Finding(wanted.name, "ok", version)


def module_of(package: str) -> str:
    """The module that a package is imported as; "" if it has none, as packages of type stubs.

    >>> module_of("pytest-xdist"), module_of("types-networkx")
    ('xdist', '')
    """
    plain = package.lower().replace("-", "_")
    for path in importlib.metadata.files(package) or []:
        if path.parts[0] in (plain, f"{plain}.py"):
            return plain
    canonical = re.sub(r"[-_.]+", "-", package).lower()
    found = [
        module
        for module, owners in importlib.metadata.packages_distributions().items()
        if canonical in {re.sub(r"[-_.]+", "-", owner).lower() for owner in owners}
    ]
    return next((name for name in sorted(found) if name.isidentifier() and not name.startswith("_")), "")


def _again(wanted: Requirement) -> str:
    return f"pip install --force-reinstall '{wanted.name}{wanted.bounds}'"


def _self_test() -> Finding:
    try:
        from burnside.mdp import quotient, zoo

        model = zoo.fig2()
        pairs = quotient(model, model.symmetry()).mdp.n_pairs
    except Exception as error:  # any failure is what this line is for
        return Finding("self-test", "broken", f"{type(error).__name__}: {error}", "reinstall Burnside")
    right = pairs == 8
    return Finding("self-test", "ok" if right else "broken", f"the example of Fig. 2 has {pairs} pair orbits (8)")


def _extras(wanted: list[Requirement], need: tuple[str, ...]) -> list[Finding]:
    names = sorted({r.extra for r in wanted if r.extra}, key=lambda name: (name in _LAST, name))
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:  # each thread waits for a process
        found = list(pool.map(lambda name: _extra(name, [r for r in wanted if r.extra == name]), names))
    return [replace(f, status="broken") if f.what in need and f.status == "missing" else f for f in found]


def _extra(name: str, wanted: list[Requirement]) -> Finding:
    packages = {r.name: _package(r, needed=False) for r in wanted}
    absent = [f"{f.what} {f.detail}" for f in packages.values() if f.status != "ok"]
    if absent:
        return Finding(name, "missing", ", ".join(absent), install_command(name))
    for requirement in wanted:
        packages[requirement.name] = replace(packages[requirement.name], remedy=_again(requirement))
    culprit, reason = _import_trouble([r.name for r in wanted])
    if reason:
        return Finding(name, "broken", f"{culprit} cannot be imported: {reason}", packages[culprit].remedy)
    return Finding(name, "ok", ", ".join(f"{f.what} {f.detail}" for f in packages.values()))


def _import_trouble(packages: list[str]) -> tuple[str, str]:
    """The first of these packages that cannot be imported in a fresh process, and why; two empty strings if all can."""
    modules = {package: module for package in packages if (module := module_of(package))}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _IMPORT, *modules.values()],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
        )
        output, errors, died = done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired as late:
        output, errors, died = _text(late.stdout), f"not finished after {_PATIENCE} seconds", 1
    if died == 0:
        return "", ""
    last = next((line for line in reversed(output.splitlines()) if line in modules.values()), "")
    culprit = next((package for package, module in modules.items() if module == last), packages[0])
    said = errors.strip().splitlines()
    return culprit, f"the process died of signal {-died}" if died < 0 else said[-1] if said else f"exit code {died}"


def _text(output: bytes | str | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""


def install_command(extra: str) -> str:
    """The command that installs an extra: with the pins if this is a checkout.

    >>> "[sb3]" in install_command("sb3")
    True
    """
    pip = f"{Path(sys.executable).name} -m pip install"
    if extra == "robot":  # its simulator wants another numpy: an environment of its own, see docs/install.md
        return "in an environment of its own: pip install 'torch==2.13.0' 'burnside[learn,robot]'"
    pins = "constraints.txt" if importlib.util.find_spec("robosuite") is None else "constraints-robot.txt"
    if (Path(__file__).resolve().parents[3] / pins).is_file():
        return f'{pip} -c {pins} -e ".[{extra}]"'
    return f"{pip} 'burnside[{extra}]'"


def _threads() -> list[Finding]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    said = {name: os.environ.get(name) for name in names}
    shown = ", ".join(f"{name}={value}" for name, value in said.items() if value) or "none set: libraries choose"
    return [Finding("threads", "note", shown)]


def _blas() -> Finding:
    import numpy as np

    try:
        about = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        detail = f"{about.get('name', 'unknown')} {about.get('version', '')}".strip()
    except (TypeError, KeyError):  # an old or unusual build of numpy
        detail = "unknown"
    return Finding("BLAS", "note", detail)


def _device() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding("device", "note", "no torch: neural learners are not available")
    except OSError as error:
        return Finding("device", "broken", f"torch cannot be loaded: {error}", install_command("learn"))
    if torch.cuda.is_available():
        try:
            torch.ones(8, 8, device="cuda").matmul(torch.ones(8, 8, device="cuda")).sum().item()
        except RuntimeError as error:  # a driver that is too old, a card that this build of torch does not know
            said = str(error).splitlines()[0]
            return Finding("device", "broken", f"cuda is there but cannot compute: {said}", "use --device cpu")
        return Finding("device", "ok", f"cuda: {torch.cuda.get_device_name(0)}")
    return Finding("device", "ok", f"cpu, {torch.get_num_threads()} threads (torch finds no CUDA device)")


def _tools() -> list[Finding]:
    browser = chromium()
    remedy = "" if browser else "on Debian or Ubuntu: apt install chromium (only the tests of the report use it)"
    detail = f"{browser} shows pages" if browser else "none that works; for the tests of the report"
    return [*_drawing(), Finding("Chromium", "ok" if browser else "missing", detail, remedy), _compiler()]


def _drawing() -> list[Finding]:
    """Whether MuJoCo draws with each of the libraries that need no screen."""
    from burnside.envs.manipulation.opengl import PACKAGES, failure_of

    titles = {"osmesa": "OSMesa", "egl": "EGL"}
    if importlib.util.find_spec("mujoco") is None:
        return [
            Finding(title, "note", "not tried: nothing here draws with it (extra robot)") for title in titles.values()
        ]
    failures = {name: failure_of(name) for name in titles}
    apt = " or ".join(f"apt install {line}" for line in PACKAGES)
    remedy = (
        f"on Debian or Ubuntu: {apt} (pictures and point clouds need one of them)" if all(failures.values()) else ""
    )
    return [
        Finding(titles[name], "missing" if why else "ok", why or "draws", remedy if name == "osmesa" else "")
        for name, why in failures.items()
    ]


def _compiler() -> Finding:
    found = compiler()
    if found is None:
        return Finding("C compiler", "note", "none that works; only the robot extra needs one")
    lacking = python_headers(found)
    return Finding("C compiler", "ok", f"{found} works" + (f"; {lacking}" if lacking else ""))
