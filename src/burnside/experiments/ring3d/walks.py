"""What a policy does on a board: beside its return, the mines it enters and the different cells it comes to."""

from __future__ import annotations

import numpy as np

from burnside._random import Stream, held_out, randint
from burnside._types import IntArray
from burnside.agents.common.evaluation import Evaluation, play
from burnside.envs.batched import BatchStep
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.scenes import RingScenes

__all__ = ["Walk", "constant_play", "random_play"]


class Walk:
    """Counts along evaluation episodes on rings; give it to ``evaluate`` as ``watch``.

    Attributes:
        mines: Steps of every episode that entered a mine.
        entered: Which cells an episode entered; a policy that runs in a circle enters few.
    """

    def __init__(self, spec: RingSpec, episodes: int) -> None:
        """Before the first step."""
        self.mines = np.zeros(episodes, dtype=np.int64)
        self.entered = np.zeros((episodes, spec.n_cells), dtype=np.bool_)

    def __call__(self, rows: IntArray, step: BatchStep) -> None:
        """One step of the episodes with these numbers."""
        self.mines[rows] += step.reward < 0
        self.entered[rows, step.state["pos"]] = True

    def summary(self, found: Evaluation) -> dict[str, float]:
        """Means: ``return``, ``length``, ``solved``, ``mines`` per step short of the goal, ``cells``."""
        short = max(1, int((found.lengths - found.success).sum()))
        return {
            "return": float(found.returns.mean()),
            "length": float(found.lengths.mean()),
            "solved": float(found.success.mean()),
            "mines": float(self.mines.sum() / short),
            "cells": float(self.entered.sum(axis=1).mean()),
        }


def constant_play(spec: RingSpec, actions: tuple[int, ...], episodes: int) -> tuple[Evaluation, Walk]:
    """The policy that makes the same moves in turn, whatever it sees, on held-out boards.

    >>> found, walk = constant_play(RingSpec(5), (3,), 100)
    >>> int(found.lengths.max()), float(found.success.mean())           # steps of 2 go round the whole ring
    (5, 1.0)
    """
    walk = Walk(spec, episodes)
    moves = np.array(actions)
    return play(
        RingScenes(spec), lambda obs, rows, t: np.full(len(rows), moves[t % len(moves)]), episodes, watch=walk
    ), walk


def random_play(spec: RingSpec, episodes: int) -> tuple[Evaluation, Walk]:
    """The uniform random policy on the same boards.

    >>> found, _ = random_play(RingSpec(5), 200)
    >>> bool(found.success.mean() > 0.9)
    True
    """
    walk, key = Walk(spec, episodes), held_out(0)

    def policy(_: object, rows: IntArray, t: int) -> IntArray:
        return randint(key, Stream.POLICY, rows * spec.time_limit + t, spec.n_actions)

    return play(RingScenes(spec), policy, episodes, watch=walk), walk
