"""Runs that lose nothing: results kept in files named by the hash of what produced them.

What lives here, from small to large: ``cells`` — a :class:`Cell` is a piece of work with a name; ``lock``, ``folder`` —
the files of a cell; ``context``, ``job`` — what an experiment is given and what it supplies; ``work`` — running one
cell; ``engines`` — running many: local, ray, slurm; ``sweep`` — all of a plan that has not finished; ``results`` —
reading and compacting; ``manifest``, ``display``, ``track`` — where results come from and what a sweep displays.
It may import everything below it, but not statistics or experiments.
"""

from __future__ import annotations

from burnside._lazy import exported
from burnside.runs.cells import Cell as Cell
from burnside.runs.context import Context as Context
from burnside.runs.results import Results as Results
from burnside.runs.results import read_results as read_results
from burnside.runs.sweep import sweep as sweep

__all__ = exported(__name__)
