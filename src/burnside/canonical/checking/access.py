"""Looking into an environment: reading and setting its state, trying one action from there."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from burnside.canonical.base import numbers, precision, standard, structure
from burnside.canonical.guard import theirs
from burnside.errors import BurnsideError, InvalidParameter, MissingExtra
from burnside.symmetry.acting import RotationActing
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.states import state_adapter

__all__ = [
    "SEEDS",
    "Outcome",
    "Pair",
    "Prober",
    "StateAccess",
    "alike",
    "copied",
    "folded_env",
    "folding_of",
    "map_floats",
    "open_env",
    "plain_action",
    "reset_env",
    "show",
    "state_access",
    "step_env",
]

SEEDS = 2**31  # seeds that every environment takes
_LOOKS = 60  # steps in which the observation must equal the state to be taken for it


@dataclass(frozen=True)
class Outcome:
    """What one action led to."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool = False
    reward_eps: float = 2.0**-52  # relative rounding error of the type in which the reward came


@dataclass(frozen=True)
class Pair:
    """A place to check: the state (None if it cannot be read), what is seen there (None if unknown), and an action."""

    state: Any
    observation: Any
    action: Any


@dataclass(frozen=True)
class StateAccess:
    """How to read and set the state of an environment, and how the group acts on it.

    Attributes:
        get: ``env → s``.
        put: ``(env, s)``.
        act: ``(g, s) → g·s``.
        is_observation: whether the state is what is observed.
        given: whether the symmetry says how to read and set the state; else it was found by its usual name.
    """

    get: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    act: Callable[[Any, Any], Any]
    is_observation: bool
    given: bool


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
    if hasattr(env, "num_envs") and hasattr(env, "single_action_space"):
        raise InvalidParameter("this is a vector environment: check one of the environments that it is made of")
    return env


# ---------------------------------------------------------------------- the state


def folding_of(symmetry: EnvSymmetry) -> Callable[[Any], Any] | None:
    """What brings observations that mean the same (angles, quaternions) to the same numbers; None if there are none."""
    acting = symmetry.on("observation")
    if not acting.folds:
        return None
    if isinstance(acting, RotationActing):
        return lambda x: acting.rotation.folding(np.array(x))
    identity = symmetry.group.identity
    return lambda x: symmetry.act_on_observation(identity, x)


def folded_env(env: Any, fold: Callable[[Any], Any]) -> Any:
    """The environment as every wrapper shows it: with angles in their range, and one sign for each quaternion."""
    from gymnasium.wrappers import TransformObservation

    return TransformObservation(env, fold, env.observation_space)


def state_access(
    env: Any, symmetry: EnvSymmetry, fold: Callable[[Any], Any] | None = None
) -> tuple[StateAccess | None, str]:
    """What the symmetry supplies, else what is known of toy-text (``s``) and classic-control (``state``) environments.

    None, with the reason, if the state cannot be set, or if nothing says how the group acts on it.
    """
    reset_env(env, 0)
    bare = env.unwrapped
    given = symmetry.get_state is not None and symmetry.set_state is not None
    act_on_state = symmetry.act_on_state
    adapter = None if given else state_adapter(env)
    if symmetry.get_state is not None and symmetry.set_state is not None:
        get, put = symmetry.get_state, symmetry.set_state
    elif adapter is not None and adapter.kind not in ("label", "vector"):
        get, put = adapter.get, adapter.put
        act_on_state = None if act_on_state is None else adapter.complete(act_on_state)
    elif isinstance(getattr(bare, "s", None), int | np.integer):
        get, put = _get_label, _set_label
    elif isinstance(getattr(bare, "state", None), np.ndarray | tuple | list):
        get, put = _get_vector, _set_vector
    else:
        return None, "its state cannot be set: give the symmetry get_state, set_state and act_on_state"
    if not given:
        try:
            put(env, get(env))
        except Exception as error:  # a property without a setter, a state of another kind
            return None, (
                f"its state cannot be set ({type(error).__name__}): give the symmetry get_state, set_state and "
                "act_on_state"
            )
    observed = _is_observation(env, get if fold is None else lambda one: _folded(fold, get(one)))
    if act_on_state is not None:
        return StateAccess(get, put, act_on_state, observed, given), ""
    if not observed:
        return None, "its observation is not its state: give the symmetry act_on_state, how the group acts on states"
    return StateAccess(get, put, symmetry.act_on_observation, True, given), ""


