"""``burnside/StackTwo-v0``, ``StackThree-v0`` and ``NutAssembly-v0``: the robot tasks as Gymnasium environments.

Observations are dictionaries: ``state`` always, ``cloud`` if asked for, ``wrist`` if asked for. Nothing is drawn that
was not asked for, and :meth:`ManipulationEnv.step_chunk` draws only what a policy will look at: the last observations
of a chunk of actions.
"""

from __future__ import annotations

from typing import Any, Literal, SupportsFloat

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.envs.manipulation.clouds import point_cloud
from burnside.envs.manipulation.observations import ACTION_LAYOUT, observe, state_layout
from burnside.envs.manipulation.rendering import renderer_for
from burnside.envs.manipulation.scenes import Scene, build_scene
from burnside.envs.manipulation.simulation import Simulation, SimulationState
from burnside.envs.manipulation.tasks import SUBSTEPS, Task, find_task
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra

try:
    import gymnasium as gym
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["ManipulationEnv"]

Observation = dict[str, AnyArray]
_WRIST = "robot0_eye_in_hand"


class ManipulationEnv(gym.Env[Any, Any]):
    """One scene of a task; the episode ends with success and is truncated after the task's step limit.

    The scene depends on (seed, number of the episode since that seed) only; seeds from 100 000 on are for evaluation.

    Args:
        task: "stack-two", "stack-three" or "nut-assembly".
        level: "D0" or "D1"; default the paper's (D1 and D0).
        observation: "state" (poses of the objects) or "cloud" (a point cloud instead of them).
        points: size of the cloud.
        wrist: whether observations hold the wrist camera's picture, 84 × 84.
        symmetric: take the cubes' own 24 rotations out of the state (see ``observations``).
        limit: control steps after which an episode is truncated; default the task's.
        reward: what success pays (App. C: 10); everything else pays 0.
        render_mode: None or "rgb_array".
        camera: the camera of ``render``.
        scene: a model built before; default: build it.
        substeps: physics steps in a control step where no scene is given: 25 of 2 ms as robosuite, or 10 of 5 ms, which
            cost less than half.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012

    def __init__(
        self,
        task: str = "stack-three",
        level: str | None = None,
        *,
        observation: Literal["state", "cloud"] = "state",
        points: int = 1024,
        wrist: bool = False,
        symmetric: bool = False,
        limit: int | None = None,
        reward: float = 1.0,
        render_mode: str | None = None,
        camera: str = "agentview",
        scene: Scene | None = None,
        substeps: int = SUBSTEPS[0],
    ) -> None:
        if observation not in ("state", "cloud"):
            raise InvalidParameter(f"observation must be 'state' or 'cloud', got {observation!r}")
        if render_mode not in (None, "rgb_array"):
            raise InvalidParameter(f"render_mode must be 'rgb_array' or None, got {render_mode!r}")
        if points < 1 or (limit is not None and limit < 1):
            raise InvalidParameter(f"points and limit must be at least 1, got {points} and {limit}")
        self.task: Task = find_task(task, level)
        self.sim = Simulation(self.task, scene or build_scene(self.task, substeps))
        self.cloud, self.points, self.wrist, self.symmetric = observation == "cloud", points, wrist, symmetric
        self.limit, self.reward = limit or self.task.limit, reward
        self.render_mode, self.camera = render_mode, camera
        width = state_layout(self.task, objects=not self.cloud).width
        spaces: dict[str, gym.Space[Any]] = {"state": gym.spaces.Box(-np.inf, np.inf, (width,), np.float32)}
        if self.cloud:
            spaces["cloud"] = gym.spaces.Box(-np.inf, np.inf, (points, 6), np.float32)
        if wrist:
            spaces["wrist"] = gym.spaces.Box(0, 255, (84, 84, 3), np.uint8)
        self.observation_space = gym.spaces.Dict(spaces)
        self.action_space = gym.spaces.Box(-np.inf, np.inf, (ACTION_LAYOUT.width,), np.float32)
        self._seed, self._episode, self._over = 0, -1, True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start episode 0 of a seed, or without a seed the next episode; ``options={"episode": k}`` starts that one."""
        super().reset(seed=seed)
        if seed is not None or self._episode < 0:
            self._seed, self._episode = int(self.np_random_seed or 0) % 2**64, -1
        self._episode = int(options["episode"]) if options and "episode" in options else self._episode + 1
        self.sim.reset(self._seed, self._episode)
        self._over = False
        return self.observe(), {"seed": self._seed, "episode": self._episode}

    def observe(self) -> Observation:
        """What a policy sees now; draws what was asked for."""
        seen: Observation = {"state": observe(self.sim, objects=not self.cloud, symmetric=self.symmetric)}
        if self.cloud:
            seen["cloud"] = point_cloud(renderer_for(self.sim.model), self.sim.data, self.task, self.points)
        if self.wrist:
            seen["wrist"] = renderer_for(self.sim.model, plain=False).picture(self.sim.data, _WRIST)
        return seen

    def resume(self, state: SimulationState) -> None:
        """Go on from a saved state of ``sim``, of this scene or of another one of the same task."""
        self.sim.restore(state)
        self._over = False

    def advance(self, action: FloatArray) -> tuple[float, bool, bool]:
        """One control step without looking: reward, terminated, truncated."""
        if self._over:
            raise InvalidAction("step was called before reset, or after the episode was over: call reset() first")
        self.sim.step(action)
        success = self.sim.success()
        truncated = not success and self.sim.steps >= self.limit
        self._over = success or truncated
        return (self.reward if success else 0.0), success, truncated

    def step(self, action: Any) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """One control step of 50 ms."""
        reward, terminated, truncated = self.advance(action)
        return self.observe(), reward, terminated, truncated, {"success": terminated}

    def step_chunk(
        self, actions: FloatArray, history: int = 2
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the actions (k, 10) one after the other, until the episode is over, and look only at the end.

        Args:
            actions: the chunk.
            history: how many of the last steps are observed; they are stacked along a new first axis, the latest last.
                Where an episode ends early and fewer were seen, the first of them is repeated.
        """
        chunk = np.asarray(actions, float)
        if chunk.ndim != 2 or not len(chunk):
            raise InvalidAction(f"a chunk has shape (steps, {ACTION_LAYOUT.width}), got {np.shape(actions)}")
        seen: list[Observation] = []
        total, terminated, truncated, taken = 0.0, False, False, 0
        for k, action in enumerate(chunk):
            reward, terminated, truncated = self.advance(action)
            total, taken = total + reward, taken + 1
            if terminated or truncated or k >= len(chunk) - history:
                seen.append(self.observe())
            if terminated or truncated:
                break
        while len(seen) < history:
            seen.insert(0, seen[0])
        stacked = {key: np.stack([one[key] for one in seen[-history:]]) for key in seen[0]}
        return stacked, total, terminated, truncated, {"success": terminated, "steps": taken}

    def render(self) -> Any:
        """A picture (512, 512, 3) from the chosen camera."""
        if self.render_mode is None:
            gym.logger.warn("render() was called without a render mode: give render_mode='rgb_array' to make")
            return None
        return renderer_for(self.sim.model, (512, 512), plain=False).picture(self.sim.data, self.camera)
