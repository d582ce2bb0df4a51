"""Learners whose mistakes are counted exactly, on an MDP and on its quotient (Def. 2, App. B).

What lives here: the learners (:class:`UBEV`, :class:`UCFH`, :class:`UCBVI`) with what is proved of each, the
:class:`World` they act in (M, M̄, or M through the homomorphism), the mistake meter (:func:`learn` → :class:`Run`),
literal UCFH in bulk (:func:`ucfh_literal`), and the measurement M against M̄ (:func:`compare`).

It may import ``burnside.groups``, ``burnside.mdp`` and ``burnside.theory``; numba is loaded when a learner first runs.
"""

from __future__ import annotations

from burnside.learning.compare import Archive, Comparison, compare
from burnside.learning.learn import learn
from burnside.learning.learners import LEARNERS, UBEV, UCBVI, UCFH, Learner, make_learner, practical
from burnside.learning.run import Run, eps_absolute
from burnside.learning.ucfh import (
    UCFHConstants,
    confidence_interval,
    fixed_horizon_evi,
    optimistic_value,
    ucfh_constants,
    ucfh_literal,
)
from burnside.learning.world import World

__all__ = [
    "LEARNERS",
    "UBEV",
    "UCBVI",
    "UCFH",
    "Archive",
    "Comparison",
    "Learner",
    "Run",
    "UCFHConstants",
    "World",
    "compare",
    "confidence_interval",
    "eps_absolute",
    "fixed_horizon_evi",
    "learn",
    "make_learner",
    "optimistic_value",
    "practical",
    "ucfh_constants",
    "ucfh_literal",
]
