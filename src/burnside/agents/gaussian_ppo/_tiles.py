"""The one matrix product of the native engine: four rows by sixteen columns, with the sums kept in registers.

All dense products of a small network, forwards and backwards, are made of :func:`tile`: the strides say which factor
is read along its rows and which along its columns. As in ``burnside.agents.dqn`` no BLAS is called, so there is no
thread pool to tame and a row has the same bits whatever else is in its batch.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

__all__ = ["COLUMNS", "ROWS", "tile"]

#: Rows and columns of a tile: eight vectors of eight sums hide the latency of a fused multiply-add.
ROWS = 4
COLUMNS = 16
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
