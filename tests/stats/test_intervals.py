"""Rates, bootstraps and rliable's metrics: numbers of others, same seed same interval, names instead of positions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnside.errors import InvalidParameter
from burnside.stats import (
    bootstrap,
    iqm,
    point_estimates,
    rliable_export,
    score_table,
    stratified_bootstrap,
    wilson,
)

# np.random.default_rng(5).normal(size=(7, 3)).round(3), and what rliable 1.2.0 (arch 7.2.0) says of it:
# metrics.aggregate_iqm, aggregate_mean, aggregate_median, aggregate_optimality_gap.
SCORES = np.array(
    [
        [-0.802, -1.324, -0.248],
        [0.42, 1.136, 0.11],
        [-0.553, -0.785, 0.749],
        [1.635, 0.273, -1.233],
        [-0.958, 1.6, 0.203],
        [-1.732, -0.084, -1.163],
        [-0.629, -0.488, -0.713],
    ]
)
RLIABLE = {
    "iqm": -0.3378181818181818,
    "mean": -0.21838095238095234,
    "median": -0.32785714285714285,
    "optimality_gap": 1.2836666666666667,
}


def rows(episodes: int = 1) -> list[dict[str, object]]:
    return [
        {"condition": c, "n": n, "seed": s, "score": n + s + k}
        for c in ("canonical", "baseline")
        for n in (10, 5)
        for s in (7, 3)
        for k in range(episodes)
    ]


def test_point_estimates_are_those_of_rliable() -> None:
    assert point_estimates(SCORES) == pytest.approx(RLIABLE, abs=1e-12)


def test_point_estimates_against_rliable_itself() -> None:
    metrics = pytest.importorskip("rliable.metrics", reason="rliable is not installed (it needs arch < 8)")
    rng = np.random.default_rng(0)
    for shape in ((1, 1), (3, 2), (10, 8), (5, 1), (7, 13)):
        array = rng.normal(size=shape)
        want = {
            "iqm": metrics.aggregate_iqm(array),
            "mean": metrics.aggregate_mean(array),
            "median": metrics.aggregate_median(array),
            "optimality_gap": metrics.aggregate_optimality_gap(array),
        }
        assert point_estimates(array) == pytest.approx(want, abs=1e-12)


def test_wilson_against_its_defining_equation() -> None:
    """Its ends are the rates p at which |k/n − p| is exactly z standard errors."""
    z = 1.959963984540054
    for k, n in ((1, 10), (9, 10), (50, 100), (3, 4)):
        _, low, high = wilson(k, n)
        for p in (low, high):
            assert p is not None and abs(k / n - p) == pytest.approx(z * math.sqrt(p * (1 - p) / n))


@given(st.integers(1, 200), st.data())
def test_wilson_stays_inside(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    value, low, high = wilson(k, n)
    assert low is not None and high is not None and 0 <= low <= value <= high <= 1


@pytest.mark.parametrize(("k", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_rates_are_refused(k: int, n: int) -> None:
    with pytest.raises(InvalidParameter):
        wilson(k, n)


def test_same_seed_same_interval() -> None:
    values = {s: float(v) for s, v in enumerate(np.random.default_rng(0).normal(size=10))}
    np.random.seed(1)  # noqa: NPY002 (rliable's trap: the global state must not matter)
    first, grid = bootstrap(values, seed=3), stratified_bootstrap(SCORES, seed=3, draws=200)
    np.random.seed(2)  # noqa: NPY002
    assert bootstrap(values, seed=3) == first != bootstrap(values, seed=4)
    assert stratified_bootstrap(SCORES, seed=3, draws=200) == grid != stratified_bootstrap(SCORES, seed=4, draws=200)
    assert grid.value == pytest.approx(RLIABLE["iqm"])


def test_the_bootstrap_has_the_right_width() -> None:
    sample = np.random.default_rng(1).normal(size=50)
    found = bootstrap(dict(enumerate(sample.tolist())), draws=20_000)
    assert found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * sample.std() / math.sqrt(50), rel=0.05)


def test_other_statistics() -> None:
    found = bootstrap({0: 1.0, 1: 2.0, 2: 9.0}, lambda x: np.median(x, axis=-1))
    assert found.value == 2.0


def test_episodes_passed_as_runs_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="seed 3 has 500 values: a run gives one"):
        bootstrap({3: np.zeros(500)})  # type: ignore[dict-item]
    with pytest.raises(InvalidParameter, match="episodes are not runs"):
        bootstrap(np.zeros(500))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="several scores for seed 7 on 10"):
        score_table(rows(episodes=2))


def test_seeds_and_names_keep_their_labels() -> None:
    table = score_table(rows())
    assert table.tasks == ("10", "5") and table.seeds == {"canonical": (7, 3), "baseline": (7, 3)}
    assert rliable_export(table)["baseline"].tolist() == [[17, 12], [13, 8]]
    assert not table.single_seed


def test_a_missing_score_fails_unless_allowed() -> None:
    some = rows()[:-1]
    with pytest.raises(InvalidParameter, match=r"1 scores are missing \(first: baseline, seed 3 on 5\)"):
        score_table(some)
    table = score_table(some, allow_missing=True)
    assert table.seeds["baseline"] == (7,) and table.single_seed
    none = [row | {"score": None} for row in rows()]
    with pytest.raises(InvalidParameter, match="8 scores are missing"):
        score_table(none)
    with pytest.raises(InvalidParameter, match="no seed with a score"):
        score_table(none, allow_missing=True)
    with pytest.raises(InvalidParameter, match="no rows"):
        score_table([])
    with pytest.raises(InvalidParameter, match="no column 'score'"):
        score_table([{"condition": "a", "n": 1, "seed": 0}])


def test_a_single_seed_is_flagged() -> None:
    assert bootstrap({5: 1.0}).single_seed and stratified_bootstrap([[1.0, 2.0]]).single_seed
    assert not bootstrap({5: 1.0, 6: 2.0}).single_seed


def test_nothing_and_nan_are_refused() -> None:
    for bad in ([], [math.nan], [1.0, math.inf]):
        with pytest.raises(InvalidParameter):
            iqm(bad)
    with pytest.raises(InvalidParameter, match="runs × tasks"):
        point_estimates([1.0, 2.0])
    with pytest.raises(InvalidParameter, match="level"):
        wilson(1, 2, level=95)


@pytest.mark.parametrize(("seeds", "covered"), [(2, 0.50), (3, 0.74), (5, 0.83), (10, 0.90)])
def test_bootstrap_covers_as_often_as_its_docstring_says(seeds: int, covered: float) -> None:
    rng, hits = np.random.default_rng(0), 0
    for trial in range(600):
        found = bootstrap(dict(enumerate(rng.normal(size=seeds))), seed=trial, draws=400)
        assert found.low is not None and found.high is not None
        hits += found.low <= 0 <= found.high
    assert hits / 600 == pytest.approx(covered, abs=0.05)
