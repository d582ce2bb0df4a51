"""The mistakes experiment: kept runs are used, tables and figures come from them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from burnside.cli import main
from burnside.experiments.mistakes import PRESETS, measure, run_preset
from burnside.experiments.mistakes.analysis import COLUMNS, growth, mean_error, rows, summarise
from burnside.experiments.mistakes.config import Setting
from burnside.report.mistakes import growth_plot, ratio_plot
from burnside.runs.cells import CellStore

RING = Setting("slip-ring", {"n": 5}, "Z", scale=1.0)


def test_kept_runs_are_not_run_again(tmp_path: Path) -> None:
    store = CellStore(tmp_path)
    first = measure(RING, [0, 1], store=store)
    files = {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()}
    assert len(files) == 4
    again = measure(RING, [0, 1], store=store)
    assert again.to_dict() == first.to_dict()
    assert {p: p.stat().st_mtime_ns for p in tmp_path.iterdir()} == files
    more = measure(RING, [0, 1, 2], store=store)
    assert more.to_dict()["mistakes"]["M"][:2] == first.to_dict()["mistakes"]["M"]


def test_summary_and_figures(tmp_path: Path) -> None:
    store = CellStore(tmp_path / "cells")
    settings = [RING, Setting("slip-ring", {"n": 8}, "Z", scale=1.0)]
    results = [(s, measure(s, 2, store=store)) for s in settings]
    table = rows(results)
    assert tuple(table[0]) == COLUMNS and table[0]["joint"] == 5
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
    results = [(RING, measure(RING, 1))]
    assert "single seed" in ratio_plot(results).svg


def test_presets_build() -> None:
    for settings, seeds in PRESETS.values():
        assert seeds >= 2
        for setting in settings:
            assert setting.build().symmetry(setting.symmetry).order


def test_smoke_preset_runs(tmp_path: Path) -> None:
    results = run_preset("smoke", store=CellStore(tmp_path))
    assert len(results) == 1 and results[0][1].ratio.value > 1


def test_measure_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    argv = ["measure", "slip-ring", "--n", "5", "--seeds", "2", "--runs", str(tmp_path), "--json"]
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) >= {"mistakes", "ratio", "joint", "reachable", "order", "paper"}
    assert len(found["mistakes"]["M"]) == len(found["mistakes"]["quotient"]) == 2
    assert (found["joint"], found["reachable"], found["order"], found["paper"]) == (5, 5, 5, 5)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 4
    assert main(argv) == 0
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
