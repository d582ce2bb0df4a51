"""Compiled loops of value iteration. Import it where it is used: it loads numba."""

from __future__ import annotations

import numpy as np

from burnside._compiled import njit
from burnside._types import AnyArray

__all__ = ["distinct"]


@njit(cache=True, nogil=True)
def distinct(rows: AnyArray, first: AnyArray, inverse: AnyArray) -> int:
    """Number the distinct rows in order of appearance: ``rows[first[inverse[b]]] == rows[b]``; returns how many.

    Open addressing on a hash of the row, with the rows themselves compared, so it is exact.
    """
    count, width = rows.shape
    size = 16
    while size < 2 * count:
        size *= 2
    slots = np.full(size, -1, dtype=np.int64)
    mask = np.uint64(size - 1)
    found = 0
    for b in range(count):
        key = np.uint64(0xCBF29CE484222325)
        for i in range(width):  # FNV-1a
            key = (key ^ np.uint64(rows[b, i])) * np.uint64(0x100000001B3)
        at = np.int64((key ^ (key >> np.uint64(29))) & mask)
        while True:
            k = slots[at]
            if k < 0:
                slots[at] = found
                first[found] = b
                inverse[b] = found
                found += 1
                break
            other = first[k]
            same = True
            for i in range(width):
                if rows[b, i] != rows[other, i]:
                    same = False
                    break
            if same:
                inverse[b] = k
                break
            at = np.int64(np.uint64(at + 1) & mask)
    return found
