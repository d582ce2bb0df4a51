"""The table over all benchmarks: from kept rows to answers, with nothing measured here."""

import ast
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from benchmarks import __main__ as command
from benchmarks import plots, summary
from benchmarks.lines import WISHES, Measured

from burnside.errors import UnreadableFile

REPO = Path(__file__).resolve().parents[1]

FOLDER = Path(command.__file__).parent
QUIET = {"cpu": "Abacus", "cores": 2, "python": "3.11.0", "others": 0.01, "versions": {"numpy": "2.0"}}


def core(passes: float, growth: float = 1.0) -> Measured:
    rows: list[dict[str, Any]] = [
        {
            "what": "verify+quotient",
            "scattered": scattered,
            "pairs": 10**k,
            "verify_quotient_ms": passes * 10.0 ** (growth * (k - 4)),
            "pass_ms": 10.0 ** (k - 4),
            "passes": passes,
        }
        for scattered in (False, True)
        for k in (4, 5, 6, 7)
    ]
    return Measured(QUIET, (*rows, {"what": "memory", "pairs": 10**6, "all_over_mdp": 4.5}))


def answers(results: dict[str, Measured]) -> dict[str, tuple[str, str]]:
    return {what: (measured, met) for _, what, _, measured, met in summary.promised(results)}


def test_targets_are_judged_and_what_is_missing_is_named() -> None:
    found = answers({"core": core(39.0)})
    assert found["verify + quotient at 10⁶ pairs, states numbered orbit by orbit"] == ("39 passes", "yes")
    assert found["growth from 10⁴ to 10⁷ pairs, at random"] == ("exponent 1.00, that of P @ v 1.00", "yes")
    assert found["peak memory at 10⁶ pairs"] == ("4.5×", "**no**")
    assert found["`import burnside`, warm"] == ("not measured", "—")
    found = answers({"core": core(41.0, growth=1.2)})
    assert found["the same, states numbered at random"] == ("41 passes", "**no**")
    assert found["growth from 10⁴ to 10⁷ pairs, orbit by orbit"][1] == "**no**"
    nothing = answers({})
    assert len(nothing) == len(WISHES) and set(nothing.values()) == {("not measured", "—")}


@pytest.mark.parametrize(
    ("others", "value", "met"), [(0.05, "9.00 (8.50…9.50)", "yes"), (0.5, "7.00 (6.50…7.50), processor time", "**no**")]
)
def test_the_clock_counts_on_a_quiet_machine_only(others: float, value: str, met: str) -> None:
    key = "over Stable-Baselines3 (target 8)"
    rows = (
        {"name": "summary, by the clock", key: [9.0, 8.5, 9.5]},
        {"name": "summary, by processor time", key: [7.0, 6.5, 7.5]},
    )
    found = answers({"dqn": Measured(QUIET | {"others": others}, rows)})
    assert found["DQN updates/s over Stable-Baselines3"] == (value, met)


def test_a_fast_learner_that_learns_less_does_not_count() -> None:
    def rows(success: float) -> tuple[dict[str, Any], ...]:
        shared = {"steps per second": 1, "episodes to 90 %": [None]}
        return (
            {"name": "burnside Gaussian PPO", "success of the last 500 episodes": [success], **shared},
            {
                "name": "Stable-Baselines3 2.9.2",
                "success of the last 500 episodes": [0.95],
                "ours is faster by": [6.0, 5.5, 6.5],
                **shared,
            },
        )

    what = "PPO end to end over Stable-Baselines3, equal learning"
    assert answers({"flow": Measured(QUIET, rows(0.94))})[what][1] == "yes"
    assert answers({"flow": Measured(QUIET, rows(0.5))})[what][1] == "**no**"


