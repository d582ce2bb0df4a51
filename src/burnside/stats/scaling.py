"""How a measured quantity grows: where a curve reaches a level, and its slope on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from burnside._types import ArrayLike
from burnside.errors import InvalidParameter
from burnside.stats.intervals import standard_error, students, welch

__all__ = ["Crossing", "Level", "Slope", "crossing", "loglog_slope", "reaches"]


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


class Crossing(NamedTuple):
    """Where a curve that was measured for several seeds reaches a height that was measured too.

    Attributes:
        at: the estimate, or the end beyond which it lies.
        low, high: confidence limits; with a bound one of them, and None where the curve ends first or there is one
            seed only.
        bound: as of :class:`Level`.
    """

    at: float
    low: float | None
    high: float | None
    bound: str


#: Places between the ends of a curve at which its height is tested.
_PLACES = 10_001


def crossing(x: ArrayLike, curves: ArrayLike, heights: ArrayLike, level: float = 0.95) -> Crossing:
    """Where a rising curve reaches a height, with the places that a paired t-test over seeds cannot tell from it.

    At every place the differences between a seed's interpolated curve and its height have a mean and a standard error;
    the interval is made of the places where Student's test does not reject that the mean is zero (Fieller's idea). A
    curve that ends before the height gives a bound, and the interval then has one limit.

    Args:
        x: places, increasing.
        curves: (seeds × places).
        heights: one per seed.
        level: of the interval.

    >>> curves = [[0.0, 0.9, 2.0], [0.0, 1.0, 2.1], [0.0, 1.1, 1.9]]
    >>> found = crossing([0, 1, 2], curves, [0.5, 0.6, 0.4])
    >>> round(found.at, 6), round(found.low, 3), round(found.high, 3), found.bound
    (0.5, 0.22, 0.911, '')
    >>> crossing([0, 1, 2], curves, [2.6, 2.4, 2.5])
    Crossing(at=2.0, low=2.0, high=None, bound='at least')
    """
    places, values = np.asarray(x, dtype=np.float64), np.asarray(curves, dtype=np.float64)
    own = np.asarray(heights, dtype=np.float64)
    if values.ndim != 2 or own.shape != values.shape[:1] or not (np.isfinite(values).all() and np.isfinite(own).all()):
        raise InvalidParameter("give one finite curve (seeds × places) and one finite height per seed")
    at, bound = reaches(places, values.mean(axis=0), float(own.mean()))
    seeds = own.size
    if seeds == 1 or places.size == 1:
        return Crossing(at, None, None, bound)
    grid = np.unique(np.concatenate([places, np.linspace(places[0], places[-1], _PLACES)]))
    gaps = np.stack([np.interp(grid, places, curve) for curve in values]) - own[:, None]
    if not np.ptp(gaps, axis=0).max() > 0:  # seeds without a spread say nothing about it
        return Crossing(at, None, None, bound)
    mean, error = gaps.mean(axis=0), gaps.std(axis=0, ddof=1) / np.sqrt(seeds)
    possible = grid[np.abs(mean) <= students(level, seeds - 1) * error]
    if bound == "at least":
        return Crossing(at, float(possible[0]) if possible.size else at, None, bound)
    if bound == "at most":
        return Crossing(at, None, float(possible[-1]) if possible.size else at, bound)
    low, high = (min(float(possible[0]), at), max(float(possible[-1]), at)) if possible.size else (at, at)
    return Crossing(at, low if low > places[0] else None, high if high < places[-1] else None, bound)


class Slope(NamedTuple):
    """Exponent of a power law with its 95 % interval (None: these seeds do not give one), and the factor."""

    exponent: float
    low: float | None
    high: float | None
    factor: float

    @property
    def interval(self) -> str:
        """For people.

        >>> Slope(1.0, 0.9, 1.1, 2.0).interval, Slope(1.0, None, None, 2.0).interval
        ('0.90 to 1.10', 'no interval: too few seeds, or no spread')
        """
        if self.low is None or self.high is None:
            return "no interval: too few seeds, or no spread"
        return f"{self.low:.2f} to {self.high:.2f}"

    def at(self, x: float) -> float:
        """The fitted value at ``x``."""
        return self.factor * float(x) ** self.exponent


def loglog_slope(
    x: Sequence[float],
    samples: Sequence[Sequence[float]],
    level: float = 0.95,
    *,
    of: Literal["geometric", "arithmetic"] = "geometric",
) -> Slope:
    """Exponent of a power law: least squares of ln(mean over seeds) on ln x, with a t interval.

    The exponent is a weighted sum of the logarithms of independent means. Its standard error follows from theirs, which
    may differ from size to size, and the degrees of freedom are Welch and Satterthwaite's; of two sizes it is Welch's t
    on logarithms. The interval is about the seeds: it does not say whether a power law fits.

    Args:
        x: positive sizes, at least two different ones.
        samples: for every size the measurements of its seeds; their means must be positive.
        level: of the interval.
        of: ``geometric`` means, for times; ``arithmetic`` means, for counts that may be zero.

    >>> loglog_slope([1, 2, 4], [[3, 3], [12, 12], [48, 48]])
    Slope(exponent=2.0, low=None, high=None, factor=3.0)
    >>> loglog_slope([1, 2], [[2.0, 3.0, 4.0], [9.0, 10.0, 11.0]]).interval
    '0.65 to 2.93'
    """
    sizes = np.asarray(x, dtype=np.float64)
    values = [np.asarray(s, dtype=np.float64) for s in samples]
    if sizes.size != len(values) or np.unique(sizes).size < 2 or (sizes <= 0).any():
        raise InvalidParameter("a slope needs measurements at two or more different positive sizes")
    if any(v.size == 0 or not v.mean() > 0 for v in values):
        raise InvalidParameter("a slope on logarithmic axes needs a positive mean at every size")
    if of == "geometric" and any((v <= 0).any() for v in values):
        raise InvalidParameter("a geometric mean needs positive values: for counts that may be zero take arithmetic")
    if of == "geometric":
        heights = np.array([np.log(v).mean() for v in values])
        errors = np.array([standard_error(np.log(v)) for v in values])
    else:
        heights = np.log([v.mean() for v in values])
        errors = np.array([standard_error(v) / v.mean() for v in values])
    centred = np.log(sizes) - np.log(sizes).mean()
    weights = centred / (centred @ centred)
    exponent = round(float(weights @ heights), 12)
    factor = round(float(np.exp(heights.mean() - exponent * np.log(sizes).mean())), 12)
    half = welch(weights * errors, [v.size for v in values], level)
    if half is None:
        return Slope(exponent, None, None, factor)
    return Slope(exponent, exponent - half, exponent + half, factor)
