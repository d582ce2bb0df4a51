"""One DQN update of one member, compiled: observations from the compact replay, targets, backpropagation, Adam."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from burnside._random_kernels import randint_nb
from burnside._types import AnyArray
from burnside.agents.dqn._products import (
    GAP,
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

__all__ = ["Arrays", "Layout", "Rules", "Work", "draw", "greedy", "refresh", "sync", "update"]

_REPLAY = 3  # Stream, as a plain number for compiled code
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
    condition: int  # 0 baseline, 1 canonical, 2 augment
    gamma: float
    capacity: int
    batch: int
    rate: float
    huber: bool
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

    grad: AnyArray  # of what follows Layout.b1; gradients of W1 and W2 are never written down
    w2: AnyArray  # W2 of network and target as the forward pass reads it: transposed from Arrays.weights, .target
    target_w2: AnyArray
    zeros: AnyArray
    x: AnyArray
    x_lists: AnyArray
    x_counts: AnyArray
    x_columns: AnyArray
    x_column_counts: AnyArray
    z1: AnyArray
    lists1: AnyArray
    counts1: AnyArray
    z2: AnyArray
    lists2: AnyArray
    counts2: AnyArray
    columns2: AnyArray
    column_counts2: AnyArray
    bits: AnyArray
    x_bits: AnyArray
    d2: AnyArray
    d1: AnyArray
    slots: AnyArray
    missing: AnyArray
    items: AnyArray


# The small functions below take arrays one by one: a tuple of twenty arrays is 160 machine words to pass, which
# doubled the time of an update.


@njit(cache=True, nogil=True, error_model="numpy")
def _observe(x: AnyArray, lists: AnyArray, i: int, boards: AnyArray, row: int, pos: int, cells: int, end: Any) -> Any:
    """Row ``i`` of the input: items with their values, one-hot position (App. C); lists and counts its nonzeros."""
    at = i * 2 * cells
    board, items, onehot = boards[row], x[at : at + cells], x[at + cells : at + 2 * cells]
    for c in range(cells):
        items[c] = end if board[c] > 0 else np.float32(board[c])
    for c in range(cells):
        onehot[c] = _ZERO
    onehot[pos] = _ONE
    out = lists[at : at + 2 * cells]
    n = np.uint64(0)
    for c in range(cells):
        out[n] = c
        n += np.uint64(board[c] != 0)
    out[n] = cells + pos
    return np.int64(n) + 1


@njit(cache=True, nogil=True, error_model="numpy")
def _hidden(w: AnyArray, w2: AnyArray, work: Work, net: Layout, rows: int) -> None:
    """Both hidden layers for the observed rows, with the lists of what ReLU lets through."""
    x_row, row1 = net.inputs, net.h1 + GAP
    layer(work.z1, net.h1, _ZERO, w, net.b1, work.x, x_row, net.inputs, w, net.w1, work.x_lists, work.x_counts, rows)
    positive(work.z1, net.h1, work.lists1, work.counts1, rows)
    layer(work.z2, net.h2, _ZERO, w, net.b2, work.z1, row1, net.h1, w2, 0, work.lists1, work.counts1, rows)
    positive(work.z2, net.h2, work.lists2, work.counts2, rows)


@njit(cache=True, nogil=True, error_model="numpy")
def _best(w: AnyArray, z2: AnyArray, i: int, w3: int, b3: int, h2: int, actions: int) -> tuple[int, Any]:
    """The action of largest value, the first of equals, and that value."""
    chosen, best = 0, np.float32(dot(z2, i * (h2 + GAP), w, w3, h2) + w[b3])
    for a in range(1, actions):
        q = np.float32(dot(z2, i * (h2 + GAP), w, w3 + a * h2, h2) + w[b3 + a])
        if q > best:
            chosen, best = a, q
    return chosen, best


@njit(cache=True, nogil=True, error_model="numpy")
def greedy(w: AnyArray, work: Work, net: Layout, boards: AnyArray, row: int, pos: int, cells: int, end: Any) -> int:
    work.x_counts[0] = _observe(work.x, work.x_lists, 0, boards, row, pos, cells, end)
    _hidden(w, work.w2, work, net, 1)
    return _best(w, work.z2, 0, net.w3, net.b3, net.h2, net.actions)[0]


@njit(cache=True, nogil=True, error_model="numpy")
def _refresh_targets(s: Arrays, work: Work, net: Layout, rules: Rules) -> None:
    """Make ``s.value`` hold max_a Q_target(s', a) for every drawn transition that has not ended.

    The target network stands still between syncs, so a value is computed once per slot and sync (``s.stamp``).
    """
    sync, end = np.int32(s.counters[SYNC]), np.float32(rules.end_reward)
    slots, missing, replay, boards = work.slots, work.missing, s.replay, s.boards
    x, x_lists, x_counts = work.x, work.x_lists, work.x_counts
    n = 0
    for i in range(rules.batch):
        seen = replay[slots[i]]
        if seen.terminated == 0 and seen.stamp != sync:
            seen.stamp = sync
            missing[n] = slots[i]
            x_counts[n] = _observe(x, x_lists, n, boards, seen.board, seen.after, rules.cells, end)
            n += 1
    if n > 0:
        w, z2 = s.target, work.z2
        _hidden(w, work.target_w2, work, net, n)
        for i in range(n):
            replay[missing[i]].value = _best(w, z2, i, net.w3, net.b3, net.h2, net.actions)[1]


@njit(cache=True, nogil=True, error_model="numpy")
def draw(slots: AnyArray, size: int, seed: int, first: int) -> None:
    """The slots of the next batch, uniform with replacement."""
    for i in range(slots.size):
        slots[i] = randint_nb(seed, _REPLAY, first + i, size)


@njit(cache=True, nogil=True, error_model="numpy")
def _input_bits(lists: AnyArray, counts: AnyArray, inputs: int, bits: AnyArray, rows: int) -> None:
    """As ``row_bits``, from the lists of nonzeros of the input."""
    bits[:] = np.uint64(0)
    for i in range(rows):
        word, flag = bits[i // 64 * inputs : (i // 64 + 1) * inputs], np.uint64(1) << np.uint64(i % 64)
        row = lists[i * inputs : i * inputs + counts[i]]
        for t in range(row.size):
            word[np.uint64(row[t])] |= flag


@njit(cache=True, nogil=True, fastmath={"contract", "nsz"}, error_model="numpy")
def _output_row(
    w: AnyArray, w_at: int, g: AnyArray, g_at: int, z2: AnyArray, d2: AnyArray, at: int, h2: int, delta: Any
) -> None:
    """Backwards through the output: gradient of its weights for one action, and of the layer before, past ReLU."""
    weights, grad, h, d = w[w_at : w_at + h2], g[g_at : g_at + h2], z2[at : at + h2], d2[at : at + h2]
    for j in range(h2):
        grad[j] += delta * h[j]
    for j in range(h2):
        d[j] = delta * weights[j] if h[j] > _ZERO else _ZERO


@njit(cache=True, nogil=True, error_model="numpy")
def update(s: Arrays, work: Work, net: Layout, rules: Rules) -> float:
    """One DQN update on the slots in ``work.slots``; returns the loss.

    ``work.w2`` and ``work.target_w2`` must be up to date (:func:`refresh`); the update keeps ``work.w2`` so.
    """
    rows, h1, h2 = rules.batch, net.h1, net.h2
    w, g, z2, d2 = s.weights, work.grad, work.z2, work.d2
    slots, replay, boards = work.slots, s.replay, s.boards
    x, x_lists, x_counts = work.x, work.x_lists, work.x_counts
    end, gamma = np.float32(rules.end_reward), np.float32(rules.gamma)
    share = _ONE / np.float32(rows)

    _refresh_targets(s, work, net, rules)
    for i in range(rows):
        seen = replay[slots[i]]
        x_counts[i] = _observe(x, x_lists, i, boards, seen.board, seen.pos, rules.cells, end)
    _hidden(w, work.w2, work, net, rows)

    g[net.w3 - net.b1 :] = _ZERO
    loss = 0.0
    for i in range(rows):
        seen, at = replay[slots[i]], i * (h2 + GAP)
        a: Any = np.int64(seen.action)
        row = net.w3 + a * h2
        goal = seen.reward
        if seen.terminated == 0:  # truncation is no end: it bootstraps
            goal += gamma * seen.value
        error = np.float32(dot(z2, at, w, row, h2) + w[net.b3 + a]) - goal
        if rules.huber:
            slope = min(max(error, -_ONE), _ONE)
            loss += np.float64(slope) * (np.float64(error) - 0.5 * np.float64(slope))
        else:
            slope = error + error
            loss += np.float64(error) * np.float64(error)
        g[net.b3 - net.b1 + a] += slope * share
        _output_row(w, row, g, row - net.b1, z2, d2, at, h2, slope * share)

    z1, d1, m, v = work.z1, work.d1, s.m, s.v
    layer(d1, h1, _LEAST, work.zeros, -1, d2, h2 + GAP, h2, w, net.w2, work.lists2, work.counts2, rows)
    mask(d1, z1, rows * (h1 + GAP))
    add_rows(d1, h1, rows, g, 0)
    add_rows(d2, h2, rows, g, net.b2 - net.b1)

    s.counters[UPDATE] += 1
    scale, root = corrections(s.counters[UPDATE], rules.rate)
    row_bits(z2, h2, work.bits, rows)
    column_lists(work.bits, h2, work.columns2, work.column_counts2, rows)
    descend(w, m, v, net.w2, scale, root, d2, h2 + GAP, h2, z1, h1, work.columns2, work.column_counts2, rows)
    _input_bits(x_lists, x_counts, net.inputs, work.x_bits, rows)
    column_lists(work.x_bits, net.inputs, work.x_columns, work.x_column_counts, rows)
    descend(w, m, v, net.w1, scale, root, x, net.inputs, net.inputs, d1, h1, work.x_columns, work.x_column_counts, rows)
    adam(w, m, v, net.b1, g, scale, root)
    transpose(w, net.w2, h2, h1, work.w2)
    return loss / rows


@njit(cache=True, nogil=True, error_model="numpy")
def refresh(s: Arrays, work: Work, net: Layout) -> None:
    """Bring what scratch derives from the parameters up to date."""
    transpose(s.weights, net.w2, net.h2, net.h1, work.w2)
    transpose(s.target, net.w2, net.h2, net.h1, work.target_w2)


@njit(cache=True, nogil=True, error_model="numpy")
def sync(s: Arrays, work: Work, net: Layout) -> None:
    """Copy the network into the target network; cached target values are then out of date."""
    s.target[:] = s.weights
    s.counters[SYNC] += 1
    refresh(s, work, net)
