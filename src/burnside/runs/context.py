"""What a running cell is given: checkpoints, a log, progress, and the request to stop."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnside._checkpoints import Checkpoint, Kept, load_newest, put_aside, save_next
from burnside._types import AnyArray, ArrayLike
from burnside.errors import BurnsideError, InvalidParameter, UnreadableFile
from burnside.runs.cells import Cell, plain
from burnside.runs.folder import CellFolder, Progress
from burnside.runs.lock import CellLock

if TYPE_CHECKING:
    from burnside.runs.track import Tracker

__all__ = ["Context", "Stopped", "resolve_device"]

#: What restoring a checkpoint of another layout raises. Errors about memory, disk or device are not among them.
_MISFIT = (KeyError, IndexError, AttributeError, TypeError, ValueError)


class Stopped(KeyboardInterrupt):
    """The sweep was asked to stop; everything so far is in a checkpoint. Not an error, hence not an ``Exception``."""


def resolve_device(device: str) -> str:
    """``auto`` is ``cuda`` where torch finds one, else ``cpu``.

    >>> resolve_device("cpu")
    'cpu'
    """
    if device not in ("auto", "cpu", "cuda"):
        raise InvalidParameter(f"the device must be auto, cpu or cuda, not {device!r}")
    if device == "cpu":
        return "cpu"
    try:
        import torch

        found = torch.cuda.is_available()
    except ImportError:
        found = False
    if device == "cuda" and not found:
        raise InvalidParameter("the device cuda was requested, but torch finds none here: use --device cpu or auto")
    return "cuda" if found else "cpu"


class Context:
    """What ``run_cell`` gets besides the cell.

    The loop of a job looks like this; it is resumable, stops within one chunk, and never logs a row twice::

        saved = context.restore()
        state = begin(cell) if saved is None else State(**saved.arrays)
        context.resumed()
        while state.episode < budget:
            row = advance(state, episodes=100)
            context.log(row)
            context.progress(state.episode, budget)
            if context.due():
                context.checkpoint(state.arrays(), episode=state.episode)
        return {"rows": [...]}

    Attributes:
        cell: the cell that runs.
        threads: how many threads it may use.
        notes: messages about damaged checkpoints.
    """

    def __init__(
        self,
        folder: CellFolder,
        *,
        device: str = "auto",
        threads: int = 1,
        seconds: float = 60.0,
        stop: Callable[[], bool] = lambda: False,
        lock: CellLock | None = None,
        tracker: Tracker | None = None,
    ) -> None:
        self.cell: Cell = folder.cell
        self.threads = threads
        self.notes: list[str] = []
        self._files = folder
        self._device = device
        self._interval = seconds
        self._stop = stop
        self._lock = lock
        self._tracker = tracker
        self._rows: list[bytes] = []
        self._fresh = True
        self._began = self._last = time.monotonic()
        self._said = 0.0
        self._resumed: int | None = None
        self._before = 0.0
        self._worked_before, self._working_since = 0.0, time.process_time()
        self._step = 0
        self._taking: Path | None = None

    @property
    def device(self) -> str:
        """``cpu`` or ``cuda``; ``auto`` is decided when this is first read, since it loads torch."""
        self._device = resolve_device(self._device)
        return self._device

    @property
    def folder(self) -> Path:
        """The folder of the cell, for files of the job itself; names that begin with ``own-`` are never touched."""
        return self._files.path

    @property
    def seconds(self) -> float:
        """Wall time so far, over all attempts that reached a checkpoint."""
        return self._before + time.monotonic() - self._began

    @property
    def processor_seconds(self) -> float:
        """Processor time of this process so far, all its threads, over the same attempts."""
        return self._worked_before + time.process_time() - self._working_since

    # Checkpoints.

    def restore(self) -> Checkpoint | None:
        """The newest usable checkpoint, or None to start from the beginning; the log is cut back to it.

        A checkpoint may have been written by another version of the job. If restoring it fails (a key is missing, a
        shape differs), it is set aside and the cell runs again from the previous one, or from the beginning. Call
        :meth:`resumed` once it has been restored: from then on an error is the job's own.
        """
        found, notes = load_newest(self._files.path, self._files.name, self._unusable)
        self.notes += [f"cell {self._files.name}: {note}" for note in notes]
        self._cut(found.meta["log_bytes"] if found else 0)
        if found is None:
            return None
        self._taking = found.path
        self._before, self._step = found.meta["seconds"], found.meta["step"]
        worked = found.meta.get("processor_seconds", 0.0)  # checkpoints of older versions do not say it
        self._worked_before = float(worked) if isinstance(worked, int | float) else 0.0
        if self._tracker is not None:
            self._tracker.resume(self._step)
        return Checkpoint(found.arrays, Kept(found.meta["own"], "the value"), found.path)

    def resumed(self) -> None:
        """Call this once the checkpoint has been restored, if there was one."""
        self._taking = None

    def reject(self, error: Exception) -> str | None:
        """Set aside the checkpoint that a job failed to restore; a note about it, or None if that was not the cause."""
        if self._taking is None or not isinstance(error, _MISFIT):
            return None
        what = str(error) if isinstance(error, BurnsideError) else f"{type(error).__name__}: {error}"
        why = f"{self._taking.name} was written by another version ({what})"
        return f"cell {self._files.name}: {put_aside(self._taking, why, 'unusable')}"

    def _unusable(self, meta: dict[str, Any]) -> str | None:
        """What is wrong with our own values in a checkpoint, or None."""
        at, seconds, step, own = (meta.get(key) for key in ("log_bytes", "seconds", "step", "own"))
        if type(at) is not int or type(step) is not int or not isinstance(seconds, int | float) or at < 0:
            return "it has another layout"
        if not isinstance(own, dict) or not math.isfinite(seconds):
            return "it has another layout"
        size = self._files.log.stat().st_size if self._files.log.exists() else 0
        return None if at <= size else f"it belongs to a log of {at} bytes, which has only {size} now"

    def due(self) -> bool:
        """Whether it is time for a checkpoint: a minute has passed since the last one, or a stop was requested."""
        return time.monotonic() - self._last >= self._interval or self._stop()

    def checkpoint(self, arrays: Mapping[str, ArrayLike], **meta: Any) -> None:
        """Keep arrays and plain values; raises :class:`Stopped` afterwards if a stop was requested."""
        self._own()
        self.resumed()
        self.flush()
        save_next(
            self._files.path,
            self._files.name,
            arrays,
            {
                "log_bytes": self._files.log.stat().st_size if self._files.log.exists() else 0,
                "seconds": self.seconds,
                "processor_seconds": self.processor_seconds,
                "step": self._step,
                "own": plain(meta, "the checkpoint"),
            },
        )
        self._last = time.monotonic()
        if self._stop():
            raise Stopped

    def should_stop(self) -> bool:
        """Whether Ctrl-C, SIGTERM or the end of the sweep requests the cell to write a checkpoint and stop."""
        return self._stop()

    # Logs, tables and progress.

    def log(self, row: Mapping[str, Any]) -> None:
        """Append a row of plain values to ``log.jsonl``; with tracking, its numbers go to TensorBoard.

        The step shown there is ``row["step"]`` if there is one, else the last one given to ``progress``.
        """
        self._own_log()
        self.resumed()
        kept = plain(row, "a row of the log")
        self._rows.append((json.dumps(kept, ensure_ascii=False) + "\n").encode())
        if len(self._rows) >= 1000:
            self.flush()
        if self._tracker is not None:
            self._tracker.scalars(kept, self._step)

    def flush(self) -> None:
        """Write the rows out."""
        if not self._rows:
            return
        try:
            with open(self._files.log, "ab", buffering=0) as file:
                data = memoryview(b"".join(self._rows))
                while data:
                    data = data[file.write(data) or 0 :]
                os.fsync(file.fileno())
        except OSError as error:
            raise UnreadableFile(
                f"cannot write {self._files.log}: {error.strerror}; the cell resumes from its last checkpoint when "
                f"the sweep is run again"
            ) from None
        self._rows.clear()

    def save(self, table: str, columns: Mapping[str, AnyArray]) -> None:
        """Keep columns (vectors of one length) that belong to the result, as ``table-NAME.npz``."""
        self._own()
        self._files.save_table(table, columns)

    def progress(self, done: int, total: int) -> None:
        """Report how far the cell is, in the units of its budget; writes at most one file a second."""
        self._step = int(done)
        self.resumed()
        if self._resumed is None:
            self._resumed = self._step if self._before else 0
        now = time.monotonic()
        if now - self._said >= 1.0 or done >= total:
            self._said = now
            self._files.save_progress(Progress(int(done), int(total), self._resumed, now - self._began))

    def _own_log(self) -> None:
        """A job that never asked for its checkpoint starts from the beginning, and so does its log."""
        if self._fresh:
            self._cut(0)

    def _cut(self, size: int) -> None:
        self._fresh = False
        self._rows.clear()
        if self._files.log.exists():
            os.truncate(self._files.log, size)

    def _own(self) -> None:
        """Stop before writing anything if the lock is no longer ours."""
        if self._lock is not None and not self._lock.held():
            raise Stopped("the lock of this cell was taken away")
