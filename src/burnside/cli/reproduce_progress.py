"""How far ``burnside reproduce`` is: the state of each part, the time left, and two ways to show it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from burnside._progress import duration
from burnside._terminal import one_line
from burnside.cli.console import error_console, styled

if TYPE_CHECKING:
    from burnside.runs.display import CellState

__all__ = ["Lines", "Live", "PartState", "PartStatus", "SweepProgress", "View", "time_left"]

PartStatus = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass
class PartState:
    """What is known of a part: its status, the share of it that is done, what it is doing, and for how long."""

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


class View:
    """Shows the parts; called in the thread that works. This one shows nothing."""

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


class SweepProgress:
    """The display of a sweep that is a part of the report: it keeps the part's state up to date."""

    def __init__(self, state: PartState, view: View) -> None:
        self.state = state
        self._view = view
        self._cells: Mapping[str, CellState] = {}

    def start(self, states: Mapping[str, CellState]) -> None:
        """A sweep begins."""
        self._cells = states
        self.refresh()

    def change(self, state: CellState) -> None:
        """A cell has another status."""
        self.refresh()

    def refresh(self) -> None:
        """Called several times a second by a sweep."""
        from burnside.runs.display import work_done

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
        """The sweep is over."""
        self.refresh()


class Lines(View):
    """A line when a part begins or ends, and one a minute in between."""

    def __init__(self) -> None:
        self._states: Sequence[PartState] = ()
        self._said = time.monotonic()

    def _print(self, text: str) -> None:
        print(one_line(text), file=sys.stderr, flush=True)
        self._said = time.monotonic()

    def _left(self) -> str:
        left = time_left(self._states)
        return f" (about {duration(left)} left)" if left else ""

    def start(self, states: Sequence[PartState]) -> None:
        """Begin."""
        self._states = states

    def change(self, state: PartState) -> None:
        """A part has another status."""
        number = next(k for k, other in enumerate(self._states, start=1) if other is state)
        self._print(f"[{number}/{len(self._states)}] {state.name}: {state.status}{self._left()}")

    def refresh(self) -> None:
        """Say once a minute how far it is."""
        if time.monotonic() - self._said >= 60:
            for state in self._states:
                if state.status == "running":
                    self._print(f"{state.name}: {state.share:.0%}, {state.detail}{self._left()}")

    def note(self, sentence: str) -> None:
        """Say something."""
        self._print(f"note: {sentence}")


class Live(View):
    """A table that is drawn again and again: every part, what it is doing, and the time left for all."""

    def __init__(self) -> None:
        from rich.live import Live as Display

        self._states: Sequence[PartState] = ()
        self._console = error_console()
        self._live = Display(console=self._console, get_renderable=self._table, refresh_per_second=4, transient=True)

    def start(self, states: Sequence[PartState]) -> None:
        """Begin."""
        self._states = states
        self._live.start()

    def note(self, sentence: str) -> None:
        """Say something above the table."""
        self._console.print(styled(("note:", "yellow"), f" {sentence}"), soft_wrap=True)

    def close(self) -> None:
        """End."""
        self._live.stop()

    def _table(self) -> Any:
        from rich import box
        from rich.progress_bar import ProgressBar
        from rich.table import Table

        left = time_left(self._states)
        finished = sum(state.status in ("done", "failed") for state in self._states)
        title = f"{finished} of {len(self._states)} parts" + (f", about {duration(left)} left" if left else "")
        table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
        table.add_column("part")
        table.add_column("state")
        table.add_column("")
        table.add_column("time", justify="right")
        table.add_column("", overflow="ellipsis", no_wrap=True)
        for state in self._states:
            colour = {"failed": "bold red", "done": "green", "running": "bold"}.get(state.status, "dim")
            time_taken = duration(state.elapsed()) if state.status != "waiting" else ""
            about = state.message if state.status == "failed" else state.detail if state.status == "running" else ""
            bar = ProgressBar(total=1.0, completed=state.share, width=24)
            table.add_row(state.name, styled((state.status, colour)), bar, time_taken, about)
        return table
