"""Uniform samples and closed-form distances of the spaces that `burnside.theory.covering` names.

A point is one row of an array: angles, coordinates, a unit vector, a unit quaternion (w, x, y, z), or a pose
(position, then heading or quaternion; k relative poses make a k × pose block). A distance takes all points
and one of them and returns all distances. On a quotient it is d_G(x, y) = min over g of d(x, g·y), in
closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.errors import InvalidParameter
from burnside.theory.covering import ROTATION_GROUPS, cover, parse

__all__ = ["Distance", "Sampled", "orbit_distance", "quaternion_group", "space"]

Distance = Callable[[FloatArray, FloatArray], FloatArray]
Sampler = Callable[[np.random.Generator, int], FloatArray]
Sampled = tuple[Sampler, Distance]


def orbit_distance(distance: Distance, maps: Sequence[Callable[[FloatArray], FloatArray]]) -> Distance:
    """d_G(x, y) = min over g of d(x, g·y) for a finite group acting by isometries, given as all its maps.

    >>> halves = [lambda y: y, lambda y: y + math.pi]
    >>> float(orbit_distance(arc, halves)(np.array([[0.0]]), np.array([3.0]))[0].round(4))
    0.1416
    """
    if not maps:
        raise InvalidParameter("orbit_distance needs the maps of all group elements, at least the identity")

    def least(points: FloatArray, y: FloatArray) -> FloatArray:
        result = distance(points, maps[0](y))
        for g in maps[1:]:
            np.minimum(result, distance(points, g(y)), out=result)
        return result

    return least


def _fold(difference: FloatArray, period: float) -> FloatArray:
    """Distance on a circle of that circumference."""
    return np.asarray(np.abs(difference - period * np.round(difference / period)))


def arc(points: FloatArray, y: FloatArray) -> FloatArray:
    """Arc length on the circle; with several angles, the largest."""
    return np.asarray(_fold(points - y, 2.0 * math.pi).max(axis=-1))


def _arc_l2(points: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(_fold(points - y, 2.0 * math.pi), axis=-1))


def _chebyshev(points: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(np.abs(points - y).max(axis=-1))


def _euclidean(points: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(points - y, axis=-1))


def _great_circle(points: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(np.arccos(np.clip(points @ y, -1.0, 1.0)))


def _relative_half(points: FloatArray, y: FloatArray) -> FloatArray:
    """Two angles turned together: half the change of the relative angle, the turn being shared by both."""
    change = (points[:, 1] - points[:, 0]) - (y[1] - y[0])
    return 0.5 * _fold(change, 2.0 * math.pi)


def angle(points: FloatArray, y: FloatArray) -> FloatArray:
    """Rotation angle between unit quaternions; ±q are the same rotation. Any leading axes."""
    return np.asarray(2.0 * np.arccos(np.minimum(np.abs(np.sum(points * y, axis=-1)), 1.0)))


def multiply(p: FloatArray, q: FloatArray) -> FloatArray:
    """Hamilton product of quaternions (w, x, y, z), broadcasting over leading axes."""
    a, b, c, d = np.moveaxis(p, -1, 0)
    e, f, g, h = np.moveaxis(q, -1, 0)
    rows = (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )
    return np.stack(np.broadcast_arrays(*rows), axis=-1)


_BLOCK = 2048
_PHI = (1.0 + math.sqrt(5.0)) / 2.0
_HALF = (0.5, 0.5, 0.5, 0.5)  # 120° about a diagonal
_GENERATORS: dict[str, tuple[tuple[float, ...], ...]] = {
    "T12": (_HALF, (0.0, 1.0, 0.0, 0.0)),
    "O24": (_HALF, (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)),
    "I60": (_HALF, (_PHI / 2.0, 0.5, 0.5 / _PHI, 0.0)),
}


def quaternion_group(name: str) -> FloatArray:
    """One quaternion per element of T12, O24 or I60, found by closing the generators under products.

    >>> [len(quaternion_group(g)) for g in ("T12", "O24", "I60")]
    [12, 24, 60]
    """
    generators = np.array(_GENERATORS[name])
    found = np.array([[1.0, 0.0, 0.0, 0.0]])
    while True:
        grown = found
        for candidate in multiply(found[:, None], generators[None]).reshape(-1, 4):
            if np.abs(grown @ candidate).max() < 1.0 - 1e-9:
                grown = np.vstack([grown, candidate])
        if len(grown) == len(found):
            return found
        if len(grown) > ROTATION_GROUPS[name][0]:
            raise AssertionError(f"the generators of {name} do not close")  # a defect here, not a user's error
        found = grown


def _axis_turns(n: int) -> FloatArray:
    half = np.pi * np.arange(n) / n
    return np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=-1)


def _angle_modulo(group: FloatArray) -> Distance:
    """Angle between rotations up to right multiplication by the group: min over g of angle(x, y·g)."""

    def least(points: FloatArray, y: FloatArray) -> FloatArray:
        images = multiply(y, group)
        best = np.empty(len(points))
        # Blocks that stay in cache and below the size at which BLAS starts threads: 20 times faster than one
        # product when the cores are busy; elements × points, as a max over the long axis vectorises.
        for i in range(0, len(points), _BLOCK):
            overlaps = images @ points[i : i + _BLOCK].T
            np.abs(overlaps, out=overlaps).max(axis=0, out=best[i : i + _BLOCK])
        return np.asarray(2.0 * np.arccos(np.minimum(best, 1.0)))

    return least


def _unit_vectors(size: int) -> Sampler:
    def draw(rng: np.random.Generator, n: int) -> FloatArray:
        x = rng.standard_normal((n, size))
        return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))

    return draw


def _uniform(high: float, *shape: int) -> Sampler:
    return lambda rng, n: rng.uniform(0.0, high, size=(n, *shape))


def _poses(d: int, copies: int, side: float = 1.0, weight: float = 1.0) -> Sampled:
    """`copies` poses in a box, under the largest of ‖Δx‖₂ and weight·angle over the copies.

    For SE(d)^k/SE(d) the copies are the k−1 poses relative to the first, which is where a common motion
    leaves nothing else. Their distance is at least the quotient metric (which may also move the first pose
    a little).
    """

    def draw(rng: np.random.Generator, n: int) -> FloatArray:
        places = rng.uniform(0.0, side, size=(n, copies, d))
        if d == 2:
            turns = rng.uniform(0.0, 2.0 * math.pi, size=(n, copies, 1))
        else:
            turns = _unit_vectors(4)(rng, n * copies).reshape(n, copies, 4)
        return np.concatenate([places, turns], axis=-1)

    def distance(points: FloatArray, y: FloatArray) -> FloatArray:
        shift = _euclidean(points[..., :d], y[..., :d])
        turn = _fold(points[..., 2] - y[..., 2], 2.0 * math.pi) if d == 2 else angle(points[..., d:], y[..., d:])
        return np.asarray(np.maximum(shift, weight * turn).max(axis=-1, initial=0.0))

    return draw, distance


def space(name: str, **options: Any) -> Sampled:
    """Sampler and distance of a named space: ``draw(rng, n)`` and ``distance(points, point)``.

    >>> draw, distance = space("circle/Z16")
    >>> draw(np.random.default_rng(0), 3).shape
    (3, 1)
    >>> distance(np.array([[0.1], [0.3]]), np.array([0.0])).round(4).tolist()
    [0.1, 0.0927]
    """
    cover(name, 1.0, **options)  # refuses options and sizes out of range
    key, numbers = parse(name, options)
    n = numbers[0] if numbers else 1
    full = 2.0 * math.pi
    flat = options.get("norm", "linf") == "linf"
    if key == "box:D":
        return _uniform(options.get("side", 1.0), n), _chebyshev if flat else _euclidean
    if key == "torus:D":
        return _uniform(full, n), arc if flat else _arc_l2
    if key in ("circle", "circle/ZN"):
        return _uniform(full / n, 1), lambda p, y: _fold(p[:, 0] - y[0], full / n)
    if key == "circle^2/SO2":
        return _uniform(full, 2), _relative_half
    if key == "sphere":
        return _unit_vectors(3), _great_circle
    if key == "sphere/SO2":
        return _unit_vectors(3), lambda p, y: np.abs(np.arccos(p[:, 2]) - np.arccos(y[2]))
    if key == "so3":
        return _unit_vectors(4), _angle_modulo(_axis_turns(1))
    if key == "so3/ZN":
        return _unit_vectors(4), _angle_modulo(_axis_turns(n))
    if key.startswith("so3/"):
        return _unit_vectors(4), _angle_modulo(quaternion_group(key.removeprefix("so3/")))
    copies = n - 1 if "^" in key else 1
    return _poses(int(key[2]), copies, **options)
