"""The planar tasks as a batched environment, seen and acted in from one frame."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.envs.batched import BatchStep, Box, State
from burnside.envs.planar.core import FRAMES, PlanarSpec, PlanarState, observe, reset, step, to_world
from burnside.errors import UnknownName

__all__ = ["PlanarScenes"]


@dataclass(frozen=True)
class PlanarScenes:
    """A planar task seen and acted in from a frame; a :class:`~burnside.envs.batched.BatchedEnv`.

    >>> env = PlanarScenes(PlanarSpec("push", spread=(1.0, 3.0)), "robot")
    >>> state = env.reset_batch(np.array([0, 0]), np.array([0, 1]))
    >>> env.observe_batch(state)[:, :4].tolist()      # the robot is where it is: at the origin, looking along x
    [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]]

    Attributes:
        spec: The rules.
        frame: ``world``, ``relative`` or ``robot``; of observations and of actions.
    """

    spec: PlanarSpec
    frame: str = "world"

    def __post_init__(self) -> None:
        """Refuse a frame that does not exist."""
        if self.frame not in FRAMES:
            raise UnknownName("frame", self.frame, FRAMES)

    @property
    def name(self) -> str:
        """All parameters, for checkpoints."""
        return json.dumps({"planar": asdict(self.spec), "frame": self.frame})

    @property
    def obs_dim(self) -> int:
        """Width of an observation, the same in every frame."""
        return self.spec.obs_dim

    @property
    def action(self) -> Box:
        """Commands; what exceeds the bounds is clipped."""
        return Box(self.spec.action_dim)

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The first scenes of episodes."""
        state = reset(self.spec, seeds, episodes)
        return {"x": state.x, "t": state.t}

    def observe_batch(self, state: State) -> AnyArray:
        """What is seen from the frame."""
        return np.asarray(observe(self.spec, PlanarState(state["x"], state["t"]), self.frame), dtype=np.float32)

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """One step under actions in the frame."""
        now = PlanarState(state["x"], state["t"])
        after, reward, terminated, truncated, success = step(
            self.spec, now, to_world(self.spec, now, self.frame, action)
        )
        return BatchStep({"x": after.x, "t": after.t}, reward, terminated, truncated, success)
