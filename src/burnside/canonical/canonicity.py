"""Whether a canonical form is one: idempotent, constant on orbits, and fitting the action on actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside.canonical.access import show
from burnside.canonical.base import Canonicalizer, equal
from burnside.canonical.symmetry import EnvSymmetry
from burnside.mdp import Counterexample

__all__ = ["check_form"]

_GROUP_LIMIT = 1000  # elements up to which stabilizers are found by trying all
_FREE_LIMIT = 5000  # images looked at to find them, in all


def check_form(
    form: Canonicalizer,
    symmetry: EnvSymmetry,
    observations: Sequence[Any],
    action_space: Any,
    rng: np.random.Generator,
    tol: float,
) -> tuple[int, Counterexample | None]:
    """Check a form on observations and on their images under the generators; how many were checked, and a failure.

    With c(x) = (x̄, g) it must hold that ``g·x = x̄``, ``c(x̄) = x̄`` and ``c(h·x) = x̄`` for generators h. Where only the
    identity fixes x, an action chosen at x̄ must mean corresponding actions at x and at h·x, where the form has g':
    ``undo(ā, g') = h·undo(ā, g)``.
    """
    action_space.seed(int(rng.integers(2**31)))
    looked = 0
    for count, x in enumerate(observations, start=1):
        x_bar, g = form(x)
        if not equal(form.act(g, x), x_bar, tol):
            return count, _example(-1, x, x_bar, f"the form of {show(x)} is {show(x_bar)}, which is not g·x for its g")
        again, _ = form(x_bar)
        if not equal(again, x_bar, tol):
            text = f"the form of {show(x)} is {show(x_bar)}, whose own form is {show(again)}: it must be itself"
            return count, _example(-1, x, x_bar, text)
        action, free = action_space.sample(), False
        if symmetry.elements is not None and looked + len(symmetry.elements) <= _FREE_LIMIT:
            looked += len(symmetry.elements)
            free = _is_free(symmetry, x, tol)
        for j, h in enumerate(symmetry.generators):
            moved = symmetry.act_on_observation(h, x)
            moved_bar, moved_g = form(moved)
            if not equal(moved_bar, x_bar, tol):
                text = (
                    f"generator {j} maps {show(x)} to {show(moved)}, but their forms {show(x_bar)} and "
                    f"{show(moved_bar)} differ"
                )
                return count, _example(j, x, moved, text)
            if free:
                meant = symmetry.act_on_action(h, form.undo(action, g))
                other = form.undo(action, moved_g)
                if not equal(meant, other, tol):
                    text = (
                        f"generator {j} maps {show(x)} to {show(moved)}, of one form; the action {show(action)} chosen "
                        f"there means {show(form.undo(action, g))} at the first, whose image is {show(meant)}, but "
                        f"{show(other)} at the second"
                    )
                    return count, _example(j, x, moved, text, show(action), show(other))
    return len(observations), None


def _is_free(symmetry: EnvSymmetry, x: Any, tol: float) -> bool:
    """Whether only one element is known to fix x; False if the elements are not listed, or too many."""
    if symmetry.elements is None or len(symmetry.elements) > _GROUP_LIMIT:
        return False
    return sum(equal(symmetry.act_on_observation(e, x), x, tol) for e in symmetry.elements) == 1


def _example(j: int, x: Any, image: Any, text: str, action: str = "", other: str = "") -> Counterexample:
    return Counterexample("canonical", j, show(x), action, show(image), other, 1.0, text)
