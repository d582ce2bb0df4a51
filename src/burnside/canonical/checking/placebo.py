"""A symmetry that does not hold, for controls: of the same shape as a true one, and shown to fail.

It is shown on transitions of random play, so that it works for every environment, also where no state can be set. A
linear model of the change of the observation and of the reward is fitted to the transitions. Images of transitions
under a true symmetry are transitions too, which the model fits about as well; under a placebo they are not. How much
worse the model fits the images of the placebo than those of the declared symmetry is the evidence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.canonical.checking.check import check_symmetry
from burnside.envs.gymnasium_batch import as_batched
from burnside.errors import BurnsideError
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["misfit", "random_transitions", "refuted_placebo"]

#: Placebos that are tried, and transitions that are looked at.
_TRIES, _TRANSITIONS = 6, 1500
#: How many times worse than under the declared symmetry counts as refuted.
_WORSE = 2.0


def random_transitions(make: Callable[[], Any], count: int = _TRANSITIONS) -> dict[str, AnyArray]:
    """Flat transitions of random play: ``obs``, ``action``, ``reward``, ``after``."""
    env = make()
    batched = as_batched(make)
    env.action_space.seed(0)
    seen: Any = env.reset(seed=0)[0]
    found: dict[str, list[Any]] = {name: [] for name in ("obs", "action", "reward", "after")}
    as_rows: Any = getattr(batched, "as_rows", lambda x: (np.asarray(x).reshape(1, -1), True))
    for k in range(count):
        action = env.action_space.sample()
        after, reward, terminated, truncated, _ = env.step(action)
        for name, value in (("obs", as_rows(seen)[0][0]), ("after", as_rows(after)[0][0])):
            found[name].append(np.array(value, dtype=np.float64))
        found["action"].append(action)
        found["reward"].append(float(reward))
        seen = env.reset(seed=k + 1)[0] if terminated or truncated else after
    return {name: np.array(column) for name, column in found.items()}


def misfit(symmetry: FlatSymmetry, seen: dict[str, AnyArray]) -> FloatArray:
    """How many times worse images of transitions fit than transitions do: of every number, and of the reward.

    >>> import gymnasium as gym
    >>> from burnside.canonical.arms import on_rows
    >>> make = lambda: gym.make("CartPole-v1")
    >>> mirror, seen = on_rows(as_batched("CartPole-v1")), random_transitions(make, 500)
    >>> bool(misfit(mirror, seen).max() < 1.5), bool(misfit(mirror.placebo(0), seen).max() > 3)
    (True, True)
    """
    count = len(seen["reward"])
    g = symmetry.draw(0, np.arange(count)) if not symmetry.count else 1 + np.arange(count) % (symmetry.count - 1)
    obs, after = (symmetry.move(g, seen[name]).astype(np.float64) for name in ("obs", "after"))
    action = symmetry.move_actions(g, seen["action"].reshape(count, -1) if not symmetry.discrete else seen["action"])
    x, y = _design(seen["obs"], seen["action"], symmetry), _changes(seen["obs"], seen["after"], seen["reward"])
    ridge = 1e-6 * len(x) * np.eye(x.shape[1])
    weights = np.linalg.solve(x.T @ x + ridge, x.T @ y)
    own = np.sqrt(((y - x @ weights) ** 2).mean(axis=0))
    moved = _changes(obs, after, seen["reward"]) - _design(obs, action, symmetry) @ weights
    scale = own + 0.02 * y.std(axis=0) + 1e-9
    return np.asarray(np.sqrt((moved**2).mean(axis=0)) / scale)


def _design(obs: AnyArray, action: AnyArray, symmetry: FlatSymmetry) -> FloatArray:
    """Observations, actions, and one."""
    acts = (
        np.eye(symmetry.width)[action.astype(np.int64).ravel()] if symmetry.discrete else action.reshape(len(obs), -1)
    )
    return np.concatenate([obs, acts, np.ones((len(obs), 1))], axis=1)


def _changes(obs: AnyArray, after: AnyArray, reward: AnyArray) -> FloatArray:
    return np.concatenate([after - obs, np.asarray(reward, dtype=np.float64)[:, None]], axis=1)


def refuted_placebo(make: Callable[[], Any], symmetry: FlatSymmetry, seed: int = 0) -> tuple[FlatSymmetry, str]:
    """The first of some placebos that is refuted, and the verdict; ``seed`` chooses which are tried.

    Where the transitions of random play do not tell, the check of symmetries is asked; where that cannot decide either,
    the first placebo is taken, and the verdict says so.

    >>> import gymnasium as gym
    >>> from burnside.canonical.arms import on_rows
    >>> refuted_placebo(lambda: gym.make("CartPole-v1"), on_rows(as_batched("CartPole-v1")))[1]
    'refuted'
    """
    seen = random_transitions(make)
    usual = np.maximum(1.0, misfit(symmetry, seen))
    tried = [symmetry.placebo(_TRIES * seed + attempt) for attempt in range(_TRIES)]
    for found in tried:
        if (misfit(found, seen) / usual).max() > _WORSE:
            return found, "refuted"
    try:
        return tried[0], check_symmetry(make(), tried[0].as_declared(), samples=60).verdict
    except BurnsideError as error:
        return tried[0], f"not checked ({type(error).__name__})"
