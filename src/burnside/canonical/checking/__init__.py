"""``check_symmetry``: is a claimed symmetry one of this environment? Three answers, each earned.

Read in this order: ``check`` (what is done), ``verdict`` and ``report`` (what it means).

Where it looks: ``sources`` (the places of each kind), ``walks`` (random play and policies), ``explore`` (a search for
new states), ``drawn`` (states that are set), ``spaces`` (bounds, names, actions).

How it compares: ``tables`` (environments with a table), ``single`` (deterministic ones), ``laws`` and ``twosample``
(stochastic ones), ``visited`` (those whose state cannot be set), ``resets`` (the law of reset), ``episodes`` (clocks),
``canonicity`` (forms, undo, group laws).

What all of them share: ``tolerance`` (what counts as equal), ``reproduction`` (does setting a state bring back what was
seen?), ``access`` (states and steps), ``rates``, ``bench`` and ``evidence``.

It may import ``burnside.canonical`` and what lies below.
"""

from __future__ import annotations

from burnside.canonical.checking.check import PLACES, check_symmetry
from burnside.canonical.checking.evidence import EnvCounterexample
from burnside.canonical.checking.verdict import Component, EnvVerdict

__all__ = ["PLACES", "Component", "EnvCounterexample", "EnvVerdict", "check_symmetry"]
