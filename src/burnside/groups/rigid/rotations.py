"""Rotations of space in other clothes: quaternions and rot6d, and the action of motions on poses written with them.

Quaternions are (x, y, z, w), scalar last, as in scipy and robosuite. A rot6d is the first two *columns* of the matrix,
one after the other (Zhou et al., CVPR 2019), so that rotations act on it as on two vectors. PyTorch3D and what builds
on it (robomimic's and equidiff's ``rotation_6d``) use the first two *rows*: ``convention="rows"``.
"""

from __future__ import annotations

from typing import Any, Literal

from burnside.errors import InvalidParameter, UnknownName
from burnside.groups.rigid.arrays import as_array, namespace
from burnside.groups.rigid.motions import act_points, rigid, rotation, same_kind

__all__ = [
    "act_pose9",
    "act_rot6d",
    "matrix_to_quaternion",
    "matrix_to_rot6d",
    "motion_to_pose9",
    "pose9_to_motion",
    "quaternion_to_matrix",
    "quaternion_to_rot6d",
    "rot6d_to_matrix",
    "rot6d_to_quaternion",
]

Convention = Literal["columns", "rows"]
_CONVENTIONS = ("columns", "rows")


def _check(x: Any, count: int, what: str) -> Any:
    found = as_array(x)
    if tuple(found.shape[-1:]) != (count,):
        raise InvalidParameter(f"{what} has {count} numbers on its last axis, got shape {tuple(found.shape)}")
    return found


def _rows(convention: str) -> bool:
    if convention not in _CONVENTIONS:
        raise UnknownName("rot6d convention", str(convention), _CONVENTIONS)
    return convention == "rows"


def _unit(v: Any) -> Any:
    return v / namespace(v).sqrt((v * v).sum(axis=-1, keepdims=True))


def matrix_to_rot6d(R: Any, convention: Convention = "columns") -> Any:
    """``(…, 3, 3) → (…, 6)``.

    >>> matrix_to_rot6d([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]).tolist()
    [0.0, 1.0, 0.0, -1.0, 0.0, 0.0]
    """
    R = as_array(R)
    xp = namespace(R)
    if tuple(R.shape[-2:]) != (3, 3):
        raise InvalidParameter(f"a rotation of space is a 3×3 matrix, got shape {tuple(R.shape)}")
    if _rows(convention):
        return xp.concatenate([R[..., 0, :], R[..., 1, :]], axis=-1)
    return xp.concatenate([R[..., :, 0], R[..., :, 1]], axis=-1)


