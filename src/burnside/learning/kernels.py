"""Compiled loops of the learners; ``plain`` has the same functions in numpy. Imported where it is used: it loads numba.

Random numbers come in from outside, three per step (class of the successor, member of the class, lifted action),
so a run does not depend on how its episodes are cut into chunks.
"""

from __future__ import annotations

import math

import numpy as np

from burnside._compiled import njit
from burnside._types import FloatArray, IntArray
from burnside.learning.plain import Memory, Meter, Widths
from burnside.learning.world import AgentArrays, WorldArrays

__all__ = ["choose", "episode", "loglog", "optimistic_run", "plan_ubev", "plan_ucbvi", "policy_value", "record"]


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
def plan_ubev(agent: AgentArrays, widths: Widths, memory: Memory, v: FloatArray, q: FloatArray) -> bool:
    """Optimistic backward induction of UBEV (Dann et al. 2017, Alg. 1) with counts pooled over time.

    EV = min(max Ṽ, p̂·Ṽ + c·span·φ(n)); the span is that of the remaining rewards (provable) or of Ṽ (heuristic).
    Returns whether the greedy policy changed.
    """
    n, p_hat, phi, policy = memory.n, memory.p_hat, memory.phi, memory.policy
    horizon = policy.shape[0]
    timed = agent.reward.shape[0] > 1
    changed = False
    v[horizon, :] = 0.0
    for t in range(horizon - 1, -1, -1):
        after = v[t + 1]
        top = after.max()
        width = widths.factor * ((top - after.min()) if widths.own_span else agent.span[t + 1])
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
def plan_ucbvi(agent: AgentArrays, widths: Widths, memory: Memory, v: FloatArray, q: FloatArray) -> bool:
    """Backward induction of UCBVI with the bonus b₁ (Hoeffding) or b₂ (Bernstein) of Azar et al. 2017.

    ``q_cap`` holds the smallest Q seen so far: values only ever fall. Returns whether the policy changed.
    """
    n, counts, visits, q_cap, policy = memory.n, memory.counts, memory.visits, memory.q_cap, memory.policy
    factor, log_term, bernstein = widths.factor, widths.log_term, widths.kind == 2
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
def record(meter: Meter, episodes: int) -> bool:
    """Count episodes of the present policy; returns whether half of the run or more has been free of mistakes."""
    progress = meter.progress
    progress[0] += episodes
    if meter.gap[0] > meter.eps:
        progress[1] = progress[0]
    if progress[0] >= meter.fewest and progress[0] >= 2 * progress[1]:
        progress[2] = 1
    return progress[2] == 1


@njit(cache=True, nogil=True)
def optimistic_run(
    world: WorldArrays,
    agent: AgentArrays,
    widths: Widths,
    memory: Memory,
    meter: Meter,
    u: FloatArray,
    gaps: FloatArray,
) -> int:
    """Up to ``len(gaps)`` episodes of UBEV or UCBVI, with the random numbers ``u``; returns how many."""
    n, counts, p_hat, phi, policy = memory.n, memory.counts, memory.p_hat, memory.phi, memory.policy
    horizon, states = policy.shape
    v = np.zeros((horizon + 1, states))
    q = np.zeros(n.size)
    work = np.zeros((2, world.sigma.size))
    pairs = np.zeros(horizon, dtype=np.int64)
    entries = np.zeros(horizon, dtype=np.int64)
    for e in range(gaps.size):
        played = meter.progress[0]
        if played % widths.replan_every == 0:
            if widths.kind == 0:
                changed = plan_ubev(agent, widths, memory, v, q)
            else:
                changed = plan_ucbvi(agent, widths, memory, v, q)
            if changed or played == 0:
                meter.gap[0] = meter.best - policy_value(world, agent, policy, work)
        gaps[e] = meter.gap[0]
        length = episode(world, agent, policy, u[e], pairs, entries)
        for t in range(length):
            n[pairs[t]] += 1
            counts[entries[t]] += 1
        for t in range(length):
            i = pairs[t]
            phi[i] = math.sqrt((2.0 * loglog(n[i]) + widths.log_term) / n[i])
            for k in range(agent.indptr[i], agent.indptr[i + 1]):
                p_hat[k] = counts[k] / n[i]
            if widths.kind == 2 and t > 0:
                memory.visits[t, agent.indices[entries[t - 1]]] += 1
        if record(meter, 1):
            return e + 1
    return gaps.size
