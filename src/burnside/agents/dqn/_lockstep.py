"""One environment step of a block of members at once, compiled; the torch engine does the rest.

Random numbers, boards and replay are those of the native engine: both play the same games from the same seed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from burnside._random_kernels import randint_nb, uniform_nb
from burnside._types import AnyArray
from burnside.agents.dqn._kernels import EPISODE, STEP, UPDATE, WRITTEN, Rules
from burnside.agents.dqn._loop import epsilon_at, new_board
from burnside.envs.ring.kernels import item_reward, move

__all__ = ["Games", "begin", "choose", "draw", "finish", "step"]

_EXPLORE, _REPLAY = 2, 3  # Stream


class Games(NamedTuple):
    """Where the members of a block are, leading axis members."""

    seeds: AnyArray
    conditions: AnyArray
    boards: AnyArray  # (members, capacity + 1, cells) int8
    replay: AnyArray  # (members, capacity) TRANSITION
    counters: AnyArray  # (members, 5)
    pos: AnyArray
    length: AnyArray
    total: AnyArray
    losses: AnyArray  # sum over the updates of the present episode
    updates: AnyArray  # their number
    log: AnyArray  # (members, episodes, 7)


@njit(cache=True, nogil=True, error_model="numpy")
def begin(games: Games, rules: Rules, m: int) -> None:
    """Begin the next episode of a member."""
    episode = games.counters[m, EPISODE]
    items = np.empty(rules.cells, dtype=np.int8)
    board = games.boards[m, episode % games.boards.shape[1]]
    games.pos[m] = new_board(items, board, rules, games.conditions[m], games.seeds[m], episode)
    games.length[m] = 0
    games.total[m] = 0.0
    games.losses[m] = 0.0
    games.updates[m] = 0


@njit(cache=True, nogil=True, error_model="numpy")
def choose(games: Games, rules: Rules, active: AnyArray, n_actions: int, actions: AnyArray) -> None:
    """Random actions where the member explores, −1 where the network is to be asked."""
    for m in range(active.size):
        at = games.counters[m, STEP]
        actions[m] = 0
        if active[m]:
            epsilon = epsilon_at(rules, games.counters[m, EPISODE], at)
            explores = uniform_nb(games.seeds[m], _EXPLORE, 2 * at) < epsilon
            actions[m] = randint_nb(games.seeds[m], _EXPLORE, 2 * at + 1, n_actions) if explores else -1


@njit(cache=True, nogil=True, error_model="numpy")
def step(games: Games, rules: Rules, active: AnyArray, actions: AnyArray, over: AnyArray) -> None:
    """Move every active member and remember the transition; ``over`` says whose episode this ended."""
    for m in range(active.size):
        over[m] = False
        if not active[m]:
            continue
        counters = games.counters[m]
        episode = counters[EPISODE]
        row = episode % games.boards.shape[1]
        if games.length[m] == 0:
            games.log[m, episode, 3] = epsilon_at(rules, episode, counters[STEP])
        after = move(games.pos[m], actions[m], rules.n, rules.d)
        code = games.boards[m, row, after]
        reward = item_reward(code, rules.end_reward)
        seen = games.replay[m, counters[WRITTEN] % rules.capacity]
        seen.board, seen.pos, seen.action, seen.reward = row, games.pos[m], actions[m], reward
        seen.after, seen.terminated, seen.stamp = after, code > 0, -1
        counters[WRITTEN] += 1
        counters[STEP] += 1
        games.pos[m] = after
        games.length[m] += 1
        games.total[m] += reward
        over[m] = code > 0 or games.length[m] >= rules.time_limit


@njit(cache=True, nogil=True, error_model="numpy")
def finish(games: Games, m: int) -> None:
    """Write the log of an episode that is over, after its last update."""
    counters = games.counters[m]
    episode = counters[EPISODE]
    last = games.replay[m, (counters[WRITTEN] - 1) % games.replay.shape[1]]
    row = games.log[m, episode]
    row[0], row[1], row[2] = games.total[m], games.length[m], last.terminated
    row[4], row[5] = counters[STEP], counters[UPDATE]
    row[6] = games.losses[m] / max(games.updates[m], 1)
    counters[EPISODE] += 1


@njit(cache=True, nogil=True, error_model="numpy")
def draw(games: Games, rules: Rules, slots: AnyArray) -> None:
    """The slots of the next batch of every member, uniform with replacement."""
    for m in range(slots.shape[0]):
        size = max(1, min(games.counters[m, WRITTEN], rules.capacity))
        first = games.counters[m, UPDATE] * rules.batch
        for i in range(slots.shape[1]):
            slots[m, i] = randint_nb(games.seeds[m], _REPLAY, first + i, size)
