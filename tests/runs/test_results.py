"""Reading results: a missing cell fails, the compact form says the same, damage is one sentence."""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runs.toy import ToyJob, snapshot, table

from burnside.errors import DamagedFile, InvalidParameter, MissingExtra, UnknownName, UnreadableFile
from burnside.runs import Cell, Context, read_results, sweep
from burnside.runs.folder import CellFolder, Progress
from burnside.runs.lock import is_free
from burnside.runs.results import compact


@dataclass(frozen=True)
class GivenJob:
    """Returns what it was given, for every kind of good and bad result."""

    results: tuple[Any, ...]

    def plan(self, preset: str) -> Sequence[Cell]:
        return [Cell("given", {"k": k, "nested": {"deep": [1]}}) for k in range(len(self.results))]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.results[cell.config["k"]]
        return found


def run(folder: Path, *results: Any) -> Any:
    return sweep(GivenJob(results), "smoke", folder, workers=0, progress="none")


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    assert sweep(ToyJob(50), "laptop", tmp_path / "runs", workers=0, progress="none").ok
    return tmp_path / "runs"


def test_rows_carry_the_config_and_the_labels_of_seeds(swept: Path) -> None:
    rows = table(swept)
    assert len(rows) == 8 and [row["seed"] for row in rows[:2]] == [7, 3]
    assert list(rows[0]) == ["cell", "n", "steps", "seed", "value"]


@dataclass(frozen=True)
class MixedJob:
    """A setting that is a word in one cell and a whole declaration in the other; perhaps with tables that differ."""

    differ: bool = False

    def plan(self, preset: str) -> Sequence[Cell]:
        return [Cell("mixed", {"k": k, "symmetry": value}) for k, value in enumerate(("atlas", {"group": "mirror"}))]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        more = {"extra": np.arange(2)} if self.differ and cell.config["k"] else {}
        context.save("scores", {"step": np.arange(2)} | more)
        return {"rows": [{"value": 1.0}]}


def test_a_setting_that_is_plain_in_some_cells_only_is_left_out_of_tables(tmp_path: Path) -> None:
    assert sweep(MixedJob(), "smoke", tmp_path / "runs", workers=0, progress="none").ok
    found = read_results(tmp_path / "runs")
    assert found.table("scores")["k"].tolist() == [0, 0, 1, 1] and "symmetry" not in found.table("scores")
    assert [row.get("symmetry") for row in found.rows] == ["atlas", None]
    assert sweep(MixedJob(differ=True), "smoke", tmp_path / "other", workers=0, progress="none").ok
    with pytest.raises(InvalidParameter, match="other columns than the cells before"):
        read_results(tmp_path / "other").table("scores")


def test_a_missing_cell_fails_unless_allowed(swept: Path) -> None:
    gone = ToyJob(50).plan("laptop")[2]
    (swept / "cells" / gone.name / "result.json").unlink()
    with pytest.raises(UnreadableFile, match=r"1 of 4 cells .* have no result \(n=2 steps=50 seeds=7,3\)"):
        read_results(swept)
    found = read_results(swept, allow_missing=True)
    assert len(found.rows) == 6 and found.missing == (gone.title,)
    with pytest.raises(UnreadableFile, match="have no result"):
        compact(swept, swept.parent / "compact")
    small = compact(swept, swept.parent / "compact", allow_missing=True)
    with pytest.raises(UnreadableFile, match="have no result"):  # the compact form remembers
        read_results(small)
    assert read_results(small, allow_missing=True).missing == (gone.title,)


