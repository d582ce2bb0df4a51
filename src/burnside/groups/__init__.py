"""Finite groups, their actions on finite sets, orbits and Burnside counts; and rigid motions.

What lives here:

- ``permutations`` — pure functions on permutation arrays (the left-action convention is stated there);
- ``orbits`` — orbits, representatives and Schreier trees of any list of permutations, linear in the points;
- ``group`` — :class:`Group`, a finite group given by generators; the familiar ones by name;
- ``points`` — what generators alone decide about an action: orbits, words, transporters;
- ``enumeration`` — the list of all elements, with words;
- ``action`` — :class:`Action`, a left action of a group on ``{0, …, n-1}``; ``constructions`` combines actions;
- ``chain`` — stabilizer chains, which answer questions about groups too large to enumerate;
- ``kernels`` — the compiled loops;
- ``rigid`` — SO(2), SE(2), SO(3), SE(3): continuous motions and frames, a package of its own.

It may import numpy, scipy, (inside functions) numba and sympy, ``burnside.errors`` and ``burnside._types``;
nothing else of the package. Whatever generators can decide is decided from generators: orbits, transporters,
stabilizers, freeness and order never enumerate a group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.groups.action import Action as Action
    from burnside.groups.group import Group as Group
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
