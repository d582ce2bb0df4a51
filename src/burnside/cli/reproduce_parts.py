"""``reproduce``: run the sweep of every part, let :mod:`burnside.report` draw it, and write ``index.html``.

The ledger of claims comes first. A part that fails is shown as failed. The report is written after every part, so that
whatever ends the run leaves one that says what is missing; what has finished is kept under ``runs/``, and the same call
resumes from there.
"""

from __future__ import annotations

import copy
import os
import subprocess
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from burnside.cli.reproduce_progress import PartState, PartStatus, SweepProgress, View
from burnside.errors import BurnsideError, UnknownName
from burnside.experiments.registry import EXPERIMENTS
from burnside.report.claims import ledger_section, load
from burnside.report.cube import cube_part
from burnside.report.cube_solver import cube_solver_part
from burnside.report.front import front_section
from burnside.report.mistakes import mistakes_part
from burnside.report.page import Page, escape
from burnside.report.planar import planar_part
from burnside.report.ring1d import ring1d_part
from burnside.report.ring3d import ring3d_part
from burnside.report.robot import has_simulator, robot_part, simulator_python
from burnside.report.savings import atlas_part
from burnside.report.theory import theory_part
from burnside.runs import sweep
from burnside.runs.job import DeviceName, EngineName, Job, PresetName

__all__ = ["PARTS", "Part", "Reproduced", "Resources", "reproduce"]


@dataclass(frozen=True)
class Part:
    """One part of the report.

    Attributes:
        title: heading of its section.
        draw: adds its results to a page; gets the page, the preset, the folder of the sweep and that of the report.
        seconds: by preset, how long it took on two cores; used for the time left only.
        job: the experiment whose results are drawn; its sweep runs first, in ``runs/PART/PRESET``.
        possible: whether that sweep can run here; if not, the part says so itself.
        elsewhere: a Python of another environment that can run the sweep if this one cannot. It runs the preset
            ``smoke``, whatever the preset of the report: the others are not for every ``make reproduce``.
    """

    title: str
    draw: Callable[[Page, PresetName, Path, Path], None]
    seconds: Mapping[str, float] = field(default_factory=dict)
    job: Job | None = None
    possible: Callable[[], bool] = lambda: True
    elsewhere: Callable[[], Path | None] = lambda: None


def _seconds(smoke: float, laptop: float, study: float, paper: float) -> dict[str, float]:
    return {"smoke": smoke, "laptop": laptop, "study": study, "paper": paper}


#: In the order in which they run. The seconds need not be exact.
PARTS: dict[str, Part] = {
    "theory": Part(
        "What the symmetries save: verified quotients and exact counts",
        lambda page, preset, folder, out: theory_part(page, preset),
        _seconds(3, 8, 8, 8),
    ),
    "mistakes": Part(
        "Sample complexity, measured: mistakes on M and on its quotient",
        mistakes_part,
        _seconds(4, 175, 175, 175),
        EXPERIMENTS["mistakes"],
    ),
    "ring1d": Part(
        "The 1D cyclic game: DQN with and without canonicalization (Table 1, Fig. 4a)",
        ring1d_part,
        _seconds(10, 130, 15_000, 4_000),
        EXPERIMENTS["ring1d"],
    ),
    "ring3d": Part(
        "The 3D cyclic game: DQN and PPO, final returns and learning curves (Fig. 4b)",
        ring3d_part,
        _seconds(20, 120, 4_000, 5_000_000),
        EXPERIMENTS["ring3d"],
    ),
    "cube": Part(
        "Rubik's cube: labels, value iteration and search against exact distances (Table 2, Fig. 4c)",
        cube_part,
        _seconds(10, 100, 3_000, 5_000_000),
        EXPERIMENTS["cube"],
    ),
    "cube_solver": Part(
        "Random cubes, solved: a small network, a minute of training, and what symmetry is worth to it",
        cube_solver_part,
        _seconds(10, 100, 12_000, 5_000_000),
        EXPERIMENTS["cube_solver"],
    ),
    "planar": Part(
        "Continuous control in the plane: frames, demonstrations, fine-tuning (Thm. 3, Fig. 5 in small)",
        planar_part,
        _seconds(15, 150, 3_000, 500_000),
        EXPERIMENTS["planar"],
    ),
    "robot": Part(
        "Robot manipulation: frames, demonstrations, fine-tuning on MuJoCo (Fig. 5)",
        robot_part,
        _seconds(30, 60, 4_000, 5_000_000),
        EXPERIMENTS["robot"],
        has_simulator,
        simulator_python,
    ),
    "atlas": Part(
        "Environments people use: what symmetry saves deep learners, with controls",
        atlas_part,
        _seconds(20, 170, 24_000, 24_000),
        EXPERIMENTS["atlas"],
    ),
}


