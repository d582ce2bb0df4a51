"""``sweep``: run every cell of a plan that has not finished yet, and report the outcome of each."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnside.errors import InvalidParameter, MissingExtra, UnknownName
from burnside.runs.cells import Cell
from burnside.runs.display import CellState as State
from burnside.runs.display import Display, ProgressOption, Status, make_display
from burnside.runs.engines import make_engine
from burnside.runs.folder import CellFolder
from burnside.runs.job import DeviceName, EngineName, Job
from burnside.runs.lock import is_free
from burnside.runs.manifest import describe, is_compact, record, write_plan
from burnside.runs.work import Outcome, Task, tidy

__all__ = ["SweepOutcome", "sweep"]

#: Seconds between checks of cells that another sweep works on.
POLL = 1.0


@dataclass(frozen=True)
class SweepOutcome:
    """The outcomes of the cells, by name.

    Attributes:
        done: run to their end by this sweep.
        skipped: finished before, or in the meantime by another sweep.
        failed: with a message each; the traceback is in ``failed.txt`` of the cell.
        left: not finished because the sweep was stopped.
        notes: about damaged checkpoints.
    """

    done: tuple[str, ...]
    skipped: tuple[str, ...]
    failed: Mapping[str, str]
    left: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every cell has a result."""
        return not self.failed and not self.left

    @property
    def exit_code(self) -> int:
        """0 if all have finished, 1 if any failed, 130 if the sweep was stopped."""
        return 1 if self.failed else 130 if self.left else 0


#: The name by which seeds are chosen; they are not a part of a cell's config.
_SEEDS = "seeds"


def sweep(
    job: Job,
    preset: str,
    folder: str | Path,
    *,
    engine: EngineName = "local",
    workers: int = 2,
    device: DeviceName = "auto",
    resume: bool = True,
    threads: int = 1,
    checkpoint_seconds: float = 60.0,
    track: bool = False,
    options: Mapping[str, Any] | None = None,
    only: Mapping[str, Any] | None = None,
    progress: ProgressOption = "auto",
) -> SweepOutcome:
    """Run the cells of a plan that have not finished; killed ones resume from their last checkpoint.

    Several sweeps may work on one folder, also from several machines: a cell is run by one of them, the others wait for
    it. A cell that fails does not stop the others. Ctrl-C and SIGTERM let the running cells write a checkpoint; a
    second Ctrl-C does not wait for them.

    Args:
        job: what to run.
        preset: which plan of it.
        folder: where everything is kept.
        engine: ``local``, ``ray`` or ``slurm``.
        workers: how many cells at a time; 0 with the local engine: in this process, one after the other.
        device: ``auto``, ``cpu`` or ``cuda``.
        resume: False refuses a folder in which cells of this plan have been begun.
        threads: of one cell.
        checkpoint_seconds: between checkpoints, for jobs that ask ``context.due()``; it does not change results.
        track: also write the logs for TensorBoard.
        options: of the engine.
        only: keys and values of a cell's config; cells that differ in one of them are not run. They stay in the plan of
            the folder if they are in it. ``seeds`` may be among them: one seed, or the first and the last, ``"5-9"``;
            cells that have another seed as well are not run.
        progress: ``auto`` (a table on a terminal, lines in a pipe), ``none``, or a function ``(finished, all)``.
    """
    if threads < 1:
        raise InvalidParameter(f"a cell needs at least one thread, not {threads}")
    cells = _checked(_chosen(job.plan(preset), only or {}))
    top = Path(folder).resolve()
    if not resume and (begun := [cell for cell in cells if CellFolder(top, cell).path.exists()]):
        raise InvalidParameter(f"{len(begun)} cells of this plan have been begun in {folder}: choose another folder")
    if is_compact(top):
        raise InvalidParameter(f"{folder} holds compact results, which a sweep would spoil: choose another folder")
    if track:
        _need_tensorboard()
    runner = make_engine(engine, workers, options or {})
    task = Task(job, top, device, threads, checkpoint_seconds, track)
    write_plan(top, preset, cells, add=bool(only))
    entry = describe() | {"preset": preset, "engine": engine, "workers": workers, "threads": threads, "device": device}
    monitor = _Monitor(top, cells, make_display(progress))
    began = time.monotonic()
    try:
        with _signals(monitor):
            while ready := monitor.ready():
                runner.run(task, ready, monitor.report, monitor.tick)
                if monitor.tick():
                    break
    finally:
        monitor.display.close()
    outcome = monitor.outcome()
    counts = {key: len(getattr(outcome, key)) for key in ("done", "skipped", "failed", "left")}
    if outcome.done or not outcome.ok or not (top / "manifest.json").exists():
        record(top, entry | counts | {"wall_seconds": round(time.monotonic() - began, 1)})
    return outcome


