"""A symmetry that does not hold, for controls: of the same shape as a true one, and checked to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burnside.canonical.checking.check import check_symmetry
from burnside.errors import BurnsideError
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["refuted_placebo"]

#: Placebos that are tried, and places at which each is tried.
_TRIES, _SAMPLES = 6, 60


def refuted_placebo(make: Callable[[], Any], symmetry: FlatSymmetry, seed: int = 0) -> tuple[FlatSymmetry, str]:
    """The first of some placebos that the check refutes, and its verdict; ``seed`` chooses which are tried.

    Where the check cannot decide (the state of the environment cannot be set), the first placebo is taken, and the
    verdict says so.

    >>> import gymnasium as gym
    >>> from burnside.canonical.arms import on_rows
    >>> from burnside.envs.gymnasium_batch import as_batched
    >>> refuted_placebo(lambda: gym.make("CartPole-v1"), on_rows(as_batched("CartPole-v1")))[1]
    'refuted'
    """
    first: tuple[FlatSymmetry, str] | None = None
    for attempt in range(_TRIES):
        found = symmetry.placebo(_TRIES * seed + attempt)
        try:
            verdict = check_symmetry(make(), found.as_declared(), samples=_SAMPLES).verdict
        except BurnsideError as error:
            verdict = f"not checked ({type(error).__name__})"
        if verdict == "refuted":
            return found, verdict
        first = first or (found, verdict)
    assert first is not None
    return first
