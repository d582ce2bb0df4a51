"""Two tanh networks, actor and critic, forwards and backwards, and acting with them: compiled, float32.

Hidden layers lie in panels of sixteen columns: entry (k, j) of a (rows, columns) matrix is at ``(j // 16)·rows·16 +
k·16 + j % 16``. Output layers lie row by row, one row per output. Rows of inputs are padded with zeros to fours.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from burnside._random_kernels import uniform_nb
from burnside._types import AnyArray
from burnside.agents.gaussian_ppo._tiles import COLUMNS, ROWS, tile

__all__ = [
    "BATCH_ROWS",
    "GAP",
    "Net",
    "Work",
    "act",
    "backward",
    "forward",
    "log_density",
    "mean_only",
    "pick",
    "transpose",
    "values",
]

_POLICY = 6  # Stream, as a plain number for compiled code
_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_HALF_LOG_TAU = np.float32(0.5 * math.log(2 * math.pi))
#: Rows worked on at a time: their activations stay in the second cache.
BATCH_ROWS = 64
#: Numbers between rows of activations, lest they fall on few cache sets.
GAP = 16
_EXACT = {"contract", "nsz"}
_SUMS = {"contract", "nsz", "reassoc"}


class Net(NamedTuple):
    """Widths, and where the parts of one network begin in the flat parameters."""

    inputs: int  # padded to fours
    h1: int
    h2: int
    outputs: int
    w1: int
    b1: int
    w2: int
    b2: int
    w3: int
    b3: int


class Work(NamedTuple):
    """Scratch for ``BATCH_ROWS`` rows."""

    x: AnyArray
    h1: AnyArray
    h2: AnyArray
    d1: AnyArray
    d2: AnyArray
    out: AnyArray
    dout: AnyArray
    transposed: AnyArray
    zeros: AnyArray
    order: AnyArray
    grad: AnyArray


@njit(cache=True, nogil=True, error_model="numpy")
def product(
    out: AnyArray,
    out_row: int,
    out_panel: int,
    start: AnyArray,
    start_at: int,
    start_row: int,
    start_panel: int,
    x: AnyArray,
    x_row: int,
    x_k: int,
    w: AnyArray,
    w_at: int,
    w_k: int,
    w_panel: int,
    rows: int,
    columns: int,
    count: int,
    out_at: int,
) -> None:
    """``out = start + x · w`` tile by tile; ``…_panel`` is the step from sixteen columns to the next sixteen."""
    for c in range(columns // COLUMNS):
        for i in range(0, rows, ROWS):
            tile(
                out,
                out_at + c * out_panel + i * out_row,
                out_row,
                start,
                start_at + c * start_panel + i * start_row,
                start_row,
                x,
                i * x_row,
                x_row,
                x_k,
                w,
                w_at + c * w_panel,
                w_k,
                count,
            )


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def _tanh(h: AnyArray, rows: int, width: int) -> None:
    """Tanh in place as a rational function (13 over 6, as in Eigen; error below 4e-7): it vectorises, libm does not."""
    for i in range(rows):
        part = h[i * (width + GAP) : i * (width + GAP) + width]
        for j in range(width):
            x = min(max(part[j], np.float32(-7.9)), np.float32(7.9))
            s = x * x
            p = s * np.float32(-2.76076847742355e-16) + np.float32(2.00018790482477e-13)
            p = s * p + np.float32(-8.60467152213735e-11)
            p = s * p + np.float32(5.12229709037114e-08)
            p = s * p + np.float32(1.48572235717979e-05)
            p = s * p + np.float32(6.37261928875436e-04)
            p = s * p + np.float32(4.89352455891786e-03)
            q = s * np.float32(1.19825839466702e-06) + np.float32(1.18534705686654e-04)
            q = s * q + np.float32(2.26843463243900e-03)
            q = s * q + np.float32(4.89352518554385e-03)
            part[j] = x * p / q


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def _dot(a: AnyArray, a_at: int, b: AnyArray, b_at: int, width: int) -> Any:
    one, two = a[a_at : a_at + width], b[b_at : b_at + width]
    total = _ZERO
    for j in range(width):
        total += one[j] * two[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def forward(w: AnyArray, net: Net, x: AnyArray, h1: AnyArray, h2: AnyArray, out: AnyArray, rows: int) -> None:
    """Both hidden layers and the outputs of the first ``rows`` rows of ``x`` (computed up to the next four)."""
    whole = -(-rows // ROWS) * ROWS
    row1, row2 = net.h1 + GAP, net.h2 + GAP
    product(
        h1, row1, COLUMNS, w, net.b1, 0, COLUMNS, x, net.inputs, 1,
        w, net.w1, COLUMNS, net.inputs * COLUMNS, whole, net.h1, net.inputs, 0,
    )  # fmt: skip
    _tanh(h1, whole, net.h1)
    product(
        h2, row2, COLUMNS, w, net.b2, 0, COLUMNS, h1, row1, 1,
        w, net.w2, COLUMNS, net.h1 * COLUMNS, whole, net.h2, net.h1, 0,
    )  # fmt: skip
    _tanh(h2, whole, net.h2)
    for i in range(rows):
        for o in range(net.outputs):
            out[i * net.outputs + o] = _dot(h2, i * row2, w, net.w3 + o * net.h2, net.h2) + w[net.b3 + o]


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def _through_tanh(d: AnyArray, h: AnyArray, rows: int, width: int) -> None:
    for i in range(rows):
        at = i * (width + GAP)
        one, two = d[at : at + width], h[at : at + width]
        for j in range(width):
            one[j] *= _ONE - two[j] * two[j]


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def _add_rows(d: AnyArray, width: int, rows: int, out: AnyArray, at: int) -> None:
    total = out[at : at + width]
    for i in range(rows):
        row = d[i * (width + GAP) : i * (width + GAP) + width]
        for j in range(width):
            total[j] += row[j]


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def _scaled(out: AnyArray, out_at: int, factor: Any, x: AnyArray, x_at: int, width: int) -> None:
    """``out += factor · x``."""
    to, of = out[out_at : out_at + width], x[x_at : x_at + width]
    for j in range(width):
        to[j] += factor * of[j]


@njit(cache=True, nogil=True, error_model="numpy")
def transpose(w: AnyArray, net: Net, out: AnyArray) -> None:
    """The second layer as the backward pass reads it: (h2, h1) in panels."""
    for k in range(net.h1):
        for j in range(net.h2):
            at = net.w2 + (j // COLUMNS) * net.h1 * COLUMNS + k * COLUMNS + j % COLUMNS
            out[(k // COLUMNS) * net.h2 * COLUMNS + j * COLUMNS + k % COLUMNS] = w[at]


@njit(cache=True, nogil=True, error_model="numpy")
def backward(
    w: AnyArray,
    g: AnyArray,
    net: Net,
    x: AnyArray,
    h1: AnyArray,
    h2: AnyArray,
    d1: AnyArray,
    d2: AnyArray,
    dout: AnyArray,
    transposed: AnyArray,
    zeros: AnyArray,
    rows: int,
) -> None:
    """Add the gradients of ``rows`` rows (a multiple of four) to ``g``, from the gradient of the outputs ``dout``."""
    row1, row2 = net.h1 + GAP, net.h2 + GAP
    product(
        d2, row2, COLUMNS, zeros, 0, 0, 0, dout, net.outputs, 1,
        w, net.w3, net.h2, COLUMNS, rows, net.h2, net.outputs, 0,
    )  # fmt: skip
    for i in range(rows):
        for o in range(net.outputs):
            slope = dout[i * net.outputs + o]
            _scaled(g, net.w3 + o * net.h2, slope, h2, i * row2, net.h2)
            g[net.b3 + o] += slope
    _through_tanh(d2, h2, rows, net.h2)
    _add_rows(d2, net.h2, rows, g, net.b2)
    product(
        g, COLUMNS, net.h1 * COLUMNS, g, net.w2, COLUMNS, net.h1 * COLUMNS, h1, 1, row1,
        d2, 0, row2, COLUMNS, net.h1, net.h2, rows, net.w2,
    )  # fmt: skip
    product(
        d1, row1, COLUMNS, zeros, 0, 0, 0, d2, row2, 1,
        transposed, 0, COLUMNS, net.h2 * COLUMNS, rows, net.h1, net.h2, 0,
    )  # fmt: skip
    _through_tanh(d1, h1, rows, net.h1)
    _add_rows(d1, net.h1, rows, g, net.b1)
    product(
        g, COLUMNS, net.inputs * COLUMNS, g, net.w1, COLUMNS, net.inputs * COLUMNS, x, 1, net.inputs,
        d1, 0, row1, COLUMNS, net.inputs, net.h1, rows, net.w1,
    )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def pick(x: AnyArray, inputs: int, obs: AnyArray, order: AnyArray, first: int, rows: int) -> None:
    """Copy observations in an order to the scratch; rows beyond are zeros, so that what is padded adds nothing."""
    width = obs.shape[1]
    for i in range(rows):
        to, of = x[i * inputs : i * inputs + width], obs[order[first + i]]
        for j in range(width):
            to[j] = of[j]
    for i in range(rows, -(-rows // ROWS) * ROWS):
        x[i * inputs : (i + 1) * inputs] = _ZERO


@njit(cache=True, nogil=True, error_model="numpy")
def values(w: AnyArray, critic: Net, work: Work, obs: AnyArray, out: AnyArray) -> None:
    """V of every row of ``obs``."""
    for first in range(0, len(obs), BATCH_ROWS):
        rows = min(BATCH_ROWS, len(obs) - first)
        pick(work.x, critic.inputs, obs[first:], work.order, 0, rows)
        forward(w, critic, work.x, work.h1, work.h2, work.out, rows)
        out[first : first + rows] = work.out[:rows]


@njit(cache=True, nogil=True, error_model="numpy")
def mean_only(w: AnyArray, actor: Net, work: Work, obs: AnyArray, out: AnyArray) -> None:
    """The mean action of every row of ``obs``."""
    size = actor.outputs
    for first in range(0, len(obs), BATCH_ROWS):
        rows = min(BATCH_ROWS, len(obs) - first)
        pick(work.x, actor.inputs, obs[first:], work.order, 0, rows)
        forward(w, actor, work.x, work.h1, work.h2, work.out, rows)
        for i in range(rows):
            for j in range(size):
                out[first + i, j] = work.out[i * size + j]


@njit(cache=True, nogil=True, error_model="numpy")
def log_density(action: AnyArray, mean: AnyArray, at: int, log_std: AnyArray, inverse: AnyArray) -> Any:
    total = _ZERO
    for j in range(log_std.size):
        z = (action[j] - mean[at + j]) * inverse[j]
        total -= np.float32(0.5) * z * z + log_std[j] + _HALF_LOG_TAU
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def act(
    w: AnyArray,
    actor: Net,
    critic: Net,
    spread: int,
    work: Work,
    obs: AnyArray,
    seed: int,
    counter: int,
    action: AnyArray,
    log_prob: AnyArray,
    value: AnyArray,
) -> None:
    """Draw an action for every row of ``obs``; its noise is a hash of (seed, POLICY, counter + row·width + entry)."""
    size = actor.outputs
    log_std = w[spread : spread + size]
    deviation, inverse = np.exp(log_std), np.exp(-log_std)
    mean_only(w, actor, work, obs, action)
    mean = work.out
    for i in range(len(obs)):
        for j in range(size):
            mean[j] = action[i, j]
            at = 2 * (counter + i * size + j)
            # Box and Muller's method; 1 − u lies in (0, 1].
            radius = math.sqrt(-2.0 * math.log(1.0 - uniform_nb(seed, _POLICY, at)))
            noise = np.float32(radius * math.cos(2.0 * math.pi * uniform_nb(seed, _POLICY, at + 1)))
            action[i, j] = mean[j] + deviation[j] * noise
        log_prob[i] = log_density(action[i], mean, 0, log_std, inverse)
    values(w, critic, work, obs, value)
