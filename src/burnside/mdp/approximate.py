"""Approximate symmetry: what is lost by learning on the quotient of an MDP that is only nearly symmetric.

If rewards and aggregated transitions of every pair are within ``ε_r`` and (in total variation) ``ε_p`` of its class in
M̄, then values of a policy and of its lift, and the two optima, differ by at most ``H·ε_r + ½H(H−1)·ε_p`` each, for
rewards in [0, 1]: a step's error is ``ε_r`` plus ``ε_p`` times the range of the value still to come. Used twice, the
lifted optimum loses at most ``2Hε_r + H(H−1)ε_p``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from burnside.mdp.planning import evaluate, solve
from burnside.mdp.quotient import Quotient, quotient
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.verify import Verdict, verify

__all__ = ["Approximation", "approximate", "average", "regret_bound"]


@dataclass(frozen=True)
class Approximation:
    """What :func:`approximate` found.

    Attributes:
        quotient: the quotient of the group-averaged MDP.
        verdict: the violations over generators, with a counter-example.
        eps_r, eps_p: distance of the MDP from that quotient (reward; total variation of aggregated rows).
        bound: ``2Hε_r + H(H−1)ε_p·range``, the guaranteed limit of the regret from any state.
        regret: the measured regret from p₀ of the lifted optimum of the quotient.
        worst_regret: the same from the worst state.
    """

    quotient: Quotient
    verdict: Verdict
    eps_r: float
    eps_p: float
    bound: float
    regret: float
    worst_regret: float


def approximate(mdp: TabularMDP, symmetry: Symmetry) -> Approximation:
    """Quotient an MDP by a symmetry it only nearly has, and measure what that costs beside what it may cost.

    >>> import numpy as np
    >>> from burnside.mdp import zoo
    >>> grid = zoo.grid(5)
    >>> noisy = grid.replace(R=grid.R + 0.01 * np.random.default_rng(0).random(grid.n_pairs))
    >>> found = approximate(noisy, grid.symmetry())
    >>> 0 <= found.regret <= found.worst_regret <= found.bound
    True
    """
    verdict = verify(mdp, symmetry)
    q = quotient(mdp, symmetry, trust=True)
    eps_r, _ = q.hom.reward_gap(mdp, q.mdp)
    eps_p, _ = q.hom.transition_gap(mdp, q.mdp)
    lifted = evaluate(mdp, q.lift(solve(q.mdp).policy))
    best = solve(mdp)
    loss = best.V[0] - lifted[0]
    return Approximation(
        quotient=q,
        verdict=verdict,
        eps_r=eps_r,
        eps_p=eps_p,
        bound=regret_bound(mdp.H, eps_r, eps_p, mdp.reward_range),
        regret=float(mdp.p0 @ loss),
        worst_regret=float(loss.max()),
    )


def regret_bound(H: int, eps_r: float, eps_p: float, reward_range: float = 1.0) -> float:
    """``2Hε_r + H(H−1)ε_p`` for rewards in [0, 1]; the second term scales with the range of the rewards.

    >>> regret_bound(10, 0.25, 0.5)
    50.0
    """
    return 2 * H * eps_r + H * (H - 1) * eps_p * reward_range


def average(mdp: TabularMDP, symmetry: Symmetry) -> TabularMDP:
    """The group-averaged MDP on the same states: ``r_G = mean_g r(g·s, g·a)`` and likewise the kernel.

    Exactly symmetric, and the nearest such model in the sense of averages. Needs every element of the group; the
    quotient of this MDP does not (``quotient(mdp, symmetry, trust=True)``).

    >>> from burnside.mdp import zoo
    >>> grid = zoo.grid(3)
    >>> tilted = grid.replace(R=grid.R + 0.01 * (np.arange(grid.n_pairs) == 0))
    >>> verify(average(tilted, grid.symmetry()), grid.symmetry()).ok
    True
    """
    symmetry.describes(mdp)
    total = sp.csr_matrix(mdp.P.shape)
    rewards = np.zeros_like(mdp.R)
    count = 0
    for g_states, g_pairs in symmetry.elements():
        # p(g·c | g·s, g·a) at (s, a, c): row g·(s, a), column g·c moved back to c
        back = np.argsort(g_states)
        moved = mdp.P[g_pairs]
        total = total + sp.csr_matrix((moved.data, back[moved.indices], moved.indptr), shape=moved.shape)
        rewards += mdp.R[..., g_pairs]
        count += 1
    return mdp.replace(P=total / count, R=rewards / count, name=f"{mdp.name} averaged over {symmetry.name}")
