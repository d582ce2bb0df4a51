"""Sample-complexity theory: bounds with explicit constants, covering numbers, and the audit of a symmetry claim.

What lives here: ``bounds`` (Lemma 1, Thm. 1, Cor. 1, Thm. 2 and the constants of UCFH, as pure functions), ``covering``
and ``continuous`` (Thm. 3), ``nets`` (numeric covers), ``audit`` (paper / joint / reachable factors side by side).

It may import ``burnside.groups`` and ``burnside.mdp``; the formulas themselves need the standard library only.
"""

from __future__ import annotations

from burnside._lazy import exported
from burnside.theory.audit import Audit as Audit
from burnside.theory.audit import audit as audit
from burnside.theory.bounds import Size as Size
from burnside.theory.bounds import leading as leading
from burnside.theory.bounds import lower as lower
from burnside.theory.bounds import theorem1 as theorem1
from burnside.theory.bounds import ucfh as ucfh

__all__ = exported(__name__)
