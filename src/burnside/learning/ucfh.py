"""UCFH (Dann & Brunskill 2015; App. B): its constants, its confidence sets, and the literal algorithm in bulk.

Phases: the model is estimated from counts n, the confidence set is built, FixedHorizonEVI gives the optimistic policy,
which is played for whole episodes while a second set of counts v fills, until some pair has v ≥ max(m·w_min, n) and
n < S·m·H. Then the v of that one pair move into n, and the next phase begins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._types import ArrayLike, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.learning.learners import UCFH
from burnside.learning.plain import Limits, Model
from burnside.learning.world import first_policy
from burnside.mdp import TabularMDP
from burnside.theory.bounds import Size, UCFHBound, ucfh

if TYPE_CHECKING:
    from burnside.learning.run import Run

__all__ = [
    "UCFHConstants",
    "confidence_interval",
    "fixed_horizon_evi",
    "new_model",
    "optimistic_value",
    "ucfh_constants",
    "ucfh_literal",
]


@dataclass(frozen=True)
class UCFHConstants:
    """The constants of a run: the theorem's, and those the update rule uses."""

    bound: UCFHBound
    first: float  # m·w_min: visits before a pair is used at all
    frozen: float  # S·m·H: visits after which it is never updated again
    log_term: float  # L = ln(6/δ₁)
    notes: tuple[str, ...]

    def limits(self, grain: float = 0.0, cap: int = 0) -> Limits:
        """What the loops take of them; ``grain`` and ``cap`` are used in bulk only."""
        return Limits(float(self.first), float(self.frozen), float(self.log_term), float(grain), int(cap))


def ucfh_constants(mdp: TabularMDP, learner: UCFH, eps: float, delta: float) -> UCFHConstants:
    """The constants of UCFH for this MDP; ``eps`` in the units of the return.

    >>> from burnside.mdp import zoo
    >>> c = ucfh_constants(zoo.slip_ring(5), UCFH(), eps=0.68, delta=0.1)
    >>> f"{c.first:.3g} {c.frozen:.3g} {c.log_term:.3g}"
    '2.38e+07 5.59e+12 15.5'
    """
    span = mdp.reward_range
    if not span > 0:
        raise InvalidParameter(
            f"all rewards of {mdp.name} are equal, so every policy is optimal: there is nothing to learn"
        )
    succ = mdp.n_states if learner.support == "unknown" else mdp.successors
    bound = ucfh(Size(mdp.n_states, mdp.n_pairs, succ), mdp.H, eps, delta, span)
    m = bound.m * learner.scale_m
    return UCFHConstants(bound, m * bound.w_min, mdp.n_states * m * mdp.H, math.log(6.0 / bound.delta1), bound.guards)


