"""The 1D experiment: cells resume to the same bits, the table is honest about censoring, the report draws it."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.dqn.config import DQNConfig
from burnside.agents.dqn.learner import ring_learner
from burnside.cli import main
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.scenes import RingScenes, SeenFromGoal
from burnside.envs.ring.symmetry import RollToGoal
from burnside.errors import InvalidParameter, UnknownName, UnreadableFile
from burnside.experiments.arms import KEY, read_arms
from burnside.experiments.registry import EXPERIMENTS
from burnside.experiments.ring1d import PAPER, PRESETS, Plan, Ring1D
from burnside.experiments.ring1d.analysis import _ratios, by_rule, growth, ratios, returns_by_part, table, times
from burnside.experiments.ring1d.config import VARIANTS
from burnside.experiments.ring1d.run import _row, variant_of
from burnside.report.ring1d import curves_plot, returns_plot, times_plot
from burnside.runs import sweep


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
    hard = [cell for cell in cells if cell.config["n"] == 40 and cell.config[KEY] == "baseline"]
    assert sorted(s for cell in hard for s in cell.seeds if cell.config["episodes"] == 10_000) == list(range(10))
    assert [s for cell in hard for s in cell.seeds if cell.config["episodes"] == 200_000] == list(range(5))
    variants = {variant_of(cell.config["dqn"]) for cell in hard if cell.config["episodes"] == 20_000}
    assert variants == set(VARIANTS) - {"paper"}, (
        "instability and a need of samples are told apart by one change at a time"
    )


def test_long_runs_keep_means_of_a_hundred_episodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnside.experiments.ring1d.run.EVERY_EPISODE", 1_000)
    plan = Plan((5,), seeds=1, episodes=1_010, arms=("canonical",), variants=("paper", "double"), block=1)
    monkeypatch.setitem(PRESETS, "smoke", plan)
    assert sweep(Ring1D(), "smoke", tmp_path, workers=0, progress="none").ok
    results = read_arms(tmp_path)
    curve = results.table("curve")
    assert list(results.tables) == ["curve"] and curve["episode"].tolist() == 2 * list(range(100, 1_001, 100))
    assert [row["variant"] for row in results.rows] == ["paper", "double"]
    assert [row["variant"] for row in table(tmp_path)] == ["paper", "double"]
    parts = returns_by_part(results)
    assert parts[5, "canonical", 1_010, "double"][0] == pytest.approx(curve["returns"][10:])
    with pytest.raises(UnknownName, match="laptop"):
        Ring1D().plan("laptp")


def test_the_feature_alone_is_a_control_of_the_canonical_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same boards as the baseline's, with the canonical place beside them; the same algorithm."""
    game, form = RingScenes(RingSpec(6)), RollToGoal(6)
    seen = SeenFromGoal(game)
    state = seen.reset_batch(np.arange(20), np.zeros(20, dtype=np.int64))
    for action in (0, 2, 1):
        shown, plain = seen.observe_batch(state), game.observe_batch(state)
        assert shown.shape == (20, seen.obs_dim) and np.array_equal(shown[:, :12], plain)
        assert np.array_equal(shown[:, 12:], form(plain)[0][:, 6:])
        state = seen.step_batch(state, np.full(20, action)).state
    with pytest.raises(InvalidParameter, match="relative"):
        SeenFromGoal(RingScenes(RingSpec(5, d=3)))
    plan = Plan((5,), seeds=1, episodes=150, arms=("baseline", "feature"), block=1)
    monkeypatch.setitem(PRESETS, "smoke", plan)
    assert sweep(Ring1D(), "smoke", tmp_path, workers=0, progress="none").ok
    rows = {row["arm"]: row for row in table(tmp_path)}
    assert set(rows) == {"baseline", "feature"} and rows["feature"]["steps_mean"] != rows["baseline"]["steps_mean"]


