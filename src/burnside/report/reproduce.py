"""``reproduce``: run the sweep of every part, let the part draw it, and write ``index.html``.

The ledger of claims comes first. A part that fails is shown as failed. The report is written after every part, so that
whatever ends the run leaves one that says what is missing; what has finished is kept under ``runs/``, and the same call
resumes from there.
"""

from __future__ import annotations

import copy
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from burnside.errors import BurnsideError, UnknownName
from burnside.experiments.registry import EXPERIMENTS
from burnside.report.claims import ledger_section, load
from burnside.report.cube import cube_part
from burnside.report.mistakes import mistakes_part
from burnside.report.page import Page, escape
from burnside.report.parts import Part, PartProgress, PartState, Preset, Resources, View, run_sweep
from burnside.report.planar import planar_part
from burnside.report.ring1d import ring1d_part
from burnside.report.ring3d import ring3d_part
from burnside.report.robot import has_simulator, robot_part
from burnside.report.savings import atlas_part
from burnside.report.theory import theory_part

__all__ = ["PARTS", "Part", "Preset", "Reproduced", "Resources", "reproduce"]

#: In the order in which they run. The seconds are for the time left and need not be exact.
PARTS: dict[str, Part] = {
    "theory": Part(
        "What the symmetries save: verified quotients and exact counts",
        theory_part,
        {"smoke": 3, "laptop": 8, "study": 8, "paper": 8},
    ),
    "mistakes": Part(
        "Sample complexity, measured: mistakes on M and on its quotient",
        mistakes_part,
        {"smoke": 4, "laptop": 175, "study": 175, "paper": 175},
        experiment="mistakes",
    ),
    "ring1d": Part(
        "The 1D cyclic game: DQN with and without canonicalization (Table 1, Fig. 4a)",
        ring1d_part,
        {"smoke": 10, "laptop": 60, "study": 4_000, "paper": 4_000},
        experiment="ring1d",
    ),
    "ring3d": Part(
        "The 3D cyclic game: DQN and PPO, final returns and learning curves (Fig. 4b)",
        ring3d_part,
        {"smoke": 20, "laptop": 120, "study": 4_000, "paper": 5_000_000},
        experiment="ring3d",
    ),
    "cube": Part(
        "Rubik's cube: labels, value iteration and search against exact distances (Table 2, Fig. 4c)",
        cube_part,
        {"smoke": 10, "laptop": 100, "study": 3_000, "paper": 5_000_000},
        experiment="cube",
    ),
    "planar": Part(
        "Continuous control in the plane: frames, demonstrations, fine-tuning (Thm. 3, Fig. 5 in small)",
        planar_part,
        {"smoke": 15, "laptop": 150, "study": 3_000, "paper": 500_000},
        experiment="planar",
    ),
    "robot": Part(
        "Robot manipulation: frames, demonstrations, fine-tuning on MuJoCo (Fig. 5)",
        robot_part,
        {"smoke": 30, "laptop": 60, "study": 4_000, "paper": 5_000_000},
        experiment="robot",
        possible=has_simulator,
    ),
    "atlas": Part(
        "Environments people use: what symmetry saves deep learners, with controls",
        atlas_part,
        {"smoke": 20, "laptop": 170, "study": 24_000, "paper": 24_000},
        experiment="atlas",
    ),
}


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


class _Silent:
    """A view that shows nothing."""

    def start(self, states: Sequence[PartState]) -> None:
        pass

    def change(self, state: PartState) -> None:
        pass

    def refresh(self) -> None:
        pass

    def note(self, sentence: str) -> None:
        pass

    def close(self) -> None:
        pass


def reproduce(
    out: str | Path = "report",
    *,
    preset: Preset = "laptop",
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
        view: shows how far it is.
    """
    for name in only:
        if name not in PARTS:
            raise UnknownName("part of the report", name, PARTS)
    chosen = [name for name in PARTS if not only or name in only]
    states = [PartState(name, PARTS[name].seconds.get(preset, 60.0)) for name in chosen]
    page = Page(
        "Burnside: sample complexity under symmetry",
        lead=f"What this machine computed with the preset '{preset}'. Every table says how to get it again. "
        "Intervals are 95 % over seeds: Student's t for means, Welch's t on logarithms for ratios of times, Wilson's "
        "for rates with the seed as the unit.",
        tabs=True,
    )
    ledger_section(page, load())
    outcome = Reproduced(Path(out) / "index.html")
    shown: View = _Silent() if view is None else view
    _write(page, states, outcome.path)  # a place that cannot be written is noticed before hours of work
    shown.start(states)
    try:
        for state in states:
            _set(state, "running", shown)
            page.section(PARTS[state.name].title, id=state.name)
            progress = PartProgress(state, shown, resources or Resources())
            try:
                part = PARTS[state.name]
                if part.experiment is not None and part.possible():
                    folder = Path("runs") / part.experiment / preset
                    run_sweep(EXPERIMENTS[part.experiment], preset, folder, progress)
                part.draw(page, preset, progress, Path(out))
                if progress.stopped:
                    raise KeyboardInterrupt
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


def _set(state: PartState, status: str, view: View) -> None:
    if status == "running":
        state.began = time.monotonic()
    else:
        state.seconds = time.monotonic() - state.began
        state.share = 1.0 if status == "done" else state.share
    state.status = status  # type: ignore[assignment]
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
