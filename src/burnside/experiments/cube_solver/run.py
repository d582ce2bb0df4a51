"""Running it: a cell is one network, trained and tried on random cubes, resumable to the same bits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import as_file
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._random import held_out
from burnside._types import AnyArray
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.cube_walks.config import WalkConfig, shipped_policy
from burnside.envs.cube import CubeSpec, scramble
from burnside.errors import InvalidParameter, UnknownName
from burnside.experiments.cube_solver.config import (
    ARMS,
    FIRST_TABLE,
    PRESETS,
    RATE_SEEDS,
    RATES,
    SHIPPED,
    SLICES,
    Plan,
    Slices,
    agent,
)
from burnside.experiments.loop import run_learners
from burnside.runs import Cell, Context

if TYPE_CHECKING:
    from burnside.agents.cube_walks import CubePolicy
    from burnside.search.result import SearchResult

__all__ = ["EXPERIMENT", "CubeSolver", "cube", "try_cubes"]

EXPERIMENT = "cube_solver"
_SPEC = CubeSpec(3)
#: What a beam of effort 0 costs, in the units of training.
_EFFORT = 3e9


class CubeSolver:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset: rates first, then budgets seed by seed, then sizes, then the shipped recipe."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        plan = PRESETS[preset]
        cells = [
            _cell(plan, "rate", arm, RATE_SEEDS + seed, agent(plan, arm, plan.rate_budgets[arm], rate=rate))
            for seed in range(plan.rate_seeds)
            for arm in plan.rate_budgets
            for rate in RATES
        ]
        cells += [
            _cell(plan, "budget", arm, seed, agent(plan, arm, states))
            for seed in range(plan.seeds)
            for arm, budgets in plan.budgets.items()
            for states in budgets
        ]
        cells += [
            _cell(plan, "size", arm, seed, agent(plan, arm, plan.size_states, hidden=hidden))
            for seed in range(plan.size_seeds)
            for arm, sizes in plan.sizes.items()
            for hidden in sizes
        ]
        recipe = replace(WalkConfig.preset(plan.shipped), sides=ARMS[SHIPPED][1])
        cells += [_cell(plan, "shipped", SHIPPED, seed, recipe) for seed in range(plan.shipped_seeds)]
        return cells + [_slices_cell(plan, each, seed) for each in plan.slices for seed in range(each.seeds)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Train one network and let it solve cubes."""
        import torch

        from burnside.agents.cube_walks import WalkRun

        torch.set_num_threads(1)  # products this small gain nothing from more
        config, (seed,) = cell.config, cell.seeds
        settings = WalkConfig.from_json(dict(config["agent"]))
        if "file" in config:
            return {"rows": _by_turns(context, seed, None, _shipped_policy(config, settings), config)}
        # With slices walks begin in one orientation, and the search tries a cube in all of them.
        spec = CubeSpec(int(config["n"]), "slices", "fixed") if config["kind"] == "slices" else _SPEC
        run = WalkRun(settings, spec, Member(seed, ARMS[str(config["arm"])][0]))
        run_learners(
            context,
            [run],
            lambda run: run.advance(Budget(steps=settings.states)),
            done=lambda run: run.states,
            budget=settings.states,
        )
        network = run.network()
        if config["kind"] == "shipped":
            return {"rows": _as_shipped(context, seed, run.loss, network, config)}
        if config["kind"] == "slices":
            return {"rows": _by_turns(context, seed, run.loss, network, config)}
        tried = try_cubes(network, config)
        context.save("cubes", _lengths(seed, tried))
        shown = next((k for k, each in enumerate(tried) if each.solved and each.moves), None)
        if shown is not None:
            turns = np.array(tried[shown].moves, dtype=np.int8)
            context.save("solution", {"cube": np.full(len(turns), shown, dtype=np.int32), "turn": turns})
        return {"rows": [_row(seed, run.loss, network, tried)]}

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per setting, and one per arm with what it needs; see ``analysis.table``."""
        from burnside.experiments.cube_solver.analysis import table

        return table(folder, allow_missing)


def _cell(plan: Plan, kind: str, arm: str, seed: int, settings: WalkConfig) -> Cell:
    how = f"{settings.states} states, rate {settings.learning_rate:g}, {settings.hidden[0]} units"
    units = settings.hidden[0] * (20 + settings.hidden[1]) + 4 * settings.hidden[1] ** 2
    return Cell(
        EXPERIMENT,
        {
            "kind": kind,
            "arm": arm,
            "states": settings.states,
            "rate": settings.learning_rate,
            "units": settings.hidden[0],
            "cubes": plan.cubes,
            "turns": plan.turns,
            "width": plan.width,
            "depth": plan.depth,
            "agent": settings.to_json(),
            **({"efforts": [list(each) for each in plan.efforts]} if kind == "shipped" else {}),
        },
        (seed,),
        label=f"{kind}: {arm}, {how}, seed {seed}",
        cost=settings.states * (5e4 + units) + (_EFFORT * _beams(plan) if kind == "shipped" else 0.0),
    )


def _slices_cell(plan: Plan, which: Slices, seed: int) -> Cell:
    settings = which.agent
    one, two = settings.hidden
    beams = sum(width * cubes for _, width, cubes in which.tries) / 1_024
    file = _shipped_file(which.n) if which.shipped else {}
    training = 0.0 if file else settings.states * (1e5 + one * two + 2 * settings.blocks * two**2)
    return Cell(
        EXPERIMENT,
        {
            "kind": "slices",
            "arm": SLICES,
            "n": which.n,
            "states": settings.states,
            "rate": settings.learning_rate,
            "units": one,
            "depth": which.depth,
            "tries": [list(each) for each in which.tries],
            "agent": settings.to_json(),
            **({} if which.table == FIRST_TABLE else {"table": which.table}),
            **file,
        },
        (seed,),
        label=f"{which.n}-cube with slice turns: {settings.states} states, {one} units, seed {seed}",
        cost=training + 4 * _EFFORT * beams,
    )


def _shipped_file(n: int) -> dict[str, str]:
    """The file of the policy that is shipped for a cube with slice turns, and its digest: another one is run anew."""
    found = shipped_policy(CubeSpec(n, "slices"))
    return {"file": found.name, "sha256": hashlib.sha256(found.read_bytes()).hexdigest()}


def _shipped_policy(config: Mapping[str, Any], settings: WalkConfig) -> CubePolicy:
    """The policy of such a cell; refused if another recipe made it."""
    from burnside.agents.cube_walks import load_policy

    with as_file(shipped_policy(CubeSpec(int(config["n"]), "slices"))) as path:
        found = load_policy(path)
    if found.config != settings:
        raise InvalidParameter(f"{config['file']} was made by another recipe, {found.config}: correct the plan")
    return found


def _beams(plan: Plan) -> int:
    """Beams of effort 0 that the efforts of a plan amount to."""
    return sum(cubes << effort for effort, cubes in plan.efforts)


def _row(seed: int, loss: float | None, network: CubePolicy, tried: Sequence[SearchResult]) -> dict[str, Any]:
    lengths = [len(each.moves) for each in tried if each.solved]
    return {
        "seed": seed,
        "weights": network.weights,
        "loss": loss,
        "solved": len(lengths),
        "tried": len(tried),
        "length": float(np.mean(lengths)) if lengths else None,
        "evaluated": float(np.mean([each.evaluated for each in tried])),
    }


def _as_shipped(
    context: Context, seed: int, loss: float, network: CubePolicy, config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A row per effort of ``burnside solve``: its beam, its table and its retries."""
    from burnside.search import SolverConfig, solve_cube

    rows, tables = [], []
    for effort, cubes in config["efforts"]:
        how = SolverConfig(effort=int(effort))
        tried = [solve_cube(network, cube(int(config["turns"]), k), how) for k in range(int(cubes))]
        rows.append({"effort": int(effort)} | _row(seed, loss, network, tried))
        tables.append({"effort": np.full(len(tried), effort, dtype=np.int32)} | _lengths(seed, tried))
    context.save("efforts", {name: np.concatenate([table[name] for table in tables]) for name in tables[0]})
    return rows


