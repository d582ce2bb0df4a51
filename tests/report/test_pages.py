"""Published numbers are what the analysis yields from the committed results: tables, sentences, README.

A number that changes in ``results/`` or in an analysis fails here until ``make pages`` has been run and the sentences
around the tables have been read again.
"""

import csv
import math
import re
from pathlib import Path
from typing import Any

import pytest

from burnside.errors import InvalidParameter, UnknownName
from burnside.report import page_tables
from burnside.report.pages import rewrite, write_pages
from burnside.report.tables import spaced, with_error, with_interval
from burnside.stats.intervals import difference, welch
from burnside.stats.ratios import means_ratio, times_ratio

REPO = Path(__file__).resolve().parents[2]
PAGES = [*sorted((REPO / "docs" / "experiments").glob("*.md")), REPO / "docs" / "atlas.md", REPO / "README.md"]
BLOCK = re.compile(r"<!-- from results: ([\w-]+) -->\n(.*?)<!-- end -->", re.DOTALL)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)


def rows(experiment: str, **wanted: Any) -> list[dict[str, Any]]:
    return [r for r in page_tables._rows(experiment) if all(r[key] == value for key, value in wanted.items())]


def row(experiment: str, **wanted: Any) -> dict[str, Any]:
    (found,) = rows(experiment, **wanted)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_what_the_results_say(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "<!-- from results:" in text and rewrite(text) == text, f"run 'make pages': {page.name} is out of date"


def test_every_block_is_used() -> None:
    used = [name for page in PAGES for name, _ in BLOCK.findall(page.read_text(encoding="utf-8"))]
    assert sorted(used) == sorted(page_tables.BLOCKS)


def test_a_number_that_was_changed_by_hand_is_noticed_and_put_right(tmp_path: Path) -> None:
    page = tmp_path / "experiments" / "mistakes.md"
    page.parent.mkdir()
    right = (REPO / "docs" / "experiments" / "mistakes.md").read_text(encoding="utf-8")
    page.write_text(right.replace("| 3.96 | 2.93–5.35 |", "| 3.96 | 3.11–5.28 |"), encoding="utf-8")
    assert rewrite(page.read_text(encoding="utf-8")) != page.read_text(encoding="utf-8")
    figures = {tmp_path / "images" / name for name in page_tables.FIGURES}
    assert set(write_pages(tmp_path)) == {page, *figures} and page.read_text(encoding="utf-8") == right
    assert all(path.read_text(encoding="utf-8").startswith("<?xml") for path in figures)
    assert write_pages(tmp_path) == []


def test_blocks_that_cannot_be_made_are_refused() -> None:
    with pytest.raises(UnknownName, match="ring1d-times"):
        rewrite("<!-- from results: ring1d-time -->\n<!-- end -->")
    with pytest.raises(InvalidParameter, match="has no end"):
        rewrite("<!-- from results: ring1d-times -->\n| 5 |\n")


#: Tables with intervals that no study of ``results/`` gives, by their first cell.
BY_HAND = {
    "policy": "arithmetic, and the paper's number",
    "seed": "the policy that comes with the package: the command above the table prints it",
    "cube": "the networks that come with the package: tests/cli/test_shipped.py",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_interval_stands_in_a_table_outside_of_a_block(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
        first = table.split("|")[1].strip()
        if re.search(r"±|\d–\d|\d … ", table):
            assert first in BY_HAND, f"{page.name}: a table that begins with '{first}' was written by hand"


# Sentences.


def numbers_of(page: str) -> str:
    return " ".join((REPO / page).read_text(encoding="utf-8").split())


def test_sentences_on_the_1d_game() -> None:
    from burnside.experiments.ring1d.analysis import ratios

    text = numbers_of("docs/experiments/ring1d.md")
    baseline = {n: row("ring1d", n=n, arm="baseline", budget=10_000) for n in (30, 35, 40, 50)}
    steps = with_error(baseline[40]["steps_mean"], baseline[40]["steps_se"], 0)
    assert f"App. C's have taken {steps} when their 10 000 episodes are over" in text
    greedy = ratios(page_tables._results("ring1d"), "greedy95")
    assert f"{greedy[15].value:.1f} times at N = 15 and {greedy[20].value:.1f} at 20" in text
    limits = [ratios(page_tables._results("ring1d"))[n].text().removeprefix("at least ") for n in (40, 50)]
    assert f"the bounds of {limits[0]} and {limits[1]} are not sample complexity" in text
    first = {n: _at_first(n) for n in (5, 10, 15, 20)}
    assert "at once in {}, {}, {} and {} of ten runs at N = 5, 10, 15 and 20".format(*first.values()) in text
    assert all(greedy[n].high is not None and greedy[n].high < n for n in (5, 10, 15)) and greedy[20].high > 20
    # what the page says of the fall: decided at 40 and 50, not at 35, and never for the canonical agent
    assert all(baseline[n]["late_change_high"] < 0 for n in (40, 50))
    assert baseline[35]["late_change_low"] < 0 < baseline[35]["late_change_high"]
    assert all(r["late_change_high"] > 0 for r in rows("ring1d", arm="canonical"))
    plain = ratios(page_tables._results("ring1d"))
    words = (
        f"{plain[5].value:.1f} times as many episodes at N = 5, {plain[30].value:.1f} times at N = 30. From N = 40 on"
    )
    assert words in numbers_of("README.md")


def _at_first(n: int) -> int:
    """Runs of the canonical agent that pass the greedy rule at their first evaluation."""
    runs = [r for r in page_tables._results("ring1d").rows if r["n"] == n and r["arm"] == "canonical"]
    return sum(r["greedy95"] == r["evaluate_every"] for r in runs)


def test_what_differs_from_table_1_in_the_1d_game() -> None:
    """By Welch's t from means and standard errors of ten seeds each; and power laws over parts of the sizes."""
    text = numbers_of("docs/experiments/ring1d.md")
    apart = {}
    for arm in ("baseline", "canonical"):
        found = [r for r in rows("ring1d", arm=arm, budget=10_000, variant="paper") if r["mean"] and r["paper_mean"]]
        for r in found:
            half = welch([r["se"], r["paper_se"]], [10, 10], 0.95)
            gap = r["mean"] - r["paper_mean"]
            assert half is not None
            apart[arm, r["n"]] = 0 if abs(gap) <= half else 1 if gap > 0 else -1
    assert {key: sign for key, sign in apart.items() if sign} == {
        ("baseline", 20): -1,
        ("baseline", 30): 1,
        **{("canonical", n): 1 for n in (10, 15, 20, 30)},
    }
    assert "is faster than the paper's at 20 and slower at 30" in text and "is slower at 10, 15, 20 and 30" in text
    growth = []
    for arm in ("baseline", "canonical"):
        means = [math.log(_geometric(n, arm)) for n in (20, 30)]
        growth.append(f"{(means[1] - means[0]) / math.log(30 / 20):.1f}")
    assert (
        f"From N = 20 to 30 alone the baseline grows as N^{growth[0]} and the canonical agent as N^{growth[1]}" in text
    )


def _geometric(n: int, arm: str) -> float:
    from burnside.experiments.ring1d.analysis import times

    return math.exp(sum(math.log(t) for t in times(page_tables._results("ring1d"), n, arm).times) / 10)


def test_sentences_on_smaller_rates_in_the_1d_game() -> None:
    text = numbers_of("docs/experiments/ring1d.md")
    slow, slower = ({r["arm"]: r for r in rows("ring1d", n=40, variant=v)} for v in ("slow", "slower"))
    assert (
        slow["baseline"]["seeds"] - slow["baseline"]["censored"] == 3 and "3 of 5 runs converge within 20 000" in text
    )
    assert slower["baseline"]["seeds"] - slower["baseline"]["censored"] == 4 and "4 of 5 converge" in text
    steps = [spaced(r["baseline"]["steps_mean"]) for r in (slower, slow)]
    assert f"these runs take {steps[0]} steps on average" in text and f"(with a quarter of the rate {steps[1]})" in text
    assert spaced(slower["baseline"]["restricted_mean"]) in text
    long = row("ring1d", n=35, arm="baseline", budget=50_000)
    assert long["seeds"] - long["censored"] == 3 and "50 000 episodes 3 of 5 runs of the baseline converge" in text
    arrived = [r for r in page_tables._results("ring1d").rows if r["n"] == 35 and r["episodes"] == 50_000]
    assert max(r["train95"] for r in arrived if r["train95_solved"]) < 10_000 and round(min(long["returns"])) == -15
    at_35 = row("ring1d", n=35, arm="canonical", variant="slow")
    ends = (at_35["ratio"], at_35["ratio_low"], at_35["ratio_high"])
    assert f"{with_interval(*ends)} times at N = 35" in text and at_35["ratio_bound"] == ""
    least = f"{slower['canonical']['ratio_low']:.1f}"
    assert f"at least {least} at N = 40" in text and f"at least {least} times later" in numbers_of("README.md")


def test_sentences_on_the_solver_of_cubes() -> None:
    text, readme = numbers_of("docs/experiments/cube.md"), numbers_of("README.md")
    tied = row("cube_solver", kind="needed", arm="equivariant-48")
    times = with_interval(tied["ratio"], tied["ratio_low"], tied["ratio_high"])
    assert f"are worth {times} times" in text and f"it needs {times} times fewer training states" in readme
    sizes = {(r["arm"], r["weights"]): round(100 * r["solved"]) for r in rows("cube_solver", kind="size")}
    enough = min(w for (_, w), solved in sizes.items() if solved >= 90)
    assert f"The smallest network that solves nine in ten has {spaced(enough)} weights" in text
    both = f"{spaced(enough)} weights solve {sizes['equivariant-48', enough]} % where 595 021 without symmetry solve"
    assert f"{both} {sizes['none', 595_021]} %" in readme
    (small,) = (r for r in rows("cube_solver", kind="size", arm="none") if r["weights"] == 114_253)
    assert small["solved"] == pytest.approx(1 / 200) and "114 253 weights solve one cube in 200" in text
    tuned: dict[str, dict[float, float]] = {}
    for r in rows("cube_solver", kind="rate"):
        tuned.setdefault(r["arm"], {})[r["rate"]] = r["solved"]
    at_the_edge = {arm for arm, found in tuned.items() if max(found.values()) == found[min(found)]}
    assert (
        set(tuned) - at_the_edge == {"position"} and "For all but `position` that is the smallest of the three" in text
    )
    inverse = [f"{100 * tuned['equivariant-96'][rate]:.0f} % at {rate}" for rate in (0.002, 0.006)]
    assert f"{inverse[0]} against {inverse[1]}" in text
    shipped = row("cube_solver", kind="shipped", effort=0)
    assert shipped["solved"] == 1 and f"networks solves all {spaced(shipped['cubes'])} cubes at effort 0" in text


def test_sentences_on_the_cube() -> None:
    text = numbers_of("docs/experiments/cube.md")
    base = {n: row("cube", kind="davi", n=n, arm="baseline") for n in (3, 4, 5, 6)}
    solved, error = ([f"{base[n][key]:.{d}f}" for n in base] for key, d in (("solved_mean", 1), ("rmse", 3)))
    assert f"{solved[0]}, {solved[1]} and {solved[2]} % solved" in text
    assert f"an error of {error[0]}, {error[1]} and {error[2]} at N = 3, 4, 5" in text
    from burnside.experiments.cube.analysis import baseline_by_size

    (gap,) = (found for n, _, found, _ in baseline_by_size(page_tables._results("cube")) if n == 6)
    assert gap.low is not None and gap.low > 0  # it does degrade a little
    assert f"{error[3]} (more by {gap.low:.3f} to {gap.high:.3f}), with {solved[3]} % solved" in text
    gaps = {r["n"]: r for r in rows("cube", kind="davi", arm="conjugation")}
    assert all(r["rmse_gap_high"] < 0 for r in gaps.values())
    assert [n for n, r in gaps.items() if r["solved_gap_low"] <= 0] == [6]
    conjugation = f"{gaps[3]['solved_mean']:.1f} against {solved[0]} % solved at N = 3"
    assert conjugation in numbers_of("README.md")


def test_what_the_cube_does_not_decide() -> None:
    """The paper's canonical form costs more on larger cubes by search, not by error; the network ties in its error."""
    found = page_tables._results("cube").rows

    def values(n: int, arm: str, key: str) -> dict[int, float]:
        return {r["seed"]: float(r[key]) for r in found if (r["kind"], r["n"], r["arm"]) == ("davi", n, arm)}

    def cost(n: int, key: str) -> dict[int, float]:
        ours, base = values(n, "position", key), values(n, "baseline", key)
        return {seed: ours[seed] - base[seed] for seed in ours}

    for n in (5, 6):
        for key in ("greedy_solved", "beam_solved"):
            assert (difference(cost(n, key), cost(3, key)).high or 0) < 0, (n, key)
        error = difference(cost(n, "rmse"), cost(3, "rmse"))
        assert error.low is not None and error.low < 0
    ends = difference(values(3, "equivariant", "rmse"), values(3, "conjugation", "rmse"))
    assert ends.low is not None and ends.low < 0, "the ledger calls it open"


def test_sentences_on_frames() -> None:
    text, readme = numbers_of("docs/experiments/planar.md"), numbers_of("README.md")
    ten = row("planar", kind="imitation", task="push", arm="robot", demos=10)
    assert f"a saving of {ten['saving']:.0f}, and with three seeds of at least {int(ten['saving_low'])}**" in text
    full = row("planar", kind="ppo", arm="world", shift=1.0)
    assert f"reaches 90 % of successes at least {int(full['ratio_low'])} times sooner" in readme
    results = page_tables._results("planar")
    curves = results.table("episodes")
    rising = []
    for run in (r for r in results.rows if r["kind"] == "ppo" and not r["solved"]):
        own = curves["success"][(curves["cell"] == run["cell"]) & (curves["seed"] == run["seed"])]
        tenth = len(own) // 10
        rising.append((own[-tenth:].mean() > own[-2 * tenth : -tenth].mean(), run["shift"]))
    assert len(rising) == 7 and [shift for rises, shift in rising if not rises] == [1.0, 1.0]
    assert "the seven of them succeed" in text and "Five of them still rise" in text and "Two, both at L = 1" in text
    cloud = {r["arm"]: r for r in rows("robot", kind="imitation", observation="cloud", features="poses")}
    shares = [round(100 * cloud[arm]["success"]) for arm in ("gripper", "world")]
    assert f"{shares[0]} against {shares[1]} % of the scenes after 50 demonstrations" in readme
    gap = [round(100 * cloud["gripper"][key]) for key in ("gap_low", "gap_high")]
    assert f"{gap[0]} to {gap[1]} points more" in numbers_of("docs/experiments/robot.md")
    poses = {r["arm"]: r for r in rows("robot", kind="imitation", observation="state", features="poses", demos=500)}
    shares = [round(100 * poses[arm]["success"]) for arm in ("gripper", "world")]
    assert f"{shares[0]} against {shares[1]} % after 500" in readme
    assert all(poses[arm]["gap_high"] < 0 for arm in ("upright", "relative", "gripper"))


def test_sentences_on_the_4_cube() -> None:
    text = numbers_of("docs/experiments/cube.md")
    found = {r["width"]: r for r in rows("cube_solver", kind="slices", turns=100, weights=85_719)}
    solved = {width: (round(r["solved"] * r["cubes"]), r["cubes"]) for width, r in found.items()}
    assert solved == {1_024: (17, 50), 4_096: (42, 50), 16_384: (10, 10)}
    assert "a beam of 1 024 solves 17 of 50, one of 4 096 solves 42 of 50, and one of 16 384 all 10" in text
    lengths = [r["length"] for r in found.values()]
    assert f"{min(lengths):.0f} to {max(lengths):.0f} turns on average" in text
    before = row("cube_solver", kind="slices", turns=100, width=16_384, weights=47_931)
    assert f"solved {round(before['solved'] * before['cubes'])} of {before['cubes']} with a beam of 16 384" in text
    assert f"its solutions had {before['length']:.0f} turns" in text


def test_sentences_on_the_feature_alone_in_the_1d_game() -> None:
    text, readme = numbers_of("docs/experiments/ring1d.md"), numbers_of("README.md")
    said = {}
    for n in (20, 30):
        feature = row("ring1d", n=n, arm="feature", budget=10_000)
        ours = row("ring1d", n=n, arm="canonical", budget=10_000, variant="paper")
        said[n] = [
            f"{each[name]:.2f} ({each[f'{name}_low']:.2f}–{each[f'{name}_high']:.2f})"
            for each, name in ((feature, "ratio"), (ours, "feature_ratio"))
        ]
        share = math.log(feature["ratio"]) / math.log(ours["ratio"])
        assert 0.4 < share < 0.6, "about half of the gap on a logarithmic scale"
    assert f"At N = 30 it brings {said[30][0]} times fewer episodes by itself" in text
    assert f"another {said[30][1]} times; at N = 20 it is {said[20][0]} and {said[20][1]}." in text
    left = {n: row("ring1d", n=n, arm="canonical", budget=10_000, variant="paper") for n in (35, 40)}
    assert with_interval(*(left[35][f"feature_ratio{end}"] for end in ("", "_low", "_high")), digits=2) in text
    assert f"at least {left[40]['feature_ratio_low']:.2f} at N = 40" in text
    assert left[40]["feature_ratio_bound"] == "at least"
    collapsing = row("ring1d", n=40, arm="feature", budget=10_000)
    assert collapsing["late_change_high"] > 0 and collapsing["seeds"] - collapsing["censored"] == 6
    fewer = row("ring1d", n=30, arm="feature", budget=10_000)["ratio"]
    assert f"the baseline itself needs {fewer:.1f} times fewer." in readme
    slow = {n: row("ring1d", n=n, arm="canonical", variant="slow") for n in (30, 35, 40)}
    rests = {
        n: with_interval(*(r[f"feature_ratio{end}"] for end in ("", "_low", "_high")), digits=2)
        for n, r in slow.items()
    }
    assert f"takes {rests[30]} times the canonical agent's episodes at N = 30, {rests[35]} at N = 35" in text
    assert f"and {rests[40]} at N = 40, and every run of it converges" in text
    assert f"the symmetry saves another {rests[40]} times" in readme
    assert all(row("ring1d", n=n, arm="feature", variant="slow")["censored"] == 0 for n in slow)
    assert slow[35]["feature_ratio_low"] < 1 < slow[40]["feature_ratio_low"] and slow[40]["seeds"] == 10
    last, alone = row("ring1d", n=50, arm="canonical", variant="slow"), row("ring1d", n=50, arm="feature")
    assert alone["seeds"] - alone["censored"] == 3 and "3 of 5 runs with the feature converge" in text
    assert f"after {spaced(last['mean'])} on average" in text and last["censored"] == 0
    assert f"(at least {last['feature_ratio_low']:.1f})" in text


#: Of PPO's settings in the 3D game, each alone.
CHANGES = ("entropy", "value", "rate", "rollout", "scale", "place", "clip")


def test_sentences_on_the_3d_game() -> None:
    arms_of_two = ("baseline", "canonical")
    arms = [(a, c) for a in ("dqn", "ppo") for c in arms_of_two]
    short = {"dqn": 400, "ppo": 300}
    found = [row("ring3d", algorithm=a, encoder="pool", arm=c, variant="", episodes=short[a]) for a, c in arms]
    scores = [spaced(r["greedy_mean"], 1) for r in found]
    readme, page = numbers_of("README.md"), numbers_of("docs/experiments/ring3d.md")
    assert f"({scores[0]} for the baseline against {scores[1]} for the canonical agent)" in readme
    whole = [row("ring3d", algorithm="ppo", encoder="pool", arm=c, variant="", episodes=50_000) for c in arms_of_two]
    ends_at = [spaced(r["greedy_mean"], 1) for r in whole]
    assert f"nothing in all its 50 000 episodes: {ends_at[0]} against {ends_at[1]}, and" in readme
    assert f"greedy {scores[2]} and {scores[3]} on five to seven cells" in page
    assert all(r["sampled_mean"] > r["greedy_mean"] + 25 and r["solved"] < 0.1 for r in whole)
    changed = {(r["arm"], r["encoder"]): r for r in rows("ring3d", variant="smallest", seeds=3)}
    assert all(changed["canonical", encoder]["solved"] == 1 for encoder in ("pool", "flatten"))
    ends = [spaced(changed[arm, "pool"]["greedy_mean"], 1) for arm in ("baseline", "canonical")]
    assert f"and only the canonical agent: {ends[0]} against {ends[1]}." in readme
    for encoder in ("pool", "flatten"):
        r = changed["baseline", encoder]
        limits = f"({spaced(r['greedy_low'], 1)} … {spaced(r['greedy_high'], 1)})"
        assert f"{spaced(r['greedy_mean'], 1)} {limits} with {encoder}" in page.replace("`", "")
    learns = {r["variant"]: r["solved"] > 0.9 for r in rows("ring3d", algorithm="ppo", episodes=6_000)}
    assert {name.removeprefix("without ") for name, learnt in learns.items() if not learnt} == {
        "value",
        "rate",
        "place",
    }
    assert not any(r["solved"] > 0.1 for r in rows("ring3d", algorithm="ppo", episodes=3_000))
    alone = [r["solved"] for r in rows("ring3d", algorithm="ppo", episodes=3_000) if r["variant"] in CHANGES]
    share = f"{100 * min(alone):.0f} to {100 * max(alone):.0f} % of the boards, as one move forever does"
    assert len(alone) == len(CHANGES) and share in page
    assert row("ring3d", variant="all", episodes=20_000)["solved"] == 1
    told = rows("ring3d", arm="baseline", variant="smallest, feature")
    assert len(told) == 2 and all(r["seeds"] == 3 and r["solved"] == 1 for r in told)
    said = {r["encoder"]: f"{r['ratio']:.2f} ({r['ratio_low']:.2f}–{r['ratio_high']:.2f})" for r in told}
    assert f"takes {said['pool']} and {said['flatten']} times as many episodes as the canonical agent" in page
    gets = {r["encoder"]: spaced(r["greedy_mean"], 1) for r in told}
    assert (
        f"({gets['pool']} with `pool`, {gets['flatten']} with `flatten`)" in page and f"{gets['pool']} too." in readme
    )


def test_sentences_on_training_returns_in_the_3d_game() -> None:
    """Returns fall while ε does; compared where it is at its least, nothing falls."""
    page = numbers_of("docs/experiments/ring3d.md")
    columns = page_tables._results("ring3d").table("episodes")

    def hundreds(arm: str, encoder: str) -> list[dict[int, float]]:
        mine = (columns["algorithm"] == "dqn") & (columns["arm"] == arm) & (columns["encoder"] == encoder)
        runs = {s: columns["returns"][mine & (columns["seed"] == s)].reshape(4, 100).mean(axis=1) for s in range(5)}
        return [{s: float(run[k]) for s, run in runs.items()} for k in range(4)]

    said = []
    for encoder in ("pool", "flatten"):
        _, _, third, last = hundreds("baseline", encoder)
        change = difference(last, third, paired=True)
        assert change.low is not None and change.high is not None and change.low < 0 < change.high
        said.append(with_interval(*change))
    assert f"it rises by {said[0]} with `pool` and by {said[1]} with `flatten`" in page
    start, after, _, end = (math.fsum(h.values()) / 5 for h in hundreds("canonical", "pool"))
    assert f"rises from {spaced((start + after) / 2)} in the first 200 episodes to {spaced(end)} in the last" in page
    start, after, *_ = (math.fsum(h.values()) / 5 for h in hundreds("baseline", "pool"))
    assert f"it is {spaced((start + after) / 2)} in the first 200 episodes" in page
    assert 0.985**200 < 0.05, "ε of the study is at its least from episode 200 on"
    walks = [row("ring3d", algorithm=name) for name in ("uniform random", "one move for ever")]
    random, one = (
        with_error(r[f"{key}_mean"], r[f"{key}_se"]) for r, key in zip(walks, ("sampled", "greedy"), strict=True)
    )
    assert page.count(random) >= 2 and f"measured {one} for one of the moves" in page
    (collapsed,) = rows("ring3d", variant="rate")
    both = {spaced(collapsed[f"{key}_mean"], 1) for key in ("greedy", "sampled")}
    assert len(both) == 1 and f"greedy and sampled both {both.pop()}." in page


def test_sentences_on_the_atlas() -> None:
    """What the page concludes from the tasks that have finished."""
    from burnside.experiments.atlas.analysis import groups, table
    from burnside.report.savings import ratio_text
    from burnside.runs.results import committed, unfinished

    folder = committed("atlas") or unfinished("atlas")
    assert folder is not None
    found = {(r["env"], r["variant"], r["arm"], r["control"]): r for r in table(folder, allow_missing=True)}

    def limits(env: str, arm: str, control: str = "", variant: str = "") -> tuple[float, float]:
        found_row = found[env, variant, arm, control]
        low, high = found_row["low"], found_row["high"]
        return (0.0 if low is None else low, float("inf") if high is None else high)

    averaging = [key for key in found if key[2:] == ("averaging", "")]
    assert len(averaging) >= 8 and all(found[key]["high"] is None or found[key]["high"] > 1 for key in averaging)
    saved = ("CartPole-v1", "burnside/Ring1D-v0", "InvertedPendulum-v5", "tictactoe", "Reacher-v5")
    saved += ("InvertedDoublePendulum-v5", "Swimmer-v5")
    assert all(limits(env, "averaging")[0] > 1 for env in saved)
    assert limits("Pendulum-v1", "averaging", variant="4 updates a step")[0] > 1
    low, high = limits("Pendulum-v1", "averaging")
    assert low < 1 < high
    assert all(limits("InvertedPendulum-v5", arm)[0] > 1 for arm in ("canonical", "augment", "averaging"))
    assert limits("CartPole-v1", "canonical")[0] > 1 > limits("CartPole-v1", "canonical", "domain")[1]
    assert 1 < limits("CartPole-v1", "canonical", "feature")[0] < limits("CartPole-v1", "canonical")[0]
    plane = [found["burnside/PlanarPush-v0", "", "canonical", control]["ratio"] for control in ("", "feature")]
    assert 3.5 < plane[0] / plane[1] < 4.5, "the features save a quarter of what the frame does"
    assert found["Reacher-v5", "", "baseline", ""]["solved"] == 0.3
    assert all(limits("Reacher-v5", "canonical", control)[0] > 2 for control in ("", "domain"))
    assert limits("Reacher-v5", "averaging")[0] > 1.5
    assert found["Reacher-v5", "", "canonical", "feature"]["solved"] == 0.8
    low, high = limits("burnside/PlanarPush-v0", "augment-random")
    assert low < 1 < high
    turned = next(g for g in groups(folder, allow_missing=True) if g.key[:2] == ("Reacher-v5", ""))
    assert turned.ratio(("augment-random", ""), 0.65).high < 1
    assert limits("Acrobot-v1", "canonical", "domain")[1] < 1
    assert found["Acrobot-v1", "", "canonical", "domain"]["solved"] == 0.5
    wronged = ("burnside/Ring1D-v0", "tictactoe", "InvertedPendulum-v5", "Pendulum-v1")
    assert all(limits(env, arm, "placebo")[1] < 1 for env in wronged for arm in ("canonical", "averaging", "augment"))
    askew = next(g for g in groups(folder, allow_missing=True) if g.key[0] == "InvertedPendulum-v5")
    assert all(askew.conditions[arm, ""].times(askew.threshold(0.9)).solved.all() for arm in ("canonical", "averaging"))
    text = numbers_of("docs/experiments/atlas.md")
    shorter = ratio_text(found["MiniGrid-Empty-Random-5x5-v0", "128 steps a rollout", "averaging", ""])
    assert f"on ten other seeds it is {shorter}" in text
    cart = [found["CartPole-v1", "", "canonical", control]["ratio"] for control in ("", "domain", "feature")]
    assert f"turn {cart[0]:.0f} times faster into {1 / cart[1]:.1f} times slower" in text
    assert f"already saves {cart[2]:.1f} times" in text
    sizes = [found[key]["order"] or math.inf for key in averaging]
    assert all((found[key]["low"] or 0.0) < size for key, size in zip(averaging, sizes, strict=True))
    features = [found[env, "", "canonical", "feature"] for env in ("CartPole-v1", "Swimmer-v5")]
    assert f"saves too, {ratio_text(features[0])} and {ratio_text(features[1])} times" in text
    assert all("(feature)" in found[row["env"], "", "averaging", ""]["verdict"] for row in features)
    assert ratio_text(found["Reacher-v5", "", "canonical", ""]) + " times, where eight of ten" in text
    assert found["CartPole-v1", "", "canonical", ""]["at_first"] == 9
    rooms = [g for g in groups(folder, allow_missing=True) if g.key[0] == "MiniGrid-Empty-Random-5x5-v0"]
    assert f"({rooms[0].ratio(('canonical', ''), 0.9).text()} of the baseline)" in text
    assert rooms[0].ratio(("canonical", ""), 0.9, against=("canonical", "placebo")).high < 1
    start, *other = (g.conditions["baseline", ""].times(g.threshold(0.8)) for g in rooms)
    more, rounds = (times_ratio(start, each).text() for each in other)
    assert f"{rounds} times faster, the first not for certain ({more})" in text
    text = numbers_of("README.md")
    assert f"saves too: {features[0]['ratio']:.2f} and {features[1]['ratio']:.2f} times" in text
    quoted = [(env, "", "averaging") for env in ("CartPole-v1", "Swimmer-v5", "burnside/Ring1D-v0", "tictactoe")]
    quoted += [("burnside/PlanarPush-v0", "", "canonical")]
    quoted += [("Pendulum-v1", "", "averaging"), ("Pendulum-v1", "4 updates a step", "averaging")]
    for env, variant, arm in quoted:
        assert ratio_text(found[env, variant, arm, ""]) in text, env
    better = f"{cart[0]:.0f} times faster or more (most runs are there at the first evaluation)"
    assert f"one domain is {better}, another {1 / cart[1]:.1f} times slower" in text


# Mistakes, whose results are tables already.


def test_ratios_of_mistakes_follow_from_the_kept_runs() -> None:
    folder = REPO / "results" / "mistakes"
    with (folder / "mistakes-runs.csv").open(encoding="utf-8", newline="") as file:
        runs = list(csv.DictReader(file))
    with (folder / "mistakes.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    for line in table:
        sides = [[r for r in runs if (r["model"], r["side"]) == (line["model"], side)] for side in ("M", "quotient")]
        counts = [{int(r["seed"]): float(r["mistakes"]) for r in side} for side in sides]
        capped = tuple(sum(r["capped"] == "True" for r in side) for side in sides)
        assert capped == (int(line["capped M"]), int(line["capped quotient"]))
        found = means_ratio(*counts, censored=capped)  # type: ignore[arg-type]
        assert found.bound == line["bound"] and found.value == pytest.approx(float(line["ratio"]))
        assert (found.low, found.high) == pytest.approx(
            tuple(float(line[key]) if line[key] else None for key in ("low", "high"))
        )
    by_model = {line["model"]: line for line in table}
    five, ten, fifteen, twenty = (by_model[f"slip-ring(n={n}) / Z"] for n in (5, 10, 15, 20))
    readme = numbers_of("README.md")
    assert f"{float(five['ratio']):.1f} and at least {float(ten['low']):.1f} times fewer mistakes on slippery" in readme
    large = f"{float(fifteen['ratio']):.1f} and {float(twenty['ratio']):.1f} times on 15 and 20"
    assert f"{large}, where the learner's width factor c is {fifteen['scale']} instead of 1" in readme
    fixed = float(by_model["slip-ring(n=10, goal=fixed) / Z"]["ratio"])
    assert f"{fixed:.1f} times if only one goal can occur" in readme
