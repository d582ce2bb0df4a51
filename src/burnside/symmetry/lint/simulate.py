"""The simulator's own word: does a step from the image of a state end in the image of where the step ended?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.symmetry.lint.matching import FREE, HINGE, SLIDE
from burnside.symmetry.lint.motions import mujoco_module, quiet
from burnside.symmetry.lint.states import StateMap

__all__ = [
    "MirrorStep",
    "Start",
    "contact_differences",
    "mirror_steps",
    "position_names",
    "sample_starts",
    "velocity_names",
]

_WILD = 1e3  # speeds from which a simulation explodes: such a state proves nothing


@dataclass(frozen=True)
class Start:
    """A state of the simulator and a control."""

    qpos: FloatArray
    qvel: FloatArray
    act: FloatArray
    ctrl: FloatArray


@dataclass(frozen=True)
class MirrorStep:
    """The largest difference between a step and its image.

    Attributes:
        error: of positions and velocities, relative to ``1 + |x|``.
        where: the name of the number that differs most.
        states: how many states were compared.
        touching: in how many of them something touched.
    """

    error: float
    where: str
    states: int
    touching: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"error": self.error, "where": self.where, "states": self.states, "touching": self.touching}


def sample_starts(model: Any, count: int = 32, seed: int = 0) -> list[Start]:
    """States of short random episodes that begin in random poses, at and a little beyond the limits of joints.

    Every second pose is put on the floor, if the model can be lowered, because contacts are where models differ most.
    """
    mujoco = mujoco_module()
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    found: list[Start] = []
    with quiet():
        for k in range(count):
            if k % 4 == 0:
                mujoco.mj_resetData(model, data)
                data.qpos[:] = _random_pose(model, rng)
                data.qvel[:] = rng.normal(size=model.nv) * rng.choice([0.1, 1.0])
                if k % 8 == 0:
                    _put_on_floor(model, data)
            else:
                for _ in range(5):
                    data.ctrl[:] = _random_control(model, rng)
                    mujoco.mj_step(model, data)
            wild = not np.isfinite(data.qpos).all() or np.abs(data.qvel).max(initial=0.0) > _WILD
            if wild:
                mujoco.mj_resetData(model, data)
            found.append(Start(data.qpos.copy(), data.qvel.copy(), np.array(data.act), _random_control(model, rng)))
    return found


def mirror_steps(model: Any, mapping: StateMap, starts: list[Start]) -> MirrorStep:
    """Step from states and from their images, and compare where that leads."""
    mujoco = mujoco_module()
    one, two = mujoco.MjData(model), mujoco.MjData(model)
    worst, where, touching = 0.0, "", 0
    with quiet():
        for start in starts:
            _set(model, one, start)
            _set(model, two, _image(mapping, start))
            mujoco.mj_step(model, one)
            mujoco.mj_step(model, two)
            touching += one.ncon > 0
            for wanted, got, names in (
                (mapping.qpos(one.qpos), two.qpos, position_names),
                (mapping.qvel(one.qvel), two.qvel, velocity_names),
            ):
                off = np.abs(wanted - got) / (1 + np.abs(wanted))
                off = np.where(np.isfinite(off), off, 0.0)
                if off.size and off.max() > worst:
                    worst, where = float(off.max()), names(model)[int(off.argmax())]
    return MirrorStep(worst, where, len(starts), touching)


def contact_differences(
    model: Any, mapping: StateMap, geoms: AnyArray, starts: list[Start]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Pairs of geoms that touch in other points than their images do: the numbers of points, where they differ most.

    Shapes that are images of each other can still touch differently, because an algorithm that looks for contacts takes
    corners in some order, keeps only a number of points, or stops at a tolerance.
    """
    mujoco = mujoco_module()
    one, two = mujoco.MjData(model), mujoco.MjData(model)
    found: dict[tuple[int, int], tuple[int, int]] = {}
    with quiet():
        for start in starts:
            _set(model, one, start)
            _set(model, two, _image(mapping, start))
            mujoco.mj_forward(model, one)
            mujoco.mj_forward(model, two)
            ours, theirs = _depths(one), _depths(two)
            for pair, depths in ours.items():
                a, b = (int(geoms[g]) for g in pair)
                if a < 0 or b < 0:
                    continue
                image = theirs.get((min(a, b), max(a, b)), [])
                near = len(depths) == len(image) and np.allclose(depths, image, atol=1e-6)
                if not near and abs(len(depths) - len(image)) >= abs(np.subtract(*found.get(pair, (0, 0)))):
                    found[pair] = (len(depths), len(image))
    return found


