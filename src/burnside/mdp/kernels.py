"""Compiled inner loops of ``mdp``. Imported lazily: numba takes a moment to load."""

from __future__ import annotations

import numpy as np

from burnside._compiled import njit
from burnside._types import AnyArray, FloatArray

__all__ = ["aggregate_rows", "first_misplaced", "reward_violation", "row_violation"]


#: Rows up to this length are copied and scanned, longer ones searched.
_SHORT = 16
#: Pairs whose image rows are fetched at once; their copies stay in the second-level cache.
_BLOCK = 256


@njit(cache=True, nogil=True)
def first_misplaced(pair_state: AnyArray, on_states: AnyArray, on_pairs: AnyArray, start: int, stop: int) -> int:
    """The first pair that is not sent to a pair of its state's image; -1 if there is none."""
    for i in range(start, stop):
        if pair_state[on_pairs[i]] != on_states[pair_state[i]]:
            return i
    return -1


@njit(cache=True, nogil=True)
def reward_violation(rewards: FloatArray, on_pairs: AnyArray, start: int, stop: int) -> tuple[float, int]:
    """The largest reward difference between a pair and its image, over all times, and its pair."""
    worst, at = 0.0, -1
    for t in range(rewards.shape[0]):
        for i in range(start, stop):
            gap = abs(rewards[t, i] - rewards[t, on_pairs[i]])
            if gap > worst:
                worst, at = gap, i
    return worst, at


@njit(cache=True, nogil=True)
def row_violation(
    indptr: AnyArray,
    indices: AnyArray,
    data: FloatArray,
    on_states: AnyArray,
    on_pairs: AnyArray,
    start: int,
    stop: int,
) -> tuple[float, int]:
    """The largest total variation between a pair's row, moved by the permutation, and its image's row; and its pair.

    Rows are sorted by column. Images lie anywhere in memory, so a block of them is copied in tight loops first, which
    keeps more cache misses under way at once. Visiting the states in the order of their images' addresses was tried
    too, and was slower.
    """
    worst, at = 0.0, -1
    begin = np.empty(_BLOCK, dtype=np.int64)
    length = np.empty(_BLOCK, dtype=np.int64)
    columns = np.empty((_BLOCK, _SHORT), dtype=np.int64)
    values = np.empty((_BLOCK, _SHORT), dtype=np.float64)
    for block in range(start, stop, _BLOCK):
        size = min(_BLOCK, stop - block)
        for r in range(size):
            j = on_pairs[block + r]
            begin[r] = indptr[j]
            length[r] = indptr[j + 1] - begin[r]
        for r in range(size):
            if length[r] <= _SHORT:
                for c in range(length[r]):
                    columns[r, c] = indices[begin[r] + c]
                    values[r, c] = data[begin[r] + c]
        for r in range(size):
            difference = 0.0
            matched = 0.0
            matches = 0
            for k in range(indptr[block + r], indptr[block + r + 1]):
                column = on_states[indices[k]]
                found = 0.0
                if length[r] <= _SHORT:
                    for c in range(length[r]):
                        same = columns[r, c] == column
                        found += values[r, c] if same else 0.0
                        matches += same
                else:
                    a, b = begin[r], begin[r] + length[r]
                    while a < b:
                        middle = (a + b) >> 1
                        if indices[middle] < column:
                            a = middle + 1
                        else:
                            b = middle
                    if a < begin[r] + length[r] and indices[a] == column:
                        found = data[a]
                        matches += 1
                difference += abs(data[k] - found)
                matched += found
            if matches < length[r]:
                total = 0.0
                for c in range(begin[r], begin[r] + length[r]):
                    total += data[c]
                difference += max(0.0, total - matched)
            if 0.5 * difference > worst:
                worst, at = 0.5 * difference, block + r
    return worst, at


@njit(cache=True, nogil=True)
def aggregate_rows(
    indptr: AnyArray, indices: AnyArray, data: FloatArray, rows: AnyArray, labels: AnyArray, n_labels: int
) -> tuple[AnyArray, AnyArray, FloatArray]:
    """Rows ``rows`` of a CSR matrix with columns added up by label: a CSR matrix with sorted rows and no zeros."""
    total = 0
    for i in rows:
        total += indptr[i + 1] - indptr[i]
    out_ptr = np.zeros(len(rows) + 1, dtype=np.int64)
    out_col = np.empty(total, dtype=np.int32)
    out_val = np.empty(total, dtype=np.float64)
    position = np.full(n_labels, -1, dtype=np.int64)
    size = 0
    for r in range(len(rows)):
        i = rows[r]
        begin = size
        for k in range(indptr[i], indptr[i + 1]):
            label = labels[indices[k]]
            at = position[label]
            if at < begin:  # not met in this row (what earlier rows left there is smaller)
                out_col[size], out_val[size] = label, data[k]
                position[label] = size
                size += 1
            else:
                out_val[at] += data[k]
        if size - begin > 32:
            order = np.argsort(out_col[begin:size])
            out_col[begin:size] = out_col[begin:size][order]
            out_val[begin:size] = out_val[begin:size][order]
        else:
            for k in range(begin + 1, size):
                column, value, at = out_col[k], out_val[k], k
                while at > begin and out_col[at - 1] > column:
                    out_col[at], out_val[at] = out_col[at - 1], out_val[at - 1]
                    at -= 1
                out_col[at], out_val[at] = column, value
        out_ptr[r + 1] = size
    return out_ptr, out_col[:size].copy(), out_val[:size].copy()
