"""Planar manipulation with exact SE(2) symmetry (Thm. 3): ``burnside/PlanarPush-v0`` and ``burnside/PlanarStack-v0``.

``core`` has the rules as pure batched functions, ``kernels`` the same as compiled loops and ``dynamics`` for torch
tensors, ``expert`` scripted solutions and demonstrations, ``symmetry`` the rigid motions and the robot's frame,
``scenes`` and ``chunks`` the batched environments of learners, ``render`` pictures and films, ``env`` the Gymnasium
adapters. It may import what lies below ``burnside.envs``; numba,
torch, gymnasium and Pillow are loaded only where they are used.
"""

from __future__ import annotations

from burnside._lazy import exported
from burnside.envs.planar.core import PlanarSpec as PlanarSpec
from burnside.envs.planar.core import observe as observe
from burnside.envs.planar.core import reset as reset
from burnside.envs.planar.core import step as step
from burnside.envs.planar.core import to_world as to_world
from burnside.envs.planar.expert import expert as expert
from burnside.envs.planar.scenes import PlanarScenes as PlanarScenes

__all__ = exported(__name__)
