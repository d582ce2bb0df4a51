"""States drawn on purpose: over the bounds of the space, near its edges, and beyond what was reached.

Only states made of numbers can be drawn. Numbers that only ever took whole values keep the values of a state that was
reached, all together, and numbers that never changed stay as they are: a board of a game is not mixed from two others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.canonical.base import numbers
from burnside.canonical.checking.access import map_floats
from burnside.canonical.checking.spaces import Numbers
from burnside.canonical.checking.tolerance import floats_of, typical

__all__ = ["drawable", "drawn_states", "labels_of"]

_LEAST = 8  # reached states that are needed


def drawable(states: Sequence[Any]) -> BoolArray | None:
    """Which of the floating-point numbers of a state may be drawn; None if there are none, or they are not alike."""
    rows = [floats_of(state) for state in states]
    if len(rows) < _LEAST or not rows[0].size or len({row.size for row in rows}) != 1:
        return None
    table = np.stack(rows)
    with np.errstate(invalid="ignore"):
        whole = np.all(table == np.round(table), axis=0)
    varies = np.any(table != table[0], axis=0) & np.all(np.isfinite(table), axis=0)
    free = varies & ~whole
    return free if free.any() else None


def labels_of(env: Any) -> range | None:
    """All observations of an environment that numbers them; None if it does not."""
    from gymnasium import spaces

    space = env.observation_space
    if not isinstance(space, spaces.Discrete):
        return None
    return range(int(space.start), int(space.start + space.n))


def drawn_states(states: Sequence[Any], described: Numbers | None, rng: np.random.Generator) -> Iterator[Any]:
    """States without end, made from reached ones.

    ``described`` are the bounds of the observation, where the observation is the state. In turn: numbers drawn over
    their bounds; numbers near their bounds; numbers of different states put together; a state moved at random; a state
    moved outwards.
    """
    free = drawable(states)
    if free is None:
        return
    table = np.stack([floats_of(state) for state in states])
    low, high = table.min(axis=0), table.max(axis=0)
    spread = typical(table)
    bounded = np.zeros(free.size, dtype=np.bool_)
    lower, upper = low.copy(), high.copy()
    if described is not None and described.low.size == free.size == numbers(states[0]).size:
        bounded = described.bounded & free
        lower, upper = np.where(bounded, described.low, low), np.where(bounded, described.high, high)
    middle, width = (low + high) / 2, high - low
    turn = 0
    while True:
        base = int(rng.integers(len(table)))
        kind = turn % 5
        turn += 1
        values = table[base].copy()
        some = free & (rng.random(free.size) < rng.choice([0.3, 0.7, 1.0]))
        if not some.any():
            some = free
        if kind == 0:
            uniform = rng.uniform(lower, upper)
            values = np.where(
                some & bounded, uniform, np.where(some & ~bounded, middle + 2 * (uniform - middle), values)
            )
        elif kind == 1:
            values = np.where(some, _near_edge(lower, upper, rng), values)
        elif kind == 2:
            other = table[rng.integers(len(table), size=free.size), np.arange(free.size)]
            values = np.where(some, other, values)
        elif kind == 3:
            values = np.where(some, values + 0.5 * spread * rng.standard_normal(free.size), values)
        else:
            values = np.where(
                some,
                middle + rng.uniform(1, 3) * (values - middle) + 0.1 * width * rng.standard_normal(free.size),
                values,
            )
        inside = np.where(bounded, np.clip(values, lower, upper), values)
        yield _filled(states[base], inside)


def _near_edge(lower: FloatArray, upper: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Just inside a bound, by a part of the width between a millionth and a tenth: on it rounding would decide."""
    inward = (upper - lower) * 10.0 ** rng.uniform(-6, -1, lower.size)
    return np.where(rng.random(lower.size) < 0.5, lower + inward, upper - inward)


def _filled(state: Any, values: FloatArray) -> Any:
    """The state with these numbers in the place of its floating-point ones."""
    at = 0

    def put(leaf: Any) -> Any:
        nonlocal at
        old = np.asarray(leaf)
        new = values[at : at + old.size].reshape(old.shape).astype(old.dtype)
        at += old.size
        return new[()]

    return map_floats(put, state)
