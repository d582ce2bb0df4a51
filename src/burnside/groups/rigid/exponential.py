"""Exponential and logarithm of SO(2), SO(3), SE(2) and SE(3), accurate at angle 0 and at angle π.

A rotation vector ω turns by |ω| about ω; a twist is (v, ω), with the turn rate last. Everything is written in terms of
functions that stay accurate for small angles: ``sin θ / θ`` and ``(1 − cos θ)/θ²`` through sinc, the others by their
series below 0.3. Logarithms have angles in (−π, π] in the plane and in [0, π] in space, where at π the axis is
determined up to its sign only.
"""

from __future__ import annotations

import math
from typing import Any

from burnside.groups.rigid.arrays import as_array, namespace
from burnside.groups.rigid.motions import rigid

__all__ = ["hat", "se2_exp", "se2_log", "se3_exp", "se3_log", "so2_exp", "so2_log", "so3_exp", "so3_log"]

_SMALL = 0.3


def _sinc(x: Any) -> Any:
    """``sin x / x``."""
    return namespace(x).sinc(x / math.pi)


def _series(square: Any, coefficients: tuple[float, ...]) -> Any:
    out = coefficients[-1] + 0.0 * square
    for c in coefficients[-2::-1]:
        out = c + square * out
    return out


def _cubic(theta: Any) -> Any:
    """``(θ − sin θ)/θ³``."""
    xp = namespace(theta)
    series = _series(theta * theta, (1 / 6, -1 / 120, 1 / 5040, -1 / 362880, 1 / 39916800))
    safe = xp.where(theta < _SMALL, xp.ones_like(theta), theta)
    return xp.where(theta < _SMALL, series, (safe - xp.sin(safe)) / safe**3)


def _cotangent(theta: Any) -> Any:
    """``(1 − (θ/2) cot(θ/2))/θ²``, which is 1/12 at 0 and 1/π² at π."""
    xp = namespace(theta)
    series = _series(theta * theta, (1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160))
    safe = xp.where(theta < _SMALL, xp.ones_like(theta), theta)
    half = 0.5 * safe
    return xp.where(theta < _SMALL, series, (1 - half * xp.cos(half) / xp.sin(half)) / safe**2)


def _length(v: Any) -> Any:
    """Lengths, with the gradient 0 where they are 0."""
    xp, square = namespace(v), (v * v).sum(axis=-1)
    zero = square == 0
    return xp.where(zero, xp.zeros_like(square), xp.sqrt(xp.where(zero, xp.ones_like(square), square)))


def hat(w: Any) -> Any:
    """The matrix of the cross product: ``hat(w) v = w × v``.

    >>> hat([1.0, 2.0, 3.0]).tolist()
    [[0.0, -3.0, 2.0], [3.0, 0.0, -1.0], [-2.0, 1.0, 0.0]]
    """
    w = as_array(w)
    xp = namespace(w)
    x, y, z = w[..., 0], w[..., 1], w[..., 2]
    o = xp.zeros_like(x)
    rows = [xp.stack(row, axis=-1) for row in ([o, -z, y], [z, o, -x], [-y, x, o])]
    return xp.stack(rows, axis=-2)


def so2_exp(angle: Any) -> Any:
    """Rotation of the plane by angles of any shape: ``(…, 2, 2)``.

    >>> so2_exp(math.pi / 2).round(9).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    """
    angle = as_array(angle)
    xp = namespace(angle)
    c, s = xp.cos(angle), xp.sin(angle)
    return xp.stack([xp.stack([c, -s], axis=-1), xp.stack([s, c], axis=-1)], axis=-2)


def so2_log(R: Any) -> Any:
    """The angle in (−π, π] of rotations of the plane."""
    R = as_array(R)
    return namespace(R).arctan2(R[..., 1, 0], R[..., 0, 0])


