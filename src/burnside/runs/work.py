"""Running one cell, in whatever process: lock, resume, run, keep the result or the traceback."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from burnside.errors import BurnsideError
from burnside.runs.cells import Cell
from burnside.runs.context import Context
from burnside.runs.folder import CellFolder
from burnside.runs.job import Job
from burnside.runs.lock import CellLock

__all__ = ["THREAD_VARIABLES", "Outcome", "Task", "run_one", "tidy"]

#: Read once by numpy, numba and torch when they are loaded: set before a worker starts.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


@dataclass(frozen=True)
class Task:
    """What all cells of a sweep share.

    Attributes:
        job: what to run.
        folder: of the sweep, an absolute path.
        device: auto, cpu or cuda.
        threads: of one cell.
        seconds: between checkpoints.
        track: whether the logs also go to TensorBoard.
    """

    job: Job
    folder: Path
    device: str = "auto"
    threads: int = 1
    seconds: float = 60.0
    track: bool = False

    def environment(self) -> dict[str, str]:
        """Variables a worker must be started with."""
        return dict.fromkeys(THREAD_VARIABLES, str(self.threads))


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: ``busy`` if another process works on it, ``skipped`` if it had finished before."""

    status: Literal["done", "skipped", "busy", "failed", "stopped"]
    message: str = ""
    notes: tuple[str, ...] = ()


def run_one(task: Task, cell: Cell, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a cell to its end, from its last checkpoint if it has one."""
    folder = CellFolder(task.folder, cell)
    if folder.finished():
        tidy(folder)
        return Outcome("skipped")
    lock = CellLock(folder.lock)
    try:
        folder.make()
        if not lock.acquire():
            return Outcome("busy")
    except BurnsideError as error:
        return Outcome("failed", str(error))
    context: Context | None = None
    try:
        if folder.finished():  # in between, by another sweep
            return Outcome("skipped")
        folder.prepare()
        context = _context(task, folder, lock, stop)
        result = task.job.run_cell(cell, context)
        if not lock.held():
            return Outcome("stopped", "the lock of this cell was taken away")
        context.flush()
        about = {"seconds": round(context.seconds, 3), "device": context._device, "notes": context.notes}
        folder.finish(result, about)
        return Outcome("done", notes=tuple(context.notes))
    except KeyboardInterrupt as stopped:
        return Outcome("stopped", str(stopped), tuple(context.notes) if context else ())
    except Exception as error:
        folder.fail(traceback.format_exc())
        sentence = str(error) if isinstance(error, BurnsideError) else f"{type(error).__name__}: {error}"
        return Outcome("failed", sentence, tuple(context.notes) if context else ())
    finally:
        if context is not None and context._tracker is not None:
            context._tracker.close()
        lock.release()


def tidy(folder: CellFolder) -> None:
    """Delete what a process left that wrote the result of this cell and was killed before it had cleared up."""
    lock = CellLock(folder.lock)
    with contextlib.suppress(BurnsideError):
        if folder.lock.exists() and lock.acquire():  # False while the process that finished it is still at it
            folder.clear()
            lock.release()


def _context(task: Task, folder: CellFolder, lock: CellLock, stop: Callable[[], bool]) -> Context:
    tracker = None
    if task.track:
        from burnside.runs.track import Tracker

        tracker = Tracker(task.folder / "tensorboard" / f"{folder.cell.experiment}-{folder.name}")
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(task.threads)
    return Context(
        folder,
        device=task.device,
        threads=task.threads,
        seconds=task.seconds,
        stop=stop,
        lock=lock,
        tracker=tracker,
    )
