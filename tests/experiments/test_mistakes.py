"""The mistakes experiment: kept runs are used, tables and figures come from them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from burnside.cli import main
from burnside.experiments.mistakes import PRESETS, Mistakes
from burnside.experiments.mistakes.analysis import COLUMNS, comparisons, growth, mean_error, rows, summarise, table
from burnside.experiments.mistakes.config import Setting
from burnside.experiments.mistakes.run import RunArchive
from burnside.experiments.registry import EXPERIMENTS
from burnside.learning import Comparison, compare
from burnside.report.mistakes import growth_plot, ratio_plot
from burnside.runs import sweep
from burnside.runs.folder import CellFolder
from burnside.runs.results import committed, compact

RING = Setting("slip-ring", {"n": 5}, "Z", scale=1.0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[Setting]:
    """The preset 'smoke' of these tests: two rings and the default symmetry of a river, two seeds."""
    settings = [RING, Setting("slip-ring", {"n": 8}, "Z", scale=1.0), Setting("river", {"length": 4}, scale=1.0)]
    monkeypatch.setitem(PRESETS, "smoke", (settings, 2))
    return settings


def measured(settings: Sequence[Setting], seeds: int) -> list[tuple[Setting, Comparison]]:
    def one(s: Setting) -> Comparison:
        return compare(s.build(), s.symmetry, s.learner, s.eps, s.delta, seeds=seeds, scale=s.scale, **s.options)

    return [(setting, one(setting)) for setting in settings]


def test_the_sweep_measures_what_compare_does(small: list[Setting], tmp_path: Path) -> None:
    outcome = sweep(EXPERIMENTS["mistakes"], "smoke", tmp_path / "runs", workers=0, progress="none")
    assert outcome.ok and len(outcome.done) == 3 * 2 * 2, outcome.failed
    found = comparisons(tmp_path / "runs")
    expected = measured(small, 2)
    assert [setting for setting, _ in found] == small
    for (_, one), (_, two) in zip(found, expected, strict=True):
        assert one.to_dict() | {"model": ""} == two.to_dict() | {"model": ""}
        assert [run.mistakes([0.05, 0.2]).tolist() for run in one.on_m] == [
            run.mistakes([0.05, 0.2]).tolist() for run in two.on_m
        ]  # the gaps are kept, not only their counts
    assert table(tmp_path / "runs") == rows(expected)
    assert sweep(Mistakes(), "smoke", tmp_path / "runs", workers=0, progress="none").done == ()
    compact(tmp_path / "runs", tmp_path / "compact")
    assert table(tmp_path / "compact") == table(tmp_path / "runs")


def test_settings_without_a_finished_run_on_both_sides_are_left_out(small: list[Setting], tmp_path: Path) -> None:
    only = {"side": "M"}
    assert sweep(Mistakes(), "smoke", tmp_path, workers=0, progress="none", only=only).ok
    assert table(tmp_path, allow_missing=True) == []


def test_the_committed_table_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    folder = committed("mistakes")
    assert folder is not None
    first = table(folder)[0]
    assert tuple(first) == COLUMNS and first["model"] == "slip-ring(n=5) / Z" and first["bound"] is None
    assert (first["seeds"], first["mistakes M"]) == (10, 215.2)
    assert main(["table", "mistakes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0] == first


def test_summary_and_figures(tmp_path: Path) -> None:
    settings = [RING, Setting("slip-ring", {"n": 8}, "Z", scale=1.0)]
    results = measured(settings, 2)
    found = rows(results)
    assert tuple(found[0]) == COLUMNS and found[0]["joint"] == 5
    assert mean_error(results, "reachable") >= 1
    slopes = growth(results)
    assert set(slopes) == {"M, c = 1", "quotient, c = 1"} and slopes["M, c = 1"].exponent > 0
    assert summarise(results).errors["order"] == mean_error(results, "order")
    capped = replace(results[1][1], on_m=tuple(replace(run, capped=True) for run in results[1][1].on_m))
    assert set(growth([results[0], (settings[1], capped)])) == {"quotient, c = 1"}  # of M only a lower bound is known
    for figure in (ratio_plot(results), growth_plot(results)):
        files = figure.save(tmp_path / "figures")
        assert [f.suffix for f in files] == [".svg", ".png", ".csv"] and all(f.stat().st_size > 60 for f in files)


def test_single_seed_is_watermarked() -> None:
    assert "single seed" in ratio_plot(measured([RING], 1)).svg


def test_presets_build() -> None:
    for settings, seeds in PRESETS.values():
        assert seeds >= 2
        for setting in settings:
            assert setting.build().symmetry(setting.symmetry).order


def test_a_kept_run_that_cannot_be_used_is_made_again(tmp_path: Path) -> None:
    archive = RunArchive(tmp_path, {"a": 1})
    (run, *_) = measured([RING], 1)[0][1].on_m
    archive.save(run)
    again = archive.load(0, 0)
    assert again is not None and again.to_dict(gaps=True) == run.to_dict(gaps=True)
    (cell,) = (tmp_path / "cells").iterdir()
    (cell / "result.json").write_text("{")
    assert archive.load(0, 0) is None
    with pytest.warns(UserWarning, match="its result is damaged"):
        archive.save(run)
    assert archive.load(0, 0) is not None and (cell / "result.json.damaged").exists()
    assert CellFolder(tmp_path, archive._cell(0, 0).cell).path == cell and archive.load(1, 0) is None


def test_measure_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    argv = ["measure", "slip-ring", "--n", "5", "--seeds", "2", "--runs", str(tmp_path), "--json"]
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= {"mistakes", "ratio", "joint", "reachable", "order", "paper"}
    assert len(found["mistakes"]["M"]) == len(found["mistakes"]["quotient"]) == 2
    assert (found["joint"], found["reachable"], found["order"], found["paper"]) == (5, 5, 5, 5)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*/result.json")}
    assert len(kept) == 4
    assert main(argv) == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*/result.json")} == kept
    assert json.loads(capsys.readouterr().out) == found


@pytest.mark.parametrize(
    ("options", "hint"),
    [(["--eps", "0"], "eps"), (["--delta", "1"], "delta"), (["--seeds", "0"], "seeds"), (["--scale", "-1"], "scale")],
)
def test_measure_bad_input(capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], hint: str) -> None:
    assert main(["measure", "slip-ring", "--n", "5", "--runs", str(tmp_path), *options]) == 2
    assert hint in capsys.readouterr().err


def test_bounds_and_cover_commands(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--states", "100", "--pairs", "400", "--succ", "2", "--horizon", "10", "--eps", "1", "--delta", "0.1"]
    assert main(["bounds", *sizes, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["explicit"]["episodes"] == pytest.approx(6.67637e14, rel=1e-5)
    assert found["explicit"]["m"] == pytest.approx(2.73884e9, rel=1e-5)
    assert set(found["lower"]) >= {"value", "valid"} and found["lower"]["valid"] is False
    assert main(["cover", "so3/O24", "--alpha", "0.5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["lower"] <= found["numeric"] and found["upper"] >= found["lower"] >= 1
    assert main(["cover", "so4", "--alpha", "0.5"]) == 2
    assert "did you mean" in capsys.readouterr().err
