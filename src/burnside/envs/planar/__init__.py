"""Planar manipulation with exact SE(2) symmetry (Thm. 3): ``burnside/PlanarPush-v0`` and ``burnside/PlanarStack-v0``.

``core`` has the rules as pure batched functions, ``kernels`` the same as compiled loops and ``dynamics`` for torch
tensors, ``expert`` scripted solutions and demonstrations, ``symmetry`` the rigid motions and the robot's frame,
``scenes`` and ``chunks`` the batched environments of learners, ``render`` pictures and films, ``env`` the Gymnasium
adapters. It may import what lies below ``burnside.envs``; numba,
torch, gymnasium and Pillow are loaded only where they are used.
"""

from __future__ import annotations

from burnside.envs.planar.chunks import PlanarChunks, demonstration_chunks
from burnside.envs.planar.core import (
    FRAMES,
    PlanarSpec,
    PlanarState,
    observe,
    reset,
    restart,
    step,
    to_frame,
    to_world,
)
from burnside.envs.planar.expert import Demonstrations, demonstrate, expert
from burnside.envs.planar.scenes import PlanarScenes
from burnside.envs.planar.symmetry import PlanarSymmetry

__all__ = [
    "FRAMES",
    "Demonstrations",
    "PlanarChunks",
    "PlanarScenes",
    "PlanarSpec",
    "PlanarState",
    "PlanarSymmetry",
    "demonstrate",
    "demonstration_chunks",
    "expert",
    "observe",
    "reset",
    "restart",
    "step",
    "to_frame",
    "to_world",
]
