"""What a search gives back, and the clock and the heuristic that all searches share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, BoolArray
from burnside.errors import InvalidParameter
from burnside.search.puzzle import CanonicalForm, Heuristic, Puzzle, check_form

__all__ = ["Evaluator", "Partial", "SearchResult", "check_count", "keys_of"]

#: Why a search ended.
GOAL = "goal"


@dataclass(frozen=True, eq=False)
class Partial:
    """The most promising state that an unfinished search saw, and the way to it.

    Attributes:
        moves: the moves from the given state.
        text: the same as text.
        heuristic: the estimated number of moves that are left.
        state: the state itself.
    """

    moves: tuple[int, ...]
    text: str
    heuristic: float
    state: AnyArray

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"moves": self.text, "length": len(self.moves), "heuristic": self.heuristic}


@dataclass(frozen=True, eq=False)
class SearchResult:
    """A solution, or why there is none and how far the search came.

    Attributes:
        solved: whether a goal was found.
        moves: the solution; empty if there is none.
        text: the solution as text.
        reason: ``goal``, or what ended the search.
        generated: children made, duplicates included: the number DeepCubeA calls nodes.
        expanded: states whose children were made.
        evaluated: states the heuristic was asked for.
        seconds_total: from the call to the end of this state; states searched in one batch share their time.
        seconds_network: the part of it spent in the heuristic.
        partial: without a solution, the state with the lowest heuristic and the way to it.
    """

    solved: bool
    moves: tuple[int, ...]
    text: str
    reason: str
    generated: int
    expanded: int
    evaluated: int
    seconds_total: float
    seconds_network: float
    partial: Partial | None = None

    @property
    def length(self) -> int | None:
        """Number of moves of the solution, None if there is none."""
        return len(self.moves) if self.solved else None

    @property
    def outside_network(self) -> float:
        """Fraction of the time that was not spent in the heuristic."""
        return 1.0 - self.seconds_network / max(self.seconds_total, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "solved": self.solved,
            "moves": self.text if self.solved else None,
            "length": self.length,
            "nodes": self.generated,
            "seconds": self.seconds_total,
            "reason": self.reason,
            "expanded": self.expanded,
            "evaluated": self.evaluated,
            "seconds_network": self.seconds_network,
            "partial": None if self.partial is None else self.partial.to_dict(),
        }


class Evaluator:
    """A heuristic that is called on bounded batches, checked and timed.

    Values are cut off at 0 from below and are 0 at goals, as in DeepCubeA.
    """

    def __init__(self, heuristic: Heuristic, rows: int) -> None:
        """Call ``heuristic`` on at most ``rows`` states at a time."""
        self.heuristic = heuristic
        self.rows = check_count("network_rows", rows)
        self.began = time.perf_counter()
        self.seconds = 0.0

    def __call__(self, states: AnyArray, goals: BoolArray) -> AnyArray:
        """The heuristic of states, float32."""
        out = np.empty(len(states), dtype=np.float32)
        began = time.perf_counter()
        for first in range(0, len(states), self.rows):
            part = states[first : first + self.rows]
            found = np.asarray(self.heuristic(part))
            if found.shape != (len(part),):
                raise InvalidParameter(
                    f"the heuristic must give one number per state: {len(part)} states, got shape {found.shape}"
                )
            out[first : first + self.rows] = found
        self.seconds += time.perf_counter() - began
        if not np.isfinite(out).all():
            raise InvalidParameter("the heuristic gave a number that is not finite: is the network trained?")
        np.maximum(out, 0.0, out=out)
        out[goals] = 0.0
        return out

    @property
    def total(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.began


def keys_of(puzzle: Puzzle, canonical: CanonicalForm | None) -> Callable[[AnyArray], AnyArray]:
    """The function that gives states their keys: of themselves or of their canonical forms."""
    check_form(puzzle, canonical)
    if canonical is None:
        return puzzle.keys
    form = canonical
    return lambda states: puzzle.keys(np.asarray(form(states)[0]))


def check_count(name: str, value: int) -> int:
    """A whole number from 1 on."""
    if isinstance(value, bool) or value != int(value) or value < 1:
        raise InvalidParameter(f"{name} must be a whole number from 1 on, got {value}")
    return int(value)


def finished(
    puzzle: Puzzle,
    moves: Sequence[int],
    reason: str,
    counts: tuple[int, int, int],
    evaluator: Evaluator,
    end: tuple[float, AnyArray] | None = None,
) -> SearchResult:
    """The result of a search; ``end`` is the heuristic and the state at the end of the moves if that is not a goal."""
    path = tuple(int(m) for m in moves)
    text = puzzle.format(path)
    partial = None if end is None else Partial(path, text, float(end[0]), np.array(end[1]))
    solved = reason == GOAL
    return SearchResult(
        solved,
        path if solved else (),
        text if solved else "",
        reason,
        *counts,
        seconds_total=evaluator.total,
        seconds_network=evaluator.seconds,
        partial=partial,
    )
