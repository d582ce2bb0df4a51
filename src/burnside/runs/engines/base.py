"""What an engine is, and when one gives up on a cell whose process keeps dying."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from burnside.runs.cells import Cell
from burnside.runs.folder import CellFolder
from burnside.runs.work import Outcome, Task, tidy

__all__ = ["Cluster", "Engine", "Patience", "Report", "StopFile", "Tick", "drive", "environment"]

#: Called with a cell that starts (None) or that has an outcome.
Report = Callable[[Cell, Outcome | None], None]
#: Called several times a second while an engine waits; True asks it to stop.
Tick = Callable[[], bool]

#: Seconds that cells get to write a checkpoint after a stop was requested.
GRACE = 60.0


class Engine(Protocol):
    """Runs cells somewhere. Every cell is reported with an outcome, except those not begun before a stop."""

    def run(self, task: Task, cells: Sequence[Cell], report: Report, tick: Tick) -> None:
        """Run them all, or until ``tick()`` is true."""
        ...


class Patience:
    """A cell whose process died is retried, but not forever: three deaths without a new checkpoint end it.

    Progress resets the count, so that occasional kills cannot make a long cell fail.
    """

    def __init__(self, limit: int = 3) -> None:
        self.limit = limit
        self._deaths: dict[str, tuple[int, int]] = {}

    def after_death(self, folder: CellFolder, why: str) -> Outcome | None:
        """What became of a cell whose process died; None: try again.

        It may have died after it wrote the result: then the cell is done and is not run again.
        """
        if folder.finished():
            tidy(folder)
            return Outcome("done", notes=tuple(folder.about().get("notes", ())))
        generation = folder.generation()
        before, deaths = self._deaths.get(folder.name, (generation, 0))
        deaths = deaths + 1 if generation == before else 1
        self._deaths[folder.name] = (generation, deaths)
        if deaths < self.limit:
            return None
        return Outcome(
            "failed",
            f"its process died {self.limit} times without getting to a new checkpoint (last: {why}); if the system "
            f"killed it for want of memory, use fewer workers",
        )


class StopFile:
    """A request to stop that reaches other machines: a file in the folder of the sweep, checked once a second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._looked = -math.inf
        self._found = False

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        if not self._found and time.monotonic() - self._looked >= 1.0:
            self._looked = time.monotonic()
            self._found = self.path.exists()
        return self._found

    def __getstate__(self) -> dict[str, Any]:
        # times of this machine mean nothing on the clock of another one, which might wait for days
        return {"path": self.path, "_looked": -math.inf, "_found": self._found}

    def set(self) -> None:
        """Ask for it."""
        with contextlib.suppress(OSError):
            self.path.touch()

    def clear(self) -> None:
        """Take the file away."""
        self.path.unlink(missing_ok=True)


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process while children are started."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class Cluster(Protocol):
    """Where jobs can be submitted, watched and cancelled; a job is what ``submit`` returns."""

    def submit(self, cell: Cell, stop: StopFile) -> Any:
        """Send a cell away."""
        ...

    def ended(self, jobs: Sequence[Any]) -> Sequence[tuple[Any, Outcome | None, str]]:
        """Those that are over, with their outcomes, or None and why if the process died; may wait a moment."""
        ...

    def cancel(self, job: Any) -> None:
        """Make an end of a job."""
        ...


def drive(cluster: Cluster, workers: int, task: Task, cells: Sequence[Cell], report: Report, tick: Tick) -> None:
    """Run cells on a cluster, at most ``workers`` at a time, or until ``tick()`` is true.

    A cell whose process died is submitted again as :class:`Patience` says. After a stop, cells get ``GRACE`` seconds.
    """
    waiting, patience = deque(cells), Patience()
    running: list[tuple[Any, Cell]] = []
    stop = StopFile(task.folder / f".stop-{secrets.token_hex(8)}")
    asked: float | None = None
    try:
        while waiting or running:
            if tick() and asked is None:
                asked = time.monotonic()
                waiting.clear()
                stop.set()
            while waiting and len(running) < workers:
                cell = waiting.popleft()
                report(cell, None)
                running.append((cluster.submit(cell, stop), cell))
            if asked is not None and time.monotonic() - asked > GRACE:
                return
            for job, outcome, why in cluster.ended([job for job, _ in running]) if running else ():
                at = next(k for k, (other, _) in enumerate(running) if other is job)
                _, cell = running.pop(at)
                if outcome is not None:
                    report(cell, outcome)
                elif asked is not None:
                    report(cell, Outcome("stopped"))
                elif (verdict := patience.after_death(CellFolder(task.folder, cell), why)) is not None:
                    report(cell, verdict)
                else:
                    waiting.appendleft(cell)
    finally:
        for job, _ in running:  # the grace period is over, or something went wrong here: leave no job running
            cluster.cancel(job)
        stop.clear()
