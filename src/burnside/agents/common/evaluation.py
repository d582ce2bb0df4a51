"""Episodes that no training run sees: the same for every policy, determined by one seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from burnside._random import held_out
from burnside._types import AnyArray, IntArray
from burnside.envs.batched import BatchedEnv, BatchStep, Evaluation, check_observations, select
from burnside.errors import InvalidParameter

__all__ = ["AT_ONCE", "Evaluation", "Watch", "play"]

#: Called after every step with the numbers of the episodes that made it, and what it gave.
Watch = Callable[[IntArray, BatchStep], object]

#: Episodes played side by side: more only cost memory (an adapted environment has one copy for each).
AT_ONCE = 256


def play(
    env: BatchedEnv,
    policy: Callable[[AnyArray, IntArray, int], AnyArray],
    episodes: int,
    seed: int = 0,
    limit: int = 10_000,
    watch: Watch | None = None,
) -> Evaluation:
    """Play held-out episodes.

    Args:
        env: the environment.
        policy: from observations ``(rows, obs_dim)``, the numbers of their episodes and the time to actions.
        episodes: how many.
        seed: alone decides which episodes are played.
        limit: steps after which an episode should have ended.
        watch: called after every step, for what an environment reports besides its rewards.
    """
    if episodes < 1:
        raise InvalidParameter(f"episodes is {episodes}: give at least 1")
    returns, lengths = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
    success = np.zeros(episodes, dtype=np.bool_)
    for first in range(0, episodes, AT_ONCE):
        rows = np.arange(first, min(first + AT_ONCE, episodes))
        state = env.reset_batch(np.full(rows.size, held_out(seed), dtype=np.int64), rows)
        for t in range(limit + 1):
            if not rows.size:
                break
            if t == limit:
                raise InvalidParameter(
                    f"an episode did not end within {limit} steps: give the environment a time limit"
                )
            step = env.step_batch(state, policy(check_observations(env.observe_batch(state), env.obs_dim), rows, t))
            if watch is not None:
                watch(rows, step)
            returns[rows] += step.reward
            lengths[rows] += 1
            success[rows] |= step.success
            going = ~(step.terminated | step.truncated)
            state, rows = (step.state, rows) if going.all() else (select(step.state, going), rows[going])
    return Evaluation(returns, lengths, success)
