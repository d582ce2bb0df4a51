"""Ratios: Welch's on logarithms, as scipy has it; a bound where one side is censored, nothing where both are."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from burnside.errors import InvalidParameter
from burnside.stats import Times, times_ratio
from burnside.stats.ratios import means_ratio


def solved(*values: float) -> Times:
    return Times(tuple(range(len(values))), values, (True,) * len(values))


def test_times_are_compared_as_scipy_does_on_logarithms() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(6, 0.4, 5), rng.lognormal(5, 0.2, 8)
    found = times_ratio(solved(*a), solved(*b), level=0.9)
    want = scipy_stats.ttest_ind(np.log(a), np.log(b), equal_var=False).confidence_interval(0.9)
    assert found[:3] == pytest.approx((np.exp(np.log(a).mean() - np.log(b).mean()), *np.exp([want.low, want.high])))
    assert found.bound == "" and found.seeds == (5, 8) and found.censored == (0, 0) and not found.single_seed


def test_the_other_way_round_is_the_inverse() -> None:
    a, b = solved(300, 500, 900), solved(100, 120, 150)
    there, back = times_ratio(a, b), times_ratio(b, a)
    assert back.low is not None and back.high is not None
    assert there[:3] == pytest.approx((1 / back.value, 1 / back.high, 1 / back.low))


def test_censored_runs_of_the_slower_one_give_a_lower_bound() -> None:
    slow = Times((0, 1, 2), (1000, 1000, 400), (False, False, True))
    fast = solved(100, 200, 300)
    found = times_ratio(slow, fast)
    assert found.value == pytest.approx((1000 * 1000 * 400 / (100 * 200 * 300)) ** (1 / 3))
    assert found.bound == "at least" and found.censored == (2, 0) and found.high is None
    assert found.low is not None and found.low < found.value
    longer = Times((0, 1, 2), (3000, 3000, 400), (True, True, True))  # what they might have needed
    assert times_ratio(longer, fast).value > found.value
    other = times_ratio(fast, slow)
    assert other.bound == "at most" and other.low is None and other.high == pytest.approx(1 / found.low)


def test_a_slower_one_that_never_arrives_still_bounds() -> None:
    """All runs at their budget have no spread; what spread there is comes from the faster one."""
    slow = Times((0, 1, 2), (1000,) * 3, (False,) * 3)
    found = times_ratio(slow, solved(90, 100, 110))
    assert found.bound == "at least" and found.low is not None and 7 < found.low < found.value


def test_both_censored_is_not_decided() -> None:
    runs = Times((0, 1), (500, 700), (False, True))
    found = times_ratio(runs, runs)
    assert math.isnan(found.value) and found[1:4] == (None, None, "not decided") and found.text() == "not decided"


def test_no_interval_from_a_single_seed_or_from_none_that_differ() -> None:
    found = times_ratio(solved(400), solved(100, 110))
    assert found.single_seed and found.low is None and found.text() == "3.81 (no interval)"
    assert times_ratio(solved(400, 400), solved(100, 100))[:3] == (pytest.approx(4.0), None, None)


def test_bounds_are_rounded_to_the_safe_side() -> None:
    slow, fast = Times((0, 1, 2), (1000,) * 3, (False,) * 3), solved(90, 100, 110)
    low = times_ratio(slow, fast).low
    assert low is not None
    for digits in (0, 1, 2, 3):
        assert 0 <= low - float(times_ratio(slow, fast).text(digits).split()[-1]) < 10**-digits


# Counts.


def test_counts_may_be_zero() -> None:
    found = means_ratio({0: 10, 1: 14, 2: 12}, {0: 0, 1: 4, 2: 2})
    assert found.value == 6.0 and found.low is not None and found.high is not None
    # the logarithm of a mean has the relative error of the mean
    error = math.hypot(2 / math.sqrt(3) / 12, 2 / math.sqrt(3) / 2)
    assert math.log(found.high / found.low) / 2 == pytest.approx(error * scipy_stats.t.ppf(0.975, 2.1105), rel=0.01)
    assert means_ratio({0: 3, 1: 5}, {0: 0, 1: 0}).value == math.inf
    assert math.isnan(means_ratio({0: 0}, {0: 0}).value)
    assert means_ratio({0: 0, 1: 0}, {0: 2, 1: 3}).value == 0.0
    with pytest.raises(InvalidParameter, match="negative"):
        means_ratio({0: -1}, {0: 1})


def test_counts_that_were_cut_short_can_only_grow() -> None:
    first, second = {0: 10, 1: 14, 2: 12}, {0: 2, 1: 4, 2: 3}
    for cut, bound in (((1, 0), "at least"), ((0, 2), "at most"), ((1, 1), "not decided"), ((0, 0), "")):
        found = means_ratio(first, second, censored=cut)
        assert found.bound == bound and (found.low is None) == (bound in ("at most", "not decided"))
        assert (found.high is None) == (bound in ("at least", "not decided"))
