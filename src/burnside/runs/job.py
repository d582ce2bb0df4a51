"""What an experiment supplies: a plan of cells, a way to run one, and a table of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from burnside.runs.cells import Cell
from burnside.runs.context import Context

__all__ = ["DeviceName", "EngineName", "Experiment", "Job", "PresetName"]

PresetName = Literal["smoke", "laptop", "study", "paper"]
EngineName = Literal["local", "ray", "slurm"]
DeviceName = Literal["auto", "cpu", "cuda"]


@runtime_checkable
class Job(Protocol):
    """Work that a sweep can do. It is sent to other processes: an instance of a class at the top level of a module."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset, the same in every process; an unknown preset raises ``UnknownName``."""
        ...

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Run one cell and return its result in plain JSON values.

        ``"rows"`` in it, a list of dicts of scalars, are the rows of the long-form table, usually one per seed with its
        ``"seed"``. Whatever depends on the clock, the device or the process must stay out of the result.
        """
        ...


@runtime_checkable
class Experiment(Job, Protocol):
    """An entry of the registry that ``burnside sweep`` and ``burnside table`` read: a job with a table."""

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """The rows of its table, from the folder of a sweep or its compact form (see ``read_results``)."""
        ...
