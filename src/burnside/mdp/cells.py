"""Cells: the inside of a state, drawn as a small board; a model gives them to :class:`TabularMDP` as ``cells``."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Literal, NamedTuple

__all__ = ["Cell", "circle"]

#: Boards with more cells than this are not drawn: nothing could be seen.
_MOST_CELLS = 16


class Cell(NamedTuple):
    """A cell of a state's board: where it is in the unit circle (y down), what it holds, whether the agent is there."""

    x: float
    y: float
    radius: float
    holds: Literal["free", "goal", "mine"]
    agent: bool


def circle(n: int, goal: int, agent: int, mines: Collection[int] = ()) -> tuple[Cell, ...]:
    """The cells of a ring game, as the small rings of Fig. 1; none if there are too many to be seen.

    >>> [cell.holds for cell in circle(5, goal=0, agent=0, mines={1})], circle(40, 0, 0)
    (['goal', 'mine', 'free', 'free', 'free'], ())
    """
    if n > _MOST_CELLS:
        return ()
    radius = min(0.26, 0.7 * math.sin(math.pi / n) * 0.78)
    cells = []
    for k in range(n):
        angle = 2 * math.pi * k / n
        holds: Literal["free", "goal", "mine"] = "goal" if k == goal else "mine" if k in mines else "free"
        cells.append(Cell(0.7 * math.sin(angle), -0.7 * math.cos(angle), radius, holds, k == agent))
    return tuple(cells)
