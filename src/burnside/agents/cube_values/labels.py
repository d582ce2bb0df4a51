"""Where training states and their labels come from: walks with Bellman targets, or given states with exact values.

A source gives minibatch number i as ``(inputs, targets)``, a pure function of i (and of the target network), so a
resumed run sees what an undisturbed one would. Inputs are states as the arm shows them to the network.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._random import Stream, hash_u64, randint
from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.agents.common.members import Member
from burnside.agents.cube_values.config import DaviConfig, arm_symmetry
from burnside.agents.cube_values.network import arm_form
from burnside.envs.cube.core import CubeSpec, children, is_solved, scramble
from burnside.errors import InvalidModel, InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.residual import FoldedValue

__all__ = ["BellmanLabels", "ExactLabels", "bellman_targets", "distinct_rows", "walks"]


def walks(spec: CubeSpec, seed: int, first: int, count: int, back_max: int) -> AnyArray:
    """States ``first … first + count − 1`` of a seed: goal-backward walks of 0 to ``back_max`` turns.

    Turns come from the stream ENV (as ``scramble`` has them) and lengths from REPLAY, both counted by the number of the
    state: all arms of a seed see the same states, in the same order.

    >>> walks(CubeSpec(3), 0, 10, 5, 12).shape
    (5, 54)
    """
    number = np.arange(first, first + count)
    lengths = randint(seed, Stream.REPLAY, number, back_max + 1)
    return scramble(spec, seed, lengths, number)[0]


def distinct_rows(rows: AnyArray) -> tuple[AnyArray, IntArray]:
    """The distinct rows in order of appearance, and for each row the number of its equal.

    >>> distinct_rows(np.array([[3, 1], [0, 1], [3, 1]], dtype=np.uint8))
    (array([[3, 1],
           [0, 1]], dtype=uint8), array([0, 1, 0]))
    """
    from burnside.agents.cube_values import kernels

    first, inverse = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    count = kernels.distinct(rows, first, inverse)
    return rows[first[:count]], inverse


def bellman_targets(
    spec: CubeSpec, states: AnyArray, target: FoldedValue | None, form: Any = None
) -> tuple[AnyArray, int]:
    """0 where solved, else ``min_a 1 + V(s·a)`` with V ≥ 0 by clipping; V = 0 for the target None.

    Returns the targets and how many distinct children the target network evaluated.

    >>> from burnside.envs.cube import apply_moves, solved
    >>> one = apply_moves(CubeSpec(3), solved(CubeSpec(3)), "R")
    >>> bellman_targets(CubeSpec(3), np.stack([solved(CubeSpec(3)), one]), None)
    (array([0., 1.], dtype=float32), 0)
    """
    done = np.asarray(is_solved(spec, states))
    out = np.where(done, np.float32(0), np.float32(1))
    if target is None or done.all():
        return out, 0
    after = children(spec, states[~done]).reshape(-1, spec.n_stickers)
    if form is not None:
        after = form(after)[0]
    rows, inverse = distinct_rows(after)
    values = target(torch.from_numpy(rows)).clamp_(min=0.0).cpu().numpy()
    out[~done] += values[inverse].reshape(-1, spec.n_moves).min(axis=1)
    return out, len(rows)


class _View:
    """States as an arm shows them to its network in training."""

    def __init__(self, config: DaviConfig, spec: CubeSpec, member: Member) -> None:
        self.seed, self.arm = member.seed, member.arm
        self.symmetry = arm_symmetry(config, spec, member.arm)
        self.form = arm_form(config, spec, member.arm)

    def __call__(self, states: AnyArray, number: IntArray) -> AnyArray:
        if self.arm in ("position", "conjugation"):
            assert self.form is not None
            return np.asarray(self.form(states)[0])
        if self.arm == "augment":
            assert self.symmetry is not None
            return np.asarray(self.symmetry.act(self._elements(number), states))
        return states

    def _elements(self, number: IntArray) -> IntArray:
        assert self.symmetry is not None
        return randint(self.seed, Stream.AUGMENT, number, self.symmetry.order)


class BellmanLabels:
    """Fresh walks labelled with a target network, a few minibatches at a time.

    >>> source = BellmanLabels(DaviConfig.preset("smoke"), CubeSpec(3), Member(0))
    >>> inputs, targets = source.batch(0, None)
    >>> inputs.shape, sorted(set(targets.tolist()))
    ((200, 54), [0.0, 1.0])
    """

    def __init__(self, config: DaviConfig, spec: CubeSpec, member: Member) -> None:
        """For a member."""
        self.config, self.spec, self.member = config, spec, member
        self.view = _View(config, spec, member)
        self.evaluated = 0  # distinct children so far, in this process
        self._first, self._inputs, self._targets = -1, np.empty(0, np.uint8), np.empty(0, np.float32)

    def forget(self) -> None:
        """The target network has changed, or the run was restored: labels must be computed again."""
        self._first = -1

    def batch(self, iteration: int, target: FoldedValue | None) -> tuple[AnyArray, AnyArray]:
        """Minibatch ``iteration``; all of a chunk must be requested with the same target network."""
        config = self.config
        per_round = config.states_per_round // config.batch
        within = iteration % per_round
        offset = within % config.label_batches  # chunks begin anew with every round
        first = iteration - offset
        if first != self._first:
            count = min(config.label_batches, per_round - (within - offset)) * config.batch
            states = walks(self.spec, self.member.seed, first * config.batch, count, config.back_max)
            self._targets, evaluated = bellman_targets(self.spec, states, target, self.view.form)
            self._inputs = self.view(states, np.arange(first * config.batch, first * config.batch + count))
            self._first = first
            self.evaluated += evaluated
        at = slice(offset * config.batch, (offset + 1) * config.batch)
        return self._inputs[at], self._targets[at]


class ExactLabels:
    """Given states with given values, reshuffled every epoch.

    >>> states = np.zeros((5, 54), dtype=np.uint8)
    >>> source = ExactLabels(DaviConfig(batch=4), CubeSpec(3), Member(0), states, np.arange(5))
    >>> seen = np.concatenate([source.batch(i)[1] for i in range(5)])
    >>> [sorted(seen[i : i + 5].tolist()) for i in (0, 5)]
    [[0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0, 4.0]]
    """

    def __init__(self, config: DaviConfig, spec: CubeSpec, member: Member, states: AnyArray, labels: ArrayLike) -> None:
        """One label per state."""
        self.config, self.spec, self.member = config, spec, member
        self.view = _View(config, spec, member)
        self.states, self.labels = np.asarray(states), np.asarray(labels, dtype=np.float32)
        if self.states.ndim != 2 or self.states.shape[1] != spec.n_stickers or self.states.dtype != np.uint8:
            raise InvalidModel(f"states must be uint8 of shape (count, {spec.n_stickers}), got {self.states.shape}")
        if len(self.states) < 1 or self.labels.shape != (len(self.states),) or not np.isfinite(self.labels).all():
            raise InvalidParameter(f"give one finite label for each of {len(self.states)} states, and at least one")
        if member.arm in ("position", "conjugation"):  # once and for all
            self.states = self.view(self.states, np.arange(len(self.states)))
        self._epoch, self._order = -1, np.empty(0, np.int64)

    def _shuffled(self, epoch: int) -> IntArray:
        if epoch != self._epoch:
            count = len(self.states)
            keys = hash_u64(self.member.seed, Stream.REPLAY, epoch * count + np.arange(count))
            self._epoch, self._order = epoch, np.argsort(keys, kind="stable")
        return self._order

    def batch(self, iteration: int) -> tuple[AnyArray, AnyArray]:
        """Minibatch ``iteration``, which may reach over the end of an epoch."""
        count, size = len(self.states), self.config.batch
        number = np.arange(iteration * size, (iteration + 1) * size)
        rows = np.empty(size, dtype=np.int64)
        for epoch in range(int(number[0]) // count, int(number[-1]) // count + 1):
            mine = number // count == epoch
            rows[mine] = self._shuffled(epoch)[number[mine] % count]
        inputs = self.states[rows]
        return (self.view(inputs, number) if self.member.arm == "augment" else inputs), self.labels[rows]
