"""What a matching of bodies does to the numbers of a simulator: positions, velocities, activations, controls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from burnside._types import FloatArray
from burnside.symmetry.affine import Affine
from burnside.symmetry.base import Map
from burnside.symmetry.lint.compare import Comparison
from burnside.symmetry.lint.matching import BALL, FREE, Matching
from burnside.symmetry.lint.motions import Rest, quaternion
from burnside.symmetry.vectors import SignedPermutation, Trivial

__all__ = ["StateMap", "as_map", "state_map"]


@dataclass(frozen=True)
class StateMap:
    """How a motion acts on the state of a simulator: ``new = A old + b`` for each of its vectors.

    Attributes:
        qpos: on positions (the only one that may have an offset).
        qvel: on velocities, and on everything else that is dual to them (forces, accelerations).
        ctrl: on controls.
        act: on activations.
    """

    qpos: Map
    qvel: Map
    ctrl: Map
    act: Map

    @property
    def moves(self) -> bool:
        """Whether any number changes at all."""
        return any(part.width and part.difference(part.identity()) for part in (self.qpos, self.qvel, self.ctrl))

    def same(self, other: StateMap) -> bool:
        """Whether two maps do the same."""
        pairs = ((self.qpos, other.qpos), (self.qvel, other.qvel), (self.ctrl, other.ctrl))
        return all(not a.width or a.difference(b) is None for a, b in pairs)


def state_map(rest: Rest, matching: Matching, comparison: Comparison) -> StateMap:
    """The maps that follow from who becomes who."""
    m, q = rest.model, matching.motion.matrix
    spin = matching.motion.handedness
    qpos, offset, qvel = np.zeros((m.nq, m.nq)), np.zeros(m.nq), np.zeros((m.nv, m.nv))
    for joint in range(m.njnt):
        image, kind = int(matching.joints[joint]), int(m.jnt_type[joint])
        p, p2 = int(m.jnt_qposadr[joint]), int(m.jnt_qposadr[image])
        v, v2 = int(m.jnt_dofadr[joint]), int(m.jnt_dofadr[image])
        body, body2 = int(m.jnt_bodyid[joint]), int(m.jnt_bodyid[image])
        # of directions in the frame of the body, and of axial vectors there
        local = rest.body_mat[body2].T @ q @ rest.body_mat[body]
        if kind == FREE:
            qpos[p2 : p2 + 3, p : p + 3] = q
            qpos[p2 + 3 : p2 + 7, p + 3 : p + 7] = _absolute(q, spin, rest.body_mat[body], rest.body_mat[body2])
            qvel[v2 : v2 + 3, v : v + 3] = q
            qvel[v2 + 3 : v2 + 6, v + 3 : v + 6] = spin * local
        elif kind == BALL:
            qpos[p2, p] = 1.0
            qpos[p2 + 1 : p2 + 4, p + 1 : p + 4] = spin * local
            qvel[v2 : v2 + 3, v : v + 3] = spin * local
        else:
            qpos[p2, p] = qvel[v2, v] = matching.signs[joint]
            offset[p2] = matching.offsets[joint]
    ctrl, act = np.zeros((m.nu, m.nu)), np.zeros((m.na, m.na))
    for actuator, image in enumerate(_completed(comparison.actuators.tolist())):
        sign = float(comparison.actuator_signs[actuator])
        ctrl[image, actuator] = sign
        first, count = int(m.actuator_actadr[actuator]), int(m.actuator_actnum[actuator])
        for k in range(count if first >= 0 else 0):
            act[int(m.actuator_actadr[image]) + k, first + k] = sign
    return StateMap(as_map(qpos, offset), as_map(qvel), as_map(ctrl), as_map(act))


def _completed(images: list[int]) -> list[int]:
    """Those without an image (−1, reported as violations) get one that is left, their own if it is: still one to one.

    >>> _completed([-1, 0, 2, -1])
    [1, 0, 2, 3]
    """
    free = [k for k in range(len(images)) if k not in images]
    own = {k for k, image in enumerate(images) if image < 0 and k in free}
    others = iter([k for k in free if k not in own])
    return [image if image >= 0 else k if k in own else next(others) for k, image in enumerate(images)]


def as_map(matrix: FloatArray, offset: FloatArray | None = None) -> Map:
    """A signed permutation where it is one, else an affine map."""
    if not len(matrix):
        return Trivial(0)
    near = np.round(matrix)
    plain = np.abs(matrix - near).max() < 1e-6 and (np.abs(near).sum(axis=1) == 1).all()
    if plain and (np.abs(near).sum(axis=0) == 1).all() and (offset is None or np.abs(offset).max() < 1e-9):
        index = np.abs(near).argmax(axis=1)
        return SignedPermutation(index, near[np.arange(len(near)), index].astype(np.int64))
    return Affine(matrix, offset)


def _absolute(q: FloatArray, spin: float, frame: FloatArray, frame2: FloatArray) -> FloatArray:
    """What ``R → Q R Λ`` does to the quaternion of R, where Λ takes the frame at rest to that of the image.

    First R is carried by the motion (``Q R Qᵀ``, whose quaternion has its vector turned as an axial one), then a fixed
    rotation in the frame of the body makes up for the frames at rest.
    """
    carried: FloatArray = np.eye(4)
    carried[1:, 1:] = spin * q
    w, x, y, z = quaternion(q @ frame.T @ q.T @ frame2)
    right = np.array([[w, -x, -y, -z], [x, w, z, -y], [y, -z, w, x], [z, y, -x, w]])  # p → p · (w, x, y, z)
    return right @ carried
