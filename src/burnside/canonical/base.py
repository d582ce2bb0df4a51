"""What a canonicalizer is, and functions on observations that may be arrays, dictionaries or tuples of arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np

from burnside._types import FloatArray

__all__ = [
    "Canonicalizer",
    "equal",
    "largest_gap",
    "leaves",
    "numbers",
    "precision",
    "standard",
    "structure",
    "tree_map",
]


@runtime_checkable
class Canonicalizer(Protocol):
    """A map from observations to one representative of their orbit; a pure function, without hidden state.

    Observations may have any leading axes (none for a single one, one for a vector environment); the group elements
    ``g`` have the same leading axes. The convention is a left action with ``x̄ = g·x``, so the action ``ā`` chosen for
    ``x̄`` means ``g⁻¹·ā`` for ``x``. Any object with these three methods is one:

    >>> from burnside.canonical import SignFlip
    >>> form: Canonicalizer = SignFlip([-1], actions=[1, 0])      # x and −x are one; then the two actions swap
    >>> x_bar, g = form(np.array([-2.0]))
    >>> x_bar.tolist(), int(form.undo(0, g))
    ([2.0], 1)
    """

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """``(x̄, g)`` with ``x̄ = g·x``, the same x̄ for the whole orbit of x."""

    def act(self, g: Any, x: Any) -> Any:
        """The observation ``g·x``; leading axes of g and x broadcast."""

    def undo(self, action: Any, g: Any) -> Any:
        """The action ``g⁻¹·ā`` that does to x what ``ā`` does to x̄."""


def tree_map(function: Callable[..., Any], x: Any, *others: Any) -> Any:
    """Apply a function to every array of an observation.

    >>> tree_map(lambda v: v + 1, {"a": np.array([1, 2]), "b": (3, 4)})
    {'a': array([2, 3]), 'b': (4, 5)}
    """
    if isinstance(x, dict):
        return {key: tree_map(function, value, *(o[key] for o in others)) for key, value in x.items()}
    if isinstance(x, tuple):
        return tuple(tree_map(function, *values) for values in zip(x, *others, strict=True))
    return function(x, *others)


def standard(x: Any) -> Any:
    """An observation in one form, however it was written: keys in order, and lists of like numbers as arrays.

    >>> standard({"b": 1, "a": [2, 3]})
    {'a': array([2, 3]), 'b': array(1)}
    """
    if isinstance(x, np.ndarray):
        return x
    if isinstance(x, Mapping):
        return {key: standard(x[key]) for key in sorted(x, key=str)}
    if isinstance(x, tuple | list):
        parts = [standard(value) for value in x]
        if parts and all(_is_number(p) and p.shape == parts[0].shape for p in parts):
            return np.stack(parts)
        return tuple(parts)
    return np.asarray(x)


def _is_number(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind in "biuf"


def leaves(x: Any) -> list[Any]:
    """The arrays of an observation, in the order of their keys.

    >>> leaves({"b": (2, np.zeros(1)), "a": 1})
    [array(1), array(2), array([0.])]
    """
    found = standard(x)
    if isinstance(found, dict):
        return [leaf for value in found.values() for leaf in leaves(value)]
    if isinstance(found, tuple):
        return [leaf for value in found for leaf in leaves(value)]
    return [found]


def structure(x: Any, values: bool = False) -> Hashable:
    """What is left of an observation without its numbers; with ``values``, what is not a number is kept.

    >>> structure({"b": 1, "a": [2, 3]}) == structure({"a": np.zeros(2), "b": 7.0})
    True
    """
    if type(x) is int:
        return ()
    found = x if type(x) is np.ndarray else standard(x)
    if isinstance(found, dict):
        return "dict", tuple((str(key), structure(value, values)) for key, value in found.items())
    if isinstance(found, tuple):
        return "tuple", tuple(structure(value, values) for value in found)
    if _is_number(found):
        return found.shape
    return "other", found.shape, repr(found.tolist()) if values else ""


def numbers(x: Any) -> FloatArray:
    """All numbers of an observation, in a row.

    >>> numbers({"b": True, "a": [2, 3]})
    array([2., 3., 1.])
    """
    if type(x) is np.ndarray and x.dtype.kind in "biuf":  # most observations
        return x.ravel().astype(np.float64)
    if type(x) is int:
        return np.array([x], dtype=np.float64)
    parts = [leaf.ravel().astype(np.float64) for leaf in leaves(x) if _is_number(leaf)]
    return np.concatenate(parts) if parts else np.empty(0)


def precision(x: Any) -> FloatArray:
    """The relative rounding error of every number of an observation: that of its type, 0 for integers.

    >>> precision({"a": np.float32([1, 2]), "b": 3}).round(9)
    array([1.19e-07, 1.19e-07, 0.00e+00])
    """
    if type(x) is np.ndarray and x.dtype.kind in "biuf":
        return np.full(x.size, _epsilon(x.dtype))
    if type(x) is int:
        return np.zeros(1)
    parts = [np.full(leaf.size, _epsilon(leaf.dtype)) for leaf in leaves(x) if _is_number(leaf)]
    return np.concatenate(parts) if parts else np.empty(0)


@lru_cache(maxsize=64)
def _epsilon(dtype: Any) -> float:
    return float(np.finfo(dtype).eps) if dtype.kind == "f" else 0.0


def largest_gap(x: Any, y: Any) -> float:
    """The largest difference between two observations; infinite if they are of different form, or one is NaN.

    >>> largest_gap({"a": np.array([1.0, 2.0])}, {"a": np.array([1.0, 2.5])})
    0.5
    >>> largest_gap({"a": 1, "b": 2}, {"b": 2, "a": 1})
    0.0
    """
    if structure(x, values=True) != structure(y, values=True):
        return float("inf")
    one, other = numbers(x), numbers(y)
    if not one.size:
        return 0.0
    with np.errstate(invalid="ignore"):  # ∞ − ∞
        apart = np.where(one == other, 0.0, np.abs(one - other))
    return float("inf") if np.isnan(apart).any() else float(apart.max())


def equal(x: Any, y: Any, tolerance: float = 0.0) -> bool:
    """Whether two observations agree up to a tolerance.

    >>> equal((1, np.zeros(2)), (1, np.zeros(2)))
    True
    """
    return largest_gap(x, y) <= tolerance
