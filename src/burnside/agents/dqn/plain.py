"""DQN (Mnih et al. 2015) in plain numpy: what :mod:`burnside.agents.dqn.kernels` computes, to be read first."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from burnside._random import Stream, randint, uniform
from burnside._types import AnyArray, FloatArray, IntArray
from burnside.agents.dqn.config import DQNConfig
from burnside.nn import mlp

__all__ = ["draw", "explore", "update"]


def explore(seeds: IntArray, steps: IntArray, epsilon: FloatArray, count: int) -> IntArray:
    """A random one of ``count`` actions where a step explores, −1 where the network decides.

    >>> explore(np.array([3, 3]), np.array([0, 1]), np.array([0.0, 1.0]), 4).tolist()
    [-1, 2]
    """
    random = uniform(seeds, Stream.EXPLORE, 2 * steps) < epsilon
    return np.where(random, randint(seeds, Stream.EXPLORE, 2 * steps + 1, count), -1)


def draw(seed: int, update: int, batch: int, size: int) -> IntArray:
    """The slots of the batch of an update, uniform with replacement.

    >>> draw(7, 0, 5, 100).tolist()
    [34, 92, 27, 90, 24]
    """
    return randint(seed, Stream.REPLAY, update * batch + np.arange(batch), size)


def update(
    weights: Mapping[str, AnyArray],
    target: Mapping[str, AnyArray],
    batch: Mapping[str, AnyArray],
    config: DQNConfig,
) -> tuple[float, dict[str, AnyArray]]:
    """One update: the loss and the gradients that Adam gets.

    ``batch`` has ``obs``, ``after``, ``action``, ``reward`` and ``terminated``; truncation bootstraps, unless it was
    stored as an end (``limit_ends``).
    """
    rows = np.arange(len(batch["action"]))
    later = mlp.forward(target, batch["after"], relu=True)[2]
    chooser = mlp.forward(weights, batch["after"], relu=True)[2] if config.double else later
    best = later[rows, chooser.argmax(axis=1)]
    goal = batch["reward"] + config.gamma * np.where(batch["terminated"], 0.0, best)
    h1, h2, q = mlp.forward(weights, batch["obs"], relu=True)
    error = q[rows, batch["action"]] - goal
    slope = np.clip(error, -1, 1) if config.loss == "huber" else 2 * error
    loss = slope * (error - 0.5 * slope) if config.loss == "huber" else error**2
    dout = np.zeros_like(q)
    dout[rows, batch["action"]] = slope / len(rows)
    return float(loss.mean()), mlp.backward(weights, batch["obs"], h1, h2, dout, relu=True)
