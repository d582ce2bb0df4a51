"""One simulated scene: reset from a seed, step with a 10-d action, save and restore; no pictures.

A :class:`Simulation` keeps MuJoCo's derived quantities up to date with the state after every step (``mj_step1`` has
been done), so observations and contacts are a function of the state alone, and a restored state continues exactly as
the saved one would have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.control import Arm, torques
from burnside.envs.manipulation.opengl import load_mujoco
from burnside.envs.manipulation.scenes import Scene, build_scene
from burnside.envs.manipulation.tasks import STAGES, Task
from burnside.errors import InvalidAction, InvalidParameter
from burnside.groups.rigid import matrix_to_rot6d, rot6d_to_matrix

__all__ = ["Simulation", "SimulationState", "sample_placements"]

_GRIPPER_SPEED = 0.2  # robosuite moves the fingers' targets by this share of their range per control step


@dataclass(frozen=True)
class SimulationState:
    """All that decides how a scene continues.

    Attributes:
        qpos: positions of all joints.
        qvel: velocities of all joints.
        warmstart: MuJoCo's last accelerations, from which its solver starts.
        fingers: targets of the two fingers, in [−1, 1].
        posture: the arm's joint angles at the start of the episode.
        steps: control steps since the start of the episode.
    """

    qpos: FloatArray
    qvel: FloatArray
    warmstart: FloatArray
    fingers: FloatArray
    posture: FloatArray
    steps: int


def sample_placements(task: Task, rng: np.random.Generator) -> list[tuple[FloatArray, FloatArray]]:
    """Position and quaternion (w, x, y, z) of every object: uniform, and apart from those placed before it."""
    placed: list[tuple[FloatArray, FloatArray]] = []
    for place in task.objects:
        for _ in range(5000):
            where = np.array([rng.uniform(*place.x), rng.uniform(*place.y)])
            apart = all(
                np.hypot(*(where - other[:2])) > place.radius + task.objects[k].radius
                for k, (other, _) in enumerate(placed)
            )
            if apart:
                break
        else:  # cannot happen with the ranges of our tasks
            raise InvalidParameter(f"the objects of {task.name} do not fit beside each other")
        yaw = rng.uniform(0.0, 2.0 * np.pi)
        height = task.table + place.lift + place.below
        placed.append(
            (np.array([*where, height]), np.array([np.cos(yaw / 2.0), 0.0, 0.0, np.sin(yaw / 2.0)])),
        )
    return placed


def _hand(model: Any) -> str:
    """What the names of the gripper begin with; robosuite 1.4 does not say which arm it is on."""
    names = {model.site(k).name for k in range(model.nsite)}
    return "gripper0_right" if "gripper0_right_grip_site" in names else "gripper0"


class Simulation:
    """One scene of a task.

    Args:
        task: what to build.
        scene: a model built before (by another process, say); default: build it.
    """

    def __init__(self, task: Task, scene: Scene | None = None) -> None:
        mujoco = load_mujoco()
        self.task = task
        self.scene = scene if scene is not None else build_scene(task)
        self._mujoco = mujoco
        self.model = model = self.scene.model
        self.data = data = mujoco.MjData(model)
        hand = _hand(model)
        self.site = model.site(f"{hand}_grip_site").id
        self._jacp, self._jacr = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        self._bodies = np.array([model.body(place.body).id for place in task.objects])
        self._addresses = [int(model.joint(place.joint).qposadr[0]) for place in task.objects]
        self._geoms = [frozenset(np.flatnonzero(self._solid(body)).tolist()) for body in self._bodies]
        self._pads = [model.geom(f"{hand}_finger{k}_pad_collision").id for k in (1, 2)]
        self._range = np.array(model.actuator_ctrlrange)
        self._middle, self._half = self._range[7:].mean(1), np.diff(self._range[7:], axis=1)[:, 0] / 2.0
        self._arm = Arm(
            position=data.site_xpos[self.site],
            rotation=data.site_xmat[self.site],
            jacp=self._jacp,
            jacr=self._jacr,
            packed_mass=data.qM,
            mass_address=np.array(model.dof_Madr),
            parent=np.array(model.dof_parentid),
            qpos=data.qpos,
            qvel=data.qvel,
            bias=data.qfrc_bias,
            limits=self._range,
            control=data.ctrl,
        )
        self.fingers = np.zeros(2)
        self.posture = np.zeros(7)
        self.steps = 0
        self.started = False

    def _solid(self, body: int) -> Any:
        return (self.model.geom_bodyid == body) & (self.model.geom_group == 0)

    # ------------------------------------------------------------------ state

    def reset(self, seed: int, episode: int = 0) -> None:
        """Start the scene of (seed, episode): it depends on these two numbers only."""
        rng = np.random.Generator(np.random.Philox(key=[seed, episode]))
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:7] = self.scene.joints + self.scene.noise * rng.standard_normal(7)
        self.data.qpos[7:9] = self.scene.fingers
        for address, (position, quaternion) in zip(self._addresses, sample_placements(self.task, rng), strict=True):
            self.data.qpos[address : address + 3] = position
            self.data.qpos[address + 3 : address + 7] = quaternion
        self.posture = self.data.qpos[:7].copy()
        self.fingers = np.zeros(2)
        self.steps = 0
        self.started = True
        self._mujoco.mj_forward(self.model, self.data)

    def save(self) -> SimulationState:
        """A copy of the state."""
        d = self.data
        return SimulationState(
            d.qpos.copy(), d.qvel.copy(), d.qacc_warmstart.copy(), self.fingers.copy(), self.posture.copy(), self.steps
        )

    def restore(self, state: SimulationState) -> None:
        """Go back to a saved state."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = state.qpos, state.qvel
        self.fingers, self.posture, self.steps = state.fingers.copy(), state.posture.copy(), state.steps
        self.started = True
        self.data.qacc_warmstart[:] = state.warmstart
        self._mujoco.mj_step1(self.model, self.data)

    # ------------------------------------------------------------------ dynamics

    def step(self, action: FloatArray) -> None:
        """One control step of 50 ms towards an absolute pose of the grip site.

        Args:
            action: position (3), rotation in 6-d form (6), gripper (positive closes, negative opens, zero holds).
        """
        if not self.started:
            raise InvalidAction("step was called before reset: call reset() first")
        a = np.asarray(action, float)
        if a.shape != (10,) or not np.isfinite(a).all():
            raise InvalidAction(
                f"an action is 10 finite numbers (xyz, 6-d rotation, gripper), got {np.shape(action)} {action!r:.80}"
            )
        with np.errstate(invalid="ignore", divide="ignore"):
            rotation = rot6d_to_matrix(a[3:9])
        if not np.isfinite(rotation).all():
            raise InvalidAction("the two 3-vectors of an action's rotation are zero or parallel: give a rotation")
        self.move(a[:3], rotation, float(a[9]))

    def move(self, goal: FloatArray, rotation: FloatArray, gripper: float) -> None:
        """As :meth:`step`, with the rotation as a matrix and nothing checked."""
        model, data, site = self.model, self.data, self.site
        jacobian, step1, step2 = self._mujoco.mj_jacSite, self._mujoco.mj_step1, self._mujoco.mj_step2
        sign = np.sign(gripper)
        self.fingers = np.clip(self.fingers + np.array([-1.0, 1.0]) * _GRIPPER_SPEED * sign, -1.0, 1.0)
        data.ctrl[7:] = np.clip(self._middle + self._half * self.fingers, self._range[7:, 0], self._range[7:, 1])
        goal, rotation = np.ascontiguousarray(goal, float), np.ascontiguousarray(rotation, float)
        posture, arm, jacp, jacr = self.posture, self._arm, self._jacp, self._jacr
        for _ in range(self.scene.substeps):
            jacobian(model, data, jacp, jacr, site)
            torques(goal, rotation, posture, arm)
            step2(model, data)
            step1(model, data)
        self.steps += 1

    # ------------------------------------------------------------------ what is seen

    def eef_position(self) -> FloatArray:
        """Where the grip site is."""
        return self.data.site_xpos[self.site].copy()

    def eef_rotation(self) -> FloatArray:
        """Rotation matrix of the grip site: the fingers close along its first axis, it points along its third."""
        return self.data.site_xmat[self.site].reshape(3, 3).copy()

    def finger_positions(self) -> FloatArray:
        """The two finger joints."""
        return self.data.qpos[7:9].copy()

    def object_positions(self) -> FloatArray:
        """Positions of the objects, (objects, 3)."""
        return self.data.xpos[self._bodies].copy()

    def object_rotations(self) -> FloatArray:
        """Rotation matrices of the objects, (objects, 3, 3)."""
        return self.data.xmat[self._bodies].reshape(-1, 3, 3).copy()

    def hold(self, gripper: float = 0.0) -> FloatArray:
        """The action that asks for the pose the gripper has."""
        return np.concatenate([self.eef_position(), matrix_to_rot6d(self.eef_rotation()), [gripper]])

    def touching(self, first: int, second: int) -> bool:
        """Whether two objects are in contact."""
        a, b = self._geoms[first], self._geoms[second]
        return any((g in a and h in b) or (g in b and h in a) for g, h in self._contacts())

    def grasped(self, index: int) -> bool:
        """Whether both finger pads touch an object."""
        mine, seen = self._geoms[index], set()
        for g, h in self._contacts():
            if g in mine:
                seen.add(h)
            elif h in mine:
                seen.add(g)
        return all(pad in seen for pad in self._pads)

    def _contacts(self) -> list[tuple[int, int]]:
        return [tuple(pair) for pair in self.data.contact.geom.tolist()]

    def on_pegs(self) -> list[bool]:
        """For nut assembly: which nuts are around their pegs with the gripper away (robosuite's rule)."""
        done = []
        for k, body in enumerate(self._bodies):
            position, peg = self.data.xpos[body], self.model.body(f"peg{k + 1}").pos
            there = abs(position[0] - peg[0]) < 0.03 and abs(position[1] - peg[1]) < 0.03
            away = 1.0 - np.tanh(10.0 * np.linalg.norm(self.data.site_xpos[self.site] - position)) < 0.6
            done.append(bool(there and position[2] < self.task.table + 0.05 and away))
        return done

    def success(self) -> bool:
        """Whether the task is done in the present state."""
        if self.task.name == "nut-assembly":
            return all(self.on_pegs())
        if len(self._bodies) == 2:
            return self._placed(0, 1, 0.04)
        return self._placed(0, 1, 0.04) and self._placed(2, 0, 0.08)

    def _placed(self, top: int, base: int, height: float) -> bool:
        """Whether a cube is so high above the table, touches the one below it, and is let go."""
        if self.data.xpos[self._bodies[top], 2] - self.task.table <= height:
            return False
        return self.touching(top, base) and not self.grasped(top)

    def stage(self) -> int:
        """How far the task is, from 0 to ``STAGES``: for a reward that says more than success alone.

        Of a cube that is to be put on another one: in the hand, in the hand above the other one, there and let go. Of a
        nut: in the hand, around its peg.
        """
        if self.success():
            return STAGES[self.task.name]
        if self.task.name == "nut-assembly":
            done = self.on_pegs()
            return 2 * sum(done) + any(self.grasped(k) for k, there in enumerate(done) if not there)
        first = self._carried(0, 1)
        if len(self._bodies) == 2 or first < 3:
            return first
        return 3 + min(2, self._carried(2, 0))

    def _carried(self, top: int, base: int) -> int:
        places = self.data.xpos[self._bodies]
        gap = places[top] - places[base]
        if self._placed(top, base, 0.04 if top == 0 else 0.08):
            return 3
        if not self.grasped(top):
            return 0
        return 2 if np.hypot(gap[0], gap[1]) < 0.03 and gap[2] > 0.04 else 1
