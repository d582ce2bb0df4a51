"""One DQN update on dense observations, compiled; :func:`burnside.agents.dqn.learner.update` is the same in numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from burnside._random_kernels import EXPLORE, REPLAY, randint_nb, uniform_nb
from burnside._types import AnyArray
from burnside.nn.image_kernels import combine, project, pull, spread
from burnside.nn.images import ALONE, FREE, Images, Ties
from burnside.nn.mlp import ROWS, Net
from burnside.nn.mlp_kernels import BATCH_ROWS, Scratch, adam, backward, forward, outputs, pick, transpose

__all__ = ["Replay", "Rules", "Weights", "draw", "explore", "update"]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


class Weights(NamedTuple):
    """The network, the target network, and the two moments of Adam."""

    w: AnyArray
    target: AnyArray
    m: AnyArray
    v: AnyArray


class Replay(NamedTuple):
    """Transitions, the oldest overwritten first."""

    obs: AnyArray  # (capacity, obs_dim)
    after: AnyArray
    action: AnyArray
    reward: AnyArray
    terminated: AnyArray


class Rules(NamedTuple):
    """Constants of an update."""

    gamma: float
    rate: float
    huber: bool
    double: bool = False
    images: Images = ALONE  # rows of the replay then come in blocks, the images of one transition
    ties: Ties = FREE


@njit(cache=True, nogil=True, error_model="numpy")
def explore(
    w: AnyArray,
    net: Net,
    work: Scratch,
    obs: AnyArray,
    seed: int,
    step: int,
    epsilon: AnyArray,
    actions: AnyArray,
    images: Images,
) -> None:
    """ε-greedy actions; row i is environment step ``step + i``, with an ε of its own."""
    q = np.empty((len(obs), net.outputs), dtype=np.float32)
    outputs(w, net, work, obs, q)
    combine(q.ravel(), len(actions), net.outputs, images, np.empty(q.size, dtype=np.float32))
    for i in range(len(actions)):
        at = step + i
        if uniform_nb(seed, EXPLORE, 2 * at) < epsilon[i]:
            actions[i] = randint_nb(seed, EXPLORE, 2 * at + 1, net.outputs)
        else:
            actions[i] = np.argmax(q[i])


@njit(cache=True, nogil=True, error_model="numpy")
def draw(slots: AnyArray, size: int, seed: int, update: int) -> None:
    """The slots of the batch of an update, uniform with replacement."""
    for i in range(slots.size):
        slots[i] = randint_nb(seed, REPLAY, update * slots.size + i, size)


@njit(cache=True, nogil=True, error_model="numpy")
def _goals(
    weights: Weights, replay: Replay, net: Net, work: Scratch, slots: AnyArray, rules: Rules, goals: AnyArray
) -> None:
    """``r + γ max_a Q_target(s', a)`` of the transitions in ``slots``; double DQN takes the network's best action."""
    size, images, gamma = net.outputs, rules.images.count, np.float32(rules.gamma)
    kept, at_once = np.empty(BATCH_ROWS * size, dtype=np.float32), BATCH_ROWS // images
    chosen = np.empty(BATCH_ROWS, dtype=np.int64)
    for first in range(0, slots.size, at_once):
        rows = min(at_once, slots.size - first)
        pick(work.x, net.inputs, replay.after, _blocks(slots[first : first + rows], images), 0, rows * images)
        if rules.double:
            forward(weights.w, net, work, rows * images)
            combine(work.out, rows, size, rules.images, kept)
            for i in range(rows):
                chosen[i] = np.argmax(work.out[i * size : (i + 1) * size])
        forward(weights.target, net, work, rows * images)
        combine(work.out, rows, size, rules.images, kept)
        for i in range(rows):
            slot = slots[first + i]
            values = work.out[i * size : (i + 1) * size]
            best = values[chosen[i]] if rules.double else values.max()
            goals[first + i] = replay.reward[slot] + (_ZERO if replay.terminated[slot] else gamma * best)


@njit(cache=True, nogil=True, error_model="numpy")
def _blocks(slots: AnyArray, count: int) -> AnyArray:
    """The rows of all images of transitions."""
    out = np.empty(slots.size * count, dtype=np.int64)
    for i in range(slots.size):
        for g in range(count):
            out[i * count + g] = slots[i] * count + g
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def update(
    weights: Weights,
    grad: AnyArray,
    replay: Replay,
    net: Net,
    work: Scratch,
    slots: AnyArray,
    t: int,
    rules: Rules,
) -> float:
    """Update ``t`` (from 1) on the transitions in ``slots``; returns the loss."""
    count, size, images = slots.size, net.outputs, rules.images.count
    goals = np.empty(count, dtype=np.float32)
    _goals(weights, replay, net, work, slots, rules, goals)
    grad[:] = _ZERO
    transpose(weights.w, net, work.transposed)
    share, loss = _ONE / np.float32(count), 0.0
    kept, at_once = np.empty(BATCH_ROWS * size, dtype=np.float32), BATCH_ROWS // images
    for first in range(0, count, at_once):
        rows = min(at_once, count - first)
        whole = -(-rows * images // ROWS) * ROWS
        pick(work.x, net.inputs, replay.obs, _blocks(slots[first : first + rows], images), 0, rows * images)
        forward(weights.w, net, work, rows * images)
        combine(work.out, rows, size, rules.images, kept)
        work.dout[: whole * size] = _ZERO
        for i in range(rows):
            at = i * size + replay.action[slots[first + i]]
            error = work.out[at] - goals[first + i]
            if rules.huber:
                slope = min(max(error, -_ONE), _ONE)
                loss += np.float64(slope) * (np.float64(error) - 0.5 * np.float64(slope))
            else:
                slope = error + error
                loss += np.float64(error) * np.float64(error)
            work.dout[at] = slope * share
        spread(work.dout, rows, size, rules.images, kept, share)
        backward(weights.w, grad, net, work, whole)
    pull(grad, rules.ties)
    adam(weights.w, weights.m, weights.v, grad, t, rules.rate, _ONE)
    if rules.ties.pull < 1.0:
        project(weights.w, rules.ties, rules.ties.pull)
    return loss / count
