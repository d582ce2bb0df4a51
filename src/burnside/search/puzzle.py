"""What the searches need to know of a puzzle, and the cube as one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from burnside._types import AnyArray, BoolArray
from burnside.envs.cube import CubeCanonicalizer, CubeSpec
from burnside.envs.cube.core import is_solved
from burnside.errors import InvalidModel, InvalidParameter, NotVerified

__all__ = ["CanonicalForm", "CubePuzzle", "Heuristic", "Puzzle", "check_form", "check_starts", "pack_keys"]

#: Estimated distances of states: uint8 rows in, one float32 each out.
Heuristic = Callable[[AnyArray], AnyArray]
#: ``(representatives, group elements)`` of states, as of ``CubeSymmetry(…).canonicalizer``.
CanonicalForm = Callable[[AnyArray], tuple[Any, Any]]


class Puzzle(Protocol):
    """A deterministic puzzle whose moves all cost one; states are rows of a uint8 array.

    Attributes:
        n_moves: how many moves there are; every move can be made in every state.

    >>> from burnside.envs.cube import CubeSpec
    >>> puzzle: Puzzle = CubePuzzle(CubeSpec(2))
    >>> puzzle.n_moves
    12
    """

    @property
    def n_moves(self) -> int:
        """Number of moves."""
        ...

    def children(self, states: AnyArray) -> AnyArray:
        """All states one move away: ``(batch, entries)`` to ``(batch, moves, entries)``."""
        ...

    def is_goal(self, states: AnyArray) -> BoolArray:
        """Whether each state is a goal."""
        ...

    def keys(self, states: AnyArray) -> AnyArray:
        """Words that are different for different states, uint64 ``(batch, words)``; see :func:`pack_keys`."""
        ...

    def format(self, moves: Iterable[int]) -> str:
        """Moves as text."""
        ...


def pack_keys(states: AnyArray, base: int, columns: AnyArray | None = None) -> AnyArray:
    """Rows of small numbers as exact keys: digits to the given base, as many to a 64-bit word as fit.

    Args:
        states: uint8 rows with entries below ``base``.
        base: number of values an entry can have, 2 to 256.
        columns: the entries that determine all others; all of them by default.

    >>> pack_keys(np.array([[1, 2, 3], [0, 0, 1]], np.uint8), base=10).tolist()
    [[123], [1]]
    >>> pack_keys(np.zeros((5, 54), np.uint8), base=6).shape
    (5, 3)
    """
    from burnside.search import kernels

    if not 2 <= base <= 256:
        raise InvalidParameter(f"entries of a state have 2 to 256 values, got base={base}")
    rows = np.ascontiguousarray(states, dtype=np.uint8)
    chosen = np.arange(rows.shape[1]) if columns is None else np.asarray(columns)
    per_word = _digits(base)
    out = np.empty((len(rows), max(1, math.ceil(len(chosen) / per_word))), dtype=np.uint64)
    kernels.pack(rows, chosen, base, per_word, out)
    return out


def _digits(base: int) -> int:
    """How many digits fit in 64 bits: the largest k with base^k ≤ 2⁶⁴."""
    count = 0
    while base ** (count + 1) <= 2**64:
        count += 1
    return count


class CubePuzzle:
    """A cube as a :class:`Puzzle`.

    >>> from burnside.envs.cube import scramble
    >>> puzzle = CubePuzzle(CubeSpec(3))
    >>> states, _ = scramble(puzzle.spec, seeds=[1, 2], lengths=5)
    >>> puzzle.children(states).shape, puzzle.keys(states).shape, puzzle.format([10, 0])
    ((2, 12, 54), (2, 3), 'R U')
    """

    def __init__(self, spec: CubeSpec) -> None:
        """The cube ``spec``: its turns are the moves and its goals the goals."""
        self.spec = spec
        self.n_moves = spec.n_moves
        self._table = np.ascontiguousarray(spec.table, dtype=np.uint16)
        self._essential = np.asarray(spec.essential)

    def children(self, states: AnyArray) -> AnyArray:
        """All states one turn away."""
        from burnside.search import kernels

        rows = np.ascontiguousarray(states, dtype=np.uint8)
        out = np.empty((len(rows), *self._table.shape), dtype=np.uint8)
        kernels.permute_rows(rows, self._table, out)  # three times as fast as indexing with the table
        return out

    def is_goal(self, states: AnyArray) -> BoolArray:
        """Whether each state is a goal of the cube."""
        return np.asarray(is_solved(self.spec, states), dtype=np.bool_)

    def keys(self, states: AnyArray) -> AnyArray:
        """Base-6 words of the stickers that determine the others."""
        return pack_keys(states, 6, self._essential)

    def format(self, moves: Iterable[int]) -> str:
        """Turns as text, ``R U R' U'``."""
        return self.spec.format(moves)


def check_starts(puzzle: Puzzle, states: Any, many: bool) -> AnyArray:
    """The given states as rows; one state or, where ``many``, one or several."""
    found = np.asarray(states)
    if found.dtype != np.uint8:
        raise InvalidModel(f"states are uint8 arrays, got {found.dtype}: convert them with .astype(np.uint8)")
    if found.ndim == 1:
        found = found[None]
    if found.ndim != 2 or (not many and len(found) != 1):
        wanted = "one row per state" if many else "one state"
        raise InvalidModel(f"this search takes {wanted}, got shape {np.shape(states)}")
    spec = getattr(puzzle, "spec", None)
    if isinstance(spec, CubeSpec) and found.shape[1] != spec.n_stickers:
        raise InvalidModel(f"a cube with n={spec.n} has {spec.n_stickers} stickers, got {found.shape[1]}")
    return np.ascontiguousarray(found)


def check_form(puzzle: Puzzle, canonical: CanonicalForm | None) -> None:
    """Refuse a canonical form of a cube that belongs to another one or does not keep distances.

    >>> from burnside.envs.cube import CubeSymmetry
    >>> two = CubeSpec(2, goal="fixed")
    >>> check_form(CubePuzzle(two), CubeSymmetry(two, "position").canonicalizer)
    Traceback (most recent call last):
    ...
    burnside.errors.NotVerified: 'position' does not keep distances to the goal 'fixed': use goal='any-orientation'
    """
    if not (isinstance(canonical, CubeCanonicalizer) and isinstance(puzzle, CubePuzzle)):
        return
    ours, theirs = puzzle.spec, canonical.spec
    if (ours.n, ours.turns) != (theirs.n, theirs.turns):
        raise InvalidParameter(
            f"the canonical form is one of a cube with n={theirs.n} and {theirs.turns} turns, "
            f"the puzzle has n={ours.n} and {ours.turns} turns"
        )
    turned = ours.n == 2 or ours.slices  # whether turns can rotate the whole cube
    if canonical.symmetry.name == "position" and turned and ours.goal == "fixed":
        raise NotVerified("'position' does not keep distances to the goal 'fixed': use goal='any-orientation'")
