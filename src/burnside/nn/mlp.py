"""A network with two hidden layers in plain numpy: what :mod:`burnside.nn.mlp_kernels` computes, one line each.

The compiled twin keeps all parameters of a member in one flat array (:class:`Net` says where what lies): at 64×64 an
operation takes less time than its dispatch. Functions of the same name here and there compute the same; tests hold them
against each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from burnside._random import Stream, normal, uniform
from burnside._types import AnyArray

__all__ = [
    "COLUMNS",
    "ROWS",
    "Net",
    "adam",
    "backward",
    "forward",
    "linear_parameters",
    "matrices",
    "network",
    "orthogonal_parameters",
    "set_matrices",
]

#: Rows and columns of a tile of the compiled products: rows are padded to fours, hidden widths multiples of sixteen.
ROWS, COLUMNS = 4, 16


class Net(NamedTuple):
    """Widths, and where the parts of a network begin in the flat parameters.

    Hidden layers lie in panels of sixteen columns: entry (k, j) of a (rows, columns) matrix is at ``(j // 16)·rows·16 +
    k·16 + j % 16``. Output layers lie row by row, one row per output. Rows of inputs are padded with zeros to fours.
    """

    inputs: int
    h1: int
    h2: int
    outputs: int
    w1: int
    b1: int
    w2: int
    b2: int
    w3: int
    b3: int
    end: int
    obs_dim: int  # without padding
    relu: bool  # or tanh


def network(obs_dim: int, hidden: tuple[int, int], outputs: int, *, at: int = 0, relu: bool = False) -> Net:
    """Where the parts of a network lie that begins at ``at``.

    >>> network(9, (64, 64), 3).end
    5187
    """
    inputs, (h1, h2) = -(-obs_dim // ROWS) * ROWS, hidden
    sizes = (inputs * h1, h1, h1 * h2, h2, outputs * h2, outputs)
    w1, b1, w2, b2, w3, b3, end = accumulate(sizes, initial=at)
    return Net(inputs, h1, h2, outputs, w1, b1, w2, b2, w3, b3, end, obs_dim, relu)


def _panels(matrix: AnyArray) -> AnyArray:
    rows, columns = matrix.shape
    return np.ascontiguousarray(matrix.reshape(rows, columns // COLUMNS, COLUMNS).transpose(1, 0, 2)).ravel()


def _plain(panels: AnyArray, rows: int, columns: int) -> AnyArray:
    return panels.reshape(columns // COLUMNS, rows, COLUMNS).transpose(1, 0, 2).reshape(rows, columns)


def matrices(flat: AnyArray, net: Net) -> dict[str, AnyArray]:
    """Copies of the parameters in their natural shapes, ``x @ w1 + b1`` and so on."""
    out = {
        "w1": _plain(flat[net.w1 : net.b1], net.inputs, net.h1)[: net.obs_dim],
        "b1": flat[net.b1 : net.w2],
        "w2": _plain(flat[net.w2 : net.b2], net.h1, net.h2),
        "b2": flat[net.b2 : net.w3],
        "w3": flat[net.w3 : net.b3].reshape(net.outputs, net.h2).T,
        "b3": flat[net.b3 : net.end],
    }
    return {name: np.array(array) for name, array in out.items()}


def set_matrices(flat: AnyArray, net: Net, given: Mapping[str, AnyArray]) -> None:
    """The inverse of :func:`matrices`, in place."""
    first = np.zeros((net.inputs, net.h1), dtype=np.float32)
    first[: net.obs_dim] = given["w1"]
    flat[net.w1 : net.b1], flat[net.b1 : net.w2] = _panels(first), given["b1"]
    flat[net.w2 : net.b2], flat[net.b2 : net.w3] = _panels(given["w2"]), given["b2"]
    flat[net.w3 : net.b3] = np.ascontiguousarray(given["w3"].T).ravel()
    flat[net.b3 : net.end] = given["b3"]


def linear_parameters(seed: int, widths: Sequence[int]) -> dict[str, AnyArray]:
    """Weights as PyTorch's ``Linear`` draws them, uniform on ±1/√inputs, biases too; from stream INIT.

    >>> {name: array.shape for name, array in linear_parameters(0, (4, 32, 16, 2)).items()}["w2"]
    (32, 16)
    """
    drawn, counter = {}, 0
    for number, (narrow, wide) in enumerate(pairwise(widths), start=1):
        bound = 1.0 / np.sqrt(narrow)
        for name, shape in ((f"w{number}", (narrow, wide)), (f"b{number}", (wide,))):
            count = int(np.prod(shape))
            u = uniform(seed, Stream.INIT, np.arange(counter, counter + count))
            drawn[name] = ((2 * u - 1) * bound).astype(np.float32).reshape(shape)
            counter += count
    return drawn


def orthogonal_parameters(
    seed: int, widths: Sequence[int], gain: float, first: int = 0
) -> tuple[dict[str, AnyArray], int]:
    """Orthogonal weights (gain √2, and ``gain`` for the output) from stream INIT, biases zero; and the next counter."""
    found: dict[str, AnyArray] = {}
    for k, (rows, columns) in enumerate(pairwise(widths), start=1):
        draws = normal(seed, Stream.INIT, first + np.arange(rows * columns))
        first += rows * columns
        q, r = np.linalg.qr(draws.reshape(max(rows, columns), min(rows, columns)))
        q = q * np.sign(np.diag(r))  # unique: not a choice of the library
        scale = gain if k == len(widths) - 1 else math.sqrt(2)
        found[f"w{k}"] = (scale * (q if rows >= columns else q.T)).astype(np.float32)
        found[f"b{k}"] = np.zeros(columns, dtype=np.float32)
    return found, first


# ---------------------------------------------------------------------- the twins


def forward(w: Mapping[str, AnyArray], x: AnyArray, relu: bool = False) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Both hidden layers and the outputs of every row.

    >>> w = linear_parameters(0, (4, 16, 16, 2))
    >>> forward(w, np.zeros((3, 4), dtype=np.float32), relu=True)[2].shape
    (3, 2)
    """
    bend = _relu if relu else np.tanh
    h1 = bend(x @ w["w1"] + w["b1"])
    h2 = bend(h1 @ w["w2"] + w["b2"])
    return h1, h2, h2 @ w["w3"] + w["b3"]


def _relu(x: AnyArray) -> AnyArray:
    return np.maximum(x, 0)


def backward(
    w: Mapping[str, AnyArray], x: AnyArray, h1: AnyArray, h2: AnyArray, dout: AnyArray, relu: bool = False
) -> dict[str, AnyArray]:
    """The gradients of all parameters from that of the outputs, summed over the rows."""
    d2 = (dout @ w["w3"].T) * ((h2 > 0) if relu else 1 - h2 * h2)
    d1 = (d2 @ w["w2"].T) * ((h1 > 0) if relu else 1 - h1 * h1)
    return {
        "w1": x.T @ d1,
        "b1": d1.sum(axis=0),
        "w2": h1.T @ d2,
        "b2": d2.sum(axis=0),
        "w3": h2.T @ dout,
        "b3": dout.sum(axis=0),
    }


def adam(w: AnyArray, m: AnyArray, v: AnyArray, g: AnyArray, t: int, rate: float) -> None:
    """Step ``t`` (from 1) of Adam (β 0.9 and 0.999, ε 1e-8), in place."""
    m += 0.1 * (g - m)
    v += 0.001 * (g * g - v)
    w -= rate / (1 - 0.9**t) * m / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
