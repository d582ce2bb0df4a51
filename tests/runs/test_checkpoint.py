"""Checkpoints: two generations, damage noticed and survived, a full disk loses nothing, no objects."""

import errno
import json
import os
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.toy import ToyJob

from burnside._checkpoints import generations, load_newest, read_arrays, save_next, write_arrays
from burnside._files import read_json
from burnside.errors import InvalidParameter, UnreadableFile
from burnside.runs import Cell, Context
from burnside.runs.cells import digest
from burnside.runs.context import Stopped
from burnside.runs.folder import CellFolder
from burnside.runs.work import Task, run_one

CELL = Cell("toy", {"n": 0, "steps": 200}, seeds=(7, 3))


def context_of(top: Path, **options: object) -> Context:
    folder = CellFolder(top, CELL)
    folder.prepare()
    return Context(folder, **options)  # type: ignore[arg-type]


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    arrays = {
        "file": np.arange(6, dtype=np.int8).reshape(2, 3),  # a name that numpy's savez refuses
        "net/w": np.asfortranarray(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)),
        "empty": np.zeros((0, 5)),
        "scalar": np.float64(1.5),
        "words": np.array(["a", "bc"]),
        "nan": np.array([np.nan, np.inf]),
    }
    found, meta = read_arrays(write_arrays(tmp_path / "x.npz", arrays, {"k": [1, None]}))
    assert meta == {"k": [1, None]}
    for name, array in arrays.items():
        assert found[name].dtype == np.asarray(array).dtype
        np.testing.assert_array_equal(found[name], array)


def test_python_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="holds object"):
        write_arrays(tmp_path / "x.npz", {"o": np.array([{}])}, {})


def test_two_generations_are_kept(tmp_path: Path) -> None:
    for k in range(5):
        save_next(tmp_path, "c", {"k": np.array(k)}, {})
    assert [path.name for path in generations(tmp_path)] == ["checkpoint-0000000005.npz", "checkpoint-0000000004.npz"]
    found, notes = load_newest(tmp_path, "c")
    assert found is not None and found.arrays["k"] == 4 and not notes


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "text"])
def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path, damage: str) -> None:
    for k in range(3):
        save_next(tmp_path, "c", {"k": np.full(1000, k)}, {})
    newest = generations(tmp_path)[0]
    data = newest.read_bytes()
    middle = len(data) // 2
    newest.write_bytes(
        {
            "truncate": data[:middle],
            "flip": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "empty": b"",
            "text": b"hello",
        }[damage]
    )
    found, notes = load_newest(tmp_path, "c")
    assert found is not None and (found.arrays["k"] == 1).all()
    assert len(notes) == 1 and "cannot read checkpoint-0000000003.npz" in notes[0]
    assert "the checkpoint before it is used" in notes[0] and "\n" not in notes[0]
    # The damaged one no longer counts: the next two written are the two that are kept.
    for k in (7, 8):
        save_next(tmp_path, "c", {"k": np.array(k)}, {})
    assert [int(read_arrays(p)[0]["k"]) for p in generations(tmp_path)] == [8, 7]


def test_no_readable_checkpoint_means_a_new_start_with_a_note(tmp_path: Path) -> None:
    save_next(tmp_path, "c", {}, {})
    generations(tmp_path)[0].write_bytes(b"PK")
    found, notes = load_newest(tmp_path, "c")
    assert found is None and "starts from the beginning" in notes[0]


def test_a_checkpoint_of_another_cell_is_not_used(tmp_path: Path) -> None:
    save_next(tmp_path, "other", {}, {})
    found, notes = load_newest(tmp_path, "c")
    assert found is None and "belongs to another cell" in notes[0]


def test_the_log_is_cut_back_to_the_checkpoint(tmp_path: Path) -> None:
    first = context_of(tmp_path)
    assert first.restore() is None
    first.log({"row": 1})
    first.checkpoint({}, at=1)
    first.log({"row": 2})
    first.flush()  # written, but after the checkpoint: the resumed run will write it again
    second = context_of(tmp_path)
    saved = second.restore()
    assert saved is not None and saved.meta == {"at": 1}
    second.log({"row": 2})
    second.flush()
    assert (second.folder / "log.jsonl").read_text() == '{"row": 1}\n{"row": 2}\n'


def test_a_job_without_checkpoints_does_not_append_to_an_old_log(tmp_path: Path) -> None:
    for _ in range(2):
        context = context_of(tmp_path)
        context.log({"row": 1})
        context.flush()
    assert (context.folder / "log.jsonl").read_text() == '{"row": 1}\n'


def test_a_stop_comes_after_the_checkpoint(tmp_path: Path) -> None:
    context = context_of(tmp_path, stop=lambda: True, seconds=1e9)
    assert context.should_stop() and context.due()
    with pytest.raises(Stopped):
        context.checkpoint({"k": np.array(3)})
    saved = context_of(tmp_path).restore()
    assert saved is not None and saved.arrays["k"] == 3
    assert not issubclass(Stopped, Exception)  # a job's `except Exception` must not swallow it


