"""``burnside reproduce``: everything that exists, into one HTML report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from burnside.cli.console import error_console, output
from burnside.report.reproduce import PARTS, Preset, reproduce

__all__ = ["Reproduce"]


@dataclass(frozen=True)
class Reproduce:
    """Run the paper on this machine and write one HTML report."""

    preset: Preset = "laptop"
    """How much to run: smoke (seconds), laptop (minutes), study (hours), paper (the paper's full scale)."""
    only: str = ""
    """Parts to run, separated by commas; default all."""
    out: Path = Path("report")
    """Folder of the report."""

    def run(self) -> int:
        """Run the command."""
        only = [name for name in self.only.split(",") if name]
        bars = Progress(
            SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=error_console()
        )
        with bars:
            tasks = {name: bars.add_task(name, total=None) for name in PARTS if not only or name in only}
            outcome = reproduce(
                self.out,
                preset=self.preset,
                only=only,
                progress=lambda name, done, total: bars.update(tasks[name], completed=done, total=total),
            )
        console = output()
        for name, seconds in outcome.seconds.items():
            state = "failed" if name in outcome.failed else "done"
            console.print(f"{name}: {state} in {seconds:.1f} s")
        for name, why in outcome.failed.items():
            error_console().print(f"[bold red]{name} failed:[/] {escape(why)}", soft_wrap=True)
        console.print(f"the report is in {outcome.path}", soft_wrap=True)
        return 1 if outcome.failed else 0