def _folded(fold: Callable[[Any], Any], state: Any) -> Any:
    try:
        return fold(state)
    except BurnsideError:  # it is no observation
        return state


def _is_observation(env: Any, get: Callable[[Any], Any]) -> bool:
    """Whether what is seen is the state, up to rounding, on a short walk: at the start alone both may be zeros."""
    env.action_space.seed(0)
    seen = reset_env(env, 0)
    for look in range(_LOOKS):
        if not _agrees(seen, get(env)):
            return False
        outcome = step_env(env, env.action_space.sample())
        over = outcome.terminated or outcome.truncated
        seen = reset_env(env, look + 1) if over else outcome.observation
    return True


def _agrees(seen: Any, state: Any) -> bool:
    if structure(seen) != structure(state):
        return False
    x, y = numbers(seen), numbers(state)
    slack = 2 * np.maximum(precision(seen), precision(state)) * np.maximum(np.abs(x), np.abs(y))
    with np.errstate(invalid="ignore"):
        return bool(x.size) and bool(np.all((x == y) | (np.abs(x - y) <= slack)))


def _get_label(env: Any) -> int:
    return int(env.unwrapped.s)


def _set_label(env: Any, state: Any) -> None:
    env.unwrapped.s = int(state)


def _get_vector(env: Any) -> Any:
    """The state as an array, if it is made of numbers: functions that multiply it must not repeat a tuple."""
    return copied(standard(env.unwrapped.state))


def _set_vector(env: Any, state: Any) -> None:
    bare = env.unwrapped
    bare.state = _like(state, bare.state)
    if hasattr(bare, "steps_beyond_terminated"):
        bare.steps_beyond_terminated = None


