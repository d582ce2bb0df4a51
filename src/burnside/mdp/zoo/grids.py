"""Grids: a square room with D4, the torus with translations, the hypercube with S_d."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from burnside._types import FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.mdp._checks import needs_room
from burnside.mdp.symmetry import Symmetry
from burnside.mdp.tabular import TabularMDP

__all__ = ["grid", "hypercube", "torus"]

_STEPS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
_STEP_NAMES = ["up", "down", "left", "right"]
_QUARTER_TURN = np.array([[0, -1], [1, 0]])
_TRANSPOSE = np.array([[0, 1], [1, 0]])


def slippery(landing: IntArray, absorbing: Any, slip: float) -> tuple[sp.csr_matrix, FloatArray]:
    """Kernel and rewards of a walk to ``landing[s, a]`` that fails with probability ``slip``; absorbing ones pay 1."""
    _check_slip(slip)
    n, width = landing.shape
    stay = np.repeat(np.arange(n), width)
    stops = np.repeat(np.asarray(absorbing, dtype=np.bool_), width)
    target = np.where(stops, stay, landing.ravel())
    rows = np.arange(n * width)
    values = np.concatenate([np.full(rows.size, 1 - slip), np.full(rows.size, slip)])
    P = sp.csr_matrix((values, (np.concatenate([rows, rows]), np.concatenate([target, stay]))), shape=(rows.size, n))
    return P, stops.astype(float)


def _check_slip(slip: float) -> None:
    if not 0 <= slip < 1:
        raise InvalidParameter(f"slip must lie in [0, 1), got {slip}")


def grid(n: int = 5, *, horizon: int | None = None, slip: float = 0.2) -> TabularMDP:
    """An n×n room (n odd) with an absorbing goal in the centre that pays 1 per step; walls stop the agent.

    Its symmetry ``D4`` (8 rotations and reflections) permutes the four moves as well, and fixes some states: the
    paper's factor takes both reductions at once, the exact count does not.

    >>> grid(5).symmetry("D4").burnside_counts()
    (6, 15)
    """
    if n < 3 or n % 2 == 0:
        raise InvalidParameter(f"the grid needs an odd n ≥ 3 so that it has a centre, got {n}")
    needs_room(f"grid(n={n})", n * n, 4 * n * n, 8 * n * n)
    cells = np.stack(np.unravel_index(np.arange(n * n), (n, n)), axis=1)
    landing = np.stack([np.clip(cells + step, 0, n - 1) @ [n, 1] for step in _STEPS], axis=1)
    P, reward = slippery(landing, np.arange(n * n) == n * n // 2, slip)
    return TabularMDP(
        P,
        reward,
        np.full(n * n, 1 / (n * n)),
        horizon if horizon is not None else 2 * n - 2,
        name=f"grid(n={n})",
        state_names=lambda s: f"({s // n},{s % n})",
        positions=cells[:, ::-1],
        action_names=_STEP_NAMES,
        symmetries={"D4": partial(_grid_symmetry, n=n)},
    )


def _grid_symmetry(mdp: TabularMDP, *, n: int) -> Symmetry:
    centred = 2 * np.stack(np.unravel_index(np.arange(n * n), (n, n)), axis=1) - (n - 1)
    states = [((centred @ m.T + n - 1) // 2) @ [n, 1] for m in (_QUARTER_TURN, _TRANSPOSE)]
    return Symmetry.from_actions(mdp, np.array(states), _step_images(), name="D4", order=8)


def _step_images() -> IntArray:
    """How the quarter turn and the transposition permute the four moves."""
    images = []
    for m in (_QUARTER_TURN, _TRANSPOSE):
        turned = _STEPS @ m.T
        images.append([int(np.flatnonzero((t == _STEPS).all(axis=1))[0]) for t in turned])
    return np.array(images)


def torus(n: int = 3, *, horizon: int | None = None, slip: float = 0.2) -> TabularMDP:
    """An n×n torus; states (goal, agent); the goal is absorbing and pays 1 per step.

    Symmetries: ``full`` (translations and D4, order 8n²; 72 at n = 3) and ``translations`` (order n²).

    >>> model = torus(3)
    >>> model.n_states, model.symmetry("full").order
    (81, 72)
    """
    if n < 3:
        raise InvalidParameter(f"the torus needs n ≥ 3 (opposite moves coincide at 2), got {n}")
    needs_room(f"torus(n={n})", n**4, 4 * n**4, 8 * n**4)
    cells = np.stack(np.unravel_index(np.arange(n * n), (n, n)), axis=1)
    size = n * n
    goal, agent = np.arange(size * size) // size, np.arange(size * size) % size
    moved = np.stack([((cells + step) % n) @ [n, 1] for step in _STEPS], axis=1)
    landing = goal[:, None] * size + moved[agent]
    P, reward = slippery(landing, goal == agent, slip)
    return TabularMDP(
        P,
        reward,
        np.full(size * size, 1 / size**2),
        horizon if horizon is not None else 2 * n,
        name=f"torus(n={n})",
        state_names=lambda s: f"goal {divmod(s // size, n)}, agent {divmod(s % size, n)}",
        action_names=_STEP_NAMES,
        symmetries={
            "full": partial(_torus_symmetry, n=n, point_group=True),
            "translations": partial(_torus_symmetry, n=n, point_group=False),
        },
    )


def _torus_symmetry(mdp: TabularMDP, *, n: int, point_group: bool) -> Symmetry:
    cells = np.stack(np.unravel_index(np.arange(n * n), (n, n)), axis=1)
    maps = [((cells + shift) % n) @ [n, 1] for shift in np.eye(2, dtype=np.int64)]
    actions = [np.arange(4)] * 2
    if point_group:
        maps += [((cells @ m.T) % n) @ [n, 1] for m in (_QUARTER_TURN, _TRANSPOSE)]
        actions += list(_step_images())
    size = n * n
    states = [(g[:, None] * size + g[None, :]).ravel() for g in maps]
    order = size * (8 if point_group else 1)  # D4 acts faithfully on every torus with n ≥ 3
    name = f"Z{n}²⋊D4" if point_group else f"Z{n}²"
    return Symmetry.from_actions(mdp, np.array(states), np.array(actions), name=name, order=order)


def hypercube(d: int = 4, *, horizon: int | None = None, slip: float = 0.2) -> TabularMDP:
    """Bit strings of length d; action i flips bit i, a slip flips a random bit; all ones is absorbing and pays 1.

    ``S_d`` permutes bits and actions: the order d! says little, the joint count d + (d−1) + 1 = 2d all.

    >>> hypercube(4).symmetry("S").n_pair_orbits
    8
    """
    if not 1 <= d <= 16:
        raise InvalidParameter(f"the hypercube needs 1 ≤ d ≤ 16, got {d}")
    _check_slip(slip)
    states = np.arange(2**d)
    flipped = states[:, None] ^ (1 << np.arange(d))
    done = states == 2**d - 1
    successors = np.where(done[:, None], states[:, None], flipped)
    weights = (1 - slip) * np.eye(d) + slip / d  # by action and flipped bit
    values = np.tile(weights, (2**d, 1))
    values[-d:] = np.eye(d)[0]  # the last state stays: one entry of exactly 1, not a sum that rounds
    rows = np.repeat(np.arange(d * 2**d), d)
    P = sp.csr_matrix((values.ravel(), (rows, np.repeat(successors, d, axis=0).ravel())), shape=(d * 2**d, 2**d))
    return TabularMDP(
        P,
        np.repeat(done.astype(float), d),
        np.full(2**d, 2.0**-d),
        horizon if horizon is not None else 2 * d,
        name=f"hypercube(d={d})",
        state_names=lambda s: format(s, f"0{d}b")[::-1],
        action_names=[f"flip {i}" for i in range(d)],
        symmetries={"S": partial(_hypercube_symmetry, d=d)},
    )


def _hypercube_symmetry(mdp: TabularMDP, *, d: int) -> Symmetry:
    if d == 1:
        return Symmetry.trivial(mdp)
    bits = [np.roll(np.arange(d), 1)] if d > 2 else []
    bits.append(np.array([1, 0, *range(2, d)]))
    states = np.arange(2**d)
    images = [sum(((states >> i) & 1) << int(g[i]) for i in range(d)) for g in bits]
    return Symmetry.from_actions(mdp, np.array(images), np.array(bits), name=f"S{d}", order=math.factorial(d))
