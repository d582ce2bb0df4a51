"""Compiled loops of the learners. Imported lazily: numba takes a moment to load.

Random numbers come in from outside, three per step (class of the successor, member of the class, lifted action),
so a run does not depend on how its episodes are cut into chunks.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from burnside._types import FloatArray, IntArray
from burnside.learning.world import AgentArrays, WorldArrays

__all__ = ["episode", "loglog", "optimistic_run", "plan_ubev", "plan_ucbvi", "policy_value"]


@njit(cache=True, nogil=True)
def loglog(n: float) -> float:
    """``llnp(n) = ln ln max(n, e)`` (Dann et al. 2017)."""
    return math.log(math.log(max(n, math.e)))


@njit(cache=True, nogil=True)
def _draw(cdf: FloatArray, begin: int, end: int, u: float) -> int:
    """Index of the first entry of a distribution function that exceeds ``u``; the last one catches rounding."""
    k = begin
    while k < end - 1 and u >= cdf[k]:
        k += 1
    return k


@njit(cache=True, nogil=True)
def policy_value(world: WorldArrays, agent: AgentArrays, policy: IntArray, work: FloatArray) -> float:
    """Exact return in the true MDP of the agent's policy, lifted; ``work`` is ``(2, true states)``."""
    horizon = policy.shape[0]
    states = world.sigma.size
    timed = world.reward.shape[0] > 1
    work[horizon % 2, :] = 0.0
    for t in range(horizon - 1, -1, -1):
        after, now = work[(t + 1) % 2], work[t % 2]
        r = world.reward[t if timed else 0]
        for s in range(states):
            z = world.sigma[s]
            if policy[t, z] < 0:  # terminal
                now[s] = 0.0
                continue
            slot = world.lift_base[s] + policy[t, z] - agent.pair_ptr[z]
            total = 0.0
            for j in range(world.lift_ptr[slot], world.lift_ptr[slot + 1]):
                i = world.lift_pair[j]
                total += r[i]
                for k in range(world.indptr[i], world.indptr[i + 1]):
                    total += world.data[k] * after[world.indices[k]]
            now[s] = total / (world.lift_ptr[slot + 1] - world.lift_ptr[slot])
    value = 0.0
    for s in range(states):
        value += world.p0[s] * work[0, s]
    return value


@njit(cache=True, nogil=True)
def episode(
    world: WorldArrays, agent: AgentArrays, policy: IntArray, u: FloatArray, pairs: IntArray, entries: IntArray
) -> int:
    """One episode; fills in the agent's pair and the place of its successor's count at every step; returns how many."""
    c = _draw(world.start_cdf, 0, world.start_cdf.size, u[0, 0])
    j = _draw(world.start_member_cdf, world.start_ptr[c], world.start_ptr[c + 1], u[0, 1])
    s = world.start_member[j]
    for t in range(policy.shape[0]):
        z = world.sigma[s]
        seen = policy[t, z]
        if seen < 0:  # terminal: the episode is over
            return t
        slot = world.lift_base[s] + seen - agent.pair_ptr[z]
        first, count = world.lift_ptr[slot], world.lift_ptr[slot + 1] - world.lift_ptr[slot]
        i = world.lift_pair[first + min(count - 1, int(u[t + 1, 2] * count))]
        c = _draw(world.row_cdf, world.row_ptr[i], world.row_ptr[i + 1], u[t + 1, 0])
        j = _draw(world.member_cdf, world.member_ptr[c], world.member_ptr[c + 1], u[t + 1, 1])
        s = world.member[j]
        pairs[t] = seen
        entries[t] = agent.indptr[seen] + c - world.row_ptr[i]
    return policy.shape[0]


@njit(cache=True, nogil=True)
def choose(agent: AgentArrays, q: FloatArray, v: FloatArray, policy: IntArray) -> bool:
    """Greedy choice from values on pairs, ties to the first; returns whether any choice changed.

    Terminal states are worth 0, and their choice is -1 from the beginning.
    """
    changed = False
    for s in range(v.size):
        begin = agent.pair_ptr[s]
        if begin == agent.pair_ptr[s + 1]:
            v[s] = 0.0
            continue
        best, at = q[begin], begin
        for i in range(begin + 1, agent.pair_ptr[s + 1]):
            if q[i] > best:
                best, at = q[i], i
        v[s] = best
        if policy[s] != at:
            policy[s] = at
            changed = True
    return changed


@njit(cache=True, nogil=True)
def plan_ubev(
    agent: AgentArrays,
    n: IntArray,
    p_hat: FloatArray,
    phi: FloatArray,
    factor: float,
    own_span: bool,
    v: FloatArray,
    q: FloatArray,
    policy: IntArray,
) -> bool:
    """Optimistic backward induction of UBEV (Dann et al. 2017, Alg. 1) with counts pooled over time.

    EV = min(max Ṽ, p̂·Ṽ + c·span·φ(n)); the span is that of the remaining rewards (provable) or of Ṽ (heuristic).
    Returns whether the greedy policy changed.
    """
    horizon = policy.shape[0]
    timed = agent.reward.shape[0] > 1
    changed = False
    v[horizon, :] = 0.0
    for t in range(horizon - 1, -1, -1):
        after = v[t + 1]
        top = after.max()
        width = factor * ((top - after.min()) if own_span else agent.span[t + 1])
        r = agent.reward[t if timed else 0]
        for i in range(n.size):
            ahead = top
            if n[i] > 0:
                total = 0.0
                for k in range(agent.indptr[i], agent.indptr[i + 1]):
                    total += p_hat[k] * after[agent.indices[k]]
                ahead = min(top, total + width * phi[i])
            q[i] = r[i] + ahead
        changed |= choose(agent, q, v[t], policy[t])
    return changed


