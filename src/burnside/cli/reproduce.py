"""``burnside reproduce``: everything that exists, into one HTML report."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnside._progress import duration
from burnside._terminal import one_line
from burnside.cli.console import error_console, output, print_problem, styled
from burnside.cli.sweep import parse_options
from burnside.errors import InvalidParameter
from burnside.report.parts import PartState, Resources, View, time_left
from burnside.report.reproduce import Preset, reproduce
from burnside.runs.job import DeviceName, EngineName

__all__ = ["Reproduce"]


@dataclass(frozen=True)
class Reproduce:
    """Run the paper on this machine and write one HTML report; a stopped run resumes where it stopped."""

    preset: Preset = "laptop"
    """How much to run: smoke (seconds), laptop (minutes), study (hours), paper (the paper's full scale)."""
    only: str = ""
    """Parts to run, separated by commas; default all."""
    out: Path = Path("report")
    """Folder of the report."""
    engine: EngineName = "local"
    """Where sweeps run: processes of this machine, a Ray cluster, or Slurm."""
    device: DeviceName = "auto"
    """auto takes CUDA if there is one."""
    workers: int = 2
    """Cells that run at the same time; 0: in this process, one after the other."""
    threads: int = 1
    """Threads of one cell."""
    option: tuple[str, ...] = ()
    """Options of the engine as KEY=VALUE; see 'burnside sweep --help'."""

    def run(self) -> int:
        """Run the command: 1 if a part failed, 130 if it was stopped."""
        if self.workers < 0 or self.threads < 1:
            raise InvalidParameter(
                f"workers must be 0 or more and threads 1 or more, not {self.workers} and {self.threads}"
            )
        view: View = _Live() if sys.stderr.isatty() else _Lines()
        outcome = reproduce(
            self.out,
            preset=self.preset,
            only=[name for name in self.only.split(",") if name],
            resources=Resources(self.engine, self.device, self.workers, self.threads, parse_options(self.option)),
            view=view,
        )
        console = output()
        for name, seconds in outcome.seconds.items():
            state = "failed" if name in outcome.failed else "done"
            console.print(f"{name}: {state} in {seconds:.1f} s")
        for name, why in outcome.failed.items():
            print_problem(f"{name} failed", why)
        if outcome.left:
            console.print(f"stopped; left: {', '.join(outcome.left)}; the same command resumes from here")
        console.print(styled(f"the report is in {outcome.path}"), soft_wrap=True)
        return outcome.exit_code


class _Lines:
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

    def close(self) -> None:
        """End."""


class _Live:
    """A table that is drawn again and again: every part, what it is at, and the time left for all."""

    def __init__(self) -> None:
        from rich.live import Live

        self._states: Sequence[PartState] = ()
        self._console = error_console()
        self._live = Live(console=self._console, get_renderable=self._table, refresh_per_second=4, transient=True)

    def start(self, states: Sequence[PartState]) -> None:
        """Begin."""
        self._states = states
        self._live.start()

    def change(self, state: PartState) -> None:
        """The table shows it by itself."""

    def refresh(self) -> None:
        """The table refreshes itself."""

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
