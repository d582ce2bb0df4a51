"""Compiled loops of the searches: exact keys, hash tables, the heap. Import it where it is used: it loads numba.

:mod:`burnside.search.plain` has :func:`admit` in numpy.
"""

from __future__ import annotations

import numpy as np

from burnside._compiled import njit
from burnside._types import AnyArray
from burnside.search.plain import Nodes

__all__ = ["admit", "fresh_rows", "inherit", "pack", "permute_rows", "pop", "push_many", "rehash"]

_MIX_1 = np.uint64(0x9E3779B97F4A7C15)
_MIX_2 = np.uint64(0xBF58476D1CE4E5B9)
_SHIFT_1, _SHIFT_2 = np.uint64(32), np.uint64(29)
_ARITY = 4  # children of a heap entry: half the levels of a binary heap, and siblings share a cache line


@njit(cache=True, nogil=True)
def permute_rows(states: AnyArray, table: AnyArray, out: AnyArray) -> None:
    """``out[b, a, i] = states[b, table[a, i]]``."""
    for b in range(states.shape[0]):
        for a in range(table.shape[0]):
            for i in range(table.shape[1]):
                out[b, a, i] = states[b, table[a, i]]


@njit(cache=True, nogil=True)
def pack(states: AnyArray, columns: AnyArray, base: int, per_word: int, out: AnyArray) -> None:
    """The chosen columns as digits of ``out.shape[1]`` words; different rows give different words."""
    n = columns.shape[0]
    radix = np.uint64(base)
    for b in range(states.shape[0]):
        for w in range(out.shape[1]):
            word = np.uint64(0)
            for k in range(w * per_word, min((w + 1) * per_word, n)):
                word = word * radix + np.uint64(states[b, columns[k]])
            out[b, w] = word


@njit(cache=True, nogil=True, inline="always")
def _hash(key: AnyArray) -> np.uint64:
    h = _MIX_1
    for w in range(key.shape[0]):
        h = (h ^ key[w]) * _MIX_2
        h ^= h >> _SHIFT_1
    h *= _MIX_1
    return h ^ (h >> _SHIFT_2)


@njit(cache=True, nogil=True, inline="always")
def _slot(table: AnyArray, keys: AnyArray, key: AnyArray) -> np.uint64:
    """Where the key is, or the empty slot where it belongs."""
    mask = np.uint64(table.shape[0] - 1)
    at = _hash(key) & mask
    while True:
        node = table[at]
        if node < 0:
            return at
        same = True
        for w in range(key.shape[0]):
            if keys[node, w] != key[w]:
                same = False
                break
        if same:
            return at
        at = (at + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def rehash(table: AnyArray, keys: AnyArray, superseded: AnyArray, count: int) -> None:
    """Fill an empty table (−1 everywhere, a power of two long) with the nodes that are in force."""
    for node in range(count):
        if not superseded[node]:
            table[_slot(table, keys, keys[node])] = node


@njit(cache=True, nogil=True)
def admit(nodes: Nodes, offered: AnyArray, offered_keys: AnyArray, parents: AnyArray, count: int) -> int:
    """Append the children that are new or cheaper than what has their key; returns the number of nodes after that.

    ``offered[b, a]`` is the child of node ``parents[b]`` by move a. A node is never changed once it is there, so that
    the moves along its parents always lead to its own state, even if a cheaper node takes its place in the table:
    that one is appended, with ``source`` the node whose heuristic value it shares (−1: to be computed).
    """
    table, keys, depth = nodes.table, nodes.keys, nodes.depth
    for b in range(offered.shape[0]):
        g = depth[parents[b]] + 1
        for a in range(offered.shape[1]):
            key = offered_keys[b, a]
            at = _slot(table, keys, key)
            old = table[at]
            if old >= 0 and depth[old] <= g:
                continue
            if old >= 0:
                nodes.superseded[old] = True
            for i in range(offered.shape[2]):
                nodes.states[count, i] = offered[b, a, i]
            for w in range(key.shape[0]):
                keys[count, w] = key[w]
            nodes.parent[count] = parents[b]
            nodes.move[count] = a
            depth[count] = g
            nodes.source[count] = old
            nodes.superseded[count] = False
            table[at] = count
            count += 1
    return count


@njit(cache=True, nogil=True)
def inherit(h: AnyArray, source: AnyArray, first: int, count: int) -> None:
    """Give reopened nodes the heuristic of those they replace; in order, since a new one can be replaced at once."""
    for node in range(first, count):
        if source[node] >= 0:
            h[node] = h[source[node]]


@njit(cache=True, nogil=True)
def fresh_rows(before: AnyArray, offered: AnyArray, out: AnyArray) -> None:
    """Whether each offered key is neither among those before nor earlier in the list."""
    size = 16
    while size < 2 * (before.shape[0] + offered.shape[0]):
        size *= 2
    table = np.full(size, -1, dtype=np.int64)
    for node in range(before.shape[0]):
        table[_slot(table, before, before[node])] = node
    # The same slots cannot point into two arrays of keys, so the second list gets a table of its own.
    seen = np.full(size, -1, dtype=np.int64)
    for row in range(offered.shape[0]):
        out[row] = False
        if before.shape[0] and table[_slot(table, before, offered[row])] >= 0:
            continue
        at = _slot(seen, offered, offered[row])
        if seen[at] < 0:
            seen[at] = row
            out[row] = True


# ---------------------------------------------------------------------- the heap of open nodes


@njit(cache=True, nogil=True, inline="always")
def _before(rank: AnyArray, node: AnyArray, i: int, r: np.uint64, n: int) -> bool:
    """Whether entry i comes before the entry (r, n): by rank, then the older node."""
    return rank[i] < r or (rank[i] == r and node[i] < n)


@njit(cache=True, nogil=True)
def push_many(rank: AnyArray, node: AnyArray, size: int, ranks: AnyArray, first: int, superseded: AnyArray) -> int:
    """Push the nodes ``first, first + 1, …`` that are in force, with their ranks; returns the new size."""
    for k in range(ranks.shape[0]):
        n = first + k
        if superseded[n]:
            continue
        r = ranks[k]
        at = size
        size += 1
        while at > 0:
            up = (at - 1) // _ARITY
            if _before(rank, node, up, r, n):
                break
            rank[at], node[at] = rank[up], node[up]
            at = up
        rank[at], node[at] = r, n
    return size


@njit(cache=True, nogil=True)
def pop(rank: AnyArray, node: AnyArray, size: int, superseded: AnyArray, out: AnyArray) -> tuple[int, int]:
    """Pop up to ``len(out)`` nodes in force, best first; returns how many, and the new size of the heap."""
    taken = 0
    while size > 0 and taken < out.shape[0]:
        best = node[0]
        size -= 1
        r, n = rank[size], node[size]
        at = 0
        while True:
            first = _ARITY * at + 1
            if first >= size:
                break
            low = first
            for c in range(first + 1, min(first + _ARITY, size)):
                if _before(rank, node, c, rank[low], node[low]):
                    low = c
            if not _before(rank, node, low, r, n):
                break
            rank[at], node[at] = rank[low], node[low]
            at = low
        if size > 0:
            rank[at], node[at] = r, n
        if not superseded[best]:
            out[taken] = best
            taken += 1
    return taken, size
