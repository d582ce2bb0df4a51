"""The compiled loops of the groups layer (numba). Import this module only inside functions: it costs ~0.5
s."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._compiled import njit
from burnside._types import AnyArray, IntArray

__all__ = [
    "carry",
    "check_cayley",
    "enumerate_elements",
    "fix_counts",
    "lookup",
    "orbit_labels",
    "schreier_tree",
]


@njit(cache=True)
def orbit_labels(perms: AnyArray, labels: IntArray) -> int:
    """Union-find in place: ``labels`` ends as contiguous orbit numbers, ordered by smallest member."""
    k, n = perms.shape
    for i in range(n):
        labels[i] = i
    for j in range(k):
        for i in range(n):
            a = i
            while labels[a] != a:
                labels[a] = labels[labels[a]]
                a = labels[a]
            b = perms[j, i]
            while labels[b] != b:
                labels[b] = labels[labels[b]]
                b = labels[b]
            # The smaller index becomes the root, so that parents never exceed children (used just below).
            if a < b:
                labels[b] = a
            elif b < a:
                labels[a] = b
    count = 0
    for i in range(n):
        p = labels[i]
        if p == i:
            labels[i] = count
            count += 1
        else:
            labels[i] = labels[p]  # p < i: already a label
    return count


@njit(cache=True)
def schreier_tree(perms: IntArray, inverses: IntArray, step: AnyArray, towards: IntArray, order: IntArray) -> None:
    """Breadth-first forest over generators and inverses, rooted at the smallest point of every orbit."""
    k, n = perms.shape
    for i in range(n):
        step[i] = -2
    tail = 0
    head = 0
    for root in range(n):
        if step[root] != -2:
            continue
        step[root] = -1
        towards[root] = root
        order[tail] = root
        tail += 1
        while head < tail:
            x = order[head]
            head += 1
            for j in range(k):
                y = perms[j, x]
                if step[y] == -2:
                    step[y] = k + j  # the inverse of generator j leads back from y to x
                    towards[y] = x
                    order[tail] = y
                    tail += 1
                y = inverses[j, x]
                if step[y] == -2:
                    step[y] = j
                    towards[y] = x
                    order[tail] = y
                    tail += 1


@njit(cache=True)
def _hash(row: AnyArray) -> np.uint64:
    h = np.uint64(14695981039346656037)
    for v in row:
        h = (h ^ np.uint64(v)) * np.uint64(1099511628211)
        h ^= h >> np.uint64(29)
    return h


@njit(cache=True)
def _find(row: AnyArray, elements: IntArray, slots: IntArray) -> tuple[Any, Any]:
    """Index of ``row`` among ``elements`` (or -1) and the slot where the search ended."""
    mask = slots.size - 1
    slot = np.int64(_hash(row) & np.uint64(mask))
    d = row.size
    while True:
        e = slots[slot]
        if e < 0:
            return -1, slot
        same = True
        for i in range(d):
            if elements[e, i] != row[i]:
                same = False
                break
        if same:
            return e, slot
        slot = (slot + 1) & mask


@njit(cache=True)
def enumerate_elements(
    gens: IntArray, elements: IntArray, cayley: IntArray, parent: IntArray, letter: IntArray, slots: IntArray
) -> int:
    """Breadth-first list of the group; -1 when it does not fit in ``elements``.

    ``cayley[h, j]`` is the index of generator ``j`` times element ``h``, ``slots`` an open-addressing table
    whose size is a power of two.
    """
    k, d = gens.shape
    capacity = elements.shape[0]
    row = np.empty(d, dtype=np.int64)
    for i in range(d):
        elements[0, i] = i
        row[i] = i
    slots[:] = -1
    _, slot = _find(row, elements, slots)
    slots[slot] = 0
    parent[0] = -1
    letter[0] = -1
    count = 1
    h = 0
    while h < count:
        for j in range(k):
            for i in range(d):
                row[i] = gens[j, elements[h, i]]
            e, slot = _find(row, elements, slots)
            if e < 0:
                if count == capacity:
                    return -1
                e = count
                count += 1
                slots[slot] = e
                parent[e] = h
                letter[e] = j
                for i in range(d):
                    elements[e, i] = row[i]
            cayley[h, j] = e
        h += 1
    return count


@njit(cache=True)
def lookup(rows: IntArray, elements: IntArray, slots: IntArray, out: IntArray) -> None:
    """Index of every row among the elements, -1 where it is not one of them."""
    for r in range(rows.shape[0]):
        out[r] = _find(rows[r], elements, slots)[0]


@njit(cache=True)
def check_cayley(images: IntArray, cayley: IntArray, parent: IntArray, letter: IntArray) -> tuple[int, int, int]:
    """First ``(generator, element, point)`` at which the images break the Cayley graph, or ``(-1, -1, -1)``.

    Point by point, so that the memory is one column of ``|G|`` images; time O(|G| k n).
    """
    n = images.shape[1]
    order, k = cayley.shape
    image = np.empty(order, dtype=np.int64)
    for i in range(n):
        image[0] = i
        for h in range(order):
            for j in range(k):
                e = cayley[h, j]
                v = images[j, image[h]]
                if parent[e] == h and letter[e] == j:
                    image[e] = v
                elif image[e] != v:
                    return j, h, i
    return -1, -1, -1


@njit(cache=True)
def fix_counts(images: IntArray, parent: IntArray, letter: IntArray, out: IntArray) -> None:
    """Fixed points of every element, images carried along the breadth-first tree; time O(|G| n)."""
    n = images.shape[1]
    order = parent.size
    image = np.empty(order, dtype=np.int64)
    out[:] = 0
    out[0] = n
    for i in range(n):
        image[0] = i
        for e in range(1, order):
            v = images[letter[e], image[parent[e]]]
            image[e] = v
            if v == i:
                out[e] += 1


@njit(cache=True)
def carry(
    steps: IntArray, towards: IntArray, order: AnyArray, gens: IntArray, inverses: IntArray, out: IntArray
) -> None:
    """Transporters of all points: ``out[x] = out[towards[x]] ∘ step(x)``, in breadth-first order."""
    k, d = gens.shape
    for x in order:
        s = steps[x]
        if s < 0:
            for v in range(d):
                out[x, v] = v
        elif s < k:
            for v in range(d):
                out[x, v] = out[towards[x], gens[s, v]]
        else:
            for v in range(d):
                out[x, v] = out[towards[x], inverses[s - k, v]]
