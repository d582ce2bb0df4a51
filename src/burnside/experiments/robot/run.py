"""Running it: a cell is one run of the pipeline with one seed, resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside.envs.manipulation.tasks import find_task
from burnside.errors import UnknownName
from burnside.experiments.robot.config import LATER, PRESETS, Recipe, part_recipe
from burnside.runs import Cell, Context

if TYPE_CHECKING:
    from burnside.experiments.imitate_finetune import Pipeline, Start, Trained
    from burnside.nn.flow import FlowPolicy

__all__ = ["EXPERIMENT", "POLICY", "OneRun", "Robot"]

EXPERIMENT = "robot"
#: Where a cell of :class:`OneRun` keeps its policy, in its folder.
POLICY = "own-policy.safetensors"
#: Training episodes at either end of a run that are compared.
GO_EPISODES = 1_000
#: Processor time of a control step of 2 ms physics.
_SECONDS_PER_STEP = 0.0025


class Robot:
    """The job of the sweep, and the table."""

    #: A file of demonstrations; None: they are found or made.
    demos: Path | None = None
    #: Processes that simulate. The cells of a sweep are what runs in parallel, so each simulates in its own process.
    workers: int = 0
    #: A policy to fine-tune, instead of one that is imitated first.
    start: Start | None = None

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        return [
            _cell(part_recipe(preset, part, arm, demos), seed, part.finetune, kind=part.kind)
            for part in PRESETS[preset]
            for seed in range(part.first, part.first + part.seeds)
            for demos in part.demos
            for arm in part.arms
        ]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Run one cell."""
        import torch

        from burnside.agents.flow_ppo import evaluate
        from burnside.envs.manipulation.chunks import ManipulationChunks, evaluation_scenes
        from burnside.experiments.imitate_finetune import Pipeline, run_pipeline
        from burnside.experiments.robot.demonstrations import student

        torch.set_num_threads(context.threads)
        found, (seed,), source = Recipe.from_json(cell.config), cell.seeds, str(cell.config.get("source", "burnside"))
        scene = None
        if source == "nvidia":
            from burnside.envs.manipulation.nvidia import nvidia_scene

            scene = nvidia_scene(found.task)
        with ManipulationChunks(
            found.task,
            found.frame,
            found.policy.n_obs,
            observation="cloud" if found.cloud else "state",
            points=max(1, found.policy.points),
            workers=self.workers,
            scene=scene,
            source=source,
            spread=(found.shift, found.turn),
            features=found.features,
            substeps=found.substeps,
            pays=found.pays,
            clock=found.policy.value_time,
        ) as env:
            run = Pipeline(
                self.start or (lambda: student(found, env, seed, demos=self.demos, device=context.device)),
                int(found.imitation["steps"]),
                found.policy,
                env,
                lambda policy: evaluate(policy, env, scenes=evaluation_scenes(found.scenes, found.test_from)),
                seed,
                found.agent,
                str(cell.config["finetune"]),
                found.evaluate_every,
                context.device,
            )
            trained = run_pipeline(context, run)
        self.keep(trained.policy, context)
        later = {key: getattr(found, key) for key in LATER} if "setting" in cell.config else {}
        return {"rows": [later | _row(context, run, trained, found.scenes)]}

    def keep(self, policy: FlowPolicy, context: Context) -> None:
        """Keep the policy of a cell; the cells of a sweep keep none."""

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per setting; see ``analysis.table``."""
        from burnside.experiments.robot.analysis import table

        return table(folder, allow_missing)


@dataclass(frozen=True)
class OneRun(Robot):
    """The sweep of ``burnside train robot``: one cell, whose policy is kept.

    Attributes:
        recipe: what to train.
        seed: of everything random.
        more: settings that the cells of the study do not have, such as the hash of a file that was given.
        start: a policy to fine-tune; None: imitation alone.
        demos: a file of demonstrations; None: they are found or made.
        workers: processes that simulate.
    """

    recipe: Recipe
    seed: int = 0
    more: Mapping[str, Any] = field(default_factory=dict)
    start: Start | None = None
    demos: Path | None = None
    workers: int = 0

    def plan(self, preset: str) -> Sequence[Cell]:
        """Its cell."""
        return [_cell(self.recipe, self.seed, "no" if self.start is None else "always", self.more)]

    def keep(self, policy: FlowPolicy, context: Context) -> None:
        """Keep the policy in the folder of the cell."""
        from burnside.nn.flow import save_policy

        save_policy(policy, context.folder / POLICY)


def _cell(
    found: Recipe, seed: int, finetune: str, more: Mapping[str, Any] | None = None, kind: str = "pipeline"
) -> Cell:
    tuned = finetune != "no"
    seen = {"state": "", "cloud": ", clouds", "tokens": ", tokens"}[found.observation]
    then = f", then PPO {found.variant}".rstrip() if tuned else ""
    placed = f", cell ± {found.shift:g} m {found.turn:g}°" if found.shift or found.turn else ""
    state = "" if found.features == "poses" else f", {found.features}{' and mishaps' if found.mishaps else ''}"
    speed = _SECONDS_PER_STEP * (0.4 if found.substeps != 25 else 1.0)
    test = speed * found.scenes * find_task(found.task).limit
    return Cell(
        EXPERIMENT,
        {"kind": kind, "finetune": finetune, **found.to_json(), **(more or {})},
        (seed,),
        label=f"{found.task} {found.arm}, {found.demos} demonstrations{state}{placed}{then}{seen}, seed {seed}",
        cost=(0.01 if found.policy.width <= 256 else 0.03) * found.imitation["steps"]
        + test
        + tuned * 1.4 * speed * found.agent.budget,
    )


def _row(context: Context, run: Pipeline, trained: Trained, scenes: int) -> dict[str, Any]:
    """The row of a cell; the tests and the training episodes of fine-tuning are tables of their own."""
    from burnside.experiments.imitate_finetune import gate_says, rollout_table, training_curve

    row: dict[str, Any] = {"seed": run.seed, "scenes": scenes, "successes": trained.before, "loss": trained.loss}
    row |= {"gate": gate_says(trained.before / scenes) is None, "after": None, "env_steps": None, "training": None}
    if trained.learner is None:
        return row
    context.save("finetune", trained.curve(run.seed))
    ended = trained.learner.recorder.rows[0]
    training = training_curve(ended)
    context.save("training", {"seed": np.full(len(training["success"]), run.seed, dtype=np.int32), **training})
    rollouts = rollout_table(trained.learner)
    context.save("rollouts", {"seed": np.full(len(rollouts["success"]), run.seed, dtype=np.int32), **rollouts})
    last = ended[-len(ended) // 4 :] if ended else []
    row |= {"after": trained.after, "env_steps": int(trained.learner.spent)}
    row["training"] = float(np.mean([episode[2] for episode in last])) if last else None
    ends = min(GO_EPISODES, len(ended) // 2)  # the pilot's question: do the last episodes beat the first?
    if ends:
        row |= {"ends": ends, "training_first": float(np.mean([episode[2] for episode in ended[:ends]]))}
        row["training_last"] = float(np.mean([episode[2] for episode in ended[-ends:]]))
    return row
