"""Models from people who mean harm, or had bad luck: refused in one sentence, in little time and memory."""

from __future__ import annotations

import json
import os
import struct
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy
from tests.mdp.helpers import one_sentence

from burnside._archives import LARGEST_ARRAYS, open_archive, write_archive
from burnside._files import LARGEST_TEXT, open_file, read_bytes, read_json
from burnside.cli import main
from burnside.errors import DamagedFile, InvalidModel, InvalidParameter, ModelTooLarge, UnreadableFile
from burnside.mdp import TabularMDP, solve, zoo
from burnside.mdp.files import LONGEST_NAME, load, save

COIN: dict[str, Any] = {
    "format": "burnside-mdp",
    "version": 1,
    "name": "coin",
    "horizon": 3,
    "states": ["heads", "tails"],
    "actions": ["keep", "flip"],
    "initial": [0.5, 0.5],
    "pairs": [
        {"state": s, "action": a, "reward": float(s == a), "next": [[(s + a) % 2, 1.0]]} for s in (0, 1) for a in (0, 1)
    ],
}


def coin(pair: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """The coin with some keys, or some keys of its last pair, changed."""
    content: dict[str, Any] = json.loads(json.dumps(COIN)) | changes
    content["pairs"][-1] |= pair or {}
    return content


#: What is wrong → the text of the file, and words of the sentence.
BAD_JSON: dict[str, tuple[str, str]] = {
    "a billion actions": (json.dumps(coin({"action": 10**9})), "below 1048576"),
    "2**62 actions": (json.dumps(coin({"action": 2**62})), "below 1048576"),
    "an action of 5000 digits": (json.dumps(coin({"action": "@"})).replace('"@"', "9" * 5000), "too many digits"),
    "an action of 4000 digits": (json.dumps(coin({"action": "@"})).replace('"@"', "9" * 4000), "below 1048576"),
    "a billion states": (json.dumps(coin(states=10**9)), '"initial" has 2 entries'),
    "2**62 states": (json.dumps(coin(states=2**62)), '"initial" has 2 entries'),
    "a successor of 4000 digits": (json.dumps(coin({"next": [["@", 1]]})).replace('"@"', "9" * 4000), "leads to state"),
    "a reward of 4000 digits": (json.dumps(coin({"reward": "@"})).replace('"@"', "9" * 4000), "file format"),
    "a reward that overflows": (json.dumps(coin({"reward": 1e308})), "scale them down"),
    "a reward beyond all numbers": (json.dumps(coin({"reward": "@"})).replace('"@"', "1e999"), "inf"),
    "a horizon of 30 digits": (json.dumps(coin(horizon=10**30)), "below 2**63"),
    "NaN": (json.dumps(coin({"reward": float("nan")})), "JSON has no NaN"),
    "Infinity": (json.dumps(coin({"reward": float("inf")})), "JSON has no Infinity"),
    "true for a version": (json.dumps(coin(version=True)), "format version True"),
    "1.0 for a version": (json.dumps(coin(version=1.0)), "format version 1.0"),
    "a list of versions": (json.dumps(coin(version=[1] * 10_000)), "format version"),
    "nested arrays": ("[" * 200_000 + "]" * 200_000, "nested too deeply"),
    "nested objects": ('{"a":' * 200_000 + "1" + "}" * 200_000, "nested too deeply"),
    "a nested name": (json.dumps(coin(name="@")).replace('"@"', "[" * 500 + "]" * 500), "write a text"),
    "a name that is an object": (json.dumps(coin(name={"a": 1})), "write a text"),
    "a name that is too long": (json.dumps(coin(name="x" * (LONGEST_NAME + 1))), "10001 characters"),
    "a state's name that is too long": (json.dumps(coin(states=["h", "x" * 10**6])), "1000000 characters"),
    "states named by lists": (json.dumps(coin(states=["h", []])), "write a text"),
    "more names than actions can be": (json.dumps(coin(actions=["a"] * (2**20 + 1))), "at most 1048576 names"),
    "actions named by a text": (json.dumps(coin(actions="keep")), "list of at most"),
    "a lone half of a character as a key": ('{"\\ud800": 1}', "burnside-mdp"),
}


@pytest.mark.parametrize("what", BAD_JSON)
def test_json_that_asks_for_too_much(what: str, tmp_path: Path) -> None:
    text, words = BAD_JSON[what]
    path = tmp_path / "bad.json"
    path.write_text(text)
    one_sentence((UnreadableFile, InvalidModel), lambda: load(path), "bad.json", words)  # type: ignore[arg-type]
    peak, _ = peak_of(path)
    assert peak < 30 * len(text) + 2**20
    assert main(["audit", str(path)]) == 2


def test_files_that_are_too_large_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for suffix in ("json", "npz"):
        with open(tmp_path / f"sparse.{suffix}", "wb") as file:
            file.truncate(10**12)  # takes no room on the disk
    one_sentence(UnreadableFile, lambda: load(tmp_path / "sparse.json"), "931.3 GB", "at most 64.0 MB")
    one_sentence(UnreadableFile, lambda: load(tmp_path / "sparse.npz"), "damaged")
    (tmp_path / "grows").write_bytes(b"x" * 11)
    with pytest.raises(UnreadableFile, match="11 bytes; at most 10 bytes"):
        read_bytes(tmp_path / "grows", 10)
    assert len(read_bytes(tmp_path / "grows", 11)) == 11
    real = os.fstat

    def smaller(handle: int) -> os.stat_result:
        found = real(handle)
        return os.stat_result((*found[:6], found.st_size - 1, *found[7:10]))

    monkeypatch.setattr(os, "fstat", smaller)
    with pytest.raises(UnreadableFile, match="grows while it is read"):
        read_bytes(tmp_path / "grows", 100)


def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pipe that nobody writes to would wait forever, a device would never end."""
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    (tmp_path / "circle.json").symlink_to(tmp_path / "circle.json")
    (tmp_path / "nowhere.npz").symlink_to(tmp_path / "gone")
    for name, words in {
        "pipe.json": "it is a pipe, not a file",
        "folder.npz": "it is a folder, not a file",
        "zero.json": "it is a device, not a file",
        "circle.json": "symbolic links",
        "nowhere.npz": "there is no file",
        "name\0.json": "null",
        f"{'x' * 300}.json": "name too long",
    }.items():
        one_sentence(UnreadableFile, lambda name=name: load(tmp_path / name), words)
    good = save(zoo.fig2(), tmp_path / "good.npz")
    (tmp_path / "link.npz").symlink_to(good)
    assert load(tmp_path / "link.npz").n_pairs == 16
    with open_file(good) as file:
        assert os.get_blocking(file.fileno()) is False  # only so that opening a pipe does not wait


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may read everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = save(zoo.fig2(), tmp_path / "m.json")
    path.chmod(0)
    one_sentence(UnreadableFile, lambda: load(path), "permission denied")


# ---------------------------------------------------------------------- npz


def arrays(**changes: Any) -> dict[str, Any]:
    """The arrays of a grid, some of them changed."""
    mdp = zoo.grid(3)
    content: dict[str, Any] = {
        "format": np.array("burnside-mdp"),
        "version": np.array(1),
        "name": np.array("grid"),
        "horizon": np.array(5),
        "initial": mdp.p0,
        "rewards": mdp.R,
        "pair_state": mdp.pair_state,
        "pair_action": mdp.pair_action,
        "indptr": mdp.P.indptr,
        "indices": mdp.P.indices,
        "data": mdp.P.data,
    }
    return {key: value for key, value in (content | changes).items() if value is not None}


PAIRS = zoo.grid(3).n_pairs
BAD_NPZ: dict[str, tuple[dict[str, Any], str]] = {
    "days as rewards": ({"rewards": np.zeros(PAIRS, "datetime64[D]")}, "plain numbers"),
    "times as rewards": ({"rewards": np.zeros(PAIRS, "timedelta64[s]")}, "plain numbers"),
    "records as rewards": ({"rewards": np.zeros(PAIRS, [("a", "f8"), ("b", "i4")])}, "plain numbers"),
    "bytes as rewards": ({"rewards": np.zeros(PAIRS, "V8")}, "plain numbers"),
    "texts as rewards": ({"rewards": np.zeros(PAIRS, "U3")}, "rewards must be a vector of real numbers"),
    "complex rewards": ({"rewards": np.zeros(PAIRS, complex)}, "rewards must be a vector of real numbers"),
    "rewards with three axes": ({"rewards": np.zeros((1, 1, PAIRS))}, "rewards must be a vector of real numbers"),
    "days as initial": ({"initial": np.zeros(9, "datetime64[D]")}, "plain numbers"),
    "truth values as probabilities": ({"data": np.ones(PAIRS, bool)}, "data must be a vector of real numbers"),
    "true for a version": ({"version": np.array(True)}, "version must be one whole number, got one bool"),
    "versions": ({"version": np.array([1])}, "version must be one whole number"),
    "another version": ({"version": np.array(2)}, "format version 2"),
    "another format": ({"format": np.array("burnside")}, "not an MDP of ours"),
    "no format": ({"format": None}, "not an MDP of ours"),
    "no horizon": ({"horizon": None}, "lacks the array 'horizon'"),
    "2**62 actions": ({"pair_action": np.full(PAIRS, 2**62)}, "pair_action must lie in 0…1048575"),
    "names without states": ({"state_names": np.array(["a"])}, "state_names has shape (1,)"),
    "names of numbers": ({"state_names": np.zeros(9)}, "state_names must be a vector of texts"),
    "a long name": ({"name": np.array("x" * 20_000)}, "more than 10000 characters"),
    "names of a million actions": ({"action_names": np.full(2**20 + 1, "a")}, "more than 1048576 entries"),
    "kernels of different lengths": ({"indices": np.zeros(3, int)}, "indices has shape (3,)"),
    "pairs of another number": ({"pair_state": np.zeros(3, int)}, "pair_state has shape (3,)"),
    "rows that go back": ({"indptr": np.arange(PAIRS + 1)[::-1].copy()}, "CSR"),
    "rows beyond the end": ({"indptr": np.arange(PAIRS + 1) * 2**40}, "CSR"),
}


@pytest.mark.parametrize("what", BAD_NPZ)
def test_npz_with_other_types_and_shapes(what: str, tmp_path: Path) -> None:
    changes, words = BAD_NPZ[what]
    path = tmp_path / "bad.npz"
    np.savez_compressed(path, **arrays(**changes))
    one_sentence((UnreadableFile, InvalidModel), lambda: load(path), "bad.npz", words)  # type: ignore[arg-type]


def header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    """The beginning of an npy file of this shape and type."""
    import io

    file = io.BytesIO()
    npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def zipped(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def peak_of(path: Path) -> tuple[int, str]:
    """Bytes that loading a file took at most, and what came of it."""
    tracemalloc.start()
    try:
        said = repr(load(path))
    except (UnreadableFile, InvalidModel) as error:
        said = str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, said


def test_archives_that_unpack_to_much(tmp_path: Path) -> None:
    """An array that nobody asked for, one that lies about its size, and one larger than all that is read."""
    good = {f"{name}.npy": _npy(array) for name, array in arrays().items()}
    huge = header((2**27,)) + bytes(2**20)
    unknown = tmp_path / "unknown.npz"
    with zipfile.ZipFile(unknown, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in good.items():
            archive.writestr(name, content)
        with archive.open("junk.npy", "w", force_zip64=True) as entry:
            entry.write(header((2**24,)))
            for _ in range(128):  # zeros, a hundred kilobytes in the file
                entry.write(bytes(2**20))
    lies = zipped(tmp_path / "lies.npz", good | {"rewards.npy": huge})
    forged = tmp_path / "forged.npz"
    changed = bytearray(zipped(forged, good).read_bytes())
    at = changed.rindex(b"rewards.npy") - 46  # its entry in the table of contents
    changed[at + 24 : at + 28] = struct.pack("<I", 2**31)
    forged.write_bytes(changed)
    for path, words in (
        (unknown, "TabularMDP('grid', states=9, pairs=36"),
        (lies, "rewards has another size than its header says"),
        (forged, "rewards.npy cannot have 2.0 GB"),
    ):
        peak, said = peak_of(path)
        assert words in said and peak < 4 * 2**20, (path.name, peak, said)


def _npy(array: Any) -> bytes:
    import io

    file = io.BytesIO()
    npy.write_array(file, np.asarray(array), allow_pickle=False)
    return file.getvalue()


def test_the_sum_of_all_arrays_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(zoo.grid(3), tmp_path / "m.npz")
    with open_archive(path) as archive:
        names = archive.names
        total = sum(h.nbytes for h in archive.headers(names).values())
        assert archive.headers(names, total)
        with pytest.raises(UnreadableFile, match=f"have {total} bytes; at most {total - 1} bytes are read"):
            archive.headers(names, total - 1)
    monkeypatch.setattr("burnside.mdp.files.LARGEST_ARRAYS", 100)
    monkeypatch.setattr("burnside.mdp.files.LARGEST_TEXT", 100)
    one_sentence(InvalidParameter, lambda: save(zoo.grid(3), path), "too large for a file")
    one_sentence(InvalidParameter, lambda: save(zoo.grid(3), tmp_path / "m.json"), "save it as .npz")
    assert LARGEST_ARRAYS == 2**31 and LARGEST_TEXT == 2**26  # the documentation says so


@pytest.mark.parametrize(
    ("descr", "words"),
    [
        (b"{'descr': '|O', 'fortran_order': False, 'shape': (36,), }", "pickle"),
        (b"{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (36,), }", "pickle"),
        (b"{'descr': __import__('os').abort(), 'fortran_order': False, 'shape': (36,), }", "plain numbers"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"9" * 5000 + b",), }", "impossible shape"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"0," * 40 + b"), }", "impossible shape"),
        (b"{'descr': '<f8', 'fortran_order': False, 'shape': (-36,), }", "plain numbers"),
        (b"{'descr': '<f3', 'fortran_order': False, 'shape': (36,), }", "unknown type"),
        (b"{'descr': '<U999999999999', 'fortran_order': False, 'shape': (36,), }", "damaged"),
        (b"(" * 9000, "plain numbers"),
        (b" " * 20_000, "not an array"),
        (b"", "plain numbers"),
    ],
)
def test_headers_of_arrays_are_never_evaluated(descr: bytes, words: str, tmp_path: Path) -> None:
    content = npy.MAGIC_PREFIX + b"\x01\x00" + struct.pack("<H", len(descr)) + descr + bytes(288)
    good = {f"{name}.npy": _npy(array) for name, array in arrays().items()}
    path = zipped(tmp_path / "bad.npz", good | {"rewards.npy": content})
    one_sentence(UnreadableFile, lambda: load(path), "bad.npz", words)


def test_archives_in_other_ways(tmp_path: Path) -> None:
    good = {f"{name}.npy": _npy(array) for name, array in arrays().items()}
    path = tmp_path / "bad.npz"
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):  # a header of LZMA can ask for gigabytes
        one_sentence(UnreadableFile, lambda m=method: load(zipped(path, good, m)), "packed in a way")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        assert load(zipped(path, good, method)).n_pairs == PAIRS
    content = bytearray(path.read_bytes())
    at = content.rindex(b"rewards.npy") - 46
    content[at + 8] |= 1  # says it is encrypted
    path.write_bytes(content)
    one_sentence(UnreadableFile, lambda: load(path), "damaged")
    content = bytearray(zipped(path, good).read_bytes())
    content[-10:-6] = struct.pack("<I", 2**30)
    path.write_bytes(content)
    one_sentence(UnreadableFile, lambda: load(path), "a table of contents of 1.0 GB")
    wide = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, 2**40, 0)  # as in files of many gigabytes
    path.write_bytes(bytes(content[:-22]) + wide + struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1) + bytes(content[-22:]))
    one_sentence(UnreadableFile, lambda: load(path), "a table of contents of 1024.0 GB")
    np.savez(path, **arrays(extra=np.arange(3), rewards=np.asfortranarray(np.ones((5, PAIRS)))))
    assert load(path).R.shape == (5, PAIRS)
    content = bytearray(_npy(np.array(["ab"] * 9)))
    content[-2] = 0xFF  # no character has so large a number
    np.savez(path, **arrays())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("state_names.npy", bytes(content))
    one_sentence(UnreadableFile, lambda: load(path), "state_names holds no text")


def test_equal_models_give_equal_files(tmp_path: Path) -> None:
    """No moment of writing is kept; numpy's own archives would keep one."""
    first = save(zoo.grid(3), tmp_path / "a.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert save(zoo.grid(3), tmp_path / "b.npz").read_bytes() == first
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:  # numpy reads them as its own
        assert file["initial"].tolist() == zoo.grid(3).p0.tolist()
    with pytest.raises(InvalidParameter, match="holds object"):
        write_archive(tmp_path / "c.npz", {"a": np.array([object()])})
    with pytest.raises(InvalidParameter, match="datetime64"):
        write_archive(tmp_path / "c.npz", {"a": np.array(["2020-01-01"], "datetime64[D]")})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_every_type_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {
        kind: (rng.random((3, 4)) * 100).astype(kind)
        for kind in ("b1", "i1", "u2", ">i4", "i8", "f2", ">f8", "c16", "S3")
    }
    given |= {"U": np.array([["ä", ""], ["日本", "𝔸"]]), "none": np.zeros((0, 3)), "one": np.array(7), "": np.arange(2)}
    given |= {"fortran": np.asfortranarray(rng.random((3, 4))), "a/b": np.float32(1.5)}
    for compress in (False, True):
        with open_archive(write_archive(tmp_path / "x.npz", given, {"meta": "ä"}, compress=compress)) as archive:
            assert archive.text("meta", 10).decode() == "ä"
            found = archive.arrays(archive.names)
        assert list(found) == list(given)
        for name, array in found.items():
            same = np.asarray(given[name])
            assert array.dtype == same.dtype and array.shape == same.shape and (array == same).all()
            assert array.flags.writeable


def test_a_failing_disk_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file may be set aside; a failing disk or network must not be mistaken for one."""
    path = save(zoo.grid(3), tmp_path / "m.npz")

    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    with open_archive(path) as archive:
        monkeypatch.setattr(zipfile.ZipExtFile, "read", fail)
        with pytest.raises(UnreadableFile, match="Input/output error") as caught:
            archive.headers(["rewards"])
    assert not isinstance(caught.value, DamagedFile)
    (tmp_path / "x.json").write_bytes(b"\xff")
    with pytest.raises(DamagedFile):
        read_json(tmp_path / "x.json")


def test_planning_says_first_that_it_is_too_much() -> None:
    long = TabularMDP([[1.0]], [1.0], [1.0], 2**62)
    one_sentence(ModelTooLarge, lambda: solve(long), "shorter horizon")


def test_values_that_overflow_are_refused() -> None:
    for reward, horizon in ((1.7e308, 1), (1e300, 10**9)):
        one_sentence(InvalidModel, lambda r=reward, h=horizon: TabularMDP([[1.0]], [r], [1.0], h), "scale them down")
    assert TabularMDP([[1.0]], [1e300], [1.0], 10**6).reward_range == 0


def test_a_byte_order_mark_and_a_suffix_in_capitals_do_no_harm(tmp_path: Path) -> None:
    path = zoo.fig2().save(tmp_path / "fig2.json")
    marked = tmp_path / "MARKED.JSON"
    marked.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert TabularMDP.from_file(marked).n_pairs == zoo.fig2().n_pairs
