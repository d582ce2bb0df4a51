"""Canonical forms of observations, the Gymnasium wrappers around them, and the check that a symmetry holds.

What lives here: :class:`Canonicalizer` (``x → (x̄, g)`` with ``x̄ = g·x``, and ``undo``), :class:`FrameForm` (the view
from a frame), the wrappers (:class:`CanonicalEnv`, :class:`CanonicalVectorEnv`, :class:`AugmentedEnv`,
:class:`AugmentedVectorEnv`), :func:`check_symmetry` in the folder ``checking``, :func:`check_policy` (how equivariant a
trained policy is), :func:`export` (plain code for other libraries), ``discovery`` (symmetries of a black box),
``atlas`` (the atlas, checked again), and ready-made symmetries in ``known``. :class:`EnvSymmetry` and the forms
:class:`LexMin`, :class:`SmallestLabel` and :class:`SignFlip` come from :mod:`burnside.symmetry`.

``guard`` (what the user's code raises) serves the check and the wrappers, and ``construction`` is the check that a
wrapper makes when it is constructed.

It may import ``burnside.envs`` and what lies below. Gymnasium is the extra ``envs``; the forms work without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.canonical.base import Canonicalizer as Canonicalizer
    from burnside.canonical.checking import EnvVerdict as EnvVerdict
    from burnside.canonical.checking import check_symmetry as check_symmetry
    from burnside.canonical.exporters import export as export
    from burnside.canonical.frames import FrameForm as FrameForm
    from burnside.canonical.frames import planar_frames as planar_frames
    from burnside.canonical.frames import pose_frames as pose_frames
    from burnside.canonical.policies import check_policy as check_policy
    from burnside.canonical.wrappers import AugmentedEnv as AugmentedEnv
    from burnside.canonical.wrappers import AugmentedVectorEnv as AugmentedVectorEnv
    from burnside.canonical.wrappers import CanonicalEnv as CanonicalEnv
    from burnside.canonical.wrappers import CanonicalVectorEnv as CanonicalVectorEnv
    from burnside.symmetry.declaration import EnvSymmetry as EnvSymmetry
    from burnside.symmetry.smallest import LexMin as LexMin
    from burnside.symmetry.smallest import SignFlip as SignFlip
    from burnside.symmetry.smallest import SmallestLabel as SmallestLabel
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
