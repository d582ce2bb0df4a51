"""Training members to a number of episodes or steps, with checkpoints in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from burnside.agents.dqn.checkpoint import exists, load, save
from burnside.agents.gaussian_ppo.block import GaussianBlock
from burnside.agents.gaussian_ppo.config import ControlLog, GaussianPPOConfig
from burnside.agents.gaussian_ppo.env import BatchEnv
from burnside.errors import InvalidParameter

__all__ = ["Progress", "load", "save", "train", "train_block"]


@dataclass(frozen=True)
class Progress:
    """How far one member is, after a rollout."""

    seed: int
    episodes: int
    steps: int
    updates: int
    recent_success: float


def train(
    config: GaussianPPOConfig,
    env: BatchEnv,
    seeds: Sequence[int],
    *,
    episodes: int | None = None,
    steps: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 50,
    progress: Callable[[Progress], object] | None = None,
) -> list[ControlLog]:
    """Train members to a budget each; one log per member, in their order.

    Args:
        config: Hyperparameters, the same for all.
        env: The environment, the same for all.
        seeds: One member each; no two alike.
        episodes: Budget in finished episodes. A rollout is never cut short; the log is cut at the budget.
        steps: Budget in environment steps of a member, over all its scenes, rounded up to whole rollouts.
        checkpoint: A file: if it exists the run goes on from it, and it is written every so often and at the end.
        every: Rollouts between checkpoints.
        progress: Called after every rollout of a member.
    """
    block = train_block(
        config, env, seeds, episodes=episodes, steps=steps, checkpoint=checkpoint, every=every, progress=progress
    )
    return [block.log(m, episodes) for m in range(len(seeds))]


def train_block(
    config: GaussianPPOConfig,
    env: BatchEnv,
    seeds: Sequence[int],
    *,
    episodes: int | None = None,
    steps: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 50,
    progress: Callable[[Progress], object] | None = None,
) -> GaussianBlock:
    """As :func:`train`, returning the block, to evaluate or to go on."""
    if (episodes is None) == (steps is None) or (episodes or steps or 0) < 1 or every < 1:
        raise InvalidParameter(f"episodes {episodes}, steps {steps}: give one of them, at least 1 (and every ≥ 1)")
    block = GaussianBlock(config, env, seeds)
    if checkpoint is not None and exists(checkpoint):
        load(block, checkpoint)
    rounds = 0
    while True:
        active = block.steps < steps if steps is not None else block.episodes < np.int64(episodes or 0)
        if not active.any():
            break
        block.iterate(active)
        rounds += 1
        if checkpoint is not None and rounds % every == 0:
            save(block, checkpoint)
        if progress is not None:
            for m in np.flatnonzero(active):
                recent = [row[2] for row in block.rows[m][-500:]]
                progress(
                    Progress(
                        block.seeds[m],
                        len(block.rows[m]),
                        int(block.steps[m]),
                        int(block.updates[m]),
                        float(np.mean(recent)) if recent else 0.0,
                    )
                )
    if checkpoint is not None:
        save(block, checkpoint)
    return block
