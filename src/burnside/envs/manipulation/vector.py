"""Many scenes in several processes; a process whose simulator crashed is started again and its scenes continue.

Scene i of a :class:`ManipulationVectorEnv` plays the episodes (seed + i, 0), (seed + i, 1), …, alone or among others,
however many processes there are. One action or a chunk of actions per scene may be given; scenes that are over begin
their next episode at once (``AutoresetMode.SAME_STEP``), and what they ended with is in ``info["final_obs"]``.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.envs.manipulation.env import ManipulationEnv
from burnside.envs.manipulation.scenes import Scene, build_scene
from burnside.envs.manipulation.tasks import SUBSTEPS, find_task
from burnside.envs.manipulation.workers import Worker, WorkerDied
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra

try:
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["ManipulationVectorEnv"]

_Row = tuple[dict[str, AnyArray], float, bool, bool, dict[str, Any]]


def _repeat(seen: dict[str, AnyArray], history: int) -> dict[str, AnyArray]:
    """A first observation as the whole history."""
    return {key: np.repeat(value[None], history, 0) for key, value in seen.items()} if history else seen


def _serve(connection: Any, scene: Scene, task: str, level: str, options: dict[str, Any], history: int) -> None:
    """A worker: ("reset", [(index, seed, episode)…]) or ("step", [(index, seed, episode, actions)…]) → a row each."""
    envs: dict[int, ManipulationEnv] = {}

    def start(index: int, seed: int, episode: int) -> dict[str, AnyArray]:
        if index not in envs:
            envs[index] = ManipulationEnv(task, level, scene=scene, **options)
        return _repeat(envs[index].reset(seed=seed, options={"episode": episode})[0], history)

    while (request := connection.recv()) is not None:
        kind, rows = request
        try:
            if kind == "reset":
                connection.send([start(*row) for row in rows])
                continue
            answers: list[_Row] = []
            for index, seed, episode, actions in rows:
                env = envs[index]
                seen, reward, terminated, truncated, info = (
                    env.step_chunk(actions, history) if history else env.step(actions)
                )
                if terminated or truncated:
                    info["final_obs"] = seen
                    seen = start(index, seed, episode + 1)
                answers.append((seen, float(reward), terminated, truncated, info))
            connection.send(answers)
        except Exception as error:  # a wrong action, say: the caller's to see, the process lives on
            connection.send(error)


class ManipulationVectorEnv(VectorEnv[Any, Any, Any]):
    """``num_envs`` scenes of a task in ``workers`` processes.

    Args:
        num_envs: how many scenes (16 in the paper).
        task: "stack-two", "stack-three" or "nut-assembly".
        level: "D0" or "D1"; default the paper's.
        workers: processes; default one per core, at most one per scene.
        history: 0: one action per step. Otherwise a step takes chunks of actions (num_envs, k, 10) and returns the last
            ``history`` observations of each scene, stacked; only those are drawn.
        options: further arguments of :class:`ManipulationEnv`.
    """

    def __init__(
        self,
        num_envs: int = 16,
        task: str = "stack-three",
        level: str | None = None,
        *,
        workers: int | None = None,
        history: int = 0,
        **options: Any,
    ) -> None:
        if num_envs < 1 or (workers is not None and workers < 1) or history < 0:
            raise InvalidParameter(
                f"num_envs and workers must be at least 1 and history at least 0, got {num_envs}, {workers}, {history}"
            )
        spec = find_task(task, level)
        scene = build_scene(spec, int(options.pop("substeps", SUBSTEPS[0])))
        single = ManipulationEnv(task, level, scene=scene, **options)
        self.num_envs, self.history = num_envs, history
        self.single_observation_space, self.single_action_space = single.observation_space, single.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.metadata = {**single.metadata, "autoreset_mode": AutoresetMode.SAME_STEP}
        self.render_mode = None
        count = min(num_envs, workers or os.cpu_count() or 1)
        self._shares = [list(range(k, num_envs, count)) for k in range(count)]
        self.workers = [Worker(_serve, (scene, task, spec.level, options, history)) for _ in range(count)]
        self._seed, self._episodes = 0, np.zeros(num_envs, np.int64)
        self._started = False

    @property
    def restarts(self) -> int:
        """How many processes had to be started again."""
        return sum(worker.restarts for worker in self.workers)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, AnyArray], dict[str, Any]]:
        """Start episode 0 of the seeds seed, seed + 1, …; without a seed the next episode of each."""
        if seed is not None or not self._started:
            self._seed, self._episodes[:] = int(seed or 0), 0
        else:
            self._episodes += 1
        self._started = True
        return self._stack(self._begin(range(len(self.workers)))), {}

    def _begin(self, which: Any) -> list[dict[str, AnyArray]]:
        """Start the present episodes of some workers' scenes; first observations in the order of the scenes."""
        seen: dict[int, dict[str, AnyArray]] = {}
        for _ in range(4):
            waiting = [k for k in which if self._shares[k][0] not in seen]
            for k in waiting:
                request = ("reset", [(i, self._seed + i, int(self._episodes[i])) for i in self._shares[k]])
                with contextlib.suppress(WorkerDied):  # receive says so too, and only then another one is started
                    self.workers[k].send(request)
            problem: Exception | None = None
            for k in waiting:
                try:
                    seen.update(zip(self._shares[k], self.workers[k].receive(), strict=True))
                except WorkerDied:
                    self.workers[k].restart()
                except Exception as error:  # answers of the others must still be taken from their pipes
                    problem = error
            if problem is not None:
                raise problem
            if all(i in seen for k in which for i in self._shares[k]):
                return [seen[i] for i in sorted(seen)]
        raise InvalidParameter(
            "the simulator dies whenever a scene starts: see whether memory suffices, or use fewer workers"
        )

    def step(self, actions: FloatArray) -> tuple[dict[str, AnyArray], FloatArray, AnyArray, AnyArray, dict[str, Any]]:
        """One action (num_envs, 10), or with a history one chunk (num_envs, k, 10), in every scene.

        ``info`` has ``success``, ``steps`` (actions taken), ``crashed`` (the process died: this episode is lost, its
        flags say truncated, and the next one has begun), and for scenes that are over ``final_obs`` (None if crashed).
        """
        if not self._started:
            raise InvalidAction("step was called before reset: call reset() first")
        given = np.asarray(actions, float)
        axes = 3 if self.history else 2
        if given.ndim != axes or len(given) != self.num_envs or given.shape[-1] != 10:
            shape = f"({self.num_envs}, {'k, ' if self.history else ''}10)"
            raise InvalidAction(f"actions must have shape {shape}, got {given.shape}")
        rows: dict[int, _Row] = {}
        dead = []
        for k, worker in enumerate(self.workers):
            request = [(i, self._seed + i, int(self._episodes[i]), given[i]) for i in self._shares[k]]
            try:
                worker.send(("step", request))
            except WorkerDied:
                dead.append(k)
        problem: Exception | None = None
        for k, worker in enumerate(self.workers):
            if k in dead:
                continue
            try:
                rows.update(zip(self._shares[k], worker.receive(), strict=True))
            except WorkerDied:
                dead.append(k)
            except Exception as error:  # answers of the others must still be taken from their pipes
                problem = error
        if problem is not None:
            raise problem
        for k in dead:
            self._revive(k, rows)
        return self._collect([rows[i] for i in range(self.num_envs)])

    def _revive(self, k: int, rows: dict[int, _Row]) -> None:
        self.workers[k].restart()
        self._episodes[self._shares[k]] += 1
        for i, seen in zip(self._shares[k], self._begin([k]), strict=True):
            rows[i] = (seen, 0.0, False, True, {"success": False, "steps": 0, "crashed": True, "final_obs": None})
        self._episodes[self._shares[k]] -= 1  # counted once more with all that are over

    def _collect(self, rows: list[_Row]) -> tuple[dict[str, AnyArray], FloatArray, AnyArray, AnyArray, dict[str, Any]]:
        seen, rewards, terminated, truncated, infos = (list(column) for column in zip(*rows, strict=True))
        ended, cut = np.array(terminated, bool), np.array(truncated, bool)
        self._episodes[ended | cut] += 1
        finals = np.empty(self.num_envs, object)
        for i, info in enumerate(infos):
            finals[i] = info.get("final_obs")
        info = {
            "success": np.array([bool(one["success"]) for one in infos]),
            "steps": np.array([int(one.get("steps", 1)) for one in infos]),
            "crashed": np.array([bool(one.get("crashed", False)) for one in infos]),
            "final_obs": finals,
        }
        return self._stack(seen), np.array(rewards), ended, cut, info

    @staticmethod
    def _stack(rows: list[dict[str, AnyArray]]) -> dict[str, AnyArray]:
        return {key: np.stack([row[key] for row in rows]) for key in rows[0]}

    def close_extras(self, **kwargs: Any) -> None:
        """End the processes."""
        for worker in self.workers:
            worker.close()
