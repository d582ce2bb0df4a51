"""Training to a budget, with checkpoints in a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from burnside.agents.dqn.checkpoint import exists, load, save
from burnside.agents.flow_ppo.config import FlowPPOConfig
from burnside.agents.flow_ppo.env import ChunkEnv
from burnside.agents.flow_ppo.learner import FlowPPO
from burnside.errors import InvalidParameter
from burnside.nn.flow import FlowPolicy

__all__ = ["load", "save", "train"]


def train(
    config: FlowPPOConfig,
    policy: FlowPolicy,
    env: ChunkEnv,
    seed: int = 0,
    *,
    checkpoint: str | Path | None = None,
    every: int = 5,
    progress: Callable[[FlowPPO], object] | None = None,
    say: Callable[[str], object] = print,
) -> FlowPPO:
    """Improve a policy until the budget is spent; returns the learner, with its log.

    Args:
        config: Hyperparameters.
        policy: Trained in place.
        env: Where.
        seed: Of scenes, noise and order.
        checkpoint: A file: if it exists the run goes on from it, and it is written every so often and at the end.
        every: Rollouts between checkpoints.
        progress: Called after every rollout.
        say: Given the unit of every count at the start, line by line.
    """
    if every < 1:
        raise InvalidParameter(f"every is {every}: give at least 1")
    learner = FlowPPO(config, policy, env, seed)
    if checkpoint is not None and exists(checkpoint):
        load(learner, checkpoint)
    for line in learner.describe():
        say(line)
    while learner.spent < config.budget:
        learner.iterate()
        if checkpoint is not None and learner.rollouts % every == 0:
            save(learner, checkpoint)
        if progress is not None:
            progress(learner)
    if checkpoint is not None:
        save(learner, checkpoint)
    return learner
