"""Exploring, drawing a batch and one DQN update, compiled; :mod:`burnside.agents.dqn.plain` is the same in numpy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from burnside._compiled import njit
from burnside._random_kernels import EXPLORE, REPLAY, randint_nb, uniform_nb
from burnside._types import AnyArray
from burnside.nn.image_kernels import combine, project, pull, spread
from burnside.nn.images import ALONE, FREE, Images, Ties
from burnside.nn.mlp import ROWS, Net
from burnside.nn.mlp_kernels import BATCH_ROWS, Scratch, adam, backward, forward, pick, transpose

__all__ = ["Batch", "Replay", "Rules", "Weights", "draw", "explore", "update"]

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


class Weights(NamedTuple):
    """The network, the target network, and the two moments of Adam."""

    w: AnyArray
    target: AnyArray
    m: AnyArray
    v: AnyArray


class Replay(NamedTuple):
    """Transitions, the oldest overwritten first: ``(capacity, …)``, or of all members, ``(members, capacity, …)``."""

    obs: AnyArray
    after: AnyArray
    action: AnyArray
    reward: AnyArray
    terminated: AnyArray


class Batch(NamedTuple):
    """The transitions of an update."""

    of: Replay
    slots: AnyArray


class Rules(NamedTuple):
    """Constants of an update."""

    gamma: float
    rate: float
    huber: bool
    double: bool = False
    images: Images = ALONE  # observations of a batch then come in blocks, the images of one transition
    ties: Ties = FREE


@njit(cache=True, nogil=True, error_model="numpy")
def explore(seeds: AnyArray, steps: AnyArray, epsilon: AnyArray, count: int, actions: AnyArray) -> bool:
    """Random actions where a step explores, −1 where the network decides; returns whether there are any of those."""
    ask = False
    for i in range(actions.size):
        if uniform_nb(seeds[i], EXPLORE, 2 * steps[i]) < epsilon[i]:
            actions[i] = randint_nb(seeds[i], EXPLORE, 2 * steps[i] + 1, count)
        else:
            actions[i] = -1
            ask = True
    return ask


@njit(cache=True, nogil=True, error_model="numpy")
def draw(slots: AnyArray, size: int, seed: int, update: int) -> None:
    """The slots of the batch of an update, uniform with replacement."""
    for i in range(slots.size):
        slots[i] = randint_nb(seed, REPLAY, update * slots.size + i, size)


@njit(cache=True, nogil=True, error_model="numpy")
def _goals(weights: Weights, batch: Batch, net: Net, work: Scratch, rules: Rules, goals: AnyArray) -> None:
    """``r + γ max_a Q_target(s', a)`` of the transitions of a batch; double DQN takes the network's best action."""
    slots, seen = batch.slots, batch.of
    size, images, gamma = net.outputs, rules.images.count, np.float32(rules.gamma)
    kept, at_once = np.empty(BATCH_ROWS * size, dtype=np.float32), BATCH_ROWS // images
    chosen = np.empty(BATCH_ROWS, dtype=np.int64)
    for first in range(0, slots.size, at_once):
        rows = min(at_once, slots.size - first)
        pick(work.x, net.inputs, seen.after, _blocks(slots[first : first + rows], images), 0, rows * images)
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
            goals[first + i] = seen.reward[slot] + (_ZERO if seen.terminated[slot] else gamma * best)


@njit(cache=True, nogil=True, error_model="numpy")
def _blocks(slots: AnyArray, count: int) -> AnyArray:
    """The rows of all images of transitions."""
    out = np.empty(slots.size * count, dtype=np.int64)
    for i in range(slots.size):
        for g in range(count):
            out[i * count + g] = slots[i] * count + g
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def update(weights: Weights, grad: AnyArray, batch: Batch, net: Net, work: Scratch, t: int, rules: Rules) -> float:
    """Update ``t`` (from 1) on the transitions of a batch; returns the loss."""
    slots, seen = batch.slots, batch.of
    count, size, images = slots.size, net.outputs, rules.images.count
    goals = np.empty(count, dtype=np.float32)
    _goals(weights, batch, net, work, rules, goals)
    grad[:] = _ZERO
    transpose(weights.w, net, work.transposed)
    share, loss = _ONE / np.float32(count), 0.0
    kept, at_once = np.empty(BATCH_ROWS * size, dtype=np.float32), BATCH_ROWS // images
    for first in range(0, count, at_once):
        rows = min(at_once, count - first)
        whole = -(-rows * images // ROWS) * ROWS
        pick(work.x, net.inputs, seen.obs, _blocks(slots[first : first + rows], images), 0, rows * images)
        forward(weights.w, net, work, rows * images)
        combine(work.out, rows, size, rules.images, kept)
        work.dout[: whole * size] = _ZERO
        for i in range(rows):
            at = i * size + seen.action[slots[first + i]]
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
