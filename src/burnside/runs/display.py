"""What a sweep shows while it runs: a live table on a terminal, plain lines in a pipe. All of it goes to stderr."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Union, runtime_checkable

from burnside._progress import duration
from burnside._terminal import Terminal, one_line, styled
from burnside.runs.cells import Cell
from burnside.runs.folder import Progress

__all__ = ["CellState", "Display", "ProgressOption", "make_display", "time_left"]

Status = Literal["waiting", "running", "elsewhere", "done", "skipped", "failed", "stopped"]
#: How to show progress; a function is called with the number of finished cells and of all cells. A display also works.
ProgressOption = Union[Literal["auto", "table", "lines", "none"], Callable[[int, int], object], "Display"]

_LISTED = 12


@dataclass
class CellState:
    """What is known of a cell: its status, how far it is, and why it failed."""

    cell: Cell
    status: Status = "waiting"
    progress: Progress | None = None
    message: str = ""

    @property
    def share(self) -> float:
        """The part of it that is done."""
        if self.status in ("done", "skipped"):
            return 1.0
        if self.progress is None or self.progress.total <= 0:
            return 0.0
        return min(1.0, self.progress.done / self.progress.total)


@runtime_checkable
class Display(Protocol):
    """Shows the states of all cells."""

    def start(self, states: Mapping[str, CellState]) -> None:
        """Begin."""

    def change(self, state: CellState) -> None:
        """A cell has another status."""

    def refresh(self) -> None:
        """Called several times a second."""

    def note(self, sentence: str) -> None:
        """Say something about the sweep."""

    def close(self) -> None:
        """End."""


def time_left(states: Mapping[str, CellState], before: float, elapsed: float) -> float | None:
    """Seconds left: work left by the speed of this sweep. ``before`` is the work that was done when it began."""
    all_work = sum(state.cell.cost for state in states.values() if state.status != "failed")
    done = work_done(states)
    return None if done - before <= 1e-6 else max(0.0, elapsed * (all_work - done) / (done - before))


def work_done(states: Mapping[str, CellState]) -> float:
    """Work done, in the cells' own measure of cost."""
    return sum(state.cell.cost * state.share for state in states.values() if state.status != "failed")


def make_display(option: ProgressOption) -> Display:
    """The display that an option asks for; a display is taken as it is."""
    if isinstance(option, Display):
        return option
    if callable(option):
        return _Calling(option)
    if option == "none":
        return _Calling(lambda done, total: None)
    if option == "table" or (option == "auto" and sys.stderr.isatty()):
        return _Live()
    return _Lines()


class _Calling:
    """Hands the counts on to a function."""

    def __init__(self, call: Callable[[int, int], object]) -> None:
        self._call = call
        self._states: Mapping[str, CellState] = {}

    def start(self, states: Mapping[str, CellState]) -> None:
        self._states = states
        self._tell()

    def change(self, state: CellState) -> None:
        self._tell()

    def _tell(self) -> None:
        self._call(sum(s.status in ("done", "skipped") for s in self._states.values()), len(self._states))

    def refresh(self) -> None:
        pass

    def note(self, sentence: str) -> None:
        pass

    def close(self) -> None:
        pass


class _Lines:
    """A line per event, and a line of progress every minute."""

    def __init__(self) -> None:
        self._states: Mapping[str, CellState] = {}
        self._began = self._said = time.monotonic()
        self._before = 0.0

    def _print(self, text: str) -> None:
        print(one_line(text), file=sys.stderr, flush=True)

    def start(self, states: Mapping[str, CellState]) -> None:
        self._states = states
        self._before = work_done(states)
        finished = sum(state.status == "skipped" for state in states.values())
        self._print(f"{len(states)} cells, {finished} of them finished before")

    def change(self, state: CellState) -> None:
        if state.status in ("waiting", "skipped"):
            return
        finished = sum(s.status in ("done", "skipped") for s in self._states.values())
        about = f": {state.message}" if state.message else ""
        self._print(f"[{finished}/{len(self._states)}] {state.status} {state.cell.title}{about}{self._left()}")

    def _left(self) -> str:
        left = time_left(self._states, self._before, time.monotonic() - self._began)
        return "" if left is None else f" ({duration(left)} left)"

    def refresh(self) -> None:
        if time.monotonic() - self._said < 60:
            return
        self._said = time.monotonic()
        running = [s for s in self._states.values() if s.status == "running"]
        shares = ", ".join(f"{s.cell.title} {s.share:.0%}" for s in running[:_LISTED])
        self._print(f"running: {shares or 'nothing'}{self._left()}")

    def note(self, sentence: str) -> None:
        self._print(f"note: {sentence}")

    def close(self) -> None:
        pass


class _Live:
    """A table that is redrawn as it changes: running and failed cells, counts of the others, the time left."""

    def __init__(self) -> None:
        from rich.live import Live

        self._states: Mapping[str, CellState] = {}
        self._began = time.monotonic()
        self._before = 0.0
        self._console = Terminal(stderr=True)
        self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=2, transient=True)

    def start(self, states: Mapping[str, CellState]) -> None:
        self._states = states
        self._before = work_done(states)
        self._live.start()

    def change(self, state: CellState) -> None:
        pass

    def refresh(self) -> None:
        pass

    def note(self, sentence: str) -> None:
        self._console.print(styled(("note:", "yellow"), f" {sentence}"), soft_wrap=True)

    def close(self) -> None:
        self._live.stop()

    def _table(self) -> Any:
        from rich import box
        from rich.table import Table

        states = list(self._states.values())
        counts = Counter(state.status for state in states)
        left = time_left(self._states, self._before, time.monotonic() - self._began)
        order: tuple[Status, ...] = ("done", "skipped", "running", "elsewhere", "waiting", "stopped", "failed")
        words = [f"{counts[status]} {status}" for status in order if counts[status]]
        table = Table(
            box=box.SIMPLE_HEAD,
            title=f"{', '.join(words)} — {'time left unknown' if left is None else duration(left) + ' left'}",
            title_justify="left",
        )
        table.add_column("cell", overflow="fold")
        for header in ("state", "done", "left"):
            table.add_column(header, justify="right")
        shown = [s for s in states if s.status in ("running", "elsewhere", "failed", "stopped")][:_LISTED]
        for state in shown:
            progress = state.progress
            cell_left = progress.left if progress and state.status == "running" else None
            table.add_row(
                state.cell.title,
                state.status,
                f"{progress.done}/{progress.total}" if progress else "–",
                duration(cell_left) if cell_left is not None else "–",
            )
        return table
