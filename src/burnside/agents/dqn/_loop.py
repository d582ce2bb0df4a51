"""The training loop of one member, compiled: environment, exploration, replay, update, target, log.

A member runs alone in its thread, on arrays of its own, with random numbers that are a function of its seed and its
counters. Its bits therefore cannot depend on who else runs.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from burnside._random_kernels import randint_nb, uniform_nb
from burnside._types import AnyArray
from burnside.agents.dqn._kernels import (
    EPISODE,
    STEP,
    UPDATE,
    WRITTEN,
    Arrays,
    Layout,
    Rules,
    Work,
    draw,
    greedy,
    refresh,
    sync,
    update,
)
from burnside.agents.dqn._products import transpose
from burnside.envs.ring.kernels import item_reward, move, reset_board

__all__ = ["epsilon_at", "evaluate", "new_board", "play"]

_EXPLORE, _AUGMENT, _POLICY = 2, 5, 6  # Stream, as plain numbers for compiled code


@njit(cache=True, nogil=True, error_model="numpy")
def translated(cell: int, by: int, n: int, d: int, sign: int) -> int:
    """The cell reached from ``cell`` by ``sign`` times the coordinates of ``by``, axis by axis."""
    out = 0
    scale = 1
    for _ in range(d):
        out += scale * ((cell % n + sign * (by % n) + n) % n)
        cell //= n
        by //= n
        scale *= n
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def epsilon_at(rules: Rules, episode: int, step: int) -> float:
    """As :meth:`DQNConfig.epsilon`."""
    if rules.epsilon_steps > 0:
        fraction = min(1.0, step / rules.epsilon_steps)
        return rules.epsilon_start + fraction * (rules.epsilon_end - rules.epsilon_start)
    return max(rules.epsilon_end, rules.epsilon_start * rules.epsilon_decay**episode)


@njit(cache=True, nogil=True, error_model="numpy")
def new_board(items: AnyArray, board: AnyArray, rules: Rules, condition: int, seed: int, episode: int) -> int:
    """Write the board of an episode as the member sees it into ``board``; returns where the agent starts.

    A condition is a translation of the whole game, chosen at reset: none (0), the one that brings the goal to the
    origin (1), a random one (2). Moves are relative, so the game is then played in the translated frame.
    """
    goal = reset_board(items, seed, episode, rules.p_mine)
    shift = 0
    if condition == 1:
        shift = translated(0, goal, rules.n, rules.d, -1)
    elif condition == 2:
        shift = randint_nb(seed, _AUGMENT, episode, rules.cells)
    for c in range(rules.cells):
        board[translated(c, shift, rules.n, rules.d, 1)] = items[c]
    return shift


@njit(cache=True, nogil=True, error_model="numpy")
def play(s: Arrays, work: Work, net: Layout, rules: Rules, log: AnyArray, episodes: int) -> None:
    """Train for a number of episodes; row ``e`` of ``log``: return, length, solved, ε, steps, updates, mean loss."""
    end = np.float32(rules.end_reward)
    refresh(s, work, net)
    for e in range(episodes):
        episode = s.counters[EPISODE]
        row = episode % s.boards.shape[0]
        board = s.boards[row]
        pos = new_board(work.items, board, rules, rules.condition, rules.seed, episode)
        total, losses = 0.0, 0.0
        solved = False
        updates = s.counters[UPDATE]
        log[e, 3] = epsilon_at(rules, episode, s.counters[STEP])
        length = 0
        while length < rules.time_limit and not solved:
            step = s.counters[STEP]
            if uniform_nb(rules.seed, _EXPLORE, 2 * step) < epsilon_at(rules, episode, step):
                action = randint_nb(rules.seed, _EXPLORE, 2 * step + 1, net.actions)
            else:
                action = greedy(s.weights, work, net, s.boards, row, pos, rules.cells, end)
            after = move(pos, action, rules.n, rules.d)
            code = board[after]
            reward = item_reward(code, rules.end_reward)
            solved = code > 0
            seen = s.replay[s.counters[WRITTEN] % rules.capacity]
            seen.board, seen.pos, seen.action, seen.reward = row, pos, action, reward
            seen.after, seen.terminated, seen.stamp = after, solved, -1
            s.counters[WRITTEN] += 1
            s.counters[STEP] += 1
            total += reward
            length += 1
            pos = after
            if s.counters[WRITTEN] >= rules.batch and s.counters[STEP] % rules.update_every == 0:
                size = min(s.counters[WRITTEN], rules.capacity)
                draw(work.slots, size, rules.seed, s.counters[UPDATE] * rules.batch)
                losses += update(s, work, net, rules)
            if rules.target_every_steps > 0 and s.counters[STEP] % rules.target_every_steps == 0:
                sync(s, work, net)
        s.counters[EPISODE] += 1
        if rules.target_every_steps == 0 and s.counters[EPISODE] % rules.target_every == 0:
            sync(s, work, net)
        updates = s.counters[UPDATE] - updates
        log[e, 0], log[e, 1], log[e, 2] = total, length, solved
        log[e, 4], log[e, 5] = s.counters[STEP], s.counters[UPDATE]
        log[e, 6] = losses / max(updates, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(
    weights: AnyArray, work: Work, net: Layout, rules: Rules, seed: int, episodes: int, epsilon: float, out: AnyArray
) -> None:
    """Episodes on the boards of ``seed``, a random move with probability ε; rows of ``out``: return, length, solved."""
    end = np.float32(rules.end_reward)
    board = np.empty((1, rules.cells), dtype=np.int8)
    transpose(weights, net.w2, net.h2, net.h1, work.w2)
    for e in range(episodes):
        pos = new_board(work.items, board[0], rules, rules.condition, seed, e)
        total = 0.0
        length = 0
        solved = False
        while length < rules.time_limit and not solved:
            counter = 2 * (e * rules.time_limit + length)
            if uniform_nb(seed, _POLICY, counter) < epsilon:
                action = randint_nb(seed, _POLICY, counter + 1, net.actions)
            else:
                action = greedy(weights, work, net, board, 0, pos, rules.cells, end)
            pos = move(pos, action, rules.n, rules.d)
            total += item_reward(board[0, pos], rules.end_reward)
            solved = board[0, pos] > 0
            length += 1
        out[e, 0], out[e, 1], out[e, 2] = total, length, solved
