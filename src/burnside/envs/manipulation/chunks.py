"""The manipulation tasks in chunks: one frame, fixed at the latest observation, for a history and a whole chunk.

The cell, with the robot in it, may stand elsewhere in every episode (``cell``): then what is seen is moved first and
what is done is moved back last. The state of a scene is that of its simulator, as plain arrays: a checkpoint holds it,
so a resumed run continues in the middle of its episodes, to the same bits, whatever the number of processes that play.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.envs.batched import ChunkStep, State
from burnside.envs.manipulation.cell import STILL, cell_motions, check_spread
from burnside.envs.manipulation.demos import Demonstration
from burnside.envs.manipulation.observations import (
    ACTION_LAYOUT,
    CLOUD_LAYOUT,
    frame_form,
    landmark_points,
    relate,
    state_layout,
)
from burnside.envs.manipulation.pool import ScenePool
from burnside.envs.manipulation.tasks import EVALUATION_SCENES, EVALUATION_SEED, FRAMES, STAGES, SUBSTEPS, find_task
from burnside.errors import InvalidParameter, UnknownName
from burnside.groups.rigid import Layout, invert

__all__ = ["REWARDS", "ManipulationChunks", "augmentation", "evaluation_scenes", "manipulation_chunks"]

#: What is paid for: success alone, as in App. C, or every stage of the task once.
REWARDS = ("sparse", "staged")

#: Seeds of the cells in which demonstrations were given, and of those to which augmentation moves them: no scene has
#: them.
DEMONSTRATED, AUGMENTED = 1 << 40, 1 << 41

_ENDS = ("reward", "terminated", "truncated", "taken")


def evaluation_scenes(count: int = EVALUATION_SCENES, first: int = EVALUATION_SEED) -> tuple[IntArray, IntArray]:
    """Seeds and episodes of the held-out scenes; from ``FRESH_SEED`` on are those on which nothing was chosen.

    >>> [part.tolist() for part in evaluation_scenes(2)]
    [[100000, 100001], [0, 0]]
    """
    return first + np.arange(count), np.zeros(count, dtype=np.int64)


class ManipulationChunks:
    """A manipulation task for chunk policies; a :class:`~burnside.envs.batched.ChunkEnv`.

    A scene whose episode is over stays as it is, and costs nothing, until it is begun anew.

    Args:
        task: "stack-two", "stack-three" or "nut-assembly".
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
        spread: how far cells are moved, in metres and degrees (:func:`~burnside.envs.manipulation.cell.cell_motions`).
        features: what the state holds, ``poses`` or ``relations`` (see ``observations``).
        substeps: physics steps in a control step: 25 of 2 ms or 10 of 5 ms.
        pays: ``sparse``: ``reward`` for success; ``staged``: equal parts of it for every stage that is reached for the
            first time in an episode, looked at between chunks.
        clock: whether observations hold the ``time``, the share of the step limit that has passed.
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
        spread: tuple[float, float] = STILL,
        features: str = "poses",
        substeps: int = SUBSTEPS[0],
        pays: str = "sparse",
        clock: bool = False,
    ) -> None:
        if frame not in FRAMES:
            raise UnknownName("frame", frame, FRAMES)
        if pays not in REWARDS:
            raise UnknownName("reward", pays, REWARDS)
        self.spread, self.features, self.substeps = check_spread(spread), features, substeps
        self.pays, self.clock = pays, clock
        if self.spread != STILL and features == "poses" and frame in ("base", "azimuth"):
            raise InvalidParameter(
                f"the frame {frame} of a cell that is moved needs to see where the base is: give features='relations'"
            )
        self.task, self.frame, self.n_obs, self.reward, self.source = (
            find_task(task, level),
            frame,
            n_obs,
            reward,
            source,
        )
        self.cloud, self.points, self.scene = observation == "cloud", points, scene
        self.form = frame_form(self.task, frame, self.cloud, features)
        self.layout: Layout = state_layout(self.task, not self.cloud, features)
        self.obs_dim, self.act_dim = self.layout.width, ACTION_LAYOUT.width
        self.symmetric = self.task.cubes
        self.pool = ScenePool(
            task, level, history=n_obs, workers=workers, observation=observation, points=points,
            symmetric=self.symmetric, limit=limit, reward=reward, scene=scene,
            substeps=substeps, staged=pays == "staged",
        )  # fmt: skip

    @property
    def name(self) -> str:
        """All parameters that results depend on."""
        own = {"task": self.task.name, "level": self.task.level, "frame": self.frame, "n_obs": self.n_obs}
        seen = {"points": self.points if self.cloud else 0, "reward": self.reward, "limit": self.episode_steps}
        later = {
            "spread": (list(self.spread), list(STILL)),
            "features": (self.features, "poses"),
            "substeps": (self.substeps, SUBSTEPS[0]),
            "pays": (self.pays, "sparse"),
            "clock": (self.clock, False),
        }
        more = {key: value for key, (value, usual) in later.items() if value != usual}
        return json.dumps({"manipulation": {**own, **seen, "source": self.source, **more}})

    @property
    def episode_steps(self) -> int:
        """The step limit."""
        return self.pool.limit

    def moved(self, histories: Mapping[str, AnyArray], cells: FloatArray | None) -> dict[str, AnyArray]:
        """What the policy's numbers are, in the world in which the cells were moved; None: they were not."""
        found = dict(histories)
        if self.features == "relations":
            found["state"] = relate(self.task, found["state"], objects=not self.cloud)
        if cells is None:
            return found
        found["state"] = self.layout.act(cells[:, None], np.asarray(found["state"], dtype=np.float64))
        if self.cloud:
            found["cloud"] = CLOUD_LAYOUT.act(cells[:, None, None], np.asarray(found["cloud"], dtype=np.float64))
        return found

    def _seen(
        self, histories: Mapping[str, AnyArray], cells: FloatArray | None = None
    ) -> tuple[dict[str, AnyArray], AnyArray]:
        """Observations in the frame of the latest of each history, and the motions into it from the moved world."""
        return self._framed(self.moved(histories, cells))

    def _framed(self, world: Mapping[str, AnyArray]) -> tuple[dict[str, AnyArray], AnyArray]:
        """What is seen in a world in the frame of the latest of each history, and the motions into it."""
        seen, g = self.form.history(world if self.cloud else world["state"])
        found = seen if self.cloud else {"state": seen}
        return {key: np.asarray(value, dtype=np.float32) for key, value in found.items()}, g

    def cells(self, seeds: IntArray | int, episodes: IntArray) -> FloatArray | None:
        """Where the cells of episodes stand; None if they are not moved."""
        return None if self.spread == STILL else cell_motions(self.spread, seeds, episodes)

    def _histories(self, state: State) -> dict[str, AnyArray]:
        return {key.removeprefix("seen/"): state[key] for key in state if key.startswith("seen/")}

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The first states, with histories of themselves."""
        rows, cells = self.pool.begin(seeds, episodes), self.cells(seeds, episodes)
        placed = {} if cells is None else {"cell": cells}
        return {**rows, **placed, "over": np.zeros(len(rows["steps"]), dtype=np.bool_)}

    def observe_batch(self, state: State) -> dict[str, AnyArray]:
        """Histories in the frame of their latest entries."""
        seen = self._seen(self._histories(state), state.get("cell"))[0]
        if self.clock:
            seen["time"] = (np.asarray(state["steps"], dtype=np.float32) / np.float32(self.episode_steps))[:, None]
        return seen

    def step_chunk(self, state: State, actions: AnyArray) -> ChunkStep:
        """Execute a chunk; its frame stays where the hand was when it was chosen."""
        cells = state.get("cell")
        _, g = self._seen(self._histories(state), cells)
        world = np.asarray(self.form.undo(np.asarray(actions, dtype=np.float64), g))
        if cells is not None:
            world = np.asarray(ACTION_LAYOUT.act(np.asarray(invert(cells))[:, None], world))
        after = {key: np.array(value) for key, value in state.items()}
        count = len(after["over"])
        ends: dict[str, FloatArray] = {name: np.zeros(count) for name in _ENDS}
        going = np.flatnonzero(~after["over"])
        if going.size:
            rows = self.pool.play({key: value[going] for key, value in after.items()}, world[going])
            for name in _ENDS:
                ends[name][going] = rows.pop(name)
            if self.pays == "staged":
                rows["stage"] = np.maximum(rows["stage"], after["stage"][going])
                share = (rows["stage"] - after["stage"][going]) / self.stages
                ends["reward"][going] = self.reward * share
            for key, value in rows.items():
                after[key][going] = value
        terminated, truncated = ends["terminated"] > 0, ends["truncated"] > 0
        after["over"] = np.asarray(after["over"] | terminated | truncated)
        return ChunkStep(after, ends["reward"], terminated, truncated, terminated, ends["taken"].astype(np.int64))

    @property
    def stages(self) -> int:
        """How many stages the task has."""
        return STAGES[self.task.name]

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
    *,
    seed: int = 0,
    still: bool = False,
) -> tuple[dict[str, AnyArray], AnyArray]:
    """Observations and action chunks of all steps of demonstrations, each in the frame of its latest observation.

    Where cells are moved, every demonstration was given in one that was moved by one motion, which depends on ``seed``
    and the demonstration's own.

    Before the start the first action and observation, after the end the last ones are repeated, as in diffusion
    policies.

    Args:
        env: whose frame and observations.
        demos: the demonstrations.
        horizon: actions of a chunk; it begins with the action taken at the first observation of the history.
        clouds: (steps, points, 6) of each demonstration, with clouds.
        seed: of the places of the cells.
        still: leave the cells where they were, and the observations unrelated to any frame: what :func:`augmentation`
            moves.
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
    actions = np.concatenate(parts["actions"]).astype(np.float64)
    if still:
        world = env.moved(histories, None)
        return {key: np.asarray(value, np.float32) for key, value in world.items()}, actions.astype(np.float32)
    numbers = np.array([demo.seed if demo.seed >= 0 else k for k, demo in enumerate(demos)])
    cells = env.cells(DEMONSTRATED + seed, numbers)
    if cells is not None:
        cells = np.repeat(cells, [len(demo) for demo in demos], axis=0)
        actions = np.asarray(ACTION_LAYOUT.act(cells[:, None], actions))
    seen, g = env._seen(histories, cells)
    return seen, np.asarray(env.form.into(actions, g), dtype=np.float32)


