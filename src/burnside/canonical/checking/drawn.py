"""States drawn on purpose: over the bounds of the space, near its edges, and beyond what was reached.

Only states made of numbers can be drawn. Numbers that only ever took whole values, or that no step changes, keep the
values of a state that was reached, all together: a board of a game is not mixed from two others, and a goal stays one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.canonical.base import numbers
from burnside.canonical.checking.access import SEEDS, Pair, Prober, map_floats, step_env
from burnside.canonical.checking.spaces import Numbers
from burnside.canonical.checking.tolerance import floats_of, typical

__all__ = ["declared_states", "drawable", "labels_of", "moving", "states_beyond"]

_LEAST = 8  # reached states that are needed
_TRIES = 200  # steps that show which numbers can change


def moving(prober: Prober, pairs: Sequence[Pair]) -> BoolArray | None:
    """Which floating-point numbers of a state a step can change; the rest, such as a goal, only a reset does."""
    found: BoolArray | None = None
    for pair in pairs[:: max(1, len(pairs) // _TRIES)][:_TRIES]:
        prober.place(pair.state, int(prober.rng.integers(SEEDS)))
        step_env(prober.env, pair.action)
        before, after = floats_of(pair.state), floats_of(prober.access.get(prober.env))
        if before.size == after.size:
            moved = before != after
            found = moved if found is None else found | moved if found.size == moved.size else None
    return found


def drawable(states: Sequence[Any], moves: BoolArray | None) -> BoolArray | None:
    """Which of the floating-point numbers of a state may be drawn; None if there are none, or they are not alike."""
    rows = [floats_of(state) for state in states]
    if len(rows) < _LEAST or not rows[0].size or len({row.size for row in rows}) != 1:
        return None
    table = np.stack(rows)
    with np.errstate(invalid="ignore"):
        whole = np.all(table == np.round(table), axis=0)
    varies = np.any(table != table[0], axis=0) & np.all(np.isfinite(table), axis=0)
    free = varies & ~whole
    if moves is not None and moves.size == free.size:
        free &= moves
    return free if free.any() else None


def labels_of(env: Any) -> range | None:
    """All observations of an environment that numbers them; None if it does not."""
    from gymnasium import spaces

    space = env.observation_space
    if not isinstance(space, spaces.Discrete):
        return None
    return range(int(space.start), int(space.start + space.n))


def declared_states(
    states: Sequence[Any], moves: BoolArray | None, described: Numbers, rng: np.random.Generator
) -> Iterator[Any]:
    """States without end that the observation space declares: reached ones, with bounded numbers drawn over the bounds.

    Every other one lies near the bounds. Only for environments whose observation is their state.
    """
    free = drawable(states, moves)
    if free is None or described.low.size != free.size or numbers(states[0]).size != free.size:
        return
    bounded = described.bounded & free
    if not bounded.any():
        return
    table = np.stack([floats_of(state) for state in states])
    lower, upper = np.where(bounded, described.low, 0.0), np.where(bounded, described.high, 0.0)
    for turn in itertools.count():
        base = int(rng.integers(len(table)))
        some = _some(bounded, rng)
        drawn = _near_edge(lower, upper, rng) if turn % 2 else rng.uniform(lower, upper)
        yield _filled(states[base], np.where(some, drawn, table[base]))


def states_beyond(states: Sequence[Any], moves: BoolArray | None, rng: np.random.Generator) -> Iterator[Any]:
    """States without end near and beyond the reached ones; nobody says that they can be reached.

    In turn: numbers of different states put together; a state moved at random; a state moved outwards.
    """
    free = drawable(states, moves)
    if free is None:
        return
    table = np.stack([floats_of(state) for state in states])
    low, high = table.min(axis=0), table.max(axis=0)
    spread, middle, width = typical(table), (low + high) / 2, high - low
    for turn in itertools.count():
        base = int(rng.integers(len(table)))
        values, some, noise = table[base], _some(free, rng), rng.standard_normal(free.size)
        if turn % 3 == 0:
            drawn = table[rng.integers(len(table), size=free.size), np.arange(free.size)]
        elif turn % 3 == 1:
            drawn = values + 0.5 * spread * noise
        else:
            drawn = middle + rng.uniform(1, 3) * (values - middle) + 0.1 * width * noise
        yield _filled(states[base], np.where(some, drawn, values))


def _some(free: BoolArray, rng: np.random.Generator) -> BoolArray:
    """Some of the numbers that may be drawn, or all."""
    found = free & (rng.random(free.size) < rng.choice([0.3, 0.7, 1.0]))
    return found if found.any() else free


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