@pytest.mark.parametrize(("arm", "episodes", "cut"), [("canonical", 60, 25), ("equivariant", 24, 11)])
def test_a_checkpoint_between_episodes_changes_no_bit(arm: str, episodes: int, cut: int) -> None:
    spec, config = RingSpec(5), DQNConfig.preset("ring1d")
    straight, broken, resumed = (ring_learner(config, RingScenes(spec), [Member(3, arm)]) for _ in range(3))
    while straight.advance(Budget(episodes=episodes)):
        pass
    while broken.advance(Budget(episodes=cut)):
        pass
    resumed.restore({name: np.array(array) for name, array in broken.arrays().items()})
    assert resumed.episodes[0] == cut
    while resumed.advance(Budget(episodes=episodes)):
        pass
    assert straight.log().episodes == episodes
    for name, array in straight.arrays().items():
        assert array.tobytes() == resumed.arrays()[name].tobytes(), name
    assert np.array_equal(straight.evaluate(20).returns, resumed.evaluate(20).returns)


def test_killed_for_good_and_resumed_ends_with_the_same_rows(smoke: Path, tmp_path: Path) -> None:
    # The real learner, killed by kill -9: a checkpoint whenever one is due, and death at the third.
    script = (
        "import os, signal, sys\n"
        "from burnside.experiments.ring1d import Ring1D\n"
        "from burnside.runs import sweep\n"
        "from burnside.runs.context import Context\n"
        "keep, written = Context.checkpoint, []\n"
        "def checkpoint(self, *args, **meta):\n"
        "    keep(self, *args, **meta)\n"
        "    written.append(1)\n"
        "    if len(written) == 3: os.kill(os.getpid(), signal.SIGKILL)\n"
        "Context.checkpoint = checkpoint\n"
        "sweep(Ring1D(), 'smoke', sys.argv[1], workers=0, progress='none', checkpoint_seconds=0.0)\n"
    )
    died = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert died.returncode == -signal.SIGKILL
    outcome = sweep(Ring1D(), "smoke", tmp_path, workers=0, progress="none")
    assert outcome.ok and outcome.done
    assert read_arms(tmp_path).rows == read_arms(smoke).rows
    one, other = read_arms(tmp_path).table("episodes"), read_arms(smoke).table("episodes")
    assert all(np.array_equal(one[key], other[key]) for key in other)


def test_rows_count_from_one_and_censor_at_the_budget() -> None:
    spec = RingSpec(5)
    learner = ring_learner(DQNConfig.preset("ring1d"), RingScenes(spec), [Member(0)])
    learner.advance(Budget(episodes=120))
    log = learner.log()
    row = _row(spec, log, [0.0], 100)
    assert row["train95"] == 120 and row["train95_solved"] is False
    assert row["train95_steps"] == row["total_steps"] == int(log.steps[-1])
    log.returns[:] = 10.0  # as if every episode had been perfect
    row = _row(spec, log, [10.0], 100)
    assert row["train95"] == 100 and row["train95_solved"] and not row["greedy95_solved"]
    assert _row(spec, log, [10.0] * 3, 100)["greedy95"] == 100


def test_table_and_its_readings(smoke: Path) -> None:
    rows = table(smoke)
    assert [(r["n"], r["arm"], r["seeds"], r["budget"]) for r in rows] == [
        (5, "baseline", 2, 150),
        (5, "canonical", 2, 150),
    ]
    assert set(rows[0]) >= {
        "n", "arm", "seeds", "solved", "mean", "se", "restricted_mean", "median", "budget", "paper_mean",
        "paper_se",
    }  # fmt: skip
    assert rows[0]["paper_mean"] == 280.5
    assert rows[0]["mean"] is None and rows[0]["restricted_mean"] == 150  # nobody solves it in 150 episodes
    assert set(by_rule(smoke)) == {"train95", "train90", "greedy95"}
    results = read_arms(smoke)
    assert times(results, 5, "baseline").censored == 2
    assert ratios(results)[5].bound == "not decided" and growth(results, "baseline") is None
    some = [row for row in results.rows if row["arm"] == "baseline" or row["seed"] == 0]
    assert ratios(replace(results, rows=some, missing=("canonical, seed 1",)))[5].seeds == (2, 1)


def test_steps_at_the_end_of_the_budget_are_averaged_not_cut(smoke: Path) -> None:
    """All runs are censored here: the mean of their steps, where a restricted mean would be the fewest of any seed."""
    results = read_arms(smoke)
    for row in table(smoke):
        ends = [r["total_steps"] for r in results.rows if r["arm"] == row["arm"]]
        assert row["steps_mean"] == np.mean(ends) > min(ends) and row["steps_se"] > 0
        assert row["steps_low"] < row["steps_mean"] < row["steps_high"]


