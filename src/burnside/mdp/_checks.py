"""What several modules of this folder ask of their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside.errors import InvalidParameter
from burnside.mdp.tabular import TabularMDP

__all__ = ["needs_table", "whole"]


def needs_table(model: object, what: str) -> None:
    """Refuse what is no table.

    >>> needs_table("ring", "solve")
    Traceback (most recent call last):
    burnside.errors.InvalidParameter: solve takes a TabularMDP, got a str: make one with zoo.make, say
    """
    if isinstance(model, TabularMDP):
        return
    remedy = "model.tabular()" if hasattr(model, "tabular") else "zoo.make, say"
    raise InvalidParameter(f"{what} takes a TabularMDP, got a {type(model).__name__}: make one with {remedy}")


def whole(value: Any) -> int | None:
    """The whole number that a value is, also if it is written 1.0; None for fractions, words and truth values.

    >>> whole(3), whole(3.0), whole(3.5), whole("3"), whole(True), whole(float("nan"))
    (3, 3, None, None, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return int(value)
    return None
