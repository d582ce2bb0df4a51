"""Censored times: against hand counts, other packages' numbers, and the traps read in others' code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnside.errors import InvalidParameter
from burnside.stats import Reach, Times, first_reach, first_reach_evaluated, paired_ratio

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


def test_the_interval_of_the_median_is_that_of_lifelines() -> None:
    found = RUNS.median()
    assert (found.low, found.high) == (286, None)
    # lifelines says 718, the lower end of the piece at exactly one half; ours is its middle, as in R's survfit.
    assert found.value == (718 + 849) / 2


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
    assert summary["restricted_mean"] == pytest.approx(686.1) and summary["censored"] == 3
    assert summary["solved"] == 0.7 and 0 < summary["solved_low"] < 0.7 < summary["solved_high"] < 1


def test_nothing_solved_is_no_median_but_a_restricted_mean() -> None:
    runs = Times((0, 1), (500, 500), (False, False))
    summary = runs.summary()
    assert summary["median"] is None and summary["median_low"] is None and summary["solved"] == 0
    assert runs.restricted_mean() == (500, 0.0)


def test_a_single_seed_is_flagged_and_has_no_interval() -> None:
    summary = Times((4,), (321,), (True,)).summary()
    assert summary["single_seed"] and summary["se"] is None and summary["restricted_se"] is None
    assert summary["median_low"] is None and summary["median_high"] is None
    assert not RUNS.summary()["single_seed"]


def test_seeds_keep_their_labels() -> None:
    runs = Times.of({7: Reach(200, True), 3: Reach(900, False)})
    assert runs.seeds == (7, 3) and runs.times.tolist() == [200, 900] and runs.solved.tolist() == [True, False]
    # Pairs by label, whatever the order: 7 with 7 gives a ratio of exactly 2 for every pair, and no spread.
    fast = Times((3, 7), (450, 100), (True, True))
    slow = Times((7, 3), (200, 900), (True, True))
    assert paired_ratio(slow, fast)[:3] == (2.0, pytest.approx(2.0), pytest.approx(2.0))


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


# Ratios.


def test_same_seed_same_interval() -> None:
    rng = np.random.default_rng(0)
    slow = Times(tuple(range(10)), rng.integers(500, 900, 10), np.ones(10))
    fast = Times(tuple(range(10)), rng.integers(100, 300, 10), np.ones(10))
    np.random.seed(1)  # noqa: NPY002 (rliable's trap: the global state must not matter)
    first = paired_ratio(slow, fast, seed=3)
    np.random.seed(2)  # noqa: NPY002
    assert paired_ratio(slow, fast, seed=3) == first != paired_ratio(slow, fast, seed=4)
    assert first.low is not None and first.high is not None and first.low < first.ratio < first.high
    assert first.log_ratio == pytest.approx(math.log(first.ratio))


def test_censored_runs_enter_the_ratio_with_what_is_known() -> None:
    slow = Times((0, 1, 2), (1000, 1000, 400), (False, False, True))
    fast = Times((0, 1, 2), (100, 200, 300), (True,) * 3)
    found = paired_ratio(slow, fast)
    assert found.ratio == pytest.approx(2400 / 600) and found.tau == 1000
    assert found.lower_bound and found.censored == (2, 0)
    assert not paired_ratio(fast, slow).lower_bound
    with pytest.raises(InvalidParameter, match="at most 1000"):
        paired_ratio(slow, fast, tau=2000)


def test_a_seed_without_partner_fails_unless_allowed() -> None:
    slow, fast = Times((0, 1), (4, 4), (True, True)), Times((1, 2), (2, 2), (True, True))
    with pytest.raises(InvalidParameter, match=r"without a partner: \[0, 2\]"):
        paired_ratio(slow, fast)
    found = paired_ratio(slow, fast, allow_missing=True)
    assert found.seeds == (1,) and found.single_seed and found.low is None
    with pytest.raises(InvalidParameter, match="no seed in common"):
        paired_ratio(slow, Times((5,), (1,), (True,)), allow_missing=True)


@pytest.mark.slow
def test_the_paired_interval_covers() -> None:
    """95 % intervals of the ratio of means cover it in most of 300 worlds (the percentile bootstrap is a bit short)."""
    rng = np.random.default_rng(7)
    hits = 0
    for world in range(300):
        slow = Times(tuple(range(20)), rng.gamma(4, 200, 20) + 1, np.ones(20))
        fast = Times(tuple(range(20)), rng.gamma(4, 50, 20) + 1, np.ones(20))
        found = paired_ratio(slow, fast, seed=world, draws=1000)
        assert found.low is not None and found.high is not None
        hits += found.low <= 801 / 201 <= found.high
    assert 0.88 <= hits / 300 <= 0.98


def test_a_ratio_is_a_lower_bound_only_if_the_faster_one_is_known() -> None:
    """The faster run of 800 is cut at the slower one's budget of 400, so the ratio may be smaller as well."""
    slow, fast = Times((0, 1), (300, 400), (True, False)), Times((0, 1), (900, 800), (True, True))
    found = paired_ratio(slow, fast)
    assert found.ratio == pytest.approx(0.875) and found.cut == (1, 2) and not found.lower_bound
    solved = Times((0, 1), (300, 400), (True, True))
    assert paired_ratio(fast, solved, tau=400.0).lower_bound  # cut by hand, in the slower one alone


@pytest.mark.parametrize(("seeds", "least"), [(2, None), (3, None), (4, None), (10, 0.9)])
def test_the_median_of_few_seeds_has_no_upper_limit(seeds: int, least: float | None) -> None:
    """The last event of all is no limit: beyond it nothing is known."""
    rng, covered, trials = np.random.default_rng(seeds), 0, 200
    for _ in range(trials):
        found = Times(tuple(range(seeds)), rng.exponential(1.0, seeds), np.ones(seeds)).median()
        if least is None:
            assert found.high is None
        else:
            assert found.low is not None and found.high is not None
            covered += found.low <= np.log(2) <= found.high
    assert least is None or covered / trials >= least
