"""Results of the ring games, whose files call an arm a condition.

The key is part of the names of their cells, so it stays in the files, and finished cells keep their names. Everything
that reads them says ``arm``, as all other experiments do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnside._types import AnyArray
from burnside.runs import Results, read_results

__all__ = ["KEY", "read_arms"]

#: What an arm is called in the files.
KEY = "condition"


class _Arms(Results):
    """Results whose tables have the column ``arm``."""

    def table(self, name: str) -> dict[str, AnyArray]:
        """A table as columns."""
        return _renamed(super().table(name))


def _renamed(found: Mapping[str, Any]) -> dict[str, Any]:
    return {"arm" if key == KEY else key: value for key, value in found.items()}


def read_arms(folder: str | Path, *, allow_missing: bool = False) -> Results:
    """The results in a folder, see :func:`burnside.runs.read_results`, with the column ``arm``."""
    found = read_results(folder, allow_missing=allow_missing)
    return _Arms([_renamed(row) for row in found.rows], found.missing, found.manifest, found._tables)
