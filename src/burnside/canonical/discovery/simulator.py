"""The state of an environment as one vector: read it, set it, and see what is observed there.

A map of observations can be checked only if the simulator can be set into the image of a state. For known kinds
(:mod:`burnside.symmetry.states`) the whole state is read and set by their adapter. Of other environments the attributes
that change while one plays are taken for the state: numbers and arrays. Whether that is all of it, the check finds
out: setting a state must bring back what was seen.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.symmetry.states import StateAdapter, state_adapter

__all__ = ["Simulator", "open_simulator", "reproduces"]

_LOOKS = 120  # steps on which attributes are watched, and on which what is observed is compared with what was seen
_LARGEST = 400  # numbers of a state
_ASIDE = ("warmstart", "time", "steps")  # parts that follow the others, or that stay


@dataclass(frozen=True)
class Simulator:
    """A simulator whose state is a vector.

    Attributes:
        env: the environment, as it is searched.
        get: ``env → s``, the whole state.
        put: ``(env, s)``.
        parts: names of the parts of the state that make up the vector, with their sizes; one without a name if the
            state is an array itself.
        whole: which numbers of the vector are whole numbers: clocks and counters keep their sign.
        look: what is observed, without a step; None if nobody knows.
        complete: from a map of the parts to one of the whole state.
        is_observation: whether the state is what is observed.
        native: whether the check reads and sets this kind of state by itself.
    """

    env: Any
    get: Callable[[Any], Any]
    put: Callable[[Any, Any], None]
    parts: tuple[tuple[str, int], ...]
    whole: BoolArray
    look: Callable[[Any], FloatArray] | None
    complete: Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]
    is_observation: bool
    native: bool

    @property
    def width(self) -> int:
        """How many numbers the vector has."""
        return sum(size for _, size in self.parts)

    def vector(self, state: Any) -> FloatArray:
        """The parts as one vector."""
        return _joined(state, self.parts)

    def moved(self, state: Any, function: Callable[[FloatArray], FloatArray]) -> Any:
        """The whole state after a map of vectors."""
        return self.complete(lambda _, parts: self.on_parts(parts, function))(None, state)

    def on_parts(self, state: Any, function: Callable[[FloatArray], FloatArray]) -> Any:
        """A map of vectors applied to the parts alone."""
        return _replaced(state, self.parts, function(_joined(state, self.parts)))

    def set(self, state: Any, vector: FloatArray) -> None:
        """Bring the environment into a state whose parts are these numbers."""
        self.put(self.env, _replaced(state, self.parts, vector))


def _joined(state: Any, parts: tuple[tuple[str, int], ...]) -> FloatArray:
    if not parts[0][0]:
        return np.asarray(state, dtype=np.float64).ravel()
    return np.concatenate([np.asarray(state[name], dtype=np.float64).ravel() for name, _ in parts])


def _replaced(state: Any, parts: tuple[tuple[str, int], ...], vector: FloatArray) -> Any:
    if not parts[0][0]:
        return vector.reshape(np.shape(state))
    out, at = dict(state), 0
    for name, size in parts:
        out[name] = _like(vector[at : at + size], state[name])
        at += size
    return out


def _like(values: FloatArray, model: Any) -> Any:
    """The numbers in the type and shape of what stood there."""
    kind = np.asarray(model).dtype.kind
    numbers = np.rint(values) if kind in "iub" else values
    if isinstance(model, np.ndarray):
        return numbers.reshape(model.shape).astype(model.dtype)
    if isinstance(model, tuple | list):
        return type(model)(type(old)(new) for old, new in zip(model, numbers.tolist(), strict=True))
    return type(model)(numbers.item())


# ---------------------------------------------------------------------- finding it


def open_simulator(env: Any, seed: int = 0) -> Simulator | None:
    """The simulator of an environment; None if its state cannot be read and set as a vector.

    >>> import gymnasium as gym
    >>> from burnside.canonical.discovery.flat import FlatEnv
    >>> found = open_simulator(FlatEnv(gym.make("Pendulum-v1")))
    >>> found.width, found.is_observation, found.look(found.env).shape
    (2, False, (3,))
    """
    env.reset(seed=seed)
    adapter = state_adapter(env)
    if adapter is not None and adapter.kind in ("mujoco", "dm_control", "vector", "snapshot"):
        found = _known(env, adapter, seed)
        if found is not None and (adapter.kind in ("mujoco", "dm_control") or reproduces(found, seed, pinned=True)):
            return found
    other = _attributes(env, seed)
    return other if other is not None and reproduces(other, seed, pinned=True) else None


def reproduces(simulator: Simulator, seed: int = 0, *, pinned: bool = False) -> bool:
    """Whether a state that was set leads to what it led to before: then it is all of the state, and nothing is random.

    ``pinned``: with Gymnasium's generator of random numbers set to the same place, so that chance does not count.
    """
    env = simulator.env
    env.action_space.seed(seed)
    env.reset(seed=seed)
    for k in range(8):
        state, action = simulator.get(env), env.action_space.sample()
        _pin(env, k, pinned)
        after, reward, terminated, truncated, _ = env.step(action)
        later = simulator.get(env)
        try:
            env.reset(seed=seed + 100 + k)
            for _ in range(3):
                env.step(env.action_space.sample())
            env.reset(seed=seed + 200 + k)
            simulator.put(env, state)
            _pin(env, k, pinned)
            again, reward_again, *_ = env.step(action)
        except Exception:  # a state that cannot be set
            return False
        if not np.allclose(after, again, rtol=1e-6, atol=1e-9, equal_nan=True) or not np.isclose(reward, reward_again):
            return False
        simulator.put(env, later)
        if terminated or truncated:
            env.reset(seed=seed + k)
    return True


def _pin(env: Any, k: int, pinned: bool) -> None:
    if pinned:
        env.unwrapped.np_random = np.random.default_rng(k)


def _known(env: Any, adapter: StateAdapter, seed: int) -> Simulator | None:
    try:
        state = adapter.get(env)
        adapter.put(env, state)
    except Exception:  # a state of another kind than its name says
        return None
    parts = _parts_of(state)
    if not parts or sum(size for _, size in parts) > _LARGEST:
        return None
    whole = np.zeros(sum(size for _, size in parts), dtype=np.bool_)
    # MuJoCo's environments show some positions as they were before the last small step, so what is seen differs a bit.
    close = adapter.kind in ("mujoco", "dm_control")
    look, same = _observer(env, adapter.get, parts, seed, close=close)
    return Simulator(env, adapter.get, adapter.put, parts, whole, look, adapter.complete, same, True)


def _parts_of(state: Any) -> tuple[tuple[str, int], ...]:
    if isinstance(state, dict):
        kept = {key: np.asarray(value) for key, value in state.items() if key not in _ASIDE}
        if not all(value.dtype.kind in "fiu" for value in kept.values()):
            return ()
        return tuple((key, value.size) for key, value in kept.items() if value.size)
    found = np.asarray(state)
    return (("", found.size),) if found.dtype.kind == "f" and found.size else ()


def _attributes(env: Any, seed: int) -> Simulator | None:
    """Numbers and arrays among the attributes of the environment that change while one plays."""
    bare = env.unwrapped
    names = _changing(env, seed)
    if not names:
        return None

    def get(one: Any) -> dict[str, Any]:
        inner = one.unwrapped
        return {name: copy.deepcopy(getattr(inner, name)) for name in names}

    def put(one: Any, state: dict[str, Any]) -> None:
        inner = one.unwrapped
        for name, value in state.items():
            setattr(inner, name, copy.deepcopy(value))

    sizes = {name: np.asarray(getattr(bare, name)).size for name in names}
    parts = tuple(sizes.items())
    if not 0 < sum(sizes.values()) <= _LARGEST:
        return None
    kinds = [np.full(sizes[name], np.asarray(getattr(bare, name)).dtype.kind in "iub") for name in names]
    try:
        put(env, get(env))
    except Exception:  # a property without a setter
        return None
    look, same = _observer(env, get, parts, seed)
    return Simulator(env, get, put, parts, np.concatenate(kinds), look, lambda act: act, same, False)


def _changing(env: Any, seed: int) -> list[str]:
    seen: list[dict[str, Any]] = []
    env.action_space.seed(seed)
    over = True
    for k in range(_LOOKS):
        if over or k == _LOOKS // 2:
            env.reset(seed=seed + k)
        seen.append(_numeric(vars(env.unwrapped)))
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        over = terminated or truncated
    common = [name for name in seen[0] if all(name in row for row in seen)]
    found = []
    for name in common:
        first = seen[0][name]
        if any(row[name].shape != first.shape for row in seen):
            continue
        if any(not np.array_equal(row[name], first, equal_nan=True) for row in seen):
            found.append(name)
    return found


def _numeric(attributes: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in attributes.items():
        if name.startswith("_np_random"):  # Gymnasium's seed, which no step looks at
            continue
        simple = isinstance(value, int | float | np.number | np.ndarray) or (
            isinstance(value, tuple | list)
            and len(value) <= _LARGEST
            and all(isinstance(v, int | float | np.number) for v in value)
        )
        if simple and np.asarray(value).dtype.kind in "fiu" and np.asarray(value).size <= _LARGEST:
            found[name] = np.array(value)
    return found


# ---------------------------------------------------------------------- what is observed


def _observer(
    env: Any, get: Callable[[Any], Any], parts: tuple[tuple[str, int], ...], seed: int, *, close: bool = False
) -> tuple[Callable[[Any], FloatArray] | None, bool]:
    """A function that says what is observed now, if one agrees with what was seen; and whether that is the state."""
    functions = [look for look in (_asked(env), lambda one: _joined(get(one), parts)) if look is not None]
    right = [True] * len(functions)
    states, seen = [], []
    env.action_space.seed(seed)
    observation, _ = env.reset(seed=seed)
    for k in range(_LOOKS):
        wanted = np.asarray(observation, dtype=np.float64)
        states.append(_joined(get(env), parts))
        seen.append(wanted)
        for i, look in enumerate(functions):
            right[i] = right[i] and _agrees(look, env, wanted, 0.5 if close and i + 1 < len(functions) else 1e-6)
        observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated or k % 4 == 3:
            observation, _ = env.reset(seed=seed + k)
    same = right[-1]
    for look, good in zip(functions, right, strict=True):
        if good:
            return look, same
    return _fitted(get, parts, np.array(states), np.array(seen)), False


def _agrees(look: Callable[[Any], FloatArray], env: Any, wanted: FloatArray, slack: float) -> bool:
    try:
        found = np.asarray(look(env), dtype=np.float64)
    except Exception:  # a method of that name which wants something else
        return False
    return found.shape == wanted.shape and bool(np.allclose(found, wanted, rtol=10 * slack, atol=slack, equal_nan=True))


def _asked(env: Any) -> Callable[[Any], FloatArray] | None:
    """The environment's own function, then the wrappers that change what is observed."""
    bare = env.unwrapped
    inner: Callable[[], Any] | None = None
    for name in ("_get_obs", "_get_ob", "get_obs", "_observation", "_obs", "observe"):
        if callable(getattr(bare, name, None)):
            inner = getattr(bare, name)
            break
    suite: Any = getattr(bare, "_env", None)
    if hasattr(suite, "task") and hasattr(suite, "physics"):

        def inner() -> Any:
            return suite.task.get_observation(suite.physics)

    if inner is None:
        return None
    wrappers = []
    one = env
    while one is not bare:
        step = getattr(one, "flat", None) or getattr(one, "observation", None)
        if callable(step):
            wrappers.append(step)
        one = one.env
    found = inner

    def look(_: Any) -> FloatArray:
        observation = found()
        for step in reversed(wrappers):
            observation = step(observation)
        return np.asarray(observation, dtype=np.float64).ravel()

    return look


