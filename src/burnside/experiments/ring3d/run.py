"""Running it: a cell is (algorithm, condition, encoder, seeds), resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.dqn.config import Member
from burnside.envs.ring import RingSpec
from burnside.errors import UnknownName
from burnside.experiments.ring3d.config import PRESETS, Plan, Setting, agent
from burnside.experiments.ring3d.learners import Learner, make_learners
from burnside.runs import Cell, Context

__all__ = ["EXPERIMENT", "Ring3D"]

EXPERIMENT = "ring3d"
#: Training episodes in ``train_return``.
WINDOW = 100
#: Evaluations in ``late_return``.
LATE = 5
_CHECK = ("episode", "train", "greedy", "sampled", "greedy_solved", "greedy_cells", "sampled_solved")


class Ring3D:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        plan = PRESETS[preset]
        return [cell for setting in plan.settings for cell in _cells(plan, setting)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Train the members of a cell, evaluating them on held-out boards on the way."""
        import torch

        torch.set_num_threads(context.threads)
        config = cell.config
        budget, every, boards = (int(config[key]) for key in ("episodes", "evaluate_every", "boards"))
        members = [Member(seed, str(config["condition"])) for seed in cell.seeds]
        learners = make_learners(
            str(config["algorithm"]), config["agent"], RingSpec(int(config["n"]), d=3), members, budget, context.device
        )
        checks: dict[str, list[list[float]]] = {str(seed): [] for seed in cell.seeds}
        saved = context.restore()
        if saved is not None:
            for k, learner in enumerate(learners):
                prefix = f"{k}/"
                own = {name.removeprefix(prefix): a for name, a in saved.arrays.items() if name.startswith(prefix)}
                learner.restore(own)
            checks = saved.meta["checks"]
        while True:
            # The one furthest behind goes next, so that a stopped sweep has all its seeds at about the same point.
            learner = min(learners, key=lambda each: int(each.episodes().min()))
            if learner.episodes().min() >= budget:
                break
            learner.advance()
            for m, count in enumerate(learner.episodes()):
                mine = checks[str(learner.members[m].seed)]
                if count // every > (mine[-1][0] if mine else 0) // every:
                    mine.append(_check(learner, m, boards))
                    context.log(_charts(learner.members[m].seed, mine[-1]))
            context.progress(sum(int(each.episodes().sum()) for each in learners), budget * len(members))
            if context.due():
                context.checkpoint(_pack(learners), checks=checks)
        context.save("curves", _curves(checks))
        context.save("episodes", _history(learners))
        final = int(config["final_boards"])
        members_of = [(each, m) for each in learners for m in range(len(each.members))]
        return {"rows": [_row(each, m, final, checks[str(each.members[m].seed)]) for each, m in members_of]}

    @property
    def job(self) -> Ring3D:
        """Itself: the registry asks for a job and a table."""
        return self

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per (algorithm, condition, encoder), and policies that learn nothing; see ``analysis.table``."""
        from burnside.experiments.ring3d.analysis import table

        return table(folder, allow_missing)


def _cells(plan: Plan, setting: Setting) -> list[Cell]:
    budget = plan.budgets[setting.algorithm]
    config = {
        "n": plan.n,
        "algorithm": setting.algorithm,
        "condition": setting.condition,
        "encoder": setting.encoder,
        "episodes": budget.episodes,
        "agent": agent(setting, plan).to_json(),
        "evaluate_every": plan.evaluate_every,
        "boards": plan.boards,
        "final_boards": plan.final_boards,
    }
    blocks = [tuple(range(s, min(s + plan.block, plan.seeds))) for s in range(0, plan.seeds, plan.block)]
    # A canonical member soon plays short episodes, a baseline runs into the time limit.
    cost = budget.episodes * plan.block * (4.0 if setting.condition == "baseline" else 1.0)
    return [
        Cell(EXPERIMENT, config, seeds, label=f"{setting.title} seeds {seeds[0]}–{seeds[-1]}", cost=cost)
        for seeds in blocks
    ]


def _check(learner: Learner, m: int, boards: int) -> list[float]:
    """A point of the learning curve, columns ``_CHECK``."""
    greedy, sampled = (learner.evaluate(m, boards, greedy).summary() for greedy in (True, False))
    returns = learner.history(m).returns
    return [
        float(len(returns)),
        float(returns[-WINDOW:].mean()),
        greedy["return"],
        sampled["return"],
        greedy["solved"],
        greedy["cells"],
        sampled["solved"],
    ]


def _charts(seed: int, check: Sequence[float]) -> dict[str, Any]:
    named = dict(zip(_CHECK, check, strict=True))
    return {
        "seed": seed,
        "step": int(named["episode"]),
        "charts/episodic_return": named["train"],
        "charts/greedy_return": named["greedy"],
        "charts/sampled_return": named["sampled"],
        "charts/greedy_cells": named["greedy_cells"],
    }


def _pack(learners: Sequence[Learner]) -> dict[str, AnyArray]:
    return {f"{k}/{name}": array for k, each in enumerate(learners) for name, array in each.arrays().items()}


def _curves(checks: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, AnyArray]:
    rows = np.array([check for mine in checks.values() for check in mine], dtype=np.float32).reshape(-1, len(_CHECK))
    seeds = [np.full(len(mine), int(seed), dtype=np.int32) for seed, mine in checks.items()]
    columns: dict[str, AnyArray] = {"seed": np.concatenate(seeds), "episode": rows[:, 0].astype(np.int32)}
    return columns | {name: rows[:, k] for k, name in enumerate(_CHECK) if k}


def _history(learners: Sequence[Learner]) -> dict[str, AnyArray]:
    """Per-episode returns and lengths of all members; returns are whole numbers in this game."""
    found = [(each.members[m].seed, each.history(m)) for each in learners for m in range(len(each.members))]
    return {
        "seed": np.concatenate([np.full(len(log.returns), seed, dtype=np.int32) for seed, log in found]),
        "returns": np.concatenate([np.rint(log.returns).astype(np.int16) for _, log in found]),
        "lengths": np.concatenate([log.lengths.astype(np.int16) for _, log in found]),
    }


def _row(learner: Learner, m: int, boards: int, checks: Sequence[Sequence[float]]) -> dict[str, Any]:
    """The final policy of a member, and the mean of its last evaluations: greedy play swings from one to the next."""
    log = learner.history(m)
    row: dict[str, Any] = {
        "seed": learner.members[m].seed,
        "total_steps": int(log.steps[-1]),
        "total_updates": int(log.updates[-1]),
        "train_return": float(log.returns[-WINDOW:].mean()),
        "late_return": float(np.mean([check[_CHECK.index("greedy")] for check in checks[-LATE:]])) if checks else None,
    }
    for name, greedy in (("greedy", True), ("sampled", False)):
        found = learner.evaluate(m, boards, greedy).summary()
        row |= {f"{name}_{key}": value for key, value in found.items()}
    return row
