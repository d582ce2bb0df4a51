"""Planning: backward induction, policy evaluation, occupancy, and the discounted problem of App. A.

A deterministic policy is an integer array ``(H, n_states)`` holding the *pair* chosen in each state at each time, −1 in
terminal states; a stochastic one is a float array ``(H, n_pairs)`` of probabilities that sum to one over the pairs of
each state that has any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.errors import InvalidParameter, ModelTooLarge
from burnside.mdp._checks import needs_table
from burnside.mdp.tabular import TabularMDP

__all__ = ["Solution", "evaluate", "policy_return", "solve", "solve_discounted"]

#: Entries of the largest table of values, times by states; 2 GB.
MOST_VALUES = 2**28


@dataclass(frozen=True)
class Solution:
    """An optimal solution.

    Attributes:
        V: optimal values, shape ``(H+1, n_states)``; the last row is zero.
        policy: an optimal pair per time and state, shape ``(H, n_states)``; ties go to the first action, and terminal
            states have −1.
        value: optimal return ``R*`` from ``p0``.
        Q: optimal action values ``(H, n_pairs)``, if they were asked for.
    """

    V: FloatArray
    policy: IntArray
    value: float
    Q: FloatArray | None = None


def solve(mdp: TabularMDP, *, keep_q: bool = False) -> Solution:
    """Backward induction over the horizon; ``O(H·nnz(P))``.

    >>> from burnside.mdp import zoo
    >>> solution = solve(zoo.ring(n=5))
    >>> solution.V.shape, round(solution.value, 6)
    ((21, 400), 10.0)
    """
    needs_table(mdp, "solve")
    _check_size(mdp)
    V = np.zeros((mdp.H + 1, mdp.n_states))
    policy = np.empty((mdp.H, mdp.n_states), dtype=np.int64)
    Q = np.empty((mdp.H, mdp.n_pairs)) if keep_q else None
    for t in reversed(range(mdp.H)):
        q = mdp.reward(t) + mdp.P @ V[t + 1]
        V[t] = mdp.max_over_actions(q)
        policy[t] = first_best(mdp, q, V[t])
        if Q is not None:
            Q[t] = q
    return Solution(V, policy, float(mdp.p0 @ V[0]), Q)


def _check_size(mdp: TabularMDP) -> None:
    """Say before it begins that a table of values over all times will not do."""
    entries = (mdp.H + 1) * mdp.n_states
    if entries > MOST_VALUES:
        raise ModelTooLarge(
            f"the values of {mdp.n_states} states at {mdp.H} times are {entries:.3g} numbers, more than the "
            f"{MOST_VALUES} that planning makes: give a shorter horizon or a smaller model"
        )


def first_best(mdp: TabularMDP, q: FloatArray, v: FloatArray) -> IntArray:
    """The first pair of every state that attains its maximum, −1 in terminal states."""
    candidates = np.where(q >= v[mdp.pair_state], np.arange(mdp.n_pairs), mdp.n_pairs)
    return mdp.over_actions(np.minimum, candidates, -1)


def evaluate(mdp: TabularMDP, policy: AnyArray) -> FloatArray:
    """Exact values ``(H+1, n_states)`` of a deterministic or stochastic policy.

    >>> from burnside.mdp import zoo
    >>> ring = zoo.ring(n=5)
    >>> bool(np.allclose(evaluate(ring, solve(ring).policy), solve(ring).V))
    True
    """
    needs_table(mdp, "evaluate")
    _check_size(mdp)
    policy = np.asarray(policy)
    deterministic = policy.dtype.kind in "iu"
    expected = (mdp.H, mdp.n_states if deterministic else mdp.n_pairs)
    if policy.shape != expected:
        kind = "deterministic (H, states)" if deterministic else "stochastic (H, pairs)"
        raise InvalidParameter(f"a {kind} policy of {mdp.name} has shape {expected}, got {policy.shape}")
    acting = np.flatnonzero(~mdp.terminal)
    if deterministic:
        chosen = policy[:, acting]
        if chosen.min() < 0 or chosen.max() >= mdp.n_pairs or (mdp.pair_state[chosen] != acting).any():
            raise InvalidParameter("the policy chooses a pair of another state: entry [t, s] must be a pair of state s")
    elif not np.abs(mdp.over_actions(np.add, policy, 1.0) - 1).max() <= 1e-8 or policy.min() < 0:
        raise InvalidParameter(
            "the policy's probabilities must be non-negative and sum to 1 over the pairs of each state"
        )
    V = np.zeros((mdp.H + 1, mdp.n_states))
    for t in reversed(range(mdp.H)):
        q = mdp.reward(t) + mdp.P @ V[t + 1]
        if deterministic:
            V[t, acting] = q[policy[t, acting]]
        else:
            V[t] = mdp.over_actions(np.add, policy[t] * q, 0.0)
    return V


def policy_return(mdp: TabularMDP, policy: AnyArray) -> float:
    """``R^π``: the expected total reward of an episode."""
    needs_table(mdp, "policy_return")
    return float(mdp.p0 @ evaluate(mdp, policy)[0])


def solve_discounted(mdp: TabularMDP, gamma: float, *, tol: float = 1e-12) -> tuple[FloatArray, FloatArray]:
    """Optimal ``(V, Q)`` of the infinite-horizon discounted problem (App. A), by policy iteration.

    >>> from burnside.mdp import zoo
    >>> V, Q = solve_discounted(zoo.ring(n=5), 0.9)
    >>> V.shape, Q.shape, float(V.max())
    ((400,), (1600,), 10.0)
    """
    needs_table(mdp, "solve_discounted")
    if not 0 <= gamma < 1:
        raise InvalidParameter(f"the discount must lie in [0, 1), got {gamma}")
    if mdp.time_dependent:
        raise InvalidParameter("the discounted problem needs rewards that do not depend on time")
    import scipy.sparse as sp
    from scipy.sparse.linalg import spsolve

    acting = np.flatnonzero(~mdp.terminal)
    policy = first_best(mdp, mdp.R, mdp.max_over_actions(mdp.R))
    while True:
        shape = (mdp.n_states, mdp.n_pairs)
        choose = sp.csr_matrix((np.ones(acting.size), (acting, policy[acting])), shape=shape)
        system = sp.identity(mdp.n_states, format="csc") - gamma * sp.csc_matrix(choose @ mdp.P)
        V = np.atleast_1d(spsolve(system, np.asarray(choose @ mdp.R)))
        Q = mdp.R + gamma * (mdp.P @ V)
        best = mdp.max_over_actions(Q)
        improves = best > V + tol * max(1.0, float(np.abs(V).max()))
        if not improves.any():
            return best, Q
        policy = np.where(improves, first_best(mdp, Q, best), policy)
