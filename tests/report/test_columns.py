"""Tables for people: every experiment has a layout, and its cells say what the rows say."""

import re

import pytest

from burnside._terminal import Terminal
from burnside.cli.console import print_table
from burnside.cli.sweep import experiments
from burnside.report.columns import _LAYOUTS, readable
from burnside.runs.results import committed


def test_every_experiment_has_a_layout() -> None:
    assert set(_LAYOUTS) == set(experiments())


@pytest.mark.parametrize("name", [name for name in _LAYOUTS if committed(name) is not None])
def test_every_committed_row_is_shown_once(name: str) -> None:
    folder = committed(name)
    assert folder is not None
    rows = experiments()[name].table(folder, True)
    sections = readable(name, rows)
    assert sum(len(section.rows) for section in sections) == len(rows)
    for section in sections:
        assert all(len(cells) == len(section.headers) for cells in section.rows)
        assert 3 <= len(section.headers) <= 10
        assert all(any(cells[k] != "–" for cells in section.rows) for k in range(len(section.headers)))


def ring(**known: object) -> dict[str, object]:
    base = {"n": 40, "arm": "baseline", "variant": "paper", "seeds": 10, "solved": 0.0, "budget": 10_000}
    keys = ("restricted_mean", "restricted_low", "restricted_high", "paper_mean", "paper_se")
    return {**base, **dict.fromkeys((*keys, "ratio", "ratio_low", "ratio_high", "ratio_bound")), **known}


def test_censored_times_and_bounds_are_said_as_such() -> None:
    rows = [
        ring(restricted_mean=10_000.0, paper_mean=177_334.3, paper_se=21_201.9),
        ring(arm="canonical", solved=1.0, restricted_mean=1726.7, restricted_low=1421.0, restricted_high=2032.0,
             ratio=5.9, ratio_low=4.938, ratio_bound="at least"),
        ring(arm="canonical", variant="huber", solved=0.3, restricted_mean=9000.0),
    ]  # fmt: skip
    (section,) = readable("ring1d", rows)
    assert section.headers[-1] == "paper: episodes" and "first reaches 95 %" in section.title
    assert section.rows[0] == ["40", "baseline", "0 of 10", "more than 10 000", "–", "177 334.3 ± 21 201.9"]
    assert section.rows[1][3:5] == ["1 727 (1 421–2 032)", "at least 4.93"]
    assert section.rows[2][1:4] == ["canonical, huber", "3 of 10", "more than 9 000"]


def test_seeds_that_never_solve_nine_cubes_in_ten_need_more() -> None:
    row = {"kind": "needed", "arm": "none", "seeds": 5, "needed": 1_999_872.0, "censored": 5, "ratio": None}
    (section,) = readable("cube_solver", [row, {**row, "needed": 253_668.0, "censored": 0}])
    assert [cells[1:3] for cells in section.rows] == [["0 of 5", "more than 1 999 872"], ["5 of 5", "253 668"]]


@pytest.mark.parametrize("width", [100, 80, 60])
@pytest.mark.parametrize("name", ["cube_solver", "planar"])
def test_no_word_or_number_is_broken_on_a_narrow_terminal(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = committed(name)
    assert folder is not None
    section = readable(name, experiments()[name].table(folder, True))[0]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    print_table(Terminal(width=width, color_system=None), section.headers, section.rows)
    lines = capsys.readouterr().out.splitlines()
    for row in (section.headers, *section.rows):
        for word in (part for cell in row for part in re.split(r"(?<!\d) | (?!\d{3}(?!\d))", cell)):
            assert any(word in line for line in lines), word
    if width == 100:
        assert max(len(line.rstrip()) for line in lines) <= width


def test_a_row_of_the_atlas_names_its_control() -> None:
    row = {"env": "CartPole-v1", "variant": "", "learner": "ppo", "arm": "canonical", "control": "placebo", "seeds": 5,
           "solved": 0.8, "steps": 1200.0, "ratio": 0.61, "low": 0.5, "high": 0.75, "bound": "", "order": 2,
           "verdict": ""}  # fmt: skip
    (section,) = readable("atlas", [row, {**row, "control": "", "order": None, "verdict": "a saving by symmetry"}])
    assert section.rows[0][2:7] == ["canonical (control: placebo)", "2", "4 of 5", "1 200", "0.61 (0.50–0.75)"]
    assert section.rows[1][2:4] == ["canonical", "infinite"] and section.rows[1][-1] == "a saving by symmetry"
    (section,) = readable("atlas", [{**row, "arm": "baseline", "control": "", "order": None}, row])
    assert section.rows[0][2:4] == ["baseline", "–"], "it uses no group"
    few = {**row, "low": None, "high": None, "at_first": 3}
    spent = {"ratio": None, "bound": "not decided", "within": 1.2, "within_low": 0.9, "within_high": 1.6}
    (section,) = readable("atlas", [{**few, "bound": "at least"}, {**few, **spent}])
    assert section.rows[0][4:7] == ["4 of 5, 3 at once", "1 200", "at least 0.61 (no interval)"]
    assert section.rows[1][6] == "within the budget 1.20 (0.90–1.60)"


def test_other_experiments_keep_their_columns_without_curves() -> None:
    (section,) = readable("toy", [{"n": 5, "ok": True, "curve": [1, 2], "mean": None}])
    assert (section.headers, section.rows) == (["n", "ok", "mean"], [["5", "yes", "–"]])
