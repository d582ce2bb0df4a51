"""Compiled loops of the cube: smallest images, the search at n = 2. Import it where it is used: it loads numba."""

from __future__ import annotations

import numpy as np

from burnside._compiled import njit
from burnside._types import AnyArray

__all__ = ["index_two", "search_two", "smallest_image"]


@njit(cache=True, nogil=True)
def smallest_image(states: AnyArray, perms: AnyArray, colours: AnyArray, out: AnyArray, chosen: AnyArray) -> None:
    """For each row, the first g with the lexicographically smallest ``colours[g][state[perms[g]]]``, and that image.

    Most elements lose at the first sticker and the rest within a few, so no image but the winner is ever formed: that
    makes it faster than keys from matrix products. With outer turns 54 stickers would do for any n, but comparing all
    costs nothing where the images differ, and is exact for every colouring. (Keeping a list of the elements left after
    each sticker, without branches that depend on the data, was no faster: 6.9 against 7.0 million states/s at n = 3.)
    """
    n_elements, n_stickers = perms.shape
    for b in range(states.shape[0]):
        state = states[b]
        best = 0
        lead = colours[0, state[perms[0, 0]]]
        for g in range(1, n_elements):
            value = colours[g, state[perms[g, 0]]]
            if value > lead:
                continue
            if value < lead:
                best, lead = g, value
                continue
            for k in range(1, n_stickers):
                one = colours[g, state[perms[g, k]]]
                other = colours[best, state[perms[best, k]]]
                if one != other:
                    if one < other:
                        best = g
                    break
        chosen[b] = best
        for i in range(n_stickers):
            out[b, i] = colours[best, state[perms[best, i]]]


@njit(cache=True, nogil=True)
def index_two(
    states: AnyArray, places: AnyArray, pieces: AnyArray, turned: AnyArray, perms: AnyArray, out: AnyArray
) -> None:
    """Numbers of 2-cubes up to rotation: permutation of seven corners times orientation of six.

    ``places[c]`` are the three stickers of corner c, ``pieces[36a + 6b + c]`` the piece (3·corner + twist) with those
    colours, ``turned[3·corner + twist]`` the rotation that brings piece 7 home from there. Failures are negative:
    −1 no such piece, −2 a piece twice, −3 one corner twisted.
    """
    view = np.empty(24, dtype=np.int64)
    order = np.empty(7, dtype=np.int64)
    for b in range(states.shape[0]):
        state = states[b]
        out[b] = 0
        rotation = -1
        seen = 0
        for c in range(8):
            a, d, e = places[c, 0], places[c, 1], places[c, 2]
            piece = pieces[36 * state[a] + 6 * state[d] + state[e]]
            if piece < 0:
                out[b] = -1
                break
            seen |= 1 << (piece // 3)
            if piece // 3 == 7:
                rotation = turned[3 * c + piece % 3]
        if out[b] < 0:
            continue
        if seen != 255:
            out[b] = -2
            continue
        for i in range(24):
            view[i] = state[perms[rotation, i]]
        twist = 0
        total = 0
        for c in range(7):
            piece = pieces[36 * view[places[c, 0]] + 6 * view[places[c, 1]] + view[places[c, 2]]]
            order[c] = piece // 3
            total += piece % 3
            if c < 6:
                twist = 3 * twist + piece % 3
        if total % 3:
            out[b] = -3
            continue
        rank = 0
        for c in range(7):
            smaller = 0
            for d in range(c + 1, 7):
                if order[d] < order[c]:
                    smaller += 1
            rank = rank * (7 - c) + smaller
        out[b] = 729 * rank + twist


@njit(cache=True, nogil=True)
def search_two(permuted: AnyArray, twisted: AnyArray, start: int) -> AnyArray:
    """Distances from ``start`` over states ``729·p + t``, by layers; ``permuted[p, a]`` and ``twisted[t, a]``."""
    size = permuted.shape[0] * twisted.shape[0]
    distance = np.full(size, -1, dtype=np.int8)
    queue = np.empty(size, dtype=np.int32)
    distance[start] = 0
    queue[0] = start
    head, tail = 0, 1
    while head < tail:
        current = queue[head]
        head += 1
        p, t = current // 729, current % 729
        after = distance[current] + 1
        for a in range(permuted.shape[1]):
            child = 729 * permuted[p, a] + twisted[t, a]
            if distance[child] < 0:
                distance[child] = after
                queue[tail] = child
                tail += 1
    return distance