def test_only_one_preset_is_read_if_asked(swept: Path) -> None:
    assert sweep(ToyJob(50), "study", swept, workers=0, progress="none").ok
    assert len(read_results(swept).rows) == 12
    assert len(read_results(swept, preset="laptop").rows) == 8
    with pytest.raises(UnreadableFile, match="no plan in it"):
        read_results(swept, preset="paper")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_the_compact_form_says_the_same(swept: Path, tmp_path: Path, format: Any) -> None:
    if format == "parquet":
        pytest.importorskip("polars", reason="polars is not installed: pip install 'burnside[learn]'")
    small = compact(swept, tmp_path / "results", format=format)
    whole, again = read_results(swept), read_results(small)
    assert again.rows == whole.rows and again.tables == whole.tables == ["curve"]
    for name, column in whole.table("curve").items():
        other = again.table("curve")[name]
        assert other.dtype.kind == column.dtype.kind
        np.testing.assert_array_equal(other, column)
    text = (small / "manifest.json").read_text()
    assert str(tmp_path) not in text and json.loads(text)["sweeps"][0]["commit"] is not Ellipsis
    with pytest.raises(UnreadableFile, match="only: curve"):
        again.table("curves")


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_every_kind_of_scalar_survives(tmp_path: Path, format: Any) -> None:
    if format == "parquet":
        pytest.importorskip("polars", reason="polars is not installed: pip install 'burnside[learn]'")
    rows = [
        {"seed": 0, "x": 1, "ok": True, "word": "", "none": None, "late": None},
        {"seed": 1, "x": 0.1 + 0.2, "ok": False, "word": 'a, "b"\nc', "none": None, "late": "here"},
        {"seed": 2, "x": 1e-300, "ok": None, "word": "12", "none": None},
    ]
    assert run(tmp_path / "runs", {"rows": rows}).ok
    found = read_results(compact(tmp_path / "runs", tmp_path / "out", format=format)).rows
    keys = ("seed", "x", "ok", "word", "none", "late")
    assert [{k: r[k] for k in keys} for r in found] == [{k: r.get(k) for k in keys} for r in rows]
    assert [type(r["ok"]) for r in found] == [bool, bool, type(None)]


def test_a_result_without_rows_is_one_row_of_its_scalars(tmp_path: Path) -> None:
    assert run(tmp_path, {"total": 3, "curve": [1, 2]}).ok
    (row,) = read_results(tmp_path).rows
    assert row["total"] == 3 and "curve" not in row


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ({"x": float("nan")}, "the result['x'] is nan, which JSON cannot keep: use None"),
        ({"x": np.float64(1)}, "is a float64"),
        ({"rows": {"a": 1}}, "must be a list of dicts"),
        ({"rows": [{"a": [1]}]}, "scalars only"),
    ],
)
def test_results_that_cannot_be_kept_fail_their_cell(tmp_path: Path, result: Any, sentence: str) -> None:
    (message,) = run(tmp_path, result).failed.values()
    assert sentence in message


def test_contradictions_are_refused(tmp_path: Path) -> None:
    assert run(tmp_path / "a", {"rows": [{"k": 5}]}).ok
    with pytest.raises(InvalidParameter, match="its config otherwise"):
        read_results(tmp_path / "a")
    assert run(tmp_path / "b", {"rows": [{"x": "word"}, {"x": 1}]}).ok
    with pytest.raises(InvalidParameter, match="mixes int and str"):
        compact(tmp_path / "b", tmp_path / "c")


def test_damage_is_one_sentence(swept: Path, tmp_path: Path) -> None:
    small = compact(swept, tmp_path / "small", format="csv")
    (small / "rows.csv").write_text("seed\nnot json\n")
    with pytest.raises(DamagedFile, match="it is not the one that was written"):
        read_results(small)
    (small / "manifest.json").write_text("{")
    with pytest.raises(UnreadableFile, match="damaged"):
        read_results(small)
    manifest = (swept / "manifest.json").read_text()
    (swept / "manifest.json").write_text("{")
    with pytest.raises(UnreadableFile, match="delete it, and run the command that made it again"):
        read_results(swept)
    (swept / "manifest.json").write_text(manifest)
    next(swept.glob("cells/*/result.json")).write_text("{}")
    with pytest.raises(UnreadableFile, match="run the sweep again, which runs this cell anew"):
        read_results(swept)
    next(swept.glob("plan-*.json")).write_text("{}")
    with pytest.raises(UnreadableFile, match="plan"):
        read_results(swept)
    with pytest.raises(UnreadableFile, match="no plan"):
        read_results(tmp_path / "nothing")


def test_parquet_without_polars_names_its_extra(swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtra, match=r"burnside\[learn\]"):
        compact(swept, tmp_path / "out", format="parquet")
    assert (compact(swept, tmp_path / "out") / "rows.csv").exists()


