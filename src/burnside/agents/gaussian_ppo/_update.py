"""PPO's update of actor and critic: gradients of a minibatch, clipping and Adam, compiled, float32."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from burnside._types import AnyArray
from burnside.agents.gaussian_ppo._network import (
    BATCH_ROWS,
    Net,
    Work,
    backward,
    forward,
    log_density,
    pick,
    transpose,
)
from burnside.agents.gaussian_ppo._tiles import ROWS

__all__ = ["epoch"]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_EXACT = {"contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def _adam(w: AnyArray, m: AnyArray, v: AnyArray, g: AnyArray, shrink: Any, scale: Any, root: Any) -> None:
    """Adam (β 0.9 and 0.999, ε 1e-8) on all parameters, of the gradient times ``shrink``."""
    for i in range(w.size):
        slope = shrink * g[i]
        a = np.float32(0.9) * m[i] + np.float32(0.1) * slope
        b = np.float32(0.999) * v[i] + np.float32(0.001) * (slope * slope)
        m[i] = a
        v[i] = b
        w[i] -= scale * a / (np.sqrt(b) * root + np.float32(1e-8))


@njit(cache=True, nogil=True, error_model="numpy")
def _actor_rows(
    w: AnyArray,
    g: AnyArray,
    actor: Net,
    spread: int,
    work: Work,
    action: AnyArray,
    log_prob: AnyArray,
    advantage: AnyArray,
    rows_of: AnyArray,
    first: int,
    rows: int,
    centre: float,
    over: float,
    clip: Any,
    share: Any,
    stats: AnyArray,
) -> None:
    """The gradient of PPO's clipped objective at the outputs of the actor, and of the log deviations."""
    size = actor.outputs
    log_std = w[spread : spread + size]
    inverse = np.exp(-log_std)
    dout, out = work.dout, work.out
    for i in range(rows):
        row = rows_of[first + i]
        a = np.float32((advantage[row] - centre) * over)
        log_ratio = log_density(action[row], out, i * size, log_std, inverse) - log_prob[row]
        ratio = np.exp(log_ratio)
        bounded = min(max(ratio, _ONE - clip), _ONE + clip)
        stats[0] -= np.float64(min(ratio * a, bounded * a))
        stats[3] += np.float64(ratio - _ONE) - np.float64(log_ratio)
        stats[4] += 1.0 if abs(ratio - _ONE) > clip else 0.0
        slope = -a * ratio * share if ratio * a <= bounded * a else _ZERO
        for j in range(size):
            z = (action[row, j] - out[i * size + j]) * inverse[j]
            dout[i * size + j] = slope * z * inverse[j]
            g[spread + j] += slope * (z * z - _ONE)
    for i in range(rows * size, -(-rows // ROWS) * ROWS * size):
        dout[i] = _ZERO


@njit(cache=True, nogil=True, error_model="numpy")
def epoch(
    w: AnyArray,
    m: AnyArray,
    v: AnyArray,
    made: int,
    actor: Net,
    critic: Net,
    spread: int,
    work: Work,
    obs: AnyArray,
    action: AnyArray,
    log_prob: AnyArray,
    advantage: AnyArray,
    target: AnyArray,
    order: AnyArray,
    batch: int,
    normalize: bool,
    clip: float,
    entropy: float,
    value_weight: float,
    rate: float,
    grad_clip: float,
    target_kl: float,
    totals: AnyArray,
) -> int:
    """One pass over a rollout in an order; returns the updates made, fewer if the KL estimate passed ``target_kl``.

    ``totals`` gains per update: policy loss, value loss, entropy, KL estimate (before the step), clipped fraction, 1.
    """
    g, size = work.grad, actor.outputs
    stats = np.zeros(5)
    done = 0
    for begin in range(0, order.size, batch):
        stats[:] = 0.0
        g[:] = _ZERO
        share = np.float32(1.0 / batch)
        centre, over = 0.0, 1.0
        if normalize:
            for t in range(batch):
                centre += advantage[order[begin + t]]
            centre /= batch
            square = 0.0
            for t in range(batch):
                square += (advantage[order[begin + t]] - centre) ** 2
            over = 1.0 / (math.sqrt(square / (batch - 1)) + 1e-8)
        transpose(w, actor, work.transposed)
        for first in range(begin, begin + batch, BATCH_ROWS):
            rows = min(BATCH_ROWS, begin + batch - first)
            whole = -(-rows // ROWS) * ROWS
            pick(work.x, actor.inputs, obs, order, first, rows)
            forward(w, actor, work.x, work.h1, work.h2, work.out, rows)
            _actor_rows(
                w, g, actor, spread, work, action, log_prob, advantage, order, first, rows,
                centre, over, np.float32(clip), share, stats,
            )  # fmt: skip
            backward(
                w, g, actor, work.x, work.h1, work.h2, work.d1, work.d2, work.dout,
                work.transposed, work.zeros, whole,
            )  # fmt: skip
        if target_kl > 0.0 and stats[3] / batch > target_kl:
            break
        transpose(w, critic, work.transposed)
        weight = np.float32(value_weight / batch)
        for first in range(begin, begin + batch, BATCH_ROWS):
            rows = min(BATCH_ROWS, begin + batch - first)
            whole = -(-rows // ROWS) * ROWS
            pick(work.x, critic.inputs, obs, order, first, rows)
            forward(w, critic, work.x, work.h1, work.h2, work.out, rows)
            for i in range(rows):
                error = work.out[i] - target[order[first + i]]
                stats[1] += 0.5 * np.float64(error) * np.float64(error)
                work.dout[i] = weight * error
            for i in range(rows, whole):
                work.dout[i] = _ZERO
            backward(
                w, g, critic, work.x, work.h1, work.h2, work.d1, work.d2, work.dout,
                work.transposed, work.zeros, whole,
            )  # fmt: skip
        for j in range(size):
            g[spread + j] -= np.float32(entropy)
            stats[2] += np.float64(w[spread + j]) + 0.5 + 0.5 * math.log(2 * math.pi)
        norm = 0.0
        for i in range(g.size):
            norm += np.float64(g[i]) * np.float64(g[i])
        shrink = np.float32(min(1.0, grad_clip / (math.sqrt(norm) + 1e-6)))
        done += 1
        t = made + done
        _adam(w, m, v, g, shrink, np.float32(rate / (1.0 - 0.9**t)), np.float32(1.0 / math.sqrt(1.0 - 0.999**t)))
        totals[0] += stats[0] / batch
        totals[1] += stats[1] / batch
        totals[2] += stats[2]
        totals[3] += stats[3] / batch
        totals[4] += stats[4] / batch
        totals[5] += 1.0
    return done
