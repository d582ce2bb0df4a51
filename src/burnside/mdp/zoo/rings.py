"""Cyclic games: the mined ring of App. C in any dimension, and the slippery ring that learning is measured on."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import scipy.sparse as sp

from burnside._resources import needs_memory
from burnside._types import AnyArray, IntArray
from burnside.errors import InvalidParameter, ModelTooLarge
from burnside.mdp._checks import needs_room
from burnside.mdp.cells import circle
from burnside.mdp.graph import GraphMDP
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.vertices import VertexSymmetry

__all__ = ["MOVES", "ring", "ring_game", "slip_ring"]

#: The moves of App. C along one axis.
MOVES = (-2, -1, 1, 2)

_RING_LIMIT = 12  # 12² · 2¹¹ = 294 912 states


def _check_size(n: int, least: int = 5) -> None:
    if n < least:
        raise InvalidParameter(f"the ring needs n ≥ {least} cells (the moves −2 and +2 coincide at 4), got {n}")


# ---------------------------------------------------------------------- the mined game


def ring(
    n: int = 5, *, mine_probability: float = 0.7, end_reward: float = 10.0, horizon: int | None = None
) -> TabularMDP:
    """The mined ring game of App. C as a table: ``n²·2^(n−1)`` states, 4 actions each.

    A state is (cell of the goal, cell of the agent, mines on the other cells). The reward is the item of the cell that
    is entered, mines persist, and with the agent on the goal every action stays there with reward 0. Episodes start at
    cell 0 with the goal elsewhere, each other cell mined with probability 0.7, and last ``4n`` steps.

    Symmetries: ``Z`` (rotations, as in the paper), ``D`` (with reflections), ``graph`` (all automorphisms of the
    graph on which ±1 and ±2 are neighbours; at n = 5 that is the complete graph and the group has order 120).

    >>> mdp = ring(n=5)
    >>> mdp.n_states, mdp.n_pairs, mdp.H
    (400, 1600, 20)
    """
    _check_size(n)
    if n > _RING_LIMIT:
        raise ModelTooLarge(
            f"the ring with n={n} has n²·2^(n−1) states, too many for a table (up to n={_RING_LIMIT}): "
            f"use zoo.ring_game(n) and audit it from its orbit structure"
        )
    boards = 2 ** (n - 1)
    goal, agent, mines = _ring_states(n)
    steps = np.array(MOVES)
    entered = (agent[:, None] + steps) % n
    at_goal = agent == goal
    offset = (entered - goal[:, None]) % n  # 0 is the goal, k ≥ 1 the cell with mine bit k−1
    mined = (mines[:, None] >> np.maximum(offset - 1, 0)) & 1
    reward = np.where(offset == 0, end_reward, -mined.astype(float))
    reward[at_goal] = 0.0
    landing = np.where(at_goal[:, None], agent[:, None], entered)
    successor = ((goal[:, None] * n + landing) * boards + mines[:, None]).ravel()
    pairs = successor.size
    P = sp.csr_matrix((np.ones(pairs), successor, np.arange(pairs + 1)), shape=(pairs, goal.size))
    weight = mine_probability ** _bits(mines) * (1 - mine_probability) ** (n - 1 - _bits(mines))
    p0 = np.where((agent == 0) & (goal != 0), weight / (n - 1), 0.0)
    return TabularMDP(
        P,
        reward.ravel(),
        p0,
        4 * n if horizon is None else horizon,
        name=f"ring(n={n})",
        state_names=partial(_ring_name, n),
        cells=lambda s: circle(n, *_ring_state(n, s)),
        action_names=[f"{m:+d}" for m in MOVES],
        symmetries={
            "Z": partial(_ring_symmetry, n=n, cells=_rotation(n)[None], name=f"Z{n}", order=n),
            "D": partial(
                _ring_symmetry, n=n, cells=np.stack([_rotation(n), _reflection(n)]), name=f"D{n}", order=2 * n
            ),
            "graph": partial(_ring_graph_symmetry, n=n),
        },
    )


def _ring_states(n: int) -> tuple[IntArray, IntArray, IntArray]:
    """Goal, agent and mine bits of every state; bit k stands for the cell goal + 1 + k."""
    index = np.arange(n * n * 2 ** (n - 1))
    boards = 2 ** (n - 1)
    return index // boards // n, index // boards % n, index % boards


def _ring_state(n: int, s: int) -> tuple[int, int, list[int]]:
    """The cells of the goal, of the agent and of the mines in state ``s``."""
    boards = 2 ** (n - 1)
    goal, agent, bits = s // boards // n, s // boards % n, s % boards
    return goal, agent, sorted((goal + 1 + k) % n for k in range(n - 1) if bits >> k & 1)


def _ring_name(n: int, s: int) -> str:
    goal, agent, mines = _ring_state(n, s)
    return f"goal {goal}, agent {agent}, mines {{{','.join(map(str, mines))}}}"


def _bits(values: IntArray) -> IntArray:
    return np.bitwise_count(values.astype(np.uint64)).astype(np.int64)


def _rotation(n: int) -> IntArray:
    return (np.arange(n) + 1) % n


def _reflection(n: int) -> IntArray:
    return -np.arange(n) % n


def _ring_symmetry(mdp: TabularMDP, *, n: int, cells: AnyArray, name: str, order: int | None) -> Symmetry:
    """Permutations of the cells that preserve the graph, as a symmetry of the game."""
    boards = 2 ** (n - 1)
    goal, agent, mines = _ring_states(n)
    on_states = np.empty((len(cells), goal.size), dtype=np.int32)
    on_pairs = np.empty((len(cells), 4 * goal.size), dtype=np.int32)
    steps = np.array(MOVES)
    number = {m % n: k for k, m in enumerate(MOVES)}
    for j, g in enumerate(cells):
        image_goal, image_agent, image_mines = g[goal], g[agent], np.zeros_like(mines)
        for k in range(n - 1):
            place = (g[(goal + 1 + k) % n] - image_goal - 1) % n
            image_mines |= ((mines >> k) & 1) << place
        on_states[j] = (image_goal * n + image_agent) * boards + image_mines
        move = (g[(agent[:, None] + steps) % n] - image_agent[:, None]) % n
        action = np.vectorize(number.__getitem__, otypes=[np.int64])(move)
        on_pairs[j] = (on_states[j][:, None].astype(np.int64) * 4 + action).ravel()
    return Symmetry(on_states, on_pairs, name=name, order=order)


def _ring_graph_symmetry(mdp: TabularMDP, *, n: int) -> Symmetry:
    cells, order = _circulant_automorphisms(n)
    return _ring_symmetry(mdp, n=n, cells=cells, name=f"Aut(C{n}(1,2))", order=order)


def _circulant_automorphisms(n: int) -> tuple[IntArray, int]:
    """Generators and order of the automorphism group of the circulant graph with steps ±1, ±2."""
    import igraph

    edges = {tuple(sorted((q, (q + m) % n))) for q in range(n) for m in (1, 2)}
    graph = igraph.Graph(n=n, edges=sorted(edges))
    return np.array(graph.automorphism_group()), int(graph.count_automorphisms())


# ---------------------------------------------------------------------- any dimension, implicit


def ring_game(n: int = 5, d: int = 1, *, end_reward: float | None = None, horizon: int | None = None) -> GraphMDP:
    """The cyclic game on ``(Z/n)^d`` as a graph MDP (Defs. 3–6): labels safe, mine and one end; 4^d moves.

    Its tables are astronomically large for d > 1; :func:`burnside.audit` reads its quotient off the orbit structure.
    The declared symmetry ``Z`` is the group of translations, of order ``n^d``.

    >>> game = ring_game(n=50, d=3)
    >>> game.orbits(game.symmetry("Z")).free, game.symmetry("Z").order
    (True, 125000)
    """
    _check_size(n)
    if d < 1:
        raise InvalidParameter(f"the game needs d ≥ 1 dimensions, got {d}")
    size = 10.0 ** min(300.0, math.log10(24) + d * math.log10(4 * n))
    needs_memory(f"the graph of ring(n={n}, d={d}), n^d cells with 4^d moves each,", size, "make n or d smaller")
    reward_at_end = float(end_reward if end_reward is not None else (10.0 if d == 1 else 20.0))
    cells = np.stack(np.unravel_index(np.arange(n**d), (n,) * d), axis=1)
    moves = np.array(list(itertools.product(MOVES, repeat=d)))
    targets = np.stack([np.ravel_multi_index(tuple(((cells + m) % n).T), (n,) * d) for m in moves], axis=1)

    def step(x: tuple[str, ...], q: int, v: int) -> list[tuple[float, tuple[tuple[str, ...], int]]]:
        return [(1.0, (x, q if x[q] == "end" else v))]

    def reward(x: tuple[str, ...], q: int, v: int) -> float:
        if x[q] == "end":
            return 0.0
        return reward_at_end if x[v] == "end" else -1.0 if x[v] == "mine" else 0.0

    shapes = [tuple(m) if d > 1 else f"{m[0]:+d}" for m in moves.tolist()]

    def action_label(q: int, v: int) -> object:
        """The move that leads from q to v: actions are relative, so that translations leave them alone."""
        return shapes[int(np.flatnonzero(targets[q] == v)[0])]

    return GraphMDP(
        targets,
        ("safe", "mine", "end"),
        step,
        reward,
        horizon if horizon is not None else (4 * n if d == 1 else 100),
        counts={"end": 1},
        successors=1,
        reward_range=max(reward_at_end, 0.0) - min(reward_at_end, -1.0),
        name=f"ring(n={n}, d={d})",
        action_label=action_label,
        symmetries={"Z": lambda game: _translations(n, d)},
    )


def _translations(n: int, d: int) -> VertexSymmetry:
    cells = np.stack(np.unravel_index(np.arange(n**d), (n,) * d), axis=1)
    shifts = []
    for axis in range(d):
        moved = cells.copy()
        moved[:, axis] = (moved[:, axis] + 1) % n
        shifts.append(np.ravel_multi_index(tuple(moved.T), (n,) * d))
    return VertexSymmetry(np.array(shifts), name=f"Z{n}" if d == 1 else f"Z{n}^{d}", order=n**d)


# ---------------------------------------------------------------------- the slippery ring


def slip_ring(n: int = 10, *, horizon: int | None = None, slip: float = 0.2, goal: str = "uniform") -> TabularMDP:
    """The stochastic ring on which learning is measured: states (agent, goal), moves ±1 and ±2, no mines.

    With probability ``slip`` a move fails and the agent stays. The goal is absorbing and pays 1 per step spent on it,
    so that the rewards, which the learner knows, give away nothing about the moves.

    Args:
        n: cells, at least 5.
        horizon: default ``8, 10, 12, 14, …`` for n = 5, 10, 15, 20, ….
        slip: probability that a move fails.
        goal: ``"uniform"``: p₀ is uniform over all states; ``"fixed"``: the goal is always cell 0. The symmetry is the
            same, but then a learner on M only ever meets one member of each orbit.

    >>> slip_ring(5).n_states
    25
    """
    _check_size(n)
    if not 0 <= slip < 1:
        raise InvalidParameter(f"slip must lie in [0, 1), got {slip}")
    if goal not in ("uniform", "fixed"):
        raise InvalidParameter(f"goal must be 'uniform' or 'fixed', got {goal!r}")
    states = n * n
    needs_room(f"slip-ring(n={n})", states, 4 * states, 8 * states)
    target, agent = np.arange(states) // n, np.arange(states) % n
    at_goal = agent == target
    moved = np.where(at_goal[:, None], agent[:, None], (agent[:, None] + np.array(MOVES)) % n)
    landing = (target[:, None] * n + moved).ravel()
    rows = np.arange(4 * states)
    P = sp.csr_matrix(
        (
            np.concatenate([np.full(4 * states, 1 - slip), np.full(4 * states, slip)]),
            (np.concatenate([rows, rows]), np.concatenate([landing, np.repeat(np.arange(states), 4)])),
        ),
        shape=(4 * states, states),
    )
    reward = np.repeat(at_goal.astype(float), 4)
    p0 = np.full(states, 1.0 / states) if goal == "uniform" else np.where(target == 0, 1.0 / n, 0.0)
    index = np.arange(states).reshape(n, n)
    shift = index[(target + 1) % n, (agent + 1) % n]
    mirror = index[-target % n, -agent % n]
    flip = [3, 2, 1, 0]
    return TabularMDP(
        P,
        reward,
        p0,
        horizon if horizon is not None else 6 + 2 * -(-n // 5),
        name=f"slip-ring(n={n})" if goal == "uniform" else f"slip-ring(n={n}, goal=fixed)",
        state_names=lambda s: f"goal {s // n}, agent {s % n}",
        cells=lambda s: circle(n, s // n, s % n),
        action_names=[f"{m:+d}" for m in MOVES],
        symmetries={
            "Z": lambda m: Symmetry.from_actions(m, shift[None], name=f"Z{n}", order=n),
            "D": lambda m: Symmetry.from_actions(
                m, np.stack([shift, mirror]), [[0, 1, 2, 3], flip], name=f"D{n}", order=2 * n
            ),
        },
    )
