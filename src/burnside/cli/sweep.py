"""``burnside sweep`` and ``burnside table``: run an experiment, and read what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from burnside.cli.console import output, print_json, print_problem, print_table, styled
from burnside.cli.words import Words, flat
from burnside.errors import BurnsideError, InvalidParameter, UnknownName, UnreadableFile
from burnside.experiments.arms import KEY
from burnside.report.columns import readable
from burnside.runs import sweep
from burnside.runs.job import DeviceName, EngineName, Experiment, PresetName
from burnside.runs.results import committed, compact
from burnside.runs.sweep import SweepOutcome

__all__ = ["Sweep", "Table", "experiments"]


def experiments() -> Mapping[str, Experiment]:
    """The registry: ``EXPERIMENTS`` of ``burnside.experiments.registry``."""
    from burnside.experiments.registry import EXPERIMENTS  # it imports every experiment

    return EXPERIMENTS


def find(name: str) -> Experiment:
    """The experiment of this name."""
    known = experiments()
    if name not in known:
        raise UnknownName("experiment", name, known)
    return known[name]


@dataclass(frozen=True)
class Sweep:
    """Run an experiment: what has finished is kept, what was interrupted resumes where it stopped."""

    experiment: Annotated[str, tyro.conf.Positional]
    """Name of the experiment, such as ring1d."""
    preset: PresetName = "laptop"
    """How much to run: smoke (seconds), laptop (minutes), study (hours), paper (the paper's full scale)."""
    engine: EngineName = "local"
    """Where cells run: processes on this machine, a Ray cluster, or Slurm."""
    device: DeviceName = "auto"
    """Where networks run; auto uses CUDA if it is available."""
    workers: int = 2
    """Cells that run at the same time; 0: in this process, one after the other."""
    threads: int = 1
    """Threads per cell."""
    runs: Path | None = None
    """Folder of the run; default runs/EXPERIMENT/PRESET."""
    track: bool = False
    """Also write the logs for TensorBoard, into the subfolder tensorboard."""
    only: Words = ()
    """Run only the cells with these settings, as KEY=VALUE: arm=equivariant n=10; seeds=3 or seeds=5-9 choose seeds."""
    option: Words = ()
    """Options of the engine as KEY=VALUE: timeout_min=240 slurm_partition=gpu for Slurm, address=auto for Ray."""

    def run(self) -> int:
        """Run the command."""
        found = find(self.experiment)
        least = 0 if self.engine == "local" else 1
        if self.workers < least:
            raise InvalidParameter(f"workers must be {least} or more with the engine {self.engine}, not {self.workers}")
        folder = self.runs or Path("runs") / self.experiment / self.preset
        only = parse_options(self.only)
        known = {name for cell in found.plan(self.preset) for name in cell.config} if only else set()
        if "arm" in only and "arm" not in known and KEY in known:
            only[KEY] = only.pop("arm")  # as the files of the ring games call it
        outcome = sweep(
            found,
            self.preset,
            folder,
            engine=self.engine,
            workers=self.workers,
            device=self.device,
            threads=self.threads,
            track=self.track,
            options=parse_options(self.option),
            only=only,
        )
        self._show(outcome, folder)
        return outcome.exit_code

    def _show(self, outcome: SweepOutcome, folder: Path) -> None:
        words = [f"{len(outcome.done)} cells done", f"{len(outcome.skipped)} finished before"]
        words += [f"{len(outcome.failed)} failed"] if outcome.failed else []
        words += [f"{len(outcome.left)} left"] if outcome.left else []
        output().print(", ".join(words), soft_wrap=True)
        for name, why in outcome.failed.items():
            where = folder / "cells" / name / "failed.txt"
            print_problem("failed", f"{why} ({where})")
        if outcome.left:
            output().print("stopped; the same command resumes from here")
        elif outcome.ok:
            output().print(styled(f"the table: burnside table {self.experiment} --runs {folder}"), soft_wrap=True)


@dataclass(frozen=True)
class Table:
    """Print the table of an experiment, from a run or from the committed results."""

    experiment: Annotated[str, tyro.conf.Positional]
    """Name of the experiment, such as ring1d."""
    runs: Path | None = None
    """Folder of a sweep or of compact results; default: the committed results."""
    json: bool = False
    """Print one JSON object."""
    allow_missing: bool = False
    """Make the table even if cells have no result."""
    compact: Path | None = None
    """Also write the compact form of the run into this folder."""
    add: bool = False
    """With --compact: keep the cells that the folder has and this run does not."""
    replace: bool = False
    """With --compact: drop them. Without --add or --replace such a folder is refused."""

    def run(self) -> int:
        """Run the command."""
        found = find(self.experiment)
        folder = self.runs or committed(self.experiment)
        if folder is None:
            raise UnreadableFile(
                f"there are no committed results of {self.experiment} here: run 'burnside sweep {self.experiment}' and "
                f"give its folder with --runs"
            )
        if not folder.is_dir():
            raise UnreadableFile(f"there is no folder {folder}: run 'burnside sweep {self.experiment}' first")
        if self.compact is None and (self.add or self.replace):
            raise InvalidParameter("--add and --replace say what --compact does: give its folder as well")
        rows = self._rows(found, folder)
        if self.compact is not None:
            compact(folder, self.compact, allow_missing=self.allow_missing, add=self.add, replace=self.replace)
        if self.json:
            print_json({"experiment": self.experiment, "rows": rows})
            return 0
        console = output()
        for section in readable(self.experiment, rows):
            print_table(console, section.headers, section.rows, section.title)
            console.print()
        if any(row.get("seeds") == 1 for row in rows):
            console.print("a single seed: such rows have no interval and prove nothing")
        console.print("in brackets: 95 % intervals over seeds; all columns with --json")
        return 0

    def _rows(self, found: Experiment, folder: Path) -> list[dict[str, Any]]:
        """The rows of the table; results without what the experiment has are the folder's fault, not ours."""
        try:
            return found.table(folder, self.allow_missing)
        except (KeyError, IndexError, AttributeError, TypeError, ValueError, ArithmeticError) as error:
            if isinstance(error, BurnsideError):
                raise
            raise UnreadableFile(
                f"the results in {folder} are not such as {self.experiment} has them "
                f"({type(error).__name__}: {error}): give the folder of its own sweep, or run it again"
            ) from error


def parse_options(words: Iterable[str | Iterable[str]]) -> dict[str, Any]:
    """KEY=VALUE pairs, the values read as JSON where they are JSON.

    >>> parse_options(("timeout_min=240", "slurm_partition=gpu"))
    {'timeout_min': 240, 'slurm_partition': 'gpu'}
    """
    found: dict[str, Any] = {}
    for word in flat(words):
        key, equals, text = word.partition("=")
        if not key or not equals:
            raise InvalidParameter(f"the option {word!r} must have the form KEY=VALUE")
        try:
            found[key] = json.loads(text)
        except ValueError:
            found[key] = text
    return found
