"""Argument checks and overflow-safe products shared by the theory modules.

A model given implicitly can have more states than a float can hold (a board of 125000 cells has 2^125000),
so a product is taken in floats where that works and through logarithms where it does not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

from burnside.errors import InvalidParameter

__all__ = ["count", "in_unit", "log10_of", "positive", "product"]


def positive(name: str, value: float) -> float:
    """`value` as a float if it is finite and above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be a positive number, not {value!r}") from None
    if not (number > 0.0 and math.isfinite(number)):
        raise InvalidParameter(f"{name} must be positive and finite, not {value!r}")
    return number


def in_unit(name: str, value: float) -> float:
    """`value` as a float if it lies strictly between 0 and 1."""
    number = positive(name, value)
    if number >= 1.0:
        raise InvalidParameter(f"{name} must lie strictly between 0 and 1, not {value!r}")
    return number


def count(name: str, value: int, least: int = 1) -> int:
    """`value` as a Python int (of any size) if it is whole and at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidParameter(f"{name} must be a whole number, not {value!r}") from None
    if number < least:
        raise InvalidParameter(f"{name} must be at least {least}, not {number}")
    return number


def log10_of(*factors: float, over: Sequence[float] = ()) -> float:
    """log10 of the product of `factors` divided by all of `over`; −inf when a factor is zero.

    >>> log10_of(10**400, 0.1)
    399.0
    """
    if any(f <= 0 for f in factors):
        return -math.inf
    return math.fsum([*map(math.log10, factors), *(-math.log10(f) for f in over)])


def product(*factors: float, over: Sequence[float] = ()) -> float:
    """The product of `factors` divided by all of `over`; inf beyond the float range, never an exception.

    >>> product(3, 4, over=[2]), product(10**400, 2), product(10**400, over=[10**399])
    (6.0, inf, 10.0)
    """
    if any(f <= 0 for f in factors):
        return 0.0
    try:
        value = math.prod(map(float, factors)) / math.prod(map(float, over))
        if math.isfinite(value) and value > 0.0:
            return value
    except (OverflowError, ZeroDivisionError):
        pass
    try:
        return float(10.0 ** log10_of(*factors, over=over))
    except OverflowError:
        return math.inf
