"""Compiled loops of UCFH (Dann & Brunskill 2015): confidence sets, FixedHorizonEVI, phases step by step and in bulk.

:mod:`burnside.learning.plain` has the same functions in numpy, and what they take.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from burnside._compiled import njit
from burnside._types import FloatArray, IntArray
from burnside.learning.kernels import choose, episode, policy_value, record
from burnside.learning.plain import Limits, Meter, Model
from burnside.learning.world import AgentArrays, WorldArrays

__all__ = ["Crowd", "bulk_episodes", "bulk_run", "evi", "interval", "occupancy", "pour", "set_row", "steps_run"]


@njit(cache=True, nogil=True)
def interval(p: float, n: float, log_term: float) -> tuple[float, float]:
    """Confidence interval for one p(s'|s,a), given its estimate ``p`` from ``n`` visits and L = ln(6/δ₁).

    The set of App. B is all q with |q − p| ≤ the smaller of Hoeffding's and the empirical Bernstein radius and with
    |√(q(1−q)) − √(p(1−p))| ≤ √(2L/(n−1)). The second condition has two sides. Its lower side cuts off the ends of
    [0, 1] and leaves an interval. Its upper side cuts out the middle, where the variance is too large, and may leave
    two intervals. EVI needs one: the smallest that holds the whole set. All of [0, 1] for n ≤ 1.
    """
    if n <= 1.0:
        return 0.0, 1.0
    deviation = math.sqrt(p * (1.0 - p))
    radius = min(
        math.sqrt(log_term / (2.0 * n)),
        deviation * math.sqrt(2.0 * log_term / n) + 7.0 * log_term / (3.0 * (n - 1.0)),
    )
    low, high = max(0.0, p - radius), min(1.0, p + radius)
    slack = math.sqrt(2.0 * log_term / (n - 1.0))
    if deviation > slack:
        half = math.sqrt(max(0.0, 0.25 - (deviation - slack) ** 2))
        low, high = max(low, 0.5 - half), min(high, 0.5 + half)
    if deviation + slack < 0.5:
        # (gap, 1 − gap) is too far from p in variance; written without cancellation for gaps near 0
        square = (deviation + slack) ** 2
        gap = square / (0.5 + math.sqrt(0.25 - square))
        if low > gap:
            low = max(low, 1.0 - gap)
        if high < 1.0 - gap:
            high = min(high, gap)
    return min(low, p), max(high, p)  # p itself is never lost to rounding


@njit(cache=True, nogil=True)
def set_row(agent: AgentArrays, model: Model, i: int, log_term: float) -> None:
    """Recompute the intervals of pair ``i`` from its counts."""
    dense = model.low.shape[0] > 1 or agent.indptr.size == 2
    visits = model.n[i]
    if dense:
        low, high = interval(0.0, visits, log_term)
        model.low[i, :] = low
        model.width[i, :] = high - low
    for k in range(agent.indptr[i], agent.indptr[i + 1]):
        p = model.n_next[k] / visits if visits > 0 else 0.0
        low, high = interval(p, visits, log_term)
        row, column = (i, agent.indices[k]) if dense else (0, k)
        model.low[row, column] = low
        model.width[row, column] = high - low


@njit(cache=True, nogil=True)
def pour(low: FloatArray, width: FloatArray, value: FloatArray, order: IntArray) -> float:
    """max p·value over the box [low, low+width] and Σp = 1: pour what is left into the best successors first."""
    left, total = 1.0, 0.0
    for j in range(low.size):
        left -= low[j]
        total += low[j] * value[j]
    for j in order:
        if left <= 0.0:
            break
        mass = min(left, width[j])
        total += mass * value[j]
        left -= mass
    return total


@njit(cache=True, nogil=True)
def evi(agent: AgentArrays, model: Model, v: FloatArray, q: FloatArray) -> bool:
    """FixedHorizonEVI: the optimistic policy over the confidence set, backwards in time; whether it changed."""
    horizon = model.policy.shape[0]
    dense = model.low.shape[0] > 1 or agent.indptr.size == 2
    timed = agent.reward.shape[0] > 1
    changed = False
    v[horizon, :] = 0.0
    for t in range(horizon - 1, -1, -1):
        after = v[t + 1]
        r = agent.reward[t if timed else 0]
        if dense:
            order = np.argsort(-after, kind="mergesort")
            for i in range(q.size):
                q[i] = r[i] + pour(model.low[i], model.width[i], after, order)
        else:
            for i in range(q.size):
                a, b = agent.indptr[i], agent.indptr[i + 1]
                values = after[agent.indices[a:b]]
                ranked = np.argsort(-values, kind="mergesort")
                q[i] = r[i] + pour(model.low[0, a:b], model.width[0, a:b], values, ranked)
        changed |= choose(agent, q, v[t], model.policy[t])
    return changed


@njit(cache=True, nogil=True)
def _triggered(model: Model, limits: Limits) -> int:
    """The first pair with v ≥ max(m·w_min, n) and n < S·m·H, or −1."""
    for i in range(model.n.size):
        if model.v[i] >= max(limits.first, model.n[i]) and model.n[i] < limits.frozen and model.v[i] > 0:
            return i
    return -1


@njit(cache=True, nogil=True)
def _absorb(agent: AgentArrays, model: Model, i: int, log_term: float) -> None:
    """Move the phase counts of one pair into the model."""
    model.n[i] += model.v[i]
    model.v[i] = 0
    for k in range(agent.indptr[i], agent.indptr[i + 1]):
        model.n_next[k] += model.v_next[k]
        model.v_next[k] = 0
    set_row(agent, model, i, log_term)


@njit(cache=True, nogil=True)
def steps_run(
    world: WorldArrays,
    agent: AgentArrays,
    model: Model,
    limits: Limits,
    meter: Meter,
    u: FloatArray,
    gaps: FloatArray,
) -> int:
    """Up to ``len(gaps)`` episodes of UCFH, one by one, with the random numbers ``u``; returns how many."""
    horizon, states = model.policy.shape
    v = np.zeros((horizon + 1, states))
    q = np.zeros(model.n.size)
    work = np.zeros((2, world.sigma.size))
    pairs = np.zeros(horizon, dtype=np.int64)
    entries = np.zeros(horizon, dtype=np.int64)
    for e in range(gaps.size):
        due = meter.progress[3]
        if due != -1:
            if due >= 0:
                _absorb(agent, model, due, limits.log_term)
            if evi(agent, model, v, q) or due == -2:
                meter.gap[0] = meter.best - policy_value(world, agent, model.policy, work)
        gaps[e] = meter.gap[0]
        length = episode(world, agent, model.policy, u[e], pairs, entries)
        for t in range(length):
            model.v[pairs[t]] += 1
            model.v_next[entries[t]] += 1
        meter.progress[3] = _triggered(model, limits)
        if record(meter, 1):
            return e + 1
    return gaps.size


# ---------------------------------------------------------------------- phases in bulk


class Crowd(NamedTuple):
    """How many of the episodes that are played at once are in each state, now and after the step; and a scratch row."""

    now: IntArray  # (states,)
    after: IntArray  # (states,)
    parts: IntArray  # (entries of the kernel,)


@njit(cache=True, nogil=True)
def occupancy(agent: AgentArrays, data: FloatArray, p0: FloatArray, policy: IntArray, visits: FloatArray) -> None:
    """Expected visits per episode of every pair under a policy, exactly (w_k of the analysis)."""
    visits[:] = 0.0
    now = p0.copy()
    after = np.zeros_like(now)
    for t in range(policy.shape[0]):
        after[:] = 0.0
        for s in range(now.size):
            if now[s] > 0.0 and policy[t, s] >= 0:  # what is in a terminal state goes nowhere
                i = policy[t, s]
                visits[i] += now[s]
                for k in range(agent.indptr[i], agent.indptr[i + 1]):
                    after[agent.indices[k]] += now[s] * data[k]
        now, after = after, now


@njit(cache=True, nogil=True)
def _split(rng: np.random.Generator, total: int, p: FloatArray, begin: int, end: int, parts: IntArray) -> None:
    """One multinomial by successive binomials: ``parts[begin:end]`` sums to ``total``."""
    rest = 1.0
    for k in range(begin, end):
        part = total
        if total > 0 and k < end - 1:
            part = rng.binomial(total, min(1.0, max(0.0, p[k] / rest))) if rest > 0.0 else 0
        parts[k] = part
        total -= part
        rest -= p[k]


@njit(cache=True, nogil=True)
def bulk_episodes(
    rng: np.random.Generator, world: WorldArrays, agent: AgentArrays, model: Model, episodes: int, crowd: Crowd
) -> None:
    """Sample that many episodes of the fixed policy at once, into the phase counts."""
    now, after, parts = crowd
    _split(rng, episodes, world.p0, 0, world.p0.size, now)
    for t in range(model.policy.shape[0]):
        after[:] = 0
        for s in range(now.size):
            if now[s] > 0 and model.policy[t, s] >= 0:
                i = model.policy[t, s]
                a, b = agent.indptr[i], agent.indptr[i + 1]
                _split(rng, now[s], world.data, a, b, parts)
                model.v[i] += now[s]
                for k in range(a, b):
                    model.v_next[k] += parts[k]
                    after[agent.indices[k]] += parts[k]
        for s in range(now.size):  # copying a slice compiles an error message about shapes, which takes seconds
            now[s] = after[s]


@njit(cache=True, nogil=True)
def _batch(model: Model, visits: FloatArray, limits: Limits) -> float:
    """Episodes to sample next: three deviations short of the first trigger, but at least a grain of its threshold."""
    horizon = model.policy.shape[0]
    best = np.inf
    for i in range(model.n.size):
        if visits[i] > 0.0 and model.n[i] < limits.frozen:
            threshold = max(limits.first, model.n[i])
            missing = max(0.0, threshold - model.v[i])
            safe = missing - 3.0 * math.sqrt(missing * horizon)
            best = min(best, max(safe, limits.grain * threshold) / visits[i])
    return best


@njit(cache=True, nogil=True)
def bulk_run(
    rng: np.random.Generator,
    world: WorldArrays,
    agent: AgentArrays,
    model: Model,
    limits: Limits,
    meter: Meter,
    gaps: FloatArray,
    lengths: IntArray,
) -> int:
    """Phases of UCFH on the agent's own MDP, each sampled in bulk; returns how many gap × length pairs it filled."""
    horizon, states = model.policy.shape
    v = np.zeros((horizon + 1, states))
    q = np.zeros(model.n.size)
    work = np.zeros((2, states))
    visits = np.zeros(model.n.size)
    crowd = Crowd(
        np.zeros(states, dtype=np.int64),
        np.zeros(states, dtype=np.int64),
        np.zeros(model.n_next.size, dtype=np.int64),
    )
    progress = meter.progress
    for phase in range(gaps.size):
        if progress[3] >= 0:
            _absorb(agent, model, progress[3], limits.log_term)
        changed = evi(agent, model, v, q) or progress[3] == -2
        if changed:
            meter.gap[0] = meter.best - policy_value(world, agent, model.policy, work)
        if changed or phase == 0:  # the expected visits are not kept from one call to the next
            occupancy(agent, world.data, world.p0, model.policy, visits)
        gaps[phase], lengths[phase] = meter.gap[0], 0
        progress[4] += 1
        progress[3] = -1
        pending = _triggered(model, limits) >= 0  # another pair is due: one episode, as published
        while progress[3] < 0:
            wanted = 1.0 if pending else _batch(model, visits, limits)
            if wanted == np.inf:
                progress[2] = 2
                return phase + 1
            room = limits.cap - progress[0]
            if meter.gap[0] <= meter.eps:
                room = min(room, max(1, int(max(meter.fewest, 2.0 * progress[1])) - progress[0]))
            size = max(1, int(min(wanted, float(room))))
            bulk_episodes(rng, world, agent, model, size, crowd)
            lengths[phase] += size
            if record(meter, size) or progress[0] >= limits.cap:
                return phase + 1
            progress[3] = _triggered(model, limits)
    return gaps.size
