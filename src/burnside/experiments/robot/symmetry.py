"""How far is the simulator from the symmetry? Move a whole scene, play the same commands moved likewise, compare.

``python -m burnside.experiments.robot.symmetry`` prints the table of the documentation.

The scene is moved as the frames assume: the hand (by solving for joint angles), every object, and every command of an
expert's episode. What is not moved is what breaks the symmetry: gravity, the table, the base with its joint limits, the
pegs. If the simulator had the symmetry, the moved episode would be the episode, moved.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.generate import attempt
from burnside.envs.manipulation.observations import ACTION_LAYOUT
from burnside.envs.manipulation.simulation import Simulation, SimulationState
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import InvalidParameter
from burnside.groups.rigid import invert, matrix_to_quaternion, quaternion_to_matrix, rigid, so3_exp, so3_log

__all__ = ["MOTIONS", "Motion", "Residual", "measure", "move_scene"]

_BASE = np.array([-0.56, 0.0, 0.0])
#: Steps after which residuals are read: one chunk, five chunks, the whole episode.
READ = (8, 40, -1)


@dataclass(frozen=True)
class Motion:
    """A rigid motion of the scene.

    Attributes:
        name: for display.
        matrix: 4×4.
    """

    name: str
    matrix: FloatArray


def _about(axis: Sequence[float], degrees: float, centre: FloatArray) -> FloatArray:
    """The rotation about an axis through a point."""
    turn = so3_exp(np.radians(degrees) * np.asarray(axis, float))
    return np.asarray(rigid(turn, centre - turn @ centre))


def _shift(x: float, y: float, z: float = 0.0) -> FloatArray:
    return np.asarray(rigid(np.eye(3), np.array([x, y, z])))


_MIDDLE = np.array([0.0, 0.0, 0.8])
MOTIONS: tuple[Motion, ...] = (
    Motion("none", _shift(0.0, 0.0)),
    Motion("rotation about the base's axis, 10°", _about((0, 0, 1), 10, _BASE)),
    Motion("rotation about the base's axis, 30°", _about((0, 0, 1), 30, _BASE)),
    Motion("rotation about the base's axis, −30°", _about((0, 0, 1), -30, _BASE)),
    Motion("rotation about the table's middle, 30°", _about((0, 0, 1), 30, _MIDDLE)),
    Motion("translation across, 5 cm", _shift(0.0, 0.05)),
    Motion("translation across, 10 cm", _shift(0.0, 0.1)),
    Motion("translation towards the robot, 5 cm", _shift(-0.05, 0.0)),
    Motion("translation away, 5 cm", _shift(0.05, 0.0)),
    Motion("translation away, 15 cm (reach)", _shift(0.15, 0.0)),
    Motion("translation up, 2 cm (no table)", _shift(0.0, 0.0, 0.02)),
    Motion("tilt about the x axis, 5° (gravity)", _about((1, 0, 0), 5, _MIDDLE)),
)


@dataclass(frozen=True)
class Residual:
    """What a motion did to some scenes.

    Attributes:
        motion: its name.
        scenes: how many.
        unreachable: in how many of them no joint angles put the hand where it has to be.
        hand: median over scenes of the distance in metres between the hand and where it should be, after 8 steps, 40
            steps, and at the end.
        objects: median of the largest such distance of an object.
        success: in how many scenes the moved commands still solve the task; the unmoved ones do in all.
    """

    motion: str
    scenes: int
    unreachable: int
    hand: tuple[float, float, float]
    objects: tuple[float, float, float]
    success: int


def _solve_joints(sim: Simulation, goal: FloatArray, rotation: FloatArray, start: FloatArray) -> FloatArray | None:
    """Joint angles that put the grip site at a pose, by damped least squares; None where there are none."""
    mujoco: Any = sim._mujoco
    data, model = mujoco.MjData(sim.model), sim.model
    data.qpos[:] = sim.data.qpos
    data.qpos[:7] = start
    limits = model.jnt_range[:7]
    jacobian = np.zeros((6, model.nv))
    for _ in range(200):
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        turn = rotation @ data.site_xmat[sim.site].reshape(3, 3).T
        error = np.concatenate([goal - data.site_xpos[sim.site], so3_log(turn)])
        if np.linalg.norm(error) < 1e-10:
            return np.array(data.qpos[:7])
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], sim.site)
        j = jacobian[:, :7]
        step = j.T @ np.linalg.solve(j @ j.T + 1e-6 * np.eye(6), error)
        data.qpos[:7] = np.clip(data.qpos[:7] + np.clip(step, -0.2, 0.2), limits[:, 0], limits[:, 1])
    return None


def move_scene(sim: Simulation, state: SimulationState, g: FloatArray) -> SimulationState | None:
    """The state at the start of an episode with the hand and all objects moved; None if the arm cannot follow.

    Args:
        sim: where the state belongs.
        state: nothing in it moves yet.
        g: a rigid motion, 4×4.
    """
    sim.restore(state)
    position = g[:3, :3] @ sim.eef_position() + g[:3, 3]
    rotation = g[:3, :3] @ sim.eef_rotation()
    turned = state.qpos[:7].copy()
    turned[0] += np.arctan2(g[1, 0], g[0, 0])  # a rotation about the base's axis is one of the first joint
    joints = _solve_joints(sim, position, rotation, np.clip(turned, *sim.model.jnt_range[:7].T))
    if joints is None:
        return None
    qpos = state.qpos.copy()
    qpos[:7] = joints
    for place in sim.task.objects:
        at = int(sim.model.joint(place.joint).qposadr[0])
        qpos[at : at + 3] = g[:3, :3] @ qpos[at : at + 3] + g[:3, 3]
        quaternion = np.roll(qpos[at + 3 : at + 7], -1)  # MuJoCo's has the scalar first
        qpos[at + 3 : at + 7] = np.roll(matrix_to_quaternion(g[:3, :3] @ quaternion_to_matrix(quaternion)), 1)
    return replace(state, qpos=qpos, posture=joints, warmstart=np.zeros_like(state.warmstart))


def _play(sim: Simulation, state: SimulationState, actions: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Positions of the hand (T, 3) and of the objects (T, n, 3) after every action, and whether it succeeds."""
    sim.restore(state)
    hand, objects, success = [], [], False
    for action in actions:
        sim.step(action)
        hand.append(sim.eef_position())
        objects.append(sim.object_positions())
        success = success or sim.success()
    return np.array(hand), np.array(objects), success


