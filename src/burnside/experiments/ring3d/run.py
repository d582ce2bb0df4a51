"""Running it: a cell is (algorithm, arm, encoder, seeds), resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import UnknownName
from burnside.experiments.arms import KEY
from burnside.experiments.loop import run_learners
from burnside.experiments.ring3d.config import PRESETS, Plan, Setting, agent
from burnside.experiments.ring3d.walks import Walk
from burnside.runs import Cell, Context

if TYPE_CHECKING:
    from burnside.agents.dqn import GeneralDQN
    from burnside.agents.ppo import GeneralPPO

    RingLearner = GeneralDQN | GeneralPPO

__all__ = ["EXPERIMENT", "Ring3D", "make_learners"]

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
        return [cell for each in (plan, *plan.also) for setting in each.settings for cell in _cells(each, setting)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Train the members of a cell, evaluating them on held-out boards on the way."""
        import torch

        torch.set_num_threads(context.threads)
        config = cell.config
        budget, every, boards = (int(config[key]) for key in ("episodes", "evaluate_every", "boards"))
        members = [Member(seed, str(config[KEY])) for seed in cell.seeds]
        spec = RingSpec(int(config["n"]), d=3)
        learners = make_learners(str(config["algorithm"]), config["agent"], spec, members, context.device)
        notes: dict[str, Any] = {"checks": {str(seed): [] for seed in cell.seeds}}

        def evaluate(learner: RingLearner) -> None:
            for m, count in enumerate(_episodes(learner, budget)):
                mine = notes["checks"][str(learner.members[m].seed)]
                if count // every > (mine[-1][0] if mine else 0) // every:
                    mine.append(_check(learner, m, spec, budget, boards))
                    context.log(_charts(learner.members[m].seed, mine[-1]))

        run_learners(
            context,
            learners,
            lambda each: each.advance(Budget(episodes=budget)),
            done=lambda each: int(_episodes(each, budget).min()),
            budget=budget,
            after=evaluate,
            notes=notes,
        )
        checks = notes["checks"]
        context.save("curves", _curves(checks))
        context.save("episodes", _history(learners, budget))
        final = int(config["final_boards"])
        members_of = [(each, m) for each in learners for m in range(len(each.members))]
        rows = [_row(each, m, spec, budget, final, checks[str(each.members[m].seed)]) for each, m in members_of]
        return {"rows": rows}

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per (algorithm, arm, encoder), and policies that learn nothing; see ``analysis.table``."""
        from burnside.experiments.ring3d.analysis import table

        return table(folder, allow_missing)


def _cells(plan: Plan, setting: Setting) -> list[Cell]:
    budget = plan.budgets[setting.algorithm]
    config = {
        "n": plan.n,
        "algorithm": setting.algorithm,
        KEY: setting.arm,
        "encoder": setting.encoder,
        "episodes": budget.episodes,
        "agent": agent(setting, plan).to_json(),
        "evaluate_every": plan.evaluate_every,
        "boards": plan.boards,
        "final_boards": plan.final_boards,
    }
    if setting.variant:  # the cells of App. C's own settings have kept their names
        config["variant"] = setting.variant
    blocks = [tuple(range(s, min(s + plan.block, plan.seeds))) for s in range(0, plan.seeds, plan.block)]
    # A canonical member soon plays short episodes, a baseline runs into the time limit.
    cost = budget.episodes * plan.block * (4.0 if setting.arm == "baseline" else 1.0)
    return [
        Cell(EXPERIMENT, config, seeds, label=f"{setting.title} seeds {seeds[0]}–{seeds[-1]}", cost=cost)
        for seeds in blocks
    ]


def make_learners(
    algorithm: str, agent: Mapping[str, Any], spec: RingSpec, members: Sequence[Member], device: str
) -> list[RingLearner]:
    """The learners of a cell: one per seed on a CPU, where the encoder then sees each board once; all on a GPU."""
    from burnside.agents.dqn import DQNConfig
    from burnside.agents.dqn import learner as dqn
    from burnside.agents.ppo import RingPPOConfig
    from burnside.agents.ppo import learner as ppo

    size, env = 1 if device == "cpu" else len(members), RingScenes(spec)
    groups = [members[i : i + size] for i in range(0, len(members), size)]
    if algorithm == "dqn":
        return [dqn.torch_learner(DQNConfig(**agent), env, group, device=device) for group in groups]
    if algorithm == "ppo":
        return [ppo.torch_learner(RingPPOConfig(**agent), env, group, device=device) for group in groups]
    raise UnknownName("algorithm", algorithm, ("dqn", "ppo"))


def _episodes(learner: RingLearner, budget: int) -> IntArray:
    """At most the budget: a rollout is never cut short, what it plays beyond is not counted."""
    return np.minimum(learner.episodes, budget)


def _play(learner: RingLearner, m: int, spec: RingSpec, boards: int, greedy: bool) -> dict[str, float]:
    """What a member does on held-out boards, in means."""
    walk = Walk(spec, boards)
    return walk.summary(learner.evaluate(boards, m=m, greedy=greedy, watch=walk))


def _check(learner: RingLearner, m: int, spec: RingSpec, budget: int, boards: int) -> list[float]:
    """A point of the learning curve, columns ``_CHECK``."""
    greedy, sampled = (_play(learner, m, spec, boards, greedy) for greedy in (True, False))
    returns = learner.log(m, budget).returns
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


def _curves(checks: Mapping[str, Sequence[Sequence[float]]]) -> dict[str, AnyArray]:
    rows = np.array([check for mine in checks.values() for check in mine], dtype=np.float32).reshape(-1, len(_CHECK))
    seeds = [np.full(len(mine), int(seed), dtype=np.int32) for seed, mine in checks.items()]
    columns: dict[str, AnyArray] = {"seed": np.concatenate(seeds), "episode": rows[:, 0].astype(np.int32)}
    return columns | {name: rows[:, k] for k, name in enumerate(_CHECK) if k}


def _history(learners: Sequence[RingLearner], budget: int) -> dict[str, AnyArray]:
    """Per-episode returns and lengths of all members; returns are whole numbers in this game."""
    logs = [each.log(m, budget) for each in learners for m in range(len(each.members))]
    return {
        "seed": np.concatenate([np.full(log.episodes, log.member.seed, dtype=np.int32) for log in logs]),
        "returns": np.concatenate([np.rint(log.returns).astype(np.int16) for log in logs]),
        "lengths": np.concatenate([log.lengths.astype(np.int16) for log in logs]),
    }


def _row(
    learner: RingLearner, m: int, spec: RingSpec, budget: int, boards: int, checks: Sequence[Sequence[float]]
) -> dict[str, Any]:
    """The final policy of a member, and the mean of its last evaluations: greedy play varies between them."""
    log = learner.log(m, budget)
    row: dict[str, Any] = {
        "seed": learner.members[m].seed,
        "total_steps": int(log.steps[-1]),
        "total_updates": int(log.updates[-1]),
        "train_return": float(log.returns[-WINDOW:].mean()),
        "late_return": float(np.mean([check[_CHECK.index("greedy")] for check in checks[-LATE:]])) if checks else None,
    }
    for name, greedy in (("greedy", True), ("sampled", False)):
        row |= {f"{name}_{key}": value for key, value in _play(learner, m, spec, boards, greedy).items()}
    return row
