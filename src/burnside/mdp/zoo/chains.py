"""Chains: symmetric RiverSwim and its product, DeepSea as the control without symmetry."""

from __future__ import annotations

import itertools
import math

import numpy as np

from burnside.errors import InvalidParameter, ModelTooLarge
from burnside.mdp.build import MOST_STATES, from_step
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP

__all__ = ["deep_sea", "river", "river_product"]

#: Swimming against the current: advance, hold, be swept back.
_SWIM = (0.35, 0.6, 0.05)


def _few_enough(what: str, states: int) -> None:
    """These models are built state by state: two million of them are a minute and a gigabyte."""
    if states > MOST_STATES:
        raise ModelTooLarge(f"{what} has {states:.3g} states, more than {MOST_STATES}: make it smaller")


def river(length: int = 5, *, horizon: int | None = None) -> TabularMDP:
    """Symmetric RiverSwim: cells −length…length, start in the middle, currents flow towards it from both sides.

    Swimming outwards mostly fails (advance 0.35, hold 0.6, swept back 0.05), inwards is free. Either end pays 1 per
    step of outward swimming, the middle 0.01. The reflection swaps left and right.

    >>> river(5).symmetry("Z2").burnside_counts()
    (6, 11)
    """
    if length < 1:
        raise InvalidParameter(f"the river needs length ≥ 1, got {length}")
    _few_enough(f"river(length={length})", 2 * length + 1)

    def step(s: int, a: int) -> list[tuple[float, int, float]]:
        if s * a < 0:
            return [(1.0, s + a, 0.0)]
        reward = 1.0 if abs(s) == length else 0.01 if s == 0 else 0.0
        further = s + a if abs(s + a) <= length else s
        back = s - a if s else s
        return [(p, c, reward) for p, c in zip(_SWIM, (further, s, back), strict=True)]

    cells = range(-length, length + 1)
    mdp = from_step(
        cells,
        lambda s: (-1, 1),
        step,
        horizon if horizon is not None else 4 * length,
        p0={0: 1.0},
        name=f"river(length={length})",
        action_names=["left", "right"],
    )
    mirror = np.arange(2 * length + 1)[::-1]
    mdp.symmetries["Z2"] = lambda m: Symmetry.from_actions(m, mirror[None], [[1, 0]], name="Z2", order=2)
    return mdp


def river_product(chains: int = 3, length: int = 4, *, horizon: int | None = None) -> TabularMDP:
    """Several RiverSwim chains side by side; an action swims up in one of them while all others drift down.

    The reward is the share of chains at their upper end. ``S`` permutes the chains, and the actions with them.

    >>> river_product().symmetry("S").burnside_counts()
    (20, 40)
    """
    if chains < 2 or length < 2 or chains * math.log2(length) > 60 or length**chains > 100_000:
        raise InvalidParameter(
            f"the product needs chains ≥ 2 and length ≥ 2 with at most 100 000 states, got {chains}, {length}"
        )

    def step(s: tuple[int, ...], a: int) -> list[tuple[float, tuple[int, ...], float]]:
        drift = [max(x - 1, 0) for x in s]
        outcomes: dict[tuple[int, ...], float] = {}
        for p, move in zip(_SWIM, (1, 0, -1), strict=True):
            moved = list(drift)
            moved[a] = min(max(s[a] + move, 0), length - 1)
            key = tuple(moved)
            outcomes[key] = outcomes.get(key, 0.0) + p
        reward = sum(x == length - 1 for x in s) / chains
        return [(p, c, reward) for c, p in outcomes.items()]

    states = list(itertools.product(range(length), repeat=chains))
    mdp = from_step(
        states,
        lambda s: range(chains),
        step,
        horizon if horizon is not None else 4 * length,
        name=f"river-product(chains={chains}, length={length})",
        action_names=[f"swim {i}" for i in range(chains)],
    )
    index = {s: i for i, s in enumerate(states)}
    orders = [np.roll(np.arange(chains), 1), np.array([1, 0, *range(2, chains)])][0 if chains > 2 else 1 :]

    def images(g: np.ndarray) -> list[int]:
        back = np.argsort(g)
        return [index[tuple(s[int(back[i])] for i in range(chains))] for s in states]

    mdp.symmetries["S"] = lambda m: Symmetry.from_actions(
        m, [images(g) for g in orders], np.array(orders), name=f"S{chains}", order=math.factorial(chains)
    )
    return mdp


def deep_sea(n: int = 6) -> TabularMDP:
    """DeepSea: dive one row per step, left or right; only the far corner pays. It has no symmetry: the control.

    Moving right costs ``0.01/n``; reaching the last cell of the last row by moving right pays 1.

    >>> from burnside.mdp import discover
    >>> discover(deep_sea(4)).order
    1
    """
    if n < 2:
        raise InvalidParameter(f"DeepSea needs n ≥ 2 rows, got {n}")
    _few_enough(f"deep-sea(n={n})", n * (n + 1) // 2 + 1)

    def step(s: tuple[int, int], a: int) -> list[tuple[float, tuple[int, int], float]]:
        row, column = s
        if row == n:
            return [(1.0, s, 0.0)]
        cost = -0.01 / n if a == 1 else 0.0
        prize = 1.0 if a == 1 and row == n - 1 and column == n - 1 else 0.0
        aim = min(max(column + (1 if a else -1), 0), n - 1)
        return [(1.0, (n, 0) if row == n - 1 else (row + 1, aim), cost + prize)]

    return from_step(
        [(0, 0)],
        lambda s: (0, 1) if s[0] < n else (0,),
        step,
        n,
        name=f"deep-sea(n={n})",
        action_names=["left", "right"],
    )
