"""Finite MDPs and their symmetries: model, verify, discover, quotient, lift.

What lives here: :class:`TabularMDP` and :class:`GraphMDP` (Defs. 1, 3–6), :class:`Symmetry` and :func:`verify`
(Def. 7), :func:`discover`, :func:`quotient` (Prop. 1), :func:`minimise`, :class:`Homomorphism` (Def. 9), backward
induction, invariance of optimal values (App. A), approximate symmetry, and the ``zoo`` of named models.

It may import ``burnside.groups`` and what that may import; numba and igraph are loaded only when they are needed.
"""

from __future__ import annotations

from burnside._lazy import exported
from burnside.mdp import zoo as zoo
from burnside.mdp.approximate import approximate as approximate
from burnside.mdp.approximate import average as average
from burnside.mdp.discover import discover as discover
from burnside.mdp.graph import GraphMDP as GraphMDP
from burnside.mdp.homomorphism import Homomorphism as Homomorphism
from burnside.mdp.implicit import ImplicitMDP as ImplicitMDP
from burnside.mdp.implicit import ImplicitSymmetry as ImplicitSymmetry
from burnside.mdp.invariance import check_invariance as check_invariance
from burnside.mdp.planning import evaluate as evaluate
from burnside.mdp.planning import policy_return as policy_return
from burnside.mdp.planning import solve as solve
from burnside.mdp.quotient import Quotient as Quotient
from burnside.mdp.quotient import quotient as quotient
from burnside.mdp.refine import minimise as minimise
from burnside.mdp.symmetry import Symmetry as Symmetry
from burnside.mdp.tabular import TabularMDP as TabularMDP
from burnside.mdp.verify import Verdict as Verdict
from burnside.mdp.verify import verify as verify
from burnside.mdp.vertices import VertexSymmetry as VertexSymmetry

__all__ = exported(__name__)
