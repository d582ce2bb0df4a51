"""The list of all elements of a finite permutation group, breadth first from the generators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from burnside._types import IntArray
from burnside.groups.permutations import identity

__all__ = ["Enumeration", "count_elements", "enumerate_group"]

# Groups up to this many array entries are enumerated to learn their order: faster than importing sympy.
_TRY_ENTRIES = 1_000_000


@dataclass(frozen=True)
class Enumeration:
    """Elements and Cayley graph of a group.

    ``elements[0]`` is the identity; ``cayley[h, j]`` the index of ``generator j · element h``; ``parent`` and
    ``letter`` the breadth-first tree, ``elements[e] = generator letter[e] · elements[parent[e]]`` (-1 at the
    identity), with ``parent[e] < e``: walking it in order carries elements through any action.
    """

    elements: IntArray
    cayley: IntArray
    parent: IntArray
    letter: IntArray
    slots: IntArray

    @property
    def order(self) -> int:
        """The number of elements."""
        return self.elements.shape[0]

    def lookup(self, rows: IntArray) -> IntArray:
        """The index of every row, -1 where it is not an element. O(degree) per row."""
        from burnside.groups import kernels

        out = np.empty(rows.shape[0], dtype=np.int64)
        kernels.lookup(np.ascontiguousarray(rows, dtype=np.int64), self.elements, self.slots, out)
        return out

    def word(self, index: int) -> tuple[int, ...]:
        """The generators whose product is an element, in the order in which they are applied."""
        letters = []
        while index != 0:
            letters.append(int(self.letter[index]))
            index = int(self.parent[index])
        return tuple(reversed(letters))

    def carry(self, images: IntArray) -> IntArray:
        """The image of every element, given those of the generators on ``n`` points: shape (order, n)."""
        table = np.empty((self.order, images.shape[1]), dtype=np.int64)
        table[0] = identity(images.shape[1])
        for e in range(1, self.order):
            np.take(images[self.letter[e]], table[self.parent[e]], out=table[e])
        return table


def enumerate_group(generators: IntArray, capacity: int) -> Enumeration | None:
    """All elements of the generated group, or None if there are more than ``capacity``. O(order · k ·
    degree)."""
    from burnside.groups import kernels

    k, degree = generators.shape
    elements = np.empty((capacity, degree), dtype=np.int64)
    cayley = np.empty((capacity, k), dtype=np.int64)
    parent = np.empty(capacity, dtype=np.int64)
    letter = np.empty(capacity, dtype=np.int64)
    slots = np.empty(1 << (2 * capacity).bit_length(), dtype=np.int64)
    order = kernels.enumerate_elements(generators, elements, cayley, parent, letter, slots)
    if order < 0:
        return None
    arrays = [a if order == capacity else a[:order].copy() for a in (elements, cayley, parent, letter)]
    for a in (*arrays, slots):
        a.flags.writeable = False
    return Enumeration(arrays[0], arrays[1], arrays[2], arrays[3], slots)


def count_elements(generators: IntArray) -> int:
    """The order of the generated group: by enumeration if that is small, else by sympy's Schreier–Sims."""
    moved = np.flatnonzero((generators != identity(generators.shape[1])).any(axis=0))
    if moved.size == 0:
        return 1
    # Fixed points carry no information, and both methods below pay for them.
    gens = np.ascontiguousarray(np.searchsorted(moved, generators[:, moved]), dtype=np.int64)
    capacity = 64
    while capacity * moved.size <= _TRY_ENTRIES:
        found = enumerate_group(gens, capacity)
        if found is not None:
            return found.order
        capacity *= 4
    from sympy.combinatorics import Permutation, PermutationGroup

    return int(PermutationGroup([Permutation(row.tolist()) for row in gens]).order())
