"""Imitate, test, fine-tune: the pipeline of a flow policy as one cell of a sweep.

The planar tasks, the robot tasks and ``burnside train robot`` all run it. A cell that was stopped resumes to the same
bits, in the stage it was in; demonstrations are read only if something is left to imitate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from burnside._types import AnyArray
from burnside.agents.flow_ppo import FlowPPO, FlowPPOConfig
from burnside.agents.flow_ppo.config import STATS
from burnside.envs.batched import ChunkEnv, Evaluation
from burnside.nn.flow import FlowConfig, FlowPolicy, Imitation
from burnside.runs import Context

__all__ = ["GATE", "Pipeline", "Start", "Trained", "gate_says", "rollout_table", "run_pipeline", "training_curve"]

#: Fine-tuning wants imitation to succeed this often: below, a sparse reward says nothing; above, little is left.
GATE = (0.2, 0.6)
#: Updates of imitation between looks at the clock, and between rows of the log.
_CHUNK, _LOGGED = 20, 200


@dataclass(frozen=True)
class Start:
    """A policy that was imitated before: fine-tuning begins with it.

    Attributes:
        policy: trained in place.
        successes: in how many held-out scenes it succeeds.
        scenes: how many it was tested on.
        loss: of its imitation, if known.
    """

    policy: FlowPolicy
    successes: int
    scenes: int
    loss: float | None = None


@dataclass(frozen=True)
class Pipeline:
    """One run of the pipeline.

    Attributes:
        imitation: makes the training on demonstrations, before its first update; or a policy to start from.
        updates: of imitation.
        shape: of the policy.
        env: its scenes.
        test: plays the held-out scenes, the same ones for every policy.
        seed: of everything random.
        agent: of PPO over the denoising chain.
        finetune: whether PPO follows: ``no``, ``gate`` (if :func:`gate_says` nothing against it) or ``always``.
        evaluate_every: rollouts of PPO between tests.
        device: where the policy learns.
    """

    imitation: Callable[[], Imitation] | Start
    updates: int
    shape: FlowConfig
    env: ChunkEnv
    test: Callable[[FlowPolicy], Evaluation]
    seed: int
    agent: FlowPPOConfig
    finetune: str = "no"
    evaluate_every: int = 5
    device: str = "cpu"

    @property
    def total(self) -> int:
        """What progress is counted against: updates of imitation, then the budget of PPO."""
        updates = 0 if isinstance(self.imitation, Start) else self.updates
        return updates + (self.agent.budget if self.finetune != "no" else 0)


@dataclass(frozen=True)
class Trained:
    """What a run of the pipeline left.

    Attributes:
        policy: the policy, after its last stage.
        loss: mean of the last hundred updates of imitation.
        tests: (budget spent, successes) of the tests on held-out scenes: after imitation, then while fine-tuning.
        learner: of fine-tuning; None if there was none.
    """

    policy: FlowPolicy
    loss: float | None
    tests: list[list[int]]
    learner: FlowPPO | None = None

    @property
    def before(self) -> int:
        """Successes after imitation."""
        return self.tests[0][1]

    @property
    def after(self) -> int:
        """Successes at the end."""
        return self.tests[-1][1]

    def curve(self, seed: int) -> dict[str, AnyArray]:
        """The tests as columns of a table."""
        points = np.array(self.tests, dtype=np.int64)
        return {
            "seed": np.full(len(points), seed, dtype=np.int32),
            "env_steps": points[:, 0],
            "successes": points[:, 1].astype(np.int32),
        }


def run_pipeline(context: Context, run: Pipeline) -> Trained:
    """Run the stages that are left of a cell."""
    saved = context.restore()
    if saved is not None and saved.meta["stage"] == "ppo":
        tests, loss = saved.meta["tests"], saved.meta["loss"]
        policy = FlowPolicy(run.shape, run.seed).to(run.device)  # its parameters are in the checkpoint
        learner = FlowPPO(run.agent, policy, run.env, run.seed)
        learner.restore(saved.arrays)
        context.resumed()
    else:
        context.resumed()  # demonstrations that cannot be read are not the fault of a checkpoint
        policy, loss, won, scenes = _imitated(context, run)
        tests = [[0, won]]
        closed = run.finetune == "gate" and gate_says(won / scenes) is not None
        if run.finetune == "no" or closed:
            return Trained(policy, loss, tests)
        learner = FlowPPO(run.agent, policy, run.env, run.seed)
    begun = run.total - run.agent.budget
    while learner.spent < run.agent.budget:
        learner.iterate()
        last = {f"losses/{name}": float(column[-1]) for name, column in rollout_table(learner).items()}
        context.log({"seed": run.seed, "step": learner.spent, **last})
        if learner.rollouts % run.evaluate_every == 0 or learner.spent >= run.agent.budget:
            played = run.test(learner.policy)
            tests.append([int(learner.spent), int(played.success.sum())])
            context.log({"seed": run.seed, "step": learner.spent, "charts/success": float(played.success.mean())})
        context.progress(min(run.total, begun + learner.spent), run.total)
        if context.due():
            context.checkpoint(learner.arrays(), stage="ppo", tests=tests, loss=loss)
    return Trained(learner.policy, loss, tests, learner)


def _imitated(context: Context, run: Pipeline) -> tuple[FlowPolicy, float | None, int, int]:
    """The policy after imitation, its loss, its successes on the held-out scenes and how many of them there are."""
    if isinstance(run.imitation, Start):
        start = run.imitation
        return start.policy, start.loss, start.successes, start.scenes
    job = run.imitation()
    saved = context.restore()
    if saved is not None:
        job.restore(saved.arrays)
    context.resumed()
    while job.step < job.config.steps:
        job.run(job.step + _CHUNK)
        if job.step % _LOGGED == 0 or job.step >= job.config.steps:
            loss = float(np.mean(job.losses[-_LOGGED:]))
            context.log({"seed": run.seed, "step": job.step, "losses/imitation_loss": loss})
        context.progress(job.step, run.total)
        if context.due():
            context.checkpoint(job.arrays(), stage="imitation")
    played = run.test(job.average)
    return job.average, float(np.mean(job.losses[-100:])), int(played.success.sum()), len(played.success)


def gate_says(success: float) -> str | None:
    """Why fine-tuning should not begin, or None.

    >>> gate_says(0.4) is None, gate_says(0.9)[:35]
    (True, 'imitation succeeds in 90 % of the h')
    """
    low, high = GATE
    if low <= success <= high:
        return None
    remedy = "give imitation more updates or demonstrations" if success < low else "there is little left to learn"
    return (
        f"imitation succeeds in {100 * success:.0f} % of the held-out scenes, and fine-tuning wants {100 * low:.0f} to "
        f"{100 * high:.0f} %: {remedy}"
    )


def rollout_table(learner: FlowPPO) -> dict[str, AnyArray]:
    """Of every rollout: what its updates did, how many episodes ended in it, and the share of successes among them."""
    stats = np.array(learner.recorder.stats[0], dtype=np.float32).reshape(-1, len(STATS))
    rows = np.array([(row[2], row[5]) for row in learner.recorder.rows[0]], dtype=np.float64).reshape(-1, 2)
    which = rows[:, 1].astype(np.int64)
    ended = np.bincount(which, minlength=len(stats))[: len(stats)]
    won = np.bincount(which, weights=rows[:, 0], minlength=len(stats))[: len(stats)]
    columns = {name: stats[:, k] for k, name in enumerate(STATS)}
    return {**columns, "episodes": ended, "success": (won / np.maximum(ended, 1)).astype(np.float32)}


def training_curve(rows: Sequence[tuple[float, ...]], points: int = 20) -> dict[str, AnyArray]:
    """Success of training episodes (with the noise of the sampler) in equal pieces of the environment steps."""
    found = np.array([row[:4] for row in rows], dtype=np.float64).reshape(-1, 4)
    edges = np.linspace(0, found[-1, 3] if len(found) else 0, points + 1)
    which = np.clip(np.searchsorted(edges, found[:, 3], side="left") - 1, 0, points - 1)
    count = np.bincount(which, minlength=points)
    won = np.bincount(which, weights=found[:, 2], minlength=points)
    used = count > 0
    return {
        "env_steps": edges[1:][used].astype(np.int64),
        "episodes": count[used].astype(np.int64),
        "success": (won[used] / count[used]).astype(np.float32),
    }
