"""The two stages of one run with checkpoints in a file, for the command: imitation, then PPO over the chain."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from burnside._files import read_json
from burnside.agents.common.checkpoint import exists, read_checkpoint, write_checkpoint
from burnside.agents.common.checkpoint import load as load_learner
from burnside.agents.common.checkpoint import save as save_learner
from burnside.agents.flow_ppo import FlowPPO
from burnside.envs.manipulation.chunks import ManipulationChunks
from burnside.errors import DamagedFile
from burnside.experiments.robot.config import Recipe
from burnside.experiments.robot.pipeline import student, success_on_test
from burnside.nn.flow import FlowPolicy

__all__ = ["Finetuned", "Imitated", "finetune", "imitate"]

Progress = Callable[[int, int], object]


@dataclass(frozen=True)
class Imitated:
    """What imitation left.

    Attributes:
        policy: the average of the parameters.
        updates: how many were made.
        loss: mean of the last hundred.
        successes: in how many held-out scenes it succeeds.
    """

    policy: FlowPolicy
    updates: int
    loss: float
    successes: int


@dataclass(frozen=True)
class Finetuned:
    """What fine-tuning left.

    Attributes:
        policy: the policy.
        env_steps: environment steps played.
        successes: in how many held-out scenes it succeeds.
        curve: (environment steps, successes on held-out scenes) along the way.
    """

    policy: FlowPolicy
    env_steps: int
    successes: int
    curve: list[tuple[int, int]] = field(default_factory=list)


def imitate(
    recipe: Recipe,
    env: ManipulationChunks,
    seed: int,
    *,
    demos: str | Path | None = None,
    device: str = "cpu",
    checkpoint: str | Path | None = None,
    every: float = 30.0,
    progress: Progress = lambda done, total: None,
    say: Callable[[str], object] = print,
) -> Imitated:
    """Learn from demonstrations and play the held-out scenes.

    Args:
        recipe: what to learn.
        env: its scenes.
        seed: of everything random.
        demos: a file of demonstrations; default: found or made.
        device: where the policy learns.
        checkpoint: a file: if it exists the run goes on from it.
        every: seconds between checkpoints; results do not depend on it.
        progress: called with (updates, all).
        say: given a line now and then.
    """
    job = student(recipe, env, seed, demos=demos, device=device, progress=progress)
    identity = json.dumps({"imitation": recipe.to_json() | {"agent": None}, "env": env.name, "seed": seed})
    if checkpoint is not None and exists(checkpoint):
        expected = {name: None if name == "losses" else array for name, array in job.arrays().items()}
        job.restore(read_checkpoint(checkpoint, expected, identity))
        say(f"going on at update {job.step}")
    said = time.monotonic()
    while job.step < job.config.steps:
        job.run(job.step + 10)
        progress(job.step, job.config.steps)
        if time.monotonic() - said > every:
            said = time.monotonic()
            say(f"update {job.step} of {job.config.steps}, loss {np.mean(job.losses[-100:]):.4f}")
            if checkpoint is not None:
                write_checkpoint(checkpoint, job.arrays(), identity)
    if checkpoint is not None:
        write_checkpoint(checkpoint, job.arrays(), identity)
    say(f"playing {recipe.scenes} held-out scenes")
    played = success_on_test(job.average, env, recipe.scenes)
    return Imitated(job.average, job.step, float(np.mean(job.losses[-100:])), int(played.success.sum()))


def _curve(path: Path, spent: int) -> list[tuple[int, int]]:
    """Tests of an interrupted run up to its checkpoint; none if the notes of them are damaged."""
    try:
        return [(int(steps), int(won)) for steps, won in read_json(path) if steps <= spent]
    except (DamagedFile, TypeError, ValueError, OverflowError):
        return []


def finetune(
    recipe: Recipe,
    policy: FlowPolicy,
    env: ManipulationChunks,
    seed: int,
    *,
    checkpoint: str | Path | None = None,
    every: float = 30.0,
    progress: Progress = lambda done, total: None,
    say: Callable[[str], object] = print,
) -> Finetuned:
    """Improve a policy by PPO over its denoising chain, with tests on the held-out scenes.

    Args:
        recipe: with the hyperparameters.
        policy: trained in place.
        env: the scenes.
        seed: of scenes, noise and order.
        checkpoint: a file: if it exists the run goes on from it; the simulators are in it.
        every: seconds between checkpoints; results do not depend on it.
        progress: called with (environment steps, all).
        say: given the unit of every count at the start, and a line per test.
    """
    agent = recipe.agent
    learner = FlowPPO(agent, policy, env, seed)
    notes = None if checkpoint is None else Path(checkpoint).with_suffix(".curve.json")
    curve: list[tuple[int, int]] = []
    if checkpoint is not None and exists(checkpoint):
        load_learner(learner, checkpoint)
        say(f"going on after {learner.spent} environment steps")
        if notes is not None and notes.exists():
            curve = _curve(notes, learner.spent)
    for line in learner.describe():
        say(line)
    saved = time.monotonic()
    while learner.spent < agent.budget:
        learner.iterate()
        progress(min(learner.spent, agent.budget), agent.budget)
        if learner.rollouts % recipe.evaluate_every == 0 or learner.spent >= agent.budget:
            won = int(success_on_test(learner.policy, env, recipe.scenes).success.sum())
            curve.append((learner.spent, won))
            say(f"{learner.spent} environment steps: {won} of {recipe.scenes} held-out scenes")
            if notes is not None:
                from burnside._files import write_text

                write_text(notes, json.dumps(curve))
        if checkpoint is not None and (time.monotonic() - saved > every or learner.spent >= agent.budget):
            save_learner(learner, checkpoint)
            saved = time.monotonic()
    if not curve or curve[-1][0] != learner.spent:  # resumed at the very end, and the notes are gone
        curve.append((learner.spent, int(success_on_test(learner.policy, env, recipe.scenes).success.sum())))
    return Finetuned(learner.policy, learner.spent, curve[-1][1], curve)
