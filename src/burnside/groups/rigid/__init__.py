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

from burnside._lazy import exported
from burnside.groups.rigid.exponential import hat as hat
from burnside.groups.rigid.exponential import se2_exp as se2_exp
from burnside.groups.rigid.exponential import se2_log as se2_log
from burnside.groups.rigid.exponential import se3_exp as se3_exp
from burnside.groups.rigid.exponential import se3_log as se3_log
from burnside.groups.rigid.exponential import so2_exp as so2_exp
from burnside.groups.rigid.exponential import so2_log as so2_log
from burnside.groups.rigid.exponential import so3_exp as so3_exp
from burnside.groups.rigid.exponential import so3_log as so3_log
from burnside.groups.rigid.frames import FRAMES as FRAMES
from burnside.groups.rigid.frames import SPATIAL_FRAMES as SPATIAL_FRAMES
from burnside.groups.rigid.frames import FrameForm as FrameForm
from burnside.groups.rigid.layout import KINDS as KINDS
from burnside.groups.rigid.layout import Layout as Layout
from burnside.groups.rigid.motions import act_points as act_points
from burnside.groups.rigid.motions import act_poses as act_poses
from burnside.groups.rigid.motions import act_vectors as act_vectors
from burnside.groups.rigid.motions import act_velocities as act_velocities
from burnside.groups.rigid.motions import adjoint as adjoint
from burnside.groups.rigid.motions import compose as compose
from burnside.groups.rigid.motions import identity as identity
from burnside.groups.rigid.motions import invert as invert
from burnside.groups.rigid.motions import is_motion as is_motion
from burnside.groups.rigid.motions import rigid as rigid
from burnside.groups.rigid.motions import rotation as rotation
from burnside.groups.rigid.motions import translation as translation
from burnside.groups.rigid.rotations import act_pose9 as act_pose9
from burnside.groups.rigid.rotations import act_rot6d as act_rot6d
from burnside.groups.rigid.rotations import matrix_to_quaternion as matrix_to_quaternion
from burnside.groups.rigid.rotations import matrix_to_rot6d as matrix_to_rot6d
from burnside.groups.rigid.rotations import motion_to_pose9 as motion_to_pose9
from burnside.groups.rigid.rotations import pose9_to_motion as pose9_to_motion
from burnside.groups.rigid.rotations import quaternion_to_matrix as quaternion_to_matrix
from burnside.groups.rigid.rotations import quaternion_to_rot6d as quaternion_to_rot6d
from burnside.groups.rigid.rotations import rot6d_to_matrix as rot6d_to_matrix
from burnside.groups.rigid.rotations import rot6d_to_quaternion as rot6d_to_quaternion

__all__ = exported(__name__)
