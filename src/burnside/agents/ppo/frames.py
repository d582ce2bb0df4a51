"""Games as a condition sees them: a translation of the whole game, chosen at reset; and playing many of them at once.

Boards, translations and held-out boards are those of :mod:`burnside.agents.dqn`: the same seed plays the same games.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from burnside._random import Stream, hash_u64, randint
from burnside._types import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray
from burnside.envs.ring.core import RingSpec, initial
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["Action", "Episodes", "Policy", "held_out", "play", "random_play", "start", "successors"]

#: Positions ``(B,)`` and the time to actions ``(B,)``.
Action = Callable[[IntArray, int], IntArray]
#: Boards ``(B, cells)`` to what plays them.
Policy = Callable[[AnyArray], Action]

_FRAMES = ("baseline", "canonical", "augment")


@lru_cache(maxsize=16)
def successors(spec: RingSpec) -> IntArray:
    """``(cells, actions)``: the cell every action leads to.

    >>> successors(RingSpec(5))[0].tolist()
    [3, 4, 1, 2]
    """
    cells = spec.coordinates(np.arange(spec.n_cells))
    return spec.cell(cells[:, None, :] + spec.moves[None, :, :])


def start(
    spec: RingSpec, seeds: ArrayLike, conditions: Sequence[str], episodes: ArrayLike
) -> tuple[AnyArray, IntArray]:
    """Boards ``(B, cells)`` and starting cells of given episodes of given seeds, as their conditions see them.

    >>> boards, pos = start(RingSpec(5), [1, 1], ["baseline", "canonical"], [0, 0])
    >>> boards.tolist(), pos.tolist()
    ([[-1, 0, -1, 0, 1], [1, -1, 0, -1, 0]], [0, 1])
    """
    state = initial(spec, seeds, episodes)
    names = np.asarray(conditions)
    for name in np.unique(names):
        if name not in _FRAMES:
            raise UnknownName("condition", str(name), _FRAMES)
    shift = np.zeros((len(state), spec.d), dtype=np.int64)
    canonical, augment = names == "canonical", names == "augment"
    shift[canonical] = -spec.coordinates(state.goal[canonical])
    if augment.any():
        seed, episode = np.broadcast_arrays(np.atleast_1d(np.asarray(seeds)), np.atleast_1d(np.asarray(episodes)))
        drawn = randint(seed[augment], Stream.AUGMENT, episode[augment], spec.n_cells)
        shift[augment] = spec.coordinates(drawn)
    if not (canonical | augment).any():
        return state.items, state.pos
    places = spec.coordinates(np.arange(spec.n_cells))
    moved = np.zeros_like(state.items)
    np.put_along_axis(moved, spec.cell(places[None] + shift[:, None]), state.items, axis=1)
    return moved, spec.cell(shift)


def held_out(seed: int = 0) -> int:
    """The seed of boards no training run sees: a hashed one opens a fresh family of boards (stream EVAL)."""
    return int(hash_u64(seed, Stream.EVAL, 0)) >> 1


@dataclass(frozen=True)
class Episodes:
    """Evaluation episodes, one entry per board.

    Attributes:
        returns, lengths, solved: as in a log.
        mines: steps that entered a mine.
        cells: different cells entered; a policy that runs in a circle enters few.
    """

    returns: FloatArray
    lengths: IntArray
    solved: BoolArray
    mines: IntArray
    cells: IntArray

    def summary(self) -> dict[str, float]:
        """Means: ``return``, ``length``, ``solved``, ``mines`` per step short of the goal, ``cells``."""
        short = max(1, int((self.lengths - self.solved).sum()))
        return {
            "return": float(self.returns.mean()),
            "length": float(self.lengths.mean()),
            "solved": float(self.solved.mean()),
            "mines": float(self.mines.sum() / short),
            "cells": float(self.cells.mean()),
        }


def play(
    spec: RingSpec,
    condition: str,
    policy: Policy,
    episodes: int,
    seed: int = 0,
) -> Episodes:
    """Play held-out boards side by side.

    Args:
        spec: the game.
        condition: how the boards are seen.
        policy: given the boards ``(episodes, cells)``, returns a function from positions and time to actions.
        episodes: number of boards.
        seed: of the held-out boards.

    >>> constant = lambda boards: lambda pos, t: np.full(len(pos), 3)
    >>> found = play(RingSpec(5), "baseline", constant, 100)
    >>> int(found.lengths.max()), float(found.solved.mean())           # steps of 2 go round the whole ring
    (5, 1.0)
    """
    if episodes < 1:
        raise InvalidParameter(f"episodes is {episodes}: give at least 1")
    boards, pos = start(spec, held_out(seed), [condition] * episodes, np.arange(episodes))
    act, table, rows = policy(boards), successors(spec), np.arange(episodes)
    returns, lengths, mines = np.zeros(episodes), np.zeros(episodes, np.int64), np.zeros(episodes, np.int64)
    solved = np.zeros(episodes, dtype=np.bool_)
    seen = np.zeros((episodes, spec.n_cells), dtype=np.bool_)
    for t in range(spec.time_limit):
        going = ~solved
        pos = np.where(going, table[pos, act(pos, t)], pos)
        code = boards[rows, pos]
        returns += np.where(going, np.where(code > 0, spec.end_reward, code), 0.0)
        lengths += going
        mines += going & (code < 0)
        seen[rows[going], pos[going]] = True
        solved |= code > 0
        if solved.all():
            break
    return Episodes(returns, lengths, solved, mines, seen.sum(axis=1))


def random_play(spec: RingSpec, episodes: int, seed: int = 0) -> Episodes:
    """The uniform random policy on the same held-out boards.

    >>> random_play(RingSpec(5), 200).summary()["solved"] > 0.9
    True
    """
    counters = np.arange(episodes) * spec.time_limit

    def policy(_: AnyArray) -> Action:
        return lambda pos, t: randint(held_out(seed), Stream.POLICY, counters + t, spec.n_actions)

    return play(spec, "baseline", policy, episodes, seed)
