"""What the spaces of an environment say: names and bounds of the numbers, what lies inside, which actions to try."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.canonical.base import numbers, standard
from burnside.canonical.checking.access import plain_action
from burnside.errors import InvalidParameter
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["Actions", "Numbers", "describe", "image_action", "inside", "special_actions"]

_MANY_ACTIONS = 512  # numbered actions that are all tried
_SPECIAL = 64  # others that are tried on purpose: zeros, extremes, corners


# ---------------------------------------------------------------------- the numbers of an observation


@dataclass(frozen=True)
class Numbers:
    """The numbers of an observation, in the order of :func:`~burnside.canonical.base.numbers`.

    Attributes:
        names: what each is called.
        low: bounds of the space, −∞ where there are none.
        high: the same from above.
        label: whether the number is a label, of which only equality means something.
    """

    names: tuple[str, ...]
    low: FloatArray
    high: FloatArray
    label: BoolArray

    @property
    def bounded(self) -> BoolArray:
        """Which numbers have finite bounds that are not labels."""
        with np.errstate(over="ignore"):
            width = self.high - self.low
        return np.isfinite(width) & (width > 0) & (width < 1e30) & ~self.label  # some write ∞ as the largest float32


def describe(env: Any, seen: Any, names: Sequence[str] | None) -> Numbers:
    """The numbers of an observation, from its space; from an example, if the space tells nothing.

    >>> import gymnasium as gym
    >>> describe(gym.make("CartPole-v1"), np.zeros(4), None).names[2]
    'observation[2]'
    """
    size = numbers(seen).size
    parts = _parts(env.observation_space, "")
    rows = None if parts is None else [row for part in parts for row in part]
    if rows is None or len(rows) != size:
        rows = [(f"[{k}]", -np.inf, np.inf, False) for k in range(size)]
    called = list(_structured(env, size) or [_called(name) for name, *_ in rows])
    if names is not None:
        if len(names) != size or not all(isinstance(name, str) for name in names):
            raise InvalidParameter(
                f"names must be the {size} names of the numbers of an observation, got {len(names)} of them"
            )
        called = list(names)
    return Numbers(
        tuple(called),
        np.array([row[1] for row in rows], dtype=np.float64),
        np.array([row[2] for row in rows], dtype=np.float64),
        np.array([row[3] for row in rows], dtype=np.bool_),
    )


def _called(name: str) -> str:
    return "observation" + name if not name or name.startswith("[") else name


Row = tuple[str, float, float, bool]


def _parts(space: Any, name: str) -> list[list[Row]] | None:
    """The rows of every part of a space; None if one of them is of an unknown kind."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        inner = [(space.spaces[key], f"{name}.{key}".lstrip(".")) for key in sorted(space.spaces, key=str)]
    elif isinstance(space, spaces.Tuple):
        inner = [(part, f"{name}[{k}]") for k, part in enumerate(space.spaces)]
    else:
        leaf = _leaf(space, name)
        return None if leaf is None else [leaf]
    found: list[list[Row]] = []
    for part, called in inner:
        rows = _parts(part, called)
        if rows is None:
            return None
        found += rows
    return found


def _leaf(space: Any, name: str) -> list[Row] | None:
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        return [(name, float(space.start), float(space.start + space.n - 1), True)]
    if isinstance(space, spaces.MultiDiscrete):
        low = np.broadcast_to(getattr(space, "start", 0), space.nvec.shape)
        return _rows(name, low, low + space.nvec - 1, True)
    if isinstance(space, spaces.MultiBinary):
        return _rows(name, np.zeros(space.shape), np.ones(space.shape), True)
    if isinstance(space, spaces.Box):
        return _rows(name, space.low, space.high, False)
    return None


def _rows(name: str, low: Any, high: Any, label: bool) -> list[Row]:
    shape = np.shape(low)
    places = [""] if not shape else [f"[{','.join(map(str, index))}]" for index in np.ndindex(*shape)]
    lows, highs = np.ravel(low).astype(np.float64), np.ravel(high).astype(np.float64)
    return [(name + at, float(a), float(b), label) for at, a, b in zip(places, lows, highs, strict=True)]


def _structured(env: Any, size: int) -> list[str] | None:
    """Names from Gymnasium's ``observation_structure``: how many numbers of each kind there are."""
    found = getattr(env.unwrapped, "observation_structure", None)
    if not isinstance(found, dict) or not all(isinstance(n, int | np.integer) for n in found.values()):
        return None
    parts = {key: int(n) for key, n in found.items() if not str(key).startswith("skipped") and n > 0}
    names = [f"{key}[{k}]" if n > 1 else str(key) for key, n in parts.items() for k in range(n)]
    return names if len(names) == size else None


# ---------------------------------------------------------------------- inside or not


