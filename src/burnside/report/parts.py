"""Parts of the report while they run: what a part is given, how far it is, and how long the whole still takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from burnside.report.page import Page
from burnside.runs import sweep
from burnside.runs.display import CellState, work_done
from burnside.runs.job import DeviceName, EngineName, Job

__all__ = [
    "Part",
    "PartProgress",
    "PartState",
    "PartStatus",
    "Preset",
    "Report",
    "Resources",
    "View",
    "resources_of",
    "run_sweep",
    "time_left",
]

Preset = Literal["smoke", "laptop", "study", "paper"]
PartStatus = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass(frozen=True)
class Part:
    """One part of the report.

    Attributes:
        title: heading of its section.
        draw: adds its results to the page; gets the preset, a :class:`PartProgress` (which can be called with
            ``(done, total)``), and the folder of the report.
        seconds: by preset, how long it took on two cores; for the time left only.
        experiment: the name of the experiment whose results it draws; its sweep runs first, in ``runs/NAME/PRESET``.
        possible: whether that sweep can run here; if not, the part says so itself.
    """

    title: str
    draw: Callable[[Page, Preset, PartProgress, Path], None]
    seconds: Mapping[str, float] = field(default_factory=dict)
    experiment: str | None = None
    possible: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Resources:
    """Where and how wide to run; no result depends on it.

    Attributes:
        engine: ``local``, ``ray`` or ``slurm``, for parts that are sweeps.
        device: ``auto``, ``cpu`` or ``cuda``.
        workers: cells, or runs, at a time; 0: in this process, one after the other.
        threads: of one cell.
        options: of the engine.
    """

    engine: EngineName = "local"
    device: DeviceName = "auto"
    workers: int = 2
    threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class PartState:
    """What is known of a part: its status, the share of it that is done, what it is at, and for how long."""

    name: str
    expected: float
    status: PartStatus = "waiting"
    share: float = 0.0
    detail: str = ""
    message: str = ""
    began: float = 0.0
    seconds: float = 0.0

    def elapsed(self, now: float | None = None) -> float:
        """Seconds so far."""
        if self.status == "running":
            return (time.monotonic() if now is None else now) - self.began
        return self.seconds


class View(Protocol):
    """Shows the parts; called in the thread that works."""

    def start(self, states: Sequence[PartState]) -> None:
        """Begin."""

    def change(self, state: PartState) -> None:
        """A part has another status."""

    def refresh(self) -> None:
        """Called now and then."""

    def note(self, sentence: str) -> None:
        """Say something."""

    def close(self) -> None:
        """End."""


class PartProgress:
    """What a part reports to: call it with ``(done, total)``, or hand it to ``sweep`` as its ``progress``."""

    def __init__(self, state: PartState, view: View, resources: Resources) -> None:
        self.state = state
        self.resources = resources
        self.stopped = False
        self._view = view
        self._cells: Mapping[str, CellState] = {}

    def __call__(self, done: int, total: int) -> None:
        """Say how far the part is."""
        self.state.share = done / total if total else 0.0
        self.state.detail = f"{done} of {total}"
        self._view.refresh()

    # What a sweep asks of its display.

    def start(self, states: Mapping[str, CellState]) -> None:
        """A sweep begins."""
        self._cells = states
        self.refresh()

    def change(self, state: CellState) -> None:
        """A cell has another status."""
        self.refresh()

    def refresh(self) -> None:
        """Called several times a second by a sweep."""
        cells = list(self._cells.values())
        finished = sum(cell.status in ("done", "skipped") for cell in cells)
        running = [cell.cell.title for cell in cells if cell.status == "running"]
        everything = sum(cell.cell.cost for cell in cells)
        self.state.share = work_done(self._cells) / everything if everything else 0.0
        shown = ", ".join(running[:2]) + (" …" if len(running) > 2 else "")
        self.state.detail = f"{finished} of {len(cells)} cells" + (f": {shown}" if shown else "")
        self._view.refresh()

    def note(self, sentence: str) -> None:
        """A sentence about a damaged checkpoint."""
        self._view.note(sentence)

    def close(self) -> None:
        """The sweep is over; cells that neither finished nor failed mean that it was stopped."""
        self.refresh()
        self.stopped |= any(cell.status not in ("done", "skipped", "failed") for cell in self._cells.values())


#: What a part reports to; a plain function ``(done, total)`` serves too, and then means the default resources.
Report = PartProgress | Callable[[int, int], object]


def resources_of(report: Report) -> Resources:
    """The resources that were asked for.

    >>> resources_of(lambda done, total: None).workers
    2
    """
    return report.resources if isinstance(report, PartProgress) else Resources()


def run_sweep(job: Job, preset: str, folder: Path, report: Report) -> None:
    """Run the sweep of a part with the resources that were asked for; what finished before is not run again.

    Raises ``KeyboardInterrupt`` if it was stopped and ``RuntimeError`` if a cell failed, after the others finished.
    """
    r = resources_of(report)
    outcome = sweep(
        job,
        preset,
        folder,
        engine=r.engine,
        workers=r.workers,
        device=r.device,
        threads=r.threads,
        options=r.options,
        progress=report,
    )
    if outcome.left:
        raise KeyboardInterrupt
    if outcome.failed:
        raise RuntimeError(f"{len(outcome.failed)} cells failed: {next(iter(outcome.failed.values()))}")


def time_left(states: Sequence[PartState], now: float | None = None) -> float | None:
    """Seconds left for all parts: the running one by its own speed, the waiting ones by what they took elsewhere.

    What they took elsewhere is scaled by how this machine compares on the parts that have finished.

    >>> done, next_ = PartState("a", 10, "done", 1.0, seconds=20), PartState("b", 30)
    >>> time_left([done, next_])
    60.0
    """
    finished = [s for s in states if s.status == "done" and s.seconds > 0]
    expected = sum(s.expected for s in finished)
    speed = sum(s.seconds for s in finished) / expected if expected else 1.0
    left = 0.0
    for state in states:
        if state.status == "waiting":
            left += state.expected * speed
        elif state.status == "running":
            elapsed = state.elapsed(now)
            if state.share > 0.02:
                left += elapsed * (1.0 - state.share) / state.share
            else:
                left += max(0.0, state.expected * speed - elapsed)
    return left
