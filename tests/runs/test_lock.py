"""Locks: one holder, dead holders are replaced, reused process numbers and other machines are recognised."""

import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from burnside.runs import lock as module
from burnside.runs.lock import CellLock, is_free


def write(path: Path, **changes: object) -> dict[str, object]:
    holder = {**module._here(), "token": "x", **changes}
    path.write_text(json.dumps(holder))
    return holder


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_one_holds_it(tmp_path: Path) -> None:
    first, second = CellLock(tmp_path / "lock"), CellLock(tmp_path / "lock")
    assert is_free(tmp_path / "lock") and first.acquire() and not second.acquire() and not is_free(tmp_path / "lock")
    second.release()  # does nothing: it is not ours
    assert first.held()
    first.release()
    assert second.acquire() and not first.held()


def test_a_dead_holder_is_noticed_at_once(tmp_path: Path) -> None:
    write(tmp_path / "lock", pid=dead_process())
    assert is_free(tmp_path / "lock") and CellLock(tmp_path / "lock").acquire()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc for the start time of a process")
def test_a_reused_process_number_is_not_the_holder(tmp_path: Path) -> None:
    write(tmp_path / "lock", pid=os.getppid(), started="1")
    assert CellLock(tmp_path / "lock").acquire()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to see a zombie")
def test_a_zombie_is_dead(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    started = module._start_time(process.pid)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    write(tmp_path / "lock", pid=process.pid, started=started)
    assert is_free(tmp_path / "lock")
    process.wait()


def test_after_another_boot_three_heartbeats_must_be_missed(tmp_path: Path) -> None:
    """The machine was started again, or a clone of the same name is alive: only the heartbeat tells them apart."""
    path = tmp_path / "lock"
    write(path, boot="another", pid=dead_process())
    assert not is_free(path) and not CellLock(path).acquire()
    os.utime(path, (time.time() - 2.5 * module.HEARTBEAT,) * 2)
    assert not is_free(path)
    os.utime(path, (time.time() - 3.5 * module.HEARTBEAT,) * 2)
    assert is_free(path) and CellLock(path).acquire()


@pytest.mark.parametrize("elsewhere", [{"host": "another"}, {"space": "another"}])
def test_another_machine_is_believed_until_its_heartbeat_stops(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    path = tmp_path / "lock"
    write(path, pid=dead_process(), **elsewhere)
    assert not CellLock(path).acquire()
    os.utime(path, (time.time() - 2 * module.SILENCE,) * 2)
    assert CellLock(path).acquire()
    assert not [p for p in tmp_path.iterdir() if p.name != "lock"]


def test_the_heart_beats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT", 0.01)
    lock = CellLock(tmp_path / "lock")
    assert lock.acquire()
    os.utime(lock.path, (0, 0))
    deadline = time.monotonic() + 10
    while lock.path.stat().st_mtime == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    lock.release()
    assert deadline > time.monotonic()


def test_a_lock_just_being_written_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("")
    assert not CellLock(path).acquire()
    os.utime(path, (time.time() - 2 * module.GRACE,) * 2)
    assert CellLock(path).acquire()


def test_breaking_gives_back_what_another_took_in_between(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    stale = write(path, pid=dead_process())
    first, second = CellLock(path), CellLock(path)
    assert first.acquire()
    assert not second._break(stale)  # it had judged the old file before the first one broke it
    assert first.held() and not second.acquire()


COMPETITORS = 5


def compete(path: str, gate: str, out: str) -> None:
    while not Path(gate).exists():
        time.sleep(0.001)
    Path(out).write_text("got it" if CellLock(Path(path)).acquire() else "did not")
    while len(list(Path(out).parent.glob("out-*"))) < COMPETITORS:  # hold it until all have tried
        time.sleep(0.001)


def test_many_processes_break_a_stale_lock_and_one_gets_it(tmp_path: Path) -> None:
    write(tmp_path / "lock", pid=dead_process())
    context = multiprocessing.get_context("spawn")
    names = [tmp_path / f"out-{k}" for k in range(COMPETITORS)]
    arguments = [(str(tmp_path / "lock"), str(tmp_path / "gate"), str(name)) for name in names]
    processes = [context.Process(target=compete, args=a) for a in arguments]
    for process in processes:
        process.start()
    time.sleep(1.0)
    (tmp_path / "gate").touch()
    for process in processes:
        process.join()
    assert sorted(name.read_text() for name in names) == ["did not"] * (COMPETITORS - 1) + ["got it"]
