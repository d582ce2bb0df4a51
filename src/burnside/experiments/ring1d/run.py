"""Running it: a cell is (N, arm, two seeds), resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.common.log import EpisodeLog
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.dqn.config import DQNConfig
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.optimal import expected_optimal_return
from burnside.envs.ring.scenes import RingScenes, SeenFromGoal
from burnside.errors import UnknownName
from burnside.experiments.arms import KEY
from burnside.experiments.loop import run_learners
from burnside.experiments.ring1d.config import PRESETS, RULES, VARIANTS, Plan
from burnside.runs import Cell, Context
from burnside.stats.censored import Reach, first_reach, first_reach_evaluated

if TYPE_CHECKING:
    from burnside.agents.dqn import GeneralDQN, RingDQN

__all__ = ["EXPERIMENT", "Ring1D"]

EXPERIMENT = "ring1d"

#: Episodes between greedy evaluations, and the boards of each. Part of a cell's name.
EVALUATE_EVERY, EVALUATION_BOARDS = 100, 50
#: Training episodes in a moving average, and in a point of the curve of a long run.
WINDOW = 100
#: Runs up to this budget keep every episode, longer ones the means of ``WINDOW`` episodes.
EVERY_EPISODE = 10_000
#: Consecutive evaluations that must pass, so that one lucky set of boards is not convergence.
PATIENCE = 3


class Ring1D:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset, the small rings first."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        plan = PRESETS[preset]
        return [cell for each in (plan, *plan.also) for n in each.sizes for cell in _cells(each, n)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Train the members of a cell side by side, a hundred episodes at a time."""
        from burnside.agents.dqn.learner import GeneralDQN, ring_learner

        config = cell.config
        spec, agent = RingSpec(int(config["n"])), DQNConfig.from_json(config["dqn"])
        episodes, every = int(config["episodes"]), int(config["evaluate_every"])
        members = [Member(seed, str(config[KEY])) for seed in cell.seeds]
        game = RingScenes(spec)
        learners = [
            GeneralDQN(agent, SeenFromGoal(game), member)  # the same algorithm with the feature, in another engine
            if member.arm == "feature"
            else ring_learner(agent, game, [member], device=context.device)
            for member in members
        ]
        checks: dict[str, list[float]] = {str(seed): [] for seed in cell.seeds}
        notes: dict[str, Any] = {"checks": checks}

        def evaluate(learner: RingDQN | GeneralDQN) -> None:
            """Greedy episodes at every hundredth."""
            episode, seed = int(learner.episodes[0]), learner.members[0].seed
            mine = notes["checks"][str(seed)]
            if episode // every == len(mine):
                return
            mine.append(float(learner.evaluate(int(config["evaluation_boards"])).returns.mean()))
            last = learner.recorder.rows[0][-WINDOW:]
            context.log(
                {
                    "seed": seed,
                    "step": episode,
                    "charts/episodic_return": float(np.mean([row[0] for row in last])),
                    "charts/greedy_return": mine[-1],
                    "charts/epsilon": last[-1][-2],
                    # there is none before the first update
                    "losses/td_loss": last[-1][-1] if np.isfinite(last[-1][-1]) else None,
                }
            )

        def advance(learner: RingDQN | GeneralDQN) -> None:
            episode = int(learner.episodes[0])
            learner.advance(Budget(episodes=min(episodes, (episode // every + 1) * every)))

        run_learners(
            context, learners, advance, done=lambda each: int(each.episodes[0]), budget=episodes, after=evaluate,
            notes=notes,
        )  # fmt: skip
        logs = [learner.log() for learner in learners]
        if episodes <= EVERY_EPISODE:
            context.save("episodes", _columns(logs))
        else:
            context.save("curve", _means(logs))
        variant = {"variant": variant_of(config["dqn"])}
        return {"rows": [_row(spec, log, notes["checks"][str(log.member.seed)], every) | variant for log in logs]}

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per (N, arm); see ``analysis.table``."""
        from burnside.experiments.ring1d.analysis import table

        return table(folder, allow_missing)


def _arms(plan: Plan, n: int) -> tuple[str, ...]:
    extra = [name for name, sizes in (("augment", plan.augment), ("equivariant", plan.equivariant)) if n in sizes]
    return (*plan.arms, *extra)


def _cells(plan: Plan, n: int) -> list[Cell]:
    return [cell for arm in _arms(plan, n) for variant in plan.variants for cell in _blocks(plan, n, arm, variant)]


def _blocks(plan: Plan, n: int, arm: str, variant: str) -> list[Cell]:
    episodes = plan.equivariant_episodes if arm == "equivariant" else plan.episodes
    config: dict[str, Any] = {
        "n": n,
        KEY: arm,
        "episodes": episodes,
        "dqn": DQNConfig.preset("ring1d", **VARIANTS[variant]).to_json(),
        "evaluate_every": EVALUATE_EVERY,
        "evaluation_boards": EVALUATION_BOARDS,
    }
    end = plan.first + plan.seeds
    blocks = [tuple(range(s, min(s + plan.block, end))) for s in range(plan.first, end, plan.block)]
    # unsolved rings run into the time limit of 4N steps nearly every episode, solved ones do not
    cost = episodes * (n / 2 if arm == "canonical" or n < 25 else 3 * n) * plan.block
    if arm == "equivariant":
        cost *= 50  # another engine
    title = f"N={n} {arm}" + ("" if variant == "paper" else f" {variant}")
    return [
        Cell(EXPERIMENT, config, seeds, label=f"{title} seeds {seeds[0]}–{seeds[-1]}", cost=cost) for seeds in blocks
    ]


def _columns(logs: Sequence[EpisodeLog]) -> dict[str, AnyArray]:
    """Per-episode returns and lengths of all members; returns are whole numbers in this game."""
    return {
        "seed": np.concatenate([np.full(log.episodes, log.member.seed, dtype=np.int32) for log in logs]),
        "returns": np.concatenate([np.rint(log.returns).astype(np.int16) for log in logs]),
        "lengths": np.concatenate([log.lengths.astype(np.int16) for log in logs]),
    }


def _means(logs: Sequence[EpisodeLog]) -> dict[str, AnyArray]:
    """Mean return, length and share of solved boards of every ``WINDOW`` training episodes."""
    points = [log.episodes // WINDOW for log in logs]

    def means(name: str) -> AnyArray:
        values = [getattr(log, name)[: k * WINDOW].reshape(k, WINDOW) for log, k in zip(logs, points, strict=True)]
        return np.concatenate([each.mean(axis=1) for each in values]).astype(np.float32)

    return {
        "seed": np.concatenate([np.full(k, log.member.seed, np.int32) for log, k in zip(logs, points, strict=True)]),
        "episode": np.concatenate([WINDOW * np.arange(1, k + 1, dtype=np.int32) for k in points]),
        "returns": means("returns"),
        "lengths": means("lengths"),
        "success": means("success"),
    }


def variant_of(settings: Mapping[str, Any]) -> str:
    """The variant a cell plays, from its settings of DQN.

    >>> variant_of(DQNConfig.preset("ring1d", loss="huber").to_json())
    'huber'
    """
    found = DQNConfig.from_json(settings)
    return next(name for name, changes in VARIANTS.items() if DQNConfig.preset("ring1d", **changes) == found)


def _row(spec: RingSpec, log: EpisodeLog, checks: Sequence[float], every: int) -> dict[str, Any]:
    """When a member converged, by every rule, in episodes and in environment steps."""
    best = expected_optimal_return(spec).value
    row: dict[str, Any] = {
        "n": spec.n,
        KEY: log.member.arm,
        "seed": log.member.seed,
        "episodes": log.episodes,
        "optimum": best,
        "final_return": float(log.returns[-WINDOW:].mean()),
        "final_greedy": float(np.mean(checks[-5:])) if checks else None,
        "total_steps": int(log.steps[-1]),
    }
    for name, rule in RULES.items():
        found = _reach(log.returns, checks, every, rule.share * best, rule.greedy)
        row[name] = found.time
        row[f"{name}_solved"] = bool(found.solved)
        row[f"{name}_steps"] = int(log.steps[found.time - 1])
    return row


def _reach(returns: AnyArray, checks: Sequence[float], every: int, threshold: float, greedy: bool) -> Reach:
    if not greedy:
        return first_reach(returns, threshold, WINDOW)
    if not checks:
        return Reach(len(returns), False)
    when = [every * (k + 1) for k in range(len(checks))]
    return first_reach_evaluated(when, checks, threshold, patience=PATIENCE, budget=len(returns))