@dataclass(frozen=True)
class Resources:
    """Where sweeps run, and on how much; no result depends on it.

    Attributes:
        engine: ``local``, ``ray`` or ``slurm``.
        device: ``auto``, ``cpu`` or ``cuda``.
        workers: cells at a time; 0: in this process, one after the other.
        threads: of one cell.
        options: of the engine.
    """

    engine: EngineName = "local"
    device: DeviceName = "auto"
    workers: int = 2
    threads: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Reproduced:
    """What :func:`reproduce` did: where the report is, how long each part took, what failed, what was left undone."""

    path: Path
    seconds: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 if all is well, 130 if it was stopped, 1 if a part failed."""
        return 130 if self.left else 1 if self.failed else 0


def reproduce(
    out: str | Path = "report",
    *,
    preset: PresetName = "laptop",
    only: Sequence[str] = (),
    resources: Resources | None = None,
    view: View | None = None,
) -> Reproduced:
    """Run the parts and write ``out/index.html``.

    A part that fails is shown as failed and the others still run. Ctrl-C stops after a checkpoint; the same call
    resumes from there.

    Args:
        out: folder of the report.
        preset: how much to run; see the documentation.
        only: names of parts; all of them if empty.
        resources: engine, device and workers; results do not depend on them.
        view: shows how far it is; default nothing is shown.
    """
    for name in only:
        if name not in PARTS:
            raise UnknownName("part of the report", name, PARTS)
    chosen = [name for name in PARTS if not only or name in only]
    states = [PartState(name, PARTS[name].seconds.get(preset, 60.0)) for name in chosen]
    page = Page(
        "Burnside: sample complexity under symmetry",
        lead="The pictures of the overview are made from the committed studies; the other tabs show what this machine "
        f"computed with the preset '{preset}', and every table says how to get it again. "
        "Intervals are 95 % over seeds: Student's t for means, Welch's t on logarithms for ratios of times, Wilson's "
        "for rates with the seed as the unit.",
        tabs=True,
        fold=True,
    )
    claims = load()
    front_section(page, claims, Path(out), [*chosen, "claims"])
    ledger_section(page, claims)
    outcome = Reproduced(Path(out) / "index.html")
    shown = view or View()
    _write(page, states, outcome.path)  # a place that cannot be written is noticed before hours of work
    shown.start(states)
    try:
        for state in states:
            _set(state, "running", shown)
            part, folder = PARTS[state.name], Path("runs") / state.name / preset
            page.section(part.title, id=state.name)
            try:
                if part.job is not None and part.possible():
                    _sweep(part.job, preset, folder, resources or Resources(), SweepProgress(state, shown))
                elif part.job is not None and (python := part.elsewhere()) is not None:
                    folder = folder.with_name("smoke")
                    shown.note(f"{state.name}: the preset 'smoke' runs in the environment of {python}")
                    _sweep_elsewhere(python, state.name, folder, resources or Resources())
                part.draw(page, preset, folder, Path(out))
            except KeyboardInterrupt:
                page.text("This part was stopped before its end.")
                _set(state, "stopped", shown)
                break
            except Exception as error:  # any failure of one part must not cost the others
                state.message = outcome.failed[state.name] = _sentence(error)
                page.text(f"This part failed: {state.message}")
                if not isinstance(error, BurnsideError):
                    page.html(f"<pre>{_last_frames(error)}</pre>")
            page.text(f"Run again with: burnside reproduce --preset {preset} --only {state.name}")
            _set(state, "failed" if state.name in outcome.failed else "done", shown)
            outcome.seconds[state.name] = state.seconds
            _write(page, states, outcome.path)
    finally:
        shown.close()
    outcome.left = tuple(state.name for state in states if state.status in ("waiting", "stopped"))
    _write(page, states, outcome.path)
    return outcome


def _sweep(job: Job, preset: str, folder: Path, resources: Resources, progress: SweepProgress) -> None:
    """Run the sweep of a part; what finished before is not run again.

    Raises ``KeyboardInterrupt`` if it was stopped and ``RuntimeError`` if a cell failed, after the others finished.
    """
    outcome = sweep(
        job,
        preset,
        folder,
        engine=resources.engine,
        workers=resources.workers,
        device=resources.device,
        threads=resources.threads,
        options=resources.options,
        progress=progress,
    )
    if outcome.left:
        raise KeyboardInterrupt
    if outcome.failed:
        count = len(outcome.failed)
        raise RuntimeError(f"{count} cell{'s' * (count > 1)} failed: {next(iter(outcome.failed.values()))}")


def _sweep_elsewhere(python: Path, name: str, folder: Path, resources: Resources) -> None:
    """Run the smoke sweep of an experiment with another Python; what finished before is not run again."""
    command = [str(python), "-m", "burnside", "sweep", name, "--preset", "smoke", "--runs", str(folder)]
    command += ["--workers", str(resources.workers), "--threads", str(resources.threads)]
    # the packages of this environment are not those of the other one
    own = {key: value for key, value in os.environ.items() if key not in ("PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(command, env=own, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode == 130:
        raise KeyboardInterrupt
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise RuntimeError(f"'{' '.join(command)}' failed: {said[-1] if said else f'exit code {done.returncode}'}")


def _set(state: PartState, status: PartStatus, view: View) -> None:
    if status == "running":
        state.began = time.monotonic()
    else:
        state.seconds = time.monotonic() - state.began
        state.share = 1.0 if status == "done" else state.share
    state.status = status
    view.change(state)


def _write(page: Page, states: Sequence[PartState], path: Path) -> None:
    """Write the page as it is now; parts that have not run yet are named in it."""
    shown = copy.deepcopy(page)
    for state in states:
        if state.status == "waiting":
            shown.section(PARTS[state.name].title, id=state.name).text("Not run yet: the same command runs it.")
    shown.write(path)


def _sentence(error: BaseException) -> str:
    return str(error) if isinstance(error, BurnsideError) else f"{type(error).__name__}: {error}"


def _last_frames(error: BaseException) -> str:
    return escape("".join(traceback.format_exception(error)[-6:]))
