"""Finite MDPs and their symmetries: model, verify, discover, quotient, lift.

What lives here: :class:`TabularMDP` and :class:`GraphMDP` (Defs. 1, 3–6), :class:`Symmetry` and :func:`verify`
(Def. 7), :func:`discover`, :func:`quotient` (Prop. 1), :func:`minimise`, :class:`Homomorphism` (Def. 9), backward
induction, invariance of optimal values (App. A), approximate symmetry, and the ``zoo`` of named models.

It may import ``burnside.groups`` and what that may import; numba and igraph are loaded only when they are needed.
"""

from __future__ import annotations

from burnside.mdp import zoo
from burnside.mdp.approximate import Approximation, approximate, average
from burnside.mdp.discover import discover
from burnside.mdp.graph import GraphMDP
from burnside.mdp.homomorphism import Homomorphism, HomomorphismCheck
from burnside.mdp.implicit import ImplicitMDP, ImplicitSymmetry
from burnside.mdp.invariance import Invariance, check_invariance
from burnside.mdp.planning import Solution, evaluate, policy_return, solve, solve_discounted
from burnside.mdp.quotient import Quotient, Reduction, quotient
from burnside.mdp.reach import reachable
from burnside.mdp.refine import minimise
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.verify import Counterexample, Verdict, verify
from burnside.mdp.vertices import OrbitStructure, VertexSymmetry

__all__ = [
    "Approximation",
    "Counterexample",
    "GraphMDP",
    "Homomorphism",
    "HomomorphismCheck",
    "ImplicitMDP",
    "ImplicitSymmetry",
    "Invariance",
    "OrbitStructure",
    "Quotient",
    "Reduction",
    "Solution",
    "Symmetry",
    "TabularMDP",
    "Verdict",
    "VertexSymmetry",
    "approximate",
    "average",
    "check_invariance",
    "discover",
    "evaluate",
    "minimise",
    "policy_return",
    "quotient",
    "reachable",
    "solve",
    "solve_discounted",
    "verify",
    "zoo",
]
