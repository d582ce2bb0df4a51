"""Looking into an environment: reading and setting its state, trying one action from there, walking about in it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.canonical.base import largest_gap, standard
from burnside.canonical.guard import theirs
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
        except Exception as error:  # whatever its constructor raises
            raise InvalidParameter(f"Gymnasium cannot make {env_or_factory!r}: {error}") from None
    env = env_or_factory
    if not hasattr(env, "step") and callable(env):
        env = theirs("the function that makes the environment", env)
    if isinstance(env, type) or not all(hasattr(env, name) for name in ("reset", "step", "action_space", "unwrapped")):
        raise InvalidParameter(
            f"need a Gymnasium environment, a function that makes one, or its id; got a {type(env).__name__}"
        )
    return env


# ---------------------------------------------------------------------- the state


def state_access(env: Any, symmetry: EnvSymmetry) -> StateAccess | None:
    """What the symmetry supplies, else what is known of toy-text (``s``) and classic-control (``state``) environments.

    None if the state cannot be set, or if nothing says how the group acts on it.
    """
    seen = _reset(env, 0)
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
    """The state as an array, if it is made of numbers: functions that multiply it must not repeat a tuple."""
    return copy.deepcopy(standard(env.unwrapped.state))


def _set_vector(env: Any, state: Any) -> None:
    bare = env.unwrapped
    bare.state = _like(state, bare.state)
    if hasattr(bare, "steps_beyond_terminated"):
        bare.steps_beyond_terminated = None


def _like(x: Any, model: Any) -> Any:
    """Numbers in the container and of the type that the environment itself uses: (row, column) are indices.

    >>> _like(np.array([2.0, 1.0]), (0, 0)), _like((1, 2), np.zeros(2, np.float32)), _like([0.5], [1])
    ((2, 1), array([1., 2.], dtype=float32), [0.5])
    """
    if isinstance(model, np.ndarray):
        return _cast(np.array(x), model.dtype)
    if isinstance(model, tuple | list):
        parts = [_like(a, b) for a, b in zip(x, model, strict=True)] if len(x) == len(model) else list(x)
        return type(model)(*parts) if hasattr(model, "_fields") else type(model)(parts)
    found = np.asarray(x)
    if found.ndim or found.dtype.kind not in "biuf" or not isinstance(model, bool | int | float | np.number):
        return x
    return _cast(found, np.asarray(model).dtype)[()] if isinstance(model, np.number) else _plain(found, type(model))


def _cast(x: Any, dtype: Any) -> Any:
    """In the other type, unless that would change the numbers beyond rounding."""
    if x.dtype.kind not in "biuf" or dtype.kind not in "biuf":
        return x
    with np.errstate(invalid="ignore"):
        found = x.astype(dtype)
    return found if dtype.kind == "f" or np.array_equal(found, x) else x


def _plain(x: Any, kind: type) -> Any:
    value = x.item()
    return kind(value) if kind is float or kind(value) == value else value


# ---------------------------------------------------------------------- playing


def _reset(env: Any, seed: int) -> Any:
    found = theirs("reset of the environment", env.reset, seed=seed)
    if not isinstance(found, tuple) or len(found) != 2:
        raise InvalidParameter(
            f"reset must return (observation, info), as in Gymnasium, not a {type(found).__name__}: "
            "wrap the environment"
        )
    return found[0]


def _step(env: Any, action: Any) -> tuple[Outcome, bool]:
    """What the action led to, and whether the episode is over."""
    found = theirs("step of the environment", env.step, action)
    if not isinstance(found, tuple) or len(found) != 5:
        got = f"{len(found)} values" if isinstance(found, tuple) else f"a {type(found).__name__}"
        raise InvalidParameter(
            f"step must return (observation, reward, terminated, truncated, info), as in Gymnasium, not {got}: "
            "wrap the environment"
        )
    seen, reward, terminated, truncated, _ = found
    outcome = Outcome(copy.deepcopy(seen), _number(reward, "reward"), bool(_number(terminated, "terminated")))
    return outcome, outcome.terminated or bool(_number(truncated, "truncated"))


def _number(x: Any, name: str) -> float:
    """A number, also if it comes as an array of one."""
    found = np.asarray(x)
    if found.size != 1 or found.dtype.kind not in "biuf":
        raise InvalidParameter(f"step must return one number as {name}, got {x!r:.80}")
    return float(found.reshape(()))


def try_action(env: Any, access: StateAccess, state: Any, action: Any, seed: int) -> Outcome:
    """Reset (for the clocks of wrappers), set the state, and take one action."""
    _reset(env, seed)
    theirs("setting the state", access.set, env, copy.deepcopy(state))
    return _step(env, plain_action(env.action_space, action))[0]


def plain_action(space: Any, action: Any) -> Any:
    """An action in the types of its space: a plain integer where actions are numbered, part by part if it has parts.

    >>> import gymnasium as gym
    >>> plain_action(gym.spaces.Discrete(3), np.float64(2.0)), plain_action(gym.spaces.Discrete(3), 0.5)
    (2, 0.5)
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Tuple) and isinstance(action, tuple | list) and len(action) == len(space.spaces):
        return tuple(plain_action(inside, part) for inside, part in zip(space.spaces, action, strict=True))
    if isinstance(space, spaces.Dict) and isinstance(action, dict) and action.keys() == space.spaces.keys():
        return {key: plain_action(inside, action[key]) for key, inside in space.spaces.items()}
    found = standard(action)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        return action
    if found.ndim == 0 and (found.dtype.kind in "iu" or isinstance(space, spaces.Discrete)):
        return _plain(found, int)
    return found if getattr(space, "dtype", None) is None else _cast(found, space.dtype)


def walk(env: Any, access: StateAccess | None, rng: np.random.Generator) -> Iterator[tuple[Pair, Outcome]]:
    """Every step of episodes played with random actions, without end."""
    env.action_space.seed(int(rng.integers(_SEEDS)))
    while True:
        seen = _reset(env, int(rng.integers(_SEEDS)))
        over = False
        while not over:
            state = None if access is None else copy.deepcopy(access.get(env))
            pair = Pair(state, copy.deepcopy(seen), env.action_space.sample())
            outcome, over = _step(env, pair.action)
            yield pair, outcome
            seen = outcome.observation


def show(x: Any) -> str:
    """An observation or action in one line."""
    if isinstance(x, dict):
        return "{" + ", ".join(f"{key}: {show(value)}" for key, value in x.items()) + "}"
    if isinstance(x, tuple):
        return "(" + ", ".join(show(value) for value in x) + ")"
    found = standard(x)
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf":
        return f"{x!r:.120}"
    return np.array2string(found.ravel() if found.ndim > 1 else found, precision=4, threshold=24, max_line_width=10**6)
