"""The cyclic game (App. C) inside compiled code: the same boards and moves as :mod:`burnside.envs.ring.core`.

Import it where it is used: it loads numba. Cells are numbered in C order, actions are numbered in C order over
``(−2, −1, 1, 2)^d``, the agent starts at cell 0, and item codes are 0 (safe), −1 (mine), +1 (end).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from burnside._random_kernels import randint_nb, uniform_nb
from burnside._types import AnyArray

__all__ = ["item_reward", "move", "reset_board"]

_ENV = np.uint64(1)  # Stream.ENV


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
        items[c] = -1 if uniform_nb(seed, _ENV, base + np.uint64(c)) < p_mine else 0
    goal = randint_nb(seed, _ENV, base + np.uint64(cells), cells)
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
