"""Means, differences and rates: against scipy and their defining equations; no interval where there can be none."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from burnside.errors import InvalidParameter
from burnside.stats import difference, mean_interval, rate_over_seeds, wilson
from burnside.stats.intervals import clopper_pearson, mean_band


def labelled(values: object) -> dict[int, float]:
    return {10 * k + 3: float(v) for k, v in enumerate(np.asarray(values).tolist())}


def test_the_mean_is_students() -> None:
    sample = np.random.default_rng(0).normal(3, 2, size=5)
    found = mean_interval(labelled(sample), 0.9)
    want = scipy_stats.ttest_1samp(sample, 0).confidence_interval(0.9)
    assert found == pytest.approx((sample.mean(), want.low, want.high))


def test_a_band_is_the_interval_at_every_point() -> None:
    curves = np.random.default_rng(0).normal(size=(4, 6))
    curves[:, 2] = 0.1  # all seeds equal
    value, low, high = mean_band(curves)
    for k in (0, 1, 3, 4, 5):
        assert (value[k], low[k], high[k]) == pytest.approx(mean_interval(labelled(curves[:, k])))
    assert value[2] == pytest.approx(0.1) and np.isnan(low[2]) and np.isnan(high[2])
    assert np.isnan(mean_band(curves[:1]).low).all()
    with pytest.raises(InvalidParameter, match="seeds × points"):
        mean_band(curves[0])


def test_two_seeds_have_an_honest_interval() -> None:
    """Student's quantile with one degree of freedom is 12.7."""
    found = mean_interval({0: 0.0, 1: 2.0})
    assert found.high == pytest.approx(1 + 12.706, abs=0.001)


def test_no_interval_from_one_seed_or_from_equal_ones() -> None:
    assert mean_interval({5: 1.0}) == (1.0, None, None)
    assert mean_interval({5: 0.1, 6: 0.1, 7: 0.1}).low is None
    assert difference({0: 1.0}, {0: 2.0, 1: 3.0}) == (-1.5, None, None)
    assert difference({0: 1.0, 1: 1.0}, {0: 2.0, 1: 2.0}) == (-1.0, None, None)
    assert difference({0: 1.0, 1: 1.0}, {0: 2.0, 1: 3.0}).low is not None  # one side has a spread


def test_differences_are_scipys() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(5, 1, size=4), rng.normal(3, 3, size=7)
    want = scipy_stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    assert difference(labelled(a), labelled(b)) == pytest.approx((a.mean() - b.mean(), want.low, want.high))
    want = scipy_stats.ttest_rel(a, b[:4]).confidence_interval(0.95)
    found = difference(labelled(a), labelled(b), paired=True)  # over the seeds that both have
    assert found == pytest.approx((a.mean() - b[:4].mean(), want.low, want.high))
    with pytest.raises(InvalidParameter, match="no seed in common"):
        difference({0: 1.0}, {1: 1.0}, paired=True)


def test_pairs_go_by_label_whatever_the_order() -> None:
    found = difference({7: 2.0, 3: 9.0, 4: 5.0}, {3: 8.0, 4: 4.1, 7: 1.2}, paired=True)
    assert found.value == pytest.approx(0.9)
    assert found.low is not None and found.low > 0.6  # 0.8, 1.0 and 0.9: hardly any spread


# Rates.


def test_wilson_against_its_defining_equation() -> None:
    """Its ends are the rates p at which |k/n − p| is exactly z standard errors."""
    z = 1.959963984540054
    for k, n in ((1, 10), (9, 10), (50, 100), (3, 4)):
        _, low, high = wilson(k, n)
        for p in (low, high):
            assert p is not None and abs(k / n - p) == pytest.approx(z * math.sqrt(p * (1 - p) / n))


def test_clopper_pearson_against_its_defining_equation() -> None:
    """At its ends as much or more, as little or less, has a probability of exactly 2.5 %."""
    _, low, high = clopper_pearson(3, 12)
    assert low is not None and high is not None
    assert scipy_stats.binom.sf(2, 12, low) == pytest.approx(0.025)
    assert scipy_stats.binom.cdf(3, 12, high) == pytest.approx(0.025)


@given(st.integers(1, 200), st.data())
def test_rates_stay_inside(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    for value, low, high in (wilson(k, n), clopper_pearson(k, n)):
        assert low is not None and high is not None and 0 <= low <= value <= high <= 1


@pytest.mark.parametrize(("k", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_rates_are_refused(k: int, n: int) -> None:
    for function in (wilson, clopper_pearson):
        with pytest.raises(InvalidParameter):
            function(k, n)
    with pytest.raises(InvalidParameter, match="seed 4"):
        rate_over_seeds({3: (1, 5), 4: (k, n)})


def test_seeds_that_differ_by_chance_alone_are_pooled() -> None:
    """With the spread of binomial counts or less there is no more to say than Wilson does."""
    alike = rate_over_seeds({s: (25 + s % 2, 50) for s in range(10)})
    assert alike == pytest.approx(wilson(255, 500))


def test_seeds_that_differ_widen_the_rate() -> None:
    apart = rate_over_seeds({0: (5, 50), 1: (25, 50), 2: (45, 50)})
    pooled = wilson(75, 150)
    assert apart.value == pooled.value and apart.low is not None and apart.high is not None
    assert apart.low < 0.15 < pooled.low < pooled.high < 0.85 < apart.high  # type: ignore[operator]


def test_rates_at_the_ends_keep_an_interval() -> None:
    assert rate_over_seeds(dict.fromkeys(range(3), (50, 50))) == pytest.approx(wilson(150, 150))
    assert rate_over_seeds(dict.fromkeys(range(3), (0, 50))) == pytest.approx(wilson(0, 150))
    assert rate_over_seeds({0: (3, 5)}) == (0.6, None, None)  # within one seed it would be another question


@given(st.lists(st.integers(0, 40), min_size=2, max_size=8))
def test_rates_over_seeds_contain_the_pooled_interval(won: list[int]) -> None:
    found, pooled = rate_over_seeds({s: (k, 40) for s, k in enumerate(won)}), wilson(sum(won), 40 * len(won))
    assert found.low is not None and found.high is not None and pooled.low is not None and pooled.high is not None
    assert 0 <= found.low <= pooled.low + 1e-12 and pooled.high - 1e-12 <= found.high <= 1


# What is refused.


def test_episodes_passed_as_runs_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="seed 3 has 500 values: a run gives one"):
        mean_interval({3: np.zeros(500)})  # type: ignore[dict-item]
    with pytest.raises(InvalidParameter, match="episodes are not runs"):
        mean_interval(np.zeros(500))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="by its label"):
        rate_over_seeds([(1, 2)])  # type: ignore[arg-type]


def test_nothing_and_nan_are_refused() -> None:
    for bad in ({}, {0: math.nan}, {0: 1.0, 1: math.inf}):
        with pytest.raises(InvalidParameter):
            mean_interval(bad)
    for call in (lambda: wilson(1, 2, level=95), lambda: mean_interval({0: 1.0, 1: 2.0}, 1.0)):
        with pytest.raises(InvalidParameter, match="level"):
            call()
