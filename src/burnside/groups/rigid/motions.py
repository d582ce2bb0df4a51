"""Rotations and rigid motions of the plane and of space, batched, for numpy arrays and torch tensors alike.

A rotation is a ``(…, d, d)`` matrix and a motion ``g = (R, t)`` a homogeneous ``(…, d+1, d+1)`` matrix, d = 2 or 3,
with ``g·p = R p + t``. Composition is the product of matrices, and the action is from the left: ``(gh)·p = g·(h·p)``.
The same functions serve SO(2) and SO(3), SE(2) and SE(3). Dtype and device are kept, and leading axes broadcast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside.errors import InvalidParameter
from burnside.groups.rigid.arrays import as_array, as_like, is_torch, namespace

__all__ = [
    "act_points",
    "act_poses",
    "act_vectors",
    "act_velocities",
    "adjoint",
    "compose",
    "identity",
    "invert",
    "is_motion",
    "rigid",
    "rotation",
    "translation",
]


def _dimension(g: Any, what: str = "a motion") -> int:
    """The d of a homogeneous matrix."""
    shape = tuple(g.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or shape[-1] not in (3, 4):
        raise InvalidParameter(f"{what} is a 3×3 (plane) or 4×4 (space) homogeneous matrix, got shape {shape}")
    return int(shape[-1]) - 1


def same_kind(a: Any, b: Any) -> tuple[Any, Any]:
    """Both as arrays of one kind; of a tensor and an array, the tensor decides."""
    if is_torch(a) and not is_torch(b):
        return a, as_like(b, a)
    if is_torch(b) and not is_torch(a):
        return as_like(a, b), b
    return as_array(a), as_array(b)


def identity(d: int, lead: tuple[int, ...] = (), like: Any = None) -> Any:
    """The motion that moves nothing, ``(*lead, d+1, d+1)``, of the dtype and device of ``like``.

    >>> identity(2).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if d not in (2, 3):
        raise InvalidParameter(f"motions are of 2 or 3 dimensions, got {d}")
    one: Any = np.broadcast_to(np.eye(d + 1), (*lead, d + 1, d + 1)).copy()
    if like is None:
        return one
    return as_like(one, like) if is_torch(like) else one.astype(as_array(like).dtype)


def rigid(R: Any, t: Any = None) -> Any:
    """The motion with rotation R and translation t (default none).

    >>> rigid([[0, -1], [1, 0]], [5, 6]).tolist()
    [[0.0, -1.0, 5.0], [1.0, 0.0, 6.0], [0.0, 0.0, 1.0]]
    """
    turn = as_array(R)
    d = int(turn.shape[-1])
    if turn.ndim < 2 or turn.shape[-2] != d or d not in (2, 3):
        raise InvalidParameter(f"a rotation is a 2×2 or 3×3 matrix, got shape {tuple(turn.shape)}")
    xp = namespace(turn)
    shift = xp.zeros_like(turn[..., 0]) if t is None else t
    turn, shift = same_kind(turn, shift)
    if tuple(shift.shape[-1:]) != (d,):
        raise InvalidParameter(f"a translation in {d} dimensions has {d} numbers, got shape {tuple(shift.shape)}")
    xp = namespace(turn)
    lead = np.broadcast_shapes(tuple(turn.shape[:-2]), tuple(shift.shape[:-1]))
    top = xp.concatenate([xp.broadcast_to(turn, (*lead, d, d)), xp.broadcast_to(shift, (*lead, d))[..., None]], axis=-1)
    last = xp.zeros_like(top[..., :1, :])
    last[..., d] = 1.0
    return xp.concatenate([top, last], axis=-2)


def rotation(g: Any) -> Any:
    """The rotation of a motion, ``(…, d, d)``."""
    d = _dimension(g)
    return g[..., :d, :d]


def translation(g: Any) -> Any:
    """The translation of a motion, ``(…, d)``."""
    d = _dimension(g)
    return g[..., :d, d]


def compose(*motions: Any) -> Any:
    """The product: the last one acts first. Rotation matrices are multiplied in the same way.

    >>> quarter, right = rigid([[0, -1], [1, 0]]), rigid(np.eye(2), [1, 0])
    >>> translation(compose(quarter, right)).tolist(), translation(compose(right, quarter)).tolist()
    ([0.0, 1.0], [1.0, 0.0])
    """
    if not motions:
        raise InvalidParameter("compose needs at least one motion")
    out = as_array(motions[0])
    for g in motions[1:]:
        left, right = same_kind(out, g)
        out = namespace(left).matmul(left, right)
    return out


