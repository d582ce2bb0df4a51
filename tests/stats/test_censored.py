"""Censored times: against hand counts, other packages' numbers, and the traps read in others' code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnside.errors import InvalidParameter
from burnside.stats import Times, first_reach
from burnside.stats.censored import Reach, first_reach_evaluated

# Checked once with lifelines 0.30.3: KaplanMeierFitter().fit(T, S), its confidence_interval_ and
# restricted_mean_survival_time(fitter, t, return_variance=True), whose variance is n times that of the mean.
T = (315, 286, 472, 621, 718, 849, 997, 1200, 1200, 900)
S = (True,) * 7 + (False,) * 3
RUNS = Times(tuple(range(10)), T, S)


def test_kaplan_meier_is_that_of_lifelines() -> None:
    curve = RUNS.kaplan_meier()
    assert curve.times.tolist() == [286, 315, 472, 621, 718, 849, 997]
    np.testing.assert_allclose(curve.survival, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.266667], atol=1e-6)
    low = [0.473009, 0.408691, 0.328717, 0.252669, 0.183606, 0.122693, 0.047610]
    high = [0.985281, 0.945873, 0.891949, 0.827221, 0.753174, 0.670205, 0.563384]
    np.testing.assert_allclose(curve.low, low, atol=1e-6)
    np.testing.assert_allclose(curve.high, high, atol=1e-6)
    assert curve.at_risk.tolist() == [10, 9, 8, 7, 6, 5, 3]


def test_restricted_means_are_those_of_lifelines() -> None:
    assert RUNS.restricted_mean(1200).value == pytest.approx(779.033333)
    found = RUNS.restricted_mean(900)
    assert found.value == pytest.approx(686.1)
    assert found.se is not None
    # lifelines integrates numerically, hence the tolerance; our factor n/(n − 1) taken out.
    assert found.se**2 * 9 / 10 * 10 == pytest.approx(55843.51, rel=1e-4)


def test_the_median_and_its_exact_interval() -> None:
    found = RUNS.median()
    # lifelines says 718, the lower end of the piece at exactly one half; ours is its middle, as in R's survfit.
    assert found.value == (718 + 849) / 2
    # of ten runs the second and the ninth; a ninth one did not solve
    assert (found.low, found.high) == (315, None)
    assert found.coverage == pytest.approx(1 - 2 * 11 / 1024)
    whole = Times(tuple(range(10)), T, (True,) * 10).median()
    assert (whole.low, whole.high) == (315, 1200)


def test_a_censored_run_is_a_lower_limit_of_the_median_but_no_upper_one() -> None:
    early = Times(tuple(range(6)), (5, 10, 20, 30, 40, 50), (False, True, True, True, True, True)).median()
    assert (early.low, early.high) == (5, None)  # the first may really be the last


@given(st.lists(st.integers(1, 10_000), min_size=2, max_size=15))
def test_without_censoring_everything_is_ordinary(times: list[int]) -> None:
    runs = Times(tuple(range(len(times))), times, [True] * len(times))
    plain, restricted = runs.mean(), runs.restricted_mean()
    assert plain is not None and plain.se is not None and restricted.se is not None
    assert plain.value == pytest.approx(np.mean(times)) == pytest.approx(restricted.value)
    assert plain.se == pytest.approx(np.std(times, ddof=1) / math.sqrt(len(times)))
    assert restricted.se == pytest.approx(plain.se, abs=1e-6)
    assert runs.median().value == pytest.approx(np.median(times))


@given(st.lists(st.tuples(st.integers(1, 99), st.booleans()), min_size=2, max_size=12))
def test_with_a_common_budget_the_restricted_mean_is_a_mean(draws: list[tuple[int, bool]]) -> None:
    times = np.array([t if solved else 100 for t, solved in draws])
    runs = Times(tuple(range(len(times))), times, [solved for _, solved in draws])
    found = runs.restricted_mean()
    assert found.value == pytest.approx(times.mean())
    assert found.se == pytest.approx(times.std(ddof=1) / math.sqrt(times.size), abs=1e-9)


def test_a_mean_over_solvers_cannot_be_had() -> None:
    assert RUNS.mean() is None
    summary = RUNS.summary(budget=1200)
    assert summary["mean"] is None and summary["se"] is None
    assert summary["restricted_mean"] is None and summary["censored"] == 3  # two budgets: 900 and 1200
    assert summary["solved"] == 0.7 and 0 < summary["solved_low"] < 0.7 < summary["solved_high"] < 1


def test_nothing_solved_is_no_median_but_a_restricted_mean() -> None:
    runs = Times((0, 1), (500, 500), (False, False))
    summary = runs.summary()
    assert summary["median"] is None and summary["median_low"] is None and summary["solved"] == 0
    assert runs.restricted_mean() == (500, 0.0, None, None)  # no spread, no interval


def test_means_have_students_intervals() -> None:
    runs = Times((0, 1, 2), (100, 200, 300), (True,) * 3)
    for found in (runs.mean(), runs.restricted_mean()):
        assert found is not None and found.low == pytest.approx(200 - 4.303 * 100 / math.sqrt(3), abs=0.1)
        assert found.high == pytest.approx(200 + 4.303 * 100 / math.sqrt(3), abs=0.1)


def test_a_restricted_mean_does_not_exceed_its_horizon() -> None:
    found = Times(tuple(range(4)), (900, 1000, 1000, 1000), (True, False, False, False)).restricted_mean()
    assert found.value == 975 and found.high == 1000


def test_a_restricted_mean_is_not_cut_at_the_shortest_of_several_budgets() -> None:
    """Environment steps after 10 000 episodes are not censored times: the 'mean' of these was their minimum."""
    steps = (187409, 226077, 202151, 206128, 182063, 243371, 195075, 261473, 164124, 170267)
    runs = Times(tuple(range(10)), steps, (False,) * 10)
    assert runs.horizon is None
    with pytest.raises(InvalidParameter, match=r"different times, from 164124 to 261473: give τ"):
        runs.restricted_mean()
    assert runs.restricted_mean(164124).value == 164124  # on demand
    summary = runs.summary()
    assert summary["restricted_mean"] is None and summary["restricted_se"] is None


def test_a_single_seed_is_flagged_and_has_no_interval() -> None:
    summary = Times((4,), (321,), (True,)).summary()
    assert summary["single_seed"] and summary["se"] is None and summary["restricted_se"] is None
    assert summary["median_low"] is None and summary["median_high"] is None
    assert not RUNS.summary()["single_seed"]


def test_seeds_keep_their_labels() -> None:
    runs = Times.of({7: Reach(200, True), 3: Reach(900, False)})
    assert runs.seeds == (7, 3) and runs.times.tolist() == [200, 900] and runs.solved.tolist() == [True, False]


def test_episodes_passed_as_runs_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="episodes as runs"):
        Times((0, 0, 0), (1, 2, 3), (True,) * 3)
    with pytest.raises(InvalidParameter, match="one per episode of one run"):
        first_reach(np.zeros((10, 500)), 1.0)


@pytest.mark.parametrize(
    ("seeds", "times", "solved"),
    [
        ((), (), ()),
        ((0, 1), (1,), (True,)),
        ((0,), (0,), (True,)),
        ((0,), (math.nan,), (True,)),
        ((0,), (math.inf,), (False,)),
    ],
)
def test_impossible_times_are_refused(
    seeds: tuple[int, ...], times: tuple[float, ...], solved: tuple[bool, ...]
) -> None:
    with pytest.raises(InvalidParameter):
        Times(seeds, times, solved)  # type: ignore[arg-type]


# When a threshold is reached.


@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=60),
    st.integers(1, 12),
    st.floats(-5, 5, allow_nan=False),
)
def test_first_reach_against_a_loop(returns: list[int], window: int, threshold: float) -> None:
    want = Reach(len(returns), False)
    for k in range(window, len(returns) + 1):
        if np.mean(returns[k - window : k]) >= threshold:
            want = Reach(k, True)
            break
    assert first_reach(returns, threshold, window) == want


def test_first_reach_needs_a_full_window() -> None:
    assert first_reach([10.0] * 300, 1.0) == (100, True)
    assert first_reach([10.0] * 99, 1.0) == (99, False)


def test_first_reach_does_not_depend_on_what_came_before_the_window() -> None:
    """A running sum would: its rounding errors stay."""
    quiet = np.full(100, 0.1)
    loud = np.concatenate([np.full(50, 1e15), -np.full(50, 1e15), quiet])
    level = float(quiet.mean())
    assert first_reach(loud[50:], level) == (150, True)


def test_evaluations() -> None:
    at, scores = [10, 20, 30, 40], [0.1, 0.9, 0.5, 0.95]
    assert first_reach_evaluated(at, scores, 0.9) == (20, True)
    assert first_reach_evaluated(at, scores, 0.9, patience=2) == (40, False)
    assert first_reach_evaluated(at, scores, 0.99, budget=45) == (45, False)
    for bad in ([10, 10, 30, 40], [1, 2, 3]):
        with pytest.raises(InvalidParameter):
            first_reach_evaluated(bad, scores, 0.9)
