"""A group acting on what an environment shows and on what it is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from burnside._random import Stream, randint
from burnside.canonical.base import Canonicalizer
from burnside.canonical.forms import LexMin, SmallestLabel
from burnside.errors import InvalidParameter
from burnside.groups import Action

__all__ = ["EnvSymmetry", "as_symmetry"]


@dataclass(frozen=True)
class EnvSymmetry:
    """A claimed symmetry of an environment, as functions; :func:`check_symmetry` tests it.

    Only the first three are needed. An object of your own with attributes of these names serves as well.

    Attributes:
        generators: elements that generate the group, in any form the functions understand.
        act_on_observation: ``(g, x) → g·x``.
        act_on_action: ``(g, a) → g·a``.
        get_state: ``env → s``, a copy of all that decides what happens next.
        set_state: ``(env, s)``, put it back.
        act_on_state: ``(g, s) → g·s``; default ``act_on_observation`` where the observation is the state.
        elements: all elements, for augmentation; the identity among them must leave observations and actions alone.
        inverse: ``g → g⁻¹``, for augmentation.
        canonicalizer: a canonical form to be checked along with the symmetry.
        name: shown in reports.

    >>> walk = EnvSymmetry([-1], lambda g, x: g * x, lambda g, a: a if g == 1 else 1 - a, name="mirror")
    >>> walk.act_on_observation(-1, 3)
    -3
    """

    generators: Sequence[Any]
    act_on_observation: Callable[[Any, Any], Any]
    act_on_action: Callable[[Any, Any], Any]
    get_state: Callable[[Any], Any] | None = None
    set_state: Callable[[Any, Any], None] | None = None
    act_on_state: Callable[[Any, Any], Any] | None = None
    elements: Sequence[Any] | None = None
    inverse: Callable[[Any], Any] | None = None
    canonicalizer: Canonicalizer | None = None
    name: str = "G"

    def __post_init__(self) -> None:
        if not len(self.generators):
            raise InvalidParameter(f"the symmetry {self.name} has no generators: give at least one")

    @classmethod
    def from_actions(cls, on_observation: Action, on_actions: Action, *, labels: bool = False) -> EnvSymmetry:
        """From actions of one finite group on the observation and on the numbers of the actions.

        Args:
            on_observation: on the entries of a vector; with ``labels``, on the numbers that are the observations.
            on_actions: on the numbers of the actions.
            labels: whether observations are numbers (``Discrete``) instead of vectors.

        >>> import numpy as np
        >>> from burnside.groups import Group
        >>> G = Group.cyclic(3)
        >>> turn = EnvSymmetry.from_actions(Action.natural(G), Action.trivial(G, 2))
        >>> turn.act_on_observation(1, np.array([5, 6, 7]))           # (g·x)(g·i) = x(i)
        array([7, 5, 6])
        """
        form = (SmallestLabel if labels else LexMin)(on_observation, on_actions)
        group, table = on_observation.group, on_actions.table
        return cls(
            generators=[group.index(gen) for gen in group.generators],
            act_on_observation=form.act,
            act_on_action=lambda g, a: table[g, a],
            elements=range(group.order),
            inverse=lambda g: int(group.inv[g]),
            canonicalizer=form,
            name=group.name,
        )

    def random_element(self, seed: int, counter: int) -> Any:
        """A uniformly random element, a function of (seed, counter)."""
        if self.elements is None:
            raise InvalidParameter(f"the symmetry {self.name} does not list its elements: give elements=…")
        return self.elements[int(randint(seed, Stream.AUGMENT, counter, len(self.elements)))]


def as_symmetry(found: Any) -> EnvSymmetry:
    """An :class:`EnvSymmetry` from any object with attributes of those names."""
    if isinstance(found, EnvSymmetry):
        return found
    needed = ("generators", "act_on_observation", "act_on_action")
    missing = [name for name in needed if not hasattr(found, name)]
    if missing:
        raise InvalidParameter(
            f"a {type(found).__name__} is no symmetry of an environment: it lacks {', '.join(missing)} "
            "(see burnside.canonical.EnvSymmetry)"
        )
    optional = ("get_state", "set_state", "act_on_state", "elements", "inverse", "canonicalizer", "name")
    given = {name: getattr(found, name) for name in (*needed, *optional) if getattr(found, name, None) is not None}
    return EnvSymmetry(**({"name": type(found).__name__} | given))
