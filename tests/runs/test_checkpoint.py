"""Checkpoints: two generations, damage noticed and survived, a full disk loses nothing, no objects."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.runs.toy import ToyJob

from burnside.errors import InvalidParameter, UnreadableFile
from burnside.runs import Cell, CellFolder, Context, Stopped, Task, run_one
from burnside.runs.checkpoint import generations, load_newest, read_arrays, save_next, write_arrays

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
    with pytest.raises(InvalidParameter, match="Python objects"):
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
    assert len(notes) == 1 and "checkpoint-0000000003.npz cannot be read" in notes[0]
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
