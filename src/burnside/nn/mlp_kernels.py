"""Networks with two hidden layers, compiled, float32: forwards, backwards and Adam on flat parameters.

All dense products are made of :func:`tile`, four rows by sixteen columns, with the sums kept in registers: the strides
say which factor is read along its rows and which along its columns. No BLAS is called, so there is no thread pool to
tame and a row has the same bits whatever else is in its batch. :mod:`burnside.nn.mlp` has the same functions in plain
numpy, and the layout of the parameters.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from burnside._compiled import njit
from burnside._types import AnyArray
from burnside.nn.mlp import COLUMNS, ROWS, Net

__all__ = [
    "BATCH_ROWS",
    "Scratch",
    "adam",
    "backward",
    "forward",
    "input_slopes",
    "outputs",
    "pick",
    "scratch",
    "transpose",
]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
#: Rows worked on at a time: their activations stay in the second cache.
BATCH_ROWS = 64
#: Numbers between rows of activations, so that they do not share a few cache sets.
GAP = 16
# Fused multiply-adds are allowed; other reorderings only where a sum must be vectorised.
_EXACT = {"contract", "nsz"}
_SUMS = {"contract", "nsz", "reassoc"}


class Matrix(NamedTuple):
    """A matrix inside a flat array: entry (i, j) is at ``at + i·row + j·step``.

    Where a matrix is read or written sixteen columns at a time, ``step`` is the way from sixteen columns to the next
    sixteen instead; inside them, columns are neighbours.
    """

    data: AnyArray
    at: int
    row: int
    step: int


class Scratch(NamedTuple):
    """Room for the activations and gradients of ``BATCH_ROWS`` rows."""

    x: AnyArray
    h1: AnyArray
    h2: AnyArray
    d1: AnyArray
    d2: AnyArray
    out: AnyArray
    dout: AnyArray
    transposed: AnyArray  # W2 as the backward pass reads it, see transpose
    zeros: AnyArray
    order: AnyArray  # 0, 1, 2, …


def scratch(*nets: Net) -> Scratch:
    """Scratch that fits any of some networks, which have the same inputs and hidden widths."""
    net, outputs = nets[0], max(each.outputs for each in nets)
    sizes = (net.inputs, net.h1 + GAP, net.h2 + GAP, net.h1 + GAP, net.h2 + GAP, outputs, outputs)
    x, h1, h2, d1, d2, out, dout = (np.zeros(BATCH_ROWS * size, dtype=np.float32) for size in sizes)
    across, zeros = (np.zeros(size, dtype=np.float32) for size in (net.h1 * net.h2, max(net.h1, net.h2)))
    return Scratch(x, h1, h2, d1, d2, out, dout, across, zeros, np.arange(BATCH_ROWS, dtype=np.int64))


# ---------------------------------------------------------------------- the product

_LANES = 8
_VECTORS = COLUMNS // _LANES

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_FLOATS = ir.VectorType(ir.FloatType(), _LANES)
_FUSED = ("contract",)


def _generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    b = builder
    out_at, out_row, start_at, start_row, x_at, x_row, x_k, w_at, w_k, count = (
        args[i] for i in (1, 2, 4, 5, 7, 8, 9, 11, 12, 13)
    )

    def data(position: int) -> Any:
        return context.make_array(signature.args[position])(context, b, args[position]).data

    def vectors(base: Any, at: Any) -> list[Any]:
        places = [b.gep(base, [b.add(at, ir.Constant(_I64, v * _LANES))]) for v in range(_VECTORS)]
        return [b.bitcast(place, _FLOATS.as_pointer()) for place in places]

    def splat(scalar: Any) -> Any:
        undefined = ir.Constant(_FLOATS, ir.Undefined)
        first = b.insert_element(undefined, scalar, ir.Constant(_I32, 0))
        return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, _LANES), [0] * _LANES))

    out, start, x, w = (data(i) for i in (0, 3, 6, 10))
    rows = [ir.Constant(_I64, r) for r in range(ROWS)]
    initial = [b.load(p, align=4) for r in rows for p in vectors(start, b.add(start_at, b.mul(r, start_row)))]
    x_rows = [b.add(x_at, b.mul(r, x_row)) for r in rows]

    entry = b.block
    loop, done = b.append_basic_block("tile.loop"), b.append_basic_block("tile.done")
    zero = ir.Constant(_I64, 0)
    b.cbranch(b.icmp_signed(">", count, zero), loop, done)

    b.position_at_end(loop)
    k = b.phi(_I64)
    k.add_incoming(zero, entry)
    sums = []
    for value in initial:
        phi = b.phi(_FLOATS)
        phi.add_incoming(value, entry)
        sums.append(phi)
    weights = [b.load(p, align=4) for p in vectors(w, b.add(w_at, b.mul(k, w_k)))]
    after = []
    for r, at in enumerate(x_rows):
        factor = splat(b.load(b.gep(x, [b.add(at, b.mul(k, x_k))])))
        for v, weight in enumerate(weights):
            after.append(b.fadd(sums[r * _VECTORS + v], b.fmul(factor, weight, flags=_FUSED), flags=_FUSED))
    following = b.add(k, ir.Constant(_I64, 1))
    k.add_incoming(following, loop)
    for phi, value in zip(sums, after, strict=True):
        phi.add_incoming(value, loop)
    b.cbranch(b.icmp_signed("<", following, count), loop, done)

    b.position_at_end(done)
    total = []
    for begin, value in zip(initial, after, strict=True):
        phi = b.phi(_FLOATS)
        phi.add_incoming(begin, entry)
        phi.add_incoming(value, loop)
        total.append(phi)
    for r in rows:
        for v, place in enumerate(vectors(out, b.add(out_at, b.mul(r, out_row)))):
            b.store(total[r.constant * _VECTORS + v], place, align=4)
    return context.get_dummy_value()


def _tile(
    typing: Any,
    out: Any,
    out_at: Any,
    out_row: Any,
    start: Any,
    start_at: Any,
    start_row: Any,
    x: Any,
    x_at: Any,
    x_row: Any,
    x_k: Any,
    w: Any,
    w_at: Any,
    w_k: Any,
    count: Any,
) -> Any:
    """``out[out_at + i·out_row + j] = start[start_at + i·start_row + j] + Σ_k x[x_at + i·x_row + k·x_k] · w[… + j]``.

    ``w`` is read at ``w_at + k·w_k + j``; i < 4, j < 16, k < ``count``. All arrays are flat float32.
    """
    n = types.intp
    return types.void(out, n, n, start, n, n, x, n, n, n, w, n, n, n), _generate


#: Typed loosely: inside compiled code it takes the arguments after the first.
tile: Any = intrinsic(_tile)


@njit(cache=True, nogil=True, error_model="numpy")
def product(out: Matrix, start: Matrix, x: Matrix, w: Matrix, rows: int, columns: int, count: int) -> None:
    """``out = start + x · w`` tile by tile; ``out``, ``start`` and ``w`` in panels, ``x`` entry by entry."""
    o, o_at, o_row, o_step = out
    s, s_at, s_row, s_step = start
    a, a_at, a_row, a_step = x
    b, b_at, b_row, b_step = w
    for c in range(columns // COLUMNS):
        for i in range(0, rows, ROWS):
            tile(
                o,
                o_at + c * o_step + i * o_row,
                o_row,
                s,
                s_at + c * s_step + i * s_row,
                s_row,
                a,
                a_at + i * a_row,
                a_row,
                a_step,
                b,
                b_at + c * b_step,
                b_row,
                count,
            )


# ---------------------------------------------------------------------- forwards and backwards


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


@njit(cache=True, nogil=True, error_model="numpy")
def _relu(h: AnyArray, rows: int, width: int) -> None:
    for i in range(rows):
        part = h[i * (width + GAP) : i * (width + GAP) + width]
        for j in range(width):
            part[j] = max(part[j], _ZERO)


@njit(cache=True, nogil=True, fastmath=_SUMS, error_model="numpy")
def _dot(a: AnyArray, a_at: int, b: AnyArray, b_at: int, width: int) -> Any:
    one, two = a[a_at : a_at + width], b[b_at : b_at + width]
    total = _ZERO
    for j in range(width):
        total += one[j] * two[j]
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def forward(w: AnyArray, net: Net, work: Scratch, rows: int) -> None:
    """Both hidden layers and the outputs of the first ``rows`` rows of ``work.x`` (computed up to the next four)."""
    whole = -(-rows // ROWS) * ROWS
    row1, row2 = net.h1 + GAP, net.h2 + GAP
    h1, h2, out = work.h1, work.h2, work.out
    x, first = Matrix(work.x, 0, net.inputs, 1), Matrix(w, net.w1, COLUMNS, net.inputs * COLUMNS)
    product(Matrix(h1, 0, row1, COLUMNS), Matrix(w, net.b1, 0, COLUMNS), x, first, whole, net.h1, net.inputs)
    if net.relu:
        _relu(h1, whole, net.h1)
    else:
        _tanh(h1, whole, net.h1)
    seen, second = Matrix(h1, 0, row1, 1), Matrix(w, net.w2, COLUMNS, net.h1 * COLUMNS)
    product(Matrix(h2, 0, row2, COLUMNS), Matrix(w, net.b2, 0, COLUMNS), seen, second, whole, net.h2, net.h1)
    if net.relu:
        _relu(h2, whole, net.h2)
    else:
        _tanh(h2, whole, net.h2)
    for i in range(rows):
        for o in range(net.outputs):
            out[i * net.outputs + o] = _dot(h2, i * row2, w, net.w3 + o * net.h2, net.h2) + w[net.b3 + o]


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def _through(d: AnyArray, h: AnyArray, rows: int, width: int, relu: bool) -> None:
    """Backwards through tanh or ReLU, whose outputs are ``h``."""
    for i in range(rows):
        at = i * (width + GAP)
        one, two = d[at : at + width], h[at : at + width]
        if relu:
            for j in range(width):
                one[j] *= np.float32(two[j] > _ZERO)
        else:
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
def backward(w: AnyArray, g: AnyArray, net: Net, work: Scratch, rows: int) -> None:
    """Add the gradients of ``rows`` rows (a multiple of four) to ``g``, from the gradient of the outputs ``work.dout``.

    ``work`` holds what :func:`forward` left there, and :func:`transpose` of the same parameters.
    """
    row1, row2 = net.h1 + GAP, net.h2 + GAP
    h1, h2, d1, d2, dout = work.h1, work.h2, work.d1, work.d2, work.dout
    nothing = Matrix(work.zeros, 0, 0, 0)
    product(
        Matrix(d2, 0, row2, COLUMNS),
        nothing,
        Matrix(dout, 0, net.outputs, 1),
        Matrix(w, net.w3, net.h2, COLUMNS),
        rows,
        net.h2,
        net.outputs,
    )
    for i in range(rows):
        for o in range(net.outputs):
            slope = dout[i * net.outputs + o]
            if slope != _ZERO:
                _scaled(g, net.w3 + o * net.h2, slope, h2, i * row2, net.h2)
                g[net.b3 + o] += slope
    _through(d2, h2, rows, net.h2, net.relu)
    _add_rows(d2, net.h2, rows, g, net.b2)
    second = Matrix(g, net.w2, COLUMNS, net.h1 * COLUMNS)
    product(second, second, Matrix(h1, 0, 1, row1), Matrix(d2, 0, row2, COLUMNS), net.h1, net.h2, rows)
    across = Matrix(work.transposed, 0, COLUMNS, net.h2 * COLUMNS)
    product(Matrix(d1, 0, row1, COLUMNS), nothing, Matrix(d2, 0, row2, 1), across, rows, net.h1, net.h2)
    _through(d1, h1, rows, net.h1, net.relu)
    _add_rows(d1, net.h1, rows, g, net.b1)
    first = Matrix(g, net.w1, COLUMNS, net.inputs * COLUMNS)
    x = Matrix(work.x, 0, 1, net.inputs)
    product(first, first, x, Matrix(d1, 0, row1, COLUMNS), net.inputs, net.h1, rows)


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
def outputs(w: AnyArray, net: Net, work: Scratch, obs: AnyArray, out: AnyArray) -> None:
    """The outputs of the network for every row of ``obs``, into ``out`` (rows, outputs)."""
    size = net.outputs
    for first in range(0, len(obs), BATCH_ROWS):
        rows = min(BATCH_ROWS, len(obs) - first)
        pick(work.x, net.inputs, obs[first:], work.order, 0, rows)
        forward(w, net, work, rows)
        for i in range(rows):
            for j in range(size):
                out[first + i, j] = work.out[i * size + j]


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def adam(w: AnyArray, m: AnyArray, v: AnyArray, g: AnyArray, t: int, rate: float, shrink: Any) -> None:
    """Step ``t`` (from 1) of Adam (β 0.9 and 0.999, ε 1e-8) on all parameters, of the gradient times ``shrink``."""
    scale, root = np.float32(rate / (1.0 - 0.9**t)), np.float32(1.0 / math.sqrt(1.0 - 0.999**t))
    for i in range(w.size):
        slope = shrink * g[i]
        a = np.float32(0.9) * m[i] + np.float32(0.1) * slope
        b = np.float32(0.999) * v[i] + np.float32(0.001) * (slope * slope)
        m[i] = a
        v[i] = b
        w[i] -= scale * a / (np.sqrt(b) * root + np.float32(1e-8))


@njit(cache=True, nogil=True, error_model="numpy")
def input_slopes(w: AnyArray, net: Net, work: Scratch, rows: int, first: int, dx: AnyArray) -> None:
    """The gradient of some inputs from that of the outputs ``work.dout``, into ``dx`` (rows of inputs from ``first``).

    ``rows`` is a multiple of four; ``work`` holds what :func:`forward` left there, and :func:`transpose`.
    """
    row1, row2 = net.h1 + GAP, net.h2 + GAP
    d1, d2 = work.d1, work.d2
    nothing, last = Matrix(work.zeros, 0, 0, 0), Matrix(w, net.w3, net.h2, COLUMNS)
    product(
        Matrix(d2, 0, row2, COLUMNS), nothing, Matrix(work.dout, 0, net.outputs, 1), last, rows, net.h2, net.outputs
    )
    _through(d2, work.h2, rows, net.h2, net.relu)
    across = Matrix(work.transposed, 0, COLUMNS, net.h2 * COLUMNS)
    product(Matrix(d1, 0, row1, COLUMNS), nothing, Matrix(d2, 0, row2, 1), across, rows, net.h1, net.h2)
    _through(d1, work.h1, rows, net.h1, net.relu)
    for i in range(len(dx)):
        for k in range(dx.shape[1]):
            total = _ZERO
            for c in range(net.h1 // COLUMNS):
                at = net.w1 + c * net.inputs * COLUMNS + (first + k) * COLUMNS
                total += _dot(d1, i * row1 + c * COLUMNS, w, at, COLUMNS)
            dx[i, k] = total
