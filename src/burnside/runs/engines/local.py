"""Processes of this machine: each runs one cell at a time, and if one dies, only time is lost.

Not ``ProcessPoolExecutor``: it abandons all its work when one process is killed. Each worker has a pipe of its own, and
nothing is shared (a process killed while it holds a shared lock would stop all others). If the sweep itself is killed,
the pipes close, and the workers write a checkpoint and end.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

from burnside.runs.cells import Cell
from burnside.runs.engines.base import GRACE, Patience, Report, Tick, environment
from burnside.runs.folder import CellFolder
from burnside.runs.work import Outcome, Task, run_one

__all__ = ["InlineEngine", "LocalEngine"]


class InlineEngine:
    """This process, one cell after the other: for debugging, and for cells too small to start processes for."""

    def run(self, task: Task, cells: Sequence[Cell], report: Report, tick: Tick) -> None:
        """Run them all, or until ``tick()`` is true."""
        for cell in cells:
            if tick():
                return
            report(cell, None)
            report(cell, run_one(task, cell, tick))


class LocalEngine:
    """Worker processes, started afresh (not forked), each with the threads it was given."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, task: Task, cells: Sequence[Cell], report: Report, tick: Tick) -> None:
        """Run them all, or until ``tick()`` is true."""
        waiting, patience = deque(cells), Patience()
        pool: list[_Worker] = []
        asked: float | None = None
        try:
            while True:
                if asked is None and tick():
                    asked = time.monotonic()
                    waiting.clear()
                    for worker in pool:
                        worker.stop()
                while waiting and (idle := self._idle(pool, task)) is not None:
                    cell = waiting.popleft()
                    report(cell, None)
                    idle.start(cell)
                if not waiting and all(worker.cell is None for worker in pool):
                    return
                if asked is not None:
                    tick()
                    if time.monotonic() - asked > GRACE:
                        return
                wait([end for worker in pool for end in (worker.pipe, worker.process.sentinel)], timeout=0.2)
                for worker in list(pool):
                    self._collect(worker, pool, waiting, patience, task, report, asked is not None)
        finally:
            for worker in pool:
                worker.close()

    def _idle(self, pool: list[_Worker], task: Task) -> _Worker | None:
        for worker in pool:
            if worker.cell is None:
                return worker
        if len(pool) < self.workers:
            pool.append(_Worker(task))
            return pool[-1]
        return None

    def _collect(
        self,
        worker: _Worker,
        pool: list[_Worker],
        waiting: deque[Cell],
        patience: Patience,
        task: Task,
        report: Report,
        stopping: bool,
    ) -> None:
        """Handle the outcome of a worker, or its death."""
        cell = worker.cell
        outcome, dead = worker.outcome()
        if dead is not None or (outcome is not None and outcome.status == "stopped"):
            pool.remove(worker)
            worker.close()
        if cell is None or (outcome is None and dead is None):
            return
        worker.cell = None
        if outcome is not None and (outcome.status != "stopped" or stopping):
            report(cell, outcome)
        elif stopping:
            report(cell, Outcome("stopped"))
        elif (
            verdict := patience.after_death(CellFolder(task.folder, cell), dead or "stopped from outside")
        ) is not None:
            report(cell, verdict)
        else:
            waiting.appendleft(cell)


class _Worker:
    """A process and the pipe to it, seen from the sweep."""

    def __init__(self, task: Task) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.cell: Cell | None = None
        self.process: SpawnProcess = context.Process(target=_work, args=(theirs, task), name="burnside-worker")
        with environment(task.environment()), _no_interrupts():
            self.process.start()
        theirs.close()

    def start(self, cell: Cell) -> None:
        """Give it a cell; if it died in the meantime, that is noticed later."""
        self.cell = cell
        with contextlib.suppress(OSError):
            self.pipe.send(cell)

    def stop(self) -> None:
        """Ask it to write a checkpoint and end."""
        with contextlib.suppress(OSError):
            self.pipe.send(None)

    def outcome(self) -> tuple[Outcome | None, str | None]:
        """The outcome of its cell if there is one, and how it died if it did."""
        found: Outcome | None = None
        try:
            if self.pipe.poll():
                found = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join(timeout=5)
        if self.process.exitcode is None:
            return found, None
        code = self.process.exitcode
        return found, f"signal {-code}" if code < 0 else f"exit code {code}"

    def close(self) -> None:
        """Stop the worker: closing its pipe tells it to exit; if it does not in time, it is killed."""
        self.pipe.close()
        self.process.join(timeout=GRACE if self.cell is None else 5.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


@contextlib.contextmanager
def _no_interrupts() -> Any:
    """Children started in here do not get Ctrl-C: the sweep tells them to stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(pipe: Connection, task: Task) -> None:
    """What a worker does: run the cells that come through the pipe until it closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    cells: queue.SimpleQueue[Cell | None] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while (cell := pipe.recv()) is not None:
                cells.put(cell)
        stop.set()
        cells.put(None)

    threading.Thread(target=listen, daemon=True).start()
    while (cell := cells.get()) is not None:
        outcome = run_one(task, cell, stop.is_set)
        with contextlib.suppress(OSError):
            pipe.send(outcome)
        if stop.is_set():
            return