def test_checkpoints_are_due_by_the_clock_only(tmp_path: Path) -> None:
    assert not context_of(tmp_path, seconds=1e9).due()
    assert context_of(tmp_path, seconds=0.0).due()


@pytest.mark.parametrize("row", [{"x": float("nan")}, {"x": np.float64(1)}, {"x": np.int64(1)}, {1: 2}, {"x": {3}}])
def test_rows_that_json_would_change_are_refused(tmp_path: Path, row: dict[object, object]) -> None:
    with pytest.raises(InvalidParameter):
        context_of(tmp_path).log(row)  # type: ignore[arg-type]


# A full disk.


def expected(tmp_path: Path) -> bytes:
    task = Task(ToyJob(), tmp_path / "undisturbed")
    assert run_one(task, CELL).status == "done"
    return (CellFolder(task.folder, CELL).path / "result.json").read_bytes()


@pytest.mark.parametrize("call", [3, 4, 9, 10, 30])
def test_a_full_disk_is_one_sentence_and_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    want = expected(tmp_path)
    task = Task(ToyJob(), tmp_path / "full")
    folder = CellFolder(task.folder, CELL)
    real, calls = os.fsync, 0

    def fsync(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        outcome = run_one(task, CELL)
    assert outcome.status == "failed"
    assert outcome.message.startswith("cannot write ") and "No space left on device" in outcome.message
    assert "\n" not in outcome.message
    assert not list(folder.path.glob(".*.part")) and not folder.lock.exists()
    found, notes = load_newest(folder.path, folder.name)
    assert not notes and (found is not None or call <= 4)
    assert run_one(task, CELL).status == "done"  # there is room again
    assert (folder.path / "result.json").read_bytes() == want


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "tiny"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("mounting a tiny file system is not permitted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_is_really_full(tmp_path: Path, tiny_disk: Path) -> None:
    want = expected(tmp_path)
    task = Task(ToyJob(), tiny_disk)
    folder = CellFolder(tiny_disk, CELL)
    folder.make()
    ballast = tiny_disk / "ballast"
    ballast.write_bytes(bytes(36 * 1024))
    outcome = run_one(task, CELL)
    assert outcome.status == "failed" and "No space left on device" in outcome.message
    assert load_newest(folder.path, folder.name)[0] is not None
    ballast.unlink()
    assert run_one(task, CELL).status == "done"
    assert (folder.path / "result.json").read_bytes() == want


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    outcome = run_one(Task(ToyJob(), tmp_path / "file"), CELL)
    assert outcome.status == "failed" and "cannot make the folder" in outcome.message
    with pytest.raises(UnreadableFile, match="cannot make the folder"):
        CellFolder(tmp_path / "file", CELL).make()


# A checkpoint of another layout: a program that was upgraded between two runs.


def half_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Task, CellFolder]:
    """A cell that was stopped after eight checkpoints."""
    task = Task(ToyJob(), tmp_path / "runs")
    calls = 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return calls > 8

    assert run_one(task, CELL, stop).status == "stopped"
    return task, CellFolder(task.folder, CELL)


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    arrays, meta = read_arrays(path)
    change(arrays, meta)
    write_arrays(path, arrays, meta)


#: What an older version may have written, or no version at all → words of the note.
LAYOUTS: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], object], str]] = {
    "an array had another name": (lambda a, m: a.update(old=a.pop("state")), "the array 'state' is not in it"),
    "a value had another name": (lambda a, m: m["own"].pop("step"), "the value 'step' is not in it"),
    "a value had another type": (lambda a, m: m["own"].update(step="ten"), "another version (TypeError"),
    "an array had another shape": (lambda a, m: a.update(state=np.zeros((2, 2, 5))), "another version (TypeError"),
    "there was no count of the log": (lambda a, m: m.pop("log_bytes"), "it has another layout"),
    "the count of the log is negative": (lambda a, m: m.update(log_bytes=-1), "it has another layout"),
    "the count of the log is a truth value": (lambda a, m: m.update(log_bytes=True), "it has another layout"),
    "the log was longer": (lambda a, m: m.update(log_bytes=10**15), "a log of 1000000000000000 bytes, which has only"),
    "the time is a word": (lambda a, m: m.update(seconds="long"), "it has another layout"),
    "there are no values": (lambda a, m: m.update(own=[1]), "it has another layout"),
}


