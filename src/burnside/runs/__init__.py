"""Runs that lose nothing: results kept in files named by the hash of what produced them.

What lives here: ``cells`` — a :class:`CellStore` keeps the result of every finished piece of work (a *cell*) under the
hash of its configuration, written atomically; a finished cell is never run again, so an interrupted command goes on
where it was.
Engines, checkpoints and sweeps join it here. It may import everything below it, and no experiment.
"""

from __future__ import annotations

from burnside.runs.cells import CellStore, cell_name

__all__ = ["CellStore", "cell_name"]