def test_plans_are_checked(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Twice(GivenJob):
        def plan(self, preset: str) -> Sequence[Cell]:
            return [*super().plan(preset), *super().plan(preset)]

    with pytest.raises(InvalidParameter, match="same cell twice"):
        sweep(Twice(({},)), "smoke", tmp_path, workers=0)
    with pytest.raises(InvalidParameter, match="no cells"):
        run(tmp_path)
    with pytest.raises(UnknownName, match="preset"):
        sweep(ToyJob(), "huge", tmp_path)


def test_cells_are_checked() -> None:
    for bad in ({"x": float("nan")}, {"x": np.int64(1)}, {1: 2}):
        with pytest.raises(InvalidParameter):
            Cell("toy", bad)  # type: ignore[arg-type]
    for seeds in ((), (1, 1), (-1,), (True,)):
        with pytest.raises(InvalidParameter, match="seed"):
            Cell("toy", {}, seeds)
    assert Cell("toy", {"sizes": (1, 2)}).name == Cell("toy", {"sizes": [1, 2]}).name
    assert Cell("toy", {}, (7, 3)).name != Cell("toy", {}, (3, 7)).name


def test_finished_cells_never_run_again_and_a_fresh_sweep_can_be_demanded(swept: Path) -> None:
    again = sweep(ToyJob(50, fail=(0, 1, 2, 3)), "laptop", swept, progress="none")
    assert len(again.skipped) == 4 and again.ok
    with pytest.raises(InvalidParameter, match="4 cells of this plan have been begun"):
        sweep(ToyJob(50), "laptop", swept, resume=False)


def test_a_sweep_of_some_cells_is_added_to_results_that_lack_them(swept: Path, tmp_path: Path) -> None:
    part, rest, out = tmp_path / "part", tmp_path / "rest", tmp_path / "compact"
    assert len(sweep(ToyJob(50), "laptop", part, workers=0, progress="none", only={"n": 2}).done) == 1
    for n in (0, 1, 2, 3):
        sweep(ToyJob(50), "laptop", rest if n != 2 else part, workers=0, progress="none", only={"n": n})
        compact(rest if n != 2 else part, out, add=n > 0, allow_missing=True)
    whole = read_results(swept)
    found = read_results(out)

    def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rows, key=lambda row: (row["n"], row["seed"]))

    assert ordered(found.rows) == ordered(whole.rows)
    assert sorted(found.table("curve")["seen"]) == sorted(whole.table("curve")["seen"])
    assert len(found.manifest["cells"]) == 4
    # A run that lacks a cell does not remove it from the results; a run that has it completes them.
    again = tmp_path / "again"
    sweep(ToyJob(50, fail=(1,)), "laptop", again, workers=0, progress="none")
    compact(again, out, add=True, allow_missing=True)
    assert ordered(read_results(out).rows) == ordered(whole.rows)
    new = compact(again, tmp_path / "new", allow_missing=True)
    assert len(read_results(new, allow_missing=True).missing) == 1
    sweep(ToyJob(50), "laptop", again, workers=0, progress="none")
    compact(again, new, add=True)
    assert ordered(read_results(new).rows) == ordered(whole.rows)
    # Some cells run again or on top of others: the plan of the folder keeps the others.
    sweep(ToyJob(50), "laptop", again, workers=0, progress="none", only={"n": 2})
    assert ordered(read_results(again).rows) == ordered(whole.rows)
    with pytest.raises(UnknownName, match="steps"):
        sweep(ToyJob(50), "laptop", part, workers=0, progress="none", only={"stps": 2})
    with pytest.raises(InvalidParameter, match="no cell of the plan has n=9"):
        sweep(ToyJob(50), "laptop", part, workers=0, progress="none", only={"n": 9})


@dataclass(frozen=True)
class NewerJob:
    """A cell whose setting came later than the others; perhaps with another table."""

    newer: dict[str, Any]
    column: str = "step"

    def plan(self, preset: str) -> Sequence[Cell]:
        return [Cell("newer", {"k": len(self.newer), **self.newer})]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        context.save("scores", {self.column: np.arange(2)})
        return {"rows": [{"value": 1.0}]}


