"""Layers of a ReLU network on sparse inputs, forwards and backwards, and Adam: compiled, float32, without any BLAS.

``gather_rows`` adds up the rows of a matrix that a list of indices names, 32 columns at a time, with the sums kept in
registers. Ring observations are sparse and ReLU leaves about half of a layer at zero or more, so summing only what the
nonzeros name does half the arithmetic of a dense product. numba cannot express "keep these sums in registers" in
Python, hence some lines of LLVM, which numba compiles for whatever machine it is on.

Measured on one core of an EPYC (Zen 3), 64×128 times 128×128: OpenBLAS 26 µs; this, dense 32 µs, half zeros 16 µs,
three quarters zeros 10 µs. Dead ends: the matrix row by row instead of in panels (its stride maps half the cache sets:
70 µs), unaligned arrays (56 µs), panels of 64 columns (do not fit the first cache), a plain numba loop over columns
(its overlap checks cost more than 32 columns of work), a separate pass for Adam (11 µs; inside the product its square
roots hide behind the sums).

Weights lie in *panels*: ``(columns / 32, rows, 32)``, flat. Activations lie row by row (:class:`Rows`), with a gap
between rows. Inner loops run from 0 over slices, or use unsigned numbers: for an index that might be negative numba
emits Python's wrap-around, and the loop is no longer vectorised (4 times slower, measured).

The plain form of every function here is one line of numpy: see :mod:`burnside.nn.mlp`, which tests hold this against.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from burnside._compiled import njit
from burnside._types import AnyArray

__all__ = [
    "GAP",
    "PANEL",
    "Columns",
    "Moments",
    "Part",
    "Rows",
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

LANES = 8
#: Columns in a panel: four vectors of eight, twice (two terms at a time hide the latency of a fused multiply-add).
PANEL = 32
_VECTORS = PANEL // LANES
_UNROLL = 2

#: ``TABLE[8b : 8b + 8]``: the places of the ones of the byte ``b``, lowest first, then zeros.
TABLE = np.zeros(256 * 8, dtype=np.uint8)
for _byte in range(256):
    _places = [k for k in range(8) if _byte >> k & 1]
    TABLE[8 * _byte : 8 * _byte + len(_places)] = _places

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_ZEROS = ir.Constant(_FLOATS, [0.0] * LANES)
_FUSED = ("contract",)


class _Code:
    """A builder with the few things written over and over: arrays, vectors at an offset, splats."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self.context, self.builder, self.types, self.args = context, builder, signature.args, args

    def data(self, position: int, at: Any = None) -> Any:
        """Where the array in an argument begins, or its element ``at``."""
        array = self.context.make_array(self.types[position])(self.context, self.builder, self.args[position])
        return array.data if at is None else self.builder.gep(array.data, [at])

    def lanes(self, base: Any, count: int = _VECTORS, stride: int = LANES) -> list[Any]:
        """Pointers to ``count`` vectors, ``stride`` numbers apart."""
        places = [self.builder.gep(base, [ir.Constant(_I64, v * stride)]) for v in range(count)]
        return [self.builder.bitcast(place, _FLOATS.as_pointer()) for place in places]

    def load(self, base: Any) -> list[Any]:
        return [self.builder.load(pointer, align=4) for pointer in self.lanes(base)]

    def store(self, values: list[Any], base: Any) -> None:
        for value, pointer in zip(values, self.lanes(base), strict=True):
            self.builder.store(value, pointer, align=4)

    def splat(self, scalar: Any, kind: Any = _FLOATS) -> Any:
        undefined = ir.Constant(kind, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, ir.Constant(_I32, 0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, LANES), [0] * LANES))

    def sums(self, start: list[Any], x: Any, x_stride: Any, w: Any, w_stride: Any, index: Any, span: Any) -> list[Any]:
        """``start + Σ_t x[k_t·x_stride] · w[k_t·w_stride …]`` with ``k_t = index[t]`` over a span, as vectors.

        Two terms at a time into separate sums, then the odd one: the order depends on the list alone.
        """
        b = self.builder
        begin, end = span

        def add_term(t: Any, sums: list[Any]) -> list[Any]:
            k = b.sext(b.load(b.gep(index, [t])), _I64)
            scale = self.splat(b.load(b.gep(x, [b.mul(k, x_stride)])))
            row = self.load(b.gep(w, [b.mul(k, w_stride)]))
            terms = [b.fmul(scale, value, flags=_FUSED) for value in row]
            return [b.fadd(s, term, flags=_FUSED) for s, term in zip(sums, terms, strict=True)]

        def phis(*incoming: tuple[list[Any], Any]) -> list[Any]:
            out = []
            for values in zip(*[values for values, _ in incoming], strict=True):
                phi = b.phi(_FLOATS)
                for value, (_, block) in zip(values, incoming, strict=True):
                    phi.add_incoming(value, block)
                out.append(phi)
            return out

        initial = start + [_ZEROS] * (_VECTORS * (_UNROLL - 1))
        paired = b.add(begin, b.and_(b.sub(end, begin), ir.Constant(_I64, -_UNROLL)))
        entry = b.block
        loop, rest, last, done = (b.append_basic_block(f"gather.{name}") for name in ("loop", "rest", "last", "done"))
        b.cbranch(b.icmp_signed("<", begin, paired), loop, rest)

        b.position_at_end(loop)
        t = b.phi(_I64)
        t.add_incoming(begin, entry)
        sums = phis((initial, entry))
        after: list[Any] = []
        for u in range(_UNROLL):
            after += add_term(b.add(t, ir.Constant(_I64, u)), sums[u * _VECTORS : (u + 1) * _VECTORS])
        following = b.add(t, ir.Constant(_I64, _UNROLL))
        t.add_incoming(following, loop)
        for phi, value in zip(sums, after, strict=True):
            phi.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", following, paired), loop, rest)

        b.position_at_end(rest)
        partial = phis((initial, entry), (after, loop))
        total = [b.fadd(partial[v], partial[_VECTORS + v]) for v in range(_VECTORS)]
        b.cbranch(b.icmp_signed("<", paired, end), last, done)

        b.position_at_end(last)
        odd = add_term(paired, total)
        b.branch(done)

        b.position_at_end(done)
        return phis((total, rest), (odd, last))


