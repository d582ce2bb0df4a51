"""The flat parameters of a member: where what lies, how it begins, and conversion to plain matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from burnside._random import Stream, normal
from burnside._types import AnyArray
from burnside.agents.gaussian_ppo._network import BATCH_ROWS, GAP, Net, Work
from burnside.agents.gaussian_ppo._tiles import COLUMNS, ROWS
from burnside.agents.gaussian_ppo.config import GaussianPPOConfig

__all__ = ["Layout", "initial", "layout", "matrices", "scratch", "set_matrices"]


@dataclass(frozen=True)
class Layout:
    """Actor, critic and log deviations in one flat array."""

    actor: Net
    critic: Net
    spread: int
    size: int
    obs_dim: int


def layout(obs_dim: int, act_dim: int, hidden: tuple[int, int]) -> Layout:
    """Where the parts lie for given widths.

    >>> layout(9, 3, (64, 64)).size
    10247
    """
    inputs, (h1, h2) = -(-obs_dim // ROWS) * ROWS, hidden
    at, nets = 0, []
    for outputs in (act_dim, 1):
        places = []
        for count in (inputs * h1, h1, h1 * h2, h2, outputs * h2, outputs):
            places.append(at)
            at += count
        nets.append(Net(inputs, h1, h2, outputs, *places))
    return Layout(nets[0], nets[1], at, at + act_dim, obs_dim)


def _panels(matrix: AnyArray) -> AnyArray:
    rows, columns = matrix.shape
    return np.ascontiguousarray(matrix.reshape(rows, columns // COLUMNS, COLUMNS).transpose(1, 0, 2)).ravel()


def _plain(panels: AnyArray, rows: int, columns: int) -> AnyArray:
    return panels.reshape(columns // COLUMNS, rows, COLUMNS).transpose(1, 0, 2).reshape(rows, columns)


def matrices(flat: AnyArray, at: Layout) -> dict[str, AnyArray]:
    """Weights as ``(inputs, outputs)`` matrices and biases by name (``actor.w1`` … ``critic.b3``, ``log_std``)."""
    out: dict[str, AnyArray] = {}
    for name, net in (("actor", at.actor), ("critic", at.critic)):
        one = _plain(flat[net.w1 : net.b1], net.inputs, net.h1)
        out[f"{name}.w1"], out[f"{name}.b1"] = one[: at.obs_dim], flat[net.b1 : net.w2]
        out[f"{name}.w2"], out[f"{name}.b2"] = _plain(flat[net.w2 : net.b2], net.h1, net.h2), flat[net.b2 : net.w3]
        out[f"{name}.w3"] = flat[net.w3 : net.b3].reshape(net.outputs, net.h2).T
        out[f"{name}.b3"] = flat[net.b3 : net.b3 + net.outputs]
    out["log_std"] = flat[at.spread :]
    return {name: np.array(array) for name, array in out.items()}


def set_matrices(flat: AnyArray, at: Layout, given: Mapping[str, AnyArray]) -> None:
    """The inverse of :func:`matrices`, in place."""
    for name, net in (("actor", at.actor), ("critic", at.critic)):
        one = np.zeros((net.inputs, net.h1), dtype=np.float32)
        one[: at.obs_dim] = given[f"{name}.w1"]
        flat[net.w1 : net.b1], flat[net.b1 : net.w2] = _panels(one), given[f"{name}.b1"]
        flat[net.w2 : net.b2], flat[net.b2 : net.w3] = _panels(given[f"{name}.w2"]), given[f"{name}.b2"]
        flat[net.w3 : net.b3] = np.ascontiguousarray(given[f"{name}.w3"].T).ravel()
        flat[net.b3 : net.b3 + net.outputs] = given[f"{name}.b3"]
    flat[at.spread :] = given["log_std"]


def initial(seed: int, at: Layout, config: GaussianPPOConfig) -> AnyArray:
    """Orthogonal weights from stream INIT, biases zero."""
    found: dict[str, AnyArray] = {"log_std": np.full(at.actor.outputs, config.log_std, dtype=np.float32)}
    first = 0
    for name, net, gain in (("actor", at.actor, 0.01), ("critic", at.critic, 1.0)):
        widths = (at.obs_dim, net.h1, net.h2, net.outputs)
        for k, (rows, columns, scale) in enumerate(
            zip(widths[:-1], widths[1:], (math.sqrt(2), math.sqrt(2), gain), strict=True), start=1
        ):
            draws = normal(seed, Stream.INIT, first + np.arange(rows * columns))
            first += rows * columns
            tall = draws.reshape(max(rows, columns), min(rows, columns))
            q, r = np.linalg.qr(tall)
            q = q * np.sign(np.diag(r))  # unique: not a choice of the library
            found[f"{name}.w{k}"] = (scale * (q if rows >= columns else q.T)).astype(np.float32)
            found[f"{name}.b{k}"] = np.zeros(columns, dtype=np.float32)
    flat = np.zeros(at.size, dtype=np.float32)
    set_matrices(flat, at, found)
    return flat


def scratch(at: Layout) -> Work:
    """Scratch of the compiled functions."""

    def zeros(count: int) -> AnyArray:
        return np.zeros(count, dtype=np.float32)

    net = at.actor
    return Work(
        zeros(BATCH_ROWS * net.inputs),
        zeros(BATCH_ROWS * (net.h1 + GAP)),
        zeros(BATCH_ROWS * (net.h2 + GAP)),
        zeros(BATCH_ROWS * (net.h1 + GAP)),
        zeros(BATCH_ROWS * (net.h2 + GAP)),
        zeros(BATCH_ROWS * net.outputs),
        zeros(BATCH_ROWS * net.outputs),
        zeros(net.h1 * net.h2),
        zeros(max(net.h1, net.h2)),
        np.arange(BATCH_ROWS, dtype=np.int64),
        zeros(at.size),
    )
