"""The manipulation tasks in chunks: one frame, fixed at the latest observation, for a history and a whole chunk.

The state of a scene is that of its simulator, as plain arrays: a checkpoint holds it, so a resumed run continues in the
middle of its episodes, to the same bits, whatever the number of processes that play.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.envs.batched import ChunkStep, State
from burnside.envs.manipulation.demos import Demonstration
from burnside.envs.manipulation.observations import ACTION_LAYOUT, frame_form, landmark_points, state_layout
from burnside.envs.manipulation.pool import ScenePool
from burnside.envs.manipulation.tasks import EVALUATION_SCENES, EVALUATION_SEED, FRAMES, find_task
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["ManipulationChunks", "evaluation_scenes", "manipulation_chunks"]

_ENDS = ("reward", "terminated", "truncated", "taken")


def evaluation_scenes(count: int = EVALUATION_SCENES) -> tuple[IntArray, IntArray]:
    """Seeds and episodes of the held-out scenes.

    >>> [part.tolist() for part in evaluation_scenes(2)]
    [[100000, 100001], [0, 0]]
    """
    return EVALUATION_SEED + np.arange(count), np.zeros(count, dtype=np.int64)


class ManipulationChunks:
    """A manipulation task for chunk policies; a :class:`~burnside.envs.batched.ChunkEnv`.

    A scene whose episode is over stays as it is, and costs nothing, until it is begun anew.

    Args:
        task: "stack-three" or "nut-assembly".
        frame: one of :data:`burnside.envs.manipulation.tasks.FRAMES`.
        n_obs: observation steps in a history; at the start the first one is repeated.
        observation: "state" or "cloud".
        points: size of the cloud.
        reward: what success pays (App. C: 10).
        workers: processes that simulate; 0: this one. No result depends on it.
        level: "D0" or "D1"; default the paper's.
        limit: control steps after which an episode is truncated; default the task's.
        scene: a model built before (NVIDIA's, say); default: ours.
        source: what the model is, for the name.
    """

    def __init__(
        self,
        task: str = "stack-three",
        frame: str = "world",
        n_obs: int = 2,
        *,
        observation: Literal["state", "cloud"] = "state",
        points: int = 128,
        reward: float = 10.0,
        workers: int = 0,
        level: str | None = None,
        limit: int | None = None,
        scene: Any = None,
        source: str = "burnside",
    ) -> None:
        if frame not in FRAMES:
            raise UnknownName("frame", frame, FRAMES)
        self.task, self.frame, self.n_obs, self.reward, self.source = (
            find_task(task, level),
            frame,
            n_obs,
            reward,
            source,
        )
        self.cloud, self.points, self.scene = observation == "cloud", points, scene
        self.form = frame_form(self.task, frame, self.cloud)
        self.obs_dim, self.act_dim = state_layout(self.task, objects=not self.cloud).width, ACTION_LAYOUT.width
        self.symmetric = self.task.name == "stack-three"
        self.pool = ScenePool(
            task, level, history=n_obs, workers=workers, observation=observation, points=points,
            symmetric=self.symmetric, limit=limit, reward=reward, scene=scene,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """All parameters that results depend on."""
        own = {"task": self.task.name, "level": self.task.level, "frame": self.frame, "n_obs": self.n_obs}
        seen = {"points": self.points if self.cloud else 0, "reward": self.reward, "limit": self.episode_steps}
        return json.dumps({"manipulation": {**own, **seen, "source": self.source}})

    @property
    def episode_steps(self) -> int:
        """The step limit."""
        return self.pool.limit

    def _seen(self, histories: dict[str, AnyArray]) -> tuple[dict[str, AnyArray], AnyArray]:
        """Observations in the frame of the latest of each history, and the motions into it."""
        seen, g = self.form.history(histories if self.cloud else histories["state"])
        found = seen if self.cloud else {"state": seen}
        return {key: np.asarray(value, dtype=np.float32) for key, value in found.items()}, g

    def _histories(self, state: State) -> dict[str, AnyArray]:
        return {key.removeprefix("seen/"): state[key] for key in state if key.startswith("seen/")}

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The first states, with histories of themselves."""
        rows = self.pool.begin(seeds, episodes)
        return {**rows, "over": np.zeros(len(rows["steps"]), dtype=np.bool_)}

    def observe_batch(self, state: State) -> dict[str, AnyArray]:
        """Histories in the frame of their latest entries."""
        return self._seen(self._histories(state))[0]

    def step_chunk(self, state: State, actions: AnyArray) -> ChunkStep:
        """Execute a chunk; its frame stays where the hand was when it was chosen."""
        _, g = self._seen(self._histories(state))
        world = np.asarray(self.form.undo(np.asarray(actions, dtype=np.float64), g))
        after = {key: np.array(value) for key, value in state.items()}
        count = len(after["over"])
        ends: dict[str, FloatArray] = {name: np.zeros(count) for name in _ENDS}
        going = np.flatnonzero(~after["over"])
        if going.size:
            rows = self.pool.play({key: value[going] for key, value in after.items()}, world[going])
            for name in _ENDS:
                ends[name][going] = rows.pop(name)
            for key, value in rows.items():
                after[key][going] = value
        terminated, truncated = ends["terminated"] > 0, ends["truncated"] > 0
        after["over"] = np.asarray(after["over"] | terminated | truncated)
        return ChunkStep(after, ends["reward"], terminated, truncated, terminated, ends["taken"].astype(np.int64))

    def close(self) -> None:
        """End the processes."""
        self.pool.close()

    def __enter__(self) -> ManipulationChunks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def manipulation_chunks(
    env: ManipulationChunks,
    demos: Sequence[Demonstration],
    horizon: int,
    clouds: Sequence[AnyArray] | None = None,
) -> tuple[dict[str, AnyArray], AnyArray]:
    """Observations and action chunks of all steps of demonstrations, each in the frame of its latest observation.

    Before the start the first action and observation, after the end the last ones are repeated, as in diffusion
    policies.

    Args:
        env: whose frame and observations.
        demos: the demonstrations.
        horizon: actions of a chunk; it begins with the action taken at the first observation of the history.
        clouds: (steps, points, 6) of each demonstration, with clouds.
    """
    if not demos:
        raise InvalidParameter("there are no demonstrations: make some with 'burnside demos'")
    if env.cloud and (clouds is None or len(clouds) != len(demos)):
        raise InvalidParameter("a policy that sees clouds needs the cloud of every step of every demonstration")
    past, ahead = np.arange(env.n_obs) - (env.n_obs - 1), np.arange(horizon) - (env.n_obs - 1)
    marks = landmark_points(env.task)
    parts: dict[str, list[AnyArray]] = {"state": [], "actions": [], "cloud": []}
    for k, demo in enumerate(demos):
        at, size = np.arange(len(demo))[:, None], len(demo)
        states = demo.states(False) if env.cloud else demo.states(True, env.symmetric, marks)
        before = np.clip(at + past, 0, size - 1)
        parts["state"].append(states[before])
        parts["actions"].append(demo.actions[np.clip(at + ahead, 0, size - 1)])
        if env.cloud and clouds is not None:
            parts["cloud"].append(np.asarray(clouds[k], dtype=np.float32)[before])
    histories = {key: np.concatenate(found) for key, found in parts.items() if found and key != "actions"}
    seen, g = env._seen(histories)
    moved = env.form.into(np.concatenate(parts["actions"]).astype(np.float64), g)
    return seen, np.asarray(moved, dtype=np.float32)
