"""Which body and which joint becomes which under a motion of space, found from places and axes at rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.symmetry.lint.motions import EXCHANGE, Motion, Rest

__all__ = ["Matching", "exchanges", "match_bodies"]

FREE, BALL, SLIDE, HINGE = range(4)  # mujoco.mjtJoint

#: A body is taken for the image of another if its place is off by at most this share of the length of its link,
#: and the axes of its joints by at most this angle. What is off by less is a violation with a name and an amount.
_PLACE, _ANGLE = 0.05, 0.05


@dataclass(frozen=True)
class Matching:
    """Bodies and joints under a motion.

    Attributes:
        motion: the motion of space.
        bodies: the image of every body; −1 for a fixed body that has none (fixed bodies are compared by their geoms).
        shifts: a point u of body b (in the world, at rest) belongs at ``Q u + shifts[b]`` on its image. They differ
            between bodies that slides or free joints carry: such a joint makes up for another place at rest.
        joints: the image of every joint.
        signs: for hinges and slides, ``new[image] = sign · old + offset``.
        offsets: see there; 0 where the reference configuration is symmetric.
        misplaced: bodies that stand with all below them beside the place where they belong, and by how much.
    """

    motion: Motion
    bodies: AnyArray
    shifts: FloatArray
    joints: AnyArray
    signs: FloatArray
    offsets: FloatArray
    misplaced: dict[int, FloatArray]

    def point(self, body: int, place: FloatArray) -> FloatArray:
        """Where a point of a body belongs."""
        return self.motion.matrix @ place + self.shifts[body]


class _NoMatch(Exception):
    """These two bodies are not images of each other."""


@dataclass
class _Part:
    """A body with all below it, matched: who becomes who, and how badly it fits."""

    cost: float
    bodies: dict[int, int]
    shifts: dict[int, FloatArray]
    joints: dict[int, tuple[int, float, float]]
    misplaced: dict[int, FloatArray]


def match_bodies(
    rest: Rest, motion: Motion, offset: FloatArray, fixed: dict[int, int] | None = None
) -> Matching | None:
    """The matching of a motion ``u → Q u + offset`` that fits best, or None if some part has no image.

    Children are assigned to children by the Hungarian method, from the leaves to the root, so the best assignment is
    found among all of them in polynomial time.

    Args:
        rest: the model at rest.
        motion: the motion.
        offset: its translation.
        fixed: bodies whose image is given; where no body is named, every assignment is allowed.
    """
    try:
        part = _children(rest, motion, 0, 0, offset, fixed or {})
    except _NoMatch:
        return None
    m = rest.model
    bodies = np.full(m.nbody, -1)
    shifts = np.tile(offset, (m.nbody, 1))
    bodies[0] = 0
    for body, image in part.bodies.items():
        bodies[body] = image
        shifts[body] = part.shifts[body]
    _fixed_bodies(rest, motion, bodies, shifts)
    joints, signs, offsets = np.zeros(m.njnt, dtype=np.int64), np.ones(m.njnt), np.zeros(m.njnt)
    for joint, (image, sign, off) in part.joints.items():
        joints[joint], signs[joint], offsets[joint] = image, sign, off
    return Matching(motion, bodies, shifts, joints, signs, offsets, part.misplaced)


def exchanges(rest: Rest) -> list[Matching]:
    """Matchings of two parts that stand in the same place, such as the legs of a planar walker: nothing moves."""
    found = []
    for siblings in rest.children:
        for k, one in enumerate(siblings):
            for other in siblings[k + 1 :]:
                pinned = {b: b for b in siblings} | {one: other, other: one}
                name = f"exchange of {rest.name('body', one)} and {rest.name('body', other)}"
                matching = match_bodies(rest, replace(EXCHANGE, name=name), np.zeros(3), pinned)
                if matching is not None:
                    found.append(matching)
    return found


def _children(rest: Rest, motion: Motion, body: int, image: int, shift: FloatArray, fixed: dict[int, int]) -> _Part:
    """All children of a body assigned to those of its image."""
    ours, theirs = rest.children[body], rest.children[image]
    if len(ours) != len(theirs):
        raise _NoMatch
    whole = _Part(0.0, {}, {}, {}, {})
    if not ours:
        return whole
    parts: dict[tuple[int, int], _Part] = {}
    costs = np.full((len(ours), len(theirs)), np.inf)
    for i, one in enumerate(ours):
        for k, other in enumerate(theirs):
            if fixed.get(one, other) != other:
                continue
            try:
                parts[i, k] = _pair(rest, motion, one, other, shift, fixed)
            except _NoMatch:
                continue
            costs[i, k] = parts[i, k].cost
    for i, k in _assignment(costs):
        part = parts[i, k]
        whole.cost += part.cost
        whole.bodies |= part.bodies
        whole.shifts |= part.shifts
        whole.joints |= part.joints
        whole.misplaced |= part.misplaced
    return whole


def _assignment(costs: FloatArray) -> list[tuple[int, int]]:
    """The cheapest assignment; refuses if every one uses an impossible pair."""
    from scipy.optimize import linear_sum_assignment

    possible = np.isfinite(costs)
    if not possible.any(axis=1).all() or not possible.any(axis=0).all():
        raise _NoMatch
    rows, columns = linear_sum_assignment(np.where(possible, costs, 1e12))
    if not possible[rows, columns].all():
        raise _NoMatch
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _pair(rest: Rest, motion: Motion, one: int, other: int, shift: FloatArray, fixed: dict[int, int]) -> _Part:
    """One body taken for the image of another, with all below."""
    m = rest.model
    if m.body_jntnum[one] != m.body_jntnum[other] or len(rest.children[one]) != len(rest.children[other]):
        raise _NoMatch
    joints = _joints(rest, motion, one, other)
    residue = rest.body_pos[other] - (motion.matrix @ rest.body_pos[one] + shift)
    offsets = dict.fromkeys(joints, 0.0)
    if any(m.jnt_type[j] == FREE for j in joints):
        shift, residue = shift + residue, np.zeros(3)
    slides = [j for j in joints if m.jnt_type[j] == SLIDE]
    if slides:  # what slides can reach is not a difference: their numbers make up for it
        axes = rest.axis[[joints[j][0] for j in slides]]
        reach = np.linalg.lstsq(axes.T, residue, rcond=None)[0]
        shift, residue = shift + reach @ axes, residue - reach @ axes
        offsets |= dict(zip(slides, (-reach).tolist(), strict=True))
    link = max(_link(rest, one), _link(rest, other), 1e-3 * rest.extent)
    off = float(np.linalg.norm(residue)) / link
    if off > _PLACE:
        raise _NoMatch
    missed = _misplaced(rest, motion, one, other, shift, residue)
    if missed:
        shift = shift + residue
    below = _children(rest, motion, one, other, shift, fixed)
    if missed:
        below.misplaced[one] = residue
    below.cost += off + _unlike(rest, motion, one, other, shift) + 1e-6 * (one != other)
    below.bodies[one], below.shifts[one] = other, shift
    for joint, (image, sign) in joints.items():
        q0, q1 = m.jnt_qposadr[joint], m.jnt_qposadr[image]
        single = m.jnt_type[joint] in (SLIDE, HINGE)
        zero = float(m.qpos0[q1] - sign * m.qpos0[q0]) + offsets[joint] if single else 0.0
        below.joints[joint] = (image, sign, 0.0 if abs(zero) < 1e-12 else zero)
    return below


def _misplaced(rest: Rest, motion: Motion, one: int, other: int, shift: FloatArray, residue: FloatArray) -> bool:
    """Whether the body itself stands elsewhere, not only the frame it is described in: its mass is off as well."""
    off = rest.com[other] - (motion.matrix @ rest.com[one] + shift)
    return bool(np.linalg.norm(off - residue) < 0.5 * np.linalg.norm(off))


def _link(rest: Rest, body: int) -> float:
    return float(np.linalg.norm(rest.body_pos[body] - rest.body_pos[rest.model.body_parentid[body]]))


def _unlike(rest: Rest, motion: Motion, one: int, other: int, shift: FloatArray) -> float:
    """How much mass, size and shape differ: decides between parts that stand in the same place."""
    m = rest.model
    mass = abs(m.body_mass[one] - m.body_mass[other]) / max(m.body_mass[one], m.body_mass[other], 1e-12)
    centre = np.linalg.norm(motion.matrix @ rest.com[one] + shift - rest.com[other]) / rest.extent
    turned = motion.matrix @ rest.inertia[one] @ motion.matrix.T
    inertia = np.abs(turned - rest.inertia[other]).max() / max(
        np.abs(turned).max(), np.abs(rest.inertia[other]).max(), 1e-12
    )
    return float(mass + centre + inertia + abs(int(m.body_geomnum[one]) - int(m.body_geomnum[other])))


def _joints(rest: Rest, motion: Motion, one: int, other: int) -> dict[int, tuple[int, float]]:
    """The joints of a body and their images with signs; a hinge's axis is an axial vector, a slide's a polar one."""
    m = rest.model
    ours, theirs = list(rest.joints_of(one)), list(rest.joints_of(other))
    if len(ours) != len(theirs) or sorted(m.jnt_type[ours]) != sorted(m.jnt_type[theirs]):
        raise _NoMatch
    found: dict[int, tuple[int, float]] = {}
    left = set(theirs)
    for joint in ours:
        kind = m.jnt_type[joint]
        best: tuple[float, int, float] | None = None
        for image in sorted(left):
            if m.jnt_type[image] != kind:
                continue
            sign, angle = _axis_sign(rest, motion, joint, image) if kind in (SLIDE, HINGE) else (1.0, 0.0)
            if angle <= _ANGLE and (best is None or angle < best[0] - 1e-9):
                best = (angle, image, sign)
        if best is None:
            raise _NoMatch
        left.discard(best[1])
        found[joint] = (best[1], best[2])
    if not _same_order(m, found):
        raise _NoMatch
    return found


def _axis_sign(rest: Rest, motion: Motion, joint: int, image: int) -> tuple[float, float]:
    turned = motion.matrix @ rest.axis[joint]
    if rest.model.jnt_type[joint] == HINGE:
        turned = motion.handedness * turned
    sign = 1.0 if float(turned @ rest.axis[image]) >= 0 else -1.0
    off = turned - sign * rest.axis[image]
    return sign, math.sqrt(float(off @ off))  # a small angle is the distance of the unit vectors


def _same_order(m: Any, joints: dict[int, tuple[int, float]]) -> bool:
    """Joints of a body act one after the other. Slides next to each other may change places, turns may not."""
    sequence = [joint for joint in sorted(joints) if m.jnt_type[joint] != SLIDE]
    images = [joints[joint][0] for joint in sequence]
    if images != sorted(images):
        return False
    turns = set(images)
    for joint, (image, _) in joints.items():
        before = sum(j < joint for j in sequence)
        if before != sum(t < image for t in turns):
            return False
    return True


def _fixed_bodies(rest: Rest, motion: Motion, bodies: AnyArray, shifts: FloatArray) -> None:
    """Bodies that never move: the one that stands where the image belongs, if there is one."""
    still = [b for b in range(1, rest.model.nbody) if bodies[b] < 0]
    for body in still:
        place = motion.matrix @ rest.body_pos[body] + shifts[body]
        near = [b for b in still if np.linalg.norm(rest.body_pos[b] - place) < 1e-6 * (1 + rest.extent)]
        bodies[body] = body if body in near else (near[0] if near else -1)
