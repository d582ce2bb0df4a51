"""``compute(name)``: figures that no other command prints, each from the library or from the committed results."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from burnside.errors import UnknownName, UnreadableFile

__all__ = ["COMPUTATIONS", "Figures", "committed_file", "computation", "compute"]

Figures = dict[str, Any]
COMPUTATIONS: dict[str, Callable[[], Figures]] = {}


def computation(function: Callable[[], Figures]) -> Callable[[], Figures]:
    """Register a function under its name, with hyphens; what it finds is kept, for the claims that share it."""
    COMPUTATIONS[function.__name__.replace("_", "-")] = cache(function)
    return function


def compute(name: str) -> Figures:
    """The figures of that name, computed now.

    >>> compute("orbit-stabilizer")
    {'order': 10, 'products': [10]}
    """
    if name not in COMPUTATIONS:
        raise UnknownName("computation of the ledger", name, COMPUTATIONS)
    return COMPUTATIONS[name]()


def committed_file(experiment: str, file: str = "") -> Path:
    """The folder of committed results of an experiment, or a file in it; an installed wheel has none."""
    from burnside.runs.results import committed

    folder = committed(experiment)
    if not file and folder is not None:
        return folder
    for top in (Path("results"), Path(__file__).resolve().parents[4] / "results"):
        if file and (top / experiment / file).is_file():
            return top / experiment / file
    raise UnreadableFile(f"there are no committed results of {experiment} here")
