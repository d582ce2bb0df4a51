"""The turns of a robot task about the axis of the robot's base: the symmetry that the arm itself has.

The first joint of the arm turns about the vertical through its base, so a turn of hand and objects about that axis is a
turn of one joint, and exact for the arm. What does not turn along is the table, which matters at its edge, and the pegs
of nut assembly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.observations import ACTION_LAYOUT, state_layout
from burnside.envs.manipulation.simulation import SimulationState
from burnside.errors import InvalidParameter
from burnside.groups.rigid import matrix_to_quaternion, quaternion_to_matrix, rigid, so3_exp
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["AnyAction", "turns_of"]

_BASE = np.array([-0.56, 0.0, 0.0])
_TURN = 0.1  # radians: objects stay on the table


def turns_of(env: Any) -> EnvSymmetry:
    """The turns of a robot task about its base, as a symmetry; an element is an angle.

    ``elements`` are a few of infinitely many, the identity first.
    """
    bare = env.unwrapped
    sim = getattr(bare, "sim", None)
    if sim is None or not hasattr(bare, "resume"):
        raise InvalidParameter(f"{env} is not a robot task: these turns are for burnside/StackThree-v0 and NutAssembly")
    layout = state_layout(bare.task, objects=not bare.cloud)
    if bare.cloud or bare.wrist:
        raise InvalidParameter("clouds and pictures are seen from fixed cameras: the turns are those of the state")

    def moved(g: float) -> FloatArray:
        turn = so3_exp(np.array([0.0, 0.0, float(g)]))
        return np.asarray(rigid(turn, _BASE - turn @ _BASE))

    def act_on_state(g: float, state: SimulationState) -> SimulationState:
        motion = moved(g)
        turn = motion[:3, :3]
        qpos, qvel, warm, posture = (
            np.array(part) for part in (state.qpos, state.qvel, state.warmstart, state.posture)
        )
        qpos[0] += g
        posture[0] += g
        for place in bare.task.objects:
            joint = sim.model.joint(place.joint)
            at, speed = int(joint.qposadr[0]), int(joint.dofadr[0])
            qpos[at : at + 3] = turn @ qpos[at : at + 3] + motion[:3, 3]
            orientation = quaternion_to_matrix(np.roll(qpos[at + 3 : at + 7], -1))  # MuJoCo's has the scalar first
            qpos[at + 3 : at + 7] = np.roll(matrix_to_quaternion(turn @ orientation), 1)
            for rates in (qvel, warm):  # how fast a body turns is told in its own axes, which turn along
                rates[speed : speed + 3] = turn @ rates[speed : speed + 3]
        return replace(state, qpos=qpos, qvel=qvel, warmstart=warm, posture=posture)

    return EnvSymmetry(
        [_TURN, -_TURN],
        act_on_observation=lambda g, x: {"state": np.asarray(layout.act(moved(g), x["state"]))},
        act_on_action=lambda g, a: np.asarray(ACTION_LAYOUT.act(moved(g), a)),
        act_on_state=act_on_state,
        get_state=lambda env: env.unwrapped.sim.save(),
        set_state=lambda env, state: env.unwrapped.resume(state),
        elements=[0.0, _TURN, -_TURN],
        inverse=lambda g: -g,
        name="turns about the base",
    )


class AnyAction(gym.ActionWrapper[Any, Any, Any]):
    """A robot task that takes every vector of its action space: without a rotation in it, the hand keeps its own.

    The tasks refuse such actions, which is right for learners; a check tries all of the space.
    """

    def action(self, action: Any) -> Any:
        """The action, with the hand's rotation where the two vectors of its own are zero or parallel."""
        found = np.array(action, dtype=np.float32)
        if np.linalg.norm(np.cross(found[3:6], found[6:9])) < 1e-3 * (1 + np.abs(found[3:9]).max()) ** 2:
            turn: Any = self.unwrapped
            found[3:9] = turn.sim.eef_rotation()[:, :2].T.ravel()
        return found
