"""Equal tuning: the same search with the same budget for the baseline, every arm and every control.

Settings are drawn once, and every condition tries all of them on seeds that the measurement does not use. The setting
with the largest mean score over all evaluations wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from burnside._random import Stream, uniform
from burnside.experiments.atlas.analysis import Group
from burnside.experiments.atlas.config import Task, conditions

__all__ = ["FIRST_SEED", "SEEDS", "candidates", "chosen", "tuning_tasks"]

#: Seeds of the search, which no measurement uses.
FIRST_SEED, SEEDS = 100_000, 3
#: Learning rates before factors.
_RATES = {"ppo": 1e-3, "dqn": 1e-3, "sac": 1e-3, "sb3:PPO": 3e-4, "sb3:SAC": 3e-4, "sb3:DQN": 1e-4}
_GAMMAS = (0.98, 0.99, 0.995)


def candidates(task: Task, count: int) -> list[dict[str, Any]]:
    """Settings to try: the given ones first, then learning rates from a quarter to four times, and discounts.

    >>> task = Task("CartPole-v1", "classic control", "ppo", 1000)
    >>> [sorted(c) for c in candidates(task, 2)]
    [[], ['gamma', 'learning_rate']]
    """
    base = float(task.settings.get("learning_rate", _RATES.get(task.learner, 1e-3)))
    drawn = uniform(0, Stream.MISC, np.arange(2 * count)).reshape(count, 2)
    found: list[dict[str, Any]] = [dict(task.settings)]
    for rate, gamma in drawn[1:]:
        own = {"learning_rate": float(f"{base * 4 ** (2 * rate - 1):.3g}"), "gamma": _GAMMAS[int(gamma * len(_GAMMAS))]}
        found.append(dict(task.settings) | own)
    return found[:count]


def tuning_tasks(task: Task, count: int) -> tuple[Task, ...]:
    """One task for every candidate, on seeds of their own; all run to the end of the budget."""
    return tuple(
        replace(
            task, settings=own, variant=f"candidate {k}", seeds=SEEDS, first_seed=FIRST_SEED, random=None, best=None
        )
        for k, own in enumerate(candidates(task, count))
    )


def chosen(task: Task, found: Sequence[Group]) -> Mapping[tuple[str, str], Mapping[str, Any]]:
    """The best settings of every condition."""
    out: dict[tuple[str, str], Mapping[str, Any]] = {}
    for condition in conditions(task):
        scores = []
        for group in found:
            curves = group.conditions[condition].curves.values()
            settings = candidates(task, len(found))[int(group.key[1].split()[-1])]
            scores.append((float(np.mean([score.mean() for _, score in curves])), settings))
        out[condition] = max(scores, key=lambda pair: pair[0])[1]
    return out