def test_cells_with_a_newer_setting_are_added_to_older_results(tmp_path: Path) -> None:
    for name, job in (("old", NewerJob({})), ("new", NewerJob({"variant": "x"})), ("odd", NewerJob({"a": 1}, "other"))):
        assert sweep(job, "smoke", tmp_path / name, workers=0, progress="none").ok
    compact(tmp_path / "old", tmp_path / "out")
    compact(tmp_path / "new", tmp_path / "out", add=True)
    found = read_results(tmp_path / "out")
    assert [row.get("variant") for row in found.rows] == [None, "x"]
    assert found.table("scores")["k"].tolist() == [0, 0, 1, 1] and "variant" not in found.table("scores")
    with pytest.raises(InvalidParameter, match="other columns than the results"):
        compact(tmp_path / "odd", tmp_path / "out", add=True)


def shot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_compacting_never_drops_results_by_accident(swept: Path, tmp_path: Path, format: Any) -> None:
    """A run of some cells over results of more: refused, unless the user chose what to do."""
    part = tmp_path / "part"
    sweep(ToyJob(50), "laptop", part, workers=0, progress="none", only={"n": 2})
    out = compact(swept, tmp_path / "out", format=format)
    before = shot(out)
    with pytest.raises(InvalidParameter, match="has results of 3 cells that this run does not have: --add keeps them"):
        compact(part, out, format=format)
    with pytest.raises(InvalidParameter, match="give one of them"):
        compact(part, out, format=format, add=True, replace=True)
    assert shot(out) == before
    compact(part, out, format=format, add=True)
    assert len(read_results(out).rows) == 8
    compact(part, out, format=format, replace=True)
    assert len(read_results(out).rows) == 2
    compact(swept, out, format=format)  # more than there was is fine
    assert shot(out).keys() == before.keys() and len(read_results(out).rows) == 8
    with pytest.raises(InvalidParameter, match="is the folder of a sweep"):
        compact(swept, part, format=format)
    with pytest.raises(InvalidParameter, match="holds compact results, which a sweep would spoil"):
        sweep(ToyJob(50), "laptop", out, workers=0, progress="none")
    (out / "manifest.json").write_text("{}")
    with pytest.raises(DamagedFile):  # what is there cannot be known
        compact(swept, out, format=format)
    assert read_results(compact(swept, out, format=format, replace=True)).rows


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_a_damaged_table_leaves_no_half_of_an_output(swept: Path, tmp_path: Path, format: Any) -> None:
    table_file = next(swept.glob("cells/*/table-curve.npz"))
    table_file.write_bytes(table_file.read_bytes()[:-40])
    with pytest.raises(DamagedFile, match=r"the table 'curve' of n=.* is damaged .* run the sweep again"):
        compact(swept, tmp_path / "out", format=format)
    assert not (tmp_path / "out").exists()
    assert len(sweep(ToyJob(50), "laptop", swept, workers=0, progress="none").done) == 1
    out = compact(swept, tmp_path / "out", format=format)
    before = shot(out)
    name = f"curve.{'parquet' if format == 'parquet' else 'npz'}"
    (out / name).write_bytes(before[name][:-40])
    with pytest.raises(DamagedFile, match=f"the file .*{name} is damaged"):
        read_results(out).table("curve")
    with pytest.raises(DamagedFile, match=f"{name} is damaged"):
        compact(out, tmp_path / "again", format=format)
    assert not (tmp_path / "again").exists()
    (out / name).unlink()
    with pytest.raises(UnreadableFile, match="there is no file"):
        read_results(out).table("curve")


