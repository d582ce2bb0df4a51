"""``burnside reproduce``: everything that exists, into one HTML report."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from burnside.cli.console import output, print_problem, styled
from burnside.cli.reproduce_progress import Lines, Live
from burnside.cli.sweep import parse_options
from burnside.cli.words import Words
from burnside.errors import InvalidParameter
from burnside.runs.job import DeviceName, EngineName, PresetName

__all__ = ["Reproduce"]


@dataclass(frozen=True)
class Reproduce:
    """Run the paper on this machine and write one HTML report; a stopped run resumes where it stopped."""

    preset: PresetName = "laptop"
    """How much to run: smoke (seconds), laptop (minutes), study (hours), paper (the paper's full scale)."""
    only: str = ""
    """Parts to run, separated by commas; default: all."""
    out: Path = Path("report")
    """Folder of the report."""
    engine: EngineName = "local"
    """Where sweeps run: processes on this machine, a Ray cluster, or Slurm."""
    device: DeviceName = "auto"
    """Where networks run; auto uses CUDA if it is available."""
    workers: int = 2
    """Cells that run at the same time; 0: in this process, one after the other."""
    threads: int = 1
    """Threads per cell."""
    option: Words = ()
    """Options of the engine as KEY=VALUE; see 'burnside sweep --help'."""

    def run(self) -> int:
        """Run the command: 1 if a part failed, 130 if it was stopped."""
        if self.workers < 0 or self.threads < 1:
            raise InvalidParameter(
                f"workers must be 0 or more and threads 1 or more, not {self.workers} and {self.threads}"
            )
        options = parse_options(self.option)
        from burnside.cli.reproduce_parts import Resources, reproduce  # it imports every experiment

        outcome = reproduce(
            self.out,
            preset=self.preset,
            only=[name for name in self.only.split(",") if name],
            resources=Resources(self.engine, self.device, self.workers, self.threads, options),
            view=Live() if sys.stderr.isatty() else Lines(),
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
