"""Layers of the native network forwards and backwards, and Adam: compiled, float32, on preallocated arrays.

Weights lie in *panels*: ``(columns / 32, rows, 32)``, flat. Activations lie row by row, with a gap between rows (see
``GAP``). ``lists[i·width …]`` with ``counts[i]`` names the nonzero entries of row ``i``.

Inner loops run from 0 over slices, or use unsigned numbers: for an index that might be negative numba emits Python's
wrap-around, and the loop is no longer vectorised (4 times slower, measured).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from burnside._types import AnyArray
from burnside.agents.dqn._gather import (
    LANES,
    PANEL,
    TABLE,
    gather_adam,
    gather_rows,
    list_bits,
    list_positive,
    transpose_tile,
)

__all__ = [
    "GAP",
    "adam",
    "add_rows",
    "column_lists",
    "corrections",
    "descend",
    "dot",
    "layer",
    "mask",
    "positive",
    "row_bits",
    "transpose",
]

# Fused multiply-adds are allowed; other reorderings only where a sum must be vectorised.
_EXACT = {"contract", "nsz"}
_SUMS = {"contract", "nsz", "reassoc"}
#: Numbers between rows of activations. Without a gap, rows of 128 fall on an eighth of the cache sets.
GAP = 16
_ZERO = np.float32(0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def layer(
    out: AnyArray,
    wide: int,
    floor: Any,
    start: AnyArray,
    start_at: int,
    x: AnyArray,
    x_row: int,
    narrow: int,
    w: AnyArray,
    w_at: int,
    lists: AnyArray,
    counts: AnyArray,
    rows: int,
) -> None:
    """``out = max(floor, start + x · w)``; ``x`` is (rows, narrow), row by row, ``w`` (narrow, wide) in panels.

    ``start`` is one row (a bias) if ``start_at ≥ 0``, else zeros. Panel by panel, so that one panel (16 kB here) stays
    in the first cache while all rows pass over it.
    """
    for c in range(wide // PANEL):
        for i in range(rows):
            gather_rows(
                out,
                i * (wide + GAP) + c * PANEL,
                floor,
                start,
                start_at + c * PANEL if start_at >= 0 else 0,
                x,
                i * x_row,
                1,
                w,
                w_at + c * narrow * PANEL,
                PANEL,
                lists,
                i * narrow,
                i * narrow + counts[i],
            )


@njit(cache=True, nogil=True, error_model="numpy")
def descend(
    w: AnyArray,
    m: AnyArray,
    v: AnyArray,
    w_at: int,
    scale: Any,
    root: Any,
    x: AnyArray,
    x_row: int,
    narrow: int,
    y: AnyArray,
    wide: int,
    columns: AnyArray,
    counts: AnyArray,
    rows: int,
) -> None:
    """One step of Adam on a (narrow, wide) matrix in panels whose gradient is ``xᵀ · y``.

    ``columns[k·places …]``, with ``places`` the rows rounded up to eights, names where column ``k`` of ``x`` is not
    zero; ``scale`` and ``root`` are those of :func:`corrections`.
    """
    places = -(-rows // LANES) * LANES
    for c in range(wide // PANEL):
        for k in range(narrow):
            gather_adam(
                w,
                m,
                v,
                w_at + (c * narrow + k) * PANEL,
                scale,
                root,
                x,
                k,
                x_row,
                y,
                c * PANEL,
                wide + GAP,
                columns,
                k * places,
                k * places + counts[k],
            )


@njit(cache=True, nogil=True, error_model="numpy")
def positive(h: AnyArray, width: int, lists: AnyArray, counts: AnyArray, rows: int) -> None:
    """The list of what ReLU let through in every row.

    Eight at a time, by a table of the places of the ones of a byte: one by one it took 5 µs for 64×128, this takes 1.
    """
    for i in range(rows):
        at, to = i * (width + GAP), i * width
        n = to
        for k in range(0, width, LANES):
            n += list_positive(h, at + k, lists, n, k, TABLE)
        counts[i] = n - to


@njit(cache=True, nogil=True, error_model="numpy")
def row_bits(h: AnyArray, width: int, bits: AnyArray, rows: int) -> None:
    """Bit ``i`` of ``bits[k]`` (of word ``i // 64``, words ``width`` apart): whether ``h[i, k]`` is positive."""
    for first in range(0, rows, 64):
        word = bits[first // 64 * width : (first // 64 + 1) * width]
        word[:] = np.uint64(0)
        for i in range(first, min(first + 64, rows)):
            row, flag = h[i * (width + GAP) : i * (width + GAP) + width], np.uint64(1) << np.uint64(i - first)
            for k in range(width):
                word[k] |= flag if row[k] > _ZERO else np.uint64(0)


@njit(cache=True, nogil=True, error_model="numpy")
def column_lists(bits: AnyArray, width: int, columns: AnyArray, counts: AnyArray, rows: int) -> None:
    """The lists by column that bits stand for, ``columns[k·places …]``; appending to all at once took thrice."""
    places = -(-rows // LANES) * LANES
    for k in range(width):
        n = k * places
        for first in range(0, rows, LANES):
            word = bits[first // 64 * width + k] >> np.uint64(first % 64)
            n += list_bits(np.uint8(word & np.uint64(255)), columns, n, first, TABLE)
        counts[k] = n - k * places


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def dot(h: AnyArray, h_at: int, w: AnyArray, w_at: int, width: int) -> Any:
    """``Σ h · w``."""
    a, b = h[h_at : h_at + width], w[w_at : w_at + width]
    total = _ZERO
    for j in range(width):
        total += a[j] * b[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def mask(d: AnyArray, h: AnyArray, size: int) -> None:
    """Backwards through ReLU: zero ``d`` where ReLU's output ``h`` is not positive (gaps hold zeros)."""
    for j in range(size):
        d[j] *= np.float32(h[j] > _ZERO)


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def add_rows(d: AnyArray, width: int, rows: int, out: AnyArray, out_at: int) -> None:
    """``out = Σ_i d[i]``, the gradient of a bias."""
    total = out[out_at : out_at + width]
    total[:] = _ZERO
    for i in range(rows):
        row = d[i * (width + GAP) : i * (width + GAP) + width]
        for j in range(width):
            total[j] += row[j]


@njit(cache=True, nogil=True, error_model="numpy")
def transpose(w: AnyArray, w_at: int, narrow: int, wide: int, out: AnyArray) -> None:
    """The transpose of a (narrow, wide) matrix in panels, in panels of its own."""
    for c in range(wide // PANEL):
        for e in range(narrow // PANEL):
            for k in range(0, PANEL, LANES):
                for j in range(0, PANEL, LANES):
                    at = w_at + (c * narrow + e * PANEL + k) * PANEL + j
                    transpose_tile(out, (e * wide + c * PANEL + j) * PANEL + k, w, at)


@njit(cache=True, nogil=True, error_model="numpy")
def corrections(t: Any, rate: float) -> tuple[Any, Any]:
    """Adam's corrections at update ``t`` (from 1): rate / (1 − β₁ᵗ) and 1 / √(1 − β₂ᵗ)."""
    return np.float32(rate / (1.0 - 0.9**t)), np.float32(1.0 / math.sqrt(1.0 - 0.999**t))


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def adam(w: AnyArray, m: AnyArray, v: AnyArray, first: int, g: AnyArray, scale: Any, root: Any) -> None:
    """One step of Adam (β 0.9 and 0.999, ε 1e-8) on the parameters from ``first`` on, whose gradient is ``g``."""
    one, rest_one = np.float32(0.9), np.float32(0.1)
    two, rest_two = np.float32(0.999), np.float32(0.001)
    tiny = np.float32(1e-8)
    weights, firsts, seconds = w[first:], m[first:], v[first:]
    for i in range(g.size):
        a = one * firsts[i] + rest_one * g[i]
        b = two * seconds[i] + rest_two * (g[i] * g[i])
        firsts[i] = a
        seconds[i] = b
        weights[i] -= scale * a / (np.sqrt(b) * root + tiny)
