"""Learners whose mistakes are counted exactly, on an MDP and on its quotient (Def. 2, App. B).

What lives here: the learners (:class:`UBEV`, :class:`UCFH`, :class:`UCBVI`) with what is proved of each, the
:class:`World` they act in (M, M̄, or M through the homomorphism), the mistake meter (:func:`learn` → :class:`Run`),
literal UCFH in bulk (:func:`ucfh_literal`), and the measurement M against M̄ (:func:`compare`). ``plain`` has the
algorithms in numpy, to be read first; ``kernels`` and ``ucfh_kernels`` are the same, compiled.

It may import ``burnside.groups``, ``burnside.mdp`` and ``burnside.theory``; numba is loaded when a learner first runs.
"""

from __future__ import annotations

from burnside._lazy import exported
from burnside.learning.compare import Comparison as Comparison
from burnside.learning.compare import compare as compare
from burnside.learning.learn import learn as learn
from burnside.learning.learners import UBEV as UBEV
from burnside.learning.learners import UCBVI as UCBVI
from burnside.learning.learners import UCFH as UCFH
from burnside.learning.run import Run as Run

__all__ = exported(__name__)
