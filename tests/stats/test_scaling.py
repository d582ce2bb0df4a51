"""Slopes and crossings: exact on power laws, Welch's t where two sizes are compared, bad input refused."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from burnside.errors import InvalidParameter
from burnside.stats.scaling import Level, crossing, loglog_slope, reaches


def test_exact_power_law() -> None:
    slope = loglog_slope([2, 4, 8], [[5 * n**1.5] * 3 for n in (2, 4, 8)])
    assert slope.exponent == pytest.approx(1.5) and slope.factor == pytest.approx(5)
    assert slope.at(16) == pytest.approx(5 * 16**1.5)
    assert slope.low is None  # seeds without a spread say nothing about it


def test_two_sizes_are_welchs_test_on_logarithms() -> None:
    rng = np.random.default_rng(0)
    small, large = rng.lognormal(3, 0.3, 5), rng.lognormal(5, 0.1, 7)
    found = loglog_slope([10, 30], [small.tolist(), large.tolist()])
    want = scipy_stats.ttest_ind(np.log(large), np.log(small), equal_var=False).confidence_interval(0.95)
    assert found[:3] == pytest.approx(
        (np.log(large).mean() - np.log(small).mean()) / np.log(3) * np.array([1, 0, 0])
        + np.array([0, want.low, want.high]) / np.log(3)
    )


def test_several_sizes_fit_as_least_squares() -> None:
    rng = np.random.default_rng(1)
    sizes = [5, 10, 15, 30]
    samples = [(n**1.2 * rng.lognormal(0, 0.2, 6)).tolist() for n in sizes]
    found = loglog_slope(sizes, samples)
    want = scipy_stats.linregress(np.repeat(np.log(sizes), 6), np.log(samples).ravel())
    assert found.exponent == pytest.approx(want.slope) and found.factor == pytest.approx(np.exp(want.intercept))


def test_counts_with_zeros_are_fitted_by_their_means() -> None:
    samples = [[1, 0, 0], [2, 3, 4], [5, 6, 7]]
    with pytest.raises(InvalidParameter, match="take arithmetic"):
        loglog_slope([1, 2, 4], samples)
    found = loglog_slope([1, 2, 4], samples, of="arithmetic")
    assert found.exponent == pytest.approx(np.log(6 * 3) / np.log(4)) and found.low is not None


def test_no_interval_from_single_seeds() -> None:
    slope = loglog_slope([1, 2, 4], [[3], [12], [40]])
    assert slope.low is None and slope.high is None and "no interval" in slope.interval


def test_where_a_curve_reaches_a_level() -> None:
    assert reaches([1, 2, 3], [0.0, 1.0, 0.5], 0.75) == Level(1.75, "")  # the dip after it does not count
    assert reaches([1, 2, 3, 4], [0.0, 0.5, 0.5, 1.0], 0.5) == Level(2.0, "")
    assert reaches([1, 2], [0.3, 0.3], 0.3) == Level(1.0, "")
    for x, y in (([], []), ([1, 1], [0, 1]), ([1, 2], [1])):
        with pytest.raises(InvalidParameter, match="curve"):
            reaches(x, y, 0.5)


def test_crossings_and_their_limits() -> None:
    """At its limits the paired test over seeds just rejects."""
    rng = np.random.default_rng(2)
    x, curves, heights = np.arange(4.0), np.arange(4.0) + 0.2 * rng.normal(size=(5, 4)), 1.5 + 0.2 * rng.normal(size=5)
    found = crossing(x, curves, heights)
    assert found.low is not None and found.high is not None and found.low < found.at < found.high
    for place in (found.low, found.high):
        seen = np.array([np.interp(place, x, curve) for curve in curves])
        assert scipy_stats.ttest_rel(seen, heights).pvalue == pytest.approx(0.05, abs=0.002)


def test_crossings_beyond_the_ends_are_bounds() -> None:
    curves = [[0.0, 0.9, 2.0], [0.0, 1.0, 2.1], [0.0, 1.1, 1.9]]
    above = crossing([0, 1, 2], curves, [2.6, 2.4, 2.5])
    assert above == (2.0, 2.0, None, "at least")
    doubtful = crossing([0, 1, 2], curves, [2.0, 2.1, 2.2])  # a little higher, and perhaps not
    assert doubtful.bound == "at least" and doubtful.low is not None and 1.5 < doubtful.low < 2
    below = crossing([0, 1, 2], curves, [-0.5, -0.4, -0.6])
    assert below == (0.0, None, 0.0, "at most")
    near = crossing([0, 1, 2], curves, [1.9, 2.1, 1.95])  # reached just before the end: no upper limit
    assert near.bound == "" and near.low is not None and near.high is None


def test_crossings_of_one_seed_have_no_limits() -> None:
    assert crossing([0, 1], [[0.0, 1.0]], [0.5]) == (0.5, None, None, "")
    for bad in (([0, 1], [0.0, 1.0], [0.5]), ([0, 1], [[0.0, 1.0]], [0.5, 0.6]), ([0, 1], [[0.0, np.nan]], [0.5])):
        with pytest.raises(InvalidParameter):
            crossing(*bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(("x", "samples"), [([5], [[1]]), ([5, 5], [[1], [2]]), ([5, 6], [[0], [1]]), ([1, 2], [[1]])])
def test_bad_input(x: list[float], samples: list[list[float]]) -> None:
    with pytest.raises(InvalidParameter):
        loglog_slope(x, samples)
