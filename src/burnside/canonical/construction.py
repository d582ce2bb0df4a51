"""The check that a wrapper makes when it is constructed: quick, on a copy of the environment, and remembered."""

from __future__ import annotations

import copy
import random
import warnings
from collections import OrderedDict
from typing import Any

import numpy as np

from burnside.canonical.base import Canonicalizer
from burnside.canonical.checking import EnvVerdict, check_symmetry
from burnside.canonical.declared import declared_symmetry
from burnside.errors import InvalidParameter, NotVerified
from burnside.symmetry.declaration import as_symmetry

__all__ = ["check_at_construction", "copy_of", "quick_check"]

_FIRST = 40  # samples of a first look, which refuses most of what is false at once
_SAMPLES = 500  # enough to certify a failure rate of 1 % at 99 % confidence
_REMEMBERED = 64
_OF_VECTORS = ("num_envs", "vectorization_mode", "vector_kwargs", "autoreset_mode")

#: Verdicts by environment and symmetry. The symmetry is kept along, so that its identity is not given to another.
_verdicts: OrderedDict[tuple[Any, ...], tuple[Any, EnvVerdict]] = OrderedDict()


def check_at_construction(env: Any, symmetry: Any, form: Canonicalizer | None) -> EnvVerdict:
    """Check a symmetry on a copy of the environment: refuse it if it does not hold, warn if that was not decided.

    The environment itself is not touched: not its state, not its random numbers.
    """
    claimed, declared = (symmetry, False) if symmetry is not None else (declared_symmetry(env), True)
    if claimed is None:
        raise InvalidParameter(
            "check=True needs the whole symmetry, a canonical form alone does not say how it acts: pass the "
            "EnvSymmetry in the place of its form, or as symmetry=…, or call check_symmetry yourself"
        )
    verdict = quick_check(env, claimed, form, declared)
    name = as_symmetry(claimed).name
    if verdict.verdict == "refuted":
        raise NotVerified(f"{name} is not a symmetry of {env}: {verdict.counterexample}")
    if verdict.verdict == "inconclusive":
        warnings.warn(
            f"it could not be decided whether {name} is a symmetry of {env}; what would decide it: {verdict.advice}",
            stacklevel=3,
        )
    return verdict


def quick_check(env: Any, symmetry: Any, form: Canonicalizer | None = None, declared: bool = False) -> EnvVerdict:
    """Whether a symmetry holds, on a copy of the environment: a first look, then samples enough for a rate of 1 %.

    The answer is remembered.
    """
    inner = _below_frame_stacks(env)
    key = _key(inner, symmetry, declared, form)
    if key is not None and key in _verdicts:
        return _verdicts[key][1]
    verdict = _check(inner, symmetry, form)
    if key is not None:
        _verdicts[key] = (symmetry, form), verdict
        while len(_verdicts) > _REMEMBERED:
            _verdicts.popitem(last=False)
    return verdict


def _check(env: Any, symmetry: Any, form: Canonicalizer | None) -> EnvVerdict:
    numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002  # some environments use them
    try:
        other = copy_of(env)
        first = check_symmetry(
            other, symmetry, samples=_FIRST, confidence=0.999, places="walk", canonicalizer=form, seed=1
        )
        return (
            first
            if first.verdict == "refuted"
            else check_symmetry(other, symmetry, samples=_SAMPLES, canonicalizer=form)
        )
    finally:
        np.random.set_state(numpy_state)  # noqa: NPY002
        random.setstate(python_state)


def _below_frame_stacks(env: Any) -> Any:
    """What is inside a frame stack, whose memory cannot be set."""
    from gymnasium.wrappers import FrameStackObservation

    layer, found = env, env
    while hasattr(layer, "env"):
        if isinstance(layer, FrameStackObservation):
            found = layer.env
        layer = layer.env
    return found


def copy_of(env: Any) -> Any:
    """Another environment like this one: a copy, or a new one from its spec."""
    inside = getattr(env.unwrapped, "envs", None)
    vector = hasattr(env, "num_envs") and hasattr(env, "single_action_space")
    single = inside[0] if vector and inside else env
    if not vector or inside:
        try:
            return copy.deepcopy(single)
        except Exception:  # a simulator that cannot be copied: make another one
            pass
    spec = getattr(single, "spec", None)
    if spec is not None:
        import gymnasium

        try:
            plain = {key: value for key, value in spec.kwargs.items() if key not in _OF_VECTORS}
            return gymnasium.make(spec.id, **plain) if vector else gymnasium.make(spec)
        except Exception:
            pass
    raise InvalidParameter(
        f"{env} can neither be copied nor made again, and a check would disturb it: call check_symmetry on another "
        "one, and leave out check=True"
    )


def _key(env: Any, symmetry: Any, declared: bool, form: Canonicalizer | None) -> tuple[Any, ...] | None:
    """What a verdict is remembered by; None if the environment does not say how it was made."""
    spec = getattr(env, "spec", None)
    if spec is None:
        return None
    layers, layer = [], env
    while layer is not None:
        layers.append(type(layer).__qualname__)
        layer = getattr(layer, "env", None)
    who: Any = "declared" if declared else id(symmetry)
    return str(spec.id), repr(spec.kwargs), tuple(layers), who, "declared" if declared else id(form)