def invert(g: Any) -> Any:
    """The inverse motion, from the transpose of the rotation.

    >>> invert(rigid([[0, -1], [1, 0]], [5, 6])).tolist()
    [[0.0, 1.0, -6.0], [-1.0, 0.0, 5.0], [0.0, 0.0, 1.0]]
    """
    found = as_array(g)
    d = _dimension(found)
    back = namespace(found).swapaxes(found[..., :d, :d], -1, -2)
    return rigid(back, -(back * found[..., None, :d, d]).sum(axis=-1))


def act_points(g: Any, p: Any) -> Any:
    """Points ``(…, d)`` moved: ``R p + t``.

    >>> act_points(rigid([[0, -1], [1, 0]], [5, 0]), [[1, 0], [0, 2]]).tolist()
    [[5.0, 1.0], [3.0, 0.0]]
    """
    g, p = same_kind(g, p)
    return act_vectors(g, p) + translation(g)


def act_vectors(g: Any, v: Any) -> Any:
    """Directions and velocities of points ``(…, d)``: turned, not shifted."""
    g, v = same_kind(g, v)
    d = _dimension(g)
    if tuple(v.shape[-1:]) != (d,):
        raise InvalidParameter(f"a vector in {d} dimensions has {d} numbers, got shape {tuple(v.shape)}")
    return (g[..., :d, :d] * v[..., None, :]).sum(axis=-1)


def act_poses(g: Any, pose: Any) -> Any:
    """Poses, which are motions themselves (frame to world): ``g·pose``."""
    return compose(g, pose)


def act_velocities(g: Any, velocity: Any) -> Any:
    """Velocities of bodies in world axes: linear part, then turn rate (1 number in the plane, 3 in space).

    The linear part turns, and so does the turn rate in space; in the plane it stays. For twists about the origin of
    the world instead of the body's own point, see :func:`adjoint`.

    >>> act_velocities(rigid([[0, -1], [1, 0]], [5, 6]), [1, 0, 0.3]).tolist()
    [0.0, 1.0, 0.3]
    """
    g, velocity = same_kind(g, velocity)
    d = _dimension(g)
    if tuple(velocity.shape[-1:]) != (3 * d - 3,):
        raise InvalidParameter(f"a velocity in {d} dimensions has {3 * d - 3} numbers, got {tuple(velocity.shape)}")
    xp = namespace(g)
    linear, turn = act_vectors(g, velocity[..., :d]), velocity[..., d:]
    turn = act_vectors(g, turn) if d == 3 else xp.broadcast_to(turn, (*linear.shape[:-1], 1))
    return xp.concatenate([linear, turn], axis=-1)


def adjoint(g: Any) -> Any:
    """The matrix that turns a twist ξ = (linear, turn rate) into the one of ``g exp(ξ) g⁻¹``.

    >>> adjoint(rigid(np.eye(2), [5, 6])).tolist()
    [[1.0, 0.0, 6.0], [0.0, 1.0, -5.0], [0.0, 0.0, 1.0]]
    """
    found = as_array(g)
    d, xp = _dimension(found), namespace(found)
    R, t = found[..., :d, :d], found[..., :d, d]
    if d == 2:
        return rigid(R, xp.stack([t[..., 1], -t[..., 0]], axis=-1))
    from burnside.groups.rigid.exponential import hat

    top = xp.concatenate([R, xp.matmul(hat(t), R)], axis=-1)
    return xp.concatenate([top, xp.concatenate([xp.zeros_like(R), R], axis=-1)], axis=-2)


def is_motion(g: Any, tolerance: float = 1e-6) -> bool:
    """Whether all matrices are rigid motions: an orthogonal part without reflection, and a last row (0, …, 0, 1).

    >>> is_motion(identity(3)), is_motion(2 * identity(3))
    (True, False)
    """
    found = as_array(g)
    d, xp = _dimension(found), namespace(found)
    R = found[..., :d, :d]
    product = xp.matmul(R, xp.swapaxes(R, -1, -2))
    last = as_like(np.eye(d + 1)[d], found)
    flat = abs(product - as_like(np.eye(d), found)) <= tolerance
    return bool(flat.all() and (abs(found[..., d, :] - last) <= tolerance).all() and (xp.linalg.det(R) > 0).all())
