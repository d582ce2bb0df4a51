"""The learners in plain numpy, to be read first: what ``kernels`` and ``ucfh_kernels`` compute, and their arguments.

A function here has the name of its compiled twin, the same arguments and the same effect on them. The phases of UCFH in
bulk have no twin of their own: they sample what :func:`steps_run` plays.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import sparse

from burnside._types import FloatArray, IntArray
from burnside.learning.world import AgentArrays, WorldArrays

__all__ = [
    "Limits",
    "Memory",
    "Meter",
    "Model",
    "Widths",
    "choose",
    "episode",
    "evi",
    "interval",
    "optimistic_run",
    "plan_ubev",
    "plan_ucbvi",
    "policy_value",
    "pour",
    "record",
    "set_row",
    "steps_run",
]


class Meter(NamedTuple):
    """Counts the mistakes of a run (Def. 2) and says when it ends."""

    best: float  # R*
    eps: float  # in the units of the return
    fewest: float  # episodes before a plateau may end the run
    gap: FloatArray  # (1,): R* − R^π of the policy that is executed now
    #: Episodes so far, the last mistake, how it ended (1: plateau, 2: the learner cannot change any more, 0: not yet);
    #: of UCFH also the pair whose counts are due (−1: none, −2: before the first phase) and the phases so far.
    progress: IntArray


class Widths(NamedTuple):
    """How optimistic UBEV or UCBVI is, and how often it plans."""

    kind: int  # 0: UBEV, 1: UCBVI with Hoeffding's bonus, 2: with Bernstein's
    factor: float  # c
    log_term: float
    own_span: bool  # UBEV: the span of Ṽ (heuristic) instead of that of the remaining rewards (provable)
    replan_every: int


class Memory(NamedTuple):
    """What UBEV and UCBVI know, with counts pooled over time."""

    n: IntArray  # (pairs,): visits
    counts: IntArray  # of each successor of a pair
    visits: IntArray  # (H, states): Bernstein's bonus only
    p_hat: FloatArray  # counts / n
    phi: FloatArray  # (pairs,): √((2 ln ln n + log term) / n)
    q_cap: FloatArray  # (H, pairs), UCBVI: the smallest Q so far
    policy: IntArray  # (H, states): the chosen pair; −1 in terminal states


class Limits(NamedTuple):
    """The constants of UCFH's update rule, and of sampling its phases in bulk."""

    first: float  # m·w_min: visits before a pair is used at all
    frozen: float  # S·m·H: visits after which it is never updated again
    log_term: float  # L = ln(6/δ₁)
    grain: float  # in bulk: the share of its threshold by which a pair may pass it
    cap: int  # in bulk: episodes, at most


class Model(NamedTuple):
    """What UCFH knows: counts in the model (n), counts of the current phase (v), and its confidence intervals.

    The intervals live on all successors (``dense``, shape (pairs, states)) or on the known support, as one row.
    """

    n: IntArray
    n_next: IntArray
    v: IntArray
    v_next: IntArray
    low: FloatArray
    width: FloatArray
    policy: IntArray


# ---------------------------------------------------------------------- acting and metering


def policy_value(world: WorldArrays, agent: AgentArrays, policy: IntArray, work: FloatArray) -> float:
    """Exact return in the true MDP of the agent's policy, lifted; ``work`` is ``(2, true states)``."""
    P = sparse.csr_matrix((world.data, world.indices, world.indptr), shape=(world.indptr.size - 1, world.sigma.size))
    value = np.zeros(world.sigma.size)
    for t in reversed(range(policy.shape[0])):
        q = world.reward[t if len(world.reward) > 1 else 0] + P @ value
        chosen = policy[t, world.sigma]
        value = np.zeros(world.sigma.size)
        for s in np.flatnonzero(chosen >= 0):  # the others are terminal
            slot = world.lift_base[s] + chosen[s] - agent.pair_ptr[world.sigma[s]]
            value[s] = q[world.lift_pair[world.lift_ptr[slot] : world.lift_ptr[slot + 1]]].mean()
    work[0] = value
    return float(world.p0 @ value)