def inside(space: Any, x: Any, slack: float = 1e-6) -> bool:
    """Whether something lies in a space, whatever its type; numbers may exceed bounds by rounding.

    >>> import gymnasium as gym
    >>> box = gym.spaces.Box(-1, 1, (2,), np.float32)
    >>> inside(box, [1.0 + 1e-9, 0]), inside(box, [1.1, 0]), inside(gym.spaces.Discrete(3), 2.0)
    (True, False, True)
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return (
            isinstance(x, dict)
            and x.keys() == space.spaces.keys()
            and all(inside(part, x[key], slack) for key, part in space.spaces.items())
        )
    if isinstance(space, spaces.Tuple):
        return (
            isinstance(x, tuple | list)
            and len(x) == len(space.spaces)
            and all(inside(part, value, slack) for part, value in zip(space.spaces, x, strict=True))
        )
    found = standard(x)
    kind = type(space)
    if kind not in (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary):
        # an unknown kind of space, or a box with a rule of its own
        return bool(space.contains(x)) or bool(space.contains(plain_action(space, x)))
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "biuf" or found.shape != (space.shape or ()):
        return False
    if kind is not spaces.Box:
        rows = _leaf(space, "") or []
        value = found.ravel().astype(np.float64)
        return all(v == round(v) and row[1] <= v <= row[2] for v, row in zip(value.tolist(), rows, strict=True))
    low, high = space.low, space.high
    if bool(np.all((found >= low) & (found <= high))):
        return True
    value, low, high = found.astype(np.float64), low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        width = high - low
        room = slack * np.where(np.isfinite(width), np.maximum(width, 0), 0)
        room = room + 4 * precision_of(space.dtype) * np.maximum(np.abs(low), np.abs(high))
    room = np.where(np.isfinite(room), room, 0.0)
    return bool(np.all((value >= low - room) & (value <= high + room)))


def precision_of(dtype: Any) -> float:
    """The relative rounding error of a type, 0 for integers."""
    return float(np.finfo(dtype).eps) if np.dtype(dtype).kind == "f" else 0.0


# ---------------------------------------------------------------------- actions


def image_action(space: Any, symmetry: EnvSymmetry, g: Any, action: Any) -> Any:
    """The image of an action in the types of the space, where rounding does not carry it over a bound."""
    from gymnasium import spaces

    found = plain_action(space, symmetry.act_on_action(g, action))
    if type(space) is spaces.Box and inside(space, found):
        return np.clip(found, space.low, space.high)
    return found


def special_actions(space: Any, rng: np.random.Generator) -> list[Any]:
    """Actions that chance rarely takes: every numbered one, zeros, extremes and corners of boxes.

    >>> import gymnasium as gym
    >>> special_actions(gym.spaces.Discrete(3), np.random.default_rng(0))
    [0, 1, 2]
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        first, count = int(space.start), int(space.n)
        if count <= _MANY_ACTIONS:
            return list(range(first, first + count))
        drawn = rng.choice(count, _MANY_ACTIONS - 2, replace=False)
        return [first, first + count - 1, *(first + int(k) for k in drawn)]
    if isinstance(space, spaces.Tuple | spaces.Dict):
        return _combined(space, rng)
    if isinstance(space, spaces.MultiDiscrete):
        return [a for a in _grid(space, rng) if space.contains(a)]
    if isinstance(space, spaces.MultiBinary):
        bits = [rng.integers(0, 2, space.shape).astype(space.dtype) for _ in range(_SPECIAL)]
        return [np.zeros(space.shape, space.dtype), np.ones(space.shape, space.dtype), *bits]
    if isinstance(space, spaces.Box):
        return [a for a in _extremes(space, rng) if space.contains(a)]
    return []


def _grid(space: Any, rng: np.random.Generator) -> list[Any]:
    sizes = space.nvec.ravel()
    start = np.broadcast_to(getattr(space, "start", 0), space.nvec.shape)
    if np.prod(sizes.astype(np.float64)) <= _MANY_ACTIONS:
        cells = list(itertools.product(*(range(int(n)) for n in sizes)))
    else:
        cells = [tuple(rng.integers(0, sizes)) for _ in range(_MANY_ACTIONS)]
    return [(np.array(cell).reshape(space.nvec.shape) + start).astype(space.dtype) for cell in cells]


def _extremes(space: Any, rng: np.random.Generator) -> list[Any]:
    low, high = (np.asarray(bound, dtype=np.float64).ravel() for bound in (space.low, space.high))
    finite = np.isfinite(low) & np.isfinite(high) & (np.abs(low) < 1e30) & (np.abs(high) < 1e30)
    low, high = np.where(finite, low, -1.0), np.where(finite, high, 1.0)
    middle = np.clip(np.zeros(low.size), low, high)
    rows = [middle, low, high]
    for k in rng.permutation(low.size)[: _SPECIAL // 4]:
        for bound in (low, high):
            row = middle.copy()
            row[k] = bound[k]
            rows.append(row)
    corners = (
        np.array(list(itertools.product((0, 1), repeat=low.size)))
        if low.size <= 4
        else rng.integers(0, 2, (_SPECIAL // 4, low.size))
    )
    rows += [np.where(corner, high, low) for corner in corners]
    return [row.reshape(space.shape).astype(space.dtype) for row in rows]


def _combined(space: Any, rng: np.random.Generator) -> list[Any]:
    from gymnasium import spaces

    keyed = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
    parts = {key: special_actions(part, rng) or [part.sample()] for key, part in keyed}
    found = []
    for k in range(max(_SPECIAL, *(len(part) for part in parts.values()))):
        chosen = {key: part[k % len(part) if k % 2 else int(rng.integers(len(part)))] for key, part in parts.items()}
        found.append(chosen if isinstance(space, spaces.Dict) else tuple(chosen.values()))
    return found


class Actions:
    """Actions to try: random ones and, in turn, special ones."""

    def __init__(self, space: Any, rng: np.random.Generator) -> None:
        self.space, self.rng = space, rng
        space.seed(int(rng.integers(2**31)))
        self.special = special_actions(space, rng)
        rng.shuffle(self.special)
        self._turn = 0

    def random(self) -> Any:
        """A random action of the space."""
        return self.space.sample()

    def next(self) -> Any:
        """Every other one a special action, each in its turn."""
        self._turn += 1
        if not self.special or self._turn % 2:
            return self.random()
        return self.special[self._turn // 2 % len(self.special)]
