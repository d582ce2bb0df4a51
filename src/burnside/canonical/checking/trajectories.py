"""Environments whose state cannot be set: whole trajectories against the images of others.

If the law of ``reset`` is symmetric, and actions are drawn from a symmetric law, the law of whole trajectories is
symmetric too. So trajectories of random play are compared with the images of other ones: what is seen at some times and
in the end, how it varies together, how it follows the actions, what is paid, when it ends. Both samples can be
exchanged if the symmetry holds, so the largest difference is judged by exchanging them at random, which has its level
for any number of trajectories; and what differs must differ again in new ones. Nothing of this proves a symmetry.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

from burnside._types import FloatArray
from burnside.canonical.base import numbers
from burnside.canonical.checking.access import SEEDS, plain_action, reset_env, step_env
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["TrajectoryLaw", "compare_trajectories"]

_MOST = 300  # trajectories on either side
_STEPS = 250  # of a trajectory
_TIMES = (1, 4, 16, 64)
_EXCHANGES = 1999
_WIDE = 26  # numbers of an observation up to which products of two of them are looked at
_PARTS = ("dynamics", "reward", "termination")


@dataclass(frozen=True)
class TrajectoryLaw:
    """What was found.

    Attributes:
        count: trajectories on either side.
        refuted: for every component that differs a sentence.
        resolution: about the least difference in the probability of a number lying below a bound that would be seen.
        shift: the same as a difference of means, in standard deviations.
        level: the chance to refute a true symmetry.
    """

    count: int
    refuted: dict[str, str]
    resolution: float
    shift: float
    level: float


@dataclass(frozen=True)
class _Played:
    """One trajectory as numbers: observations (one more than actions), actions, rewards, and whether it terminated."""

    seen: FloatArray
    actions: FloatArray
    rewards: FloatArray
    terminated: bool


def compare_trajectories(
    env: Any,
    symmetry: EnvSymmetry,
    moves: Sequence[int],
    samples: int,
    confidence: float,
    names: Sequence[str],
    rng: np.random.Generator,
    progress: Callable[[int], None] = lambda done: None,
) -> TrajectoryLaw:
    """Trajectories and images of others, for each generator; what differs is looked at again in new ones."""
    count = max(20, min(_MOST, samples))
    level = 1 - confidence
    stage = math.sqrt(level / (len(moves) * len(_PARTS)))
    refuted: dict[str, str] = {}
    crossing = 4.0
    for j in moves:
        g = symmetry.generators[j]
        suspects: set[str] = set(_PARTS)
        for attempt in range(2):
            here = [_play(env, symmetry, g, rng) for _ in range(count)]
            there = [_play(env, symmetry, None, rng) for _ in range(count)]
            progress(1)
            found = _compare(here, there, names, rng)
            if attempt == 0:
                crossing = max(part[2] for part in found.values())
            suspects = {part for part in suspects & set(found) if found[part][0] < stage}
            if not suspects:
                break
        for part in sorted(suspects - set(refuted), key=_PARTS.index):
            p, what, _, apart = found[part]
            refuted[part] = (
                f"in {count} trajectories of random play and {count} images under generator {j}, twice, {what} differs "
                f"by {apart:.2g} standard deviations (p = {p:.2g} each time, at most)"
            )
    shift = (crossing + norm.ppf(0.9)) * math.sqrt(2 / count)
    return TrajectoryLaw(count, refuted, float(2 * norm.cdf(shift / 2) - 1), float(shift), level)


def _play(env: Any, symmetry: EnvSymmetry, g: Any, rng: np.random.Generator) -> _Played:
    """A trajectory of random play; its image, if an element is given."""
    space = env.action_space
    space.seed(int(rng.integers(SEEDS)))

    def image(x: Any) -> Any:
        return x if g is None else symmetry.act_on_observation(g, x)

    seen = [numbers(image(reset_env(env, int(rng.integers(SEEDS)))))]
    actions: list[FloatArray] = []
    rewards: list[float] = []
    terminated = False
    # Actions that are kept for some steps move more than those that change at every one.
    kept, action = 0, space.sample()
    hold = int(rng.integers(1, 8))
    for _ in range(_STEPS):
        if kept >= hold:
            kept, action = 0, space.sample()
        kept += 1
        taken = action if g is None else plain_action(space, symmetry.act_on_action(g, action))
        outcome = step_env(env, action)
        actions.append(_coded(space, taken))
        seen.append(numbers(image(outcome.observation)))
        rewards.append(outcome.reward)
        terminated = outcome.terminated
        if outcome.terminated or outcome.truncated:
            break
    return _Played(np.array(seen), np.array(actions), np.array(rewards), terminated)


def _coded(space: Any, action: Any) -> FloatArray:
    if hasattr(space, "n") and np.ndim(action) == 0:
        out = np.zeros(int(space.n))
        out[int(action) - int(getattr(space, "start", 0))] = 1.0
        return out
    return numbers(action)


# ---------------------------------------------------------------------- what is compared


def _features(one: _Played, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """Numbers that describe a trajectory, by component and name."""
    seen, change = one.seen[:-1], np.diff(one.seen, axis=0)
    d = seen.shape[1]
    words = [names[k] if k < len(names) else f"number {k}" for k in range(d)]
    found: dict[str, dict[str, float]] = {part: {} for part in _PARTS}
    dynamics = found["dynamics"]
    last = one.seen[-1]
    for k, word in enumerate(words):
        dynamics[f"the mean of {word}"] = float(seen[:, k].mean())
        dynamics[f"the last {word}"] = float(last[k])
        for t in _TIMES:
            dynamics[f"{word} after {t} steps"] = float(one.seen[min(t, len(one.seen) - 1), k])
    spread = one.actions - one.actions.mean(axis=0)
    for a in range(one.actions.shape[1]):
        effect = spread[:, a] @ change / len(change)
        for k, word in enumerate(words):
            dynamics[f"how {word} follows action {a}"] = float(effect[k])
        found["reward"][f"how the reward follows action {a}"] = float(spread[:, a] @ one.rewards / len(change))
    if d <= _WIDE:
        both = seen.T @ seen / len(seen)
        drift = change.T @ seen / len(seen)
        for i in range(d):
            for k in range(d):
                if k <= i:
                    dynamics[f"{words[i]} times {words[k]}"] = float(both[i, k])
                dynamics[f"the change of {words[i]} times {words[k]}"] = float(drift[i, k])
    for k, word in enumerate(words):
        found["reward"][f"the reward times {word}"] = float(one.rewards @ seen[:, k] / len(seen))
    found["reward"]["the sum of rewards"] = float(one.rewards.sum())
    found["reward"]["the last reward"] = float(one.rewards[-1])
    found["termination"]["the number of steps"] = float(len(one.rewards))
    found["termination"]["whether it terminates"] = float(one.terminated)
    for k, word in enumerate(words):
        found["termination"][f"the last {word} where it terminates"] = float(last[k]) * one.terminated
    return found


def _compare(
    here: list[_Played], there: list[_Played], names: Sequence[str], rng: np.random.Generator
) -> dict[str, tuple[float, str, float, float]]:
    """For every component: p-value, what differs most, the bound it had to cross, and by how much it differs."""
    rows = [_features(one, names) for one in (*here, *there)]
    n = len(here)
    side = np.concatenate([np.ones(n), -np.ones(len(there))])
    order = np.stack([side] + [rng.permutation(side) for _ in range(_EXCHANGES)])
    found = {}
    for part in _PARTS:
        words = list(rows[0][part])
        values = np.nan_to_num(np.array([[row[part][w] for w in words] for row in rows]))
        ranks = np.stack([rankdata(column) for column in values.T], axis=1)
        spread = ranks.std(axis=0)
        moving = spread > 0
        if not moving.any():
            continue
        scaled = (ranks[:, moving] - ranks[:, moving].mean(axis=0)) / spread[moving]
        sums = np.abs(order @ scaled) / math.sqrt(len(side))
        largest = sums.max(axis=1)
        p = float(np.mean(largest >= largest[0] - 1e-9))
        worst = int(sums[0].argmax())
        bound = float(np.quantile(largest[1:], 0.95))
        apart = 2 * float(sums[0, worst]) / math.sqrt(len(side))
        found[part] = (p, [w for w, m in zip(words, moving, strict=True) if m][worst], bound, apart)
    return found
