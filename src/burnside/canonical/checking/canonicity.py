"""Whether a canonical form is one: idempotent, constant on orbits, and fitting the action on actions.

And whether the elements and the inverse that a symmetry gives are what they are called.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.canonical.base import Canonicalizer, numbers, precision
from burnside.canonical.checking.access import plain_action, show
from burnside.canonical.checking.tolerance import Ruler, nudged, typical
from burnside.mdp.verify import Counterexample
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["acts_as_group", "check_form", "check_group"]

_ACTIONS = 1e-5  # the least tolerance for actions, which are carried to and fro

_GROUP_LIMIT = 1000  # elements that are tried
_LOOK_LIMIT = 5000  # images looked at to find stabilizers, in all
_ORBIT_LIMIT = 100  # images of one pair that are listed, if the elements are not
_PLACES = 20  # observations and actions on which elements and inverses are tried


def check_form(
    form: Canonicalizer,
    symmetry: EnvSymmetry,
    observations: Sequence[Any],
    action_space: Any,
    rng: np.random.Generator,
    ruler: Ruler,
) -> tuple[int, Counterexample | None]:
    """Check a form on observations and on their images under the generators; how many were checked, and a failure.

    With c(x) = (x̄, g) it must hold that ``g·x = x̄``, ``c(x̄) = x̄`` and ``c(h·x) = x̄`` for generators h. An action chosen
    at x̄ must mean corresponding actions at x and at h·x, where the form has g': ``undo(ā, g') = h·k·undo(ā, g)`` for an
    element k that fixes x (the identity, if x has no symmetry of its own). Where the group is too large to tell which k
    there are, an observation with another ``undo`` is not counted as checked.
    """
    action_space.seed(int(rng.integers(2**31)))
    whole, looks = 0, _Looks(symmetry, action_space, ruler)
    close = _Closeness(ruler, rng)

    def first(y: Any) -> Any:
        return form(y)[0]

    for x in observations:
        x_bar, g = form(x)
        if not close(x_bar, x, partial(form.act, g)):
            return whole, _example(-1, x, x_bar, f"the form of {show(x)} is {show(x_bar)}, which is not g·x for its g")
        again, _ = form(x_bar)
        if not close(x_bar, x_bar, first):
            text = f"the form of {show(x)} is {show(x_bar)}, whose own form is {show(again)}: it must be itself"
            return whole, _example(-1, x, x_bar, text)
        action, sure = action_space.sample(), True
        for j, h in enumerate(symmetry.generators):
            moved = symmetry.act_on_observation(h, x)
            moved_bar, moved_g = form(moved)
            if not close(x_bar, x, partial(symmetry.act_on_observation, h), first):
                text = (
                    f"generator {j} maps {show(x)} to {show(moved)}, but their forms {show(x_bar)} and "
                    f"{show(moved_bar)} differ"
                )
                return whole, _example(j, x, moved, text)
            one, other = form.undo(action, g), form.undo(action, moved_g)
            fits = looks.fits(h, x, one, moved, other)
            if fits is False:
                meant = symmetry.act_on_action(h, one)
                text = (
                    f"generator {j} maps {show(x)} to {show(moved)}, of one form; the action {show(action)} chosen "
                    f"there means {show(one)} at the first, whose image is {show(meant)}, but "
                    f"{show(other)} at the second"
                )
                return whole, _example(j, x, moved, text, show(action), show(other))
            sure = sure and fits is True
        whole += sure
    return whole, None


class _Looks:
    """Whether two pairs (observation, action) are images of each other, as far as that many trials can tell."""

    def __init__(self, symmetry: EnvSymmetry, action_space: Any, ruler: Ruler) -> None:
        self.symmetry, self.space, self.ruler = symmetry, action_space, ruler
        self.action_ruler = _action_ruler(action_space, ruler.tol)
        self.left = _LOOK_LIMIT

    def fits(self, h: Any, x: Any, action: Any, moved: Any, other: Any) -> bool | None:
        """Whether (h·x, other) is an image of (x, action); None if that cannot be told."""
        if self._alike(self.symmetry.act_on_action(h, action), other):
            return True
        elements = self.symmetry.elements
        if elements is not None and len(elements) <= _GROUP_LIMIT:
            if self.left < len(elements):
                return None
            self.left -= len(elements)
            fixing = (e for e in elements if _same(self.symmetry.act_on_observation(e, x), x, self.ruler))
            images = (self.symmetry.act_on_action(h, self.symmetry.act_on_action(k, action)) for k in fixing)
            return any(self._alike(image, other) for image in images)
        return self._in_orbit(x, action, moved, other)

    def _in_orbit(self, x: Any, action: Any, moved: Any, other: Any) -> bool | None:
        """By listing the images of the pair under products of generators, if they are few."""
        orbit = [(x, action)]
        for y, b in orbit:  # which grows meanwhile
            for h in self.symmetry.generators:
                if self.left <= 0 or len(orbit) > _ORBIT_LIMIT:
                    return None
                self.left -= 1
                image = self.symmetry.act_on_observation(h, y), self.symmetry.act_on_action(h, b)
                if _same(image[0], moved, self.ruler) and self._alike(image[1], other):
                    return True
                if not any(_same(image[0], z, self.ruler) and self._alike(image[1], c) for z, c in orbit):
                    orbit.append(image)
        return False

    def _alike(self, a: Any, b: Any) -> bool:
        return _same(plain_action(self.space, a), plain_action(self.space, b), self.action_ruler)


def check_group(
    symmetry: EnvSymmetry, observations: Sequence[Any], action_space: Any, rng: np.random.Generator, ruler: Ruler
) -> Counterexample | None:
    """Whether one of the elements leaves all alone, and the inverse undoes what an element does."""
    action_space.seed(int(rng.integers(2**31)))
    x = observations[:: max(1, len(observations) // _PLACES)][:_PLACES]
    actions = [action_space.sample() for _ in range(_PLACES)]
    fault = acts_as_group(symmetry, x, actions, action_space, ruler)
    return None if fault is None else Counterexample("group", -1, "", "", "", "", 1.0, fault)


def acts_as_group(
    symmetry: EnvSymmetry, observations: Sequence[Any], actions: Sequence[Any], action_space: Any, ruler: Ruler
) -> str | None:
    """What is wrong with ``elements`` and ``inverse``, on these observations and actions; None if nothing is.

    >>> import gymnasium as gym
    >>> wrong = EnvSymmetry([-1], lambda g, x: g * x, lambda g, a: 1 - a, elements=[1, -1], name="mirror")
    >>> ruler = Ruler(0.0, np.ones(2), 1.0, np.zeros(2, bool))
    >>> acts_as_group(wrong, [np.ones(2)], [0, 1], gym.spaces.Discrete(2), ruler)
    'no element of mirror leaves observations and actions alone: 1 maps the action 0 to 1'
    """
    on_x, on_a = symmetry.act_on_observation, symmetry.act_on_action
    action_ruler = _action_ruler(action_space, ruler.tol)
    close = _Closeness(ruler, np.random.default_rng(0))

    def same_action(a: Any, b: Any) -> bool:
        return _same(plain_action(action_space, a), plain_action(action_space, b), action_ruler)

    elements = [] if symmetry.elements is None else list(itertools.islice(symmetry.elements, _GROUP_LIMIT))
    still = [e for e in elements if all(close(x, x, partial(on_x, e)) for x in observations)]
    whole = symmetry.elements is not None and len(elements) == len(symmetry.elements)
    if whole and not any(all(same_action(on_a(e, a), a) for a in actions) for e in still):
        if not still:
            return f"no element of {symmetry.name} leaves all observations alone: the identity is missing in elements"
        a = next(a for a in actions if not same_action(on_a(still[0], a), a))
        return (
            f"no element of {symmetry.name} leaves observations and actions alone: {still[0]!r} maps the action "
            f"{show(a)} to {show(on_a(still[0], a))}"
        )
    if symmetry.inverse is None:
        return None
    some = elements[:: max(1, len(elements) // _PLACES)][:_PLACES]
    for g in [*symmetry.generators, *some]:
        back = symmetry.inverse(g)
        for x in observations:
            if not close(x, x, partial(on_x, g), partial(on_x, back)):
                return (
                    f"the inverse of {symmetry.name} is wrong: {g!r} maps {show(x)} to {show(on_x(g, x))}, which "
                    f"{back!r} maps to {show(on_x(back, on_x(g, x)))}"
                )
        for a in actions:
            if not same_action(on_a(back, on_a(g, a)), a):
                return (
                    f"the inverse of {symmetry.name} is wrong: {g!r} maps the action {show(a)} to {show(on_a(g, a))}, "
                    f"which {back!r} maps to {show(on_a(back, on_a(g, a)))}"
                )
    return None


class _Closeness:
    """Whether functions map something to what they should, as far as rounding does not explain a difference."""

    def __init__(self, ruler: Ruler, rng: np.random.Generator) -> None:
        self.ruler, self.rng = ruler, rng

    def __call__(self, wanted: Any, x: Any, *steps: Callable[[Any], Any]) -> bool:
        """Compare the last of the steps from x with what is wanted; if they differ, move the last digits in between."""
        found = self._go(x, steps, 0.0)
        if _same(found, wanted, self.ruler):
            return True
        apart = self.ruler.apart(found, wanted)
        if apart is None:
            return False
        wide = np.zeros(apart.size)
        for ulps in (1.0, 1.0, 2.0, 2.0):
            other = self._go(x, steps, ulps)
            if _same(other, wanted, self.ruler):
                return True  # on the edge between two branches of a form, either will do
            moved = self.ruler.apart(other, found)
            if moved is not None:
                wide = np.fmax(wide, 4 * np.where(np.isfinite(moved), moved, 0.0))
        return bool(np.all(apart <= wide + _room(found, wanted, self.ruler)))

    def _go(self, x: Any, steps: Sequence[Callable[[Any], Any]], ulps: float) -> Any:
        for step in steps:
            x = step(nudged(x, self.rng, ulps) if ulps else x)
        return x


def _same(x: Any, y: Any, ruler: Ruler) -> bool:
    apart = ruler.apart(x, y)
    return apart is not None and bool(np.all(apart <= _room(x, y, ruler)))


def _room(x: Any, y: Any, ruler: Ruler) -> FloatArray:
    return ruler.room(numbers(x), numbers(y), np.maximum(precision(x), precision(y)))


def _action_ruler(space: Any, tol: float) -> Ruler:
    """Actions are measured by how much each of their numbers varies in the space."""
    space = copy.deepcopy(space)  # whose random state may be a learner's
    space.seed(0)
    rows = [numbers(space.sample()) for _ in range(32)]
    same = len({row.size for row in rows}) == 1
    scale = typical(np.stack(rows)) if same else np.empty(0)
    return Ruler(max(tol, _ACTIONS), scale, 0.0, np.zeros(scale.size, dtype=np.bool_))


def _example(j: int, x: Any, image: Any, text: str, action: str = "", other: str = "") -> Counterexample:
    return Counterexample("canonical", j, show(x), action, show(image), other, 1.0, text)
