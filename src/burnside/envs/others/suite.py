"""Tasks of dm_control's suite as Gymnasium environments."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from burnside.errors import InvalidParameter, MissingExtra

__all__ = ["TASKS", "SuiteEnv"]

#: All tasks of the suite, registered as ``dm_control/<domain>-<task>-v0``; listed, since its import takes a second.
TASKS = (
    "acrobot-swingup",
    "acrobot-swingup_sparse",
    "ball_in_cup-catch",
    "cartpole-balance",
    "cartpole-balance_sparse",
    "cartpole-swingup",
    "cartpole-swingup_sparse",
    "cartpole-three_poles",
    "cartpole-two_poles",
    "cheetah-run",
    "dog-fetch",
    "dog-run",
    "dog-stand",
    "dog-trot",
    "dog-walk",
    "finger-spin",
    "finger-turn_easy",
    "finger-turn_hard",
    "fish-swim",
    "fish-upright",
    "hopper-hop",
    "hopper-stand",
    "humanoid-run",
    "humanoid-run_pure_state",
    "humanoid-stand",
    "humanoid-walk",
    "humanoid_CMU-run",
    "humanoid_CMU-stand",
    "humanoid_CMU-walk",
    "lqr-lqr_2_1",
    "lqr-lqr_6_2",
    "manipulator-bring_ball",
    "manipulator-bring_peg",
    "manipulator-insert_ball",
    "manipulator-insert_peg",
    "pendulum-swingup",
    "point_mass-easy",
    "point_mass-hard",
    "quadruped-escape",
    "quadruped-fetch",
    "quadruped-run",
    "quadruped-walk",
    "reacher-easy",
    "reacher-hard",
    "stacker-stack_2",
    "stacker-stack_4",
    "swimmer-swimmer15",
    "swimmer-swimmer6",
    "walker-run",
    "walker-stand",
    "walker-walk",
)


class SuiteEnv(gym.Env[Any, Any]):
    """A task of dm_control: observations are a dictionary of arrays, as there; actions a vector.

    Args:
        domain: for example ``"walker"``.
        task: for example ``"walk"``.
        **task_kwargs: for the task, as dm_control takes them.
    """

    def __init__(self, domain: str, task: str, **task_kwargs: Any) -> None:
        try:
            from dm_control import suite
        except ImportError:
            raise MissingExtra("dm_control", "dm-control") from None
        try:
            self._env = suite.load(domain, task, task_kwargs={"random": 0} | task_kwargs)
        except ValueError as error:
            raise InvalidParameter(f"dm_control has no task {domain}-{task}: {error}") from None
        spec = self._env.action_spec()
        low, high = np.broadcast_to(spec.minimum, spec.shape), np.broadcast_to(spec.maximum, spec.shape)
        self.action_space = gym.spaces.Box(low.astype(np.float64), high.astype(np.float64), dtype=np.float64)
        self.observation_space = gym.spaces.Dict(
            {
                key: gym.spaces.Box(-np.inf, np.inf, part.shape, np.float64)
                for key, part in self._env.observation_spec().items()
            }
        )

    @property
    def physics(self) -> Any:
        """The simulation."""
        return self._env.physics

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new episode; the task draws from a generator of its own."""
        super().reset(seed=seed)
        if seed is not None:
            self._env.task._random = np.random.RandomState(seed % 2**32)
        return _arrays(self._env.reset().observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step of control."""
        found = self._env.step(np.asarray(action, dtype=np.float64))
        over, failed = bool(found.last()), found.discount == 0
        return _arrays(found.observation), float(found.reward), over and failed, over and not failed, {}


def _arrays(observation: Any) -> dict[str, Any]:
    return {key: np.asarray(value, dtype=np.float64) for key, value in observation.items()}
