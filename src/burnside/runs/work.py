"""Runs one cell, in any process: lock, resume, run, keep the result or the traceback."""

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
    """The outcome of a cell: ``busy`` if another process works on it, ``skipped`` if it had finished before."""

    status: Literal["done", "skipped", "busy", "failed", "stopped"]
    message: str = ""
    notes: tuple[str, ...] = ()


def run_one(task: Task, cell: Cell, stop: Callable[[], bool] = lambda: False) -> Outcome:
    """Run a cell to its end, from its last checkpoint if it has one."""
    folder = CellFolder(task.folder, cell)
    lock = CellLock(folder.lock)
    try:
        if folder.finished():
            tidy(folder)
            return Outcome("skipped")
        folder.make()
        if not lock.acquire():
            return Outcome("busy")
    except BurnsideError as error:
        return Outcome("failed", str(error))
    notes: list[str] = []
    try:
        if folder.finished():  # in between, by another sweep
            return Outcome("skipped")
        notes += folder.prepare()
        while (outcome := _attempt(task, folder, lock, stop, notes)) is None:
            pass  # a checkpoint was set aside: retry from the previous one
        return outcome
    except BurnsideError as error:
        return Outcome("failed", str(error), tuple(notes))
    finally:
        lock.release()


def _attempt(
    task: Task, folder: CellFolder, lock: CellLock, stop: Callable[[], bool], notes: list[str]
) -> Outcome | None:
    """Run a cell from its newest checkpoint; None if that checkpoint had another layout and has been set aside."""
    context = _context(task, folder, lock, stop)
    context.notes = notes
    try:
        result = task.job.run_cell(folder.cell, context)
        if not lock.held():
            return Outcome("stopped", "the lock of this cell was taken away")
        context.flush()
        spent = {"seconds": context.seconds, "processor_seconds": context.processor_seconds}
        about = {key: round(value, 3) for key, value in spent.items()} | {"device": context._device, "notes": notes}
        folder.finish(result, about)
        return Outcome("done", notes=tuple(notes))
    except KeyboardInterrupt as stopped:
        return Outcome("stopped", str(stopped), tuple(notes))
    except Exception as error:
        if (note := context.reject(error)) is not None:
            notes.append(note)
            return None
        folder.fail(traceback.format_exc())
        sentence = str(error) if isinstance(error, BurnsideError) else f"{type(error).__name__}: {error}"
        return Outcome("failed", sentence, tuple(notes))
    finally:
        if context._tracker is not None:
            context._tracker.close()


def tidy(folder: CellFolder) -> None:
    """Delete the files of a process that wrote the result of this cell and was killed before it cleaned up."""
    lock = CellLock(folder.lock)
    with contextlib.suppress(BurnsideError):
        if folder.lock.exists() and lock.acquire():  # False while the process that finished it is still cleaning up
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
