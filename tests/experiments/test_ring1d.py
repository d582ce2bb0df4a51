"""The 1D experiment: cells resume to the same bits, the table is honest about censoring, the report draws it."""

from pathlib import Path

import numpy as np
import pytest

from burnside.agents.dqn.config import DQNConfig, Member
from burnside.agents.dqn.native import advance
from burnside.agents.dqn.state import new_state
from burnside.cli import main
from burnside.envs.ring import RingSpec
from burnside.errors import UnknownName, UnreadableFile
from burnside.experiments.registry import EXPERIMENTS
from burnside.experiments.ring1d import PAPER, PRESETS, Ring1D
from burnside.experiments.ring1d.analysis import by_rule, growth, ratios, table, times
from burnside.experiments.ring1d.run import _pack, _row, _unpack
from burnside.report.ring1d import curves_plot, times_plot
from burnside.runs import read_results, sweep


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ring1d")
    outcome = sweep(Ring1D(), "smoke", folder, workers=0, progress="none")
    assert outcome.ok and len(outcome.done) == 2
    return folder


def test_the_study_is_the_papers() -> None:
    plan = PRESETS["study"]
    assert plan.sizes == (5, 10, 15, 20, 25, 30, 35, 40, 50) and plan.seeds == 10 and plan.episodes == 10_000
    assert {n for n, _ in PAPER} == {5, 10, 15, 20, 25, 30, 35, 40}
    cells = Ring1D().plan("study")
    assert len({cell.name for cell in cells}) == len(cells)
    seeds = [
        s for cell in cells for s in cell.seeds if cell.config["n"] == 40 and cell.config["condition"] == "baseline"
    ]
    assert sorted(seeds) == list(range(10))
    with pytest.raises(UnknownName, match="laptop"):
        Ring1D().plan("laptp")


def test_a_checkpoint_between_episodes_changes_no_bit() -> None:
    spec, config = RingSpec(5), DQNConfig.preset("ring1d")
    straight = [new_state(config, spec, Member(s, "canonical")) for s in (3, 8)]
    broken = [new_state(config, spec, Member(s, "canonical")) for s in (3, 8)]
    for state in straight:
        advance(state, 60)
    for state in broken:
        advance(state, 25)
    kept = {name: np.array(array) for name, array in _pack(broken).items()}
    fresh = [new_state(config, spec, Member(s, "canonical")) for s in (3, 8)]
    _unpack(fresh, kept)
    for state in fresh:
        advance(state, 35)
    for a, b in zip(straight, fresh, strict=True):
        assert np.array_equal(a.log, b.log)
        for x, y in zip(a.arrays, b.arrays, strict=True):
            assert x.tobytes() == y.tobytes()


def test_rows_count_from_one_and_censor_at_the_budget() -> None:
    state = advance(new_state(DQNConfig.preset("ring1d"), RingSpec(5), Member(0)), 120)
    row = _row(state, [0.0], 100)
    assert row["train95"] == 120 and row["train95_solved"] is False
    assert row["train95_steps"] == row["total_steps"] == int(state.log[-1, 4])
    state.log[:, 0] = 10.0  # as if every episode had been perfect
    row = _row(state, [10.0], 100)
    assert row["train95"] == 100 and row["train95_solved"] and not row["greedy95_solved"]
    assert _row(state, [10.0] * 3, 100)["greedy95"] == 100


def test_table_and_its_readings(smoke: Path) -> None:
    rows = table(smoke)
    assert [(r["n"], r["condition"], r["seeds"], r["budget"]) for r in rows] == [
        (5, "baseline", 2, 150),
        (5, "canonical", 2, 150),
    ]
    assert set(rows[0]) >= {
        "n", "condition", "seeds", "solved", "mean", "se", "restricted_mean", "median", "budget", "paper_mean",
        "paper_se",
    }  # fmt: skip
    assert rows[0]["paper_mean"] == 280.5
    assert rows[0]["mean"] is None and rows[0]["restricted_mean"] == 150  # nobody solves it in 150 episodes
    assert set(by_rule(smoke)) == {"train95", "train90", "greedy95"}
    results = read_results(smoke)
    assert times(results, 5, "baseline").censored == 2
    assert ratios(results)[5].ratio == 1 and growth(results, "baseline") is None


def test_figures(smoke: Path, tmp_path: Path) -> None:
    results = read_results(smoke)
    for figure in (times_plot(results), curves_plot(results)):
        assert all(path.stat().st_size > 60 for path in figure.save(tmp_path))
    assert "censored" in times_plot(results).caption


def test_commands(smoke: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "ring1d" in EXPERIMENTS
    assert main(["table", "ring1d", "--runs", str(smoke), "--json", "--compact", str(tmp_path / "small")]) == 0
    shown = capsys.readouterr().out
    assert '"paper_mean": 280.5' in shown
    assert table(tmp_path / "small") == table(smoke)
    assert main(["table", "ring1d", "--runs", str(tmp_path / "nowhere")]) == 2
    assert main(["sweep", "ring1", "--preset", "smoke"]) == 2
    assert "did you mean 'ring1d'" in capsys.readouterr().err


def test_missing_cells_fail_the_table_unless_allowed(smoke: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "copy"
    shutil.copytree(smoke, folder)
    next((folder / "cells").glob("*/result.json")).unlink()
    with pytest.raises(UnreadableFile):
        table(folder)
    assert len(table(folder, allow_missing=True)) == 1
