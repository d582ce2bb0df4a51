"""Running it: a cell is one arm of one question with one seed (or a few), resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.flow_ppo.config import FlowPPOConfig
from burnside.agents.ppo.config import PPOConfig
from burnside.envs.planar import PlanarScenes, PlanarSpec
from burnside.envs.planar.chunks import PlanarChunks, demonstration_chunks
from burnside.envs.planar.expert import demonstrate
from burnside.errors import UnknownName
from burnside.experiments.loop import run_learners
from burnside.experiments.planar.config import (
    PRESETS,
    THRESHOLD,
    WINDOW,
    FinetunePlan,
    ImitationPlan,
    PPOPlan,
    flow_config,
)
from burnside.runs import Cell, Context
from burnside.stats.censored import first_reach

if TYPE_CHECKING:
    from burnside.nn.flow import FlowPolicy, Imitation

__all__ = ["EXPERIMENT", "Planar"]

EXPERIMENT = "planar"
#: Scenes of demonstrations come from seeds that no learner and no test uses.
DEMONSTRATIONS = 1 << 40
#: Rollouts of PPO, or updates of imitation, between looks at the clock.
_PPO_CHUNK, _IMITATION_CHUNK = 10, 50
_RECENT = 10_000


class Planar:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        plan = PRESETS[preset]
        return [
            *(cell for part in plan.ppo for cell in _ppo_cells(part)),
            *(cell for part in plan.imitation for cell in _imitation_cells(part)),
            *(cell for part in plan.finetune for cell in _finetune_cells(part)),
        ]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Run one cell."""
        if cell.config["kind"] == "ppo":
            return _ppo(cell, context)
        import torch

        torch.set_num_threads(context.threads)
        return _imitation(cell, context) if cell.config["kind"] == "imitation" else _finetune(cell, context)

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per setting; see ``analysis.table``."""
        from burnside.experiments.planar.analysis import table

        return table(folder, allow_missing)


def _ppo_cells(part: PPOPlan) -> list[Cell]:
    blocks = [tuple(range(s, min(s + part.block, part.seeds))) for s in range(0, part.seeds, part.block)]
    return [
        Cell(
            EXPERIMENT,
            {
                "kind": "ppo",
                "task": part.task,
                "arm": arm,
                "shift": shift,
                "turn": turn,
                "episodes": part.episodes,
                "agent": part.agent.to_json(),
            },
            seeds,
            label=f"{part.task} L={shift:g} Θ={turn:.2f} {arm}, PPO, seeds {seeds[0]}–{seeds[-1]}",
            # what runs into the budget costs most; the robot's frame never does
            cost=part.episodes * len(seeds) * (0.05 if arm == "robot" else 0.3 if arm == "relative" else 1.0),
        )
        for seeds in blocks
        for shift, turn in part.spreads
        for arm in part.arms
    ]


def _student_settings(part: ImitationPlan | FinetunePlan, arm: str, demos: int, steps: int) -> dict[str, Any]:
    """What imitation and the imitation before fine-tuning have in common."""
    return {
        "task": part.task,
        "arm": arm,
        "shift": part.spread[0],
        "turn": part.spread[1],
        "demos": demos,
        "steps": steps,
        "test_episodes": part.episodes,
        "policy": part.policy,
        "noise": part.noise,
    }


def _imitation_cells(part: ImitationPlan) -> list[Cell]:
    return [
        Cell(
            EXPERIMENT,
            {"kind": "imitation", **_student_settings(part, arm, demos, part.steps), "time": part.time},
            (seed,),
            label=f"{part.task} {arm}, {demos} demonstrations, seed {seed}",
            cost=15.0 * part.steps,
        )
        for seed in range(part.seeds)
        for demos in part.demos
        for arm in part.arms
    ]


def _finetune_cells(part: FinetunePlan) -> list[Cell]:
    return [
        Cell(
            EXPERIMENT,
            {
                "kind": "finetune",
                **_student_settings(part, arm, demos, part.steps[arm]),
                "evaluate_every": part.evaluate_every,
                "agent": part.agent.to_json(),
            },
            (seed,),
            label=f"{part.task} {arm}, {demos} demonstrations, then PPO, seed {seed}",
            cost=0.5 * part.agent.budget + 15.0 * part.steps[arm],
        )
        for seed in range(part.seeds)
        for arm, demos in part.demos.items()
    ]


def _spec(config: Mapping[str, Any], reward: str) -> PlanarSpec:
    return PlanarSpec(str(config["task"]), spread=(float(config["shift"]), float(config["turn"])), reward=reward)


def _ppo(cell: Cell, context: Context) -> dict[str, Any]:
    from burnside.agents.ppo import GeneralPPO

    config = cell.config
    budget, env = int(config["episodes"]), PlanarScenes(_spec(config, "shaped"), str(config["arm"]))
    agent = PPOConfig(**config["agent"])
    learners = [GeneralPPO(agent, env, [seed]) for seed in cell.seeds]

    def advance(learner: GeneralPPO) -> None:
        for _ in range(_PPO_CHUNK):
            if _arrived(learner.recorder.rows[0], budget):
                break
            learner.iterate()

    run_learners(
        context,
        learners,
        advance,
        done=lambda each: int(each.episodes[0]),
        budget=budget,
        finished=lambda each: _arrived(each.recorder.rows[0], budget),
    )
    logs = [learner.log(0, budget) for learner in learners]
    context.save("episodes", _success_curve(cell.seeds, [log.success for log in logs]))
    rows = []
    for learner, log in zip(learners, logs, strict=True):
        reach = first_reach(log.success.astype(np.float64), THRESHOLD, WINDOW)
        rows.append(
            {
                "seed": log.member.seed,
                "reached": reach.time,
                "solved": bool(reach.solved),
                "reached_steps": int(log.steps[reach.time - 1]),
                "success": float(learner.evaluate(500).success.mean()),
            }
        )
    return {"rows": rows}


def _arrived(rows: Sequence[tuple[float, ...]], budget: int) -> bool:
    """Whether a member is over: enough successes among its last episodes, or out of budget.

    Once it has arrived nothing that comes later changes when it did, so going on would be a waste. It is asked after
    every rollout, and no rollout ends more than ``_RECENT`` episodes.
    """
    if len(rows) >= budget:
        return True
    success = np.array([row[2] for row in rows[-(WINDOW + _RECENT) :]], dtype=np.float64)
    return len(success) >= WINDOW and first_reach(success, THRESHOLD, WINDOW).solved


def _success_curve(seeds: Sequence[int], runs: Sequence[AnyArray], points: int = 200) -> dict[str, AnyArray]:
    """Moving averages of success at up to so many episodes per seed."""
    parts: dict[str, list[AnyArray]] = {"seed": [], "episode": [], "success": []}
    for seed, run in zip(seeds, runs, strict=True):
        sums = np.concatenate([[0.0], np.cumsum(run.astype(np.float64))])
        at = np.unique(np.linspace(1, len(run), min(points, len(run))).astype(np.int64))
        first = np.maximum(0, at - WINDOW)
        parts["seed"].append(np.full(len(at), seed, dtype=np.int32))
        parts["episode"].append(at)
        parts["success"].append(((sums[at] - sums[first]) / (at - first)).astype(np.float32))
    return {key: np.concatenate(value) for key, value in parts.items()}


def _student(config: Mapping[str, Any], seed: int) -> tuple[Imitation, PlanarChunks]:
    """Imitation before its first update."""
    from burnside.nn.flow import FlowPolicy, Imitation, ImitationConfig

    spec = _spec(config, "sparse")
    shape = flow_config(str(config["policy"]), spec.obs_dim, spec.action_dim)
    env = PlanarChunks(spec, str(config["arm"]), shape.n_obs)
    demos = demonstrate(spec, DEMONSTRATIONS + seed, n=int(config["demos"]), noise=float(config["noise"]))
    observations, actions = demonstration_chunks(env, demos, shape.horizon)
    steps, times = int(config["steps"]), str(config.get("time", "uniform"))  # fine-tuning does not name it
    settings = ImitationConfig(steps=steps, warmup=min(100, steps // 2), time=times)
    return Imitation(FlowPolicy(shape, seed), settings, observations, actions, seed), env


def _imitate(job: Imitation, context: Context, total: int, **meta: Any) -> FlowPolicy:
    """Imitation to its end, with checkpoints; the policy to act with."""
    while job.step < job.config.steps:
        job.run(job.step + _IMITATION_CHUNK)
        context.progress(job.step, total)
        if context.due():
            context.checkpoint(job.arrays(), stage="imitation", **meta)
    return job.average


def _imitation(cell: Cell, context: Context) -> dict[str, Any]:
    from burnside.agents.flow_ppo import evaluate

    config, (seed,) = cell.config, cell.seeds
    job, env = _student(config, seed)
    saved = context.restore()
    if saved is not None:
        job.restore(saved.arrays)
    context.resumed()
    policy = _imitate(job, context, job.config.steps)
    found = evaluate(policy, env, int(config["test_episodes"]))
    return {"rows": [{"seed": seed, "success": float(found.success.mean()), "loss": float(np.mean(job.losses[-100:]))}]}


def _finetune(cell: Cell, context: Context) -> dict[str, Any]:
    from burnside.agents.flow_ppo import FlowPPO, evaluate

    config, (seed,) = cell.config, cell.seeds
    agent = FlowPPOConfig(**config["agent"])
    job, env = _student(config, seed)
    tests, total = int(config["test_episodes"]), job.config.steps + agent.budget
    saved = context.restore()
    curve: list[list[float]] = []
    if saved is None or saved.meta["stage"] == "imitation":
        if saved is not None:
            job.restore(saved.arrays)
        context.resumed()
        policy = _imitate(job, context, total)
        learner = FlowPPO(agent, policy, env, seed)
        curve.append([0.0, float(evaluate(policy, env, tests).success.mean())])
    else:
        learner = FlowPPO(agent, job.average, env, seed)
        learner.restore(saved.arrays)
        curve = saved.meta["curve"]
        context.resumed()
    every = int(config["evaluate_every"])
    while learner.spent < agent.budget:
        learner.iterate()
        if learner.rollouts % every == 0 or learner.spent >= agent.budget:
            curve.append([float(learner.spent), float(evaluate(learner.policy, env, tests).success.mean())])
            context.log({"seed": seed, "step": learner.spent, "charts/success": curve[-1][1]})
        context.progress(min(total, job.config.steps + learner.spent), total)
        if context.due():
            context.checkpoint(learner.arrays(), stage="ppo", curve=curve)
    points = np.array(curve, dtype=np.float64)
    context.save(
        "finetune",
        {
            "seed": np.full(len(points), seed, dtype=np.int32),
            "env_steps": points[:, 0].astype(np.int64),
            "success": points[:, 1].astype(np.float32),
        },
    )
    return {"rows": [{"seed": seed, "before": curve[0][1], "after": curve[-1][1], "env_steps": int(learner.spent)}]}
