"""States that nobody declared: found in the environment, and moved so that what is seen moves as declared.

Of an environment of no known kind the attributes that change while one plays are taken for the state
(:mod:`burnside.canonical.discovery.simulator`). How the group acts on them follows from how it acts on observations: of
a state s that is seen as o, the image is the state that is seen as ``g·o``. Where observations depend on the state
linearly it is solved for. Where they bend (angles seen as sines), Newton's method finds it for some states, and the
affine map through these is taken if it is right for others.

Numbers that are not seen stay as they are. That is right for clocks and for whatever has no effect; otherwise both
signs are tried, and what fails then proves nothing: :attr:`Lift.guessed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.canonical.checking.access import StateAccess, plain_action, reset_env, step_env
from burnside.canonical.discovery.flat import FlatEnv
from burnside.canonical.discovery.lifting import Lifter, jacobian
from burnside.canonical.discovery.simulator import Simulator, open_simulator
from burnside.errors import BurnsideError
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.groups import EnvGroup, FiniteGroup

__all__ = ["Lift", "find_lift"]

#: The image of the vector of a state under an element.
Move = Callable[[Any, FloatArray], FloatArray]

_STATES = 160  # states that are looked at
_WIDEST = 48  # numbers of a state
_GUESSES = 3  # numbers that are not seen and whose signs are tried
_TRIALS = 12  # steps by which signs are told apart
_SOLVED = 24  # states more than numbers for which Newton's method is used


@dataclass(frozen=True)
class Lift:
    """A state that was found, and how the group acts on it.

    Attributes:
        access: how to read, set and move it.
        guessed: whether numbers that are not seen and matter were moved by a guess: then ``holds`` is shown, and
            ``refuted`` is not.
    """

    access: StateAccess
    guessed: bool


def find_lift(
    env: Any, symmetry: EnvSymmetry, group: EnvGroup, fold: Callable[[Any], Any] | None = None
) -> Lift | None:
    """The state of an environment, moved as its observations are; None if there is no such thing to be found.

    Args:
        env: the environment, its angles and quaternions as they are.
        symmetry: how observations are moved.
        group: its group, as it was declared.
        fold: what brings observations that mean the same to the same numbers.
    """
    try:
        flat = FlatEnv(env)
        flat.shaped(flat.exact(reset_env(env, 0)))
        simulator = open_simulator(flat)
    except Exception:  # an environment that does not like to be looked into, or words among its observations
        return None
    if simulator is None or simulator.look is None or simulator.width > _WIDEST:
        return None
    try:
        return _Finder(env, flat, simulator, symmetry, group, fold or (lambda x: x)).lift()
    except BurnsideError:  # the environment fails, or the symmetry does not fit what is seen
        return None


@dataclass
class _Finder:
    env: Any
    flat: FlatEnv
    simulator: Simulator
    symmetry: EnvSymmetry
    group: EnvGroup
    fold: Callable[[Any], Any]
    states: list[Any] = field(default_factory=list)
    vectors: FloatArray = field(default_factory=lambda: np.empty(0))
    seen: list[Any] = field(default_factory=list)

    def lift(self) -> Lift | None:
        self._play()
        self.rows = np.array([self.flat.exact(o) for o in self.seen])
        moves = self._linear() or self._bent()
        if moves is None:
            return None
        move, hidden = moves
        free = [k for k in np.flatnonzero(hidden).tolist() if not self._idle(k)]
        if not free:
            return Lift(self._access(move, np.ones(self.simulator.width)), False)
        if len(free) > _GUESSES or not isinstance(self.group, FiniteGroup) or self.group.order != 2:
            return None  # of a larger group, signs would differ by element
        for signs in product((1.0, -1.0), repeat=len(free)):
            flips = np.ones(self.simulator.width)
            flips[free] = signs
            access = self._access(move, flips)
            if self._commutes(access):
                return Lift(access, True)
        return None

    def _play(self) -> None:
        """States along random play, and what is seen there."""
        env, simulator = self.env, self.simulator
        env.action_space.seed(1)
        x, over = reset_env(env, 1), False
        for k in range(_STATES):
            if over or k % 8 == 7:  # what is drawn at reset must vary too
                x = reset_env(env, k + 2)
            self.states.append(simulator.get(self.flat))
            self.seen.append(x)
            outcome = step_env(env, env.action_space.sample())
            x, over = outcome.observation, outcome.terminated or outcome.truncated
        self.vectors = np.array([simulator.vector(s) for s in self.states])

    # ------------------------------------------------------------------ from observations to states

    def _target(self, g: Any, observation: Any) -> FloatArray:
        return self.flat.exact(self.symmetry.act_on_observation(g, observation))

    def _folded(self, seen: FloatArray) -> FloatArray:
        return self.flat.exact(self.fold(self.flat.shaped(seen)))

    def _linear(self) -> tuple[Move, BoolArray] | None:
        """Where observations are sums of numbers of the state: the state that is seen as the image, solved for."""
        varies = np.ptp(self.vectors, axis=0) > 0
        inputs = np.concatenate([self.vectors * varies, np.ones((len(self.vectors), 1))], axis=1)
        clipped = _clipped(self.rows)
        weights = _regressed(inputs, self.rows, clipped)
        size = 1 + np.abs(self.rows).max(axis=0)
        if weights is None or not (clipped | (np.abs(inputs @ weights - self.rows) <= self._slack() * size)).all():
            return None
        near = np.abs(weights - np.rint(weights)) < 1e-5
        weights[near] = np.rint(weights[near])  # most are numbers of the state themselves
        W, c = weights[:-1].T, weights[-1]
        hidden: BoolArray = np.abs(W).max(axis=0) == 0
        kept = np.flatnonzero(~hidden)
        if not kept.size or np.linalg.matrix_rank(W[:, kept], tol=1e-6) < kept.size:
            return None
        back = np.linalg.pinv(W[:, kept])

        def move(g: Any, vector: FloatArray) -> FloatArray:
            wanted = self._target(g, self.flat.shaped(W @ vector + c)) - c
            out = vector.copy()
            out[kept] = back @ wanted
            if not (np.abs(W[:, kept] @ out[kept] - wanted) <= 10 * self._slack() * size).all():
                raise BurnsideError("no state is seen as the image of this one")
            return out

        return (move, hidden) if self._fits(move) else None

    def _bent(self) -> tuple[Move, BoolArray] | None:
        """Where they bend: Newton's method for some states, and the affine map through what it found."""
        simulator = self.simulator
        lifter = Lifter(simulator)
        J, _ = jacobian(simulator, self.states[3], self.vectors[3])
        if J is None:
            return None
        hidden: BoolArray = np.abs(J).max(axis=0) < 1e-7
        kept = np.flatnonzero(~hidden)
        if not kept.size or simulator.whole[kept].any() or np.linalg.matrix_rank(J[:, kept], tol=1e-6) < kept.size:
            return None
        maps: dict[Any, tuple[FloatArray, FloatArray]] = {}
        for g in self._elements():
            found = self._affine(lifter, g, kept)
            if found is None:
                return None
            maps[_key(g)] = found

        def move(g: Any, vector: FloatArray) -> FloatArray:
            if _key(g) not in maps:
                made = self._affine(lifter, g, kept)
                if made is None:
                    raise BurnsideError("no state is seen as the image of this one")
                maps[_key(g)] = made
            A, b = maps[_key(g)]
            out = vector.copy()
            out[kept] = A @ vector[kept] + b
            return out

        return (move, hidden) if self._fits(move) else None

    def _affine(self, lifter: Lifter, g: Any, kept: Any) -> tuple[FloatArray, FloatArray] | None:
        """The affine map of states by an element, from images of some that Newton's method found."""
        pairs = []
        for k in np.linspace(0, len(self.states) - 1, len(kept) + _SOLVED).astype(int).tolist():
            wanted = self._target(g, self.seen[k])
            found = lifter.image(lambda _, wanted=wanted: wanted, self.vectors[k], self.states[k])
            if found is not None:
                pairs.append((self.vectors[k][kept], found[kept]))
        if len(pairs) < len(kept) + 4:
            return None
        before, after = np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])
        # Angles are found up to full turns: those are taken that one map explains.
        inputs = np.concatenate([before, np.ones((len(before), 1))], axis=1)
        for _ in range(3):
            weights = np.linalg.lstsq(inputs, after, rcond=1e-9)[0]
            after = after + 2 * np.pi * np.rint((inputs @ weights - after) / (2 * np.pi))
        if np.abs(inputs @ weights - after).max() > 1e-3 * (1 + np.abs(after).max()):
            return None
        A, b = weights[:-1].T, weights[-1]
        near = np.abs(A - np.rint(A)) < 1e-3
        A = np.where(near, np.rint(A), A)
        turns = b / (np.pi / 2)
        b = np.where(
            np.abs(b) < 1e-3, 0.0, np.where(np.abs(turns - np.rint(turns)) < 1e-3, np.rint(turns) * np.pi / 2, b)
        )
        return A, b

    def _elements(self) -> list[Any]:
        return list(self.symmetry.generators)

    def _slack(self) -> float:
        return 1e-5 if self.flat.observation_space.dtype == np.float32 else 1e-8

    def _fits(self, move: Move) -> bool:
        """Whether the images of states are seen as the images of what was seen."""
        look = self.simulator.look
        assert look is not None
        tried = right = 0
        for g in self._elements():
            for k in range(5, len(self.states), 9):
                wanted = self._target(g, self.seen[k])
                try:
                    self.simulator.set(self.states[k], move(g, self.vectors[k]))
                    found = self._folded(look(self.flat))
                except Exception:  # a state that this environment does not take
                    continue
                tried += 1
                right += bool(np.allclose(found, wanted, rtol=20 * self._slack(), atol=20 * self._slack()))
        return tried > 4 and right == tried

    # ------------------------------------------------------------------ numbers that are not seen

    def _idle(self, k: int) -> bool:
        """Whether a number is a clock (it grows by the same amount in every step) or has no effect on a step."""
        column, same = self.vectors[:, k], []
        steps = np.diff(column)
        inner = steps[np.isclose(steps, np.median(steps), rtol=1e-9, atol=1e-12)]
        if np.ptp(column) == 0 or (len(inner) > 0.8 * len(steps) and abs(np.median(steps)) > 0):
            return True
        shift = max(float(np.std(column)), 1e-3)
        for j in range(0, len(self.states), 16):
            outcomes = []
            for by in (0.0, shift, -shift):
                vector = self.vectors[j].copy()
                vector[k] += np.rint(by) if self.simulator.whole[k] else by
                outcomes.append(self._step(self.states[j], vector, j))
            missing = any(outcome is None for outcome in outcomes)
            same.append(not missing and all(_equal(outcomes[0], other) for other in outcomes[1:]))
        return all(same)

    def _step(self, state: Any, vector: FloatArray, seed: int) -> Any:
        """What a step does, with chance held fast."""
        try:
            self.env.action_space.seed(seed)
            self.simulator.set(state, vector)
            self.env.unwrapped.np_random = np.random.default_rng(seed)
            outcome = step_env(self.env, self.env.action_space.sample())
        except Exception:  # a state that this environment does not take
            return None
        return np.append(self.flat.exact(outcome.observation), [outcome.reward, outcome.terminated])

    def _commutes(self, access: StateAccess) -> bool:
        """Whether a step from images is the image of the step, at some states, with chance held fast."""
        env = self.env
        for j in range(3, len(self.states), max(1, len(self.states) // _TRIALS)):
            env.action_space.seed(j)
            action, g = env.action_space.sample(), self._elements()[0]
            state = self._read(self.states[j])
            try:
                access.put(env, state)
                env.unwrapped.np_random = np.random.default_rng(j)
                here = step_env(env, action)
                access.put(env, access.act(g, state))
                env.unwrapped.np_random = np.random.default_rng(j)
                there = step_env(env, plain_action(env.action_space, self.symmetry.act_on_action(g, action)))
            except Exception:  # a state or an action that is none
                return False
            if not np.allclose(
                self._target(g, here.observation), self._folded(self.flat.exact(there.observation)), 1e-4, 1e-4
            ):
                return False
        return True

    # ------------------------------------------------------------------ what the check uses

    def _read(self, state: Any) -> Any:
        """A state as the check has it: whole if its kind is known, else as a vector."""
        return state if self.simulator.native else self.simulator.vector(state)

    def _access(self, move: Move, flips: FloatArray) -> StateAccess:
        simulator, flat = self.simulator, self.flat
        flipped = bool((flips < 0).any())

        def moved(g: Any, vector: FloatArray) -> FloatArray:
            out = move(g, vector)
            return out * flips if flipped and g != self.group.identity else out

        def put(env: Any, state: Any) -> None:
            if simulator.native:
                simulator.put(flat, state)
            else:
                simulator.set(simulator.get(flat), np.asarray(state, dtype=np.float64))

        def act(g: Any, state: Any) -> Any:
            if simulator.native:
                whole = simulator.complete(lambda _, parts: simulator.on_parts(parts, lambda v: moved(g, v)))
                return whole(g, state)
            return moved(g, np.asarray(state, dtype=np.float64))

        return StateAccess(lambda env: self._read(simulator.get(flat)), put, act, False, False)


def _clipped(rows: FloatArray) -> BoolArray:
    """Which numbers lie at a bound: at either end of a column of which one end was met more than once."""
    ends = [rows == rows.max(axis=0), rows == rows.min(axis=0)]
    bounded = np.any([at.sum(axis=0) > 1 for at in ends], axis=0) & (np.ptp(rows, axis=0) > 0)
    return (ends[0] | ends[1]) & bounded


def _regressed(inputs: FloatArray, rows: FloatArray, left_out: BoolArray) -> FloatArray | None:
    """Weights with ``rows ≈ inputs @ weights``, without some numbers of some columns; None if too few are left."""
    half = inputs[::2]
    weights: FloatArray = np.asarray(np.linalg.lstsq(half, rows[::2], rcond=1e-10)[0])
    for k in np.flatnonzero(left_out.any(axis=0)).tolist():
        kept = ~left_out[::2, k]
        if kept.sum() <= half.shape[1]:
            return None
        weights[:, k] = np.linalg.lstsq(half[kept], rows[::2, k][kept], rcond=1e-10)[0]
    return weights


def _key(g: Any) -> Any:
    return g if isinstance(g, int) else np.asarray(g).tobytes()


def _equal(a: FloatArray, b: FloatArray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-6))