def _like(x: Any, model: Any) -> Any:
    """Numbers in the container and of the type that the environment itself uses: (row, column) are indices.

    >>> _like(np.array([2.0, 1.0]), (0, 0)), _like((1, 2), np.zeros(2, np.float32)), _like([0.5], [1])
    ((2, 1), array([1., 2.], dtype=float32), [0.5])
    >>> _like(np.zeros(1), np.zeros(1, np.float32)).dtype
    dtype('float64')
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
    if x.dtype.kind not in "biuf" or dtype.kind not in "biuf" or (x.dtype.kind == dtype.kind == "f"):
        return x  # some environments start in single precision and continue in double
    with np.errstate(invalid="ignore", over="ignore"):
        found = x.astype(dtype)
    return found if dtype.kind == "f" or np.array_equal(found, x) else x


def _plain(x: Any, kind: type) -> Any:
    value = x.item()
    if kind is float:
        return float(value)
    return kind(value) if np.isfinite(value) and kind(value) == value else value


def copied(x: Any) -> Any:
    """A copy that later steps cannot change."""
    return x.copy() if type(x) is np.ndarray and x.dtype != object else copy.deepcopy(x)


def alike(x: Any, model: Any) -> Any:
    """The same numbers in the floating-point types of the model, where both have the same shape.

    >>> alike(np.array([1.0, 2.0]), np.zeros(2, np.float32)).dtype
    dtype('float32')
    """
    if isinstance(x, np.ndarray) and isinstance(model, np.ndarray) and x.shape == model.shape:
        return x.astype(model.dtype) if x.dtype.kind == model.dtype.kind == "f" else x
    if type(x) is type(model) and isinstance(x, tuple | list) and len(x) == len(model):
        parts = [alike(a, b) for a, b in zip(x, model, strict=True)]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if isinstance(x, dict) and isinstance(model, dict) and x.keys() == model.keys():
        return {key: alike(value, model[key]) for key, value in x.items()}
    return x


def map_floats(function: Callable[[Any], Any], x: Any) -> Any:
    """A state with a function applied to all its floating-point arrays and numbers, whatever holds them.

    >>> map_floats(lambda v: v + 1, {"a": np.zeros(2), "b": (1, 0.5)})
    {'a': array([1., 1.]), 'b': (1, 1.5)}
    """
    if isinstance(x, dict):
        return {key: map_floats(function, value) for key, value in x.items()}
    if isinstance(x, tuple | list):
        parts = [map_floats(function, value) for value in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    if is_dataclass(x) and not isinstance(x, type):
        new = {f.name: map_floats(function, getattr(x, f.name)) for f in fields(x) if f.init}
        return replace(x, **new)
    if isinstance(x, np.ndarray | np.floating) and x.dtype.kind == "f":
        return function(x)
    return float(function(np.float64(x))) if type(x) is float else x


# ---------------------------------------------------------------------- playing


def reset_env(env: Any, seed: int | None) -> Any:
    """Reset, and give the observation."""
    found = theirs("reset of the environment", env.reset, seed=seed)
    if not isinstance(found, tuple) or len(found) != 2:
        raise InvalidParameter(
            f"reset must return (observation, info), as in Gymnasium, not a {type(found).__name__}: "
            "wrap the environment"
        )
    return copied(found[0])


def step_env(env: Any, action: Any) -> Outcome:
    """What the action led to."""
    found = theirs("step of the environment", env.step, action)
    if not isinstance(found, tuple) or len(found) != 5:
        got = f"{len(found)} values" if isinstance(found, tuple) else f"a {type(found).__name__}"
        raise InvalidParameter(
            f"step must return (observation, reward, terminated, truncated, info), as in Gymnasium, not {got}: "
            "wrap the environment"
        )
    seen, reward, terminated, truncated, _ = found
    value, eps = _number(reward, "reward")
    ends = bool(_number(terminated, "terminated")[0]), bool(_number(truncated, "truncated")[0])
    return Outcome(copied(seen), value, *ends, eps)


def _number(x: Any, name: str) -> tuple[float, float]:
    """A number, also if it comes as an array of one, and its relative rounding error."""
    if type(x) in (float, bool, int):
        return float(x), 2.0**-52
    found = np.asarray(x)
    if found.size != 1 or found.dtype.kind not in "biuf":
        raise InvalidParameter(f"step must return one number as {name}, got {x!r:.80}")
    return float(found.reshape(())), float(np.finfo(found.dtype).eps) if found.dtype.kind == "f" else 2.0**-52


@dataclass
class Prober:
    """Tries single actions from states that are set."""

    env: Any
    access: StateAccess
    rng: np.random.Generator

    def place(self, state: Any, seed: int | None) -> None:
        """Reset, which puts the clocks of wrappers to zero, and set the state."""
        reset_env(self.env, seed)
        theirs("setting the state", self.access.put, self.env, copied(state))

    def draw(self, state: Any, action: Any) -> Outcome:
        """What the action leads to from the state, with randomness of its own."""
        self.place(state, int(self.rng.integers(SEEDS)))
        return step_env(self.env, action)

    def sample(self, state: Any, action: Any, count: int, fresh: bool) -> list[Outcome]:
        """So many independent outcomes. Seeding is slow, so only the first reset does it, unless ``fresh``."""
        found = []
        for k in range(count):
            self.place(state, int(self.rng.integers(SEEDS)) if fresh or k == 0 else None)
            found.append(step_env(self.env, action))
        return found


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
    wanted = getattr(space, "dtype", None)
    if wanted is not None and wanted.kind == "f" and found.dtype.kind in "biuf":
        return found.astype(wanted)
    return found if wanted is None else _cast(found, wanted)


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
