"""The groups an environment can have: finite ones, and rotations and motions of the plane and of space.

A group here says what its *elements* are, in one form per group, so that everything else can be written once:

- finite groups: the elements are the numbers ``0 … order − 1``, as in :attr:`burnside.groups.Group.elements`;
  0 is the identity;
- ``SO(2)``, ``O(2)``: 2×2 matrices; ``SO(3)``: 3×3 matrices;
- ``SE(2)``, ``SE(3)``: homogeneous 3×3 and 4×4 matrices.

Elements may be batched (leading axes). Finite groups that are named after turns and mirrors of the plane (``mirror``,
``C4``, ``D4``, ``V4``) or of the cube (``O``, ``Oh``) also know their matrices, so that
:class:`~burnside.symmetry.Rotation` and :class:`~burnside.symmetry.Image` can be used with them.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from burnside.errors import InvalidParameter, UnknownName
from burnside.groups import Group
from burnside.groups.rigid import so2_exp
from burnside.symmetry.continuous import CONTINUOUS, ContinuousGroup
from burnside.symmetry.finite import EnvGroup, FiniteGroup, exact

__all__ = ["CONTINUOUS", "ContinuousGroup", "EnvGroup", "FiniteGroup", "env_group"]


def env_group(spec: Any) -> EnvGroup:
    """A group from its name, from a :class:`~burnside.groups.Group`, or from what ``to_data`` wrote.

    Names: ``mirror`` (one reflection, ``y → −y``), ``C2``, ``C3``, … (turns of the plane; also ``Z2``, …), ``D4`` or
    ``C4v`` (turns and mirrors of a square; any number), ``V4`` (the mirrors ``y → −y`` and ``x → −x``), ``O`` and
    ``Oh`` (the 24 rotations of a cube, and with the inversion 48 symmetries), every other name of
    :meth:`burnside.groups.Group.named`, and ``SO(2)``, ``O(2)``, ``SO(3)``, ``SE(2)``, ``SE(3)``.

    >>> [env_group(name).order for name in ("mirror", "C4", "C4v", "V4", "Oh", "S3", "SO(2)")]
    [2, 4, 8, 4, 48, 6, None]
    """
    if isinstance(spec, EnvGroup):
        return spec
    if isinstance(spec, Group):
        return FiniteGroup(spec)
    if isinstance(spec, dict):
        return _from_data(spec)
    if not isinstance(spec, str):
        raise InvalidParameter(f"a group is given by name or as a Group, got a {type(spec).__name__}")
    name = spec.strip().replace(" ", "")
    short = name.upper().replace("(", "").replace(")", "")
    for known in CONTINUOUS:
        if short == known.replace("(", "").replace(")", ""):
            return ContinuousGroup(known)
    return _named(name)


def _named(name: str) -> FiniteGroup:
    mirror = np.diag([1.0, -1.0])
    if name.lower() == "mirror":
        return FiniteGroup(Group.cyclic(2), "mirror", mirror[None])
    if name == "V4":
        return FiniteGroup(Group.dihedral(2), "V4", np.stack([mirror, -mirror]))
    if match := re.fullmatch(r"(?:[CZ]_?(\d{1,4}))", name):
        n = int(match[1])
        if n > 1:
            return FiniteGroup(Group.cyclic(n), f"C{n}", exact(so2_exp(2 * np.pi / n))[None])
    if match := re.fullmatch(r"D_?(\d{1,4})|C_?(\d{1,4})v", name):
        n = int(match[1] or match[2])
        if n > 1:
            return FiniteGroup(Group.dihedral(n), f"D{n}", np.stack([exact(so2_exp(2 * np.pi / n)), mirror]))
    if name in ("O", "Oh"):
        quarter_z = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
        quarter_x = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
        more = [-np.eye(3)] if name == "Oh" else []
        return FiniteGroup(Group.octahedral(full=name == "Oh"), name, np.stack([quarter_z, quarter_x, *more]))
    try:
        return FiniteGroup(Group.named(name))
    except UnknownName:
        known = ["mirror", "C<n>", "D<n>", "C<n>v", "V4", "S<n>", "B<n>", "O", "Oh", "<group>x<group>", *CONTINUOUS]
        raise UnknownName("group", name, known) from None


def _from_data(data: dict[str, Any]) -> EnvGroup:
    if "permutations" in data:
        matrices = None if "matrices" not in data else np.asarray(data["matrices"], dtype=np.float64)
        name = data.get("name")
        return FiniteGroup(Group(data["permutations"], name=name), name or "", matrices)
    if "name" in data:
        found = env_group(data["name"])
        if isinstance(found, ContinuousGroup) and "reach" in data:
            return ContinuousGroup(found.name, float(data["reach"]))
        return found
    raise InvalidParameter(f"a group needs a name or permutations, got {data!r:.80}")
