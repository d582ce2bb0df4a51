"""Burnside: how much less experience does a problem need because of its symmetry, and how do I get that saving?

    declare or discover a symmetry → verify it → quotient → bound → learn → lift → measure → report

>>> import burnside as bs
>>> ring = bs.zoo.ring(n=5)
>>> bs.quotient(ring, ring.symmetry("Z")).mdp.n_pairs
320

Names are loaded when they are first used, so that ``import burnside`` stays fast and needs no optional dependency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

__version__ = "0.2.0"

if TYPE_CHECKING:
    from burnside import agents as agents
    from burnside import canonical as canonical
    from burnside import envs as envs
    from burnside import errors as errors
    from burnside import experiments as experiments
    from burnside import groups as groups
    from burnside import learning as learning
    from burnside import mdp as mdp
    from burnside import nn as nn
    from burnside import report as report
    from burnside import runs as runs
    from burnside import search as search
    from burnside import stats as stats
    from burnside import symmetry as symmetry
    from burnside import theory as theory
    from burnside.canonical import CanonicalEnv as CanonicalEnv
    from burnside.canonical import Canonicalizer as Canonicalizer
    from burnside.canonical import CanonicalVectorEnv as CanonicalVectorEnv
    from burnside.canonical import check_symmetry as check_symmetry
    from burnside.errors import BurnsideError as BurnsideError
    from burnside.groups import Action as Action
    from burnside.groups import Group as Group
    from burnside.learning import compare as compare
    from burnside.learning import learn as learn
    from burnside.mdp import GraphMDP as GraphMDP
    from burnside.mdp import Homomorphism as Homomorphism
    from burnside.mdp import ImplicitMDP as ImplicitMDP
    from burnside.mdp import ImplicitSymmetry as ImplicitSymmetry
    from burnside.mdp import Quotient as Quotient
    from burnside.mdp import Symmetry as Symmetry
    from burnside.mdp import TabularMDP as TabularMDP
    from burnside.mdp import Verdict as Verdict
    from burnside.mdp import VertexSymmetry as VertexSymmetry
    from burnside.mdp import approximate as approximate
    from burnside.mdp import average as average
    from burnside.mdp import check_invariance as check_invariance
    from burnside.mdp import discover as discover
    from burnside.mdp import evaluate as evaluate
    from burnside.mdp import minimise as minimise
    from burnside.mdp import policy_return as policy_return
    from burnside.mdp import quotient as quotient
    from burnside.mdp import solve as solve
    from burnside.mdp import verify as verify
    from burnside.mdp import zoo as zoo
    from burnside.theory import Audit as Audit
    from burnside.theory import audit as audit
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
