"""App. A as a check: V* and Q* are invariant, and the *sets* of optimal actions are equivariant.

A single optimal policy need not be: where a symmetry fixes a state and swaps its optimal actions, no deterministic
policy satisfies ``π(g·s) = g·π(s)``. The sets do, and so does a policy that spreads evenly over each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from burnside._types import BoolArray
from burnside.mdp.planning import solve, solve_discounted
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP

__all__ = ["Invariance", "check_invariance"]


@dataclass(frozen=True)
class Invariance:
    """What :func:`check_invariance` found.

    Attributes:
        value_gap: largest ``|V*(g·s) − V*(s)|`` over generators, states and times.
        q_gap: largest ``|Q*(g·s, g·a) − Q*(s, a)|``.
        argmax_equivariant: ``argmax Q*(g·s, ·) = g·argmax Q*(s, ·)`` everywhere.
        deterministic_equivariant: some deterministic optimal policy is equivariant.
        obstruction: if not, a state whose optimal actions its stabilizer moves.
    """

    value_gap: float
    q_gap: float
    argmax_equivariant: bool
    deterministic_equivariant: bool
    obstruction: str | None
    tolerance: float

    @property
    def ok(self) -> bool:
        """V*, Q* and the argmax sets all transform as they should."""
        return max(self.value_gap, self.q_gap) <= self.tolerance and self.argmax_equivariant

    def __bool__(self) -> bool:
        return self.ok


def check_invariance(
    mdp: TabularMDP, symmetry: Symmetry, *, gamma: float | None = None, tol: float = 1e-9
) -> Invariance:
    """Solve the MDP and check App. A: over the finite horizon, or discounted if ``gamma`` is given.

    >>> from burnside.mdp import zoo
    >>> river = zoo.river()
    >>> found = check_invariance(river, river.symmetry())
    >>> found.ok, found.deterministic_equivariant, found.obstruction
    (True, False, '0')
    """
    symmetry.describes(mdp)
    if gamma is None:
        solution = solve(mdp, keep_q=True)
        values, action_values = solution.V[:-1], solution.Q
        assert action_values is not None
    else:
        v, q = solve_discounted(mdp, gamma)
        values, action_values = v[None], q[None]
    value_gap = max(float(np.abs(values[:, g] - values).max()) for g in symmetry.on_states)
    q_gap = max(float(np.abs(action_values[:, g] - action_values).max()) for g in symmetry.on_pairs)
    best = action_values >= values[:, mdp.pair_state] - tol
    argmax = all(bool((best[:, g] == best).all()) for g in symmetry.on_pairs)
    obstruction = _obstruction(mdp, symmetry, best)
    return Invariance(value_gap, q_gap, argmax, obstruction is None, obstruction, tol)


def _obstruction(mdp: TabularMDP, symmetry: Symmetry, best: BoolArray) -> str | None:
    """A state none of whose optimal actions its stabilizer fixes (then its orbit is as small as the state's)."""
    state_size = np.bincount(symmetry.state_orbits)[symmetry.state_orbits]
    pair_size = np.bincount(symmetry.pair_orbits)[symmetry.pair_orbits]
    steady = best & (pair_size == state_size[mdp.pair_state])
    possible = mdp.over_actions(np.logical_or, steady, True).all(axis=0)
    return None if possible.all() else mdp.state_name(int(np.argmin(possible)))
