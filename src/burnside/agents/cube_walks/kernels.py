"""Compiled loops: walks, and smallest images. Import it where it is used: it loads numba."""

from __future__ import annotations

import numpy as np

from burnside._compiled import njit
from burnside._random_kernels import ENV, randint_nb
from burnside._types import AnyArray
from burnside.agents.cube_walks.walks import Walks, WalkTables

__all__ = ["smallest_placements", "walk_states"]

#: Random numbers set aside for a walk.
STRIDE = 256


@njit(cache=True, nogil=True)
def walk_states(world: WalkTables, seed: int, first: int, longest: int, out: Walks) -> None:
    """Walks number ``first``, ``first + 1``, …: where they end (in the order of the places), turns and lengths.

    Turn ``2k + 1`` undoes turn ``2k``. The plain twin is :func:`burnside.agents.cube_walks.walks.plain_walks`.
    """
    goals, on_turns, place_of = world
    rows = out.states
    moves, pieces = on_turns.shape[0], goals.shape[1]
    current = np.empty(pieces, dtype=np.uint16)
    for b in range(rows.shape[0]):
        base = np.uint64(first + b) * np.uint64(STRIDE)
        length = 1 + randint_nb(seed, ENV, base, longest)
        goal = randint_nb(seed, ENV, base + np.uint64(1), goals.shape[0])
        current[:] = goals[goal]
        turn = 0
        for t in range(length):
            number = base + np.uint64(2 + t)
            if t == 0:
                turn = randint_nb(seed, ENV, number, moves)
                out.first[b] = turn
            else:
                back = turn ^ 1
                turn = randint_nb(seed, ENV, number, moves - 1)
                turn += turn >= back
            table = on_turns[turn]
            for p in range(pieces):
                current[p] = table[current[p]]
        out.last[b] = turn
        out.lengths[b] = length
        for p in range(pieces):
            rows[b, place_of[current[p]]] = current[p]


@njit(cache=True, nogil=True)
def smallest_placements(rows: AnyArray, images: AnyArray, sources: AnyArray, out: AnyArray, chosen: AnyArray) -> None:
    """The first g with the lexicographically smallest image of every state, and that image.

    ``rows`` are in the order of the places, ``images[g, k]`` is the placement g·k, and what comes to place p was at
    place ``sources[g, p]``.
    """
    elements, pieces = sources.shape
    for b in range(rows.shape[0]):
        state = rows[b]
        best = 0
        for g in range(1, elements):
            for p in range(pieces):
                one = images[g, state[sources[g, p]]]
                other = images[best, state[sources[best, p]]]
                if one != other:
                    if one < other:
                        best = g
                    break
        chosen[b] = best
        for p in range(pieces):
            out[b, p] = images[best, state[sources[best, p]]]
