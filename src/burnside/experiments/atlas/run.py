"""Running it: a cell is an environment, a learner, an arm or a control, and a few seeds; resumable to the same bits.

Learners are evaluated greedily at fixed numbers of steps, on held-out episodes that are the same for all. A run ends
when its highest threshold has been sustained, since later episodes cannot change that time.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.atlas.config import PATIENCE, PRESETS, Task, conditions
from burnside.experiments.loop import run_learners
from burnside.runs import Cell, Context
from burnside.runs.context import Stopped
from burnside.stats.censored import first_reach_evaluated

__all__ = ["EXPERIMENT", "Atlas", "Measurement", "cells_of", "check_evaluations"]

EXPERIMENT = "atlas"


def cells_of(task: Task, experiment: str = EXPERIMENT) -> list[Cell]:
    """The cells of a task: the baseline first, then arms, then controls."""
    first, last = task.first_seed, task.first_seed + task.seeds
    blocks = [tuple(range(s, min(s + task.block, last))) for s in range(first, last, task.block)]
    return [
        Cell(
            experiment,
            {
                "env": task.env,
                "variant": task.variant,
                "family": task.family,
                "learner": task.learner,
                "arm": arm,
                "control": control,
                "steps": task.steps,
                "every": task.every,
                "episodes": task.episodes,
                "random": task.random,
                "best": task.best,
                "settings": dict(task.tuned.get(f"{arm}/{control}", task.settings)),
                "make": dict(task.make),
                "symmetry": task.symmetry if isinstance(task.symmetry, str) else dict(task.symmetry),
                # only where there is some: names of older cells stay as they were
                **({"code": dict(task.code)} if task.code else {}),
            },
            seeds,
            label=f"{task.name}, {task.learner}, {arm} {control}".strip() + f", seeds {seeds[0]}–{seeds[-1]}",
            cost=task.cost * len(seeds),
        )
        for arm, control in conditions(task)
        for seeds in blocks
    ]


@dataclass(frozen=True)
class Measurement:
    """A job: some tasks. ``burnside measure`` makes its own."""

    tasks: tuple[Task, ...] = ()
    experiment: str = EXPERIMENT

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of all tasks."""
        return [cell for task in self._tasks(preset) for cell in cells_of(task, self.experiment)]

    def _tasks(self, preset: str) -> tuple[Task, ...]:
        return self.tasks

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Train the seeds of a cell side by side, and evaluate them on the way."""
        return run_cell(cell, context)

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row for each task, arm and control; see ``analysis.table``."""
        from burnside.experiments.atlas.analysis import table

        return table(folder, allow_missing)


class Atlas(Measurement):
    """The study."""

    def _tasks(self, preset: str) -> tuple[Task, ...]:
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        return PRESETS[preset]


def run_cell(cell: Cell, context: Context) -> dict[str, Any]:
    """One cell."""
    os.environ.setdefault("MUJOCO_GL", "disabled")
    from burnside.experiments.atlas.learners import OURS, Measured, condition, make_learner

    config = cell.config
    check_evaluations(config)
    where = condition(config)
    learners = [make_learner(config, where, seed) for seed in cell.seeds]
    number = {id(learner): str(seed) for learner, seed in zip(learners, cell.seeds, strict=True)}
    steps, every, episodes = (int(config[key]) for key in ("steps", "every", "episodes"))
    highest = Task(**_task_fields(config)).thresholds()
    # of every seed: steps and scores of its evaluations
    notes: dict[str, Any] = {"curves": {str(seed): [[], []] for seed in cell.seeds}}

    def next_stop(learner: Measured) -> int:
        return min(steps, (len(notes["curves"][number[id(learner)]][0]) + 1) * every)

    def advance(learner: Measured) -> None:
        learner.advance_to(next_stop(learner))

    def scored(learner: Measured) -> float:
        found = learner.score(episodes)
        if not math.isfinite(found):
            raise InvalidParameter(
                f"the score of seed {number[id(learner)]} after {learner.made} steps is {found}: rewards of "
                f"{config['env']} or the numbers of the learner are not finite"
            )
        return found

    def look(learner: Measured) -> None:
        if learner.made < next_stop(learner):
            return
        when, scores = notes["curves"][number[id(learner)]]
        while len(when) * every < min(learner.made, steps) // every * every or not when:
            when.append(min(steps, (len(when) + 1) * every))
            scores.append(scored(learner) if len(when) * every + every > learner.made else scores[-1])
        seed = int(number[id(learner)])
        context.log(
            {"seed": seed, "step": learner.made, "charts/score": scores[-1], "charts/updates": learner.updates_made}
        )

    def arrived(learner: Measured) -> bool:
        when, scores = notes["curves"][number[id(learner)]]
        if highest is None or not when:
            return False
        return first_reach_evaluated(when, scores, highest[-1], patience=PATIENCE).solved

    if config["learner"] not in OURS:
        context = Unkept(context)
    run_learners(
        context, learners, advance, done=lambda each: each.made, budget=steps, finished=arrived, after=look, notes=notes
    )
    curves = {seed: notes["curves"][str(seed)] for seed in cell.seeds}
    context.save(
        "scores",
        {
            "seed": np.concatenate([np.full(len(when), seed, dtype=np.int32) for seed, (when, _) in curves.items()]),
            "step": np.concatenate([np.array(when, dtype=np.int64) for when, _ in curves.values()]),
            "score": np.concatenate([np.array(scores, dtype=np.float32) for _, scores in curves.values()]),
        },
    )
    rows = [
        {
            "seed": seed,
            "made": learner.made,
            "updates": learner.updates_made,
            "last": float(curves[seed][1][-1]),
            "top": float(max(curves[seed][1])),
            "order": where.order,
            "placebo": where.placebos.get(seed, ("", ""))[0],
            "placebo_verdict": where.placebos.get(seed, ("", ""))[1],
        }
        for learner, seed in zip(learners, cell.seeds, strict=True)
    ]
    return {"rows": rows}


def check_evaluations(config: Mapping[str, Any]) -> None:
    """Refuse evaluations that are closer together than the learner can stop: one score would count several times."""
    from burnside.experiments.atlas.learners import steps_at_a_time

    grain, every = steps_at_a_time(config["learner"], config["settings"]), int(config["every"])
    if every < grain:
        setting = "n_steps" if config["learner"].startswith("sb3:") else "rollout"
        raise InvalidParameter(
            f"{config['learner']} makes {grain} steps at a time, so it cannot be evaluated every {every}: give --every "
            f"{grain} and at least as many --steps, or a smaller --setting {setting}=…"
        )


class Unkept(Context):
    """The context of a cell whose learners cannot be put into a checkpoint: after a stop it starts over."""

    def __init__(self, inner: Context) -> None:
        self.__dict__.update(inner.__dict__)

    def restore(self) -> None:
        """There is nothing to resume from; the log is emptied."""
        self._cut(0)

    def checkpoint(self, arrays: Mapping[str, Any], **meta: Any) -> None:
        """Nothing is kept; raises ``Stopped`` if a stop was requested."""
        self._last = time.monotonic()
        if self._stop():
            raise Stopped


def _task_fields(config: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the thresholds."""
    own = {key: config[key] for key in ("env", "family", "learner", "steps", "random", "best", "every", "episodes")}
    return own | {"seeds": 1}