def test_returns_by_tenth_show_whether_training_helps(smoke: Path) -> None:
    results = read_arms(smoke)
    parts = returns_by_part(results)[5, "baseline", 150, "paper"]
    columns = results.table("episodes")
    mine = (columns["arm"] == "baseline") & (columns["seed"] == 1)
    assert parts.shape == (2, 10) and parts[1, 0] == pytest.approx(columns["returns"][mine][:15].mean())
    row = table(smoke)[0]
    assert row["returns"] == pytest.approx(parts.mean(axis=0))
    assert row["late_change"] == pytest.approx((parts[:, 9] - parts[:, 4]).mean())


def test_runs_with_another_budget_are_another_row(smoke: Path) -> None:
    """The same seeds run longer are not more seeds, and their budgets do not mix in a restricted mean."""
    results = read_arms(smoke)
    longer = [
        row | {"episodes": 900, "train95": 400 + row["seed"], "train95_solved": row["arm"] != "baseline"}
        for row in results.rows
    ]
    both = replace(results, rows=[*results.rows, *longer])
    assert times(both, 5, "canonical").times.tolist() == [150, 150]
    assert times(both, 5, "canonical", budget=900).times.tolist() == [400, 401]
    assert ratios(both)[5].bound == "not decided"
    by_budget = {budget: found.bound for (_, _, budget, _), found in _ratios(both, "train95").items()}
    assert by_budget == {150: "not decided", 900: "at least"}


def test_an_arm_with_a_smaller_budget_is_compared_within_it(smoke: Path) -> None:
    """A baseline that ran longer counts as unsolved where the arm's budget ends."""
    rows = []
    for row in read_arms(smoke).rows:
        arm = "equivariant" if row["arm"] == "canonical" else "baseline"
        budget, reached = (150, 100) if arm == "equivariant" else (900, 120 + 700 * row["seed"])
        rows.append(row | {"arm": arm, "episodes": budget, "train95": reached, "train95_solved": True})
    found = ratios(replace(read_arms(smoke), rows=rows), arm="equivariant")[5]
    assert found.bound == "at least" and found.censored == (1, 0)


def test_a_collapse_is_said_in_the_report(tmp_path: Path) -> None:
    """A learner whose return falls again: the report says that its censored runs do not measure samples."""
    from burnside.report.page import Page
    from burnside.report.ring1d import show
    from burnside.runs import Cell, Context

    class Falls(Ring1D):
        def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
            rises = np.linspace(0, 9, 100)
            runs = [rises if cell.config[KEY] == "canonical" else 8 - rises + 0.3 * s for s in cell.seeds]
            seeds = np.repeat(np.array(cell.seeds, dtype=np.int32), 100)
            context.save("episodes", {"seed": seeds, "returns": np.concatenate(runs), "lengths": np.ones(200)})
            reached = {"train95": 100, "train90": 100, "greedy95": 100}
            flags = {f"{rule}_solved": cell.config[KEY] == "canonical" for rule in reached}
            steps = {f"{rule}_steps": 1_000 for rule in reached}
            base = {"optimum": 9.0, "total_steps": 1_000}
            return {"rows": [{"seed": s, **reached, **flags, **steps, **base} for s in cell.seeds]}

    assert sweep(Falls(), "smoke", tmp_path, workers=0, progress="none").ok
    page = Page("ring1d", lead="a test")
    page.section("ring1d", id="ring1d")
    show(page, tmp_path, "test", tmp_path)
    text = page.render()
    assert "baseline (150 episodes): the training return falls by" in text
    assert "canonical (150 episodes): the training return falls" not in text


def test_figures(smoke: Path, tmp_path: Path) -> None:
    results = read_arms(smoke)
    for figure in (times_plot(results), curves_plot(results), returns_plot(results)):
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


def test_sweeps_choose_cells_by_arm(tmp_path: Path) -> None:
    from burnside.cli import main

    where = ["--preset", "smoke", "--workers", "0", "--runs", str(tmp_path)]
    assert main(["sweep", "ring1d", *where, "--only", "arm=canonical"]) == 0
    assert {row["arm"] for row in read_arms(tmp_path, allow_missing=True).rows} == {"canonical"}
    assert main(["sweep", "ring1d", *where, "--only", "arm=nope"]) == 2