@njit(cache=True, nogil=True)
def plan_ucbvi(
    agent: AgentArrays,
    n: IntArray,
    counts: IntArray,
    visits: IntArray,
    log_term: float,
    factor: float,
    bernstein: bool,
    q_cap: FloatArray,
    v: FloatArray,
    q: FloatArray,
    policy: IntArray,
) -> bool:
    """Backward induction of UCBVI with the bonus b₁ (Hoeffding) or b₂ (Bernstein) of Azar et al. 2017.

    ``q_cap`` holds the smallest Q seen so far: values only ever fall. Returns whether the policy changed.
    """
    horizon = policy.shape[0]
    timed = agent.reward.shape[0] > 1
    scale = agent.span[0]
    states = v.shape[1]
    changed = False
    v[horizon, :] = 0.0
    for t in range(horizon - 1, -1, -1):
        after = v[t + 1]
        top = after.max()
        r = agent.reward[t if timed else 0]
        for i in range(n.size):
            if n[i] == 0:
                q[i] = min(q_cap[t, i], r[i] + top)
                continue
            mean, square, tail = 0.0, 0.0, 0.0
            for k in range(agent.indptr[i], agent.indptr[i + 1]):
                if counts[k] > 0:
                    y = agent.indices[k]
                    mean += counts[k] * after[y]
                    square += counts[k] * after[y] * after[y]
                    if bernstein and agent.pair_ptr[y] < agent.pair_ptr[y + 1]:  # of a terminal state all is known
                        seen = visits[t + 1, y] if t + 1 < horizon else 0
                        worst = scale * scale
                        if seen > 0:
                            h3s2a = 1e4 * horizon * worst * states * n.size * log_term * log_term
                            worst = min(worst, h3s2a / seen)
                        tail += counts[k] * worst
            mean /= n[i]
            bonus = 7.0 * scale * log_term / math.sqrt(n[i])
            if bernstein:
                variance = max(0.0, square / n[i] - mean * mean)
                bonus = math.sqrt(8.0 * log_term * variance / n[i]) + 14.0 * scale * log_term / (3.0 * n[i])
                bonus += math.sqrt(8.0 * tail / n[i] / n[i])
            q[i] = min(q_cap[t, i], r[i] + min(top, mean + factor * bonus))
            q_cap[t, i] = q[i]
        changed |= choose(agent, q, v[t], policy[t])
    return changed


@njit(cache=True, nogil=True)
def optimistic_run(
    world: WorldArrays,
    agent: AgentArrays,
    kind: int,
    settings: FloatArray,
    replan_every: int,
    n: IntArray,
    counts: IntArray,
    visits: IntArray,
    p_hat: FloatArray,
    phi: FloatArray,
    q_cap: FloatArray,
    policy: IntArray,
    u: FloatArray,
    gaps: FloatArray,
    rule: FloatArray,
    progress: IntArray,
) -> int:
    """Up to ``len(gaps)`` episodes of UBEV (kind 0), or UCBVI (1: Hoeffding, 2: Bernstein); returns how many.

    ``settings``: width factor, logarithmic term, whether UBEV uses the span of Ṽ. ``rule``: R*, ε, fewest episodes.
    ``progress``: episodes so far, the last mistake, whether the plateau is reached. The gap before is ``rule[3]``.
    """
    horizon, states = policy.shape
    v = np.zeros((horizon + 1, states))
    q = np.zeros(n.size)
    work = np.zeros((2, world.sigma.size))
    pairs = np.zeros(horizon, dtype=np.int64)
    entries = np.zeros(horizon, dtype=np.int64)
    for e in range(gaps.size):
        if progress[0] % replan_every == 0:
            if kind == 0:
                changed = plan_ubev(agent, n, p_hat, phi, settings[0], settings[2] > 0.0, v, q, policy)
            else:
                changed = plan_ucbvi(agent, n, counts, visits, settings[1], settings[0], kind == 2, q_cap, v, q, policy)
            if changed or progress[0] == 0:
                rule[3] = rule[0] - policy_value(world, agent, policy, work)
        gaps[e] = rule[3]
        length = episode(world, agent, policy, u[e], pairs, entries)
        for t in range(length):
            n[pairs[t]] += 1
            counts[entries[t]] += 1
        for t in range(length):
            i = pairs[t]
            phi[i] = math.sqrt((2.0 * loglog(n[i]) + settings[1]) / n[i])
            for k in range(agent.indptr[i], agent.indptr[i + 1]):
                p_hat[k] = counts[k] / n[i]
            if kind == 2 and t > 0:
                visits[t, agent.indices[entries[t - 1]]] += 1
        progress[0] += 1
        if gaps[e] > rule[1]:
            progress[1] = progress[0]
        if progress[0] >= rule[2] and progress[0] >= 2 * progress[1]:
            progress[2] = 1
            return e + 1
    return gaps.size
