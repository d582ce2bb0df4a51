"""Slopes: exact on power laws, same interval from the same seed, bad input refused."""

import numpy as np
import pytest

from burnside.errors import InvalidParameter
from burnside.stats import loglog_slope


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


@pytest.mark.parametrize(("x", "samples"), [([5], [[1]]), ([5, 5], [[1], [2]]), ([5, 6], [[0], [1]]), ([1, 2], [[1]])])
def test_bad_input(x: list[float], samples: list[list[float]]) -> None:
    with pytest.raises(InvalidParameter):
        loglog_slope(x, samples)