def episode(
    world: WorldArrays, agent: AgentArrays, policy: IntArray, u: FloatArray, pairs: IntArray, entries: IntArray
) -> int:
    """One episode; fills in the agent's pair and the place of its successor's count at every step; returns how many."""

    def draw(cdf: FloatArray, begin: int, end: int, at: float) -> int:
        return int(begin + np.searchsorted(cdf[begin : end - 1], at, side="right"))

    c = draw(world.start_cdf, 0, world.start_cdf.size, u[0, 0])
    s = world.start_member[draw(world.start_member_cdf, world.start_ptr[c], world.start_ptr[c + 1], u[0, 1])]
    for t in range(policy.shape[0]):
        z = world.sigma[s]
        seen = policy[t, z]
        if seen < 0:  # terminal: the episode is over
            return t
        slot = world.lift_base[s] + seen - agent.pair_ptr[z]
        lifts = world.lift_pair[world.lift_ptr[slot] : world.lift_ptr[slot + 1]]
        i = lifts[min(lifts.size - 1, int(u[t + 1, 2] * lifts.size))]
        c = draw(world.row_cdf, world.row_ptr[i], world.row_ptr[i + 1], u[t + 1, 0])
        s = world.member[draw(world.member_cdf, world.member_ptr[c], world.member_ptr[c + 1], u[t + 1, 1])]
        pairs[t], entries[t] = seen, agent.indptr[seen] + c - world.row_ptr[i]
    return policy.shape[0]


def record(meter: Meter, episodes: int) -> bool:
    """Count episodes of the present policy; returns whether half of the run or more has been free of mistakes."""
    progress = meter.progress
    progress[0] += episodes
    if meter.gap[0] > meter.eps:
        progress[1] = progress[0]
    if progress[0] >= max(meter.fewest, 2 * progress[1]):
        progress[2] = 1
    return bool(progress[2] == 1)


def choose(agent: AgentArrays, q: FloatArray, v: FloatArray, policy: IntArray) -> bool:
    """Greedy choice from values on pairs, ties to the first; returns whether any choice changed.

    Terminal states are worth 0, and their choice is -1 from the beginning.
    """
    before = policy.copy()
    for s, (begin, end) in enumerate(zip(agent.pair_ptr[:-1], agent.pair_ptr[1:], strict=True)):
        v[s] = 0.0
        if begin < end:
            policy[s] = begin + np.argmax(q[begin:end])
            v[s] = q[policy[s]]
    return bool((policy != before).any())


# ---------------------------------------------------------------------- UBEV and UCBVI


def _sums(agent: AgentArrays, weights: FloatArray, values: FloatArray) -> FloatArray:
    """The weighted sum of ``values`` over the successors of each pair."""
    pairs = agent.indptr.size - 1
    matrix = sparse.csr_matrix((weights, agent.indices, agent.indptr), shape=(pairs, values.size))
    return np.asarray(matrix @ values)


def plan_ubev(agent: AgentArrays, widths: Widths, memory: Memory, v: FloatArray, q: FloatArray) -> bool:
    """Optimistic backward induction of UBEV (Dann et al. 2017, Alg. 1) with counts pooled over time.

    EV = min(max Ṽ, p̂·Ṽ + c·span·φ(n)); the span is that of the remaining rewards (provable) or of Ṽ (heuristic).
    Returns whether the greedy policy changed.
    """
    changed = False
    v[-1] = 0.0
    for t in reversed(range(memory.policy.shape[0])):
        after = v[t + 1]
        span = np.ptp(after) if widths.own_span else agent.span[t + 1]
        ahead = _sums(agent, memory.p_hat, after) + widths.factor * span * memory.phi
        q[:] = agent.reward[t if len(agent.reward) > 1 else 0]
        q += np.where(memory.n > 0, np.minimum(after.max(), ahead), after.max())
        changed |= choose(agent, q, v[t], memory.policy[t])
    return changed


