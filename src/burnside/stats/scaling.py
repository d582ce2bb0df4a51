"""How a measured quantity grows: where a curve reaches a level, and the slope of means on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from burnside._types import ArrayLike, FloatArray
from burnside.errors import InvalidParameter

__all__ = ["Level", "Slope", "loglog_slope", "reaches"]


class Level(NamedTuple):
    """Where a curve reaches a level; ``bound`` is "at least" or "at most" if it does so beyond its ends, else ""."""

    at: float
    bound: str


def reaches(x: ArrayLike, y: ArrayLike, level: float) -> Level:
    """The first place where a rising curve is at a level, interpolated; dips of the curve are passed over.

    >>> reaches([10, 30, 100], [0.5, 0.9, 0.9], 0.9)      # on a plateau: where it begins
    Level(at=30.0, bound='')
    >>> reaches([10, 30], [0.5, 0.9], 0.7), reaches([10, 30], [0.5, 0.9], 0.95), reaches([10, 30], [0.5, 0.9], 0.1)
    (Level(at=20.0, bound=''), Level(at=30.0, bound='at least'), Level(at=10.0, bound='at most'))
    """
    where, heights = np.asarray(x, dtype=np.float64), np.maximum.accumulate(np.asarray(y, dtype=np.float64))
    if where.ndim != 1 or where.size == 0 or heights.shape != where.shape or (np.diff(where) <= 0).any():
        raise InvalidParameter("a curve needs one height at each of its places, which must increase")
    slack = 1e-12
    if level > heights[-1] + slack:
        return Level(float(where[-1]), "at least")
    if level < heights[0] - slack:
        return Level(float(where[0]), "at most")
    k = int(np.argmax(heights >= level - slack))
    if k == 0:
        return Level(float(where[0]), "")
    share = (level - heights[k - 1]) / (heights[k] - heights[k - 1])
    return Level(float(where[k - 1] + min(1.0, share) * (where[k] - where[k - 1])), "")


class Slope(NamedTuple):
    """Exponent of a power law with its 95 % interval (None: it cannot be had from these seeds), and the factor."""

    exponent: float
    low: float | None
    high: float | None
    factor: float

    @property
    def interval(self) -> str:
        """For people.

        >>> Slope(1.0, 0.9, 1.1, 2.0).interval, Slope(1.0, None, None, 2.0).interval
        ('0.90 to 1.10', 'no interval: too few seeds')
        """
        if self.low is None or self.high is None:
            return "no interval: too few seeds"
        return f"{self.low:.2f} to {self.high:.2f}"

    def at(self, x: float) -> float:
        """The fitted value at ``x``."""
        return self.factor * float(x) ** self.exponent


def loglog_slope(x: Sequence[float], samples: Sequence[Sequence[float]], *, seed: int = 0, draws: int = 4_000) -> Slope:
    """Least squares of ln(mean over seeds) on ln x; the interval resamples the seeds at every x.

    There is none if a size has a single seed, or so many zeros that means of resampled seeds vanish.

    Args:
        x: positive sizes, at least two different ones.
        samples: for every size the measurements of its seeds; their means must be positive.
        seed: of the bootstrap.
        draws: of the bootstrap.

    >>> loglog_slope([1, 2, 4], [[3, 3], [12, 12], [48, 48]])
    Slope(exponent=2.0, low=2.0, high=2.0, factor=3.0)
    """
    sizes = np.asarray(x, dtype=np.float64)
    values = [np.asarray(s, dtype=np.float64) for s in samples]
    if sizes.size != len(values) or np.unique(sizes).size < 2 or (sizes <= 0).any():
        raise InvalidParameter("a slope needs measurements at two or more different positive sizes")
    if any(v.size == 0 or not v.mean() > 0 for v in values):
        raise InvalidParameter("a slope on logarithmic axes needs a positive mean at every size")
    rng = np.random.default_rng(seed)
    means = np.stack([v[rng.integers(v.size, size=(draws, v.size))].mean(axis=1) for v in values])
    exponents, constants = _fit(np.log(sizes), np.log(np.array([[v.mean()] for v in values])))
    exponent, factor = round(float(exponents[0]), 12), round(float(np.exp(constants[0])), 12)
    if min(v.size for v in values) == 1 or not means.all():
        return Slope(exponent, None, None, factor)
    low, high = np.quantile(_fit(np.log(sizes), np.log(means))[0], [0.025, 0.975])
    return Slope(exponent, round(float(low), 12), round(float(high), 12), factor)


def _fit(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and constants of the columns of ``y`` on ``x``."""
    centred = x - x.mean()
    slopes = centred @ (y - y.mean(axis=0)) / (centred @ centred)
    return slopes, y.mean(axis=0) - slopes * x.mean()
