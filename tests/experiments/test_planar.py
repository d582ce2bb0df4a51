"""The planar experiment: every question runs and resumes, the table is honest about censoring, the theorem's side."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnside._checkpoints import generations, read_arrays
from burnside.errors import UnknownName
from burnside.experiments.planar import PRESETS, Planar
from burnside.experiments.planar.analysis import (
    Extent,
    _ablation_row,
    cover_rows,
    finetune_curves,
    ratios,
    saving,
    table,
)
from burnside.experiments.planar.run import _arrived
from burnside.experiments.registry import EXPERIMENTS
from burnside.runs import Cell, Context, Results, read_results, sweep
from burnside.runs.folder import CellFolder
from burnside.runs.work import Task, run_one


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planar")
    outcome = sweep(Planar(), "smoke", folder, workers=0, progress="none")
    assert outcome.ok and len(outcome.done) == 8, outcome.failed
    return folder


def test_plans() -> None:
    for preset in PRESETS:
        cells = Planar().plan(preset)
        assert len({cell.name for cell in cells}) == len(cells)
    study = PRESETS["study"]
    assert all(part.seeds >= 5 for part in (*study.ppo, *study.finetune)) and study.imitation[0].seeds >= 3
    with pytest.raises(UnknownName, match="laptop"):
        Planar().plan("laptp")
    assert "planar" in EXPERIMENTS


def test_the_table(smoke: Path) -> None:
    rows = table(smoke)
    assert [(r["kind"], r["arm"]) for r in rows] == [
        *(("ppo", arm) for arm in ("world", "relative", "robot")),
        *(("imitation", arm) for arm in ("world", "relative", "robot")),
        *(("finetune", arm) for arm in ("world", "robot")),
    ]
    assert len({tuple(row) for row in rows}) == 1
    assert rows[0]["solved"] == 0 and rows[0]["restricted_mean"] == 200  # nobody arrives in 200 episodes
    assert rows[0]["ratio"] is None and rows[0]["ratio_bound"] == "not decided"  # in neither frame
    assert rows[2]["ratio_bound"] is None
    assert all(0 <= r["success_mean"] <= 1 for r in rows)
    curves = finetune_curves(read_results(smoke))
    assert [c.arm for c in curves] == ["world", "robot"] and curves[0].env_steps[0] == 0


def test_a_run_is_over_when_it_has_arrived() -> None:
    def rows(*success: int) -> list[tuple[float, ...]]:
        return [(0.0, 1.0, float(s), 0.0) for s in success]

    assert not _arrived(rows(*[1] * 499), 10_000) and _arrived(rows(*[1] * 500), 10_000)
    assert not _arrived(rows(*[1, 0] * 300), 10_000) and _arrived(rows(*[0] * 700), 700)
    assert _arrived(rows(*[0] * 200, *[1] * 460), 10_000)


def test_savings_are_read_off_the_worlds_curve() -> None:
    def row(arm: str, demos: int, success: float) -> dict[str, Any]:
        return {"kind": "imitation", "task": "push", "arm": arm, "demos": demos, "seed": 0, "success": success}

    rows = [row("world", 10, 0.1), row("world", 1000, 0.9), row("robot", 10, 0.5), row("robot", 20, 0.95)]
    results = Results(rows, (), {})
    found = saving(results, "push", 10, "robot")
    assert found is not None and found.at == pytest.approx(10) and not found.bound  # 0.5 is half-way: 100 of them
    assert saving(results, "push", 20, "robot") == (pytest.approx(50.0), None, None, "at least")
    assert saving(results, "push", 10, "world") is None
    flat = Results([*rows, row("world", 3000, 0.9), row("relative", 10, 0.9), row("relative", 100, 0.01)], (), {})
    assert saving(flat, "push", 10, "relative") == (
        pytest.approx(100.0),
        None,
        None,
        "",
    )  # where the plateau begins, not its end
    assert saving(flat, "push", 100, "relative") == (pytest.approx(0.1), None, None, "at most")


def test_savings_have_limits_over_seeds() -> None:
    rates = {("world", 10): (0.1, 0.12, 0.08), ("world", 1000): (0.9, 0.92, 0.88), ("robot", 10): (0.5, 0.52, 0.54)}
    rows = [
        {"kind": "imitation", "task": "push", "arm": arm, "demos": demos, "seed": seed, "success": rate}
        for (arm, demos), by_seed in rates.items()
        for seed, rate in enumerate(by_seed)
    ]
    found = saving(Results(rows, (), {}), "push", 10, "robot")
    assert found is not None and found.low is not None and found.high is not None
    assert 5 < found.low < found.at < found.high < 25
    alone = [row | {"seed": 7} if row["arm"] == "robot" and row["seed"] == 0 else row for row in rows]
    fewer = saving(Results([r for r in alone if r["arm"] == "world" or r["seed"] == 7], (), {}), "push", 10, "robot")
    assert fewer is not None and fewer.low is None and fewer.at == pytest.approx(10)  # no seed in common


def test_what_each_change_of_fine_tuning_is_worth() -> None:
    def row(seed: int, after: float, variant: str = "") -> dict[str, Any]:
        kind = {"kind": "ablation", "variant": variant} if variant else {"kind": "finetune"}
        own = {**kind, "task": "push", "arm": "robot", "demos": 10, "shift": 0.3, "turn": 0.8, "seed": seed}
        return own | {"before": 0.4, "after": after, "env_steps": 1000, "test_episodes": 500}

    rows = [row(s, 0.8 + 0.01 * s) for s in range(3)] + [row(s, 0.6 + 0.02 * s, "no warm-up") for s in range(3)]
    found = _ablation_row(Results(rows, (), {}), "push", "robot", 10, "no warm-up")
    assert found["gain_mean"] == pytest.approx(0.22) and found["gain_gap"] == pytest.approx(-0.19)
    assert found["gain_gap_high"] < 0 and found["variant"] == "no warm-up"
    study = Planar().plan("study")
    cells = [cell for cell in study if cell.config["kind"] == "ablation"]
    assert len(cells) == 4 * 2 * 5 and len({cell.name for cell in study}) == len(study)
    whole = next(c.config for c in study if c.config["kind"] == "finetune" and c.config["arm"] == "world")
    for cell in cells:
        if cell.config["arm"] == "world":
            changed = cell.config.get("flow", {}) | {k: v for k, v in cell.config["agent"].items()
                                                     if whole["agent"][k] != v}  # fmt: skip
            assert changed, cell.config["variant"]


def test_ratios_of_what_there_is() -> None:
    def row(arm: str, seed: int) -> dict[str, Any]:
        setting = {"kind": "ppo", "task": "push", "shift": 0.0, "turn": 0.0, "arm": arm, "seed": seed}
        return setting | {"reached": 200 if arm == "world" else 100, "solved": True}

    some = [row("world", 0), row("world", 1), row("relative", 1), row("robot", 0)]
    found = ratios(Results(some, ("robot, seed 1",), {}), "push", 0.0, 0.0)
    assert list(found) == ["world", "relative"] and found["world"].value == pytest.approx(2)
    assert found["world"].seeds == (2, 1) and found["world"].single_seed and found["world"].low is None
    assert ratios(Results(some[:3], ("robot",), {}), "push", 0.0, 0.0) == {}


def test_the_cover_of_the_quotient_does_not_grow_with_the_spread() -> None:
    rows = cover_rows([(0.0, 0.0), (0.5, math.pi / 2), (1.0, math.pi)], alphas=(0.1,))
    ratios = [row["log10_ratio"] for row in rows]
    assert ratios[0] < ratios[1] < ratios[2]
    assert rows[2]["log10_robot"] == pytest.approx(rows[0]["log10_robot"], abs=0.05)
    assert Extent(np.array([1.0, 0.0]), np.array([0.5])).cover(0.1) == 15


@pytest.mark.parametrize(("kind", "arm"), [("ppo", "robot"), ("imitation", "world"), ("finetune", "robot")])
def test_a_killed_run_goes_on_to_the_same_bits(smoke: Path, tmp_path: Path, kind: str, arm: str) -> None:
    class Dies(Planar):
        def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
            keep, count = context.checkpoint, [0]

            def checkpoint(*args: Any, **meta: Any) -> None:
                keep(*args, **meta)
                count[0] += 1
                if count[0] == (2 if kind == "finetune" else 1):
                    raise RuntimeError("the power went")

            context.checkpoint = checkpoint  # type: ignore[method-assign]
            return super().run_cell(cell, context)

    only = {"kind": kind, "arm": arm}
    options: dict[str, Any] = {"workers": 0, "progress": "none", "only": only}
    assert len(sweep(Dies(), "smoke", tmp_path, checkpoint_seconds=0.0, **options).failed) == 1
    assert sweep(Planar(), "smoke", tmp_path, **options).ok
    (found,) = read_results(tmp_path).rows
    (expected,) = [row for row in read_results(smoke).rows if row["kind"] == kind and row["arm"] == arm]
    assert found == {key: expected[key] for key in found}


def test_fine_tuning_resumes_without_its_demonstrations(
    smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from burnside.experiments.planar import run

    only = {"kind": "finetune", "arm": "robot"}
    (cell,) = [cell for cell in Planar().plan("smoke") if only.items() <= cell.config.items()]
    task = Task(Planar(), tmp_path, seconds=0.0)
    made = iter((False, False, True))  # the first checkpoint of imitation, then the first of PPO
    assert run_one(task, cell, stop=lambda: next(made)).status == "stopped"
    (path,) = generations(CellFolder(tmp_path, cell).path)[:1]
    assert read_arrays(path)[1]["own"]["stage"] == "ppo"
    monkeypatch.setattr(run, "demonstrate", lambda *_, **__: pytest.fail("nothing is left to imitate"))
    assert run_one(task, cell).status == "done"
    (found,) = (CellFolder(tmp_path, cell).result() or {})["rows"]
    (expected,) = [row for row in read_results(smoke).rows if only.items() <= row.items()]
    assert found == {key: expected[key] for key in found}


def test_a_checkpoint_is_kept_if_the_demonstrations_cannot_be_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from burnside.errors import InvalidParameter
    from burnside.experiments.planar import run

    (cell,) = [c for c in Planar().plan("smoke") if c.config["kind"] == "imitation" and c.config["arm"] == "world"]
    task = Task(Planar(), tmp_path, seconds=0.0)
    assert run_one(task, cell, stop=lambda: True).status == "stopped"

    def fails(*_: Any, **__: Any) -> None:
        raise InvalidParameter("the file is gone")

    with monkeypatch.context() as patch:
        patch.setattr(run, "demonstrate", fails)
        outcome = run_one(task, cell)
    assert (outcome.status, outcome.message, outcome.notes) == ("failed", "the file is gone", ())
    assert len(generations(CellFolder(tmp_path, cell).path)) == 1


def test_the_report_draws_it(smoke: Path, tmp_path: Path) -> None:
    from burnside.report.page import Page
    from burnside.report.planar import show

    page = Page("planar", lead="a test")
    page.section("planar", id="planar")
    show(page, smoke, "smoke", tmp_path)
    text = page.render()
    assert text.count("<svg") >= 3 and "relative" in text
    assert {"spread-planar.svg", "imitation-planar.csv", "fig5-planar.png"} <= {
        path.name for path in (tmp_path / "figures").iterdir()
    }
