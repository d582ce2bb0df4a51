"""Symmetries of well-known environments, ready for ``check_symmetry``, ``CanonicalEnv`` and ``AugmentedEnv``."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from burnside.envs.ring.core import RingSpec, RingState
from burnside.envs.ring.symmetry import RollToGoal, translate
from burnside.errors import InvalidParameter
from burnside.groups import Action, Group
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.smallest import SignFlip

__all__ = ["cartpole_reflection", "frozenlake_transposition", "ring_translations"]


def cartpole_reflection() -> EnvSymmetry:
    """CartPole seen in a mirror: all four numbers change sign, and so does the push.

    >>> mirror = cartpole_reflection()
    >>> int(mirror.act_on_action(-1, 0))
    1
    """
    form = SignFlip([-1, -1, -1, -1], actions=[1, 0], order=[2, 3, 0, 1])
    return EnvSymmetry(
        generators=[-1],
        act_on_observation=form.act,
        act_on_action=form.act_on_action,
        elements=[1, -1],
        inverse=lambda g: g,
        canonicalizer=form,
        name="reflection",
    )


def frozenlake_transposition(size: int = 4) -> EnvSymmetry:
    """FrozenLake reflected in its diagonal: (row, column) → (column, row), left ↔ up, down ↔ right.

    It holds for maps that equal their transpose, and only for these; the built-in maps do not.

    >>> flip = frozenlake_transposition(4)
    >>> int(flip.act_on_observation(flip.generators[0], 1)), int(flip.act_on_action(flip.generators[0], 0))
    (4, 3)
    """
    if size < 1:
        raise InvalidParameter(f"size must be at least 1, got {size}")
    group = Group.cyclic(2)
    cells = np.arange(size * size).reshape(size, size).T.ravel()
    on_states = Action.from_generators(group, [cells])
    made = EnvSymmetry.from_actions(on_states, Action.from_generators(group, [[3, 2, 1, 0]]), labels=True)
    return made.changed(name="transposition")


def ring_translations(n: int, d: int = 1) -> EnvSymmetry:
    """The translations of the cyclic game (App. C); an element is a tuple of d shifts.

    >>> shifts = ring_translations(5)
    >>> shifts.generators, len(shifts.elements)
    ([(1,)], 5)
    """
    spec = RingSpec(n, d)

    def act_on_state(g: Any, state: RingState) -> RingState:
        """``(g·b)(c) = b(c − g)``, and agent and goal move by g."""
        to = spec.cell(spec.coordinates(np.arange(spec.n_cells)) + np.asarray(g))
        items = np.empty_like(state.items)
        items[:, to] = state.items
        return replace(state, items=items, pos=to[state.pos], goal=to[state.goal])

    def set_state(env: Any, state: RingState) -> None:
        env.unwrapped.state = state

    return EnvSymmetry(
        generators=[tuple(row) for row in np.eye(d, dtype=int).tolist()],
        act_on_observation=lambda g, x: translate(n, d, g, x),
        act_on_action=lambda g, a: a,
        get_state=lambda env: env.unwrapped.state,
        set_state=set_state,
        act_on_state=act_on_state,
        elements=list(itertools.product(range(n), repeat=d)) if n**d <= 10**6 else None,
        inverse=lambda g: tuple(-k % n for k in g),
        canonicalizer=RollToGoal(n, d),
        name=f"Z{n}" if d == 1 else f"Z{n}^{d}",
    )


def translations_of(env: Any) -> EnvSymmetry:
    """The translations of a given ring environment of any size, for ``burnside check``."""
    ring = getattr(env.unwrapped, "ring", None)
    if not isinstance(ring, RingSpec):
        raise InvalidParameter(f"{env} is not a cyclic game: these translations are those of burnside/Ring1D-v0 and 3D")
    return ring_translations(ring.n, ring.d)
