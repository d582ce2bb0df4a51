"""The 3D game in the report: a sweep of the smoke preset, the table beside the paper's numbers, figures with data."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from burnside.cli.reproduce_parts import PARTS
from burnside.experiments.arms import read_arms
from burnside.experiments.ring3d import PRESETS, Ring3D, Setting
from burnside.experiments.ring3d import config as config_module
from burnside.experiments.ring3d.analysis import COLUMNS, references
from burnside.report.page import Page
from burnside.report.ring3d import curve_plots, ring3d_part, show
from burnside.runs import sweep
from burnside.runs.results import compact

TINY = replace(
    PRESETS["smoke"],
    seeds=1,
    settings=tuple(
        Setting(*words.split()) for words in ("dqn baseline pool", "dqn canonical flatten", "ppo canonical pool")
    ),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished sweep in it, compacted as committed results are."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("part")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(config_module.PRESETS, "smoke", TINY)
        runs = folder / "runs" / "ring3d" / "smoke"
        assert sweep(Ring3D(), "smoke", runs, workers=0, device="cpu", progress="none").ok
        compact(runs, folder / "results" / "ring3d")
    return folder


def test_the_part(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setitem(config_module.PRESETS, "smoke", TINY)
    page = Page("t").section("3D")
    ring3d_part(page, "smoke", Path("runs/ring3d/smoke"), place / "report")
    text = page.render()
    # this machine's table and the committed one, each with three policies that learn nothing
    assert text.count("<td>DQN</td>") == 4 and text.count("<td>PPO</td>") == 2
    assert text.count("uniform random") == text.count("one move for ever") == text.count("optimum") == 2
    # in the sentence, and in the tables for 'pool' only
    assert text.count("−67.4 ± 1.1") == 1 and text.count("−67.38 ± 1.12") == text.count("16.96 ± 0.32") == 2
    assert "-68.6 to -66.5 for circles" in text and "burnside sweep ring3d --preset smoke" in text
    names = sorted(path.name for path in (place / "report" / "figures").glob("*.csv"))
    assert names == [f"fig4b-ring3d-{a}{s}.csv" for a in ("dqn", "ppo") for s in ("-study", "")]
    assert text.count("<figure>") == 4


def test_curves_are_one_plot_per_algorithm(place: Path) -> None:
    results = read_arms(place / "results" / "ring3d")
    dqn, ppo = curve_plots(results)
    assert {row[:2] for row in dqn.rows} == {("baseline", "pool"), ("canonical", "flatten")}
    assert {row[:2] for row in ppo.rows} == {("canonical", "pool")}
    assert "single seed" in dqn.svg and "single seed" in ppo.svg
    returns = results.table("episodes")
    mine = returns["returns"][(returns["algorithm"] == "ppo")]
    assert ppo.rows[-1][4] == len(mine) and ppo.rows[-1][5] == pytest.approx(mine.mean())


def test_without_committed_results_only_the_run_is_shown(place: Path, tmp_path: Path) -> None:
    page = Page("t")
    show(page, place / "results" / "ring3d", "a caption", tmp_path, suffix="-x")
    assert page.render().count("a caption") == 2  # shown, and the label of the scrolling part
    assert (tmp_path / "figures" / "fig4b-ring3d-dqn-x.svg").exists()


def test_every_row_has_the_same_keys(place: Path) -> None:
    rows = Ring3D().table(place / "results" / "ring3d", False)
    assert len(rows) == 6 and all(tuple(row) == COLUMNS for row in rows)
    assert all(row["seeds"] is None and row["arm"] is None for row in references())


def test_it_is_registered_after_the_1d_game() -> None:
    names = list(PARTS)
    assert names.index("ring3d") == names.index("ring1d") + 1 and PARTS["ring3d"].draw is ring3d_part
    assert not re.search("[Tt]able 1", PARTS["ring3d"].title)
