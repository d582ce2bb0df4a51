"""DQN on the cyclic games, compiled: update, training loop and evaluation of one member.

A member runs alone in its thread, on arrays of its own, with random numbers that are a function of its seed and its
counters. Its bits therefore cannot depend on what else runs. The same algorithm in plain numpy is the general learner
(:mod:`burnside.agents.dqn.learner`); tests hold the two against each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from burnside._compiled import njit
from burnside._random_kernels import EXPLORE, POLICY, REPLAY, randint_nb, uniform_nb
from burnside._types import AnyArray
from burnside.envs.ring.kernels import item_reward, move, seen_board
from burnside.nn.sparse_kernels import (
    Columns,
    Moments,
    Part,
    Rows,
    adam,
    add_rows,
    column_lists,
    corrections,
    descend,
    dot,
    layer,
    mask,
    positive,
    row_bits,
    transpose,
)

__all__ = ["Arrays", "Layout", "Rules", "Work", "evaluate", "play", "update"]

EPISODE, STEP, UPDATE, SYNC, WRITTEN = range(5)  # entries of Arrays.counters
_ZERO = np.float32(0.0)
_ONE = np.float32(1.0)
_LEAST = np.float32(-np.inf)  # the floor of a layer without ReLU


class Layout(NamedTuple):
    """Widths of the network and where its parts begin in the flat parameter array."""

    inputs: int
    h1: int
    h2: int
    actions: int
    w1: int
    w2: int
    b1: int
    b2: int
    w3: int
    b3: int
    size: int


class Rules(NamedTuple):
    """Everything about the game, the algorithm and the member that does not change during a run."""

    n: int
    d: int
    cells: int
    p_mine: float
    end_reward: float
    time_limit: int
    seed: int
    arm: int  # 0 baseline, 1 canonical, 2 augment
    gamma: float
    capacity: int
    batch: int
    rate: float
    huber: bool
    double: bool
    limit_ends: bool
    update_every: int
    target_every: int
    target_every_steps: int
    epsilon_start: float
    epsilon_end: Any
    epsilon_decay: float
    epsilon_steps: int


class Arrays(NamedTuple):
    """All that a member remembers; a checkpoint is these arrays."""

    weights: AnyArray
    target: AnyArray
    m: AnyArray
    v: AnyArray
    boards: AnyArray  # int8, one row per episode still in the replay
    replay: AnyArray  # TRANSITION, a ring
    counters: AnyArray  # EPISODE, STEP, UPDATE, SYNC, WRITTEN


class Work(NamedTuple):
    """Scratch that is overwritten in every update."""

    x: Rows
    h1: Rows
    h2: Rows
    d1: Rows  # gradients of the hidden layers; d2 shares the lists of h2, for ReLU stops the others
    d2: Rows
    x_columns: Columns
    h2_columns: Columns
    w2: AnyArray  # W2 of network and target as the forward pass reads it: transposed from Arrays.weights, .target
    target_w2: AnyArray
    zeros: AnyArray
    grad: AnyArray  # of what follows Layout.b1; gradients of W1 and W2 are never written down
    slots: AnyArray
    missing: AnyArray
    chosen: AnyArray
    items: AnyArray


# ---------------------------------------------------------------------- the network


@njit(cache=True, nogil=True, error_model="numpy")
def _observe(x: Rows, i: int, boards: AnyArray, row: int, pos: int, end: Any) -> None:
    """Row ``i`` of the input: items with their values, one-hot position (App. C), and the list of its nonzeros."""
    cells = boards.shape[1]
    at = i * 2 * cells
    board, items, onehot = boards[row], x.values[at : at + cells], x.values[at + cells : at + 2 * cells]
    for c in range(cells):
        items[c] = end if board[c] > 0 else np.float32(board[c])
    for c in range(cells):
        onehot[c] = _ZERO
    onehot[pos] = _ONE
    out = x.lists[at : at + 2 * cells]
    n = np.uint64(0)
    for c in range(cells):
        out[n] = c
        n += np.uint64(board[c] != 0)
    out[n] = cells + pos
    x.counts[i] = np.int64(n) + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _hidden(w: AnyArray, w2: AnyArray, work: Work, net: Layout, rows: int) -> None:
    """Both hidden layers for the observed rows, with the lists of what ReLU lets through."""
    layer(work.h1, _ZERO, Part(w, net.b1), work.x, Part(w, net.w1), rows)
    positive(work.h1, rows)
    layer(work.h2, _ZERO, Part(w, net.b2), work.h1, Part(w2, 0), rows)
    positive(work.h2, rows)


@njit(cache=True, nogil=True, error_model="numpy")
def _best(w: AnyArray, h2: AnyArray, at: int, net: Layout) -> tuple[int, Any]:
    """The action of largest value, the first of equals, and that value."""
    chosen, best = 0, np.float32(dot(h2, at, w, net.w3, net.h2) + w[net.b3])
    for a in range(1, net.actions):
        q = np.float32(dot(h2, at, w, net.w3 + a * net.h2, net.h2) + w[net.b3 + a])
        if q > best:
            chosen, best = a, q
    return chosen, best


@njit(cache=True, nogil=True, error_model="numpy")
def greedy(w: AnyArray, work: Work, net: Layout, boards: AnyArray, row: int, pos: int, end: Any) -> int:
    """The action of largest value on a board."""
    _observe(work.x, 0, boards, row, pos, end)
    _hidden(w, work.w2, work, net, 1)
    return _best(w, work.h2.values, 0, net)[0]


# ---------------------------------------------------------------------- one update


@njit(cache=True, nogil=True, error_model="numpy")
def draw(slots: AnyArray, size: int, seed: int, first: int) -> None:
    """The slots of the next batch, uniform with replacement."""
    for i in range(slots.size):
        slots[i] = randint_nb(seed, REPLAY, first + i, size)


@njit(cache=True, nogil=True, error_model="numpy")
def _refresh_targets(s: Arrays, work: Work, net: Layout, rules: Rules) -> None:
    """Make ``replay.value`` hold max_a Q_target(s', a) for every drawn transition that has not ended.

    The target network does not change between syncs, so a value is computed once per slot and sync (``replay.stamp``).
    Double DQN takes the action that is best for the network, which changes with every update: nothing is remembered.
    """
    sync, end = np.int32(s.counters[SYNC]), np.float32(rules.end_reward)
    slots, missing, replay, boards = work.slots, work.missing, s.replay, s.boards
    n = 0
    for i in range(rules.batch):
        seen = replay[slots[i]]
        if seen.terminated == 0 and (rules.double or seen.stamp != sync):
            seen.stamp = sync
            missing[n] = slots[i]
            _observe(work.x, n, boards, seen.board, seen.after, end)
            n += 1
    if n > 0:
        w, h2 = s.target, work.h2
        if rules.double:
            _hidden(s.weights, work.w2, work, net, n)
            for i in range(n):
                work.chosen[i] = _best(s.weights, h2.values, i * h2.stride, net)[0]
        _hidden(w, work.target_w2, work, net, n)
        for i in range(n):
            at = i * h2.stride
            if rules.double:
                a = work.chosen[i]
                replay[missing[i]].value = np.float32(
                    dot(h2.values, at, w, net.w3 + a * net.h2, net.h2) + w[net.b3 + a]
                )
            else:
                replay[missing[i]].value = _best(w, h2.values, at, net)[1]


@njit(cache=True, nogil=True, error_model="numpy")
def _input_bits(x: Rows, columns: Columns, rows: int) -> None:
    """As ``row_bits``, from the lists of nonzeros of the input."""
    bits, lists, counts, width = columns.bits, x.lists, x.counts, x.width
    bits[:] = np.uint64(0)
    for i in range(rows):
        word, flag = bits[i // 64 * width : (i // 64 + 1) * width], np.uint64(1) << np.uint64(i % 64)
        row = lists[i * width : i * width + counts[i]]
        for t in range(row.size):
            word[np.uint64(row[t])] |= flag


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _output_row(weights: AnyArray, grad: AnyArray, h: AnyArray, d: AnyArray, delta: Any) -> None:
    """Backwards through the output: gradient of its weights for one action, and of the layer before, past ReLU."""
    for j in range(h.size):
        grad[j] += delta * h[j]
    for j in range(h.size):
        d[j] = delta * weights[j] if h[j] > _ZERO else _ZERO


@njit(cache=True, nogil=True, error_model="numpy")
def update(s: Arrays, work: Work, net: Layout, rules: Rules) -> float:
    """One DQN update on the slots in ``work.slots``; returns the loss.

    ``work.w2`` and ``work.target_w2`` must be up to date (:func:`refresh`); the update keeps ``work.w2`` so.
    """
    rows, h2 = rules.batch, net.h2
    w, g, stride = s.weights, work.grad, work.h2.stride
    z2, d2 = work.h2.values, work.d2.values
    slots, replay, boards = work.slots, s.replay, s.boards
    end, gamma = np.float32(rules.end_reward), np.float32(rules.gamma)
    share = _ONE / np.float32(rows)

    _refresh_targets(s, work, net, rules)
    for i in range(rows):
        seen = replay[slots[i]]
        _observe(work.x, i, boards, seen.board, seen.pos, end)
    _hidden(w, work.w2, work, net, rows)

    g[net.w3 - net.b1 :] = _ZERO
    loss = 0.0
    for i in range(rows):
        seen, at = replay[slots[i]], i * stride
        a: Any = np.int64(seen.action)
        row = net.w3 + a * h2
        goal = seen.reward
        if seen.terminated == 0:  # truncation is not an end, unless ``limit_ends``: it bootstraps
            goal += gamma * seen.value
        error = np.float32(dot(z2, at, w, row, h2) + w[net.b3 + a]) - goal
        if rules.huber:
            slope = min(max(error, -_ONE), _ONE)
            loss += np.float64(slope) * (np.float64(error) - 0.5 * np.float64(slope))
        else:
            slope = error + error
            loss += np.float64(error) * np.float64(error)
        g[net.b3 - net.b1 + a] += slope * share
        grad = g[row - net.b1 : row - net.b1 + h2]
        _output_row(w[row : row + h2], grad, z2[at : at + h2], d2[at : at + h2], slope * share)

    layer(work.d1, _LEAST, Part(work.zeros, -1), work.d2, Part(w, net.w2), rows)
    mask(work.d1, work.h1, rows)
    add_rows(work.d1, rows, g, 0)
    add_rows(work.d2, rows, g, net.b2 - net.b1)

    s.counters[UPDATE] += 1
    step = corrections(s.counters[UPDATE], rules.rate)
    moments = Moments(w, s.m, s.v)
    row_bits(work.h2, work.h2_columns, rows)
    column_lists(work.h2_columns, h2, rows)
    descend(moments, net.w2, step, work.d2, work.h1, work.h2_columns, rows)
    _input_bits(work.x, work.x_columns, rows)
    column_lists(work.x_columns, net.inputs, rows)
    descend(moments, net.w1, step, work.x, work.d1, work.x_columns, rows)
    adam(moments, net.b1, g, step)
    transpose(Part(w, net.w2), h2, net.h1, work.w2)
    return loss / rows


@njit(cache=True, nogil=True, error_model="numpy")
def refresh(s: Arrays, work: Work, net: Layout) -> None:
    """Bring what scratch derives from the parameters up to date."""
    transpose(Part(s.weights, net.w2), net.h2, net.h1, work.w2)
    transpose(Part(s.target, net.w2), net.h2, net.h1, work.target_w2)


@njit(cache=True, nogil=True, error_model="numpy")
def sync(s: Arrays, work: Work, net: Layout) -> None:
    """Copy the network into the target network; cached target values are then out of date."""
    for k in range(s.weights.size):  # copying a slice compiles an error message about shapes, which takes seconds
        s.target[k] = s.weights[k]
    s.counters[SYNC] += 1
    refresh(s, work, net)


# ---------------------------------------------------------------------- training and evaluation of one member


@njit(cache=True, nogil=True, error_model="numpy")
def epsilon_at(rules: Rules, episode: int, step: int) -> float:
    """As :meth:`DQNConfig.epsilon`."""
    if rules.epsilon_steps > 0:
        fraction = min(1.0, step / rules.epsilon_steps)
        return rules.epsilon_start + fraction * (rules.epsilon_end - rules.epsilon_start)
    return max(rules.epsilon_end, rules.epsilon_start * rules.epsilon_decay**episode)


@njit(cache=True, nogil=True, error_model="numpy")
def play(s: Arrays, work: Work, net: Layout, rules: Rules, log: AnyArray, episodes: int) -> None:
    """Train for a number of episodes; a row of ``log``: return, length, success, steps, updates, ε, mean loss."""
    end = np.float32(rules.end_reward)
    refresh(s, work, net)
    for e in range(episodes):
        episode = s.counters[EPISODE]
        row = episode % s.boards.shape[0]
        board = s.boards[row]
        pos = seen_board(work.items, board, rules.n, rules.d, rules.p_mine, rules.arm, rules.seed, episode)
        total, losses = 0.0, 0.0
        solved = False
        updates = s.counters[UPDATE]
        log[e, 5] = epsilon_at(rules, episode, s.counters[STEP])
        length = 0
        while length < rules.time_limit and not solved:
            step = s.counters[STEP]
            if uniform_nb(rules.seed, EXPLORE, 2 * step) < epsilon_at(rules, episode, step):
                action = randint_nb(rules.seed, EXPLORE, 2 * step + 1, net.actions)
            else:
                action = greedy(s.weights, work, net, s.boards, row, pos, end)
            after = move(pos, action, rules.n, rules.d)
            code = board[after]
            reward = item_reward(code, rules.end_reward)
            solved = code > 0
            seen = s.replay[s.counters[WRITTEN] % rules.capacity]
            seen.board, seen.pos, seen.action, seen.reward = row, pos, action, reward
            seen.after, seen.stamp = after, -1
            seen.terminated = solved or (rules.limit_ends and length + 1 >= rules.time_limit)
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
        log[e, 3], log[e, 4] = s.counters[STEP], s.counters[UPDATE]
        log[e, 6] = losses / max(updates, 1)


@njit(cache=True, nogil=True, error_model="numpy")
def evaluate(
    weights: AnyArray, work: Work, net: Layout, rules: Rules, seed: int, episodes: int, epsilon: float, out: AnyArray
) -> None:
    """Episodes on the boards of a seed, a random move with probability ε; rows of ``out``: return, length, success."""
    end = np.float32(rules.end_reward)
    board = np.empty((1, rules.cells), dtype=np.int8)
    transpose(Part(weights, net.w2), net.h2, net.h1, work.w2)
    for e in range(episodes):
        pos = seen_board(work.items, board[0], rules.n, rules.d, rules.p_mine, rules.arm, seed, e)
        total = 0.0
        length = 0
        solved = False
        while length < rules.time_limit and not solved:
            counter = 2 * (e * 2**32 + length)
            if uniform_nb(seed, POLICY, counter) < epsilon:
                action = randint_nb(seed, POLICY, counter + 1, net.actions)
            else:
                action = greedy(weights, work, net, board, 0, pos, end)
            pos = move(pos, action, rules.n, rules.d)
            total += item_reward(board[0, pos], rules.end_reward)
            solved = board[0, pos] > 0
            length += 1
        out[e, 0], out[e, 1], out[e, 2] = total, length, solved
