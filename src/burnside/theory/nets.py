"""Covering numbers by measurement: farthest-point nets on samples, with or without a symmetry divided out.

`net` starts at one sample and keeps adding the sample farthest from all chosen so far. After k choices
every sample is within r_k of a choice, and r_k only falls, so one run gives the whole curve N̂(α) = min{k :
r_k ≤ α}. The choices made until then are more than α apart, hence no α/2-ball holds two of them:

    N(samples, α) ≤ N̂(α) ≤ N(S/G, α/2).

A quotient enters only through the distance, d_G(x, y) = min over g of d(x, g·y). `numeric` runs it on a
space of `burnside.theory.covering.SPACES`, for comparison with the closed forms there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._resources import needs_memory, needs_time
from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray, Progress
from burnside.errors import InvalidParameter
from burnside.theory._checks import count, positive
from burnside.theory._samplers import Distance, Sampler, orbit_distance, quaternion_group, space
from burnside.theory.covering import cover

__all__ = ["Distance", "Radii", "net", "numeric", "orbit_distance", "quaternion_group", "space"]


#: Points whose distances are computed at once.
_BLOCK = 65_536
#: Points that are drawn at once; more than that come from the same random numbers in another order.
_DRAWN = 2**20


@dataclass(frozen=True, eq=False)
class Radii:
    """A farthest-point net: `radii[k-1]` is r_k, the covering radius of the first k of `centres`.

    >>> r = net(np.array([[0.0], [1.0], [4.0]]), lambda p, y: np.abs(p[:, 0] - y[0]))
    >>> r.radii.tolist(), r.centres.tolist(), r(1.0), r(0.5)
    ([4.0, 1.0, 0.0], [0, 2, 1], 2, 3)
    """

    radii: FloatArray
    centres: IntArray
    samples: int

    def __call__(self, alpha: float) -> int:
        """N̂(α), the least k with r_k ≤ α."""
        a = positive("alpha", alpha)
        if self.radii[-1] > a:
            raise InvalidParameter(
                f"this net stopped at radius {self.radii[-1]:.4g}, coarser than alpha = {a:.4g}: "
                "run net with a smaller stop_radius or a larger max_points"
            )
        return int(np.searchsorted(-self.radii, -a)) + 1

    def curve(self, alphas: ArrayLike | None = None) -> tuple[FloatArray, IntArray]:
        """Resolutions and counts (α, N̂(α)): at `alphas`, or at every step of the curve."""
        if alphas is None:
            return self.radii, np.arange(1, len(self.radii) + 1, dtype=np.int64)
        wanted = np.atleast_1d(np.asarray(alphas, dtype=np.float64))
        return wanted, np.array([self(float(a)) for a in wanted], dtype=np.int64)


def net(
    points: AnyArray,
    distance: Distance,
    start: int = 0,
    max_points: int | None = None,
    stop_radius: float | None = None,
    progress: Progress | None = None,
) -> Radii:
    """Farthest-point traversal of `points` (rows); ``distance(points, point)`` returns all distances to one.

    Ends when r_k ≤ `stop_radius` (default 0: until every sample is a centre or coincides with one) or after
    `max_points` centres. Costs one pass over the points per centre, in blocks of 65 536 rows, so `distance` must
    not depend on which other points it is given. `progress` is called with the centres found and those expected.
    """
    data = np.asarray(points)
    if data.ndim == 0 or len(data) == 0:
        raise InvalidParameter("net needs at least one point: give an array with one row per point")
    n = len(data)
    if not 0 <= start < n:
        raise InvalidParameter(f"start must be the index of one of the {n} points, not {start}")
    most = n if max_points is None else min(n, count("max_points", max_points))
    target = 0.0 if stop_radius is None else float(stop_radius)
    if not target >= 0.0:
        raise InvalidParameter(f"stop_radius must be zero or above, not {stop_radius!r}")

    nearest = np.full(n, math.inf)
    radii: list[float] = []
    centres: list[int] = []
    at = start
    while True:
        centres.append(at)
        for begin in range(0, n, _BLOCK):  # so Ctrl-C is noticed in between, and temporary arrays stay small
            part = data[begin : begin + _BLOCK]
            away = distance(part, data[at])
            if np.shape(away) != (len(part),) or np.isnan(away).any():
                raise InvalidParameter(f"distance must return {len(part)} numbers for {len(part)} points, without NaN")
            within = nearest[begin : begin + _BLOCK]
            np.minimum(within, away, out=within)
        nearest[at] = 0.0  # arccos rounds d(x, x) to about 1e-8
        at = int(nearest.argmax())
        radii.append(float(nearest[at]))
        if progress is not None:
            progress(len(radii), min(most, _expected(radii, target)))
        if radii[-1] <= target or len(radii) >= most:
            return Radii(np.array(radii), np.array(centres, dtype=np.int64), n)


def _expected(radii: list[float], target: float) -> int:
    """Centres until the radius is at its target, if it keeps falling as it did since half as many.

    >>> _expected([1.0, 0.5, 0.5, 0.25], 0.125), _expected([1.0], 0.5), _expected([1.0, 1.0], 0.0)
    (8, 2, 1000000000000)
    """
    k, radius = len(radii), radii[-1]
    if radius <= target:
        return k
    before = radii[max(0, (k + 1) // 2 - 1)]
    power = math.log(2.0) / math.log(before / radius) if before > radius > 0 else 1.0
    if target <= 0 or power * math.log(radius / target) > 20:
        return 10**12
    return max(k, math.ceil(k * (radius / target) ** power))


def numeric(
    name: str,
    alpha: float,
    samples: int = 20000,
    seed: int = 0,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> int:
    """N̂(α) of a named space from uniform samples: an estimate between N(samples, α) and N(S/G, α/2).

    Refuses a resolution at which the closed forms already ask for more balls than there are samples: the net
    would count samples, not space. Samples that memory cannot hold, or that take more than a day, are refused too.

    >>> cover("circle", 0.5).lower, numeric("circle", 0.5, samples=2000), cover("circle", 0.25).upper
    (7, 8, 13)
    """
    n, low = count("samples", samples), cover(name, alpha, **options).lower
    remedy = "give fewer samples or a larger alpha"
    needs_time(f"a net of {n} samples of {name} at alpha = {alpha:g}", float(min(low, n)) * n, remedy)
    if low > n:
        raise InvalidParameter(
            f"{name} needs at least {low} balls at alpha = {alpha:g} but only {n} samples were asked for: "
            "raise samples or alpha"
        )
    draw, distance = space(name, **options)
    points = _sample(draw, np.random.default_rng(count("seed", seed, least=0)), n, name)
    return net(points, distance, stop_radius=alpha, progress=progress)(alpha)


def _sample(draw: Sampler, rng: np.random.Generator, n: int, name: str) -> FloatArray:
    """``n`` points, a million at a time: so Ctrl-C is noticed in between, and temporary arrays stay small."""
    shape = draw(np.random.default_rng(0), 1).shape[1:]
    row = 8.0 * (math.prod(shape) + 1)  # and the distance to the nearest centre
    needs_memory(f"a net of {n} samples of {name}", (n + 2 * min(n, _DRAWN)) * row, "give fewer samples")
    if n <= _DRAWN:
        return draw(rng, n)
    points = np.empty((n, *shape))
    for begin in range(0, n, _DRAWN):
        part = points[begin : begin + _DRAWN]
        part[...] = draw(rng, len(part))
    return points
