"""The translations of the cyclic game and the paper's canonical form: roll the board until the goal is at the origin.

A translation ``g ∈ (Z/n)^d`` acts from the left, ``(g·b)(c) = b(c − g)``, and so moves the agent from q to ``q + g``.
App. C writes ``(g·b)_c = b_{c+g}``, which is the action of ``−g``: with it the agent would have to move to ``q − g``.
Actions are relative moves, which translations leave alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np

from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.envs.ring.core import Observation, RingSpec
from burnside.errors import InvalidParameter

__all__ = ["RollToGoal", "roll", "translate"]

#: Cells of the largest board for which all translations are tabulated.
_LARGEST_TABLE = 1_024


def translate(n: int, d: int, g: ArrayLike, x: Observation) -> Observation:
    """The observation ``g·x`` of a cyclic game; any leading axes, and ``g`` of shape ``(…, d)`` broadcasts with them.

    >>> board = np.array([10, -1, 0, 0, -1,   0, 1, 0, 0, 0])     # items, then the position: cell 1
    >>> translate(5, 1, [2], board)
    array([ 0, -1, 10, -1,  0,  0,  0,  0,  1,  0])
    """
    shift = np.asarray(g)
    if shift.shape[-1:] != (d,) or shift.dtype.kind not in "iu":
        raise InvalidParameter(f"a translation has d={d} whole numbers on its last axis, got {g!r:.80}")
    if d == 1:
        flat = np.asarray(x)
        if flat.shape[-1:] != (2 * n,):
            raise InvalidParameter(f"an observation of the ring with n={n} has {2 * n} entries, got shape {flat.shape}")
        halves = flat.reshape(*flat.shape[:-1], 2, n)
        return roll(halves, shift[..., None, :], n, 1).reshape(*_lead(flat.shape[:-1], shift), 2 * n)
    grid = cast("dict[str, AnyArray]", x)
    position = np.rint(np.asarray(grid["pos"]) * n).astype(np.int64)
    moved = ((position + shift) % n).astype(np.float32) / np.float32(n)
    return {"items": roll(np.asarray(grid["items"]), shift, n, d), "pos": moved.astype(grid["pos"].dtype)}


def _lead(lead: tuple[int, ...], shift: AnyArray) -> tuple[int, ...]:
    return np.broadcast_shapes(lead, shift.shape[:-1])


def roll(items: AnyArray, shift: AnyArray, n: int, d: int) -> AnyArray:
    """The board ``shift · items``: ``out[…, c] = items[…, c − shift]`` on the last d axes, of n cells each."""
    lead = _lead(items.shape[: items.ndim - d], shift)
    coordinates, weights = _grid(n, d)
    if n**d <= _LARGEST_TABLE:
        source = _sources(n, d)[(shift % n) @ weights]
    else:
        source = ((coordinates - shift[..., None, :]) % n) @ weights
    flat = np.broadcast_to(items.reshape(*items.shape[: items.ndim - d], -1), (*lead, n**d))
    return np.take_along_axis(flat, np.broadcast_to(source, flat.shape), axis=-1).reshape(*lead, *(n,) * d)


@lru_cache(maxsize=16)
def _grid(n: int, d: int) -> tuple[IntArray, IntArray]:
    """The coordinates of all cells, and the weights that make the number of a cell from them."""
    spec = RingSpec(n, d)
    return spec.coordinates(np.arange(spec.n_cells)), n ** np.arange(d - 1, -1, -1)


@lru_cache(maxsize=16)
def _sources(n: int, d: int) -> IntArray:
    """``[g, c]``: the number of the cell ``c − g``; four times as fast as computing it for every board."""
    coordinates, weights = _grid(n, d)
    return ((coordinates - coordinates[:, None]) % n) @ weights


@dataclass(frozen=True)
class RollToGoal:
    """The canonical form of App. C: the translation that brings the goal to the origin, applied to the whole board.

    It satisfies :class:`burnside.canonical.Canonicalizer` for observations with any leading axes. Every orbit has
    exactly one member with the goal at the origin, so the form is exact, and ``g = −goal`` is unique.

    >>> roll = RollToGoal(5)
    >>> x_bar, g = roll(np.array([0, -1, 10, -1, 0,   0, 0, 0, 1, 0]))
    >>> x_bar, g
    (array([10, -1,  0,  0, -1,  0,  1,  0,  0,  0]), array([3]))
    >>> roll.undo(2, g)
    2
    """

    n: int
    d: int = 1

    def __call__(self, x: Observation) -> tuple[Observation, IntArray]:
        """The canonical observation and the translation that led there."""
        items = np.asarray(x)[..., : self.n] if self.d == 1 else np.asarray(cast("dict[str, AnyArray]", x)["items"])
        g = self.element(items.reshape(*items.shape[: items.ndim - self.d], -1))
        return self.act(g, x), g

    def element(self, items: AnyArray) -> IntArray:
        """The translation that brings the largest item, the goal, to the origin; ``items`` has cells as last axis."""
        return -RingSpec(self.n, self.d).coordinates(np.argmax(items, axis=-1)) % self.n

    def act(self, g: ArrayLike, x: Observation) -> Observation:
        """The observation ``g·x``."""
        return translate(self.n, self.d, g, x)

    def undo(self, action: ArrayLike, g: ArrayLike) -> ArrayLike:
        """The action itself: moves are relative, so translations leave them alone."""
        return action
