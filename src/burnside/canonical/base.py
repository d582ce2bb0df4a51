"""What a canonicalizer is, and functions on observations that may be arrays, dictionaries or tuples of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

__all__ = ["Canonicalizer", "equal", "largest_gap", "leaves", "tree_map"]


@runtime_checkable
class Canonicalizer(Protocol):
    """A map from observations to one representative of their orbit; a pure function, without hidden state.

    Observations may have any leading axes (none for a single one, one for a vector environment); the group elements
    ``g`` have the same leading axes. The convention is a left action with ``x̄ = g·x``, so the action ``ā`` chosen for
    ``x̄`` means ``g⁻¹·ā`` for ``x``.
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


def leaves(x: Any) -> list[Any]:
    """The arrays of an observation, in order.

    >>> leaves({"a": 1, "b": (2, 3)})
    [1, 2, 3]
    """
    if isinstance(x, dict):
        return [leaf for key in x for leaf in leaves(x[key])]
    if isinstance(x, tuple):
        return [leaf for value in x for leaf in leaves(value)]
    return [x]


def largest_gap(x: Any, y: Any) -> float:
    """The largest difference between two observations; infinite if they are of different form, or one is NaN.

    >>> largest_gap({"a": np.array([1.0, 2.0])}, {"a": np.array([1.0, 2.5])})
    0.5
    """
    one, other = leaves(x), leaves(y)
    if len(one) != len(other) or (isinstance(x, dict) and x.keys() != y.keys()):
        return float("inf")
    gap = 0.0
    for a, b in zip(one, other, strict=True):
        left, right = np.asarray(a), np.asarray(b)
        if left.shape != right.shape:
            return float("inf")
        if left.dtype.kind not in "biuf" or right.dtype.kind not in "biuf":
            gap = max(gap, 0.0 if np.array_equal(left, right) else float("inf"))
        elif left.size:
            l64, r64 = left.astype(np.float64), right.astype(np.float64)
            with np.errstate(invalid="ignore"):  # ∞ − ∞
                apart = np.where(l64 == r64, 0.0, np.abs(l64 - r64))
            gap = max(gap, float("inf") if np.isnan(apart).any() else float(apart.max()))
    return gap


def equal(x: Any, y: Any, tolerance: float = 0.0) -> bool:
    """Whether two observations agree up to a tolerance.

    >>> equal((1, np.zeros(2)), (1, np.zeros(2)))
    True
    """
    return largest_gap(x, y) <= tolerance
