"""Any observation as one vector of numbers, and any finite set of actions as labels: what the search works on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from burnside._types import AnyArray, FloatArray
from burnside.canonical.checking.access import reset_env, step_env
from burnside.canonical.guard import theirs
from burnside.errors import InvalidParameter
from burnside.symmetry.states import state_adapter

__all__ = ["FlatEnv", "Layout"]

_WIDEST = 2000  # numbers of an observation
_LABELS = 64  # combinations of several discrete actions that become labels


@dataclass(frozen=True)
class Layout:
    """Where the parts of an observation are in the vector.

    Attributes:
        parts: for every part its key (empty if the observation is one array), its shape, and where it begins.
        names: of all numbers.
    """

    parts: tuple[tuple[str, tuple[int, ...], int], ...]
    names: tuple[str, ...]


class FlatEnv(gym.Wrapper[Any, Any, Any, Any]):
    """The environment with observations as vectors, and actions as vectors or labels.

    >>> env = FlatEnv(gym.make("Blackjack-v1"))
    >>> env.observation_space.shape, env.layout.names
    ((3,), ('0', '1', '2'))
    """

    def __init__(self, env: Any) -> None:
        super().__init__(env)
        pieces = [(key, part.shape or (1,)) for key, part in _pieces(env.observation_space, "")]
        width = sum(int(np.prod(shape)) for _, shape in pieces)
        if not 0 < width <= _WIDEST:
            raise InvalidParameter(
                f"discovery needs observations of 1 to {_WIDEST} numbers, and {env.observation_space} has {width}"
            )
        parts: list[tuple[str, tuple[int, ...], int]] = []
        names: list[str] = []
        for key, shape in pieces:
            parts.append((key, shape, len(names)))
            names += _names(key, shape)
        self.layout = Layout(tuple(parts), self._known_names(env) or tuple(names))
        self.observation_space = _flat_box([part for _, part in _pieces(env.observation_space, "")])
        self._actions = env.action_space
        self.action_space = _flat_actions(env.action_space)

    @staticmethod
    def _known_names(env: Any) -> tuple[str, ...] | None:
        try:
            adapter = state_adapter(env)
            return None if adapter is None else adapter.names(env)
        except Exception:  # names are a courtesy; some environments cannot tell before the first reset
            return None

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """The first observation as a vector."""
        return self.flat(reset_env(self.env, options.get("seed"))), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step, with the action as the environment wants it."""
        found = step_env(self.env, self.original_action(action))
        return self.flat(found.observation), found.reward, found.terminated, found.truncated, {}

    def flat(self, observation: Any) -> FloatArray:
        """An observation as a vector."""
        values = [np.asarray(v).ravel() for v in theirs("reading an observation", self._parts, observation)]
        found = np.concatenate(values, dtype=self.observation_space.dtype, casting="unsafe")
        if found.size != len(self.layout.names):
            raise InvalidParameter(
                f"an observation has {found.size} numbers, but {self.env.observation_space} has "
                f"{len(self.layout.names)}: make the environment say what it gives"
            )
        return found

    def _parts(self, observation: Any) -> list[Any]:
        return list(_values(self.env.observation_space, observation))

    def exact(self, observation: Any) -> FloatArray:
        """The same in double precision, whatever the type of the space."""
        values = [np.asarray(v, dtype=np.float64).ravel() for v in _values(self.env.observation_space, observation)]
        return np.concatenate(values)

    def shaped(self, vector: FloatArray) -> Any:
        """A vector as an observation, in double precision where it is not made of whole numbers."""
        return _shaped(self.env.observation_space, iter(np.asarray(vector, dtype=np.float64)))

    def original_action(self, action: Any) -> Any:
        """The action in the environment's own space."""
        if isinstance(self._actions, spaces.MultiDiscrete | spaces.MultiBinary):
            sizes = _sizes(self._actions)
            return np.array(np.unravel_index(int(action), sizes), dtype=self._actions.dtype)
        if isinstance(self._actions, spaces.Box):
            return np.asarray(action, dtype=self._actions.dtype).reshape(self._actions.shape)
        return int(action) + int(getattr(self._actions, "start", 0))