def _chosen(cells: Sequence[Cell], only: Mapping[str, Any]) -> list[Cell]:
    known = {name for cell in cells for name in cell.config} | {_SEEDS}
    for key in only:
        if key not in known:
            raise UnknownName("setting of a cell", key, known)
    settings = {key: value for key, value in only.items() if key != _SEEDS}
    seeds = _span(only[_SEEDS]) if _SEEDS in only else None
    chosen = [
        cell
        for cell in cells
        if all(cell.config.get(key) == value for key, value in settings.items())
        and (seeds is None or all(seed in seeds for seed in cell.seeds))
    ]
    if cells and not chosen:
        wanted = ", ".join(f"{key}={value}" for key, value in only.items())
        raise InvalidParameter(f"no cell of the plan has {wanted}: check the spelling of the value")
    return chosen


def _span(text: Any) -> range:
    """The seeds that a word stands for.

    >>> _span(3), _span("5-9")
    (range(3, 4), range(5, 10))
    """
    first, _, last = str(text).partition("-")
    if not (first.isdecimal() and (last or first).isdecimal()):
        raise InvalidParameter(f"seeds={text} must be one seed, or the first and the last: seeds=3 or seeds=5-9")
    return range(int(first), int(last or first) + 1)


def _checked(cells: Sequence[Cell]) -> list[Cell]:
    found: dict[str, Cell] = {}
    for cell in cells:
        if cell.name in found:
            raise InvalidParameter(f"the plan has the same cell twice: {cell.title}")
        found[cell.name] = cell
    if not found:
        raise InvalidParameter("the plan has no cells")
    return list(found.values())


def _need_tensorboard() -> None:
    """Report a missing device now, not in every cell."""
    try:
        import tensorboard  # noqa: F401
    except ImportError:
        raise MissingExtra("tensorboard", "track") from None


class _Monitor:
    """The states of all cells, kept up to date from what engines report and from the files of running cells."""

    def __init__(self, top: Path, cells: Sequence[Cell], display: Display) -> None:
        self.display = display
        self.stopping = False
        self.notes: list[str] = []
        self._folders = {cell.name: CellFolder(top, cell) for cell in cells}
        self._states = {cell.name: State(cell) for cell in cells}
        self._looked = 0.0
        for name, state in self._states.items():
            if self._folders[name].finished():
                tidy(self._folders[name])
                state.status = "skipped"
        display.start(self._states)

    def ready(self) -> list[Cell]:
        """Cells that no other sweep works on; waits while other sweeps work on all that are left."""
        while not self.stopping:
            found, elsewhere = [], False
            for name, state in self._states.items():
                if state.status not in ("waiting", "elsewhere"):
                    continue
                folder = self._folders[name]
                if folder.finished():
                    tidy(folder)
                    self._set(state, "skipped")
                elif is_free(folder.lock):
                    found.append(state.cell)
                else:
                    elsewhere = True
                    self._set(state, "elsewhere")
            if found or not elsewhere:
                return found
            for _ in range(int(POLL / 0.1)):
                if self.tick():
                    break
                time.sleep(0.1)
        return []

    def report(self, cell: Cell, outcome: Outcome | None) -> None:
        """What an engine says of a cell."""
        state = self._states[cell.name]
        if outcome is None:
            self._set(state, "running")
            return
        for sentence in outcome.notes:
            self.notes.append(sentence)
            self.display.note(sentence)
        self._set(state, "elsewhere" if outcome.status == "busy" else outcome.status, outcome.message)

    def tick(self) -> bool:
        """Refresh; whether to stop."""
        if time.monotonic() - self._looked >= 1.0:
            self._looked = time.monotonic()
            for name, state in self._states.items():
                if state.status in ("running", "elsewhere"):
                    state.progress = self._folders[name].progress()
        self.display.refresh()
        return self.stopping

    def outcome(self) -> SweepOutcome:
        """What became of all cells."""
        names: dict[str, list[str]] = {}
        for name, state in self._states.items():
            names.setdefault(state.status, []).append(name)
        failed = {name: self._states[name].message for name in names.get("failed", [])}
        left = [name for name, s in self._states.items() if s.status not in ("done", "skipped", "failed")]
        return SweepOutcome(
            tuple(names.get("done", [])), tuple(names.get("skipped", [])), failed, tuple(left), tuple(self.notes)
        )

    def _set(self, state: State, status: Status, message: str = "") -> None:
        if (state.status, state.message) != (status, message):
            state.status, state.message = status, message
            self.display.change(state)


@contextmanager
def _signals(monitor: _Monitor) -> Iterator[None]:
    """Ctrl-C and SIGTERM request a stop; a second Ctrl-C interrupts at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(number: int, _frame: object) -> None:
        if monitor.stopping and number == signal.SIGINT:
            raise KeyboardInterrupt
        monitor.stopping = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
