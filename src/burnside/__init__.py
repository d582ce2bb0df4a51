"""Burnside: how much less experience does a problem need because of its symmetry, and how do I get that saving?

    declare or discover a symmetry → verify it → quotient → bound → learn → lift → measure → report

>>> import burnside as bs
>>> ring = bs.zoo.ring(n=5)
>>> bs.quotient(ring, ring.symmetry("Z")).mdp.n_pairs
320

Names are loaded when they are first used, so that ``import burnside`` stays fast and needs no optional dependency.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burnside import mdp, theory
    from burnside.canonical import CanonicalEnv, Canonicalizer, CanonicalVectorEnv, check_symmetry
    from burnside.errors import BurnsideError
    from burnside.groups import Action, Group
    from burnside.learning import compare, learn
    from burnside.mdp import (
        GraphMDP,
        Homomorphism,
        ImplicitMDP,
        ImplicitSymmetry,
        Quotient,
        Symmetry,
        TabularMDP,
        Verdict,
        VertexSymmetry,
        approximate,
        average,
        check_invariance,
        discover,
        evaluate,
        minimise,
        policy_return,
        quotient,
        reachable,
        solve,
        solve_discounted,
        verify,
        zoo,
    )
    from burnside.theory import Audit, audit

__version__ = "0.1.0"

_HOMES = {
    "burnside.errors": ["BurnsideError"],
    "burnside.groups": ["Action", "Group"],
    "burnside.mdp": [
        "GraphMDP",
        "Homomorphism",
        "ImplicitMDP",
        "ImplicitSymmetry",
        "Quotient",
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
    ],
    "burnside.theory": ["Audit", "audit"],
    "burnside.learning": ["compare", "learn"],
    "burnside.canonical": ["CanonicalEnv", "CanonicalVectorEnv", "Canonicalizer", "check_symmetry"],
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names}
_PACKAGES = (
    "groups",
    "mdp",
    "theory",
    "learning",
    "symmetry",
    "envs",
    "canonical",
    "runs",
    "stats",
    "experiments",
    "report",
    "cli",
    "errors",
)

__all__ = [
    "Action",
    "Audit",
    "BurnsideError",
    "CanonicalEnv",
    "CanonicalVectorEnv",
    "Canonicalizer",
    "GraphMDP",
    "Group",
    "Homomorphism",
    "ImplicitMDP",
    "ImplicitSymmetry",
    "Quotient",
    "Symmetry",
    "TabularMDP",
    "Verdict",
    "VertexSymmetry",
    "approximate",
    "audit",
    "average",
    "check_invariance",
    "check_symmetry",
    "compare",
    "discover",
    "evaluate",
    "learn",
    "mdp",
    "minimise",
    "policy_return",
    "quotient",
    "reachable",
    "solve",
    "solve_discounted",
    "theory",
    "verify",
    "zoo",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    if name in _PACKAGES:
        return importlib.import_module(f"burnside.{name}")
    raise AttributeError(f"module 'burnside' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
