"""Rotations of observations and actions: the Lie algebra of the linear symmetries, computed as a null space.

A one-parameter group turns observations by ``exp(φ K)`` and actions by ``exp(φ L)``, with K and L skew. That it is a
symmetry is, for small φ, a *linear* condition on K and L. With the Jacobian J of what is observed at a state s, there
must be a velocity ξ of the state with ``J ξ = K o``; and with the derivatives of one step ``O(s, a)`` and its reward,

    ∂O/∂s · ξ + ∂O/∂a · L a = K O        ∂r/∂s · ξ + ∂r/∂a · L a = 0.

All derivatives are differences in the simulator, at some states that were met. What solves all of these equations is a
proposal; the check decides. Nothing has to be guessed about which numbers turn together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import expm

from burnside._types import AnyArray, FloatArray
from burnside.canonical.discovery.lifting import jacobian
from burnside.canonical.discovery.simulator import Simulator
from burnside.symmetry import Rotation
from burnside.symmetry.vectors import Trivial

__all__ = ["MOST", "Turn", "few_enough", "find_turns", "turned"]

_STATES = 48  # at which derivatives are taken
#: Numbers of observation and action together, and of the state: the equations grow with their squares.
MOST = 48
_SMALL = 2e-3  # singular values below this share of the typical one count as zero: contacts make derivatives rough
_ROUGH = 0.02  # entries of K are multiples of ½ up to this


@dataclass(frozen=True)
class Turn:
    """A one-parameter group of rotations.

    Attributes:
        observation: K, by which observations turn.
        action: L, by which actions turn; of no rows where actions are labels.
        state: A and b of the velocity ``A s + b`` of states, b as the last column.
        rewarded: whether the reward does not change, in the equations.
    """

    observation: FloatArray
    action: FloatArray
    state: FloatArray
    rewarded: bool

    def representation(self, matrix: FloatArray) -> Any:
        """The rotation as a value to declare, if it is made of plain pairs; else None."""
        pairs = _pairs(matrix)
        if pairs is None:
            return None
        return Rotation(*pairs, width=len(matrix)) if pairs else Trivial(len(matrix))

    def text(self, matrix: FloatArray) -> str:
        """For people: the pairs that turn, or the entries of K."""
        pairs = _pairs(matrix)
        if pairs is not None:
            return "turn " + " ".join(f"({i},{j})" for i, j in pairs) if pairs else "stays"
        words = [f"{matrix[j, i]:+g}·({i},{j})" for i in range(len(matrix)) for j in range(i) if matrix[j, i]]
        return "turn " + " ".join(words)


def turned(matrix: FloatArray, angle: float, x: Any) -> AnyArray:
    """``exp(φ K) x``."""
    return np.asarray(x, dtype=np.float64) @ _exponential(matrix, angle).T


def _exponential(matrix: FloatArray, angle: float) -> FloatArray:
    """``exp(φ K)``; a check asks for the same one again and again."""
    return _remembered(np.ascontiguousarray(matrix).tobytes(), len(matrix), angle)


@lru_cache(maxsize=256)
def _remembered(raw: bytes, size: int, angle: float) -> FloatArray:
    found: FloatArray = np.asarray(expm(angle * np.frombuffer(raw).reshape(size, size)), dtype=np.float64)
    found.flags.writeable = False
    return found


def _pairs(matrix: FloatArray) -> list[tuple[int, int]] | None:
    """The pairs (i, j) with K e_i = e_j, if K is made of these; None if it is not."""
    if ((matrix != 0).sum(axis=1) > 1).any() or not np.isin(np.abs(matrix), (0.0, 1.0)).all():
        return None
    return sorted((int(i), int(j)) for j, i in zip(*np.nonzero(matrix > 0), strict=True))


def few_enough(simulator: Simulator, numbers: int) -> bool:
    """Whether so many numbers of observation and action, and those of the state, can be searched for rotations."""
    return numbers <= MOST and simulator.width <= MOST


def find_turns(simulator: Simulator, seed: int = 0) -> list[Turn]:
    """All rotations that solve the equations: first those that keep the reward, then those of the dynamics alone."""
    env = simulator.env
    d = env.observation_space.shape[0]
    box = not hasattr(env.action_space, "n")
    m = env.action_space.shape[0] if box else 0
    if simulator.look is None or not few_enough(simulator, d + m) or d < 2:
        return []
    samples = _samples(simulator, box, seed)
    if len(samples) < _STATES // 2:
        return []
    varies = np.ptp([x.o for x in samples], axis=0) > 1e-9
    unknowns = [(i, j) for i in range(d) for j in range(i) if varies[i] and varies[j]]
    unknowns_a = [(i, j) for i in range(m) for j in range(i)]
    dynamics, reward = _equations(samples, unknowns, unknowns_a, d)
    found: list[Turn] = []
    for rows, rewarded in ((np.concatenate([dynamics, reward]), True), (dynamics, False)):
        for k in _null_space(rows):
            K, L = _skew(d, unknowns, k[: len(unknowns)]), _skew(m, unknowns_a, k[len(unknowns) :])
            A = _velocities(samples, K)
            if A is not None and K.any() and not any(np.allclose(K, t.observation) for t in found):
                found.append(Turn(K, L, A, rewarded))
    return found


@dataclass(frozen=True)
class _Sample:
    """Derivatives at one state."""

    s: FloatArray
    o: FloatArray
    a: FloatArray
    back: FloatArray  # J⁺
    off: FloatArray  # 1 − J J⁺: what no velocity of the state shows
    after: FloatArray
    after_s: FloatArray
    after_a: FloatArray
    reward_s: FloatArray
    reward_a: FloatArray


def _samples(simulator: Simulator, box: bool, seed: int) -> list[_Sample]:
    env = simulator.env
    env.action_space.seed(seed + 1)
    env.reset(seed=seed + 1)
    found: list[_Sample] = []
    rng = np.random.default_rng(seed)
    for k in range(_STATES):
        for _ in range(int(rng.integers(1, 12))):
            _, _, over, cut, _ = env.step(env.action_space.sample())
            if over or cut:
                env.reset()
        full, action = simulator.get(env), env.action_space.sample()
        made = _derivatives(simulator, full, action, box)
        if made is not None:
            found.append(made)
        if k % 6 == 5 or made is None:
            env.reset()
        else:
            simulator.put(env, full)
    return found


def _derivatives(simulator: Simulator, full: Any, action: Any, box: bool) -> _Sample | None:
    s = simulator.vector(full)
    J, o = jacobian(simulator, full, s)
    if J is None:
        return None
    env = simulator.env
    single = env.observation_space.dtype == np.float32
    h = 1e-3 if single else 1e-5
    inner = 0.9 * np.asarray(action, dtype=np.float64) if box else None  # away from the bounds, where actions are cut

    def step(vector: FloatArray, a: Any) -> FloatArray:
        simulator.set(full, vector)
        taken = a.astype(env.action_space.dtype) if box else a
        after, reward, *_ = env.step(taken)
        return np.append(np.asarray(after, dtype=np.float64), float(reward))

    centre: Any = action if inner is None else inner
    m = 0 if inner is None else len(inner)
    try:
        first = step(s, centre)
        by_s, by_a = np.zeros((len(first), len(s))), np.zeros((len(first), m))
        for k in np.flatnonzero(~simulator.whole).tolist():
            e = np.zeros(len(s))
            e[k] = h
            by_s[:, k] = (step(s + e, centre) - step(s - e, centre)) / (2 * h)
        for k in range(m):
            e = np.zeros(m)
            e[k] = 1e-3
            by_a[:, k] = (step(s, centre + e) - step(s, centre - e)) / 2e-3
    except Exception:  # a state that this environment does not take
        return None
    if not (np.isfinite(by_s).all() and np.isfinite(by_a).all() and np.isfinite(first).all()):
        return None
    back: FloatArray = np.asarray(np.linalg.pinv(J, rcond=1e-6), dtype=np.float64)
    a = np.zeros(0) if inner is None else inner
    return _Sample(s, o, a, back, np.eye(len(o)) - J @ back, first[:-1], by_s[:-1], by_a[:-1], by_s[-1:], by_a[-1:])


def _equations(
    samples: list[_Sample], unknowns: list[tuple[int, int]], unknowns_a: list[tuple[int, int]], d: int
) -> tuple[FloatArray, FloatArray]:
    """One column for every entry of K and of L, one row for every number of every state."""
    scale = np.std([x.o for x in samples], axis=0)
    scale = np.where(scale > 1e-6, scale, 1.0)
    dynamics, rewards = [], []
    for x in samples:
        # With K = E_ij − E_ji, K o has o_j at place i and −o_i at place j.
        turned_o = np.zeros((d, len(unknowns)))
        turned_after = np.zeros((d, len(unknowns)))
        for c, (i, j) in enumerate(unknowns):
            turned_o[i, c], turned_o[j, c] = x.o[j], -x.o[i]
            turned_after[i, c], turned_after[j, c] = x.after[j], -x.after[i]
        turned_a = np.zeros((len(x.a), len(unknowns_a)))
        for c, (i, j) in enumerate(unknowns_a):
            turned_a[i, c], turned_a[j, c] = x.a[j], -x.a[i]
        moved = x.back @ turned_o
        none = np.zeros((d, len(unknowns_a)))
        dynamics.append(np.concatenate([x.off @ turned_o, none], axis=1) / scale[:, None])
        both = np.concatenate([x.after_s @ moved - turned_after, x.after_a @ turned_a], axis=1)
        dynamics.append(both / scale[:, None])
        rewards.append(np.concatenate([x.reward_s @ moved, x.reward_a @ turned_a], axis=1))
    reward = np.concatenate(rewards)
    size = np.abs(reward).max(initial=0.0)
    return np.concatenate(dynamics), reward / size if size > 1e-9 else reward


def _null_space(rows: FloatArray) -> list[FloatArray]:
    """A sparse basis of what solves all equations; entries are multiples of ½ of the largest."""
    if not rows.shape[1]:
        return []
    _, size, right = np.linalg.svd(rows, full_matrices=True)
    size = np.concatenate([size, np.zeros(rows.shape[1] - len(size))])
    null = right[size <= _SMALL * max(float(np.median(size)), 1e-9)]
    if not 0 < len(null) <= 6:
        return []
    basis = _reduced(null)
    found = []
    for row in basis:
        # exp(φ K) comes back after a full turn only if the entries are in such a proportion
        for unit in (1.0, 0.5):
            scaled = row / np.abs(row).max() / unit
            near = np.round(2 * scaled) / 2
            if np.abs(scaled - near).max() <= _ROUGH:
                found.append(near * unit)
                break
    return found


def _reduced(rows: FloatArray) -> FloatArray:
    """Reduced echelon form with the largest pivots: commuting rotations come apart."""
    out = rows.copy()
    for k in range(len(out)):
        i, j = divmod(int(np.abs(out[k:]).argmax()), out.shape[1])
        out[[k, k + i]] = out[[k + i, k]]
        out[k] /= out[k, j]
        for other in range(len(out)):
            if other != k:
                out[other] -= out[other, j] * out[k]
    return out


def _skew(size: int, unknowns: list[tuple[int, int]], values: FloatArray) -> FloatArray:
    out = np.zeros((size, size))
    for (i, j), value in zip(unknowns, values, strict=True):
        out[i, j], out[j, i] = value, -value
    return out + 0.0


def _velocities(samples: list[_Sample], K: FloatArray) -> FloatArray | None:
    """A and b with ξ = A s + b at all states; None if the states do not move like that."""
    states = np.array([np.append(x.s, 1.0) for x in samples])
    speeds = np.array([x.back @ K @ x.o for x in samples])
    if len(samples) <= states.shape[1] // 2:
        return None
    found = np.linalg.lstsq(states, speeds, rcond=1e-8)[0].T
    error = np.abs(states @ found.T - speeds).max()
    if error > 0.01 * (1e-6 + np.abs(speeds).max()):
        return None
    near = np.round(2 * found) / 2
    tidy = np.where(np.abs(found - near) < _ROUGH, near, found)
    return tidy if np.abs(states @ tidy.T - speeds).max() <= 0.05 * (1e-6 + np.abs(speeds).max()) else found


def flow(turn: Turn, angle: float, s: FloatArray) -> FloatArray:
    """The state after a turn by an angle."""
    n = len(turn.state)
    whole = np.zeros((n + 1, n + 1))
    whole[:n] = turn.state
    return (_exponential(whole, angle) @ np.append(s, 1.0))[:n]


def angle_of(R: Any) -> float:
    """The angle of an element of SO(2)."""
    return math.atan2(float(R[1, 0]), float(R[0, 0]))
