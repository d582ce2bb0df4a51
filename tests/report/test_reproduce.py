"""``reproduce``: the order of parts, failures, Ctrl-C, kill −9, and what is shown while they run."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.runs.toy import ToyJob, starts

from burnside._terminal import Terminal
from burnside.cli import main
from burnside.cli import reproduce_parts as module
from burnside.cli.reproduce_parts import Part, Resources
from burnside.cli.reproduce_progress import Lines, Live, PartState, SweepProgress, View, time_left
from burnside.errors import InvalidParameter, UnknownName
from burnside.report.page import Page
from burnside.runs.sweep import SweepOutcome

REPO = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": f"{REPO / 'src'}{os.pathsep}{REPO}",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Part]:
    """No parts but those a test puts in, in a folder of its own; the pictures of the front page take seconds."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "front_section", lambda page, *_: page)
    chosen: dict[str, Part] = {}
    monkeypatch.setattr(module, "PARTS", chosen)
    return chosen


class Recorder(View):
    """A view that writes everything down."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.states: Sequence[PartState] = ()
        self.closed = 0

    def start(self, states: Sequence[PartState]) -> None:
        self.states = states

    def change(self, state: PartState) -> None:
        self.events.append((state.name, state.status))

    def refresh(self) -> None:
        self.events.append(("", self.states[0].detail))

    def note(self, sentence: str) -> None:
        self.events.append(("note", sentence))

    def close(self) -> None:
        self.closed += 1


def says(text: str) -> Part:
    return Part(text.title(), lambda page, *_: page.text(text), {"smoke": 1.0})


def raises(error: BaseException) -> Part:
    def run(page: Page, *_: Any) -> None:
        page.text("so far")
        raise error

    return Part("Raises", run)


# ---------------------------------------------------------------------- in this process


def test_the_parts_run_in_order_below_the_ledger(parts: dict[str, Part]) -> None:
    parts.update(one=says("first words"), two=says("second words"))
    view = Recorder()
    outcome = module.reproduce("out", preset="smoke", view=view)
    page = outcome.path.read_text(encoding="utf-8")
    assert (
        outcome.exit_code == 0 and not outcome.failed and not outcome.left and list(outcome.seconds) == ["one", "two"]
    )
    places = [page.index(f'<section id="{key}">') for key in ("claims", "one", "two")]
    assert places == sorted(places) and "first words" in page and "second words" in page and "Not run yet" not in page
    assert [e for e in view.events if e[0]] == [
        ("one", "running"),
        ("one", "done"),
        ("two", "running"),
        ("two", "done"),
    ]
    assert view.closed == 1
    outcome = module.reproduce("out", preset="smoke", only=["two"])
    assert "first words" not in outcome.path.read_text(encoding="utf-8")
    with pytest.raises(UnknownName, match="did you mean 'two'"):
        module.reproduce("out", only=["tow"])


def test_a_part_that_fails_costs_only_itself(parts: dict[str, Part], capsys: pytest.CaptureFixture[str]) -> None:
    parts.update(
        bad=raises(RuntimeError("no <luck>")), worse=raises(InvalidParameter("give a number")), good=says("fine words")
    )
    code = main(["reproduce", "--preset", "smoke"])
    captured = capsys.readouterr()
    page = Path("report/index.html").read_text(encoding="utf-8")
    assert code == 1 and "bad failed: RuntimeError: no <luck>" in captured.err and "good: done" in captured.out
    assert "no &lt;luck&gt;" in page and "no <luck>" not in page and "so far" in page and "fine words" in page
    assert page.count("Traceback") == 1, "a sentence for the user needs no traceback"
    assert "This part failed: give a number" in page


def test_ctrl_c_in_a_part_leaves_a_report_that_says_so(
    parts: dict[str, Part], capsys: pytest.CaptureFixture[str]
) -> None:
    parts.update(one=says("first words"), two=raises(KeyboardInterrupt()), three=says("third words"))
    code = main(["reproduce", "--preset", "smoke"])
    out = capsys.readouterr().out
    page = Path("report/index.html").read_text(encoding="utf-8")
    assert code == 130 and "stopped; left: two, three" in out
    assert "first words" in page and "stopped before its end" in page and "Not run yet" in page
    parts["two"] = says("second words")
    assert main(["reproduce", "--preset", "smoke"]) == 0
    assert "Not run yet" not in Path("report/index.html").read_text(encoding="utf-8")


def test_a_report_is_there_after_every_part(parts: dict[str, Part]) -> None:
    seen: list[str] = []

    def look(page: Page, *_: Any) -> None:
        seen.append(Path("out/index.html").read_text(encoding="utf-8"))

    parts.update(one=says("first words"), two=Part("Look", look), three=says("third words"))
    module.reproduce("out", preset="smoke")
    assert "first words" in seen[0] and "third words" not in seen[0] and seen[0].count("Not run yet") == 2


def test_resources_reach_the_sweeps(
    parts: dict[str, Part], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def sweep(job: ToyJob, preset: str, folder: Path, **options: Any) -> SweepOutcome:
        seen.append({"folder": folder} | {key: options[key] for key in options if key != "progress"})
        return SweepOutcome((), (), {})

    monkeypatch.setattr(module, "sweep", sweep)
    parts["look"] = Part("Look", lambda *_: None, job=ToyJob())
    parts["away"] = Part("Away", lambda *_: None, job=ToyJob(), possible=lambda: False)
    options = [
        "--engine",
        "slurm",
        "--device",
        "cpu",
        "--workers",
        "7",
        "--threads",
        "3",
        "--option",
        "timeout_min=240",
    ]
    assert main(["reproduce", *options]) == 0
    asked = {"engine": "slurm", "device": "cpu", "workers": 7, "threads": 3, "options": {"timeout_min": 240}}
    assert seen == [asked | {"folder": Path("runs/look/laptop")}]
    assert main(["reproduce", "--workers", "-1"]) == 2 and "workers" in capsys.readouterr().err


def test_a_sweep_reports_its_cells_and_its_failures(tmp_path: Path) -> None:
    view = Recorder()
    state = PartState("toy", 10.0)
    view.start([state])
    progress, here = SweepProgress(state, view), Resources(workers=0)
    with pytest.raises(RuntimeError, match=r"1 cell failed: .*breaks at n=1"):
        module._sweep(ToyJob(steps=20, fail=(1,)), "laptop", tmp_path / "runs", here, progress)
    assert state.detail == "3 of 4 cells" and state.share == pytest.approx(0.75)
    module._sweep(ToyJob(steps=20), "laptop", tmp_path / "runs", here, progress)
    assert state.detail == "4 of 4 cells" and state.share == 1.0 and ("", state.detail) in view.events


def test_time_left_by_hand() -> None:
    done = PartState("a", 10.0, "done", 1.0, seconds=30.0)  # three times as slow as expected
    half = PartState("b", 100.0, "running", 0.25, began=50.0)
    barely = PartState("b", 100.0, "running", 0.0, began=50.0)
    waiting = PartState("c", 5.0)
    assert time_left([done, half, waiting], now=70.0) == pytest.approx(60.0 + 15.0)
    assert time_left([done, barely, waiting], now=70.0) == pytest.approx(300.0 - 20.0 + 15.0)
    assert time_left([waiting]) == 5.0 and time_left([done]) == 0.0
    assert time_left([PartState("f", 9.0, "failed", seconds=4.0), waiting]) == 5.0


def test_lines_and_table(capsys: pytest.CaptureFixture[str]) -> None:
    states = [PartState("a", 10.0, "running", 0.5, "3 of 6 [cells]", began=time.monotonic() - 10), PartState("b", 10.0)]
    lines = Lines()
    lines.start(states)
    lines.change(states[0])
    assert capsys.readouterr().err == "[1/2] a: running (about 20 s left)\n"
    lines._said -= 61
    lines.refresh()
    lines.note("n")
    assert capsys.readouterr().err == "a: 50%, 3 of 6 [cells] (about 20 s left)\nnote: n\n"
    live = Live()
    live._states = states
    console = Terminal(width=100, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(live._table())
    text = console.export_text()
    assert "0 of 2 parts, about 20 s left" in text and "3 of 6 [cells]" in text and "waiting" in text


# ---------------------------------------------------------------------- processes that are stopped and killed

TOY = [sys.executable, "-m", "tests.report.reproduce_toy"]


def finish(where: Path, argv: Sequence[str], *, timeout: float = 600) -> bytes:
    """Run the command to its end, and give the report."""
    done = subprocess.run(argv, cwd=where, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stderr
    return (where / "report" / "index.html").read_bytes()


def start(where: Path, argv: Sequence[str]) -> subprocess.Popen[bytes]:
    where.mkdir(exist_ok=True)
    return subprocess.Popen(
        argv, cwd=where, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )


@pytest.mark.slow
def test_killed_and_stopped_runs_end_in_the_same_report(tmp_path: Path) -> None:
    quiet, disturbed = tmp_path / "quiet", tmp_path / "disturbed"
    quiet.mkdir()
    rng = random.Random(4)
    toy = disturbed / "runs" / "toy" / "smoke"

    def in_the_sweep() -> subprocess.Popen[bytes]:
        """A process that has begun a cell, or has nothing left to begin."""
        before = sum(starts(toy))
        process = start(disturbed, TOY)
        end = time.monotonic() + 120
        while sum(starts(toy)) == before and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        return process

    process = in_the_sweep()  # killed at a random moment: the parent alone, as the system would
    time.sleep(rng.uniform(0.0, 0.3))
    process.kill()
    process.communicate()
    assert sum(starts(toy)) >= 1, "the sweep was hardly disturbed"
    process = in_the_sweep()  # then stopped by Ctrl-C
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    if process.returncode != 0:  # it had not finished yet
        assert process.returncode == 130, err.decode()
        assert b"stopped; left: toy, last" in out and b"Traceback" not in err
        page = (disturbed / "report" / "index.html").read_text(encoding="utf-8")
        assert "stopped before its end" in page and "Not run yet" in page
    assert finish(disturbed, TOY) == finish(quiet, TOY)


SMOKE = [sys.executable, "-m", "burnside", "reproduce", "--preset", "smoke"]


@pytest.mark.slow
def test_twenty_kills_of_the_smoke_preset_change_no_number(tmp_path: Path) -> None:
    """Kill −9 at 20 random moments, then once more to the end; and the report of a run that nobody disturbed.

    Finished work is kept, so that after some kills a run may end before its moment comes. It must then have given the
    same report, and the next one begins in an empty folder: all 20 kills hit a run that has work to do.
    """
    quiet = tmp_path / "quiet"
    quiet.mkdir()
    finish(quiet, SMOKE, timeout=3600)  # compiles what is not compiled yet, which would spoil the choice of moments
    shutil.rmtree(quiet)
    quiet.mkdir()
    began = time.monotonic()
    finish(quiet, SMOKE, timeout=3600)
    took = time.monotonic() - began
    rng = random.Random(20)
    kills, folders = 0, 0
    disturbed = tmp_path / "disturbed-0"
    while kills < 20:
        process = start(disturbed, SMOKE)
        try:
            process.communicate(timeout=rng.uniform(0.01, 0.4) * took)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the command and the workers it started
            process.communicate()
            kills += 1
        else:
            assert process.returncode == 0
            assert_same_report(disturbed, quiet)
            folders += 1
            disturbed = tmp_path / f"disturbed-{folders}"
    finish(disturbed, SMOKE, timeout=3600)
    assert_same_report(disturbed, quiet)


def assert_same_report(found: Path, expected: Path) -> None:
    """Byte for byte: the page, every figure and the table beside it."""
    names = sorted(p.relative_to(expected) for p in (expected / "report").rglob("*") if p.is_file())
    assert names and names == sorted(p.relative_to(found) for p in (found / "report").rglob("*") if p.is_file())
    for name in names:
        assert (found / name).read_bytes() == (expected / name).read_bytes(), name


def test_a_part_that_needs_another_environment_runs_there(parts: dict[str, Part], tmp_path: Path) -> None:
    drawn: list[Path] = []
    python = tmp_path / "python"

    def another(script: str) -> None:
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)

    def part(found: Path | None) -> Part:
        job = module.EXPERIMENTS["mistakes"]
        return Part(
            "away", lambda page, preset, folder, out: drawn.append(folder), {}, job, lambda: False, lambda: found
        )

    parts["mistakes"] = part(None)
    assert module.reproduce("report").exit_code == 0 and drawn == [Path("runs/mistakes/laptop")]
    assert not Path("runs").exists()
    parts["mistakes"] = part(python)
    another("echo $@ > said")
    assert module.reproduce("report").exit_code == 0 and drawn[1] == Path("runs/mistakes/smoke")
    said = Path("said").read_text().split()
    assert said[:2] == ["-m", "burnside"]
    assert {"--preset", "smoke", "--runs", "runs/mistakes/smoke"} < set(said[said.index("sweep") :])
    another("echo out of order >&2\nexit 1")
    assert "out of order" in module.reproduce("report").failed["mistakes"]
    another("exit 130")
    assert module.reproduce("report").left == ("mistakes",)
