"""Symmetries of environments, declared once: a group, and how it acts on observations, actions and states.

What lives here:

- ``finite``, ``continuous``, ``given``, ``groups`` — the groups an environment can have;
- ``base`` — what a representation is; sums, dictionaries, tuples, frame stacks; reading and writing;
- ``vectors``, ``affine``, ``labels``, ``images``, ``rotations`` — the representations themselves;
- ``acting`` — a group acting on a space: ``act(g, x)`` for every element, batched and fast;
- ``binding`` — from a group and a representation to an action, checked to be a homomorphism;
- ``spaces`` — whether it fits a Gymnasium space;
- ``declaration`` — :class:`EnvSymmetry`, from which everything else follows;
- ``forms``, ``frames`` — canonical forms derived from a declaration, by a choice of domain;
- ``smallest`` — three forms without one: the least image, the least label, the sign flip;
- ``augment`` — images of transitions, orbits and stabilizers;
- ``lint`` — symmetries of MuJoCo models, and what violates them;
- ``states`` — reading, setting and copying the whole state of environments of known kinds;
- ``atlas`` — environments with their symmetries, declared and measured.

It may import numpy, (inside functions) gymnasium, ``burnside.groups`` and what lies below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.symmetry.affine import Affine as Affine
    from burnside.symmetry.affine import Shift as Shift
    from burnside.symmetry.augment import all_images as all_images
    from burnside.symmetry.augment import orbit as orbit
    from burnside.symmetry.augment import random_images as random_images
    from burnside.symmetry.base import Stack as Stack
    from burnside.symmetry.declaration import EnvSymmetry as EnvSymmetry
    from burnside.symmetry.frames import Frame as Frame
    from burnside.symmetry.frames import canonical_form as canonical_form
    from burnside.symmetry.images import Image as Image
    from burnside.symmetry.labels import Labels as Labels
    from burnside.symmetry.labels import MultiLabels as MultiLabels
    from burnside.symmetry.rotations import Rotation as Rotation
    from burnside.symmetry.vectors import SignedPermutation as SignedPermutation
    from burnside.symmetry.vectors import Trivial as Trivial
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
