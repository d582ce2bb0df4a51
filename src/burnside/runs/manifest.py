"""Where results come from: commit, versions, machine and command, without paths or names of a particular machine."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from burnside._files import read_json, write_text
from burnside.errors import DamagedFile, UnreadableFile
from burnside.runs.cells import FORMAT, Cell

__all__ = ["describe", "is_compact", "read_plans", "record", "write_plan"]

_PACKAGES = ("burnside", "numpy", "scipy", "numba", "torch", "gymnasium", "polars", "ray", "submitit")


def describe() -> dict[str, Any]:
    """This machine and this checkout, in words that may be published.

    >>> sorted(describe())
    ['command', 'commit', 'cores', 'cpu', 'platform', 'python', 'started', 'versions']
    """
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": _command(sys.argv),
        "commit": _commit(),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "versions": versions,
    }


def record(folder: Path, entry: Mapping[str, Any]) -> Path:
    """Add a sweep to ``manifest.json``; losing it to another sweep that ends at the same moment does no harm."""
    path = folder / "manifest.json"
    try:
        before = read_json(path)["sweeps"]
    except (UnreadableFile, KeyError, TypeError):
        before = []
    content = {"format": FORMAT, "sweeps": [*(before if isinstance(before, list) else []), dict(entry)]}
    return write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def is_compact(folder: Path) -> bool:
    """Whether a folder holds compact results, and not a sweep."""
    try:
        return bool(read_json(folder / "manifest.json").get("kind") == "compact")
    except (UnreadableFile, AttributeError):
        return False


def write_plan(folder: Path, preset: str, cells: Sequence[Cell], *, add: bool = False) -> Path:
    """Keep the plan of a preset, so that a missing cell is noticed; ``add`` keeps the cells that are there already."""
    if add and (folder / f"plan-{preset}.json").exists():
        cells = list({cell.name: cell for cell in [*read_plans(folder, preset), *cells]}.values())
    content = {
        "format": FORMAT,
        "preset": preset,
        "cells": [{"name": cell.name, **cell.to_dict()} for cell in cells],
    }
    return write_text(folder / f"plan-{preset}.json", json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")


def read_plans(folder: Path, preset: str | None = None) -> list[Cell]:
    """The cells planned in this folder, by one preset or by all that were run there; each once, in order."""
    found: dict[str, Cell] = {}
    paths = sorted(folder.glob("plan-*.json" if preset is None else f"plan-{preset}.json"))
    if not paths:
        what = "a sweep" if preset is None else f"a sweep with preset {preset!r}"
        raise UnreadableFile(f"{folder} is not the folder of {what}: there is no plan in it")
    for path in paths:
        try:
            for content in read_json(path)["cells"]:
                cell = Cell.from_dict(content)
                if content.get("name", cell.name) != cell.name:
                    raise DamagedFile("a cell has another name than its config makes")
                found.setdefault(cell.name, cell)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            if isinstance(error, UnreadableFile) and not isinstance(error, DamagedFile):
                raise
            raise DamagedFile(f"the plan {path} is damaged: run the sweep again, which keeps its results") from None
    return list(found.values())


def _command(argv: Sequence[str]) -> str:
    """The command line, its absolute paths cut down to their last part."""
    words = [Path(argv[0]).name if argv else "", *argv[1:]]
    return " ".join(f"…/{Path(word).name}" if os.path.isabs(word) else word for word in words)


def _commit() -> str | None:
    """The commit of the checkout this package runs from, with ``+changes`` if files differ; None outside of one."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=30)
        return done.stdout.strip()

    try:
        commit = git("rev-parse", "HEAD")
        return f"{commit}+changes" if git("status", "--porcelain", "--", "src") else commit
    except (OSError, subprocess.SubprocessError):
        return None


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