def _fitted(
    get: Callable[[Any], Any], parts: tuple[tuple[str, int], ...], states: FloatArray, seen: FloatArray
) -> Callable[[Any], FloatArray] | None:
    """Observations as sums of the numbers of the state, their sines and cosines, if that explains all that was seen."""

    moving = np.ptp(states, axis=0) > 0

    def features(s: FloatArray, bent: bool) -> FloatArray:
        kept = s * moving
        waves = [np.sin(s) * moving, np.cos(s) * moving] if bent else []
        return np.concatenate([kept, *waves, np.ones((*s.shape[:-1], 1))], axis=-1)

    for bent in (False, True):
        weights = _regressed(features(states, bent), seen)
        if weights is not None:
            known, with_waves = weights, bent
            return lambda env: features(_joined(get(env), parts), with_waves) @ known
    return None


def _regressed(inputs: FloatArray, seen: FloatArray) -> FloatArray | None:
    half = len(inputs) * 2 // 3
    weights: FloatArray = np.asarray(np.linalg.lstsq(inputs[:half], seen[:half], rcond=1e-10)[0], dtype=np.float64)
    error = np.abs(inputs[half:] @ weights - seen[half:]).max(initial=0.0)
    if not error <= 1e-5 * (1 + np.abs(seen).max(initial=0.0)):
        return None
    weights[np.abs(weights) < 1e-6] = 0.0
    return weights
