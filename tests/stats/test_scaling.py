"""Slopes: exact on power laws, same interval from the same seed, bad input refused."""

import numpy as np
import pytest

from burnside.errors import InvalidParameter
from burnside.stats import Level, loglog_slope, reaches


def test_exact_power_law() -> None:
    slope = loglog_slope([2, 4, 8], [[5 * n**1.5] * 3 for n in (2, 4, 8)])
    assert slope.exponent == pytest.approx(1.5) and slope.factor == pytest.approx(5)
    assert slope.low == pytest.approx(1.5) and slope.high == pytest.approx(1.5)
    assert slope.at(16) == pytest.approx(5 * 16**1.5)


def test_interval_covers_and_is_reproducible() -> None:
    rng = np.random.default_rng(0)
    sizes = [5, 10, 20, 40]
    covered = 0
    for trial in range(60):
        samples = [3.0 * n**2 * rng.lognormal(-0.02, 0.2, size=10) for n in sizes]
        slope = loglog_slope(sizes, samples, seed=trial, draws=500)
        covered += slope.low <= 2.0 <= slope.high
        assert slope == loglog_slope(sizes, samples, seed=trial, draws=500)
    assert covered >= 48  # nominally 57 of 60; the bootstrap over ten seeds is a little narrow


def test_no_interval_where_seeds_cannot_tell() -> None:
    for samples in ([[3], [12], [40]], [[1, 0, 0], [2, 3, 4], [5, 6, 7]]):
        slope = loglog_slope([1, 2, 4], samples)
        assert slope.low is None and slope.high is None and "no interval" in slope.interval


def test_where_a_curve_reaches_a_level() -> None:
    assert reaches([1, 2, 3], [0.0, 1.0, 0.5], 0.75) == Level(1.75, "")  # the dip after it does not count
    assert reaches([1, 2, 3, 4], [0.0, 0.5, 0.5, 1.0], 0.5) == Level(2.0, "")
    assert reaches([1, 2], [0.3, 0.3], 0.3) == Level(1.0, "")
    for x, y in (([], []), ([1, 1], [0, 1]), ([1, 2], [1])):
        with pytest.raises(InvalidParameter, match="curve"):
            reaches(x, y, 0.5)


@pytest.mark.parametrize(("x", "samples"), [([5], [[1]]), ([5, 5], [[1], [2]]), ([5, 6], [[0], [1]]), ([1, 2], [[1]])])
def test_bad_input(x: list[float], samples: list[list[float]]) -> None:
    with pytest.raises(InvalidParameter):
        loglog_slope(x, samples)