def measure(task: str = "stack-three", scenes: int = 20, motions: Sequence[Motion] = MOTIONS) -> list[Residual]:
    """Move scenes that the expert solves, by every motion, and play its commands moved likewise.

    Args:
        task: "stack-three" or "nut-assembly".
        scenes: how many, from seed 0 on.
        motions: what to do to them.
    """
    if scenes < 1:
        raise InvalidParameter(f"scenes is {scenes}: give at least 1")
    sim = Simulation(find_task(task))
    starts: list[tuple[SimulationState, FloatArray, FloatArray, FloatArray]] = []
    seed = 0
    while len(starts) < scenes:
        demo = attempt(sim, seed)
        sim.reset(seed)
        state = replace(sim.save(), warmstart=np.zeros(sim.model.nv))
        seed += 1
        if demo is not None:
            hand, objects, success = _play(sim, state, demo.actions)
            if success:
                starts.append((state, demo.actions, hand, objects))
    out = []
    for motion in motions:
        g, back = motion.matrix, np.asarray(invert(motion.matrix))
        found, solved = [], 0
        for state, actions, hand, objects in starts:
            moved = move_scene(sim, state, g)
            if moved is None:
                continue
            own_hand, own_objects, success = _play(sim, moved, np.asarray(ACTION_LAYOUT.act(g, actions)))
            away = np.linalg.norm(own_hand @ back[:3, :3].T + back[:3, 3] - hand, axis=-1)
            apart = np.linalg.norm(own_objects @ back[:3, :3].T + back[:3, 3] - objects, axis=-1).max(axis=-1)
            at = [min(k - 1, len(away) - 1) if k > 0 else len(away) - 1 for k in READ]
            found.append((away[at], apart[at]))
            solved += success
        nothing = (float("nan"),) * 3
        middle = np.median(np.array(found), axis=0) if found else np.array([nothing, nothing])
        h, o = (tuple(float(v) for v in row) for row in middle)
        out.append(Residual(motion.name, scenes, scenes - len(found), h, o, solved))  # type: ignore[arg-type]
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, in millimetres."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--task", default="stack-three", choices=("stack-three", "nut-assembly"))
    parser.add_argument("--scenes", type=int, default=20)
    chosen = parser.parse_args(arguments)
    print("| motion | hand, mm, after 8 / 40 / all steps | objects, mm | solved | out of reach |")
    print("| --- | --- | --- | --- | --- |")
    for row in measure(chosen.task, chosen.scenes):
        hand, objects = (" / ".join(f"{1000 * v:.2g}" for v in part) for part in (row.hand, row.objects))
        print(f"| {row.motion} | {hand} | {objects} | {row.success} of {row.scenes} | {row.unreachable} |")


if __name__ == "__main__":
    main()