def _generate_gather(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    code = _Code(context, builder, signature, args)
    start = code.load(code.data(3, args[4]))
    total = code.sums(
        start, code.data(5, args[6]), args[7], code.data(8, args[9]), args[10], code.data(11), args[12:14]
    )
    # ReLU in registers, or not: a floor of −∞ changes nothing. After a store it cost 5 µs a layer.
    floor = code.splat(args[2])
    total = [builder.select(builder.fcmp_ordered(">", value, floor), value, floor) for value in total]
    code.store(total, code.data(0, args[1]))
    return context.get_dummy_value()


def _gather_rows(
    typing: Any,
    out: Any,
    out_at: Any,
    floor: Any,
    start: Any,
    start_at: Any,
    x: Any,
    x_at: Any,
    x_stride: Any,
    w: Any,
    w_at: Any,
    w_stride: Any,
    index: Any,
    begin: Any,
    end: Any,
) -> Any:
    """``out[out_at + j] = max(floor, start[start_at + j] + Σ_t x[x_at + k_t·x_stride] · w[w_at + k_t·w_stride + j])``.

    ``j`` runs over the columns of a panel and ``k_t = index[t]`` for ``begin ≤ t < end``. ``out``, ``start``, ``x`` and
    ``w`` are flat float32 arrays, ``index`` is int32. A row has the same bits whatever else is in the batch.
    """
    n = types.intp
    return types.void(out, n, types.float32, start, n, x, n, n, w, n, n, index, n, n), _generate_gather


#: Typed loosely: inside compiled code these take the arguments after the first.
gather_rows: Any = intrinsic(_gather_rows)


def _gather_adam(
    typing: Any,
    w: Any,
    m: Any,
    v: Any,
    at: Any,
    scale: Any,
    root: Any,
    x: Any,
    x_at: Any,
    x_stride: Any,
    y: Any,
    y_at: Any,
    y_stride: Any,
    index: Any,
    begin: Any,
    end: Any,
) -> Any:
    """One step of Adam on ``w[at …]`` with the gradient ``Σ_t x[x_at + k_t·x_stride] · y[y_at + k_t·y_stride + j]``.

    ``scale`` is the rate over Adam's first correction, ``root`` one over the root of its second.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        grads = code.sums(
            [_ZEROS] * _VECTORS,
            code.data(6, args[7]),
            args[8],
            code.data(9, args[10]),
            args[11],
            code.data(12),
            args[13:15],
        )
        weights, firsts, seconds = (code.load(code.data(k, args[3])) for k in range(3))
        sqrt = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_FLOATS, [_FLOATS]), f"llvm.sqrt.v{LANES}f32"
        )
        scale, root = code.splat(args[4]), code.splat(args[5])

        def constant(value: float) -> Any:
            return ir.Constant(_FLOATS, [float(np.float32(value))] * LANES)

        def multiply_add(a: Any, b: Any, c: Any) -> Any:
            return builder.fadd(builder.fmul(a, b, flags=_FUSED), c, flags=_FUSED)

        new: list[list[Any]] = [[], [], []]
        for g, weight, first, second in zip(grads, weights, firsts, seconds, strict=True):
            first = multiply_add(constant(0.9), first, builder.fmul(constant(0.1), g))
            second = multiply_add(constant(0.999), second, builder.fmul(constant(0.001), builder.fmul(g, g)))
            below = multiply_add(builder.call(sqrt, [second]), root, constant(1e-8))
            step = builder.fdiv(builder.fmul(scale, first), below)
            for values, value in zip(new, (builder.fsub(weight, step), first, second), strict=True):
                values.append(value)
        for k, values in enumerate(new):
            code.store(values, code.data(k, args[3]))
        return context.get_dummy_value()

    n, f = types.intp, types.float32
    return types.void(w, m, v, n, f, f, x, n, n, y, n, n, index, n, n), generate


gather_adam: Any = intrinsic(_gather_adam)


def _append(code: _Code, byte: Any, lists: Any, base: Any, table: Any) -> Any:
    """Write the places of the ones of a byte, plus ``base``, to ``lists``, always eight; returns how many count."""
    b = code.builder
    wide = ir.VectorType(_I32, LANES)
    entry = b.gep(table, [b.mul(b.zext(byte, _I64), ir.Constant(_I64, 8))])
    places = b.load(b.bitcast(entry, ir.VectorType(_I8, LANES).as_pointer()), align=1)
    numbers = b.add(b.zext(places, wide), code.splat(b.trunc(base, _I32), wide))
    b.store(numbers, b.bitcast(lists, wide.as_pointer()), align=4)
    return b.zext(b.ctpop(byte), _I64)


def _list_positive(typing: Any, h: Any, h_at: Any, lists: Any, at: Any, base: Any, table: Any) -> Any:
    """List which of eight numbers are positive at ``lists[at …]``, numbered from ``base``; returns how many."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        on = builder.fcmp_ordered(">", builder.load(code.lanes(code.data(0, args[1]), 1)[0], align=4), _ZEROS)
        return _append(code, builder.bitcast(on, _I8), code.data(2, args[3]), args[4], code.data(5))

    n = types.intp
    return types.intp(h, n, lists, n, n, table), generate


list_positive: Any = intrinsic(_list_positive)


def _list_bits(typing: Any, byte: Any, lists: Any, at: Any, base: Any, table: Any) -> Any:
    """List the places of the ones of a byte at ``lists[at …]``, numbered from ``base``; returns how many."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        return _append(code, args[0], code.data(1, args[2]), args[3], code.data(4))

    n = types.intp
    return types.intp(types.uint8, lists, n, n, table), generate


list_bits: Any = intrinsic(_list_bits)


def _transpose_tile(typing: Any, out: Any, out_at: Any, w: Any, w_at: Any) -> Any:
    """Write the transpose of the 8×8 tile of ``w`` at ``w_at`` to ``out`` at ``out_at``; rows lie ``PANEL`` apart.

    Vectors are exchanged in registers; the plain loop moves one number at a time (15 µs for 128×128, this 2 µs).
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        code = _Code(context, builder, signature, args)
        rows = [builder.load(p, align=4) for p in code.lanes(code.data(2, args[3]), LANES, PANEL)]
        for bit in (4, 2, 1):  # exchange this bit of the row number with that of the column number
            keep = [e if not e & bit else LANES + (e ^ bit) for e in range(LANES)]
            move = [e | bit if not e & bit else LANES + e for e in range(LANES)]
            new = list(rows)
            for r in range(LANES):
                if not r & bit:
                    for to, mask in ((r, keep), (r | bit, move)):
                        picks = ir.Constant(ir.VectorType(_I32, LANES), mask)
                        new[to] = builder.shuffle_vector(rows[r], rows[r | bit], picks)
            rows = new
        for row, pointer in zip(rows, code.lanes(code.data(0, args[1]), LANES, PANEL), strict=True):
            builder.store(row, pointer, align=4)
        return context.get_dummy_value()

    n = types.intp
    return types.void(out, n, w, n), generate


transpose_tile: Any = intrinsic(_transpose_tile)


# Fused multiply-adds are allowed; other reorderings only where a sum must be vectorised.
_EXACT = {"contract", "nsz"}
_SUMS = {"contract", "nsz", "reassoc"}
#: Numbers between rows of activations. Without a gap, rows of 128 fall on an eighth of the cache sets.
GAP = 16
_ZERO = np.float32(0.0)


class Part(NamedTuple):
    """A part of a flat array: a bias, or a matrix in panels."""

    data: AnyArray
    at: int


class Rows(NamedTuple):
    """A batch of activations, row by row, with the places of what is not zero in every row."""

    values: AnyArray
    stride: int  # from a row to the next
    width: int
    lists: AnyArray  # of row i: lists[i·width …], counts[i] of them
    counts: AnyArray


class Columns(NamedTuple):
    """The same places by column: ``lists[k·places …]``, with ``places`` the rows rounded up to eights."""

    bits: AnyArray  # bit i of bits[k] (words of 64 rows, width apart): whether entry (i, k) is not zero
    lists: AnyArray
    counts: AnyArray


class Moments(NamedTuple):
    """Parameters and the two moments of Adam."""

    w: AnyArray
    m: AnyArray
    v: AnyArray


@njit(cache=True, nogil=True, error_model="numpy")
def layer(out: Rows, floor: Any, bias: Part, x: Rows, w: Part, rows: int) -> None:
    """``out = max(floor, bias + x · w)``; ``w`` is (x.width, out.width) in panels, ``bias.at < 0`` means none.

    Panel by panel, so that one panel (16 kB here) stays in the first cache while all rows pass over it.
    """
    values, stride = out.values, out.stride
    start, start_at = bias.data, bias.at
    data, row, narrow, lists, counts = x.values, x.stride, x.width, x.lists, x.counts
    weights, w_at = w.data, w.at
    for c in range(out.width // PANEL):
        for i in range(rows):
            gather_rows(
                values,
                i * stride + c * PANEL,
                floor,
                start,
                start_at + c * PANEL if start_at >= 0 else 0,
                data,
                i * row,
                1,
                weights,
                w_at + c * narrow * PANEL,
                PANEL,
                lists,
                i * narrow,
                i * narrow + counts[i],
            )


@njit(cache=True, nogil=True, error_model="numpy")
def descend(net: Moments, at: int, step: Any, x: Rows, y: Rows, columns: Columns, rows: int) -> None:
    """One step of Adam on the (x.width, y.width) matrix at ``at`` whose gradient is ``xᵀ · y``.

    ``columns`` names where the columns of ``x`` are not zero; ``step`` is what :func:`corrections` says.
    """
    w, m, v = net.w, net.m, net.v
    scale, root = step
    data, row, narrow, other, other_row = x.values, x.stride, x.width, y.values, y.stride
    lists, counts = columns.lists, columns.counts
    places = -(-rows // LANES) * LANES
    for c in range(y.width // PANEL):
        for k in range(narrow):
            gather_adam(
                w,
                m,
                v,
                at + (c * narrow + k) * PANEL,
                scale,
                root,
                data,
                k,
                row,
                other,
                c * PANEL,
                other_row,
                lists,
                k * places,
                k * places + counts[k],
            )


@njit(cache=True, nogil=True, error_model="numpy")
def positive(h: Rows, rows: int) -> None:
    """The list of what ReLU let through in every row.

    Eight at a time, by a table of the places of the ones of a byte: one by one it took 5 µs for 64×128, this takes 1.
    """
    values, stride, width, lists, counts = h.values, h.stride, h.width, h.lists, h.counts
    for i in range(rows):
        at, to = i * stride, i * width
        n = to
        for k in range(0, width, LANES):
            n += list_positive(values, at + k, lists, n, k, TABLE)
        counts[i] = n - to


@njit(cache=True, nogil=True, error_model="numpy")
def row_bits(h: Rows, columns: Columns, rows: int) -> None:
    """Note where the columns of ``h`` are positive, as bits."""
    values, stride, width, bits = h.values, h.stride, h.width, columns.bits
    for first in range(0, rows, 64):
        word = bits[first // 64 * width : (first // 64 + 1) * width]
        word[:] = np.uint64(0)
        for i in range(first, min(first + 64, rows)):
            row, flag = values[i * stride : i * stride + width], np.uint64(1) << np.uint64(i - first)
            for k in range(width):
                word[k] |= flag if row[k] > _ZERO else np.uint64(0)


@njit(cache=True, nogil=True, error_model="numpy")
def column_lists(columns: Columns, width: int, rows: int) -> None:
    """The lists that the bits stand for; appending to all lists at once took three times as long."""
    bits, lists, counts = columns.bits, columns.lists, columns.counts
    places = -(-rows // LANES) * LANES
    for k in range(width):
        n = k * places
        for first in range(0, rows, LANES):
            word = bits[first // 64 * width + k] >> np.uint64(first % 64)
            n += list_bits(np.uint8(word & np.uint64(255)), lists, n, first, TABLE)
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
def mask(d: Rows, h: Rows, rows: int) -> None:
    """Backwards through ReLU: zero ``d`` where ReLU's output ``h`` is not positive (gaps hold zeros)."""
    slope, output = d.values, h.values
    for j in range(rows * d.stride):
        slope[j] *= np.float32(output[j] > _ZERO)


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def add_rows(d: Rows, rows: int, out: AnyArray, out_at: int) -> None:
    """``out = Σ_i d[i]``, the gradient of a bias."""
    values, stride, width = d.values, d.stride, d.width
    total = out[out_at : out_at + width]
    total[:] = _ZERO
    for i in range(rows):
        row = values[i * stride : i * stride + width]
        for j in range(width):
            total[j] += row[j]


@njit(cache=True, nogil=True, error_model="numpy")
def transpose(matrix: Part, narrow: int, wide: int, out: AnyArray) -> None:
    """The transpose of a (narrow, wide) matrix in panels, in panels of its own."""
    w, w_at = matrix.data, matrix.at
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
def adam(net: Moments, first: int, g: AnyArray, step: Any) -> None:
    """One step of Adam (β 0.9 and 0.999, ε 1e-8) on the parameters from ``first`` on, whose gradient is ``g``."""
    one, rest_one = np.float32(0.9), np.float32(0.1)
    two, rest_two = np.float32(0.999), np.float32(0.001)
    tiny = np.float32(1e-8)
    scale, root = step
    weights, firsts, seconds = net.w[first:], net.m[first:], net.v[first:]
    for i in range(g.size):
        a = one * firsts[i] + rest_one * g[i]
        b = two * seconds[i] + rest_two * (g[i] * g[i])
        firsts[i] = a
        seconds[i] = b
        weights[i] -= scale * a / (np.sqrt(b) * root + tiny)
