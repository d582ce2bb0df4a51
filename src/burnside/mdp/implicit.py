"""Models too large to enumerate: an MDP and a symmetry given by functions instead of tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.errors import InvalidModel

__all__ = ["ImplicitMDP", "ImplicitSymmetry", "Violation", "sample_violations"]

#: What happens after an action: (probability, next state, mean reward) for every possible next state.
Outcomes = Sequence[tuple[float, Any, float]]


@dataclass(frozen=True)
class ImplicitMDP:
    """An MDP as functions; states must be hashable, or made so by ``key``.

    Attributes:
        step: ``step(s, a)`` → outcomes ``[(probability, next state, reward), …]``.
        actions: ``actions(s)`` → the admissible actions.
        sample: ``sample(rng)`` → a random state; sampling checks cover what it can return.
        name, H: name and horizon.
        n_states, n_pairs, successors: exact sizes where they are known (Python integers of any size).
        key: a hashable stand-in for a state.
        show: a readable form of a state.

    >>> walk = ImplicitMDP(lambda s, a: [(1.0, (s + a) % 10**9, 0.0)], lambda s: (1, -1),
    ...                    lambda rng: int(rng.integers(10**9)))
    >>> flip = ImplicitSymmetry(lambda g, s: -s % 10**9, lambda g, s, a: -a, generators=["flip"], order=2)
    >>> from burnside.mdp import verify
    >>> verdict = verify(walk, flip, samples=500)
    >>> verdict.ok, verdict.exhaustive, round(verdict.failure_rate, 4)
    (True, False, 0.0092)
    """

    step: Callable[[Any, Any], Outcomes]
    actions: Callable[[Any], Sequence[Any]]
    sample: Callable[[np.random.Generator], Any]
    name: str = "implicit model"
    H: int = 1
    n_states: int | None = None
    n_pairs: int | None = None
    successors: int | None = None
    key: Callable[[Any], Any] = lambda s: s
    show: Callable[[Any], str] = str


@dataclass(frozen=True)
class ImplicitSymmetry:
    """A group acting on an implicit model: ``act(g, s)`` and ``act_on_action(g, s, a)`` for generators ``g``.

    >>> flip = ImplicitSymmetry(lambda g, s: -s, lambda g, s, a: -a, generators=["flip"], name="flip", order=2)
    >>> flip.act("flip", 3), flip.act_on_action("flip", 3, 1)
    (-3, -1)
    """

    act: Callable[[Any, Any], Any]
    act_on_action: Callable[[Any, Any, Any], Any]
    generators: Sequence[Any]
    name: str = "G"
    order: int | None = None


@dataclass(frozen=True)
class Violation:
    """How one sampled pair and its image differ."""

    state: Any
    action: Any
    generator: int
    image_state: Any
    image_action: Any
    reward: float
    transition: float
    kind: str | None = None

    def describe(self, model: ImplicitMDP) -> str:
        """One sentence."""
        here = f"({model.show(self.state)}, {self.action})"
        there = f"({model.show(self.image_state)}, {self.image_action})"
        if self.kind == "action":
            return f"generator {self.generator} maps {here} to {there}, which is not admissible"
        return (
            f"generator {self.generator} maps {here} to {there}: rewards differ by {self.reward:.6g}, "
            f"transitions by {self.transition:.6g} in total variation"
        )


def sample_violations(
    model: ImplicitMDP, symmetry: ImplicitSymmetry, samples: int, rng: np.random.Generator
) -> Iterator[Violation]:
    """Draw states, actions and generators independently and compare each pair with its image."""
    if not len(symmetry.generators):
        raise InvalidModel(f"the symmetry {symmetry.name} has no generators: pass at least one")
    for _ in range(samples):
        state = model.sample(rng)
        actions = model.actions(state)
        if not len(actions):
            raise InvalidModel(
                f"state {model.show(state)} of {model.name} admits no action, so there is nothing to compare: let "
                f"sample return states in which an action is due"
            )
        action = actions[int(rng.integers(len(actions)))]
        index = int(rng.integers(len(symmetry.generators)))
        yield _compare(model, symmetry, state, action, index)


def _compare(model: ImplicitMDP, symmetry: ImplicitSymmetry, state: Any, action: Any, index: int) -> Violation:
    g = symmetry.generators[index]
    image_state, image_action = symmetry.act(g, state), symmetry.act_on_action(g, state, action)
    if not any(a == image_action for a in model.actions(image_state)):
        return Violation(state, action, index, image_state, image_action, 0.0, 1.0, "action")
    here: dict[Any, float] = {}
    there: dict[Any, float] = {}
    reward = 0.0
    for p, successor, r in _outcomes(model, state, action):
        key = model.key(symmetry.act(g, successor))
        here[key] = here.get(key, 0.0) + p
        reward += p * r
    for p, successor, r in _outcomes(model, image_state, image_action):
        key = model.key(successor)
        there[key] = there.get(key, 0.0) + p
        reward -= p * r
    distance = 0.5 * sum(abs(here.get(k, 0.0) - there.get(k, 0.0)) for k in here.keys() | there.keys())
    return Violation(state, action, index, image_state, image_action, abs(reward), distance)


def _outcomes(model: ImplicitMDP, state: Any, action: Any) -> Outcomes:
    """What ``step`` returns, checked: a NaN would compare as 'no violation'."""
    outcomes = model.step(state, action)
    total = sum(p for p, _, _ in outcomes)
    if not abs(total - 1) <= 1e-8 or not all(p >= 0 and math.isfinite(r) for p, _, r in outcomes):
        raise InvalidModel(
            f"step({model.show(state)}, {action}) of {model.name} must return probabilities that sum to 1 "
            f"(got {total:g}) and finite rewards"
        )
    return outcomes
