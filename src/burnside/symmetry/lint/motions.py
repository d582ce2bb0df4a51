"""Motions of space that a model may be symmetric under, and the model as it stands at rest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.errors import MissingExtra
from burnside.groups.rigid import matrix_to_quaternion

__all__ = ["Motion", "Rest", "candidate_motions", "mujoco_module", "quaternion", "quiet", "tilted_motions"]

_STEEP = 0.05  # a motion that tilts gravity by more than this (relative) is not proposed: nothing could repair it
_FOLDS = (3, 5, 6, 8)  # turns about z that are tried beside half and quarter turns


def mujoco_module() -> Any:
    """The package mujoco, or one sentence where it is not installed."""
    try:
        import mujoco
    except ImportError:
        raise MissingExtra("mujoco", "mujoco") from None
    return mujoco


@contextmanager
def quiet() -> Iterator[None]:
    """Without MuJoCo's warnings, which it would print, and write to a file in the current folder."""
    mujoco = mujoco_module()
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


@dataclass(frozen=True)
class Motion:
    """A motion ``u → Q u + t`` of space that keeps one point, axis or plane.

    Attributes:
        name: ``"y → −y"``, ``"half turn about z"``, … ; ``"exchange"`` moves nothing, so that only parts that stand in
            the same place can change roles.
        matrix: Q, orthogonal.
        order: how often it must be repeated until everything is back.
    """

    name: str
    matrix: FloatArray
    order: int

    @cached_property
    def handedness(self) -> float:
        """+1 for a rotation, −1 for a reflection: what axial vectors are multiplied with."""
        return float(np.sign(np.linalg.det(self.matrix)))

    @property
    def keeps_axes(self) -> bool:
        """Whether every axis is mapped to itself or reversed."""
        return bool(np.abs(self.matrix - np.diag(np.diag(self.matrix))).max() < 1e-12)


EXCHANGE = Motion("exchange", np.eye(3), 2)


def candidate_motions(gravity: FloatArray) -> list[Motion]:
    """Reflections, half turns, and turns about z that do not turn gravity into another direction.

    >>> [motion.name for motion in candidate_motions(np.array([0.0, 0.0, -9.81]))][:4]
    ['y → −y', 'x → −x', 'x ↔ y', 'x ↔ −y']
    """
    size = float(np.linalg.norm(gravity))
    return [motion for motion in _motions() if np.linalg.norm(motion.matrix @ gravity - gravity) <= _STEEP * size]


def tilted_motions(gravity: FloatArray) -> list[Motion]:
    """Those that would be tried if gravity were not tilted: on a slope, the mirror that exchanges up and down of it.

    >>> [motion.name for motion in tilted_motions(np.array([0.0, 0.9, -9.8]))][:3]
    ['y → −y', 'x ↔ y', 'x ↔ −y']
    """
    straight = np.where(np.arange(3) == np.argmax(np.abs(gravity)), gravity, 0.0)
    tried = [motion.name for motion in candidate_motions(gravity)]
    return [motion for motion in candidate_motions(straight) if motion.name not in tried]


def _motions() -> list[Motion]:
    return [
        Motion("y → −y", np.diag([1.0, -1.0, 1.0]), 2),
        Motion("x → −x", np.diag([-1.0, 1.0, 1.0]), 2),
        Motion("z → −z", np.diag([1.0, 1.0, -1.0]), 2),
        Motion("x ↔ y", np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]), 2),
        Motion("x ↔ −y", np.array([[0.0, -1, 0], [-1, 0, 0], [0, 0, 1]]), 2),
        Motion("half turn about z", np.diag([-1.0, -1.0, 1.0]), 2),
        Motion("quarter turn about z", np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), 4),
        Motion("half turn about x", np.diag([1.0, -1.0, -1.0]), 2),
        Motion("half turn about y", np.diag([-1.0, 1.0, -1.0]), 2),
        Motion("inversion of space", -np.eye(3), 2),
        *(Motion(f"turn about z by {360 / n:g}°", _turn(2 * np.pi / n), n) for n in _FOLDS),
    ]


def quaternion(matrix: FloatArray) -> FloatArray:
    """A rotation as MuJoCo writes it: (w, x, y, z)."""
    return np.roll(np.asarray(matrix_to_quaternion(matrix)), 1)


def _turn(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]])


