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

from burnside._types import AnyArray, ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.theory._checks import count, positive
from burnside.theory._samplers import Distance, orbit_distance, quaternion_group, space
from burnside.theory.covering import cover

__all__ = ["Distance", "Radii", "net", "numeric", "orbit_distance", "quaternion_group", "space"]


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
) -> Radii:
    """Farthest-point traversal of `points` (rows); ``distance(points, point)`` returns all distances to one.

    Ends when r_k ≤ `stop_radius` (default 0: until every sample is a centre or coincides with one) or after
    `max_points` centres. Costs one distance call per centre.
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
        away = distance(data, data[at])
        if np.shape(away) != (n,) or np.isnan(away).any():
            raise InvalidParameter(f"distance must return {n} numbers for {n} points, without NaN")
        np.minimum(nearest, away, out=nearest)
        nearest[at] = 0.0  # arccos rounds d(x, x) to about 1e-8
        at = int(nearest.argmax())
        radii.append(float(nearest[at]))
        if radii[-1] <= target or len(radii) >= most:
            return Radii(np.array(radii), np.array(centres, dtype=np.int64), n)


def numeric(name: str, alpha: float, samples: int = 20000, seed: int = 0, **options: Any) -> int:
    """N̂(α) of a named space from uniform samples: an estimate between N(samples, α) and N(S/G, α/2).

    Refuses a resolution at which the closed forms already ask for more balls than there are samples: the net
    would count samples, not space.

    >>> cover("circle", 0.5).lower, numeric("circle", 0.5, samples=2000), cover("circle", 0.25).upper
    (7, 8, 13)
    """
    n, low = count("samples", samples), cover(name, alpha, **options).lower
    if low > n:
        raise InvalidParameter(
            f"{name} needs at least {low} balls at alpha = {alpha:g} but only {n} samples were asked for: "
            "raise samples or alpha"
        )
    draw, distance = space(name, **options)
    points = draw(np.random.default_rng(count("seed", seed, least=0)), n)
    return net(points, distance, stop_radius=alpha)(alpha)
