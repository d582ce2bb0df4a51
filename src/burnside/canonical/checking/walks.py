"""Episodes played to see where an environment goes: by chance, by habit, or by a policy of the user's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.canonical.base import numbers
from burnside.canonical.checking.access import (
    SEEDS,
    Outcome,
    Pair,
    StateAccess,
    copied,
    plain_action,
    reset_env,
    show,
    step_env,
)
from burnside.canonical.checking.spaces import Actions
from burnside.canonical.guard import theirs
from burnside.errors import InvalidParameter

__all__ = ["Coverage", "Visit", "choose_visits", "policy_action", "time_limit", "walk"]

_STAY = 0.85  # an action of habit is repeated so often
_STRAY = 0.05  # an episode of one action leaves it so often
_MIXED = 0.3  # a policy of the user's is left so often, in every other episode
_CUT = 1 / 50  # every other episode is stopped early so often, to see more starts


@dataclass(frozen=True)
class Visit:
    """One step of an episode: where, what followed, and how many steps the episode had then."""

    pair: Pair
    outcome: Outcome
    elapsed: int

    @property
    def over(self) -> bool:
        """Whether the episode ended here."""
        return self.outcome.terminated or self.outcome.truncated


@dataclass
class Coverage:
    """What was seen: ranges of the numbers, episodes and how they ended."""

    steps: int = 0
    episodes: int = 0
    longest: int = 0
    terminated: int = 0
    truncated: int = 0
    low: FloatArray = field(default_factory=lambda: np.empty(0))
    high: FloatArray = field(default_factory=lambda: np.empty(0))

    def note(self, visit: Visit) -> None:
        """Count a step."""
        self.steps += 1
        self.longest = max(self.longest, visit.elapsed)
        self.episodes += visit.elapsed == 1
        self.terminated += visit.outcome.terminated
        self.truncated += visit.outcome.truncated and not visit.outcome.terminated
        self.see(visit.pair.observation)
        self.see(visit.outcome.observation)

    def see(self, observation: Any) -> None:
        """Widen the ranges."""
        x = numbers(observation)
        if not self.low.size:
            self.low, self.high = x.copy(), x.copy()
        elif x.size == self.low.size:
            np.fmin(self.low, x, out=self.low)
            np.fmax(self.high, x, out=self.high)


def walk(
    env: Any,
    access: StateAccess | None,
    actions: Actions,
    rng: np.random.Generator,
    policy: Callable[[Any], Any] | None = None,
    longest: int = 1000,
) -> Iterator[Visit]:
    """Every step of episodes, without end.

    Half of the episodes are played with uniformly random actions; in the others an action is kept for a while, or
    nearly always, because chance alone goes nowhere in many environments. With a policy, half follow it and half
    leave it now and then. An episode that does not end is left after the longest number of steps.
    """
    episode = 0
    while True:
        seen = reset_env(env, int(rng.integers(SEEDS)))
        choose = _chooser(episode, actions, rng, env.action_space, policy)
        cut = episode % 2 == 1
        elapsed = 0
        while True:
            state = None if access is None else copied(theirs("reading the state", access.get, env))
            pair = Pair(state, seen, choose(seen))
            outcome = step_env(env, pair.action)
            elapsed += 1
            yield (visit := Visit(pair, outcome, elapsed))
            if visit.over or elapsed >= longest or (cut and rng.random() < _CUT):
                break
            seen = outcome.observation
        episode += 1


def _chooser(
    episode: int, actions: Actions, rng: np.random.Generator, space: Any, policy: Callable[[Any], Any] | None
) -> Callable[[Any], Any]:
    if policy is not None:
        return _following(policy, actions, rng, space, _MIXED if episode // 2 % 2 else 0.0)
    kind = episode // 2 % 4
    if kind < 2:
        return lambda _: actions.random()
    last = actions.next() if kind == 3 else actions.random()
    change = _STRAY if kind == 3 else 1 - _STAY

    def keep(_: Any) -> Any:
        nonlocal last
        if rng.random() < change:
            fresh = actions.random()
            if kind == 3:
                return fresh
            last = fresh
        return copied(last)

    return keep


def _following(
    policy: Callable[[Any], Any], actions: Actions, rng: np.random.Generator, space: Any, leave: float
) -> Callable[[Any], Any]:
    def act(seen: Any) -> Any:
        if leave and rng.random() < leave:
            return actions.random()
        return policy_action(policy, space, seen)

    return act


def policy_action(policy: Callable[[Any], Any], space: Any, seen: Any) -> Any:
    """What a policy of the user's does, if it is an action."""
    found = plain_action(space, theirs("the policy", policy, copied(seen)))
    if not space.contains(found):
        raise InvalidParameter(
            f"the policy answers {show(seen)} with {show(found)}, which is not an action of {space}: a policy is a "
            "function of the observation that returns an action"
        )
    return found


def time_limit(env: Any) -> int:
    """After how many steps an episode is truncated, as far as the environment says so; else 0."""
    from gymnasium.wrappers import TimeLimit

    layer, found = env, 0
    while layer is not None:
        if isinstance(layer, TimeLimit):
            found = int(layer._max_episode_steps)
        layer = getattr(layer, "env", None)
    return found


def choose_visits(
    visits: Iterator[Visit], count: int, rng: np.random.Generator, coverage: Coverage, limit: int = 0
) -> list[Visit]:
    """Starts and ends of episodes, the last steps before a time limit, and every fourth step or so between them."""
    late = limit - max(2, limit // 50) if limit else math.inf
    found: list[Visit] = []
    for visit in visits:
        coverage.note(visit)
        if visit.elapsed == 1 or visit.elapsed > late or visit.over or rng.random() < 0.25:
            found.append(visit)
            if len(found) == count:
                break
    return found
