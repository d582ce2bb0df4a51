"""From a map of observations to a map of states; and one step from a state beside one step from its image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.canonical.discovery.simulator import Simulator
from burnside.errors import BurnsideError
from burnside.symmetry.proposals import Proposal, Transitions, propose_linear
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["GOOD", "Lifter", "Screen", "Screening", "fitting", "jacobian", "scattered"]

#: Differences of one step, relative to 1 + the number, up to which a proposal is worth a thorough check.
GOOD = 1e-3
_FREE = 4  # numbers of the state that are not observed and whose sign is tried both ways
_HIDDEN = 1e-7  # what is seen changes by less with a number of the state: it is not seen
_IDLE = 6  # states at which a number that is not seen is tried
_QUICK = 40  # states of the quick look
_STRIDE = 7  # in the walk, from one of these states to the next; without a common divisor with their number
_ENOUGH = 8  # states at which all maps disagree that are not looked at any longer


@dataclass(frozen=True)
class Screening:
    """How much one step from the image differs from the image of the step.

    Attributes:
        dynamics: the median over states of the largest difference of a number, relative to 1 + its size.
        reward: the same for the reward.
        ends: the share of states where only one of both ends the episode.
    """

    dynamics: float
    reward: float
    ends: float

    @property
    def worst(self) -> float:
        """The largest of the three."""
        return max(self.dynamics, self.reward, self.ends)


_NONE = Screening(math.inf, math.inf, 1.0)  # of maps to states or actions that are none


class Lifter:
    """Maps of states for maps of observations, in one simulator.

    Near a state that is symmetric, observations depend linearly on the state, ``o ≈ J s``, so a map S of states that
    shows as the map P of observations has ``J S = P J``. Numbers of the state that are not observed keep their place,
    and both signs are tried. Where no such state is known, the state that is seen as ``P o`` is computed for every
    state anew, by Gauss and Newton's method.
    """

    def __init__(self, simulator: Simulator, seed: int = 0) -> None:
        self.simulator = simulator
        self.points: list[tuple[FloatArray, FloatArray]] = []
        self.idle: frozenset[int] = frozenset()
        env = simulator.env
        env.reset(seed=seed)
        self.start = simulator.get(env)
        if simulator.is_observation or simulator.look is None:
            return
        for at in (np.zeros(simulator.width), _typical(simulator, seed)):
            J, o = jacobian(simulator, self.start, at)
            if J is not None:
                self.points.append((J, o))
        hidden = {int(k) for J, _ in self.points for k in np.flatnonzero(np.abs(J).max(axis=0) < _HIDDEN)}
        self.idle = frozenset(k for k in hidden if not simulator.whole[k] and _idle(simulator, k, seed))

    def linear(self, rests: BoolArray) -> list[Proposal]:
        """Maps that the derivatives of one step at symmetric states allow: there nothing depends on chance.

        Numbers that rest are left out.
        """
        simulator = self.simulator
        if simulator.look is None:
            return []
        env = simulator.env
        labels = int(getattr(env.action_space, "n", 0))
        found: list[Proposal] = []
        known: set[tuple[str, str]] = set()
        for at in (np.zeros(simulator.width), _typical(simulator, 0)):
            made = self._derivatives(at, labels)
            if made is None:
                continue
            effect, fixed, d = made
            kept = np.flatnonzero(~np.append(rests, np.zeros(len(effect) - d, dtype=np.bool_)))
            effect, fixed, d = effect[np.ix_(kept, kept)], [v[kept] for v in fixed], int(d - rests.sum())
            for p in propose_linear(effect, fixed, d, bool(labels)):
                if (key := (str(p.observation), str(p.action))) not in known:
                    known.add(key)
                    found.append(p)
        return found

    def _derivatives(self, at: FloatArray, labels: int) -> tuple[FloatArray, list[FloatArray], int] | None:
        simulator, env = self.simulator, self.simulator.env
        J, o = jacobian(simulator, self.start, at)
        if J is None:
            return None
        d, single = len(o), env.observation_space.dtype == np.float32
        m = labels or env.action_space.shape[0]
        h = 1e-3 if single else 1e-5

        def after(vector: FloatArray, action: Any) -> FloatArray:
            simulator.set(self.start, vector)
            taken = action if labels else np.asarray(action, dtype=env.action_space.dtype)
            return np.asarray(env.step(taken)[0], dtype=np.float64)

        def mean_after(vector: FloatArray) -> FloatArray:
            actions: Any = range(labels) if labels else [np.zeros(m)]
            return np.mean([after(vector, a) for a in actions], axis=0)

        try:
            middle = mean_after(at)
            columns = np.zeros((d, len(at)))
            for k in np.flatnonzero(~simulator.whole).tolist():
                e = np.zeros(len(at))
                e[k] = h
                columns[:, k] = (mean_after(at + e) - mean_after(at - e)) / (2 * h)
            if labels:
                by_action = np.stack([after(at, a) - middle for a in range(labels)], axis=1)
            else:
                by_action = np.stack([after(at, 0.1 * e) - after(at, -0.1 * e) for e in np.eye(m)], axis=1)
        except Exception:  # a state that this environment does not take
            return None
        effect = np.zeros((d + m, d + m))
        effect[:d, :d] = columns @ np.linalg.pinv(J, rcond=1e-6) - J @ np.linalg.pinv(J, rcond=1e-6)
        effect[:d, d:] = by_action
        if not np.isfinite(effect).all():
            return None
        return effect, [np.concatenate([o, np.zeros(m)]), np.concatenate([middle - o, np.zeros(m)])], d

    def maps(self, observation: SignedPermutation) -> list[SignedPermutation]:
        """Signed permutations of the state that can belong to one of the observation."""
        if self.simulator.is_observation:
            return [observation]
        for J, o in self.points:
            if np.abs(observation(o) - o).max() <= 1e-5 * (1 + np.abs(o).max()):
                found = _solved(self.simulator, J, observation, self.idle)
                if found:
                    return found
        return []

    def image(self, observation: Any, state: Any, full: Any = None) -> FloatArray | None:
        """The vector of a state that is seen as the image of what is seen at a state; None if none was found."""
        simulator, look = self.simulator, self.simulator.look
        if look is None:
            return None
        template = self.start if full is None else full
        simulator.set(template, state)
        target = np.asarray(observation(look(simulator.env)), dtype=np.float64)
        span = np.where(simulator.whole, 0.0, math.pi / 2)
        rng = np.random.default_rng(0)
        shifts = [
            np.zeros(simulator.width),
            -2 * state,
            *(span * rng.choice((-2, -1, 1, 2), len(span)) for _ in range(6)),
        ]
        for shift in shifts:
            found = self._newton(template, target, state + shift)
            if found is not None:
                return found
        return None

    def _newton(self, template: Any, target: FloatArray, vector: FloatArray) -> FloatArray | None:
        single = self.simulator.env.observation_space.dtype == np.float32
        enough = (3e-6 if single else 1e-9) * (1 + np.abs(target).max())
        damping, now = 1e-6, vector
        J, o = jacobian(self.simulator, template, now)
        for _ in range(12):
            if J is None:
                return None
            off = target - o
            if np.abs(off).max() <= enough:
                return now
            step = np.linalg.solve(J.T @ J + damping * np.eye(J.shape[1]), J.T @ off)
            if np.abs(step).max() < 1e-12:
                return None
            now = now + step
            J, o = jacobian(self.simulator, template, now)
        return None


def _solved(
    simulator: Simulator, J: FloatArray, observation: SignedPermutation, idle: frozenset[int]
) -> list[SignedPermutation]:
    hidden = np.flatnonzero(np.abs(J).max(axis=0) < _HIDDEN)
    solved = np.linalg.lstsq(J, observation.matrix() @ J, rcond=None)[0]
    solved[hidden], solved[:, hidden] = 0.0, 0.0
    solved[hidden, hidden] = 1.0
    near = np.round(solved)
    if np.abs(solved - near).max() > 0.05 or not (np.abs(near).sum(axis=0) == 1).all():
        return []
    if not (np.abs(near).sum(axis=1) == 1).all():
        return []
    index = np.abs(near).argmax(axis=1)
    signs = near[np.arange(len(near)), index].astype(np.int64)
    free = [int(k) for k in hidden if not simulator.whole[k] and int(k) not in idle][:_FREE]
    found = []
    for flips in product((1, -1), repeat=len(free)):
        changed = signs.copy()
        changed[free] = flips
        found.append(SignedPermutation(index, changed))
    return found


def _idle(simulator: Simulator, k: int, seed: int) -> bool:
    """Whether a number of the state that is not seen has no effect on a step either, as where a body is on a plain."""
    env = simulator.env
    env.action_space.seed(seed)
    for j in range(_IDLE):
        env.reset(seed=seed + j)
        for _ in range(5 * j):
            env.step(env.action_space.sample())
        state, action = simulator.get(env), env.action_space.sample()
        vector, found = simulator.vector(state), []
        for value in (vector[k], -vector[k], vector[k] + 1.0):
            try:
                simulator.set(state, np.where(np.arange(len(vector)) == k, value, vector))
                after, reward, over, _, _ = env.step(action)
            except Exception:  # a state that this environment does not take
                return False
            found.append(np.append(np.asarray(after, dtype=np.float64), [float(reward), float(over)]))
        if not all(np.allclose(row, found[0], rtol=1e-6, atol=1e-7) for row in found[1:]):
            return False
    return True


def _typical(simulator: Simulator, seed: int) -> FloatArray:
    """The middle of some starting states, rounded off where they scatter about 0."""
    env = simulator.env
    states = []
    for k in range(16):
        env.reset(seed=seed + k)
        states.append(simulator.vector(simulator.get(env)))
    middle, spread = np.mean(states, axis=0), np.std(states, axis=0)
    first = getattr(env.unwrapped, "init_qpos", None)
    if first is not None and simulator.parts[0] == ("qpos", len(first)):
        return np.concatenate([first, np.zeros(len(middle) - len(first))])
    return np.where(np.abs(middle) < 3 * spread, 0.0, middle)


def jacobian(simulator: Simulator, start: Any, at: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    """How what is observed at a state changes with the numbers of the state, and what is observed there."""
    look = simulator.look
    assert look is not None

    def seen(vector: FloatArray) -> FloatArray:
        simulator.set(start, vector)
        return look(simulator.env)

    single = simulator.env.observation_space.dtype == np.float32
    step = 1e-3 if single else 1e-5
    try:
        o = seen(at)
        if not np.isfinite(o).all():
            return None, o
        columns = []
        for k in range(len(at)):
            e = np.zeros(len(at))
            e[k] = step
            columns.append(np.zeros_like(o) if simulator.whole[k] else (seen(at + e) - seen(at - e)) / (2 * step))
    except Exception:  # a state that this environment does not take
        return None, np.zeros(0)
    found = np.array(columns).T
    return (found, o) if np.isfinite(found).all() else (None, o)


@dataclass(frozen=True)
class _Step:
    """A step that was made once, to be compared with what many maps make of it."""

    state: Any
    action: Any
    after: FloatArray
    reward: float
    over: bool


class Screen:
    """One step from some states beside one step from their images, for any number of maps.

    The states, and what follows from them, are the same for all maps, so they are walked to once. A map that is wrong
    is mostly wrong everywhere: what disagrees at the first :data:`_ENOUGH` states is not looked at any longer. These
    are spread over several episodes and over early and late steps. Numbers that rest are not compared.
    """

    def __init__(self, simulator: Simulator, seed: int = 0, rests: BoolArray | None = None) -> None:
        self.simulator = simulator
        self.tried = 0  # steps from images
        self._steps = _walked(simulator, seed)
        width = simulator.env.observation_space.shape[0]
        self._shown = slice(None) if rests is None else np.flatnonzero(~rests[:width])

    def look(self, observation: Any, action: Any, state: Any, places: int = _QUICK) -> Screening:
        """How maps of observations, actions and states (vectors) look at so many places."""
        simulator, env = self.simulator, self.simulator.env
        dynamics, rewards, ends = [], [], []
        for step in self._steps[:places]:
            try:
                simulator.put(env, simulator.moved(step.state, state))
                self.tried += 1
                image, reward, over, _, _ = env.step(fitting(action(step.action), step.action))
            except Exception:  # a state or action that is none
                return _NONE
            wanted, image = np.asarray(observation(step.after))[self._shown], np.asarray(image)[self._shown]
            dynamics.append(float(np.max(np.abs(wanted - image) / (1 + np.abs(wanted)))))
            rewards.append(abs(step.reward - float(reward)) / (1 + abs(step.reward)))
            ends.append(step.over != bool(over))
            if len(dynamics) == _ENOUGH and not any(apart <= GOOD for apart in dynamics):
                break
        return Screening(_middle(dynamics), _middle(rewards), float(np.mean(ends))) if dynamics else _NONE


def _walked(simulator: Simulator, seed: int) -> list[_Step]:
    """Steps of random play, in an order in which the first few are from all over it; none if states cannot be set."""
    env = simulator.env
    env.action_space.seed(seed)
    env.reset(seed=seed)
    found: list[_Step] = []
    for k in range(_QUICK):
        s, a = simulator.get(env), env.action_space.sample()
        _, _, over, cut, _ = env.step(a)
        walked = simulator.get(env)
        try:
            simulator.put(env, s)
            after, reward, over_here, _, _ = env.step(a)
            simulator.put(env, walked)
        except Exception:  # a state that this environment does not take back
            return []
        found.append(_Step(s, a, np.array(after, dtype=np.float64), float(reward), bool(over_here)))
        if over or cut or k % 10 == 9:
            env.reset()
    return [found[_STRIDE * k % _QUICK] for k in range(_QUICK)]


def scattered(simulator: Simulator, count: int, seed: int = 0) -> Transitions | None:
    """Transitions from states whose numbers got random signs and, within a part of the state, random places."""
    env, rng = simulator.env, np.random.default_rng(seed)
    look = simulator.look
    assert look is not None
    env.action_space.seed(seed + 2)
    env.reset(seed=seed + 2)
    labels = int(getattr(env.action_space, "n", 0))
    rows: tuple[list[Any], ...] = ([], [], [], [])
    for k in range(count):
        _, _, over, cut, _ = env.step(env.action_space.sample())
        if over or cut or k % 25 == 24:
            env.reset()
        walked = simulator.get(env)
        vector, at = simulator.vector(walked), 0
        for _, size in simulator.parts:
            place = at + rng.permutation(size)
            if not simulator.whole[at : at + size].any():
                vector[at : at + size] = vector[place] * rng.choice((-1.0, 1.0), size)
            at += size
        action = env.action_space.sample()
        try:
            simulator.set(walked, vector)
            here = look(env)
            after, reward, *_ = env.step(action)
            simulator.put(env, walked)
        except Exception:  # a state that this environment does not take
            env.reset()
            continue
        for row, value in zip(rows, (here, action, float(reward), np.array(after, dtype=np.float64)), strict=True):
            row.append(value)
    o, a, r, o2 = rows
    taken = np.array(a, dtype=np.int64) if labels else np.array(a, dtype=np.float64)
    try:
        return Transitions(np.array(o, dtype=np.float64), taken, np.array(r), np.array(o2), labels)
    except BurnsideError:  # too few, or not finite
        return None


def _middle(values: list[float]) -> float:
    found = float(np.median(values))
    return found if math.isfinite(found) else math.inf


def fitting(action: Any, like: Any) -> Any:
    """An action in the type of another one."""
    return np.asarray(action, dtype=like.dtype) if isinstance(like, np.ndarray) else int(action)
