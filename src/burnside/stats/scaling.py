"""How a measured quantity grows: the slope of its mean on logarithmic axes, with an interval over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from burnside._types import FloatArray
from burnside.errors import InvalidParameter

__all__ = ["Slope", "loglog_slope"]


class Slope(NamedTuple):
    """Exponent of a power law with its 95 % interval, and the factor in front."""

    exponent: float
    low: float
    high: float
    factor: float

    def at(self, x: float) -> float:
        """The fitted value at ``x``."""
        return self.factor * float(x) ** self.exponent


def loglog_slope(x: Sequence[float], samples: Sequence[Sequence[float]], *, seed: int = 0, draws: int = 4_000) -> Slope:
    """Least squares of ln(mean over seeds) on ln x; the interval resamples the seeds at every x.

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
    exponent, constant = _fit(np.log(sizes), np.log(np.array([[v.mean()] for v in values])))
    with np.errstate(divide="ignore"):
        resampled, _ = _fit(np.log(sizes), np.log(means))
    usable = resampled[np.isfinite(resampled)]
    low, high = np.quantile(usable, [0.025, 0.975])
    return Slope(*(round(float(v), 12) for v in (exponent[0], low, high, np.exp(constant[0]))))


def _fit(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and constants of the columns of ``y`` on ``x``."""
    centred = x - x.mean()
    slopes = centred @ (y - y.mean(axis=0)) / (centred @ centred)
    return slopes, y.mean(axis=0) - slopes * x.mean()