def so3_exp(w: Any) -> Any:
    """Rotation of space by a rotation vector (Rodrigues): ``(…, 3) → (…, 3, 3)``.

    >>> so3_exp([0.0, 0.0, math.pi / 2]).round(9).tolist()
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    w = as_array(w)
    xp, theta, W = namespace(w), _length(w), hat(w)
    one = _sinc(theta)[..., None, None] * W
    two = (0.5 * _sinc(0.5 * theta) ** 2)[..., None, None] * xp.matmul(W, W)
    eye = xp.zeros_like(W)
    for i in range(3):
        eye[..., i, i] = 1.0
    return eye + one + two


def so3_log(R: Any) -> Any:
    """The rotation vector, of length at most π; by way of the quaternion, which is accurate at every angle.

    >>> so3_log([[1.0, 0, 0], [0, -1, 0], [0, 0, -1]]).tolist()
    [3.14159..., 0.0, 0.0]
    """
    from burnside.groups.rigid.rotations import matrix_to_quaternion

    q = matrix_to_quaternion(R)
    xp, v, w = namespace(q), q[..., :3], q[..., 3]
    n = _length(v)
    # 2 atan2(n, w)/n is 2/w − 2n²/(3w³) + … for small n, where w is near 1: matrix_to_quaternion gives w ≥ 0
    small = n < 1e-4
    safe = xp.where(small, xp.ones_like(n), n)
    near = xp.where(small, w, xp.ones_like(w))
    scale = xp.where(small, 2 / near - 2 * n * n / (3 * near**3), 2 * xp.arctan2(safe, w) / safe)
    return v * scale[..., None]


def se2_exp(xi: Any) -> Any:
    """Motion of the plane by a twist (vx, vy, ω): a body that keeps this velocity, in its own axes, for one unit.

    >>> se2_exp([math.pi / 2, 0.0, math.pi]).round(9).tolist()      # half a circle of radius ½ to the left
    [[-1.0, -0.0, 0.0], [0.0, -1.0, 1.0], [0.0, 0.0, 1.0]]
    """
    xi = as_array(xi)
    xp, v, w = namespace(xi), xi[..., :2], xi[..., 2]
    a, b = _sinc(w), 0.5 * w * _sinc(0.5 * w) ** 2  # sin ω/ω and (1 − cos ω)/ω
    t = xp.stack([a * v[..., 0] - b * v[..., 1], b * v[..., 0] + a * v[..., 1]], axis=-1)
    return rigid(so2_exp(w), t)


def se2_log(g: Any) -> Any:
    """The twist of a motion of the plane, with angle in (−π, π]."""
    g = as_array(g)
    xp, w, t = namespace(g), so2_log(g[..., :2, :2]), g[..., :2, 2]
    half = 0.5 * w
    a = 1 - w * w * _cotangent(abs(w))  # (ω/2) cot(ω/2)
    v = xp.stack([a * t[..., 0] + half * t[..., 1], a * t[..., 1] - half * t[..., 0]], axis=-1)
    return xp.concatenate([v, w[..., None]], axis=-1)


def se3_exp(xi: Any) -> Any:
    """Motion of space by a twist (v, ω): ``(…, 6) → (…, 4, 4)``.

    >>> se3_exp([1.0, 2.0, 3.0, 0.0, 0.0, 0.0])[:3, 3].tolist()
    [1.0, 2.0, 3.0]
    """
    xi = as_array(xi)
    xp, v, w = namespace(xi), xi[..., :3], xi[..., 3:]
    theta, W = _length(w), hat(w)
    once = (W * v[..., None, :]).sum(axis=-1)
    twice = (W * once[..., None, :]).sum(axis=-1)
    t = v + (0.5 * _sinc(0.5 * theta) ** 2)[..., None] * once + _cubic(theta)[..., None] * twice
    return rigid(so3_exp(w), xp.broadcast_to(t, v.shape))


def se3_log(g: Any) -> Any:
    """The twist of a motion of space, with angle at most π."""
    g = as_array(g)
    xp, w, t = namespace(g), so3_log(g[..., :3, :3]), g[..., :3, 3]
    theta, W = _length(w), hat(w)
    once = (W * t[..., None, :]).sum(axis=-1)
    twice = (W * once[..., None, :]).sum(axis=-1)
    return xp.concatenate([t - 0.5 * once + _cotangent(theta)[..., None] * twice, w], axis=-1)
