"""Compiled loops of the policy beam and of the endgame table. Import it where it is used: it loads numba.

A state is a set of placements, and its key the exclusive or of a random word for each of them: 64 bits, so that two of
the million states of a search have the same one with probability 10⁻⁷. A solution is replayed before it is believed.
:mod:`burnside.search.plain` has :func:`best_children` in numpy.
"""

from __future__ import annotations

import numpy as np

from burnside._compiled import njit
from burnside._types import AnyArray
from burnside.search.plain import Children, Layer

__all__ = ["best_children", "class_keys", "find", "grow", "insert_all", "next_layer", "state_keys"]

_EMPTY = np.uint64(0)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def state_keys(states: AnyArray, words: AnyArray, out: AnyArray) -> None:
    """The keys of states."""
    for b in range(states.shape[0]):
        key = np.uint64(0)
        for p in range(states.shape[1]):
            key ^= words[states[b, p]]
        out[b] = key


@njit(cache=True, nogil=True)
def class_keys(states: AnyArray, words: AnyArray, out: AnyArray) -> None:
    """For each state the smallest key among its images: ``words[k, g]`` is the word of the placement g·k."""
    images = words.shape[1]
    keys = np.empty(images, dtype=np.uint64)
    for b in range(states.shape[0]):
        keys[:] = np.uint64(0)
        for p in range(states.shape[1]):
            row = words[states[b, p]]
            for g in range(images):
                keys[g] ^= row[g]
        least = keys[0]
        for g in range(1, images):
            least = min(least, keys[g])
        out[b] = least


@njit(cache=True, nogil=True, inline="always")
def _slot(table: AnyArray, key: np.uint64) -> np.uint64:
    """Where a key is in a table of keys, or the empty slot where it belongs; 0 marks an empty one."""
    mask = np.uint64(table.shape[0] - 1)
    at = ((key * _SPREAD) >> _HALF) & mask
    while table[at] != _EMPTY and table[at] != key:
        at = (at + np.uint64(1)) & mask
    return at


@njit(cache=True, nogil=True)
def find(table: AnyArray, values: AnyArray, keys: AnyArray, out: AnyArray) -> None:
    """The value of every key, −1 for those that are not in the table."""
    for b in range(keys.shape[0]):
        at = _slot(table, keys[b])
        out[b] = values[at] if table[at] == keys[b] else -1


@njit(cache=True, nogil=True)
def insert_all(table: AnyArray, values: AnyArray, keys: AnyArray, value: int, fresh: AnyArray) -> int:
    """Insert keys that are new, with a value; ``fresh`` says which were; returns how many."""
    count = 0
    for b in range(keys.shape[0]):
        at = _slot(table, keys[b])
        fresh[b] = table[at] != keys[b]
        if fresh[b]:
            table[at] = keys[b]
            values[at] = value
            count += 1
    return count


@njit(cache=True, nogil=True)
def grow(table: AnyArray, larger: AnyArray) -> None:
    """Copy the keys of a table into a larger, empty one."""
    for k in range(table.shape[0]):
        if table[k] != _EMPTY:
            larger[_slot(larger, table[k])] = table[k]


@njit(cache=True, nogil=True)
def best_children(
    layer: Layer, order: AnyArray, moves: AnyArray, words: AnyArray, seen: AnyArray, kept: int, out: Children
) -> int:
    """Walk through candidates ``parent · moves + move`` from the best on; append what is new while there is room.

    ``kept`` is how many children there are already; returns how many there are then.
    """
    states, parent, move = layer.states, out.parent, out.move
    choices, pieces, width = moves.shape[0], states.shape[1], parent.shape[0]
    for t in range(order.shape[0]):
        if kept == width:
            break
        candidate = order[t]
        b, a = candidate // choices, candidate % choices
        key = np.uint64(0)
        state, table = states[b], moves[a]
        for p in range(pieces):
            key ^= words[table[state[p]]]
        at = _slot(seen, key)
        if seen[at] == key:
            continue
        seen[at] = key
        parent[kept], move[kept] = b, a
        out.scores[kept] = layer.scores[b] + layer.logs[b, a]
        kept += 1
    return kept


@njit(cache=True, nogil=True)
def next_layer(states: AnyArray, moves: AnyArray, parent: AnyArray, move: AnyArray, out: AnyArray) -> None:
    """The children that were kept."""
    for k in range(parent.shape[0]):
        state, table = states[parent[k]], moves[move[k]]
        for p in range(states.shape[1]):
            out[k, p] = table[state[p]]
