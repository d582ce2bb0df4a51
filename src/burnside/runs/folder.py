"""The folder of a cell: what the files in it are called and what their presence means.

======================  =============================================================================
``config.json``         the cell: experiment, config, seeds
``log.jsonl``           one JSON object per line; on resuming it is cut back to the checkpoint
``checkpoint-*.npz``    the newest two checkpoints; deleted once the cell has finished
``….damaged``           a result or checkpoint that could not be read, ``….unusable`` one of another layout; kept aside
``table-NAME.npz``      columns that belong to the result
``result.json``         the result, which means: finished. The same bits however often it was interrupted
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

from burnside._checkpoints import generations, number, read_arrays, write_arrays
from burnside._files import read_json, write_text
from burnside._types import AnyArray
from burnside.errors import DamagedFile, InvalidParameter, UnreadableFile
from burnside.runs.cells import FORMAT, Cell, digest, ours, plain

__all__ = ["CellFolder", "Progress"]

_SCALARS = (bool, int, float, str, type(None))
_ANEW = "run the sweep again, which runs this cell anew"


@dataclass(frozen=True)
class Progress:
    """How far a running cell is: steps done out of all, those done when it began or resumed, and seconds since."""

    done: int
    total: int
    resumed: int
    seconds: float

    @property
    def left(self) -> float | None:
        """Seconds left at the current speed; None if it is not known yet."""
        done = self.done - self.resumed
        return self.seconds * (self.total - self.done) / done if done > 0 else None


class CellFolder:
    """The files of one cell.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as top:
    ...     folder = CellFolder(top, Cell("toy", {"n": 1}))
    ...     before = folder.result()
    ...     _ = folder.prepare()
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

    def prepare(self) -> list[str]:
        """Make the folder ready for the cell to run; call it with the lock held. Returns notes on what was set aside.

        Partial files of a killed process are deleted, and a result that cannot be used is renamed.
        """
        write_text(self.path / "config.json", _json({"format": FORMAT, **self.cell.to_dict()}))
        self._clear_parts()
        return self._put_result_aside()

    def make(self) -> None:
        """Make the folder itself."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UnreadableFile(
                f"cannot make the folder {self.path}: {error.strerror}; choose another place"
            ) from None

    # How the cell has ended.

    def finished(self) -> bool:
        """Whether there is a result, with all its tables, that can be read; a damaged one does not count."""
        try:
            return self.result() is not None and not self._bad_tables()
        except DamagedFile:
            return False

    def result(self) -> dict[str, Any] | None:
        """The result of the finished cell; None if it has not finished."""
        path = self.path / "result.json"
        if not path.exists():
            return None
        try:
            content = read_json(path)
            if not ours(content["format"]) or content["cell"] != self.cell.identity:
                raise DamagedFile("it belongs to another cell or version")
            result = plain(content["result"], "the result")
            if not isinstance(result, dict) or content.get("sha256", digest(result)) != digest(result):
                raise DamagedFile("its content has been changed")
            _check_rows(result.get("rows"))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, UnreadableFile) and not isinstance(error, DamagedFile):
                raise
            raise DamagedFile(f"the result file {path} is damaged or of another version: {_ANEW}") from None
        return result

    def finish(self, result: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Keep the result; from now on the cell is never run again."""
        kept = plain(result, "the result")
        _check_rows(kept.get("rows"))
        write_text(self.path / "about.json", _json({**about, "tables": self.tables()}))
        content = {"format": FORMAT, "cell": self.cell.identity, "sha256": digest(kept), "result": kept}
        write_text(self.path / "result.json", _json(content))
        self.clear()

    def _put_result_aside(self) -> list[str]:
        """Rename a result that cannot be used: the cell runs again."""
        path = self.path / "result.json"
        if not path.exists():
            return []
        try:
            path.replace(path.with_name("result.json.damaged"))
        except OSError as error:
            raise UnreadableFile(f"{path} is damaged and cannot be set aside ({error.strerror}): delete it") from None
        return [f"cell {self.name}: its result is damaged, incomplete or of another version; the cell is run again"]

    def _bad_tables(self) -> list[str]:
        """Tables that the result had, or that are there, and that cannot be read."""
        known = self.about().get("tables", [])
        wanted = {*self.tables(), *(name for name in known if name.isidentifier())}
        bad = []
        for name in sorted(wanted):
            try:
                self.table(name)
            except DamagedFile:
                bad.append(name)
        return bad

    def clear(self) -> None:
        """Delete what a finished cell no longer needs."""
        for path in [*self.path.glob("checkpoint-*"), self.path / "failed.txt", self.path / "progress.json"]:
            path.unlink(missing_ok=True)
        self._clear_parts()

    def _clear_parts(self) -> None:
        for part in self.path.glob(".*.part"):
            part.unlink(missing_ok=True)

    def fail(self, traceback: str) -> None:
        """Keep the traceback of a failure, if the disk has room for it."""
        with contextlib.suppress(UnreadableFile):
            write_text(self.path / "failed.txt", traceback)

    def about(self) -> dict[str, Any]:
        """Seconds, notes and names of the tables of the finished cell; {} if they are lost."""
        try:
            content = plain(read_json(self.path / "about.json"), "about")
        except (UnreadableFile, InvalidParameter, RecursionError):
            return {}
        if not isinstance(content, dict):
            return {}
        found: dict[str, Any] = {}
        for key in ("seconds", "processor_seconds"):
            found[key] = content[key] if isinstance(content.get(key), int | float) else None
        for key in ("notes", "tables"):
            if isinstance(words := content.get(key), list):
                found[key] = [str(word) for word in words]
        return found

    def generation(self) -> int:
        """Number of the newest checkpoint; 0 without one. It grows as the cell progresses."""
        found = generations(self.path)
        return number(found[0]) if found else 0

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
        where = f"the table {name!r} of {self.cell.title} ({path})"
        if not path.exists():
            raise DamagedFile(f"{where} is missing: {_ANEW}")
        try:
            return check_columns(read_arrays(path)[0])
        except DamagedFile as error:
            raise DamagedFile(f"{where} is damaged ({error}): {_ANEW}") from None

    def tables(self) -> list[str]:
        """Names of its tables."""
        names = (path.stem.removeprefix("table-") for path in self.path.glob("table-*.npz"))
        return sorted(name for name in names if name.isidentifier())

    # Progress. Losing it does no harm: no fsync, and errors are ignored.

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
            content = read_json(self.path / "progress.json", limit=10_000)
            done, total, resumed = (content[key] for key in ("done", "total", "resumed"))
            seconds = float(content["seconds"])
        except (UnreadableFile, KeyError, TypeError, ValueError, OverflowError):
            return None
        if any(type(count) is not int or abs(count) > 10**18 for count in (done, total, resumed)):
            return None
        return Progress(done, total, resumed, seconds) if 0 <= seconds < 10**9 else None


def check_columns(columns: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """The columns of a table, which are vectors of one length."""
    if any(column.ndim != 1 for column in columns.values()) or len({len(c) for c in columns.values()}) > 1:
        raise DamagedFile("its columns are not vectors of one length")
    return columns


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"


def _check_rows(rows: Any) -> None:
    """Rows of a result go into a table, so they hold scalars only; checked as soon as the cell ends."""
    if rows is None:
        return
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidParameter("the rows of a result must be a list of dicts")
    for row in rows:
        for key, value in row.items():
            if not isinstance(value, _SCALARS):
                raise InvalidParameter(f"a row of the result holds a {type(value).__name__} in {key!r}: scalars only")