def test_the_page_names_peers_machines_and_versions() -> None:
    rows = (
        {"name": "burnside (10 members)", "updates per second": 18_000, "updates per CPU second": 9_000},
        {
            "name": "Slow | Learner 2",
            "updates per second": 1_000,
            "updates per CPU second": 500,
            "ours is faster by": [18.0, 17.0, 19.0],
            "void": "its final return differs from ours",
        },
        {"name": "Gone 1", "not installable": "no wheel"},
        {"name": "bare matrix products", "updates per second": 12_000, "ours is faster by": [1.5, 1.4, 1.6]},
    )
    text = summary.markdown({"dqn": Measured(QUIET, rows)}, [("scaling-seeds", "Seeds.")])
    peer = "Slow \\| Learner 2 (void: its final return differs from ours)"
    assert f"| DQN, ring N = 20, ten seeds, updates/s | 18 000 | {peer} | 1 000 | 18× | 1.5 |" in text
    assert "Gone 1 (not installable)" in text and "![Seeds.](../docs/images/scaling-seeds.svg)" in text
    assert "| dqn | Abacus | 2 | 3.11.0 |" in text and "numpy 2.0" in text


def test_every_wish_and_comparison_belongs_to_a_benchmark() -> None:
    assert {wish.benchmark for wish in WISHES} <= set(command.known())
    assert set(summary.COMPARISONS) <= set(command.known())


def test_plots_show_what_was_measured() -> None:
    rows = [{"against": "workers", "x": x, "seconds": s} for x, s in ((1, 20.0), (2, 12.5), (4, 10.0))]
    rows += [{"against": "seeds", "x": x, "clock_us": 100.0 / x, "cpu_us": 100.0} for x in (1, 2)]
    found = {p.name: p for p in plots.draw({"core": core(20.0), "scaling": Measured(QUIET, tuple(rows))})}
    assert sorted(found) == ["scaling-seeds", "scaling-states", "scaling-workers"]
    assert [row[1:] for row in found["scaling-workers"].rows] == [(1, 1.0), (2, 1.6), (4, 2.0)]
    assert "ideal on 2 cores" in found["scaling-workers"].svg
    assert plots.draw({}) == []


def test_a_damaged_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "core.json").write_text('{"rows": [')
    with pytest.raises(UnreadableFile, match=r"core\.json is damaged.*python -m benchmarks core"):
        summary.load(tmp_path)


def test_an_unknown_benchmark_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["corr"]) == 2
    assert "unknown benchmark 'corr' (known: core, cube" in capsys.readouterr().err


def test_one_that_fails_or_finds_nothing_leaves_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = {"good": lambda: [{"x": 1}], "none": list, "bad": lambda: 1 / 0}
    monkeypatch.setattr(command, "FOLDER", tmp_path / "benchmarks")
    monkeypatch.setattr(command, "known", lambda: ["good", "none", "bad"])
    monkeypatch.setattr(
        command.importlib, "import_module", lambda name: type("M", (), {"run": staticmethod(modules[name[17:]])})
    )
    kept = tmp_path / "benchmarks" / "results"
    kept.mkdir(parents=True)
    for name in ("none", "bad"):
        (kept / f"{name}.json").write_text('{"machine": {}, "rows": [7]}')
    assert command.main([]) == 1
    assert "failed: bad" in capsys.readouterr().err
    assert json.loads((kept / "good.json").read_text())["rows"] == [{"x": 1}]
    assert json.loads((kept / "none.json").read_text())["rows"] == [7]
    assert (tmp_path / "benchmarks" / "RESULTS.md").read_text().startswith("# Benchmarks")


def test_the_committed_page_is_what_the_committed_rows_give() -> None:
    results = summary.load(FOLDER / "results")
    figures = plots.draw(results)
    text = summary.markdown(results, [(figure.name, figure.caption) for figure in figures])
    assert text == (FOLDER / "RESULTS.md").read_text(encoding="utf-8"), "run: python -m benchmarks --table"
    for figure in figures:
        assert (FOLDER.parent / "docs" / "images" / f"{figure.name}.svg").is_file()


@pytest.mark.parametrize("path", sorted((REPO / "benchmarks").rglob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_from_us_is_there(path: Path) -> None:
    """Benchmarks run for hours and rarely, some in environments of their own: a name that moved is found here."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "burnside":
            module = importlib.import_module(str(node.module))
            for name in node.names:
                if not hasattr(module, name.name):
                    assert importlib.util.find_spec(f"{node.module}.{name.name}"), (path.name, node.lineno, name.name)
