"""Runs that lose nothing: results kept in files named by the hash of what produced them.

What lives here, from small to large: ``cells`` — a :class:`Cell` is a piece of work with a name, a :class:`CellStore`
keeps small results; ``lock``, ``checkpoint``, ``folder`` — the files of a cell; ``context``, ``job`` — what an
experiment is given and what it supplies; ``work`` — running one cell; ``engines`` — running many: local, ray, slurm;
``sweep`` — all of a plan that has not finished; ``results`` — reading and compacting; ``manifest``, ``display``,
``track`` — where results come from and how a sweep shows itself.
It may import everything below it, and no statistics or experiment.
"""

from __future__ import annotations

from burnside.runs.cells import Cell, CellStore, cell_name
from burnside.runs.checkpoint import Checkpoint
from burnside.runs.context import Context, Stopped
from burnside.runs.folder import CellFolder
from burnside.runs.job import DeviceName, EngineName, Experiment, Job, PresetName
from burnside.runs.results import Results, committed, compact, read_results
from burnside.runs.sweep import SweepOutcome, sweep
from burnside.runs.work import Outcome, Task, run_one

__all__ = [
    "Cell",
    "CellFolder",
    "CellStore",
    "Checkpoint",
    "Context",
    "DeviceName",
    "EngineName",
    "Experiment",
    "Job",
    "Outcome",
    "PresetName",
    "Results",
    "Stopped",
    "SweepOutcome",
    "Task",
    "cell_name",
    "committed",
    "compact",
    "read_results",
    "run_one",
    "sweep",
]
