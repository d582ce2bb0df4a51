"""Running it: a cell is one arm of one question with one seed (or a few), resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

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

__all__ = ["EXPERIMENT", "Planar"]

EXPERIMENT = "planar"
#: Scenes of demonstrations come from seeds that no learner and no test uses.
DEMONSTRATIONS = 1 << 40
#: Rollouts of PPO between checks of the clock.
_PPO_CHUNK = 10
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
        return _pipeline(cell, context)

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


def _without(variant: str) -> str:
    return f" ({variant})" if variant else ""


def _finetune_cells(part: FinetunePlan) -> list[Cell]:
    return [
        Cell(
            EXPERIMENT,
            {
                **({"kind": "ablation", "variant": part.variant} if part.variant else {"kind": "finetune"}),
                **_student_settings(part, arm, demos, part.steps[arm]),
                "evaluate_every": part.evaluate_every,
                "agent": part.agent.to_json(),
                **({"flow": dict(part.flow)} if part.flow else {}),
            },
            (seed,),
            label=f"{part.task} {arm}, {demos} demonstrations, then PPO{_without(part.variant)}, seed {seed}",
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
    """Whether a member has finished: enough successes among its last episodes, or out of budget.

    Later episodes do not change when it arrived, so further training would be wasted. This is checked after every
    rollout, and no rollout ends more than ``_RECENT`` episodes.
    """
    if len(rows) >= budget:
        return True
    success = np.array([row[2] for row in rows[-(WINDOW + _RECENT) :]], dtype=np.float64)
    return len(success) >= WINDOW and first_reach(success, THRESHOLD, WINDOW).solved


def _success_curve(seeds: Sequence[int], runs: Sequence[AnyArray], points: int = 200) -> dict[str, AnyArray]:
    """Moving averages of success at up to ``points`` episodes per seed."""
    parts: dict[str, list[AnyArray]] = {"seed": [], "episode": [], "success": []}
    for seed, run in zip(seeds, runs, strict=True):
        sums = np.concatenate([[0.0], np.cumsum(run.astype(np.float64))])
        at = np.unique(np.linspace(1, len(run), min(points, len(run))).astype(np.int64))
        first = np.maximum(0, at - WINDOW)
        parts["seed"].append(np.full(len(at), seed, dtype=np.int32))
        parts["episode"].append(at)
        parts["success"].append(((sums[at] - sums[first]) / (at - first)).astype(np.float32))
    return {key: np.concatenate(value) for key, value in parts.items()}


def _pipeline(cell: Cell, context: Context) -> dict[str, Any]:
    """Imitation, and PPO over the denoising chain if the cell asks for it."""
    from burnside.agents.flow_ppo import evaluate
    from burnside.experiments.imitate_finetune import Pipeline, run_pipeline
    from burnside.nn.flow import FlowPolicy, Imitation, ImitationConfig

    config, (seed,) = cell.config, cell.seeds
    spec, tests = _spec(config, "sparse"), int(config["test_episodes"])
    shape = replace(flow_config(str(config["policy"]), spec.obs_dim, spec.action_dim), **config.get("flow", {}))
    env = PlanarChunks(spec, str(config["arm"]), shape.n_obs)
    steps, times = int(config["steps"]), str(config.get("time", "uniform"))  # fine-tuning does not name it

    def imitation() -> Imitation:
        demos = demonstrate(spec, DEMONSTRATIONS + seed, n=int(config["demos"]), noise=float(config["noise"]))
        observations, actions = demonstration_chunks(env, demos, shape.horizon)
        settings = ImitationConfig(steps=steps, warmup=min(100, steps // 2), time=times)
        return Imitation(FlowPolicy(shape, seed), settings, observations, actions, seed)

    found = run_pipeline(
        context,
        Pipeline(
            imitation,
            steps,
            shape,
            env,
            lambda policy: evaluate(policy, env, tests),
            seed,
            FlowPPOConfig(**config.get("agent", {})),
            "no" if config["kind"] == "imitation" else "always",
            int(config.get("evaluate_every", 1)),
        ),
    )
    if found.learner is None:
        return {"rows": [{"seed": seed, "success": found.before / tests, "loss": found.loss}]}
    curve = found.curve(seed)
    curve["success"] = (curve.pop("successes") / tests).astype(np.float32)
    context.save(str(config["kind"]), curve)
    before, after = found.before / tests, found.after / tests
    return {"rows": [{"seed": seed, "before": before, "after": after, "env_steps": int(found.learner.spent)}]}