class Rest:
    """A compiled model in its reference configuration (``qpos0``), with all places and axes in the world.

    Attributes:
        model: the ``mujoco.MjModel``; it is not changed.
    """

    def __init__(self, model: Any) -> None:
        mujoco = mujoco_module()
        self.model = model
        self.mujoco = mujoco
        data = mujoco.MjData(model)
        data.qpos[:] = model.qpos0
        mujoco.mj_kinematics(model, data)
        self.body_pos: FloatArray = data.xpos.copy()
        self.body_mat: FloatArray = data.xmat.reshape(-1, 3, 3).copy()
        self.com: FloatArray = data.xipos.copy()
        frames = data.ximat.reshape(-1, 3, 3)
        self.inertia: FloatArray = np.einsum("bij,bj,bkj->bik", frames, model.body_inertia, frames)
        self.anchor: FloatArray = data.xanchor.copy()
        self.axis: FloatArray = data.xaxis.copy()
        self.geom_pos: FloatArray = data.geom_xpos.copy()
        self.geom_mat: FloatArray = data.geom_xmat.reshape(-1, 3, 3).copy()
        self.site_pos: FloatArray = data.site_xpos.copy()
        self.site_mat: FloatArray = data.site_xmat.reshape(-1, 3, 3).copy()

    @cached_property
    def extent(self) -> float:
        """How large the moving part of the model is, in metres; differences of places are measured against it."""
        moving = self.model.body_weldid > 0
        if not moving.any():
            return 1.0
        places = np.concatenate([self.com[moving], self.body_pos[moving]])
        reach = float(np.linalg.norm(places.max(axis=0) - places.min(axis=0)))
        geoms = moving[self.model.geom_bodyid]
        return max(reach, float(self.model.geom_rbound[geoms].max(initial=0.0)), 1e-3)

    @cached_property
    def children(self) -> list[list[int]]:
        """The children of every body that can move against the world (or have a part that can)."""
        parents, welds = self.model.body_parentid, self.model.body_weldid
        moves = welds > 0
        for body in range(self.model.nbody - 1, 0, -1):  # a parent has the smaller number
            moves[parents[body]] |= moves[body]
        return [[c for c in range(1, self.model.nbody) if parents[c] == b and moves[c]] for b in range(len(moves))]

    def joints_of(self, body: int) -> range:
        """The joints of a body."""
        first = int(self.model.body_jntadr[body])
        return range(first, first + int(self.model.body_jntnum[body]))

    @cached_property
    def collides(self) -> AnyArray:
        """For every two geoms whether a contact between them is possible."""
        m = self.model
        if m.opt.disableflags & (
            self.mujoco.mjtDisableBit.mjDSBL_CONTACT | self.mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        ):
            return np.zeros((m.ngeom, m.ngeom), dtype=bool)
        bits = m.geom_contype[:, None] & m.geom_conaffinity[None, :]
        found = (bits | bits.T) != 0
        weld = m.body_weldid[m.geom_bodyid]
        found &= weld[:, None] != weld[None, :]
        if not m.opt.disableflags & self.mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
            above = m.body_weldid[m.body_parentid[weld]]
            family = (above[:, None] == weld[None, :]) & (weld[None, :] != 0)
            found &= ~(family | family.T)
        for signature in np.atleast_1d(m.exclude_signature).tolist():
            one, other = signature >> 16, signature & 0xFFFF
            a, b = m.geom_bodyid == one, m.geom_bodyid == other
            found &= ~((a[:, None] & b[None, :]) | (b[:, None] & a[None, :]))
        for one, other in zip(m.pair_geom1, m.pair_geom2, strict=True):
            found[one, other] = found[other, one] = True
        return found

    def name(self, kind: str, number: int) -> str:
        """The name of a part, or its number and what it belongs to where it has none."""
        code = getattr(self.mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        found = self.mujoco.mj_id2name(self.model, code, int(number))
        if found:
            return str(found)
        if kind == "geom":
            body = int(self.model.geom_bodyid[number])
            return f"geom {number - int(self.model.body_geomadr[body])} of {self.name('body', body)}"
        if kind == "actuator" and int(self.model.actuator_trntype[number]) in (0, 1):
            return f"actuator of {self.name('joint', int(self.model.actuator_trnid[number, 0]))}"
        if kind == "joint":
            return f"joint {number} of {self.name('body', int(self.model.jnt_bodyid[number]))}"
        return f"{kind} {number}"