def _by_turns(
    context: Context, seed: int, loss: float | None, network: CubePolicy, config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A row per length of scrambles and width of the beam."""
    from burnside.search.policy_beam import PolicyBeamConfig, policy_beam

    spec = CubeSpec(int(config["n"]), "slices")
    rows, tables = [], []
    for turns, width, cubes in config["tries"]:
        how = PolicyBeamConfig(int(width), int(config["depth"]), int(config.get("table", FIRST_TABLE)))
        tried = [policy_beam(network, cube(int(turns), k, spec), how) for k in range(int(cubes))]
        which = {"turns": int(turns), "width": int(width)}
        rows.append(which | _row(seed, loss, network, tried))
        repeated = {name: np.full(len(tried), value, dtype=np.int32) for name, value in which.items()}
        tables.append(repeated | _lengths(seed, tried))
    context.save("slices", {name: np.concatenate([table[name] for table in tables]) for name in tables[0]})
    return rows


def cube(turns: int, number: int, spec: CubeSpec = _SPEC) -> AnyArray:
    """A random cube that networks are tried on, the same for all of them."""
    states, _ = scramble(spec, held_out(), turns, number)
    return states[0]


def try_cubes(network: CubePolicy, config: Mapping[str, Any]) -> list[SearchResult]:
    """A plain beam, without a table of the endgame, on random cubes."""
    from burnside.search.policy_beam import PolicyBeamConfig, policy_beam

    settings = PolicyBeamConfig(int(config["width"]), int(config["depth"]), table=0)
    return [policy_beam(network, cube(int(config["turns"]), k), settings) for k in range(int(config["cubes"]))]


def _lengths(seed: int, tried: Sequence[SearchResult]) -> dict[str, AnyArray]:
    lengths = [len(each.moves) if each.solved else -1 for each in tried]
    return {
        "seed": np.full(len(tried), seed, dtype=np.int32),
        "cube": np.arange(len(tried), dtype=np.int32),
        "length": np.array(lengths, dtype=np.int16),
    }