def augmentation(
    env: ManipulationChunks, seed: int
) -> Callable[[int, dict[str, AnyArray], AnyArray], tuple[dict[str, AnyArray], AnyArray]]:
    """Moves chunks of cells that stand still, each by a motion of its own from the spread of ``env``.

    Args:
        env: in a frame that the motions change: the world's, or ``relative``, of which their headings are left.
        seed: of the motions.

    Returns:
        A function of the number of chunks seen before, observations and actions, which returns them moved.
    """
    if env.frame not in ("world", "relative") or env.spread == STILL:
        raise InvalidParameter("only world and relative can tell moved cells apart, and only if they are moved")

    def move(before: int, observations: dict[str, AnyArray], actions: AnyArray) -> tuple[dict[str, AnyArray], AnyArray]:
        cells = cell_motions(env.spread, AUGMENTED + seed, before + np.arange(len(actions))).astype(np.float32)
        moved = {"state": env.layout.act(cells[:, None], observations["state"])}
        if "cloud" in observations:
            moved["cloud"] = CLOUD_LAYOUT.act(cells[:, None, None], observations["cloud"])
        turned = np.asarray(ACTION_LAYOUT.act(cells[:, None], actions))
        if env.frame == "world":
            return moved, turned
        seen, g = env._framed({key: np.asarray(value, dtype=np.float64) for key, value in moved.items()})
        return seen, np.asarray(env.form.into(turned, g), dtype=np.float32)

    return move