def plan_ucbvi(agent: AgentArrays, widths: Widths, memory: Memory, v: FloatArray, q: FloatArray) -> bool:
    """Backward induction of UCBVI with the bonus b₁ (Hoeffding) or b₂ (Bernstein) of Azar et al. 2017.

    ``q_cap`` holds the smallest Q seen so far: values only ever fall. Returns whether the policy changed.
    """
    horizon, states = memory.policy.shape
    tried, scale, log = memory.n > 0, agent.span[0], widths.log_term
    n = np.maximum(memory.n, 1)
    changed = False
    v[-1] = 0.0
    for t in reversed(range(horizon)):
        after = v[t + 1]
        mean = _sums(agent, memory.counts.astype(float), after) / n
        bonus = 7.0 * scale * log / np.sqrt(n)
        if widths.kind == 2:
            square = _sums(agent, memory.counts.astype(float), after * after) / n
            seen = memory.visits[t + 1] if t + 1 < horizon else np.zeros(states)
            with np.errstate(divide="ignore"):
                tail = 1e4 * horizon * scale**2 * states * n.size * log**2 / seen
            worst = np.where(np.diff(agent.pair_ptr) > 0, np.minimum(scale**2, tail), 0.0)  # 0 in terminal states
            bonus = np.sqrt(8.0 * log * np.maximum(0.0, square - mean**2) / n) + 14.0 * scale * log / (3.0 * n)
            bonus += np.sqrt(8.0 * _sums(agent, memory.counts.astype(float), worst) / n / n)
        ahead = np.where(tried, np.minimum(after.max(), mean + widths.factor * bonus), after.max())
        q[:] = np.minimum(memory.q_cap[t], agent.reward[t if len(agent.reward) > 1 else 0] + ahead)
        memory.q_cap[t, tried] = q[tried]
        changed |= choose(agent, q, v[t], memory.policy[t])
    return changed


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
    horizon, states = memory.policy.shape
    v, q, work = np.zeros((horizon + 1, states)), np.zeros(memory.n.size), np.zeros((2, world.sigma.size))
    pairs, entries = np.zeros(horizon, dtype=np.int64), np.zeros(horizon, dtype=np.int64)
    plan = plan_ubev if widths.kind == 0 else plan_ucbvi
    for e in range(gaps.size):
        played = meter.progress[0]
        if played % widths.replan_every == 0 and (plan(agent, widths, memory, v, q) or played == 0):
            meter.gap[0] = meter.best - policy_value(world, agent, memory.policy, work)
        gaps[e] = meter.gap[0]
        length = episode(world, agent, memory.policy, u[e], pairs, entries)
        np.add.at(memory.n, pairs[:length], 1)
        np.add.at(memory.counts, entries[:length], 1)
        for i in pairs[:length]:
            row = slice(agent.indptr[i], agent.indptr[i + 1])
            iterated = math.log(math.log(max(memory.n[i], math.e)))
            memory.phi[i] = math.sqrt((2.0 * iterated + widths.log_term) / memory.n[i])
            memory.p_hat[row] = memory.counts[row] / memory.n[i]
        if widths.kind == 2:
            memory.visits[np.arange(1, length), agent.indices[entries[: max(0, length - 1)]]] += 1
        if record(meter, 1):
            return e + 1
    return gaps.size


# ---------------------------------------------------------------------- UCFH


def interval(p: float, n: float, log_term: float) -> tuple[float, float]:
    """Confidence interval for one p(s'|s,a), given its estimate ``p`` from ``n`` visits and L = ln(6/δ₁).

    The set of App. B is all q with |q − p| ≤ the smaller of Hoeffding's and the empirical Bernstein radius and with
    |√(q(1−q)) − √(p(1−p))| ≤ √(2L/(n−1)): q is neither in the tails nor in the middle. The smallest interval around it.
    """
    if n <= 1:
        return 0.0, 1.0
    deviation, slack = math.sqrt(p * (1 - p)), math.sqrt(2 * log_term / (n - 1))
    bernstein = deviation * math.sqrt(2 * log_term / n) + 7 * log_term / (3 * (n - 1))
    radius = min(math.sqrt(log_term / (2 * n)), bernstein)
    low, high = max(0.0, p - radius), min(1.0, p + radius)
    least, most = max(0.0, deviation - slack), min(0.5, deviation + slack)  # of √(q(1−q))
    tail, middle = (0.5 - math.sqrt(0.25 - x * x) for x in (least, most))
    pieces = [(max(low, a), min(high, b)) for a, b in ((tail, middle), (1 - middle, 1 - tail))]
    kept = [piece for piece in pieces if piece[0] <= piece[1]]
    return min([p, *(a for a, _ in kept)]), max([p, *(b for _, b in kept)])


