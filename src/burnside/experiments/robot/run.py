"""Running it: a cell is one run of the pipeline with one seed, resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside.errors import UnknownName
from burnside.experiments.robot.config import PRESETS, Part, Recipe, recipe
from burnside.runs import Cell, Context

if TYPE_CHECKING:
    from burnside.envs.manipulation.chunks import ManipulationChunks
    from burnside.nn.flow import FlowPolicy, Imitation

__all__ = ["EXPERIMENT", "Robot"]

EXPERIMENT = "robot"
#: Updates of imitation between looks at the clock.
_CHUNK = 20


class Robot:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        return [cell for part in PRESETS[preset] for cell in _cells(preset, part)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Run one cell."""
        import torch

        from burnside.experiments.robot.pipeline import environment

        torch.set_num_threads(context.threads)
        # the cells of a sweep are what runs in parallel, so each simulates in its own process
        with environment(Recipe.from_json(cell.config)) as env:
            return _run(cell, context, env)

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per setting; see ``analysis.table``."""
        from burnside.experiments.robot.analysis import table

        return table(folder, allow_missing)


def _cells(preset: str, part: Part) -> list[Cell]:
    out = []
    for seed in range(part.first, part.first + part.seeds):
        for demos in part.demos:
            for frame in part.frames:
                found = recipe(preset, part.task, frame, observation=part.observation, demos=demos, budget=part.budget)
                tuned = part.finetune != "no"
                label = f"{part.task} {frame}, {demos} demonstrations" + (", then PPO" if tuned else "")
                seen = {"state": "", "cloud": ", clouds", "tokens": ", tokens"}[found.observation]
                label += f"{seen}, seed {seed}"
                cost = 0.03 * found.imitation["steps"] + 1.0 * found.scenes + tuned * 0.0035 * found.agent.budget
                config = {"kind": "pipeline", "finetune": part.finetune, **found.to_json()}
                out.append(Cell(EXPERIMENT, config, (seed,), label=label, cost=cost))
    return out


def _imitate(job: Imitation, context: Context, total: int) -> FlowPolicy:
    """Imitation to its end, with checkpoints; the policy to act with."""
    while job.step < job.config.steps:
        job.run(job.step + _CHUNK)
        context.progress(job.step, total)
        if context.due():
            context.checkpoint(job.arrays(), stage="imitation")
    return job.average


def _run(cell: Cell, context: Context, env: ManipulationChunks) -> dict[str, Any]:
    from burnside.agents.flow_ppo import FlowPPO
    from burnside.experiments.robot.pipeline import gate_says, student, success_on_test, training_curve

    (seed,) = cell.seeds
    config, found = cell.config, Recipe.from_json(cell.config)
    agent, saved = found.agent, context.restore()
    job = student(found, env, seed, device=context.device)
    total = job.config.steps + (agent.budget if config["finetune"] != "no" else 0)
    curve: list[list[float]] = []
    if saved is None or saved.meta["stage"] == "imitation":
        if saved is not None:
            job.restore(saved.arrays)
        context.resumed()
        policy = _imitate(job, context, total)
        played = success_on_test(policy, env, found.scenes)
        curve.append([0.0, float(played.success.sum()), float(played.lengths.sum())])
        loss = float(np.mean(job.losses[-100:]))
    else:
        policy, curve, loss = job.average, saved.meta["curve"], saved.meta["loss"]
    before = int(curve[0][1])
    row: dict[str, Any] = {"seed": seed, "scenes": found.scenes, "successes": before, "loss": loss}
    row |= {"gate": gate_says(before / found.scenes) is None, "after": None, "env_steps": None, "training": None}
    if config["finetune"] == "no" or (config["finetune"] == "gate" and not row["gate"]):
        return {"rows": [row]}
    learner = FlowPPO(agent, policy, env, seed)
    if saved is not None and saved.meta["stage"] == "ppo":
        learner.restore(saved.arrays)
    context.resumed()
    while learner.spent < agent.budget:
        learner.iterate()
        if learner.rollouts % found.evaluate_every == 0 or learner.spent >= agent.budget:
            played = success_on_test(learner.policy, env, found.scenes)
            curve.append([float(learner.spent), float(played.success.sum()), float(played.lengths.sum())])
            context.log({"seed": seed, "step": learner.spent, "charts/success": curve[-1][1] / found.scenes})
        context.progress(min(total, job.config.steps + learner.spent), total)
        if context.due():
            context.checkpoint(learner.arrays(), stage="ppo", curve=curve, loss=loss)
    points = np.array(curve, dtype=np.float64)
    context.save(
        "finetune",
        {
            "seed": np.full(len(points), seed, dtype=np.int32),
            "env_steps": points[:, 0].astype(np.int64),
            "successes": points[:, 1].astype(np.int32),
        },
    )
    training = training_curve(learner.recorder.rows[0])
    context.save("training", {"seed": np.full(len(training["success"]), seed, dtype=np.int32), **training})
    ended = learner.recorder.rows[0]
    last = ended[-len(ended) // 4 :] if ended else []
    row |= {"after": int(curve[-1][1]), "env_steps": int(learner.spent)}
    row["training"] = float(np.mean([row[2] for row in last])) if last else None
    return {"rows": [row]}
