"""SAC's update, compiled, float32: critics, actor, temperature and the copies that follow, on one batch.

Its tests make the same update with PyTorch's autograd (``tests/agents/test_sac.py``). If networks evaluate the images
of an observation, rows of observations come in blocks of these images, and the action is moved along for the
critics.
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
from burnside.nn.mlp_kernels import BATCH_ROWS, Scratch, adam, backward, forward, input_slopes, outputs, transpose

__all__ = ["Batch", "Nets", "Rules", "Weights", "act", "update"]

_ZERO, _ONE, _TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
_HALF_LOG_TAU = np.float32(0.5 * math.log(2 * math.pi))
LOWEST, HIGHEST = np.float32(-5.0), np.float32(2.0)
_TINY = np.float32(1e-6)


class Nets(NamedTuple):
    """Where the parameters lie; both critics are in one flat array."""

    actor: Net
    one: Net
    two: Net
    width: int  # numbers in an action
    seen: Images = ALONE  # of the actor: means and deviations
    valued: Images = ALONE
    moves: AnyArray = np.ones((1, 1, 1), dtype=np.float32)  # (count, width, width): how actions move with the images
    actor_ties: Ties = FREE
    critic_ties: Ties = FREE


class Weights(NamedTuple):
    """Parameters of the actor and of the critics, their moments and gradients, the copies, and the temperature."""

    actor: AnyArray
    actor_m: AnyArray
    actor_v: AnyArray
    critic: AnyArray
    critic_m: AnyArray
    critic_v: AnyArray
    target: AnyArray
    temperature: AnyArray  # its logarithm, and two moments


class Batch(NamedTuple):
    """Transitions; observations in blocks of images."""

    obs: AnyArray
    action: AnyArray
    reward: AnyArray
    after: AnyArray
    terminated: AnyArray


class Rules(NamedTuple):
    """What :class:`SACConfig` says about an update."""

    gamma: float
    tau: float
    rate: float
    entropy: float


# ---------------------------------------------------------------------- the policy


@njit(cache=True, nogil=True, error_model="numpy")
def _normal(seed: int, counter: int) -> Any:
    """A standard normal number (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform_nb(seed, POLICY, 2 * counter)))
    return np.float32(radius * math.cos(2.0 * math.pi * uniform_nb(seed, POLICY, 2 * counter + 1)))


@njit(cache=True, nogil=True, error_model="numpy")
def _actor(w: AnyArray, nets: Nets, work: Scratch, obs: AnyArray, out: AnyArray, kept: AnyArray) -> None:
    """Means and logarithms of deviations, one row for each observation; ``kept`` has those of all images."""
    found = np.empty((len(obs), nets.actor.outputs), dtype=np.float32)
    outputs(w, nets.actor, work, obs, found)
    flat = found.ravel()
    combine(flat, len(out), nets.actor.outputs, nets.seen, kept)
    out[:] = flat[: out.size].reshape(out.shape)


@njit(cache=True, nogil=True, error_model="numpy")
def _squash(out: AnyArray, noise: AnyArray, action: AnyArray) -> AnyArray:
    """Actions from the outputs of the actor and normal noise; returns their log-probabilities."""
    log_prob = np.zeros(len(out), dtype=np.float32)
    width = action.shape[1]
    for i in range(len(out)):
        for j in range(width):
            log_std = min(max(out[i, width + j], LOWEST), HIGHEST)
            a = np.float32(math.tanh(out[i, j] + np.exp(log_std) * noise[i, j]))
            action[i, j] = a
            log_prob[i] -= np.float32(0.5) * noise[i, j] * noise[i, j] + log_std + _HALF_LOG_TAU
            log_prob[i] -= np.log(_ONE - a * a + _TINY)
    return log_prob


@njit(cache=True, nogil=True, error_model="numpy")
def act(
    w: AnyArray, nets: Nets, work: Scratch, obs: AnyArray, seed: int, counter: int, greedy: bool, action: AnyArray
) -> None:
    """An action in (−1, 1) for every observation: drawn with the noise of ``counter`` and those after it, or greedy."""
    rows, width = action.shape
    out = np.empty((rows, nets.actor.outputs), dtype=np.float32)
    _actor(w, nets, work, obs, out, np.empty(rows * nets.seen.count * nets.actor.outputs, dtype=np.float32))
    noise = np.zeros((rows, width), dtype=np.float32)
    if not greedy:
        for i in range(rows):
            for j in range(width):
                noise[i, j] = _normal(seed, counter + i * width + j)
    _squash(out, noise, action)


# ---------------------------------------------------------------------- the critics


