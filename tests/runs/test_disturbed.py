"""Sweeps that are killed, stopped, run twice at once or meet damage: the end is the same, to the bit."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.runs.toy import ToyJob, snapshot, starts, table, workers_of

from burnside._checkpoints import generations
from burnside.runs import sweep
from burnside.runs.folder import CellFolder

REPO = Path(__file__).resolve().parents[2]
STEPS = 400


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.runs.toy", str(folder), "--steps", str(STEPS), *words]
    environment = os.environ | {"PYTHONPATH": f"{REPO}{os.pathsep}{REPO / 'src'}"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder.parent, env=environment, stdout=pipe, stderr=pipe, text=True)


def outcome(process: subprocess.Popen[str]) -> dict[str, int]:
    out, err = process.communicate(timeout=120)
    assert process.returncode in (0, 130), err
    found: dict[str, int] = json.loads(out)
    return found


def wait_for_worker(folder: Path, process: subprocess.Popen[str]) -> list[int]:
    while process.poll() is None:
        if found := workers_of(folder):
            return found
        time.sleep(0.005)
    return []


def place(folder: Path, worker: int) -> tuple[Path, ...]:
    """The cell a worker holds and its newest checkpoint; () if it holds none."""
    for lock in folder.glob("cells/*/lock"):
        with contextlib.suppress(OSError, ValueError):
            if json.loads(lock.read_text())["pid"] == worker:
                return (lock.parent, *generations(lock.parent)[:1])
    return ()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert sweep(ToyJob(STEPS), "laptop", folder, workers=0, progress="none").ok
    return folder


def assert_same(folder: Path, undisturbed: Path) -> None:
    assert table(folder) == table(undisturbed)
    assert snapshot(folder) == snapshot(undisturbed)
    leftovers = [p.name for p in folder.rglob("*") if p.name.startswith((".", "lock", "checkpoint", "failed"))]
    assert not leftovers


@pytest.mark.parametrize("moments", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_workers_killed_at_random_moments(tmp_path: Path, undisturbed: Path, moments: int) -> None:
    dice, kills = random.Random(1), 0
    deaths: dict[tuple[Path, ...], int] = {}
    folder = tmp_path / "runs"
    process = start(folder, "--pause", "0.01")
    while kills < moments and (workers := wait_for_worker(folder, process)):
        time.sleep(dice.uniform(0, 0.2))
        worker = dice.choice(workers)
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGSTOP)  # so that it makes no progress between the check and the kill
            where = place(folder, worker)
            if not where or deaths.get(where, 0) == 2:  # a third death at the same place rightly ends the cell
                os.kill(worker, signal.SIGCONT)
                continue
            os.kill(worker, signal.SIGKILL)
            deaths[where] = deaths.get(where, 0) + 1
            kills += 1
        time.sleep(0.05)
    assert outcome(process) == {"done": 4, "skipped": 0, "left": 0}
    assert kills == moments
    assert_same(folder, undisturbed)


def test_a_worker_killed_with_the_result_just_written_has_done_its_cell(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "runs"
    assert outcome(start(folder, "--die-last")) == {"done": 4, "skipped": 0, "left": 0}
    assert starts(folder) == [1, 1, 1, 1]
    assert_same(folder, undisturbed)


def test_what_a_sweep_killed_with_a_result_just_written_left_is_cleared_up(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "runs"
    process = start(folder, "--die-last", "--workers", "0")
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    (result,) = folder.glob("cells/*/result.json")
    assert (result.parent / "lock").exists() and generations(result.parent)
    assert outcome(start(folder)) == {"done": 3, "skipped": 1, "left": 0}
    assert_same(folder, undisturbed)


@pytest.mark.parametrize("rounds", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_the_sweep_itself_killed_again_and_again(tmp_path: Path, undisturbed: Path, rounds: int) -> None:
    dice = random.Random(2)
    folder = tmp_path / "runs"
    for _ in range(rounds):
        process = start(folder, "--pause", "0.002")
        wait_for_worker(folder, process)
        time.sleep(dice.uniform(0, 0.4))
        workers = workers_of(folder)
        process.kill()
        process.communicate()
        if dice.random() < 0.5:  # otherwise they notice it themselves, and the next sweep waits for them
            for worker in workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
    assert outcome(start(folder))["left"] == 0
    assert_same(folder, undisturbed)


def test_two_sweeps_on_one_folder_share_the_work(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "runs"
    both = [start(folder, "--pause", "0.002", "--workers", "1") for _ in range(2)]
    found = [outcome(process) for process in both]
    assert sum(one["done"] for one in found) == 4
    assert all(one["done"] + one["skipped"] == 4 and one["left"] == 0 for one in found)
    assert starts(folder) == [1, 1, 1, 1]
    assert_same(folder, undisturbed)


def test_the_second_sweep_takes_over_when_the_first_is_killed(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "runs"
    first = start(folder, "--pause", "0.004")
    wait_for_worker(folder, first)
    second = start(folder)
    time.sleep(0.8)
    first.kill()
    first.communicate()
    found = outcome(second)
    assert found["left"] == 0 and found["done"] + found["skipped"] == 4
    assert_same(folder, undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_stop_writes_checkpoints_and_resumes(
    tmp_path: Path, undisturbed: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "runs"
    process = start(folder, "--pause", "0.02", "--lazy")  # lazy: only the stop makes a checkpoint within a minute
    wait_for_worker(folder, process)
    time.sleep(0.3)
    process.send_signal(number)
    found = outcome(process)
    assert process.returncode == 130 and found["left"] == 4
    assert list(folder.glob("cells/*/checkpoint-*.npz"))
    assert not list(folder.glob("cells/*/lock"))
    assert outcome(start(folder))["left"] == 0
    assert_same(folder, undisturbed)


@pytest.mark.slow
def test_a_worker_asked_to_end_is_replaced(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "runs"
    process = start(folder, "--pause", "0.002")
    for worker in wait_for_worker(folder, process):
        os.kill(worker, signal.SIGTERM)
    assert outcome(process)["left"] == 0
    assert_same(folder, undisturbed)


def test_a_truncated_checkpoint_is_noted_and_the_one_before_it_used(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "runs"

    def stop_after_two_checkpoints() -> None:
        while not any(len(generations(cell)) == 2 for cell in folder.glob("cells/*")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=stop_after_two_checkpoints)
    watcher.start()
    stopped = sweep(ToyJob(STEPS, pause=0.02), "laptop", folder, workers=0, progress="none")
    watcher.join()
    assert stopped.exit_code == 130 and len(stopped.left) == 4
    newest = generations(next(folder.glob("cells/*")))[0]
    newest.write_bytes(newest.read_bytes()[:-100])
    outcome = sweep(ToyJob(STEPS), "laptop", folder, workers=0, progress="none")
    assert outcome.ok
    assert len(outcome.notes) == 1 and "the checkpoint before it is used" in outcome.notes[0]
    assert_same_but_for_damage(folder, undisturbed)


def assert_same_but_for_damage(folder: Path, undisturbed: Path) -> None:
    assert snapshot(folder) == snapshot(undisturbed)


def test_failed_cells_are_listed_after_the_others_have_run(tmp_path: Path, undisturbed: Path) -> None:
    folder = tmp_path / "runs"
    outcome = sweep(ToyJob(STEPS, fail=(1,)), "laptop", folder, progress="none")
    name = ToyJob(STEPS).plan("laptop")[1].name
    assert outcome.failed == {name: "RuntimeError: the toy breaks at n=1"}
    assert outcome.exit_code == 1 and len(outcome.done) == 3
    assert "Traceback" in (folder / "cells" / name / "failed.txt").read_text()
    again = sweep(ToyJob(STEPS), "laptop", folder, progress="none")
    assert again.done == (name,) and len(again.skipped) == 3 and again.exit_code == 0
    assert_same(folder, undisturbed)


def test_a_cell_that_kills_its_process_does_not_go_on_for_ever(tmp_path: Path) -> None:
    outcome = sweep(ToyJob(50, die=(0,)), "smoke", tmp_path, progress="none")
    (message,) = outcome.failed.values()
    assert "its process died 3 times" in message and "signal 9" in message
    assert len(outcome.done) == 1
    cell = ToyJob(50).plan("smoke")[0]
    assert len((CellFolder(tmp_path, cell).path / "own-starts.txt").read_text().splitlines()) == 3