def new_model(mdp: TabularMDP, support: str) -> Model:
    """UCFH's memory before the first episode: no counts, every probability in [0, 1]."""
    entries = mdp.P.indices.size
    shape = (mdp.n_pairs, mdp.n_states) if support == "unknown" else (1, entries)
    if shape[0] * shape[1] > 50_000_000:
        raise InvalidParameter(
            f"unknown support keeps an interval for each of {shape[0]}×{shape[1]} pairs and states, too many: "
            f"use support='known' or a smaller model"
        )
    policy = first_policy(mdp)

    def zeros(size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    counts = (zeros(mdp.n_pairs), zeros(entries), zeros(mdp.n_pairs), zeros(entries))
    return Model(*counts, np.zeros(shape), np.ones(shape), policy)


def confidence_interval(p_hat: float, n: int, delta1: float) -> tuple[float, float]:
    """The interval of App. B for one p(s'|s,a) estimated as ``p_hat`` from ``n`` visits.

    The set is all p with |p − p̂| ≤ min{√(L/2n), √(2p̂(1−p̂)L/n) + 7L/(3(n−1))} and
    |√(p(1−p)) − √(p̂(1−p̂))| ≤ √(2L/(n−1)), where L = ln(6/δ₁). It holds the truth with probability at least 1 − δ₁;
    the result is the smallest interval around it.

    >>> confidence_interval(0.3, 1, 0.1)
    (0.0, 1.0)
    >>> [round(x, 5) for x in confidence_interval(0.0, 1000, 0.01)]  # 0.01494 without the variance condition
    [0.0, 0.01298]
    >>> tuple(round(x, 4) for x in confidence_interval(0.5, 1000, 0.1))
    (0.4548, 0.5452)
    """
    from burnside.learning.ucfh_kernels import interval

    if not 0 <= p_hat <= 1 or not 0 < delta1 < 6:
        raise InvalidParameter(f"p_hat must lie in [0, 1] and delta1 in (0, 6), not {p_hat!r} and {delta1!r}")
    low, high = interval(float(p_hat), float(n), math.log(6.0 / delta1))
    return float(low), float(high)


def optimistic_value(low: ArrayLike, high: ArrayLike, value: ArrayLike) -> float:
    """max p·value over distributions p with low ≤ p ≤ high: the inner step of FixedHorizonEVI.

    >>> round(optimistic_value([0.1, 0.2, 0.0], [0.5, 0.9, 0.3], [0, 1, 2]), 12)
    1.2
    """
    from burnside.learning.ucfh_kernels import pour

    lo, hi, v = (np.asarray(x, dtype=np.float64) for x in (low, high, value))
    if lo.sum() > 1 + 1e-9 or hi.sum() < 1 - 1e-9 or (lo > hi).any():
        raise InvalidParameter("no distribution lies within these bounds")
    return float(pour(lo, hi - lo, v, np.argsort(-v, kind="stable")))


def fixed_horizon_evi(mdp: TabularMDP, low: ArrayLike, high: ArrayLike) -> tuple[FloatArray, Any]:
    """Optimistic values and policy when p(s'|s,a) may lie anywhere in [low, high], arrays of shape (pairs, states).

    With low = high = P it is backward induction:

    >>> from burnside.mdp import solve, zoo
    >>> ring = zoo.slip_ring(5)
    >>> V, policy = fixed_horizon_evi(ring, ring.P.toarray(), ring.P.toarray())
    >>> bool(np.allclose(V, solve(ring).V))
    True
    """
    from burnside.learning.ucfh_kernels import evi
    from burnside.learning.world import World

    lo, hi = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
    if lo.shape != (mdp.n_pairs, mdp.n_states) or hi.shape != lo.shape:
        raise InvalidParameter(f"low and high must have shape ({mdp.n_pairs}, {mdp.n_states})")
    model = new_model(mdp, "unknown")._replace(low=lo, width=hi - lo)
    V = np.zeros((mdp.H + 1, mdp.n_states))
    evi(World.direct(mdp).agent_arrays, model, V, np.zeros(mdp.n_pairs))
    return V, model.policy


def ucfh_literal(
    mdp: TabularMDP, eps: float = 0.1, delta: float = 0.1, *, support: str = "unknown", **rest: Any
) -> Run:
    """UCFH with the published constants, run in bulk: billions of episodes in seconds.

    Within a phase the policy is fixed, so B episodes are sampled at once: B is split by p₀, and at every step the
    count in each state is split over its successors by one multinomial. B comes from the exact occupancy, just
    short of the first trigger. That is exact in distribution but for one thing: the trigger is checked at the ends
    of batches, so a pair may pass its threshold by up to ``grain`` (default a thousandth) of it.

    Takes the further arguments of :func:`learn` and of :class:`UCFH`.

    >>> from burnside.mdp import zoo
    >>> run = ucfh_literal(zoo.slip_ring(5), max_episodes=10**9)
    >>> run.episodes, run.label
    (1000000000, 'UCFH as published, unknown support, phases in bulk (trigger checked to 0.001): (ε, δ)-PAC')
    """
    from burnside.learning.learn import learn

    return learn(mdp, "ucfh-literal", eps, delta, support=support, **rest)
