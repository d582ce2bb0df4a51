"""Rigid motions of the plane and of space: SO(2), SE(2), SO(3), SE(3), batched, in numpy and torch.

- ``motions`` — compose, invert, act on points, poses and velocities (homogeneous matrices, the left action);
- ``exponential`` — exp and log, accurate at the angles 0 and π;
- ``rotations`` — quaternions (scalar last) and rot6d (columns; rows on request);
- ``layout`` — :class:`Layout`, what the numbers of a flat vector are and so how motions act on it;
- ``frames`` — :class:`FrameForm`, observations and action chunks brought into one frame and back;
- ``arrays`` — one spelling for numpy and torch.

It may import numpy, ``burnside.errors`` and ``burnside._types``. Torch is never imported from here: tensors bring it.
"""

from __future__ import annotations

from burnside.groups.rigid.exponential import (
    hat,
    se2_exp,
    se2_log,
    se3_exp,
    se3_log,
    so2_exp,
    so2_log,
    so3_exp,
    so3_log,
)
from burnside.groups.rigid.frames import FRAMES, SPATIAL_FRAMES, FrameForm
from burnside.groups.rigid.layout import KINDS, Layout
from burnside.groups.rigid.motions import (
    act_points,
    act_poses,
    act_vectors,
    act_velocities,
    adjoint,
    compose,
    identity,
    invert,
    is_motion,
    rigid,
    rotation,
    translation,
)
from burnside.groups.rigid.rotations import (
    act_pose9,
    act_rot6d,
    matrix_to_quaternion,
    matrix_to_rot6d,
    motion_to_pose9,
    pose9_to_motion,
    quaternion_to_matrix,
    quaternion_to_rot6d,
    rot6d_to_matrix,
    rot6d_to_quaternion,
)

__all__ = [
    "FRAMES",
    "KINDS",
    "SPATIAL_FRAMES",
    "FrameForm",
    "Layout",
    "act_points",
    "act_pose9",
    "act_poses",
    "act_rot6d",
    "act_vectors",
    "act_velocities",
    "adjoint",
    "compose",
    "hat",
    "identity",
    "invert",
    "is_motion",
    "matrix_to_quaternion",
    "matrix_to_rot6d",
    "motion_to_pose9",
    "pose9_to_motion",
    "quaternion_to_matrix",
    "quaternion_to_rot6d",
    "rigid",
    "rot6d_to_matrix",
    "rot6d_to_quaternion",
    "rotation",
    "se2_exp",
    "se2_log",
    "se3_exp",
    "se3_log",
    "so2_exp",
    "so2_log",
    "so3_exp",
    "so3_log",
    "translation",
]