def _is_dense(agent: AgentArrays, model: Model) -> bool:
    """Whether the model has an interval for every state, not only for the known successors."""
    return model.low.shape[0] > 1 or agent.indptr.size == 2


def set_row(agent: AgentArrays, model: Model, i: int, log_term: float) -> None:
    """Recompute the intervals of pair ``i`` from its counts."""
    visits = model.n[i]
    row = slice(agent.indptr[i], agent.indptr[i + 1])
    estimates = model.n_next[row] / max(visits, 1)
    if _is_dense(agent, model):
        every = np.zeros(model.low.shape[1])
        every[agent.indices[row]] = estimates
        at, estimates = (i, slice(None)), every
    else:
        at = (0, row)
    bounds = np.array([interval(p, visits, log_term) for p in estimates]).reshape(-1, 2)
    model.low[at], model.width[at] = bounds[:, 0], bounds[:, 1] - bounds[:, 0]


def pour(low: FloatArray, width: FloatArray, value: FloatArray, order: IntArray) -> float:
    """max p·value over the box [low, low+width] and Σp = 1: pour what is left into the best successors first."""
    room = width[order]
    left = 1.0 - low.sum() - (np.cumsum(room) - room)  # for each in turn
    return float(low @ value + np.clip(left, 0.0, room) @ value[order])


def evi(agent: AgentArrays, model: Model, v: FloatArray, q: FloatArray) -> bool:
    """FixedHorizonEVI: the optimistic policy over the confidence set, backwards in time; whether it changed."""
    changed = False
    v[-1] = 0.0
    for t in reversed(range(model.policy.shape[0])):
        q[:] = agent.reward[t if len(agent.reward) > 1 else 0]
        for i in range(q.size):
            row = slice(agent.indptr[i], agent.indptr[i + 1])
            dense = _is_dense(agent, model)
            at, value = ((i, slice(None)), v[t + 1]) if dense else ((0, row), v[t + 1][agent.indices[row]])
            q[i] += pour(model.low[at], model.width[at], value, np.argsort(-value, kind="stable"))
        changed |= choose(agent, q, v[t], model.policy[t])
    return changed


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
    v, q, work = np.zeros((horizon + 1, states)), np.zeros(model.n.size), np.zeros((2, world.sigma.size))
    pairs, entries = np.zeros(horizon, dtype=np.int64), np.zeros(horizon, dtype=np.int64)
    for e in range(gaps.size):
        due = meter.progress[3]
        if due >= 0:  # the counts of one pair move into the model
            row = slice(agent.indptr[due], agent.indptr[due + 1])
            model.n[due] += model.v[due]
            model.n_next[row] += model.v_next[row]
            model.v[due] = model.v_next[row] = 0
            set_row(agent, model, due, limits.log_term)
        if due != -1 and (evi(agent, model, v, q) or due == -2):
            meter.gap[0] = meter.best - policy_value(world, agent, model.policy, work)
        gaps[e] = meter.gap[0]
        length = episode(world, agent, model.policy, u[e], pairs, entries)
        np.add.at(model.v, pairs[:length], 1)
        np.add.at(model.v_next, entries[:length], 1)
        triggered = (model.v >= np.maximum(limits.first, model.n)) & (model.n < limits.frozen) & (model.v > 0)
        meter.progress[3] = np.argmax(triggered) if triggered.any() else -1
        if record(meter, 1):
            return e + 1
    return gaps.size
