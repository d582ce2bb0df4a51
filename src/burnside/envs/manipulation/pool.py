"""Scenes as rows of plain arrays, played by processes that remember nothing.

A :class:`ScenePool` is asked to begin episodes or to play chunks of actions from given states, and answers with the
states after them. All that decides how a scene continues is in the arrays, so a checkpoint can hold it; which process
plays a row, and whether a process died and was started again on the way, changes no bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.envs.manipulation.env import ManipulationEnv
from burnside.envs.manipulation.scenes import Scene, build_scene
from burnside.envs.manipulation.simulation import SimulationState
from burnside.envs.manipulation.tasks import SUBSTEPS, find_task
from burnside.envs.manipulation.workers import Worker, WorkerDied
from burnside.errors import InvalidAction, InvalidParameter

__all__ = ["ScenePool"]

_PARTS = tuple(field.name for field in fields(SimulationState))
_Row = dict[str, Any]


def _row(env: ManipulationEnv, seen: Mapping[str, AnyArray], staged: bool) -> _Row:
    state = env.sim.save()
    stage = {"stage": env.sim.stage()} if staged else {}
    arrays = {f"seen/{key}": value for key, value in seen.items()}
    return {**{name: getattr(state, name) for name in _PARTS}, **arrays, **stage}


def _begin(env: ManipulationEnv, seed: int, episode: int, history: int, staged: bool) -> _Row:
    seen = env.reset(seed=seed, options={"episode": episode})[0]
    return _row(env, {key: np.repeat(value[None], history, 0) for key, value in seen.items()}, staged)


def _play(env: ManipulationEnv, state: SimulationState, actions: FloatArray, history: int, staged: bool) -> _Row:
    env.resume(state)
    seen, reward, terminated, truncated, info = env.step_chunk(actions, history)
    ends = {"reward": reward, "terminated": terminated, "truncated": truncated, "taken": info["steps"]}
    return {**_row(env, seen, staged), **ends}


def _answer(env: ManipulationEnv, request: tuple[str, Sequence[Any]], history: int, staged: bool) -> list[_Row]:
    kind, rows = request
    if kind == "begin":
        return [_begin(env, seed, episode, history, staged) for seed, episode in rows]
    return [_play(env, state, actions, history, staged) for state, actions in rows]


def _serve(
    connection: Any, scene: Scene, task: str, level: str, options: dict[str, Any], history: int, staged: bool
) -> None:
    """A worker: ("begin", [(seed, episode)…]) or ("play", [(state, actions)…]) → a row each."""
    env = ManipulationEnv(task, level, scene=scene, **options)
    while (request := connection.recv()) is not None:
        try:
            connection.send(_answer(env, request, history, staged))
        except Exception as error:  # a wrong action, say: the caller's to see, the process lives on
            connection.send(error)


class ScenePool:
    """Plays scenes of a task; rows are dictionaries of arrays with the scenes as leading axis.

    The arrays are those of :class:`SimulationState`, and ``seen/state`` (scenes, history, width), with clouds also
    ``seen/cloud`` (scenes, history, points, 6): the last observations.

    Args:
        task: "stack-two", "stack-three" or "nut-assembly".
        level: "D0" or "D1"; default the paper's.
        history: how many of the last steps are observed.
        workers: processes; 0: in this one.
        observation: "state" or "cloud".
        points: size of the cloud.
        symmetric: take the cubes' own rotations out of the state.
        limit: control steps after which an episode is truncated; default the task's.
        reward: what success pays.
        scene: a model built before; default: build it when it is needed.
        substeps: physics steps in a control step, where no scene is given.
        staged: whether rows say how far the task is (``stage``, see :meth:`Simulation.stage`).
    """

    def __init__(
        self,
        task: str = "stack-three",
        level: str | None = None,
        *,
        history: int = 2,
        workers: int = 0,
        observation: Literal["state", "cloud"] = "state",
        points: int = 1024,
        symmetric: bool = False,
        limit: int | None = None,
        reward: float = 10.0,
        scene: Scene | None = None,
        substeps: int = SUBSTEPS[0],
        staged: bool = False,
    ) -> None:
        if history < 1 or workers < 0:
            raise InvalidParameter(f"history must be at least 1 and workers at least 0, got {history} and {workers}")
        self.task, self.history = find_task(task, level), history
        self.limit = limit or self.task.limit
        options = {"observation": observation, "points": points, "symmetric": symmetric}
        self._options: dict[str, Any] = {**options, "limit": limit, "reward": reward}
        self._count, self._scene, self._substeps, self._staged = workers, scene, substeps, staged
        self._env: ManipulationEnv | None = None
        self._workers: list[Worker] = []

    @property
    def restarts(self) -> int:
        """How many processes had to be started again."""
        return sum(worker.restarts for worker in self._workers)

    @property
    def workers(self) -> list[Worker]:
        """The processes; none before the first request."""
        return self._workers

    def begin(self, seeds: IntArray, episodes: IntArray) -> dict[str, AnyArray]:
        """The first states of the scenes of (seed, episode), with a history of their first observations."""
        return _stack(self._ask("begin", [(int(s), int(e)) for s, e in zip(seeds, episodes, strict=True)]))

    def play(self, rows: Mapping[str, AnyArray], actions: FloatArray) -> dict[str, AnyArray]:
        """Play chunks (scenes, k, 10) until they or the episodes are over.

        The rows after it also have ``reward``, ``terminated``, ``truncated`` and ``taken``, the actions executed.
        """
        chunks = np.asarray(actions, float)
        if chunks.ndim != 3 or len(chunks) != len(rows["steps"]) or chunks.shape[1] < self.history:
            raise InvalidAction(
                f"chunks for {len(rows['steps'])} scenes with a history of {self.history} have shape "
                f"({len(rows['steps'])}, at least {self.history}, 10), got {chunks.shape}"
            )
        states = [
            SimulationState(**{name: rows[name][i] for name in _PARTS if name != "steps"}, steps=int(rows["steps"][i]))
            for i in range(len(chunks))
        ]
        return _stack(self._ask("play", list(zip(states, chunks, strict=True))))

    def _ask(self, kind: str, rows: list[tuple[Any, ...]]) -> list[_Row]:
        if self._scene is None:
            self._scene = build_scene(self.task, self._substeps)
        task, level = self.task.name, self.task.level
        if not self._count:
            if self._env is None:
                self._env = ManipulationEnv(task, level, scene=self._scene, **self._options)
            return _answer(self._env, (kind, rows), self.history, self._staged)
        while len(self._workers) < self._count:
            given = (self._scene, task, level, self._options, self.history, self._staged)
            self._workers.append(Worker(_serve, given))
        count = len(self._workers)
        return self._share(kind, {k: rows[k::count] for k in range(count) if rows[k::count]}, len(rows))

    def _share(self, kind: str, shares: dict[int, list[tuple[Any, ...]]], total: int) -> list[_Row]:
        """Hand shares to the workers; one that died is started again and asked again."""
        found: list[Any] = [None] * total
        waiting, problem = dict(shares), None
        for _ in range(4):
            asked = list(waiting)
            for k in asked:
                with contextlib.suppress(WorkerDied):  # receive says so too
                    self._workers[k].send((kind, waiting[k]))
            for k in asked:
                try:
                    found[k :: len(self._workers)] = self._workers[k].receive()
                    del waiting[k]
                except WorkerDied:
                    self._workers[k].restart()
                except Exception as error:  # answers of the others must still be taken from their pipes
                    problem = error
                    del waiting[k]
            if problem is not None:
                raise problem
            if not waiting:
                return found
        raise InvalidParameter(
            "the simulator dies again and again on the same scenes: see whether memory suffices, or use fewer workers"
        )

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()
        self._workers = []

    def __enter__(self) -> ScenePool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _stack(rows: list[_Row]) -> dict[str, AnyArray]:
    return {key: np.stack([np.asarray(row[key]) for row in rows]) for key in rows[0]}
