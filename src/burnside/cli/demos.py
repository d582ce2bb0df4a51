"""``burnside demos``: scripted experts write demonstrations of the manipulation tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from burnside.cli.console import error_console, output, print_json, progress, styled
from burnside.errors import InvalidParameter

__all__ = ["Demos"]


@dataclass(frozen=True)
class Demos:
    """Write demonstrations of a manipulation task to an HDF5 file; a stopped command resumes where it stopped."""

    task: Annotated[Literal["stack-two", "stack-three", "nut-assembly"], tyro.conf.Positional]
    """Which task."""
    count: int = 500
    """How many demonstrations; failed attempts are not among them."""
    workers: int = 1
    """Processes that play at the same time; 0: in this process."""
    out: Path | None = None
    """The file; default runs/demos/TASK.hdf5."""
    level: Literal["D0", "D1"] | None = None
    """How far apart objects start; default the paper's (D1 for the stacks, D0 for nut-assembly)."""
    noise: float = 0.0
    """Noise on executed positions in metres (0.002 to 0.005 is sensible); recorded actions do not have it."""
    substeps: Literal[25, 10] = 25
    """Physics steps in a control step of 50 ms: 25 as robosuite, or 10, which cost less than half."""
    mishaps: float = 0.0
    """Share of steps at which the hand is pushed aside or closes too early (0.03 is sensible); the expert recovers."""
    seed: int = 0
    """Seed of the first scene."""
    force: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        from burnside.envs.manipulation.generate import generate
        from burnside.envs.manipulation.tasks import find_task

        target = self.out or Path("runs") / "demos" / f"{self.task}.hdf5"
        if target.exists() and not self.force:
            raise InvalidParameter(f"{target} is there already: give another --out, or --force to replace it")
        with progress(f"demonstrations of {self.task}") as update:
            shown = -1

            def report(kept: int, count: int, rejected: int) -> None:
                nonlocal shown
                update(kept, count)
                if kept * 20 // count != shown:  # a line now and then, where there is no terminal for a bar
                    shown = kept * 20 // count
                    if not error_console().is_terminal:
                        error_console().print(f"{kept}/{count} demonstrations, {rejected} attempts rejected")

            made = generate(
                find_task(self.task, self.level),
                self.count,
                target,
                workers=self.workers,
                noise=self.noise,
                seed=self.seed,
                progress=report,
                substeps=self.substeps,
                mishaps=self.mishaps,
            )
        rejected = made.attempts - made.kept
        if self.json:
            facts = {"kept": made.kept, "attempts": made.attempts, "steps": made.steps, "crashes": made.crashes}
            print_json({"task": self.task, "file": str(made.path), **facts})
            return 0
        crashed = f", {made.crashes} workers restarted" if made.crashes else ""
        said = (
            f"{made.kept} demonstrations ({made.steps} steps) in {made.path}; {made.attempts} attempts, {rejected} "
            f"rejected{crashed}"
        )
        output().print(styled(said), soft_wrap=True)
        return 0
