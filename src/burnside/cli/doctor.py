"""``burnside doctor``: what is installed, what is missing and how to get it, and whether the core works."""

from __future__ import annotations

import ctypes.util
import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from burnside.cli.console import output, print_json, styled, table

__all__ = ["Doctor", "Requirement", "examine", "satisfies"]

Status = Literal["ok", "missing", "broken", "note"]

#: Packages whose import name differs from their name.
_MODULES = {"stable-baselines3": "stable_baselines3", "mkdocs-material": "material", "pytest-xdist": "xdist"}
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
    """Say what is installed, which extras are missing and the command that gets them, threads, device and BLAS."""

    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command: 1 if something that is needed is broken."""
        report = examine()
        broken = [finding for findings in report.values() for finding in findings if finding.status == "broken"]
        if self.json:
            content = {
                title: [{"what": f.what, "status": f.status, "detail": f.detail, "remedy": f.remedy} for f in findings]
                for title, findings in report.items()
            }
            print_json({"ok": not broken, **content})
            return 1 if broken else 0
        console = output()
        for title, findings in report.items():
            rows = table(title, "", "")
            rows.columns[1].justify = rows.columns[2].justify = "left"
            for f in findings:
                mark = {"ok": "ok", "missing": "missing", "broken": "BROKEN", "note": ""}[f.status]
                rows.add_row(f.what, styled((mark, "bold red" if f.status == "broken" else "")), f.detail)
            console.print(rows)
            console.print()
        for f in [f for findings in report.values() for f in findings if f.remedy]:
            console.print(f"{f.what}: {f.remedy}", soft_wrap=True)
        console.print(f"{len(broken)} needed things are broken" if broken else "everything that is needed works")
        return 1 if broken else 0


def examine() -> dict[str, list[Finding]]:
    """All findings, by heading."""
    wanted = requirements()
    return {
        "machine": _machine(),
        "core": [_package(r, needed=True) for r in wanted if not r.extra] + [_self_test()],
        "extras": _extras(wanted),
        "numbers": [*_threads(), _blas(), _device()],
        "tools": _tools(),
    }


def requirements() -> list[Requirement]:
    """What the installed package declares, extras included."""
    found = []
    for line in importlib.metadata.requires("burnside") or []:
        head, _, marker = line.partition(";")
        match = re.match(r"\s*([A-Za-z0-9._-]+)(\[[^]]*\])?\s*\(?([^)]*)\)?", head)
        extra = re.search(r"extra\s*==\s*['\"]([^'\"]+)", marker)
        if match:
            found.append(Requirement(match[1], match[3].replace(" ", ""), extra[1] if extra else ""))
    return found


def satisfies(version: str, bounds: str) -> bool:
    """Whether a version is within bounds such as ``>=1.0,<2``; only numbers are compared.

    >>> satisfies("1.26.4", ">=1.26,<2"), satisfies("2.0", ">=1.26,<2"), satisfies("1.5.2", "==1.5.2")
    (True, False, True)
    """

    def numbers(text: str) -> tuple[int, ...]:
        found = [int(n) for n in re.findall(r"\d+", text.split("+")[0])]
        while found and found[-1] == 0:
            found.pop()
        return tuple(found)

    compare: dict[str, Callable[[Any, Any], bool]] = {
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
        "<=": lambda a, b: a <= b,
        "!=": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        ">": lambda a, b: a > b,
    }
    for bound in filter(None, bounds.split(",")):
        match = re.match(r"(>=|==|<=|!=|<|>)(.+)", bound)
        if match and not compare[match[1]](numbers(version), numbers(match[2])):
            return False
    return True


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
            importlib.import_module(_MODULES.get(wanted.name, wanted.name.replace("-", "_")))
        except Exception as error:  # whatever a package does when it is imported, it does not work here
            remedy = f"pip install --force-reinstall '{wanted.name}{wanted.bounds}'"
            return Finding(wanted.name, "broken", f"{version}, cannot be imported: {error}", remedy)
    return Finding(wanted.name, "ok", version)


def _self_test() -> Finding:
    try:
        from burnside.mdp import quotient, zoo

        model = zoo.fig2()
        pairs = quotient(model, model.symmetry()).mdp.n_pairs
    except Exception as error:  # any failure is what this line is for
        return Finding("self-test", "broken", f"{type(error).__name__}: {error}", "reinstall Burnside")
    right = pairs == 8
    return Finding("self-test", "ok" if right else "broken", f"the example of Fig. 2 has {pairs} pair orbits (8)")


@dataclass
class _Extra:
    present: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)


def _extras(wanted: list[Requirement]) -> list[Finding]:
    extras: dict[str, _Extra] = {}
    for requirement in wanted:
        if requirement.extra:
            found = _package(requirement, needed=False)
            entry = extras.setdefault(requirement.extra, _Extra())
            line = f"{found.what} {found.detail}"
            (entry.present if found.status == "ok" else entry.absent).append(line)
    findings = []
    for name in sorted(extras, key=lambda name: (name in _LAST, name)):
        entry = extras[name]
        if entry.absent:
            findings.append(Finding(name, "missing", ", ".join(entry.absent), install_command(name)))
        else:
            findings.append(Finding(name, "ok", ", ".join(entry.present)))
    return findings


def install_command(extra: str) -> str:
    """The command that installs an extra: with the pins if this is a checkout.

    >>> "[sb3]" in install_command("sb3")
    True
    """
    pip = f"{Path(sys.executable).name} -m pip install"
    if extra == "robot":  # its simulator wants another numpy: an environment of its own, see docs/install.md
        return "in an environment of its own: pip install 'torch==2.13.0' 'burnside[learn,robot]'"
    if (Path(__file__).resolve().parents[3] / "constraints.txt").is_file():
        return f'{pip} -c constraints.txt -e ".[{extra}]"'
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
        return Finding("device", "ok", f"cuda: {torch.cuda.get_device_name(0)}")
    return Finding("device", "ok", f"cpu, {torch.get_num_threads()} threads (torch finds no CUDA device)")


def _tools() -> list[Finding]:
    found = []
    for what, library, use, package in (
        ("OSMesa", "OSMesa", "headless rendering with MUJOCO_GL=osmesa", "libosmesa6"),
        ("EGL", "EGL", "headless rendering with MUJOCO_GL=egl", "libegl1"),
    ):
        where = ctypes.util.find_library(library)
        remedy = "" if where else f"on Debian or Ubuntu: apt install {package} (for {use})"
        found.append(Finding(what, "ok" if where else "missing", where or f"for {use}", remedy))
    browser = chromium()
    remedy = "" if browser else "on Debian or Ubuntu: apt install chromium (only the tests of the report use it)"
    found.append(Finding("Chromium", "ok" if browser else "missing", browser or "for the tests of the report", remedy))
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    found.append(Finding("C compiler", "ok" if compiler else "note", compiler or "none; Burnside itself needs none"))
    return found


def chromium() -> str | None:
    """Where a Chromium is, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((where for name in names if (where := shutil.which(name))), None)