def _pieces(space: Any, key: str) -> Iterator[tuple[str, Any]]:
    if isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            yield from _pieces(part, f"{key}.{name}" if key else str(name))
    elif isinstance(space, spaces.Tuple):
        for i, part in enumerate(space.spaces):
            yield from _pieces(part, f"{key}.{i}" if key else str(i))
    elif isinstance(space, spaces.Discrete | spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        yield key, space
    elif not isinstance(space, spaces.Text) and type(space).__name__ != "MissionSpace":  # words are left alone
        raise InvalidParameter(f"discovery needs observations made of numbers, not {space}")


def _flat_box(parts: list[Any]) -> Any:
    """The bounds of all parts in one box. Its type is the least precise one: what rounding explains must be known."""
    low: list[Any] = []
    high: list[Any] = []
    kinds: list[Any] = []
    for part in parts:
        if isinstance(part, spaces.Box):
            low.append(part.low.ravel())
            high.append(part.high.ravel())
            kinds.append(part.dtype)
            continue
        first = np.asarray(getattr(part, "start", 0)).ravel()
        sizes = np.asarray(part.n if isinstance(part, spaces.Discrete) else _sizes(part)).ravel()
        low.append(np.broadcast_to(first, sizes.shape))
        high.append(low[-1] + sizes - 1)
    real = [kind for kind in kinds if kind.kind == "f"]
    dtype = min(real, key=lambda kind: kind.itemsize) if real else np.dtype(np.float64)
    ends = [np.concatenate(side).astype(dtype) for side in (low, high)]
    return spaces.Box(ends[0], ends[1], dtype=dtype.type)


def _values(space: Any, x: Any) -> Iterator[Any]:
    if isinstance(space, spaces.Dict):
        for name, part in space.spaces.items():
            yield from _values(part, x[name])
    elif isinstance(space, spaces.Tuple):
        for part, value in zip(space.spaces, x, strict=True):
            yield from _values(part, value)
    elif isinstance(space, spaces.Discrete | spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        yield x


def _shaped(space: Any, numbers: Iterator[Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {name: _shaped(part, numbers) for name, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_shaped(part, numbers) for part in space.spaces)
    if isinstance(space, spaces.Discrete):
        return int(np.rint(next(numbers)))
    if not isinstance(space, spaces.Box | spaces.MultiDiscrete | spaces.MultiBinary):
        raise InvalidParameter(f"{space} is not made of numbers")
    found = np.array([next(numbers) for _ in range(int(np.prod(space.shape)))]).reshape(space.shape)
    assert space.dtype is not None
    return found if space.dtype.kind == "f" else np.rint(found).astype(space.dtype)


def _names(key: str, shape: tuple[int, ...]) -> list[str]:
    count = int(np.prod(shape))
    if count == 1 and key:
        return [key]
    prefix = key or "observation"
    return [f"{prefix}[{','.join(map(str, where))}]" for where in np.ndindex(*shape)]


def _sizes(space: Any) -> tuple[int, ...]:
    found: AnyArray = np.asarray(space.nvec if isinstance(space, spaces.MultiDiscrete) else np.full(space.shape, 2))
    return tuple(int(n) for n in found.ravel())


def _flat_actions(space: Any) -> Any:
    if isinstance(space, spaces.Discrete):
        return spaces.Discrete(int(space.n))
    if isinstance(space, spaces.Box):
        return spaces.Box(space.low.ravel(), space.high.ravel(), dtype=space.dtype)
    if isinstance(space, spaces.MultiDiscrete | spaces.MultiBinary) and len(space.shape) == 1:
        count = int(np.prod(_sizes(space)))
        if count <= _LABELS:
            return spaces.Discrete(count)
        raise InvalidParameter(f"{space} has {count} actions, and discovery takes up to {_LABELS} combinations")
    raise InvalidParameter(f"discovery needs actions that are labels or vectors of numbers, not {space}")
