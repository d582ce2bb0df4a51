"""Calling what others wrote: whatever it raises becomes one sentence that names what failed, and where."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside.canonical.base import Canonicalizer
from burnside.errors import BurnsideError, InvalidParameter
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["GuardedForm", "failure", "guarded", "theirs"]


def theirs(what: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function of the environment or of the symmetry.

    >>> theirs("act_on_action", lambda g, a: {}[a], -1, 3)
    Traceback (most recent call last):
    burnside.errors.InvalidParameter: act_on_action fails: KeyError: 3 (<doctest ...>, line 1)
    """
    try:
        return function(*arguments, **options)
    except BurnsideError:
        raise
    except Exception as error:
        raise failure(what, error) from error


def failure(what: str, error: Exception) -> BurnsideError:
    """What to raise instead: our own errors as they are, others as one sentence."""
    if isinstance(error, BurnsideError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    inside = bool(frames) and frames[-1].filename != __file__  # else the call itself failed
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if inside else ""
    said = " ".join(str(error).split())
    return InvalidParameter(f"{what} fails: {type(error).__name__}: {said:.200}{where}")


def _guard(what: str, function: Callable[..., Any] | None) -> Any:
    if function is None:
        return None
    return lambda *arguments: theirs(what, function, *arguments)


def _guard_action(what: str, function: Callable[[Any, Any], Any] | None) -> Any:
    """The same for ``(g, x) → g·x``, which may write into the x it gets."""
    if function is None:
        return None
    return lambda g, x: theirs(what, function, g, _own(x))


def _own(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.copy()
    return {key: _own(value) for key, value in x.items()} if type(x) is dict else x


def guarded(symmetry: EnvSymmetry) -> EnvSymmetry:
    """The same symmetry, whose functions fail with one sentence."""
    found: dict[str, Any] = {}
    for guard, names in (
        (_guard_action, ("act_on_observation", "act_on_action", "act_on_state")),
        (_guard, ("get_state", "set_state", "inverse")),
    ):
        found |= {name: guard(f"{name} of {symmetry.name}", getattr(symmetry, name)) for name in names}
    return symmetry.changed(**found)


@dataclass(frozen=True)
class GuardedForm:
    """The same canonical form, whose functions fail with one sentence."""

    form: Canonicalizer

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """``(x̄, g)``."""
        # Not through `theirs`: a wrapper calls this at every step of an environment.
        try:
            found = self.form(x)
        except Exception as error:
            raise failure("the canonical form", error) from error
        if not isinstance(found, tuple) or len(found) != 2:
            raise InvalidParameter(f"a canonical form must return the pair (x̄, g), got a {type(found).__name__}")
        return found

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        return theirs("act of the canonical form", self.form.act, g, x)

    def undo(self, action: Any, g: Any) -> Any:
        """``g⁻¹·ā``."""
        try:
            return self.form.undo(action, g)
        except Exception as error:
            raise failure("undo of the canonical form", error) from error
