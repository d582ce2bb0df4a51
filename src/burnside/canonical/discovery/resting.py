"""Numbers that rest most of the time, such as forces of contact: left out of the search, and completed afterwards.

While nothing touches anything, forces of contact are zero, so any exchange of them agrees with what was seen, and with
78 of them (Ant) the search would meet nothing but such exchanges. How they move follows from how all else moves: a map
that is right for the other numbers, and so for states, is tried at states where something is felt. What a step shows
there must be, number by number and up to sign, what the step from the image shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from burnside._types import BoolArray, FloatArray, IntArray
from burnside.canonical.discovery.lifting import GOOD, Lifter, fitting
from burnside.canonical.discovery.simulator import Simulator
from burnside.symmetry.proposals import Proposal, Transitions
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["Completion", "embedded", "resting", "without"]

_FEW = 3  # numbers that never changed: up to so many, both signs are proposed
_FELT = 16  # steps in which a resting number shall be felt
_PLAYED = 6000  # steps that are played for that
_EPISODE = 400  # steps after which an episode is left


def resting(data: Transitions, lifter: Lifter | None) -> BoolArray:
    """Which numbers have one value most of the time, and are no part of the state, as far as can be seen."""
    seen = np.concatenate([data.observations, data.next_observations[-1:]])
    none: BoolArray = np.zeros(seen.shape[1], dtype=np.bool_)
    if lifter is None or not lifter.points:
        return none
    rests = (seen == np.median(seen, axis=0)).mean(axis=0) > 0.5
    for J, _ in lifter.points:
        rests &= np.abs(J).max(axis=1) == 0
    still = np.ptp(seen, axis=0) == 0
    if still.sum() <= _FEW:
        rests &= ~still
    return none if rests.all() else rests


def without(data: Transitions, rests: BoolArray) -> Transitions:
    """Transitions without resting numbers."""
    return replace(data, observations=data.observations[:, ~rests], next_observations=data.next_observations[:, ~rests])


def embedded(proposal: Proposal, rests: BoolArray) -> Proposal:
    """A proposal for all numbers, where those that rest stay in their places.

    >>> one = Proposal(SignedPermutation("1,-0"), SignedPermutation("-0"), 0.0, 4)
    >>> str(embedded(one, np.array([False, True, False])).observation)
    '2,1,-0'
    """
    kept = np.flatnonzero(~rests)
    index, signs = np.arange(len(rests)), np.ones(len(rests), dtype=np.int64)
    index[kept], signs[kept] = kept[proposal.observation.index], proposal.observation.signs
    return replace(proposal, observation=SignedPermutation(index, signs))


@dataclass
class Completion:
    """How resting numbers move, given how all others and states do.

    Attributes:
        simulator: of the search.
        rests: which numbers rest.
        values: what all numbers of the observation mostly are.
        seed: of the steps that are played.
    """

    simulator: Simulator
    rests: BoolArray
    values: FloatArray
    seed: int = 0
    _steps: list[tuple[Any, Any, FloatArray]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._rest = self.values[self.rests]
        self._gather()

    def complete(self, proposal: Proposal, state: Any) -> tuple[Proposal, float]:
        """The proposal with resting numbers as they fit best, and how much the worst of them differs.

        That is its median over the steps in which it is felt, here or there.
        """
        seen = self._images(proposal, state)
        if seen is None:
            return proposal, float("inf")
        before, after = seen
        if not len(before):
            return proposal, 0.0
        places, signs = _matched(before, after)
        index, all_signs = proposal.observation.index.copy(), proposal.observation.signs.astype(np.int64)
        which = np.flatnonzero(self.rests)
        index[which], all_signs[which] = which[places], signs
        wanted = signs * before[:, places]
        apart = np.abs(after - wanted) / (1 + np.abs(after))
        felt = (after != self._rest) | (wanted != signs * self._rest[places])
        worst = max((float(np.median(apart[rows, j])) for j, rows in enumerate(felt.T) if rows.any()), default=0.0)
        observation = SignedPermutation(index, all_signs)
        order = int(np.lcm(observation.order(), _order(proposal.action)))
        return replace(proposal, observation=observation, order=order), worst

    def _images(self, proposal: Proposal, state: Any) -> tuple[FloatArray, FloatArray] | None:
        """Resting numbers after the steps, and after the steps from the images; None if images cannot be set."""
        simulator, env = self.simulator, self.simulator.env
        before, after = [], []
        for s, a, felt in self._steps:
            try:
                simulator.put(env, simulator.moved(s, state))
                image = np.asarray(env.step(fitting(proposal.action(a), a))[0], dtype=np.float64)[self.rests]
            except Exception:  # a state or action that is none
                return None
            if np.isfinite(image).all():
                before.append(felt)
                after.append(image)
        width = int(self.rests.sum())
        return np.array(before).reshape(-1, width), np.array(after).reshape(-1, width)

    # ------------------------------------------------------------------ steps in which something is felt

    def _gather(self) -> None:
        """Steps of random play in which resting numbers do not rest, until each that moves at all did so often.

        Episodes are played to their ends, for what falls over comes late. States with numbers moved at random, instead
        of played for, were tried: in Ant, other bodies than the feet touch the ground there in fewer steps, not more.
        """
        simulator, env = self.simulator, self.simulator.env
        env.action_space.seed(self.seed + 3)
        env.reset(seed=self.seed + 3)
        count = np.zeros(int(self.rests.sum()), dtype=np.int64)
        age = 0
        for _ in range(_PLAYED):
            state, action = simulator.get(env), env.action_space.sample()
            found, _, over, cut, _ = env.step(action)
            felt = np.asarray(found, dtype=np.float64)[self.rests]
            active = felt != self._rest
            if np.isfinite(felt).all() and (count[active] < _FELT).any():
                self._steps.append((state, action, felt))
                count += active
                if (count >= _FELT).all():
                    break
            age += 1
            if over or cut or age == _EPISODE:
                env.reset()
                age = 0


def _matched(before: FloatArray, after: FloatArray) -> tuple[IntArray, IntArray]:
    """For every column of ``after`` the column of ``before`` that it is, up to a sign, in most rows."""
    width = before.shape[1]
    costs = np.empty((2, width, width))
    for s, sign in enumerate((1, -1)):
        for k in range(width):
            apart = np.abs(after - sign * before[:, k : k + 1]) / (1 + np.abs(after))
            costs[s, :, k] = (~(apart <= GOOD)).mean(axis=0)
    # What is never felt stays where it is.
    costs += 1e-6 * (1 - np.eye(width)) + np.array([0.0, 1e-7])[:, None, None]
    _, places = linear_sum_assignment(costs.min(axis=0))
    rows = np.arange(width)
    signs = np.where(costs[0, rows, places] <= costs[1, rows, places], 1, -1)
    return np.asarray(places, dtype=np.int64), signs


def _order(action: Any) -> int:
    return int(action.order())
