"""The folder of a cell: what the files in it are called and what their presence means.

======================  =============================================================================
``config.json``         the cell: experiment, config, seeds
``log.jsonl``           one JSON object per line; on resuming it is cut back to the checkpoint
``checkpoint-*.npz``    the newest two checkpoints; deleted once the cell has finished
``table-NAME.npz``      columns that belong to the result
``result.json``         the result; its presence means: finished. The same bits however often it was interrupted
``about.json``          seconds, device and notes of the finished cell
``failed.txt``          traceback of the last failure
``progress.json``       how far it is, while it runs
``lock``                who works on it
======================  =============================================================================
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._files import write_text
from burnside._types import AnyArray
from burnside.errors import InvalidParameter, UnreadableFile
from burnside.runs.cells import FORMAT, Cell, plain
from burnside.runs.checkpoint import generations, read_arrays, write_arrays

__all__ = ["CellFolder", "Progress"]

_SCALARS = (bool, int, float, str, type(None))


@dataclass(frozen=True)
class Progress:
    """How far a running cell is: steps done out of all, those done when it began or resumed, and seconds since."""

    done: int
    total: int
    resumed: int
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds left at the present speed; None if nothing is known of it yet."""
        done = self.done - self.resumed
        return self.seconds * (self.total - self.done) / done if done > 0 else None


class CellFolder:
    """The files of one cell.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as top:
    ...     folder = CellFolder(top, Cell("toy", {"n": 1}))
    ...     before = folder.result()
    ...     folder.prepare()
    ...     folder.finish({"total": 3}, {})
    ...     before, folder.result()
    (None, {'total': 3})
    """

    def __init__(self, top: str | Path, cell: Cell) -> None:
        self.cell = cell
        self.name = cell.name
        self.path = Path(top) / "cells" / cell.name
        self.lock = self.path / "lock"
        self.log = self.path / "log.jsonl"

    def prepare(self) -> None:
        """Make the folder and sweep up the halves of files that a killed process left; call it with the lock held."""
        write_text(self.path / "config.json", _json({"format": FORMAT, **self.cell.to_dict()}))
        self._clear_parts()

    def make(self) -> None:
        """Make the folder itself."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnreadableFile(f"cannot make the folder {self.path}: {error.strerror}") from None

    # What the cell has come to.

    def finished(self) -> bool:
        """Whether there is a result."""
        return (self.path / "result.json").exists()

    def result(self) -> dict[str, Any] | None:
        """The result of the finished cell; None if it has not finished."""
        if not self.finished():
            return None
        path = self.path / "result.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["cell"] != self.cell.identity:
                raise KeyError
            result: dict[str, Any] = content["result"]
        except (OSError, ValueError, KeyError, TypeError):
            raise UnreadableFile(
                f"the result file {path} is damaged or of another version: delete it and run the sweep again"
            ) from None
        return result

    def finish(self, result: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Keep the result; from now on the cell is never run again."""
        kept = plain(result, "the result")
        _check_rows(kept.get("rows"))
        write_text(self.path / "about.json", _json(about))
        write_text(self.path / "result.json", _json({"format": FORMAT, "cell": self.cell.identity, "result": kept}))
        self.clear()

    def clear(self) -> None:
        """Delete what a finished cell no longer needs."""
        for path in [*self.path.glob("checkpoint-*"), self.path / "failed.txt", self.path / "progress.json"]:
            path.unlink(missing_ok=True)
        self._clear_parts()

    def _clear_parts(self) -> None:
        for part in self.path.glob(".*.part"):
            part.unlink(missing_ok=True)

    def fail(self, traceback: str) -> None:
        """Keep the traceback of a failure, if there is room for it."""
        with contextlib.suppress(UnreadableFile):
            write_text(self.path / "failed.txt", traceback)

    def about(self) -> dict[str, Any]:
        """Seconds, device and notes of the finished cell; {} if they are lost."""
        try:
            content = json.loads((self.path / "about.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def generation(self) -> int:
        """Number of the newest checkpoint; 0 without one. It grows as the cell gets on."""
        found = generations(self.path)
        return int(found[0].stem.split("-")[1]) if found else 0

    # Columns that belong to the result.

    def save_table(self, name: str, columns: Mapping[str, AnyArray]) -> None:
        """Keep named columns of one length."""
        if not name.isidentifier():
            raise InvalidParameter(f"the table name {name!r} must be a word of letters, digits and _")
        arrays = {key: np.asarray(column) for key, column in columns.items()}
        lengths = {key: array.shape for key, array in arrays.items()}
        if len(set(lengths.values())) != 1 or any(len(shape) != 1 for shape in lengths.values()):
            raise InvalidParameter(f"the columns of table {name!r} must be vectors of one length, not {lengths}")
        write_arrays(self.path / f"table-{name}.npz", arrays, {"cell": self.name}, compress=True)

    def table(self, name: str) -> dict[str, AnyArray]:
        """The columns kept under this name."""
        path = self.path / f"table-{name}.npz"
        if not path.exists():
            raise UnreadableFile(f"the cell {self.name} ({self.cell.title}) has no table {name!r}")
        return read_arrays(path)[0]

    def tables(self) -> list[str]:
        """Names of its tables."""
        return sorted(path.stem.removeprefix("table-") for path in self.path.glob("table-*.npz"))

    # How far it is. Lost progress does no harm: no fsync, and errors are passed over.

    def save_progress(self, progress: Progress) -> None:
        """Say how far it is."""
        content = {"done": progress.done, "total": progress.total, "resumed": progress.resumed}
        beside = self.path / ".progress.part"
        with contextlib.suppress(OSError):
            beside.write_text(json.dumps({**content, "seconds": progress.seconds, "at": time.time()}))
            os.replace(beside, self.path / "progress.json")

    def progress(self) -> Progress | None:
        """How far it is, if it has said so."""
        try:
            content = json.loads((self.path / "progress.json").read_text(encoding="utf-8"))
            return Progress(content["done"], content["total"], content["resumed"], content["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _check_rows(rows: Any) -> None:
    """Rows of a result go into a table: scalars only. Said when the cell ends, not when all of them have."""
    if rows is None:
        return
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidParameter("the rows of a result must be a list of dicts")
    for row in rows:
        for key, value in row.items():
            if not isinstance(value, _SCALARS):
                raise InvalidParameter(f"a row of the result holds a {type(value).__name__} in {key!r}: scalars only")
