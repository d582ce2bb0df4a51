"""Compiled inner loops of ``mdp``. Imported lazily: numba takes a moment to load."""

from __future__ import annotations

import numpy as np
from numba import njit

from burnside._types import AnyArray, FloatArray

__all__ = ["aggregate_rows", "image_violation"]


@njit(cache=True, nogil=True)
def image_violation(
    indptr: AnyArray,
    indices: AnyArray,
    data: FloatArray,
    pair_state: AnyArray,
    rewards: FloatArray,
    on_states: AnyArray,
    on_pairs: AnyArray,
    start: int,
    stop: int,
) -> tuple[int, float, int, float, int]:
    """How far one permutation is from preserving pairs ``start..stop`` (Def. 7).

    Returns the first pair whose image belongs to the wrong state (-1 if none), the largest reward difference and its
    pair, the largest total-variation distance and its pair. Rows are sorted by column.
    """
    wrong = -1
    worst_r, at_r, worst_p, at_p = 0.0, -1, 0.0, -1
    for i in range(start, stop):
        j = on_pairs[i]
        if pair_state[j] != on_states[pair_state[i]]:
            if wrong < 0:
                wrong = i
            continue
        for t in range(rewards.shape[0]):
            gap = abs(rewards[t, i] - rewards[t, j])
            if gap > worst_r:
                worst_r, at_r = gap, i
        low, high = indptr[j], indptr[j + 1]
        length = high - low
        difference = 0.0
        matched = 0.0
        matches = 0
        for k in range(indptr[i], indptr[i + 1]):
            column = on_states[indices[k]]
            q = -1
            if length <= 16:
                for c in range(low, high):
                    if indices[c] == column:
                        q = c
                        break
            else:
                a, b = low, high
                while a < b:
                    middle = (a + b) >> 1
                    if indices[middle] < column:
                        a = middle + 1
                    else:
                        b = middle
                if a < high and indices[a] == column:
                    q = a
            if q >= 0:
                difference += abs(data[k] - data[q])
                matched += data[q]
                matches += 1
            else:
                difference += data[k]
        if matches < length:
            total = 0.0
            for c in range(low, high):
                total += data[c]
            difference += max(0.0, total - matched)
        if 0.5 * difference > worst_p:
            worst_p, at_p = 0.5 * difference, i
    return wrong, worst_r, at_r, worst_p, at_p


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
