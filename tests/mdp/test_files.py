"""Files: models come back to the bit; pickled, damaged and foreign files are refused in one sentence."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mdp.helpers import ZOO, dense, one_sentence, plant

from burnside.errors import InvalidModel, UnreadableFile
from burnside.mdp import TabularMDP, zoo
from burnside.mdp.files import load, save


def same(a: TabularMDP, b: TabularMDP) -> bool:
    """Equal to the bit, names included."""
    arrays = ("R", "p0", "pair_state", "pair_action", "pair_ptr")
    return (
        (a.H, a.n_states, a.n_pairs, a.name) == (b.H, b.n_states, b.n_pairs, b.name)
        and all(np.array_equal(getattr(a, k), getattr(b, k)) for k in arrays)
        and all(np.array_equal(getattr(a.P, k), getattr(b.P, k)) for k in ("indptr", "indices", "data"))
        and all(a.state_name(s) == b.state_name(s) for s in range(a.n_states))
        and all(a.action_name(k) == b.action_name(k) for k in range(a.n_actions))
    )


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("model", [k for k in ZOO if k != "ring 6"])
def test_round_trip(model: str, suffix: str, tmp_path: Path) -> None:
    mdp = ZOO[model]()
    path = save(mdp, tmp_path / f"model{suffix}")
    assert path == tmp_path / f"model{suffix}" and same(load(path), mdp) and same(TabularMDP.from_file(str(path)), mdp)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]  # no temporary file is left


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([".json", ".npz"]))
def test_round_trip_of_random_numbers(seed: int, timed: bool, suffix: str) -> None:
    mdp = plant(seed, "D4", timed=timed, density=0.9).mdp
    scale = 10.0 ** np.random.default_rng(seed).integers(-300, 300, size=mdp.R.shape)
    mdp = mdp.replace(R=mdp.R * scale, name='Größe ∑ "quoted" \\ back')
    with tempfile.TemporaryDirectory() as folder:
        assert same(load(mdp.save(Path(folder) / f"m{suffix}")), mdp)


def complaint(path: Path) -> str:
    """What is said about a file; nothing if it can be read."""
    try:
        load(path)
    except (UnreadableFile, InvalidModel) as error:
        return str(error)
    return ""


@pytest.fixture
def good(tmp_path: Path) -> dict[str, Path]:
    mdp = zoo.grid(3)
    return {suffix: save(mdp, tmp_path / f"grid.{suffix}") for suffix in ("json", "npz")}


def arrays_of(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as archive:
        return {k: archive[k] for k in archive.files}


class Bomb:
    """Unpickling this would leave a trace."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_pickles_are_refused_and_never_run(good: dict[str, Path], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    bomb = tmp_path / "bomb.npz"
    arrays = arrays_of(good["npz"])
    for key in ("rewards", "state_names", "format", "data"):
        np.savez(bomb, **(arrays | {key: np.array([Bomb(trace)], dtype=object)}), allow_pickle=True)
        one_sentence(UnreadableFile, lambda: load(bomb), "bomb.npz", "pickle")
    np.savez(bomb, **arrays, extra=np.array([Bomb(trace)], dtype=object))
    assert load(bomb).n_states == 9  # members that the format does not know are not even opened
    bomb.write_bytes(pickle.dumps(Bomb(trace)))
    one_sentence(UnreadableFile, lambda: load(bomb), "pickle")
    as_json = bomb.with_suffix(".json")
    as_json.write_bytes(pickle.dumps(Bomb(trace)))
    one_sentence(UnreadableFile, lambda: load(as_json), "JSON")
    np.save(tmp_path / "array.npy", np.arange(3))
    (tmp_path / "array.npy").rename(bomb)
    one_sentence(UnreadableFile, lambda: load(bomb), "npz")
    assert not trace.exists()


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_damaged_files(good: dict[str, Path], suffix: str, tmp_path: Path) -> None:
    """Cut anywhere or with any byte changed: a sentence, or a file that still says a valid model; never a traceback."""
    content = good[suffix].read_bytes()
    path = tmp_path / f"damaged.{suffix}"
    for cut in [0, 1, 2, 10, *range(20, len(content), max(1, len(content) // 60))]:
        path.write_bytes(content[:cut])
        one_sentence(UnreadableFile, lambda: load(path), "damaged")
    rng = np.random.default_rng(0)
    for place in rng.choice(len(content), size=min(400, len(content)), replace=False):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(changed))
        text = complaint(path)
        assert "\n" not in text and ("damaged" in text or not text)
    for garbage in (
        b"",
        b"garbage",
        b"PK\x03\x04",
        b"\x93NUMPY",
        b"[" * 200_000,
        b"\xff\xfe" * 50,
        b"null",
        b"[]",
        b"{}",
    ):
        path.write_bytes(garbage)
        one_sentence(UnreadableFile, lambda: load(path), "damaged")


def test_missing_and_unknown_files(tmp_path: Path) -> None:
    one_sentence(UnreadableFile, lambda: load(tmp_path / "nowhere.npz"), "no file", "nowhere.npz")
    one_sentence(UnreadableFile, lambda: load(tmp_path / "nowhere.json"), "no file")
    (tmp_path / "folder.json").mkdir()
    one_sentence(UnreadableFile, lambda: load(tmp_path / "folder.json"), "folder.json")
    for name in ("model.pkl", "model", "model.csv", "model.npy"):
        one_sentence(UnreadableFile, lambda name=name: load(tmp_path / name), ".json", ".npz")
        one_sentence(UnreadableFile, lambda name=name: save(zoo.fig2(), tmp_path / name), ".json", ".npz")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder.json"]


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:Casting complex")
@pytest.mark.parametrize(
    "key", ["horizon", "initial", "rewards", "pair_state", "pair_action", "indptr", "indices", "data"]
)
def test_npz_with_a_key_missing_or_wrong(good: dict[str, Path], key: str, tmp_path: Path) -> None:
    arrays = arrays_of(good["npz"])
    path = tmp_path / "wrong.npz"
    np.savez(path, **{k: v for k, v in arrays.items() if k != key})
    one_sentence(UnreadableFile, lambda: load(path), key)
    for value in (
        np.array(["a", "b"]),
        np.zeros((2, 2, 2)),
        np.array([]),
        np.array([np.nan]),
        np.array([-1]),
        np.array(1 + 2j),
    ):
        np.savez(path, **(arrays | {key: value}))
        one_sentence((UnreadableFile, InvalidModel), lambda: load(path), "wrong.npz")  # type: ignore[arg-type]


@pytest.mark.parametrize("key", ["horizon", "states", "initial", "pairs"])
def test_json_with_a_key_missing_or_wrong(good: dict[str, Path], key: str, tmp_path: Path) -> None:
    content = json.loads(good["json"].read_text(encoding="utf-8"))
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({k: v for k, v in content.items() if k != key}))
    one_sentence(UnreadableFile, lambda: load(path), key)
    for value in (None, "word", -3, 1.5, [], {}, [None], [[1, 2], 3], {"a": 1}, True, 10**30):
        if key == "horizon" and value == 10**30:
            continue  # absurd, but a whole number
        path.write_text(json.dumps(content | {key: value}))
        one_sentence((UnreadableFile, InvalidModel), lambda: load(path), "wrong.json")  # type: ignore[arg-type]


def test_json_details(good: dict[str, Path], tmp_path: Path) -> None:
    content = json.loads(good["json"].read_text(encoding="utf-8"))
    path = tmp_path / "wrong.json"
    for field, values in {
        "state": ["a", None, -1, 99], "action": [None, -1], "reward": ["much", None, [1, 2]],
        "next": [None, 5, [[0]], [[0, "all"]], [[99, 1.0]], [[-1, 1.0]], [[0, 0.5]], [], [[0, float("nan")]]],
    }.items():  # fmt: skip
        for value in values:
            changed = json.loads(json.dumps(content))
            changed["pairs"][3][field] = value
            path.write_text(json.dumps(changed))
            one_sentence((UnreadableFile, InvalidModel), lambda: load(path), "wrong.json")  # type: ignore[arg-type]
    for header in ({"format": "other"}, {"version": 2}, {"version": None}, {"actions": 7}, {"actions": [1, 2]}):
        path.write_text(json.dumps(content | header))
        if "actions" in header:
            assert "wrong.json" in complaint(path) or isinstance(load(path).pair_name(0), str)
        else:
            one_sentence(UnreadableFile, lambda: load(path), "wrong.json")
    content["states"] = 9
    del content["actions"], content["name"]
    path.write_text(json.dumps(content))
    mdp = load(path)
    assert (mdp.name, mdp.state_name(3), mdp.action_name(1)) == ("wrong", "s3", "a1")
    assert np.array_equal(dense(mdp)[0], dense(zoo.grid(3))[0])


COIN = {
    "format": "burnside-mdp", "version": 1, "horizon": 3, "states": ["heads", "tails"], "initial": [0.5, 0.5],
    "pairs": [
        {"state": s, "action": a, "reward": 1.0, "next": [[s if a == 0 else 1 - s, 1.0]]}
        for s in (0, 1) for a in (0, 1)
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("next", [[0.5, 1.0]], "pair 2 leads to state 0.5, but states are numbered 0…1: write one of these numbers"),
        ("next", [["heads", 1.0]], "pair 2 leads to state 'heads', but states are numbered 0…1: write 0"),
        ("next", [["1", 1.0]], "pair 2 leads to state '1'"),
        ("next", [[True, 1.0]], "pair 2 leads to state True"),
        ("next", [[7, 1.0]], 'pair 2 leads to state 7, but states are numbered 0…1: correct it, or add'),
        ("next", [[-1, 1.0]], "pair 2 leads to state -1"),
        ("next", [[0, "1"]], "pair 2 has the probability '1': write a number"),
        ("state", 1.5, "pair 2 belongs to state 1.5"),
        ("state", "tails", "pair 2 belongs to state 'tails', but states are numbered 0…1: write 1"),
        ("action", 0.5, "pair 2 has the action 0.5"),
        ("reward", "1.0", "pair 2 has the reward '1.0'"),
        ("reward", [1.0, 0.0, 0.0], "pair 2 has another number of rewards than pair 0"),
    ],
)  # fmt: skip
def test_no_number_of_a_json_file_is_guessed(field: str, value: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "coin.json"
    path.write_text(json.dumps(COIN))
    assert load(path).P.indices.tolist() == [0, 1, 1, 0]
    changed = json.loads(json.dumps(COIN))
    changed["pairs"][2][field] = value
    path.write_text(json.dumps(changed))
    one_sentence(UnreadableFile, lambda: load(path), "coin.json", words)


def test_a_whole_number_may_be_written_with_a_point(tmp_path: Path) -> None:
    changed = json.loads(json.dumps(COIN)) | {"states": 2}
    changed["pairs"][0] |= {"state": 0.0, "next": [[0.0, 1]]}
    path = tmp_path / "coin.json"
    path.write_text(json.dumps(changed))
    assert load(path).P.indices.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("key", "change", "words"),
    [
        ("indices", lambda x: x + 0.5, "indices must be a vector of whole numbers, got float64"),
        ("indices", lambda x: x.astype(float), "indices must be a vector of whole numbers, got float64"),
        ("indptr", lambda x: x.astype(float), "indptr must be a vector of whole numbers"),
        ("data", lambda x: x + 0.5j, "data must be a vector of real numbers, got complex128"),
        ("indices", lambda x: np.where(np.arange(x.size) == 3, 99, x), "pair 2 leads to state 99, but the 9 states"),
        ("indices", lambda x: np.where(np.arange(x.size) == 3, -1, x), "pair 2 leads to state -1"),
        ("horizon", lambda x: np.array(2.5), "horizon must be one whole number, got one float64"),
        ("horizon", lambda x: np.array(True), "horizon must be one whole number, got one bool"),
    ],
)
def test_no_number_of_an_npz_file_is_guessed(
    good: dict[str, Path], key: str, change: Any, words: str, tmp_path: Path
) -> None:
    arrays = arrays_of(good["npz"])
    path = tmp_path / "wrong.npz"
    np.savez(path, **(arrays | {key: change(arrays[key])}))
    one_sentence(UnreadableFile, lambda: load(path), "wrong.npz", words)
