"""Canonical forms of observations, the Gymnasium wrappers around them, and the check that a symmetry holds.

What lives here: :class:`Canonicalizer` (``x → (x̄, g)`` with ``x̄ = g·x``, and ``undo``), the forms (:class:`RollToGoal`
of App. C, :class:`LexMin`, :class:`SmallestLabel`, :class:`SignFlip`, and :class:`FrameForm`, the view from a frame),
the wrappers (:class:`CanonicalEnv`, :class:`CanonicalVectorEnv`, :class:`AugmentedEnv`), :class:`EnvSymmetry` (a group
acting on an environment), :func:`check_symmetry`, and ready-made symmetries in :mod:`burnside.canonical.known`.

The check lives in the folder ``checking``; ``guard`` (what the user's code raises) serves it and the wrappers, and
``construction`` is the check that a wrapper makes when it is made.

It may import ``burnside.envs`` and what lies below. Gymnasium is the extra ``envs``; the forms work without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burnside.canonical.base import Canonicalizer
from burnside.canonical.checking import EnvVerdict, check_symmetry
from burnside.canonical.frames import FrameForm, planar_frames, pose_frames
from burnside.canonical.symmetry import EnvSymmetry
from burnside.envs.ring.symmetry import RollToGoal
from burnside.symmetry.smallest import LexMin, SignFlip, SmallestLabel

if TYPE_CHECKING:
    from burnside.canonical.wrappers import AugmentedEnv, CanonicalEnv, CanonicalVectorEnv

__all__ = [
    "AugmentedEnv",
    "CanonicalEnv",
    "CanonicalVectorEnv",
    "Canonicalizer",
    "EnvSymmetry",
    "EnvVerdict",
    "FrameForm",
    "LexMin",
    "RollToGoal",
    "SignFlip",
    "SmallestLabel",
    "check_symmetry",
    "planar_frames",
    "pose_frames",
]


def __getattr__(name: str) -> Any:
    if name in ("AugmentedEnv", "CanonicalEnv", "CanonicalVectorEnv"):
        from burnside.canonical import wrappers

        return getattr(wrappers, name)
    raise AttributeError(f"module 'burnside.canonical' has no attribute {name!r}")
