"""Running it: a cell is one seed of one arm, resumable to the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.cube_values.config import DaviConfig
from burnside.agents.cube_values.truth import DepthErrors, SolveRates, exact_labels, greedy_solve_rate, value_error
from burnside.envs.cube import CubeSpec, scramble
from burnside.errors import UnknownName
from burnside.experiments.cube.config import PRESETS, DaviPlan, LabelPlan, cube_spec
from burnside.experiments.loop import run_learners
from burnside.runs import Cell, Context

if TYPE_CHECKING:
    from burnside.agents.cube_values import CubeValue

__all__ = ["EXPERIMENT", "TEST_SCRAMBLES", "Cube"]

EXPERIMENT = "cube"
#: Seed of the scrambles beam search is tried on: the same for all arms and runs, far from those of training.
TEST_SCRAMBLES = (1 << 61) + 2
_CURVE = ("states", "rmse", "greedy", "loss", "copies")
#: Relative cost of an update, measured with the network of ``study``: canonical forms are cheap, writing shared weights
#: out is not.
_COST = {"equivariant": 1.8}


class Cube:
    """The job of the sweep, and the table."""

    def plan(self, preset: str) -> Sequence[Cell]:
        """The cells of a preset: labels first, they are quick; then value iteration, seed by seed."""
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        plan = PRESETS[preset]
        cells = [cell for part in plan.labels for cell in _label_cells(part, plan.per_depth)]
        return cells + [cell for part in plan.davi for cell in _davi_cells(part, plan.per_depth)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        """Train one network and hold it against the truth."""
        import torch

        torch.set_num_threads(context.threads)
        return _labels(cell, context) if cell.config["kind"] == "labels" else _davi(cell, context)

    def table(self, folder: Path, allow_missing: bool) -> list[dict[str, Any]]:
        """One row per (kind, n, arm, labels); see ``analysis.table``."""
        from burnside.experiments.cube.analysis import table

        return table(folder, allow_missing)


def _label_cells(part: LabelPlan, per_depth: int) -> list[Cell]:
    return [
        Cell(
            EXPERIMENT,
            {
                "kind": "labels",
                "n": part.n,
                "arm": arm,
                "labels": count,
                "updates": part.updates,
                "per_depth": per_depth,
                "agent": _agent(part.agent, arm).to_json(),
            },
            (seed,),
            label=f"N={part.n} {arm}, {count} labels, seed {seed}",
            cost=part.updates * part.agent.batch * _COST.get(arm, 1.0),
        )
        for seed in range(part.seeds)
        for count in part.counts
        for arm in part.arms
    ]


def _davi_cells(part: DaviPlan, per_depth: int) -> list[Cell]:
    return [
        Cell(
            EXPERIMENT,
            {
                "kind": part.kind,
                "n": part.n,
                "arm": arm,
                "states": part.agent.states,
                "evaluations": part.evaluations,
                "scrambles": part.scrambles,
                "scramble_length": part.scramble_length,
                "beam_width": part.beam_width,
                "beam_depth": part.beam_depth,
                "per_depth": per_depth,
                "agent": _agent(part.agent, arm, part.shared).to_json(),
                # only where it is asked for: names of older cells stay as they were
                **({"solve": asdict(part.solve)} if part.solve else {}),
                **({"shared": part.shared} if part.shared else {}),
            },
            (seed,),
            label=f"N={part.n} {arm}, {'DAVI' if part.kind == 'davi' else 'DAVI and A*'}, seed {seed}",
            cost=4.0 * part.agent.states * _COST.get(arm, 1.0),
        )
        for seed in range(part.seeds)
        for arm in part.arms
    ]


def _agent(agent: DaviConfig, arm: str, shared: str | None = None) -> DaviConfig:
    """Settings of an arm: the equivariant network shares weights over the group the other arms use, or a given one."""
    return replace(agent, equivariant_group=shared or agent.group) if arm == "equivariant" else agent


def _labels(cell: Cell, context: Context) -> dict[str, Any]:
    from burnside.agents.cube_values import fit_values

    config, (seed,) = cell.config, cell.seeds
    spec, agent = cube_spec(int(config["n"])), DaviConfig.from_json(dict(config["agent"]))
    states, labels = exact_labels(spec, int(config["labels"]), seed)
    updates = int(config["updates"])
    network = fit_values(
        states,
        labels,
        spec,
        str(config["arm"]),
        updates=updates,
        config=agent,
        seed=seed,
        device=context.device,
        progress=lambda done, _: context.progress(done, updates),
    )
    errors = value_error(network, spec, per_depth=int(config["per_depth"]))
    context.save("label_depths", _depths(seed, errors, None))
    distinct = _distinct(network, states)
    return {"rows": [{"seed": seed, "rmse": errors.total, "distinct_inputs": distinct}]}


def _distinct(network: CubeValue, states: AnyArray) -> int:
    """How many different inputs the labelled states are to the network, once in canonical form."""
    seen = states if network.canonicalizer is None or network.arm == "equivariant" else network.canonicalizer(states)[0]
    return len(np.unique(seen, axis=0))


def _davi(cell: Cell, context: Context) -> dict[str, Any]:
    from burnside.agents.cube_values import DaviRun

    config, (seed,) = cell.config, cell.seeds
    spec, agent = cube_spec(int(config["n"])), DaviConfig.from_json(dict(config["agent"]))
    run = DaviRun(agent, spec, Member(seed, str(config["arm"])), device=context.device)
    # of rates: states so far, depth, solved, tried
    notes: dict[str, Any] = {"curve": [], "rates": []}
    points = np.linspace(0, agent.iterations, int(config["evaluations"]) + 1).astype(int)[1:]

    def evaluate(run: DaviRun) -> None:
        if run.iteration in points:
            notes["curve"].append(_point(run.network(), run, int(config["per_depth"])))
            context.log({"seed": seed, "step": run.states, **_charts(notes["curve"][-1])})
            if "solve" in config:
                notes["rates"] += [[run.states, *rate] for rate in _solve(run.network(), spec, config["solve"])]

    run_learners(
        context,
        [run],
        lambda run: run.advance(Budget(steps=int(points[points > run.iteration][0]) * agent.batch)),
        done=lambda run: run.states,
        budget=agent.iterations * agent.batch,
        after=evaluate,
        notes=notes,
    )
    curve, rates = notes["curve"], notes["rates"]
    network = run.network()
    per_depth = int(config["per_depth"])
    errors = value_error(network, spec, per_depth=per_depth)
    greedy = greedy_solve_rate(network, spec, per_depth=per_depth)
    context.save("davi_depths", _depths(seed, errors, greedy))
    context.save("curve", _columns(seed, curve))
    if rates:
        columns = np.array(rates, dtype=np.int64).T
        named = dict(zip(("states_so_far", "depth", "solved", "tried"), columns, strict=True))
        context.save("solve_rates", {"seed": np.full(len(rates), seed, dtype=np.int32), **named})
    row = {
        "seed": seed,
        "rmse": errors.total,
        "greedy_solved": int(greedy.solved.sum()),
        "greedy_tried": int(greedy.count.sum()),
        "copies": run.copies,
    }
    return {"rows": [row | _search(network, spec, config)]}


def _point(network: CubeValue, run: Any, per_depth: int) -> list[float]:
    """A point of the learning curve, columns ``_CURVE``; a fifth of the test states will do."""
    few = max(10, per_depth // 5)
    rates = greedy_solve_rate(network, run.spec, per_depth=few)
    loss = run.log.loss[-1] if len(run.log.loss) else np.nan
    error = value_error(network, run.spec, per_depth=few).total
    return [float(run.states), error, float(rates.solved.sum() / rates.count.sum()), float(loss), float(run.copies)]


def _charts(point: Sequence[float]) -> dict[str, Any]:
    named = dict(zip(_CURVE, point, strict=True))
    loss = named["loss"] if np.isfinite(named["loss"]) else None
    return {"charts/rmse": named["rmse"], "charts/greedy_solved": named["greedy"], "losses/value_loss": loss}


def _solve(network: CubeValue, spec: CubeSpec, plan: Mapping[str, Any]) -> list[tuple[int, int, int]]:
    """A* on the same scrambles of every depth: (depth, solved, tried)."""
    from burnside.search import AStarConfig, CubePuzzle, astar

    settings = AStarConfig(float(plan["weight"]), int(plan["batch"]), int(plan["cap"]))
    puzzle, tried, out = CubePuzzle(spec), int(plan["scrambles"]), []
    for depth in plan["depths"]:
        starts, _ = scramble(spec, TEST_SCRAMBLES, int(depth), np.arange(tried))
        found = [astar(puzzle, x, network.value_fn, settings, canonical=network.canonicalizer) for x in starts]
        out.append((int(depth), sum(result.solved for result in found), tried))
    return out


def _search(network: CubeValue, spec: CubeSpec, config: Mapping[str, Any]) -> dict[str, Any]:
    """Beam search on random scrambles."""
    from burnside.search import BeamConfig, CubePuzzle, beam

    count = int(config["scrambles"])
    starts, _ = scramble(spec, TEST_SCRAMBLES, int(config["scramble_length"]), np.arange(count))
    settings = BeamConfig(width=int(config["beam_width"]), depth=int(config["beam_depth"]))
    found = beam(CubePuzzle(spec), starts, network.value_fn, settings, canonical=network.canonicalizer)
    lengths = [result.length for result in found if result.length is not None]
    return {
        "beam_solved": len(lengths),
        "beam_tried": count,
        "beam_length": float(np.mean(lengths)) if lengths else None,
        "beam_nodes": float(np.mean([result.generated for result in found])),
    }


def _depths(seed: int, errors: DepthErrors, greedy: SolveRates | None) -> dict[str, AnyArray]:
    solved = np.full(len(errors.depth), -1, dtype=np.int32)
    if greedy is not None:
        solved[np.searchsorted(errors.depth, greedy.depth)] = greedy.solved
    return {
        "seed": np.full(len(errors.depth), seed, dtype=np.int32),
        "depth": errors.depth.astype(np.int16),
        "count": errors.count.astype(np.int32),
        "rmse": errors.rmse.astype(np.float32),
        "bias": errors.bias.astype(np.float32),
        "greedy": solved,
    }


def _columns(seed: int, curve: Sequence[Sequence[float]]) -> dict[str, AnyArray]:
    rows = np.array(curve, dtype=np.float32).reshape(-1, len(_CURVE))
    columns: dict[str, AnyArray] = {"seed": np.full(len(rows), seed, dtype=np.int32)}
    columns["states_so_far"] = rows[:, 0].astype(np.int64)
    return columns | {name: rows[:, k] for k, name in enumerate(_CURVE) if k}
