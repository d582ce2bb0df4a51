"""Looking into an environment: reading and setting its state, trying one action from there, walking about in it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.canonical.base import largest_gap
from burnside.canonical.symmetry import EnvSymmetry
from burnside.errors import InvalidParameter, MissingExtra

__all__ = ["Outcome", "Pair", "StateAccess", "open_env", "plain_action", "show", "state_access", "try_action", "walk"]

_SEEDS = 2**31  # seeds that every environment takes
_SAME = 1e-6  # a float32 observation of a float64 state


@dataclass(frozen=True)
class Outcome:
    """What one action led to. Truncation is left out: the clock is no part of the state."""

    observation: Any
    reward: float
    terminated: bool


@dataclass(frozen=True)
class Pair:
    """A place to check: the state (None if it cannot be read), what was seen there, and an action."""

    state: Any
    observation: Any
    action: Any


@dataclass(frozen=True)
class StateAccess:
    """How to read and set the state of an environment, and how the group acts on it."""

    get: Callable[[Any], Any]
    set: Callable[[Any, Any], None]
    act: Callable[[Any, Any], Any]


def open_env(env_or_factory: Any) -> Any:
    """An environment from itself, from a function that makes one, or from the id of a registered one."""
    if isinstance(env_or_factory, str):
        try:
            import gymnasium
        except ImportError:
            raise MissingExtra("gymnasium", "envs") from None
        try:
            return gymnasium.make(env_or_factory)
        except (gymnasium.error.Error, ImportError, TypeError) as error:
            raise InvalidParameter(f"Gymnasium cannot make {env_or_factory!r}: {error}") from None
    env = env_or_factory
    if not hasattr(env, "step") and callable(env):
        env = env()
    if isinstance(env, type) or not all(hasattr(env, name) for name in ("reset", "step", "action_space")):
        raise InvalidParameter(
            f"need a Gymnasium environment, a function that makes one, or its id; got a {type(env).__name__}"
        )
    return env


def state_access(env: Any, symmetry: EnvSymmetry) -> StateAccess | None:
    """What the symmetry supplies, else what is known of toy-text (``s``) and classic-control (``state``) environments.

    None if the state cannot be set, or if nothing says how the group acts on it.
    """
    seen, _ = env.reset(seed=0)
    bare = env.unwrapped
    if symmetry.get_state is not None and symmetry.set_state is not None:
        get, put = symmetry.get_state, symmetry.set_state
    elif isinstance(getattr(bare, "s", None), int | np.integer):
        get, put = _get_label, _set_label
    elif isinstance(getattr(bare, "state", None), np.ndarray | tuple | list):
        get, put = _get_vector, _set_vector
    else:
        return None
    if symmetry.act_on_state is not None:
        return StateAccess(get, put, symmetry.act_on_state)
    # Without a word on how the group acts on states, the observation must be the state.
    return StateAccess(get, put, symmetry.act_on_observation) if largest_gap(seen, get(env)) <= _SAME else None


def _get_label(env: Any) -> int:
    return int(env.unwrapped.s)


def _set_label(env: Any, state: Any) -> None:
    env.unwrapped.s = int(state)


def _get_vector(env: Any) -> Any:
    return np.array(env.unwrapped.state, dtype=np.float64)


def _set_vector(env: Any, state: Any) -> None:
    bare = env.unwrapped
    bare.state = tuple(state) if isinstance(bare.state, tuple) else np.array(state, dtype=np.float64)
    if hasattr(bare, "steps_beyond_terminated"):
        bare.steps_beyond_terminated = None


def try_action(env: Any, access: StateAccess, state: Any, action: Any, seed: int) -> Outcome:
    """Reset (for the clocks of wrappers), set the state, and take one action."""
    env.reset(seed=seed)
    access.set(env, copy.deepcopy(state))
    seen, reward, terminated, _, _ = env.step(plain_action(env, action))
    return Outcome(copy.deepcopy(seen), float(reward), bool(terminated))


def plain_action(env: Any, action: Any) -> Any:
    """A plain integer where the environment's actions are numbered."""
    found = np.asarray(action)
    if found.ndim == 0 and found.dtype.kind in "iu":
        return int(found)
    return found.astype(env.action_space.dtype) if found.dtype.kind == "f" else action


def walk(env: Any, access: StateAccess | None, rng: np.random.Generator) -> Iterator[tuple[Pair, Outcome]]:
    """Every step of episodes played with random actions, without end."""
    env.action_space.seed(int(rng.integers(_SEEDS)))
    while True:
        seen, _ = env.reset(seed=int(rng.integers(_SEEDS)))
        over = False
        while not over:
            state = None if access is None else copy.deepcopy(access.get(env))
            pair = Pair(state, copy.deepcopy(seen), env.action_space.sample())
            seen, reward, terminated, truncated, _ = env.step(pair.action)
            yield pair, Outcome(copy.deepcopy(seen), float(reward), bool(terminated))
            over = terminated or truncated


def show(x: Any) -> str:
    """An observation or action in one line."""
    if isinstance(x, dict):
        return "{" + ", ".join(f"{key}: {show(value)}" for key, value in x.items()) + "}"
    if isinstance(x, tuple):
        return "(" + ", ".join(show(value) for value in x) + ")"
    found = np.asarray(x)
    if found.dtype.kind not in "biuf":
        return f"{x!r:.120}"
    return np.array2string(found.ravel() if found.ndim > 1 else found, precision=4, threshold=24, max_line_width=10**6)