def test_parquet_of_before_checksums(swept: Path, tmp_path: Path) -> None:
    """Whatever polars raises for damage, also a panic of Rust, becomes one sentence."""
    out = compact(swept, tmp_path / "out", format="parquet")
    manifest = json.loads((out / "manifest.json").read_text())
    del manifest["sha256"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert len(read_results(out).table("curve")["seen"]) == 20
    content = (out / "curve.parquet").read_bytes()
    for changed in (b"", b"PAR1", content[:-9], content[4:], content[:-12] + b"\xff" * 4 + content[-8:]):
        (out / "curve.parquet").write_bytes(changed)
        with pytest.raises(DamagedFile, match=r"curve\.parquet is damaged"):
            read_results(out).table("curve")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("files", ["../secret.csv"]),
        ("files", ["/etc/passwd"]),
        ("files", ["rows.pkl"]),
        ("files", [7]),
        ("files", "rows.csv"),
        ("files", None),
        ("missing", 3),
        ("cells", [{"name": "x"}]),
        ("cells", [1]),
        ("cells", {}),
        ("types", [1]),
        ("sha256", [1]),
        ("cell_seconds", []),
        ("sweeps", {"a": 1}),
        ("format", 0),
        ("format", True),
    ],
)
def test_manifests_are_checked(key: str, value: Any, swept: Path, tmp_path: Path) -> None:
    out = compact(swept, tmp_path / "out", format="csv")
    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {key: value}))
    with pytest.raises(DamagedFile, match=r"manifest\.json is damaged or of another version"):
        read_results(out)


def test_a_plan_that_was_changed(swept: Path) -> None:
    """The name of a cell is a hash of its config: a plan cannot ask for another one under it."""
    plan = next(swept.glob("plan-*.json"))
    content = json.loads(plan.read_text())
    content["cells"][0]["config"]["n"] = 99
    plan.write_text(json.dumps(content))
    with pytest.raises(DamagedFile, match=r"the plan .* is damaged"):
        read_results(swept)


def test_files_of_a_running_cell_do_not_stop_a_sweep(tmp_path: Path) -> None:
    """Files about progress, locks and time spent may be lost or wrong."""
    cell = ToyJob(50).plan("smoke")[0]
    folder = CellFolder(tmp_path, cell)
    folder.make()
    for words in (
        '{"done": "x", "total": [], "resumed": null, "seconds": {}}',
        '{"done": 1e400}',
        "[]",
        "\xff",
        "9" * 9000,
    ):
        for name in ("progress.json", "about.json", "lock"):
            (folder.path / name).write_bytes(words.encode("latin-1"))
        assert folder.progress() is None and isinstance(folder.about(), dict)
        assert not is_free(folder.lock)  # it may have been made a moment ago
    os.utime(folder.lock, (0, 0))
    assert is_free(folder.lock)
    (folder.path / "progress.json").write_text('{"done": 5, "total": 10, "resumed": 0, "seconds": 2.5}')
    assert folder.progress() == Progress(5, 10, 0, 2.5)
    assert sweep(ToyJob(50), "smoke", tmp_path, workers=0, progress="none").ok


def test_equal_sweeps_give_equal_files(tmp_path: Path) -> None:
    """Tables too: they used to carry the moment they were written."""
    for name in ("a", "b"):
        assert sweep(ToyJob(50), "smoke", tmp_path / name, workers=0, progress="none").ok
        time.sleep(2.1 if name == "a" else 0)  # the clock of a zip ticks every two seconds
    assert snapshot(tmp_path / "a") == snapshot(tmp_path / "b")
    assert any(name.endswith(".npz") for name in snapshot(tmp_path / "a"))


@dataclass(frozen=True)
class SeedsJob(ToyJob):
    """Cells of one seed each."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """Six seeds of one setting."""
        return [Cell("toy", {"n": 0, "steps": self.steps}, seeds=(seed,)) for seed in range(6)]


def test_seeds_can_be_chosen(tmp_path: Path) -> None:
    def run(which: object) -> set[int]:
        folder = tmp_path / str(which)
        sweep(SeedsJob(5), "laptop", folder, workers=0, progress="none", only={"n": 0, "seeds": which})
        return {cell["seeds"][0] for cell in json.loads((folder / "plan-laptop.json").read_text())["cells"]}

    assert (run(4), run("2-4")) == ({4}, {2, 3, 4})
    with pytest.raises(InvalidParameter, match="one seed, or the first and the last"):
        run("2,4")
    with pytest.raises(InvalidParameter, match="no cell of the plan has n=0, seeds=7"):
        run(7)
    with pytest.raises(InvalidParameter, match="no cell of the plan"):  # the toy's cells have the seeds 7 and 3
        sweep(ToyJob(5), "laptop", tmp_path / "both", workers=0, progress="none", only={"seeds": 7})
