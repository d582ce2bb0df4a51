"""``burnside sweep`` and ``burnside table`` on a toy experiment, tracking, and what is shown while they run."""

import io
import json
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import tyro
from tests.runs.toy import ToyJob

from burnside._terminal import Terminal
from burnside.cli.sweep import Sweep, Table
from burnside.errors import InvalidParameter, UnknownName, UnreadableFile
from burnside.runs import Cell, read_results, sweep
from burnside.runs.display import CellState, _Live, time_left
from burnside.runs.folder import Progress
from burnside.runs.job import Experiment, Job
from burnside.runs.results import compact


@dataclass(frozen=True)
class ToyExperiment(ToyJob):
    steps: int = 50

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        rows = read_results(folder, allow_missing=allow_missing).rows
        sizes = sorted({row["n"] for row in rows})
        return [{"n": n, "seeds": sum(r["n"] == n for r in rows), "mean": None, "solved": 0.5} for n in sizes]


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("burnside.experiments.registry")
    toys = {"toy": ToyExperiment(), "broken": ToyExperiment(50, fail=(1,))}
    module.EXPERIMENTS = toys  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "burnside.experiments.registry", module)


def test_the_toy_fits_the_protocols() -> None:
    assert isinstance(ToyExperiment(), Experiment) and isinstance(ToyJob(), Job)


def test_sweep_then_table(capsys: pytest.CaptureFixture[str]) -> None:
    command = tyro.cli(Sweep, args=["toy", "--preset", "smoke", "--workers", "0"])
    assert command.run() == 0
    assert "burnside table toy --runs runs/toy/smoke" in capsys.readouterr().out
    assert Table("toy", runs=Path("runs/toy/smoke"), json=True).run() == 0
    assert json.loads(capsys.readouterr().out) == {
        "experiment": "toy",
        "rows": [{"n": n, "seeds": 2, "mean": None, "solved": 0.5} for n in (0, 1)],
    }
    assert tyro.cli(Table, args=["toy", "--runs", "runs/toy/smoke"]).run() == 0
    assert capsys.readouterr().out.split() == [
        "n",
        "seeds",
        "mean",
        "solved",
        "0",
        "2",
        "–",
        "0.5",
        "1",
        "2",
        "–",
        "0.5",
    ]
    assert Sweep("toy", preset="smoke", workers=0).run() == 0
    assert "0 cells done, 2 finished before" in capsys.readouterr().out


def test_a_failed_cell_makes_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert Sweep("broken", preset="smoke", workers=0).run() == 1
    err = capsys.readouterr().err
    assert "failed: RuntimeError: the toy breaks at n=1" in err and "failed.txt" in err and "Traceback" not in err
    with pytest.raises(UnreadableFile, match="allow missing"):
        Table("broken", runs=Path("runs/broken/smoke")).run()
    assert Table("broken", runs=Path("runs/broken/smoke"), allow_missing=True).run() == 0


def test_the_committed_results_are_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnreadableFile, match="no committed results of toy"):
        Table("toy").run()
    assert Sweep("toy", preset="smoke", workers=0).run() == 0
    assert Table("toy", runs=Path("runs/toy/smoke"), compact=Path("results/toy")).run() == 0
    assert Table("toy").run() == 0
    with pytest.raises(UnreadableFile, match="no folder"):
        Table("toy", runs=Path("nowhere")).run()


def test_single_seeds_are_flagged(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyExperiment, "table", lambda *_: [{"n": 5, "seeds": 1}])
    Path("here").mkdir()
    assert Table("toy", runs=Path("here")).run() == 0
    assert "a single seed" in capsys.readouterr().out


def test_unknown_names_and_wrong_options_are_one_sentence() -> None:
    with pytest.raises(UnknownName, match="did you mean 'toy'"):
        Sweep("toi").run()
    with pytest.raises(InvalidParameter, match="KEY=VALUE"):
        Sweep("toy", option=("what",)).run()


def test_without_a_registry_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "burnside.experiments.registry", types.ModuleType("registry"))
    sys.modules["burnside.experiments.registry"].EXPERIMENTS = {}  # type: ignore[attr-defined]
    with pytest.raises(UnknownName, match="known: none"):
        Table("toy").run()


def test_tracking_writes_scalars(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed: pip install 'burnside[track]'")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert sweep(ToyJob(50), "smoke", tmp_path, workers=0, track=True, progress="none").ok
    (folder, _) = sorted((tmp_path / "tensorboard").iterdir())
    found = EventAccumulator(str(folder)).Reload()
    assert [event.step for event in found.Scalars("charts/low")] == [10, 20, 30, 40, 50]


def test_lines_in_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert not sweep(ToyJob(50, fail=(1,)), "smoke", tmp_path, workers=0).ok
    err = capsys.readouterr().err
    assert "2 cells, 0 of them finished before" in err
    assert "[1/2] done n=0 steps=50 seeds=7,3" in err and "the toy breaks" in err
    assert "\x1b" not in err


def test_the_live_table_shows_running_and_failed_cells() -> None:
    cells = [Cell("toy", {"n": n}) for n in range(40)]
    states = {cell.name: CellState(cell) for cell in cells}
    some = list(states.values())
    some[0].status, some[1].status, some[2].status = "running", "failed", "done"
    some[0].progress = Progress(done=30, total=100, resumed=10, seconds=40.0)
    display = _Live()
    display._states = states
    display._began -= 60
    out = io.StringIO()
    Terminal(file=out, width=120).print(display._table())
    text = out.getvalue()
    assert "n=0 seeds=0" in text and "30/100" in text and "140 s" not in text and "2 min 20 s" in text
    assert "1 done, 1 running, 37 waiting, 1 failed" in text and "left" in text
    assert text.count("seeds=") == 2


def test_time_left_counts_only_what_this_sweep_did() -> None:
    cells = [Cell("toy", {"n": n}, cost=1.0 + n) for n in range(3)]
    states = {cell.name: CellState(cell) for cell in cells}
    first, second, _ = states.values()
    first.status = "skipped"
    assert time_left(states, before=1.0, elapsed=10.0) is None
    second.status = "done"
    assert time_left(states, before=1.0, elapsed=10.0) == pytest.approx(10.0 * 3 / 2)


def test_progress_by_a_function(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    sweep(ToyJob(50), "smoke", tmp_path, workers=0, progress=lambda done, total: calls.append((done, total)))
    assert calls[0] == (0, 2) and calls[-1] == (2, 2)


def test_a_compact_form_can_be_made_again(tmp_path: Path) -> None:
    assert sweep(ToyJob(50), "smoke", tmp_path / "runs", workers=0, progress="none").ok
    for _ in range(2):
        small = compact(tmp_path / "runs", tmp_path / "small")
    assert len(read_results(small).rows) == 4