@pytest.mark.parametrize("what", LAYOUTS)
def test_a_checkpoint_of_another_layout_is_put_aside(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, words = LAYOUTS[what]
    want = expected(tmp_path)
    task, folder = half_way(tmp_path, monkeypatch)
    old = generations(folder.path)
    assert len(old) == 2
    for path in old:
        rewritten(path, change)
    outcome = run_one(task, CELL)
    assert outcome.status == "done" and len(outcome.notes) == 2
    assert words in outcome.notes[0] and outcome.notes[0].endswith("the checkpoint before it is used")
    assert words in outcome.notes[1] and outcome.notes[1].endswith("the run starts from the beginning")
    assert not any("\n" in note for note in outcome.notes)
    assert (folder.path / "result.json").read_bytes() == want
    assert read_json(folder.path / "about.json")["notes"] == list(outcome.notes)
    assert (folder.path / "log.jsonl").read_bytes().count(b"\n") == 20  # no row twice


def test_only_the_newest_has_another_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    want = expected(tmp_path)
    task, folder = half_way(tmp_path, monkeypatch)
    rewritten(generations(folder.path)[0], lambda arrays, meta: arrays.clear())
    outcome = run_one(task, CELL)
    assert (
        outcome.status == "done" and len(outcome.notes) == 1 and "the checkpoint before it is used" in outcome.notes[0]
    )
    assert (folder.path / "result.json").read_bytes() == want


@dataclass(frozen=True)
class FailingJob(ToyJob):
    """Restores the checkpoint and then fails, by its own mistake or because something is missing."""

    error: type[Exception] = KeyError
    says: bool = True

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        saved = context.restore()
        if saved is not None:
            if self.says:
                context.resumed()
            raise self.error("lost")
        return super().run_cell(cell, context)


@pytest.mark.parametrize(
    ("error", "says", "kept"),
    [
        (KeyError, True, True),
        (MemoryError, False, True),
        (OSError, False, True),
        (RuntimeError, False, True),
        (KeyError, False, False),
    ],
)
def test_a_failure_of_another_kind_keeps_the_checkpoints(
    error: type[Exception], says: bool, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hours of work are not set aside because memory or a device was missing, or after the job said it had resumed."""
    task, folder = half_way(tmp_path, monkeypatch)
    before = generations(folder.path)
    outcome = run_one(Task(FailingJob(error=error, says=says), task.folder), CELL)
    assert outcome.status == ("failed" if kept else "done")
    assert (generations(folder.path) == before) is kept
    if kept:
        assert run_one(task, CELL).status == "done"


def test_a_disk_that_fails_for_a_moment_keeps_the_checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, folder = half_way(tmp_path, monkeypatch)
    before = generations(folder.path)
    real = zipfile.ZipExtFile.read

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(zipfile.ZipExtFile, "read", fail)
    outcome = run_one(task, CELL)
    assert outcome.status == "failed" and "Input/output error" in outcome.message
    assert generations(folder.path) == before
    monkeypatch.setattr(zipfile.ZipExtFile, "read", real)
    assert run_one(task, CELL).status == "done"


def test_other_files_that_look_like_checkpoints(tmp_path: Path) -> None:
    """A file with a name that no sweep uses is ignored."""
    for name in (
        "checkpoint-.npz",
        "checkpoint-x.npz",
        "checkpoint-0000000002.npz.damaged",
        f"checkpoint-{'9' * 30}.npz",
    ):
        (tmp_path / name).write_bytes(b"?")
    assert generations(tmp_path) == []
    save_next(tmp_path, "c", {}, {})
    assert [path.name for path in generations(tmp_path)] == ["checkpoint-0000000001.npz"]


# A result that cannot be read is none.

NAMED = ("other", "changed", "old", "rows", "inf", "table", "no table")


@pytest.mark.parametrize("damage", ["", "{", "null", "[1]", '{"format": 1}', "[" * 100_000, "\xff", *NAMED])
def test_a_damaged_result_does_not_count_as_finished(damage: str, tmp_path: Path) -> None:
    want = expected(tmp_path)
    task = Task(ToyJob(), tmp_path / "runs")
    assert run_one(task, CELL).status == "done"
    folder = CellFolder(task.folder, CELL)
    path = folder.path / "result.json"
    content = read_json(path)
    table = folder.path / "table-curve.npz"
    if damage == "table":
        table.write_bytes(table.read_bytes()[:-30])
    elif damage == "no table":
        table.unlink()
    elif damage == "inf":
        path.write_text(path.read_text().replace('"value": ', '"value": 1e999, "old": '))
    else:
        content["result"]["rows"][0]["value"] += damage == "changed"
        content["cell"]["seeds"] = [7, 4] if damage == "other" else content["cell"]["seeds"]
        content["format"] = 0 if damage == "old" else 1
        if damage == "rows":
            content["result"]["rows"] = {"a": 1}
            content["sha256"] = digest(content["result"])
        named = damage in ("other", "changed", "old", "rows")
        path.write_bytes((json.dumps(content) if named else damage).encode("latin-1"))
    assert not folder.finished()
    outcome = run_one(task, CELL)
    assert outcome.status == "done"
    assert outcome.notes == (
        f"cell {CELL.name}: its result is damaged, incomplete or of another version; the cell is run again",
    )
    assert path.read_bytes() == want and (folder.path / "result.json.damaged").exists()
    assert run_one(task, CELL).status == "skipped"


def test_results_of_before_checksums_count(tmp_path: Path) -> None:
    """A study that resumes after an upgrade keeps what it has."""
    task = Task(ToyJob(), tmp_path / "runs")
    assert run_one(task, CELL).status == "done"
    folder = CellFolder(task.folder, CELL)
    content = read_json(folder.path / "result.json")
    del content["sha256"]
    (folder.path / "result.json").write_text(json.dumps(content))
    (folder.path / "about.json").unlink()
    assert run_one(task, CELL).status == "skipped"
