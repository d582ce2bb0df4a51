"""Games as an arm sees them: a translation of the whole game, chosen at reset; and playing many of them at once.

Moves are relative, so a game is then played in the translated frame. ``kernels.seen_board`` is the compiled twin of
:func:`start`; a test holds both against :class:`~burnside.canonical.CanonicalEnv`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from burnside._random import Stream, held_out, randint
from burnside._types import AnyArray, ArrayLike, IntArray
from burnside.envs.batched import Evaluation
from burnside.envs.ring.core import RingSpec, initial
from burnside.envs.ring.symmetry import RollToGoal, roll
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["ARMS", "Action", "Policy", "RingEvaluation", "play", "random_play", "start", "successors"]

#: Positions ``(B,)`` and the time to actions ``(B,)``.
Action = Callable[[IntArray, int], IntArray]
#: Boards ``(B, cells)`` to what plays them.
Policy = Callable[[AnyArray], Action]
#: Arms that are translations, in the order of their numbers in compiled code.
ARMS = ("baseline", "canonical", "augment")


@lru_cache(maxsize=16)
def successors(spec: RingSpec) -> IntArray:
    """``(cells, actions)``: the cell every action leads to.

    >>> successors(RingSpec(5))[0].tolist()
    [3, 4, 1, 2]
    """
    cells = spec.coordinates(np.arange(spec.n_cells))
    return spec.cell(cells[:, None, :] + spec.moves[None, :, :])


def start(spec: RingSpec, seeds: ArrayLike, arms: Sequence[str], episodes: ArrayLike) -> tuple[AnyArray, IntArray]:
    """Boards ``(B, cells)`` and starting cells of given episodes of given seeds, as their arms see them.

    >>> boards, pos = start(RingSpec(5), [1, 1], ["baseline", "canonical"], [0, 0])
    >>> boards.tolist(), pos.tolist()
    ([[-1, 0, -1, 0, 1], [1, -1, 0, -1, 0]], [0, 1])
    """
    state = initial(spec, seeds, episodes)
    names = np.asarray(arms)
    for name in np.unique(names):
        if name not in ARMS:
            raise UnknownName("arm of a ring", str(name), ARMS)
    g = np.zeros((len(state), spec.d), dtype=np.int64)
    canonical, augment = names == "canonical", names == "augment"
    g[canonical] = RollToGoal(spec.n, spec.d).element(state.items[canonical])
    if augment.any():
        seed, episode = np.broadcast_arrays(np.atleast_1d(np.asarray(seeds)), np.atleast_1d(np.asarray(episodes)))
        g[augment] = spec.coordinates(randint(seed[augment], Stream.AUGMENT, episode[augment], spec.n_cells))
    return roll(state.items.reshape(-1, *spec.shape), g, spec.n, spec.d).reshape(state.items.shape), spec.cell(g)


@dataclass(frozen=True)
class RingEvaluation(Evaluation):
    """Evaluation episodes, one entry per board.

    Attributes:
        mines: steps that entered a mine.
        cells: different cells entered; a policy that runs in a circle enters few.
    """

    mines: IntArray
    cells: IntArray

    def summary(self) -> dict[str, float]:
        """Means: ``return``, ``length``, ``solved``, ``mines`` per step short of the goal, ``cells``."""
        short = max(1, int((self.lengths - self.success).sum()))
        return {
            "return": float(self.returns.mean()),
            "length": float(self.lengths.mean()),
            "solved": float(self.success.mean()),
            "mines": float(self.mines.sum() / short),
            "cells": float(self.cells.mean()),
        }


def play(
    spec: RingSpec,
    arm: str,
    policy: Policy,
    episodes: int,
    seed: int = 0,
) -> RingEvaluation:
    """Play held-out boards side by side.

    Args:
        spec: the game.
        arm: how the boards are seen.
        policy: given the boards ``(episodes, cells)``, returns a function from positions and time to actions.
        episodes: number of boards.
        seed: of the held-out boards.

    >>> constant = lambda boards: lambda pos, t: np.full(len(pos), 3)
    >>> found = play(RingSpec(5), "baseline", constant, 100)
    >>> int(found.lengths.max()), float(found.success.mean())           # steps of 2 go round the whole ring
    (5, 1.0)
    """
    if episodes < 1:
        raise InvalidParameter(f"episodes is {episodes}: give at least 1")
    boards, pos = start(spec, held_out(seed), [arm] * episodes, np.arange(episodes))
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
    return RingEvaluation(returns, lengths, solved, mines, seen.sum(axis=1))


def random_play(spec: RingSpec, episodes: int, seed: int = 0) -> RingEvaluation:
    """The uniform random policy on the same held-out boards.

    >>> random_play(RingSpec(5), 200).summary()["solved"] > 0.9
    True
    """
    counters = np.arange(episodes) * spec.time_limit

    def policy(_: AnyArray) -> Action:
        return lambda pos, t: randint(held_out(seed), Stream.POLICY, counters + t, spec.n_actions)

    return play(spec, "baseline", policy, episodes, seed)