def _depths(data: Any) -> dict[tuple[int, int], list[float]]:
    found: dict[tuple[int, int], list[float]] = {}
    for contact in data.contact:
        pair = (int(min(contact.geom)), int(max(contact.geom)))
        found.setdefault(pair, []).append(float(contact.dist))
    return {pair: sorted(depths) for pair, depths in found.items()}


def _image(mapping: StateMap, start: Start) -> Start:
    pairs = (
        (mapping.qpos, start.qpos),
        (mapping.qvel, start.qvel),
        (mapping.act, start.act),
        (mapping.ctrl, start.ctrl),
    )
    return Start(*(part(x) if x.size else x for part, x in pairs))


def _set(model: Any, data: Any, start: Start) -> None:
    """Put a state into a simulator, without anything left over from before."""
    mujoco_module().mj_resetData(model, data)
    data.qpos[:], data.qvel[:], data.ctrl[:] = start.qpos, start.qvel, start.ctrl
    if model.na:
        data.act[:] = start.act


# ---------------------------------------------------------------------- random poses and controls


def _random_pose(model: Any, rng: Any) -> FloatArray:
    qpos = np.array(model.qpos0)
    for joint in range(model.njnt):
        p, kind = int(model.jnt_qposadr[joint]), int(model.jnt_type[joint])
        if kind in (SLIDE, HINGE):
            if model.jnt_limited[joint]:
                low, high = model.jnt_range[joint]
                beyond = 0.1 * (high - low)
                qpos[p] = rng.uniform(low - beyond, high + beyond)
            else:
                qpos[p] += rng.uniform(-0.5, 0.5)
        else:
            place = p + 3 if kind == FREE else p
            turned = qpos[place : place + 4] + 0.3 * rng.normal(size=4)
            qpos[place : place + 4] = turned / np.linalg.norm(turned)
            if kind == FREE:
                qpos[p : p + 3] += 0.1 * rng.normal(size=3)
    return qpos


def _put_on_floor(model: Any, data: Any) -> None:
    """Lower (or lift) what can be moved along z until its lowest geom just touches z = 0."""
    mujoco = mujoco_module()
    for joint in range(model.njnt):
        kind, p = int(model.jnt_type[joint]), int(model.jnt_qposadr[joint])
        if model.body_parentid[model.jnt_bodyid[joint]] != 0 or kind not in (FREE, SLIDE):
            continue
        upward = 1.0 if kind == FREE else float(model.jnt_axis[joint][2])
        if abs(abs(upward) - 1) > 1e-6 or (kind == SLIDE and model.jnt_limited[joint]):
            continue
        mujoco.mj_kinematics(model, data)
        root = model.body_rootid[model.geom_bodyid] == model.jnt_bodyid[joint]
        if root.any():
            lowest = min(_lowest(model, data, int(g)) for g in np.flatnonzero(root))
            data.qpos[p + 2 if kind == FREE else p] -= upward * (lowest + 0.005)


def _lowest(model: Any, data: Any, geom: int) -> float:
    """The height of the lowest point of a geom (of a ball around it, for shapes that are not simple)."""
    size, kind, height = model.geom_size[geom], int(model.geom_type[geom]), float(data.geom_xpos[geom][2])
    up = np.abs(data.geom_xmat[geom].reshape(3, 3)[2])  # how far each axis of the geom goes up
    if kind == 2:  # sphere
        return height - float(size[0])
    if kind == 3:  # capsule
        return height - float(size[0] + up[2] * size[1])
    if kind == 6:  # box
        return height - float(up @ size)
    return height - 0.5 * float(model.geom_rbound[geom])


def _random_control(model: Any, rng: Any) -> FloatArray:
    low = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 0], -1.0)
    high = np.where(model.actuator_ctrllimited, model.actuator_ctrlrange[:, 1], 1.0)
    return rng.uniform(low, high)


# ---------------------------------------------------------------------- names


def position_names(model: Any) -> list[str]:
    """A name for every number of qpos."""
    return _names(model, ("x", "y", "z", "qw", "qx", "qy", "qz"), ("qw", "qx", "qy", "qz"), "")


def velocity_names(model: Any) -> list[str]:
    """A name for every number of qvel."""
    return _names(model, ("vx", "vy", "vz", "wx", "wy", "wz"), ("wx", "wy", "wz"), " velocity")


def _names(model: Any, free: tuple[str, ...], ball: tuple[str, ...], word: str) -> list[str]:
    mujoco = mujoco_module()
    found: list[str] = []
    for joint in range(model.njnt):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, joint) or f"joint {joint}"
        kind = int(model.jnt_type[joint])
        if kind in (SLIDE, HINGE):
            found.append(f"{name}{word}")
        else:
            found += [f"{name}.{part}" for part in (free if kind == FREE else ball)]
    return found
