"""The cyclic game (App. C) inside compiled code: the same boards and moves as :mod:`burnside.envs.ring.core`.

Import it where it is used: it loads numba. Cells are numbered in C order, actions are numbered in C order over
``(−2, −1, 1, 2)^d``, the agent starts at cell 0, and item codes are 0 (safe), −1 (mine), +1 (end).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._compiled import njit
from burnside._random_kernels import AUGMENT, ENV, randint_nb, uniform_nb
from burnside._types import AnyArray

__all__ = ["item_reward", "move", "reset_board", "seen_board"]


@njit(cache=True, nogil=True)
def reset_board(items: AnyArray, seed: Any, episode: Any, p_mine: float) -> int:
    """Fill ``items`` (int8, one code per cell) with the board of an episode and return the cell of the goal.

    Cell c is mined if the number with counter ``episode·(cells+1) + c`` of stream ENV is below ``p_mine``; the last
    counter of the episode draws the goal. The goal may be cell 0, where the agent starts: it must then leave it and
    come back, for an episode ends only on entering the goal.
    """
    cells = items.shape[0]
    base = np.uint64(episode) * np.uint64(cells + 1)
    for c in range(cells):
        items[c] = -1 if uniform_nb(seed, ENV, base + np.uint64(c)) < p_mine else 0
    goal = randint_nb(seed, ENV, base + np.uint64(cells), cells)
    items[goal] = 1
    return goal


@njit(cache=True, nogil=True)
def move(pos: int, action: int, n: int, d: int) -> int:
    """The cell after an action: digit k of the action in base 4 (most significant first) moves along axis k."""
    out = 0
    scale = 1
    for _ in range(d):  # last axis first: it is the least significant digit of both numbers
        digit = action % 4
        step = digit - 2 if digit < 2 else digit - 1  # 0, 1, 2, 3 → −2, −1, 1, 2
        out += scale * ((pos % n + step + n) % n)
        pos //= n
        action //= 4
        scale *= n
    return out


@njit(cache=True, nogil=True)
def item_reward(code: int, end_reward: float) -> float:
    """The reward of entering a cell: 0, −1 or the end reward."""
    return end_reward if code > 0 else np.float64(code)


@njit(cache=True, nogil=True)
def translated(cell: int, by: int, n: int, d: int, sign: int) -> int:
    """The cell reached from ``cell`` by ``sign`` times the coordinates of ``by``, axis by axis."""
    out = 0
    scale = 1
    for _ in range(d):
        out += scale * ((cell % n + sign * (by % n) + n) % n)
        cell //= n
        by //= n
        scale *= n
    return out


@njit(cache=True, nogil=True)
def seen_board(
    items: AnyArray, board: AnyArray, n: int, d: int, p_mine: float, arm: int, seed: Any, episode: Any
) -> int:
    """Write the board of an episode as an arm sees it into ``board``; returns where the agent starts.

    The plain twin is :func:`burnside.canonical.batched.with_arm`; ``items`` is scratch. An arm is a translation of
    the whole game, chosen at reset: none (0), the one that brings the goal to the origin (1), a random one (2).
    """
    goal = reset_board(items, seed, episode, p_mine)
    shift = 0
    if arm == 1:
        shift = translated(0, goal, n, d, -1)
    elif arm == 2:
        shift = randint_nb(seed, AUGMENT, episode, items.shape[0])
    for c in range(items.shape[0]):
        board[translated(c, shift, n, d, 1)] = items[c]
    return shift
