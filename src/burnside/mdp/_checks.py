"""What several modules of this folder ask of their arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from burnside._resources import needs_memory
from burnside.errors import InvalidParameter
from burnside.mdp.tabular import TabularMDP

__all__ = ["needs_room", "needs_table", "whole"]


def needs_table(model: object, what: str) -> None:
    """Refuse what is not a table.

    >>> needs_table("ring", "solve")
    Traceback (most recent call last):
    burnside.errors.InvalidParameter: solve takes a TabularMDP, got a str: make one with zoo.make, say
    """
    if isinstance(model, TabularMDP):
        return
    remedy = "model.tabular()" if hasattr(model, "tabular") else "zoo.make, say"
    raise InvalidParameter(f"{what} takes a TabularMDP, got a {type(model).__name__}: make one with {remedy}")


def needs_room(what: str, states: float, pairs: float, entries: float) -> None:
    """Refuse, before anything is allocated, a table that memory cannot hold while it is built.

    The bytes per state, pair and entry of the kernel are those measured on the zoo.

    >>> needs_room("slip-ring(n=100000)", 1e10, 4e10, 8e10)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    burnside.errors.ModelTooLarge: the table of slip-ring(n=100000), 10^10 states, needs about ... GB of memory, and ...
    """
    size = 40.0 * entries + 80.0 * pairs + 40.0 * states
    count = f"{states:.0f}" if states < 1e7 else f"10^{math.log10(states):.0f}"
    needs_memory(f"the table of {what}, {count} states,", size, "make the model smaller")


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
