"""Symmetries of environments, declared once: a group, and how it acts on observations, actions and states.

What lives here:

- ``finite``, ``continuous``, ``given``, ``groups`` — the groups an environment can have (:func:`env_group`);
- ``base`` — what a representation is; sums, dictionaries, tuples, frame stacks; reading and writing;
- ``vectors``, ``affine``, ``labels``, ``images``, ``rotations`` — the representations themselves;
- ``acting`` — a group acting on a space: ``act(g, x)`` for every element, batched and fast;
- ``binding`` — from a group and a representation to an action, checked to be a homomorphism;
- ``spaces`` — whether it fits a Gymnasium space;
- ``declaration`` — :class:`EnvSymmetry`, from which everything else follows;
- ``forms``, ``frames`` — canonical forms derived from a declaration, by a choice of domain;
- ``smallest`` — three forms without one: the least image, the least label, the sign flip;
- ``augment`` — images of transitions, orbits and stabilizers.

It may import numpy, (inside functions) gymnasium, ``burnside.groups`` and what lies below it.
"""

from __future__ import annotations

from burnside.symmetry.affine import Affine, Shift
from burnside.symmetry.augment import Orbit, all_images, orbit, random_images
from burnside.symmetry.base import Stack
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.forms import CanonicalForm
from burnside.symmetry.frames import Frame, canonical_form
from burnside.symmetry.groups import env_group
from burnside.symmetry.images import Image
from burnside.symmetry.labels import Labels, MultiLabels
from burnside.symmetry.rotations import Rotation
from burnside.symmetry.vectors import SignedPermutation, Trivial

__all__ = [
    "Affine",
    "CanonicalForm",
    "EnvSymmetry",
    "Frame",
    "Image",
    "Labels",
    "MultiLabels",
    "Orbit",
    "Rotation",
    "Shift",
    "SignedPermutation",
    "Stack",
    "Trivial",
    "all_images",
    "canonical_form",
    "env_group",
    "orbit",
    "random_images",
]