def rot6d_to_matrix(v: Any, convention: Convention = "columns") -> Any:
    """``(…, 6) → (…, 3, 3)``, by Gram and Schmidt: any two vectors that are not parallel give a rotation.

    >>> rot6d_to_matrix([2.0, 0, 0, 5, 3, 0]).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    v = _check(v, 6, "a rot6d")
    xp = namespace(v)
    first = _unit(v[..., :3])
    second = v[..., 3:]
    second = _unit(second - (first * second).sum(axis=-1, keepdims=True) * first)
    x, y = (tuple(u[..., i] for i in range(3)) for u in (first, second))
    third = xp.stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], axis=-1)
    return xp.stack([first, second, third], axis=-2 if _rows(convention) else -1)


def quaternion_to_matrix(q: Any) -> Any:
    """``(…, 4) → (…, 3, 3)``; quaternions of any length but 0.

    >>> quaternion_to_matrix([0.0, 0.0, 1.0, 1.0]).tolist()                    # a quarter turn about z
    [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """
    q = _check(q, 4, "a quaternion")
    xp = namespace(q)
    x, y, z, w = (q[..., i] for i in range(4))
    n = x * x + y * y + z * z + w * w
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), w * w - x * x + y * y - z * z, 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), w * w - x * x - y * y + z * z],
    ]
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2) / n[..., None, None]


def matrix_to_quaternion(R: Any) -> Any:
    """``(…, 3, 3) → (…, 4)`` of length 1 with w ≥ 0; divides by the largest of the four numbers (Shepperd).

    >>> matrix_to_quaternion([[1.0, 0, 0], [0, -1, 0], [0, 0, -1]]).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    R = as_array(R)
    if tuple(R.shape[-2:]) != (3, 3):
        raise InvalidParameter(f"a rotation of space is a 3×3 matrix, got shape {tuple(R.shape)}")
    xp = namespace(R)
    a, b, c = (R[..., i, i] for i in range(3))
    # Row k of these four is 4·q_k·q; the one with the largest diagonal 4·q_k² is the best conditioned.
    zy, xz, yx = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, zx, yz = R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]
    rows = [
        [1 + a - b - c, xy, zx, zy],
        [xy, 1 - a + b - c, yz, xz],
        [zx, yz, 1 - a - b + c, yx],
        [zy, xz, yx, 1 + a + b + c],
    ]
    table = xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
    diagonal = xp.stack([rows[i][i] for i in range(4)], axis=-1)
    best = xp.argmax(diagonal, axis=-1)[..., None, None]
    index = xp.broadcast_to(best, (*table.shape[:-2], 1, 4))
    chosen = xp.take_along_axis(table, index, axis=-2) if xp.__name__ == "numpy" else table.gather(-2, index)
    q = _unit(chosen[..., 0, :])
    return xp.where(q[..., 3:] < 0, -q, q)


def rot6d_to_quaternion(v: Any, convention: Convention = "columns") -> Any:
    """``(…, 6) → (…, 4)``."""
    return matrix_to_quaternion(rot6d_to_matrix(v, convention))


def quaternion_to_rot6d(q: Any, convention: Convention = "columns") -> Any:
    """``(…, 4) → (…, 6)``."""
    return matrix_to_rot6d(quaternion_to_matrix(q), convention)


def act_rot6d(g: Any, v: Any, convention: Convention = "columns") -> Any:
    """The rot6d of the turned orientation, ``g·v``.

    >>> import numpy as np
    >>> act_rot6d(rigid([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), [1, 0, 0, 0, 1, 0]).tolist()
    [0.0, 1.0, 0.0, -1.0, 0.0, 0.0]
    """
    g, v = same_kind(g, v)
    R = rotation(g)
    xp = namespace(g)
    if _rows(convention):
        return matrix_to_rot6d(xp.matmul(R, rot6d_to_matrix(v, "rows")), "rows")
    v = _check(v, 6, "a rot6d")
    halves = [(R * part[..., None, :]).sum(axis=-1) for part in (v[..., :3], v[..., 3:])]
    return xp.concatenate(halves, axis=-1)


def pose9_to_motion(pose: Any, convention: Convention = "columns") -> Any:
    """A pose written as xyz and rot6d, ``(…, 9)``, as a motion ``(…, 4, 4)``."""
    pose = _check(pose, 9, "a pose (xyz and rot6d)")
    return rigid(rot6d_to_matrix(pose[..., 3:], convention), pose[..., :3])


def motion_to_pose9(g: Any, convention: Convention = "columns") -> Any:
    """A motion ``(…, 4, 4)`` as xyz and rot6d, ``(…, 9)``.

    >>> motion_to_pose9(rigid([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]], [1, 2, 3])).tolist()
    [1.0, 2.0, 3.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0]
    """
    g = as_array(g)
    return namespace(g).concatenate([g[..., :3, 3], matrix_to_rot6d(rotation(g), convention)], axis=-1)


def act_pose9(g: Any, pose: Any, convention: Convention = "columns") -> Any:
    """Poses written as xyz and rot6d, moved."""
    g, pose = same_kind(g, pose)
    pose = _check(pose, 9, "a pose (xyz and rot6d)")
    parts = [act_points(g, pose[..., :3]), act_rot6d(g, pose[..., 3:], convention)]
    return namespace(g).concatenate(parts, axis=-1)
