"""Kept results: found again, never half written, damaged ones refused with one sentence."""

from pathlib import Path

import pytest

from burnside.runs.cells import CellStore, cell_name


def test_names_depend_on_every_value_and_on_no_order() -> None:
    base = {"n": 5, "seed": 0, "options": {"c": 0.3}}
    assert cell_name(base) == cell_name({"options": {"c": 0.3}, "seed": 0, "n": 5})
    assert len({cell_name(base), cell_name(base | {"seed": 1}), cell_name(base | {"options": {"c": 0.31}})}) == 3


def test_a_finished_cell_is_found_and_others_are_not(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "deep" / "folder")
    assert store.load({"seed": 0}) is None
    store.save({"seed": 0}, {"mistakes": [1, 2]})
    assert store.load({"seed": 0}) == {"mistakes": [1, 2]}
    assert store.load({"seed": 1}) is None
    assert [p.suffix for p in (tmp_path / "deep" / "folder").iterdir()] == [".json"]


@pytest.mark.parametrize("damage", ["", "{", '{"format": 99}', "[]", "null", "[" * 100_000, "same with x = 2", "\xff"])
def test_a_damaged_cell_is_put_aside_and_made_again(tmp_path: Path, damage: str) -> None:
    store = CellStore(tmp_path)
    path = store.save({"seed": 0}, {"x": 1})
    changed = path.read_text().replace('"x": 1', '"x": 2') if damage.startswith("same") else damage
    path.write_bytes(changed.encode("latin-1"))
    with pytest.warns(UserWarning, match="is damaged or of another version: it is made again"):
        assert store.load({"seed": 0}) is None
    assert store.load({"seed": 0}) is None  # and now it is only missing
    assert [path.name for path in tmp_path.iterdir()] == [f"{path.name}.damaged"]
    store.save({"seed": 0}, {"x": 1})
    assert store.load({"seed": 0}) == {"x": 1}


def test_a_write_that_fails_leaves_the_old_result(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    store.save({"seed": 0}, {"x": 1})
    with pytest.raises(ValueError, match="JSON"):
        store.save({"seed": 0}, {"x": float("nan")})
    assert store.load({"seed": 0}) == {"x": 1}
    assert len(list(tmp_path.iterdir())) == 1
