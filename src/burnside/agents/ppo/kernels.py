"""Acting and PPO's update of actor and critic, compiled, float32.

:mod:`burnside.agents.ppo.plain` is the same in numpy. Actions are rows of float32: a vector for the Gaussian
policy, the number of the action for the categorical one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from burnside._compiled import njit
from burnside._random_kernels import POLICY, uniform_nb
from burnside._types import AnyArray
from burnside.nn.image_kernels import combine, project, pull, spread
from burnside.nn.images import ALONE, FREE, Images, Ties
from burnside.nn.mlp import ROWS, Net
from burnside.nn.mlp_kernels import BATCH_ROWS, Scratch, adam, backward, forward, outputs, pick, transpose

__all__ = ["Adam", "Drawn", "Policy", "Rules", "Steps", "act", "epoch", "values"]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_HALF_LOG_TAU = np.float32(0.5 * math.log(2 * math.pi))


class Policy(NamedTuple):
    """Actor, critic and (Gaussian policy) logarithms of the deviations, in one flat array of parameters.

    If the networks evaluate the images of an observation (``seen``, ``valued``: of actor and critic), rows of
    observations come in blocks of these images.
    """

    actor: Net
    critic: Net
    spread: int
    size: int
    discrete: bool
    seen: Images = ALONE
    valued: Images = ALONE
    ties: Ties = FREE


class Adam(NamedTuple):
    """Parameters, the two moments, and room for the gradient."""

    w: AnyArray
    m: AnyArray
    v: AnyArray
    grad: AnyArray


class Steps(NamedTuple):
    """The steps of a rollout, one row each; ``log_prob`` is that of the policy that acted, ``target`` of the value."""

    obs: AnyArray
    action: AnyArray
    log_prob: AnyArray
    advantage: AnyArray
    target: AnyArray


class Drawn(NamedTuple):
    """Room for the actions of some rows and their log-probabilities."""

    action: AnyArray
    log_prob: AnyArray


class Rules(NamedTuple):
    """What :class:`PPOConfig` says about an update."""

    batch: int
    normalize: bool
    clip: float
    entropy: float
    value_weight: float
    rate: float
    grad_clip: float
    target_kl: float


# ---------------------------------------------------------------------- acting


@njit(cache=True, nogil=True, error_model="numpy")
def _log_density(action: AnyArray, mean: AnyArray, log_std: AnyArray, inverse: AnyArray) -> Any:
    total = _ZERO
    for j in range(log_std.size):
        z = (action[j] - mean[j]) * inverse[j]
        total -= np.float32(0.5) * z * z + log_std[j] + _HALF_LOG_TAU
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def _log_softmax(logits: AnyArray, out: AnyArray) -> None:
    top = logits[0]
    for j in range(1, logits.size):
        top = max(top, logits[j])
    total = _ZERO
    for j in range(logits.size):
        total += np.exp(logits[j] - top)
    shift = top + np.log(total)
    for j in range(logits.size):
        out[j] = logits[j] - shift


@njit(cache=True, nogil=True, error_model="numpy")
def values(w: AnyArray, policy: Policy, work: Scratch, obs: AnyArray, out: AnyArray) -> None:
    """V of every row of ``obs``."""
    count = policy.valued.count
    found = np.empty((len(obs), 1), dtype=np.float32)
    outputs(w, policy.critic, work, obs, found)
    flat = found.ravel()
    combine(flat, len(obs) // count, 1, policy.valued, np.empty(flat.size, dtype=np.float32))
    out[:] = flat[: len(obs) // count]


@njit(cache=True, nogil=True, error_model="numpy")
def act(w: AnyArray, policy: Policy, work: Scratch, obs: AnyArray, seed: int, counter: int, out: Drawn) -> None:
    """Draw an action for every row of ``obs``; its noise is a hash of (seed, POLICY, counter + row·width + entry)."""
    size, action, log_prob = policy.actor.outputs, out.action, out.log_prob
    rows = len(obs) // policy.seen.count
    found = np.empty((len(obs), size), dtype=np.float32)
    outputs(w, policy.actor, work, obs, found)
    combine(found.ravel(), rows, size, policy.seen, np.empty(found.size, dtype=np.float32))
    if policy.discrete:
        log_p = np.empty(size, dtype=np.float32)
        for i in range(rows):
            _log_softmax(found[i], log_p)
            level, chosen = uniform_nb(seed, POLICY, counter + i), size - 1
            for j in range(size):
                level -= np.float64(np.exp(log_p[j]))
                if level < 0.0:
                    chosen = j
                    break
            action[i, 0] = np.float32(chosen)
            log_prob[i] = log_p[chosen]
        return
    log_std = w[policy.spread : policy.spread + size]
    deviation, inverse = np.exp(log_std), np.exp(-log_std)
    for i in range(rows):
        for j in range(size):
            at = 2 * (counter + i * size + j)
            # Box and Muller's method; 1 − u lies in (0, 1].
            radius = math.sqrt(-2.0 * math.log(1.0 - uniform_nb(seed, POLICY, at)))
            noise = np.float32(radius * math.cos(2.0 * math.pi * uniform_nb(seed, POLICY, at + 1)))
            action[i, j] = found[i, j] + deviation[j] * noise
        log_prob[i] = _log_density(action[i], found[i], log_std, inverse)


# ---------------------------------------------------------------------- learning


@njit(cache=True, nogil=True, error_model="numpy")
def _clipped(log_ratio: Any, a: Any, clip: Any, stats: AnyArray) -> Any:
    """The slope of −min(ρ A, clip(ρ) A) in the log-probability; adds to policy loss, KL estimate and clipped steps."""
    ratio = np.exp(log_ratio)
    bounded = min(max(ratio, _ONE - clip), _ONE + clip)
    stats[0] -= np.float64(min(ratio * a, bounded * a))
    stats[3] += np.float64(ratio - _ONE) - np.float64(log_ratio)
    stats[4] += 1.0 if abs(ratio - _ONE) > clip else 0.0
    return -a * ratio if ratio * a <= bounded * a else _ZERO


@njit(cache=True, nogil=True, error_model="numpy")
def _actor_slopes(
    net: Adam, policy: Policy, work: Scratch, steps: Steps, rows: AnyArray, scale: Any, rules: Rules, stats: AnyArray
) -> None:
    """The gradient of the objective at the outputs of the actor, and of the log deviations."""
    size, (centre, over) = policy.actor.outputs, scale
    share, clip, bonus = np.float32(1.0 / rules.batch), np.float32(rules.clip), np.float32(rules.entropy / rules.batch)
    spread, g = policy.spread, net.grad
    log_std = net.w[spread : spread + size]
    inverse = np.exp(-log_std)
    log_p = np.empty(size, dtype=np.float32)
    for i in range(rows.size):
        row = rows[i]
        out, dout = work.out[i * size : (i + 1) * size], work.dout[i * size : (i + 1) * size]
        a = np.float32((steps.advantage[row] - centre) * over)
        if policy.discrete:
            _log_softmax(out, log_p)
            taken = int(steps.action[row, 0])
            slope = share * _clipped(log_p[taken] - steps.log_prob[row], a, clip, stats)
            entropy = _ZERO
            for j in range(size):
                entropy -= np.exp(log_p[j]) * log_p[j]
            stats[2] += np.float64(entropy)
            for j in range(size):
                p = np.exp(log_p[j])
                dout[j] = bonus * p * (log_p[j] + entropy) - slope * p
            dout[taken] += slope
        else:
            log_ratio = _log_density(steps.action[row], out, log_std, inverse) - steps.log_prob[row]
            slope = _clipped(log_ratio, a, clip, stats) * share
            for j in range(size):
                z = (steps.action[row, j] - out[j]) * inverse[j]
                dout[j] = slope * z * inverse[j]
                g[spread + j] += slope * (z * z - _ONE)


@njit(cache=True, nogil=True, error_model="numpy")
def _normal_scale(advantage: AnyArray, rows: AnyArray) -> tuple[float, float]:
    """Mean and one over the deviation of the advantages of some rows."""
    centre, square = 0.0, 0.0
    for t in range(rows.size):
        centre += advantage[rows[t]]
    centre /= rows.size
    for t in range(rows.size):
        square += (advantage[rows[t]] - centre) ** 2
    return centre, 1.0 / (math.sqrt(square / (rows.size - 1)) + 1e-8)


@njit(cache=True, nogil=True, error_model="numpy")
def _pass(w: AnyArray, net: Net, work: Scratch, obs: AnyArray, order: AnyArray, first: int, rows: int) -> int:
    """The outputs of some rows; clears the slopes of the rows that only fill the last tile. Returns rows with those."""
    whole = -(-rows // ROWS) * ROWS
    pick(work.x, net.inputs, obs, order, first, rows)
    forward(w, net, work, rows)
    work.dout[rows * net.outputs : whole * net.outputs] = _ZERO
    return whole


@njit(cache=True, nogil=True, error_model="numpy")
def _blocks(order: AnyArray, count: int) -> AnyArray:
    """The rows of all images of steps, one step after the other."""
    out = np.empty(order.size * count, dtype=np.int64)
    for i in range(order.size):
        for g in range(count):
            out[i * count + g] = order[i] * count + g
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def epoch(
    net: Adam, policy: Policy, work: Scratch, steps: Steps, order: AnyArray, made: int, rules: Rules, totals: AnyArray
) -> int:
    """One pass over a rollout in an order; returns the updates made, fewer if the KL estimate passed ``target_kl``.

    ``made`` counts the updates before. ``totals`` gains per update: policy loss, value loss, entropy, KL estimate
    (before the step), clipped fraction, 1.
    """
    w, g, batch = net.w, net.grad, rules.batch
    actor, critic, size = policy.actor, policy.critic, policy.actor.outputs
    stats = np.zeros(5)
    done = 0
    images = policy.seen.count
    at_once = BATCH_ROWS // images
    places = _blocks(order, images)
    kept = np.empty(BATCH_ROWS * size, dtype=np.float32)
    for begin in range(0, order.size, batch):
        stats[:] = 0.0
        g[:] = _ZERO
        scale = (0.0, 1.0)
        if rules.normalize:
            scale = _normal_scale(steps.advantage, order[begin : begin + batch])
        transpose(w, actor, work.transposed)
        for first in range(begin, begin + batch, at_once):
            rows = min(at_once, begin + batch - first)
            whole = _pass(w, actor, work, steps.obs, places, first * images, rows * images)
            combine(work.out, rows, size, policy.seen, kept)
            _actor_slopes(net, policy, work, steps, order[first : first + rows], scale, rules, stats)
            spread(work.dout, rows, size, policy.seen, kept, _ONE / np.float32(batch))
            backward(w, g, actor, work, whole)
        if rules.target_kl > 0.0 and stats[3] / batch > rules.target_kl:
            break
        transpose(w, critic, work.transposed)
        weight = np.float32(rules.value_weight / batch)
        for first in range(begin, begin + batch, at_once):
            rows = min(at_once, begin + batch - first)
            whole = _pass(w, critic, work, steps.obs, places, first * images, rows * images)
            combine(work.out, rows, 1, policy.valued, kept)
            for i in range(rows):
                error = work.out[i] - steps.target[order[first + i]]
                stats[1] += 0.5 * np.float64(error) * np.float64(error)
                work.dout[i] = weight * error
            spread(work.dout, rows, 1, policy.valued, kept, _ONE / np.float32(batch))
            backward(w, g, critic, work, whole)
        if not policy.discrete:
            for j in range(size):
                g[policy.spread + j] -= np.float32(rules.entropy)
                stats[2] += batch * (np.float64(w[policy.spread + j]) + 0.5 + 0.5 * math.log(2 * math.pi))
        pull(g, policy.ties)
        norm = 0.0
        for i in range(g.size):
            norm += np.float64(g[i]) * np.float64(g[i])
        shrink = np.float32(min(1.0, rules.grad_clip / (math.sqrt(norm) + 1e-6)))
        done += 1
        adam(w, net.m, net.v, g, made + done, rules.rate, shrink)
        if policy.ties.pull < 1.0:
            project(w, policy.ties, policy.ties.pull)
        for k in range(5):
            totals[k] += stats[k] / batch
        totals[5] += 1.0
    return done
