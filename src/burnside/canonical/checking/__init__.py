"""``check_symmetry``: is a claimed symmetry one of this environment? Three answers, each earned.

Read in this order: ``check`` (what is done), ``verdict`` (what it means), then where it looks: ``walks`` (random play and
policies), ``explore`` (a search for new states), ``drawn`` (states that are set), ``spaces`` (bounds, names, actions); then
how it compares: ``tables`` (environments with a table), ``single`` (deterministic ones), ``laws`` and ``twosample``
(stochastic ones), ``visited`` (those whose state cannot be set), ``resets`` (the law of reset), ``episodes`` (clocks);
``tolerance`` (what counts as equal), ``reproduction`` (does setting a state bring back what was seen?), ``access`` (states
and steps), ``bench`` and ``evidence`` (what all of them share).

It may import ``burnside.canonical`` and what lies below.
"""

from __future__ import annotations

from burnside.canonical.checking.check import PLACES, check_symmetry
from burnside.canonical.checking.evidence import EnvCounterexample
from burnside.canonical.checking.verdict import Component, EnvVerdict

__all__ = ["PLACES", "Component", "EnvCounterexample", "EnvVerdict", "check_symmetry"]
