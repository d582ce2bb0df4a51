"""Running it: a cell is (N, condition, two seeds), resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.dqn.config import DQNConfig, Member
from burnside.agents.dqn.state import LOG_COLUMNS
from burnside.envs.ring import RingSpec, expected_optimal_return
from burnside.errors import UnknownName
from burnside.experiments.ring1d.config import PRESETS, RULES, Plan
from burnside.experiments.ring1d.players import Player, make_player
from burnside.runs import Cell, Context
from burnside.stats.censored import Reach, first_reach, first_reach_evaluated

__all__ = ["EXPERIMENT", "Ring1D"]

EXPERIMENT = "ring1d"

#: Episodes between greedy evaluations, and the boards of each. Part of a cell's name.
EVALUATE_EVERY, EVALUATION_BOARDS = 100, 50
#: Consecutive evaluations that must pass, so that one lucky set of boards is not convergence.
PATIENCE = 3


class Ring1D:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset, the small rings first."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        plan = PRESETS[preset]
        return [cell for n in plan.sizes for condition in _conditions(plan, n) for cell in _cells(plan, n, condition)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Train the members of a cell side by side, a hundred episodes at a time."""
        config = cell.config
        spec, agent = RingSpec(int(config["n"])), DQNConfig.preset("ring1d")
        episodes, every = int(config["episodes"]), int(config["evaluate_every"])
        members = [Member(seed, str(config["condition"])) for seed in cell.seeds]
        states = [make_player(agent, spec, member, episodes, context.device) for member in members]
        checks: list[list[float]] = [[] for _ in states]
        saved = context.restore()
        if saved is not None:
            _unpack(states, saved.arrays)
            checks = [list(row) for row in saved.meta["checks"]]
        total = episodes * len(states)
        while (behind := min(states, key=lambda s: s.episode)).episode < episodes:
            which = states.index(behind)
            behind.advance(min(every - behind.episode % every, episodes - behind.episode))
            if behind.episode % every == 0:
                found = behind.evaluate(int(config["evaluation_boards"]))
                checks[which].append(float(found.returns.mean()))
                recent, loss = behind.log[-100:, 0], float(behind.log[-1, 6])
                context.log(
                    {
                        "seed": behind.member.seed,
                        "step": behind.episode,
                        "charts/episodic_return": float(recent.mean()),
                        "charts/greedy_return": checks[which][-1],
                        "charts/epsilon": float(behind.log[-1, 3]),
                        "losses/td_loss": loss if np.isfinite(loss) else None,  # there is none before the first update
                    }
                )
            context.progress(sum(s.episode for s in states), total)
            if context.due():
                context.checkpoint(_pack(states), checks=checks)
        context.save("episodes", _columns(states))
        return {"rows": [_row(s, c, every) for s, c in zip(states, checks, strict=True)]}

    @property
    def job(self) -> Ring1D:
        """Itself: the registry asks for a job and a table."""
        return self

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per (N, condition); see ``analysis.table``."""
        from burnside.experiments.ring1d.analysis import table

        return table(folder, allow_missing)


def _conditions(plan: Plan, n: int) -> tuple[str, ...]:
    extra = [name for name, sizes in (("augment", plan.augment), ("equivariant", plan.equivariant)) if n in sizes]
    return (*plan.conditions, *extra)


def _cells(plan: Plan, n: int, condition: str) -> list[Cell]:
    episodes = plan.equivariant_episodes if condition == "equivariant" else plan.episodes
    config = {
        "n": n,
        "condition": condition,
        "episodes": episodes,
        "dqn": DQNConfig.preset("ring1d").to_json(),
        "evaluate_every": EVALUATE_EVERY,
        "evaluation_boards": EVALUATION_BOARDS,
    }
    blocks = [tuple(range(s, min(s + plan.block, plan.seeds))) for s in range(0, plan.seeds, plan.block)]
    # unsolved rings run into the time limit of 4N steps nearly every episode, solved ones do not
    cost = episodes * (n / 2 if condition == "canonical" or n < 25 else 3 * n) * plan.block
    if condition == "equivariant":
        cost *= 50  # another engine
    return [
        Cell(EXPERIMENT, config, seeds, label=f"N={n} {condition} seeds {seeds[0]}–{seeds[-1]}", cost=cost)
        for seeds in blocks
    ]


def _pack(states: Sequence[Player]) -> dict[str, AnyArray]:
    return {f"{k}/{name}": array for k, state in enumerate(states) for name, array in state.arrays().items()}


def _unpack(states: Sequence[Player], arrays: Mapping[str, AnyArray]) -> None:
    for k, state in enumerate(states):
        prefix = f"{k}/"
        state.restore({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})


def _columns(states: Sequence[Player]) -> dict[str, AnyArray]:
    """Per-episode returns and lengths of all members; returns are whole numbers in this game."""
    parts = [s.log for s in states]
    return {
        "seed": np.concatenate(
            [np.full(len(p), s.member.seed, dtype=np.int32) for s, p in zip(states, parts, strict=True)]
        ),
        "returns": np.concatenate([np.rint(p[:, 0]).astype(np.int16) for p in parts]),
        "lengths": np.concatenate([p[:, 1].astype(np.int16) for p in parts]),
    }


def _row(state: Player, checks: Sequence[float], every: int) -> dict[str, Any]:
    """When a member converged, by every rule, in episodes and in environment steps."""
    log = state.log
    best = expected_optimal_return(state.spec).value
    steps = log[:, LOG_COLUMNS.index("steps")]
    row: dict[str, Any] = {
        "n": state.spec.n,
        "condition": state.member.condition,
        "seed": state.member.seed,
        "episodes": len(log),
        "optimum": best,
        "final_return": float(log[-100:, 0].mean()),
        "final_greedy": float(np.mean(checks[-5:])) if checks else None,
        "total_steps": int(steps[-1]),
    }
    for name, rule in RULES.items():
        found = _reach(log[:, 0], checks, every, rule.share * best, rule.greedy)
        row[name] = found.time
        row[f"{name}_solved"] = bool(found.solved)
        row[f"{name}_steps"] = int(steps[found.time - 1])
    return row


def _reach(returns: AnyArray, checks: Sequence[float], every: int, threshold: float, greedy: bool) -> Reach:
    if not greedy:
        return first_reach(returns, threshold, 100)
    if not checks:
        return Reach(len(returns), False)
    when = [every * (k + 1) for k in range(len(checks))]
    return first_reach_evaluated(when, checks, threshold, patience=PATIENCE, budget=len(returns))