@njit(cache=True, nogil=True, error_model="numpy")
def _load(work: Scratch, net: Net, nets: Nets, obs: AnyArray, action: AnyArray, first: int, rows: int) -> int:
    """Observations with their actions behind them into the scratch, all images; returns rows with the padded ones."""
    count, width, n = nets.valued.count, nets.width, obs.shape[1]
    total = rows * count
    whole = -(-total // ROWS) * ROWS
    for i in range(rows):
        for g in range(count):
            at = (i * count + g) * net.inputs
            row = (first + i) * count + g
            for j in range(n):
                work.x[at + j] = obs[row, j]
            for j in range(width):
                a = _ZERO
                if count == 1:
                    a = action[first + i, j]
                else:
                    for k in range(width):
                        a += nets.moves[g, j, k] * action[first + i, k]
                work.x[at + n + j] = a
            for j in range(n + width, net.inputs):
                work.x[at + j] = _ZERO
    work.x[total * net.inputs : whole * net.inputs] = _ZERO
    return whole


@njit(cache=True, nogil=True, error_model="numpy")
def _goals(
    weights: Weights, nets: Nets, works: Any, batch: Batch, rules: Rules, noise: AnyArray, alpha: Any
) -> AnyArray:
    """``r + γ (min Q_target(s', a') − α log π(a'|s'))``."""
    count, (pi, q) = len(batch.reward), works
    out = np.empty((count, nets.actor.outputs), dtype=np.float32)
    action = np.empty((count, nets.width), dtype=np.float32)
    kept = np.empty(len(batch.after) * nets.actor.outputs, dtype=np.float32)
    _actor(weights.actor, nets, pi, batch.after, out, kept)
    log_prob = _squash(out, noise, action)
    goals, at_once = np.empty(count, dtype=np.float32), BATCH_ROWS // nets.valued.count
    for first in range(0, count, at_once):
        rows = min(at_once, count - first)
        total = rows * nets.valued.count
        _load(q, nets.one, nets, batch.after, action, first, rows)
        forward(weights.target, nets.one, q, total)
        combine(q.out, rows, 1, nets.valued, kept)
        goals[first : first + rows] = q.out[:rows]
        forward(weights.target, nets.two, q, total)
        combine(q.out, rows, 1, nets.valued, kept)
        for i in range(rows):
            k = first + i
            best = min(goals[k], q.out[i]) - alpha * log_prob[k]
            goals[k] = batch.reward[k] + (_ZERO if batch.terminated[k] else np.float32(rules.gamma) * best)
    return goals


@njit(cache=True, nogil=True, error_model="numpy")
def _learn_critics(
    weights: Weights, grad: AnyArray, nets: Nets, q: Scratch, batch: Batch, goals: AnyArray, t: int, rate: float
) -> float:
    """One step of both critics towards the goals; returns the mean squared error of both."""
    count, at_once, loss = len(goals), BATCH_ROWS // nets.valued.count, 0.0
    share = _ONE / np.float32(count)
    kept = np.empty(BATCH_ROWS, dtype=np.float32)
    grad[:] = _ZERO
    for which in range(2):
        net = nets.one if which == 0 else nets.two
        transpose(weights.critic, net, q.transposed)
        for first in range(0, count, at_once):
            rows = min(at_once, count - first)
            whole = _load(q, net, nets, batch.obs, batch.action, first, rows)
            forward(weights.critic, net, q, rows * nets.valued.count)
            combine(q.out, rows, 1, nets.valued, kept)
            q.dout[:whole] = _ZERO
            for i in range(rows):
                error = q.out[i] - goals[first + i]
                loss += np.float64(error) * np.float64(error)
                q.dout[i] = share * error
            spread(q.dout, rows, 1, nets.valued, kept, share)
            backward(weights.critic, grad, net, q, whole)
    pull(grad, nets.critic_ties)
    adam(weights.critic, weights.critic_m, weights.critic_v, grad, t, rate, _ONE)
    if nets.critic_ties.pull < 1.0:
        project(weights.critic, nets.critic_ties, nets.critic_ties.pull)
    return loss / (2 * count)


@njit(cache=True, nogil=True, error_model="numpy")
def _action_slopes(weights: Weights, nets: Nets, q: Scratch, obs: AnyArray, action: AnyArray) -> AnyArray:
    """The gradient of min(Q₁, Q₂) in the action, one row for each observation."""
    count, images, width = len(action), nets.valued.count, nets.width
    slopes = np.zeros((count, width), dtype=np.float32)
    at_once = BATCH_ROWS // images
    kept = np.empty(BATCH_ROWS, dtype=np.float32)
    values = np.empty((2, BATCH_ROWS), dtype=np.float32)
    dx = np.empty((BATCH_ROWS, width), dtype=np.float32)
    share = _ONE / np.float32(images)
    for first in range(0, count, at_once):
        rows = min(at_once, count - first)
        whole = _load(q, nets.one, nets, obs, action, first, rows)
        for which in range(2):
            forward(weights.critic, nets.one if which == 0 else nets.two, q, rows * images)
            combine(q.out, rows, 1, nets.valued, kept)
            values[which, :rows] = q.out[:rows]
        for which in range(1, -1, -1):  # the activations of the second are still there
            net = nets.one if which == 0 else nets.two
            if which == 0:
                forward(weights.critic, net, q, rows * images)
            transpose(weights.critic, net, q.transposed)
            for i in range(whole):
                row = i // images
                smaller = row < rows and (values[which, row] < values[1 - which, row] or (
                    which == 0 and values[0, row] == values[1, row]))  # fmt: skip
                # of the averaged network each image has its share; the mirror loss asks the first only
                part = share if nets.valued.mode == 1 else (_ONE if i % images == 0 else _ZERO)
                q.dout[i] = part if smaller else _ZERO
            input_slopes(weights.critic, net, q, whole, obs.shape[1], dx[: rows * images])
            for i in range(rows * images):
                g = i % images
                for k in range(width):
                    if images == 1:
                        slopes[first + i, k] += dx[i, k]
                    else:
                        for j in range(width):
                            slopes[first + i // images, k] += nets.moves[g, j, k] * dx[i, j]
    return slopes


# ---------------------------------------------------------------------- one update


@njit(cache=True, nogil=True, error_model="numpy")
def _learn_actor(
    weights: Weights,
    grad: AnyArray,
    nets: Nets,
    works: Any,
    batch: Batch,
    noise: AnyArray,
    alpha: Any,
    t: int,
    rate: float,
) -> Any:
    """One step of the actor; returns the mean log-probability of its actions."""
    count, width, size, images = len(batch.reward), nets.width, nets.actor.outputs, nets.seen.count
    pi, q = works
    out = np.empty((count, size), dtype=np.float32)
    action = np.empty((count, width), dtype=np.float32)
    kept = np.empty(len(batch.obs) * size, dtype=np.float32)
    _actor(weights.actor, nets, pi, batch.obs, out, kept)
    log_prob = _squash(out, noise, action)
    slopes = _action_slopes(weights, nets, q, batch.obs, action)
    share = _ONE / np.float32(count)
    grad[:] = _ZERO
    transpose(weights.actor, nets.actor, pi.transposed)
    at_once = BATCH_ROWS // images
    for first in range(0, count, at_once):
        rows = min(at_once, count - first)
        total = rows * images
        whole = -(-total // ROWS) * ROWS
        for i in range(total):
            for j in range(batch.obs.shape[1]):
                pi.x[i * nets.actor.inputs + j] = batch.obs[first * images + i, j]
        pi.x[total * nets.actor.inputs : whole * nets.actor.inputs] = _ZERO
        forward(weights.actor, nets.actor, pi, total)
        combine(pi.out, rows, size, nets.seen, kept)
        pi.dout[: whole * size] = _ZERO
        for i in range(rows):
            k = first + i
            for j in range(width):
                a, raw = action[k, j], out[k, width + j]
                log_std = min(max(raw, LOWEST), HIGHEST)
                slope = share * (alpha * _TWO * a - slopes[k, j] * (_ONE - a * a))
                pi.dout[i * size + j] = slope
                if LOWEST < raw < HIGHEST:
                    pi.dout[i * size + width + j] = slope * np.exp(log_std) * noise[k, j] - share * alpha
        spread(pi.dout, rows, size, nets.seen, kept, share)
        backward(weights.actor, grad, nets.actor, pi, whole)
    pull(grad, nets.actor_ties)
    adam(weights.actor, weights.actor_m, weights.actor_v, grad, t, rate, _ONE)
    if nets.actor_ties.pull < 1.0:
        project(weights.actor, nets.actor_ties, nets.actor_ties.pull)
    return log_prob.mean()


@njit(cache=True, nogil=True, error_model="numpy")
def update(
    weights: Weights, grads: Any, nets: Nets, works: Any, batch: Batch, rules: Rules, seed: int, t: int, stats: AnyArray
) -> None:
    """Update ``t`` (from 1): critics, actor, temperature, copies; ``stats`` gains losses, temperature and entropy."""
    count, width = len(batch.reward), nets.width
    alpha = np.float32(math.exp(weights.temperature[0]))
    noise = np.empty((2, count, width), dtype=np.float32)
    first = (1 << 40) + t * 2 * count * width  # behind all that acting takes
    for s in range(2):
        for i in range(count):
            for j in range(width):
                noise[s, i, j] = _normal(seed, first + (s * count + i) * width + j)
    goals = _goals(weights, nets, works, batch, rules, noise[0], alpha)
    loss = _learn_critics(weights, grads[1], nets, works[1], batch, goals, t, rules.rate)
    log_prob = _learn_actor(weights, grads[0], nets, works, batch, noise[1], alpha, t, rules.rate)
    slope = np.zeros(1, dtype=np.float32)
    slope[0] = np.float32(-(log_prob + rules.entropy))
    temperature = weights.temperature
    adam(temperature[0:1], temperature[1:2], temperature[2:3], slope, t, rules.rate, _ONE)
    tau = np.float32(rules.tau)
    for i in range(weights.target.size):
        weights.target[i] += tau * (weights.critic[i] - weights.target[i])
    stats[0] += loss
    stats[1] += np.float64(alpha)
    stats[2] -= np.float64(log_prob)
    stats[3] += 1.0
