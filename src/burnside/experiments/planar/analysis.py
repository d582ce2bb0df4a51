"""Episodes to 90 % against spread, success against demonstrations, fine-tuning curves, and the theorem beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import FloatArray, IntArray
from burnside.envs.planar import PlanarSpec, observe
from burnside.envs.planar.core import PlanarState
from burnside.envs.planar.expert import demonstrate
from burnside.experiments import savings
from burnside.experiments.planar.config import ARMS
from burnside.runs import Results, read_results
from burnside.stats import mean_interval, rate_over_seeds
from burnside.stats.censored import Times
from burnside.stats.intervals import Interval, mean_band
from burnside.stats.ratios import Ratio, ratio_columns, times_ratio
from burnside.stats.scaling import Crossing
from burnside.theory import covering

__all__ = ["Curve", "Extent", "cover_rows", "extent", "finetune_curves", "ratios", "saving", "table", "times"]

_EMPTY: dict[str, Any] = dict.fromkeys(
    [
        "kind", "task", "arm", "shift", "turn", "demos", "seeds", "solved", "restricted_mean", "restricted_low",
        "restricted_high", "median", "budget", "ratio", "ratio_low", "ratio_high", "ratio_bound", "success_mean",
        "success_low", "success_high", "before_mean", "before_low", "before_high", "gain_mean", "gain_low", "gain_high",
        "saving", "saving_low", "saving_high", "saving_bound", "env_steps", "variant", "gain_gap",
        "gain_gap_low", "gain_gap_high",
    ]
)  # fmt: skip


def _of(results: Results, **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in results.rows if all(row.get(key) == value for key, value in wanted.items())]


def _settings(results: Results, kind: str, *keys: str) -> list[tuple[Any, ...]]:
    found = {tuple(row[key] for key in keys) for row in _of(results, kind=kind)}
    return sorted(found, key=lambda key: tuple(ARMS.index(part) if part in ARMS else part for part in key))


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per setting of each question.

    *ppo*: ``restricted_mean`` and ``median`` of the episodes to 90 % success, and ``ratio``, how many times as many
    these are as in the robot's frame (geometric means; a bound where runs are censored). *imitation*: success, and
    ``saving``, how many times as many demonstrations the world frame needs for it. *finetune*: success before and
    after, and the gain, run by run. *ablation*: the same with one change taken back (``variant``), and ``gain_gap``,
    its gain minus that of the same seed with all of them. Rates have Wilson's intervals with seeds as the unit, gains
    Student's.
    """
    results = read_results(folder, allow_missing=allow_missing)
    return [
        *(_ppo_row(results, *key) for key in _settings(results, "ppo", "task", "shift", "turn", "arm")),
        *(_imitation_row(results, *key) for key in _settings(results, "imitation", "task", "demos", "arm")),
        *(_finetune_row(results, *key) for key in _settings(results, "finetune", "task", "arm", "demos")),
        *(_ablation_row(results, *key) for key in _settings(results, "ablation", "task", "arm", "demos", "variant")),
    ]


def times(results: Results, task: str, shift: float, turn: float, arm: str) -> Times:
    """Episodes until 90 % succeed, some of them censored."""
    rows = _of(results, kind="ppo", task=task, shift=shift, turn=turn, arm=arm)
    return Times(
        tuple(int(row["seed"]) for row in rows),
        np.array([row["reached"] for row in rows], dtype=np.float64),
        np.array([row["solved"] for row in rows]),
    )


def ratios(results: Results, task: str, shift: float, turn: float) -> dict[str, Ratio]:
    """How many times as many episodes the other arms need as the robot's frame."""
    arms = [key[0] for key in _settings(results, "ppo", "arm")]
    there = [arm for arm in arms if _of(results, kind="ppo", task=task, shift=shift, turn=turn, arm=arm)]
    found = {arm: times(results, task, shift, turn, arm) for arm in there}
    robot = found.pop("robot", None)
    return {} if robot is None else {arm: times_ratio(own, robot) for arm, own in found.items()}


#: Episodes on which a policy of PPO is tested after training (``run``).
_TESTS_OF_PPO = 500


def _ppo_row(results: Results, task: str, shift: float, turn: float, arm: str) -> dict[str, Any]:
    found = times(results, task, shift, turn, arm)
    rows = _of(results, kind="ppo", task=task, shift=shift, turn=turn, arm=arm)
    budget = max(int(row["episodes"]) for row in rows)
    summary = found.summary(budget)
    own = {"kind": "ppo", "task": task, "arm": arm, "shift": shift, "turn": turn}
    kept = ("seeds", "solved", "restricted_mean", "restricted_low", "restricted_high", "median", "budget")
    row = _EMPTY | own | {key: summary[key] for key in kept}
    row |= ratio_columns(ratios(results, task, shift, turn).get(arm))
    return row | _rate("success", rows, "success", _TESTS_OF_PPO)


def _rate(name: str, rows: list[dict[str, Any]], column: str, tests: int | None = None) -> dict[str, Any]:
    def trials(row: dict[str, Any]) -> int:
        return int(row["test_episodes"] if tests is None else tests)

    return _columns(name, rate_over_seeds({int(r["seed"]): (round(r[column] * trials(r)), trials(r)) for r in rows}))


def _columns(name: str, found: Interval) -> dict[str, Any]:
    return {f"{name}_mean": found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _imitation_row(results: Results, task: str, demos: int, arm: str) -> dict[str, Any]:
    rows = _of(results, kind="imitation", task=task, demos=demos, arm=arm)
    first = rows[0]
    own = {"kind": "imitation", "task": task, "arm": arm, "shift": first["shift"], "turn": first["turn"]}
    row = _EMPTY | own | {"demos": demos, "seeds": len(rows)}
    row |= _rate("success", rows, "success")
    found = saving(results, task, demos, arm)
    if found is None:
        return row
    at, low, high, bound = found
    return row | {"saving": at, "saving_low": low, "saving_high": high, "saving_bound": bound}


def _successes(results: Results, task: str, arm: str) -> dict[int, dict[int, float]]:
    """Success of imitation by number of demonstrations and seed."""
    out: dict[int, dict[int, float]] = {}
    for row in _of(results, kind="imitation", task=task, arm=arm):
        out.setdefault(int(row["demos"]), {})[int(row["seed"])] = float(row["success"])
    return dict(sorted(out.items()))


def saving(results: Results, task: str, demos: int, arm: str) -> Crossing | None:
    """How many times as many demonstrations the world frame needs for an arm's success with ``demos``."""
    own = _successes(results, task, arm).get(demos)
    if arm == "world" or own is None:
        return None
    return savings.saving(_successes(results, task, "world"), own, demos)


def _gains(rows: list[dict[str, Any]]) -> dict[int, float]:
    return {int(row["seed"]): float(row["after"] - row["before"]) for row in rows}


def _ablation_row(results: Results, task: str, arm: str, demos: int, variant: str) -> dict[str, Any]:
    row = _finetune_row(results, task, arm, demos, kind="ablation", variant=variant)
    mine = _gains(_of(results, kind="ablation", task=task, arm=arm, demos=demos, variant=variant))
    whole = _gains(_of(results, kind="finetune", task=task, arm=arm, demos=demos))
    both = sorted(set(mine) & set(whole))
    if not both:
        return row
    gap = mean_interval({seed: mine[seed] - whole[seed] for seed in both})
    return row | {"gain_gap": gap.value, "gain_gap_low": gap.low, "gain_gap_high": gap.high}


def _finetune_row(results: Results, task: str, arm: str, demos: int, **which: str) -> dict[str, Any]:
    which = {"kind": "finetune", **which}
    rows = _of(results, task=task, arm=arm, demos=demos, **which)
    first = rows[0]
    own = {**which, "task": task, "arm": arm, "shift": first["shift"], "turn": first["turn"]}
    row = _EMPTY | own | {"demos": demos, "seeds": len(rows), "env_steps": int(np.mean([r["env_steps"] for r in rows]))}
    row |= _rate("success", rows, "after") | _rate("before", rows, "before")
    return row | _columns("gain", mean_interval(_gains(rows)))


@dataclass(frozen=True)
class Curve:
    """Success of fine-tuning against environment steps.

    Attributes:
        task, arm, seeds: whose.
        env_steps: where the points are, mean over seeds.
        mean, low, high: success, with Student's 95 % over seeds, inside [0, 1]; NaN for a single seed.
    """

    task: str
    arm: str
    seeds: int
    env_steps: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def finetune_curves(results: Results) -> list[Curve]:
    """One per task and arm; seeds are compared evaluation by evaluation."""
    if "finetune" not in results.tables:
        return []
    columns = results.table("finetune")
    out = []
    for task, arm in _settings(results, "finetune", "task", "arm"):
        mine = (columns["task"] == task) & (columns["arm"] == arm)
        seeds = np.unique(columns["seed"][mine])
        runs = [columns["success"][mine & (columns["seed"] == s)].astype(np.float64) for s in seeds]
        steps = [columns["env_steps"][mine & (columns["seed"] == s)] for s in seeds]
        length = min(len(run) for run in runs)
        values = np.stack([run[:length] for run in runs])
        at = np.stack([run[:length] for run in steps]).mean(axis=0).astype(np.int64)
        mean, low, high = mean_band(values)
        out.append(Curve(str(task), str(arm), len(seeds), at, mean, np.maximum(low, 0.0), np.minimum(high, 1.0)))
    return out


@dataclass(frozen=True)
class Extent:
    """How far the numbers a learner sees range over expert episodes, per number; the rest of a cover is arithmetic.

    Attributes:
        observation: Range of every number of an observation.
        action: Range of every number of an action in the same frame.
    """

    observation: FloatArray
    action: FloatArray

    def cover(self, alpha: float) -> int:
        """Balls of radius α in the max norm that cover the box of these ranges; a constant number needs one.

        >>> Extent(np.array([1.0, 0.0]), np.array([0.5])).cover(0.1)
        15
        """
        sides = [float(side) for side in (*self.observation, *self.action)]
        return math.prod(covering.box(1, alpha, side=side).upper for side in sides if side > 1e-6)


def extent(spec: PlanarSpec, frame: str, episodes: int = 500) -> Extent:
    """Ranges (between the 1 % and 99 % quantiles) of what is seen and done in a frame, over expert episodes."""
    from burnside.envs.planar.core import to_frame

    demos = demonstrate(spec, 1 << 41, n=episodes)
    inside = np.arange(demos.action.shape[1])[None] < demos.length[:, None]
    x, action = demos.x[:, :-1][inside], demos.action[inside]
    state = PlanarState(np.ascontiguousarray(x), np.zeros(len(x), dtype=np.int64))
    seen, done = np.asarray(observe(spec, state, frame)), np.asarray(to_frame(spec, state, frame, action))

    def ranges(values: FloatArray) -> FloatArray:
        low, high = np.quantile(values, [0.01, 0.99], axis=0)
        return np.asarray(high - low)

    return Extent(ranges(seen), ranges(done))


def cover_rows(
    spreads: Sequence[tuple[float, float]], task: str = "push", alphas: Sequence[float] = (0.2, 0.1)
) -> list[dict[str, Any]]:
    """Theorem 3 beside the measurements: N(S×A, α) in the world frame against N((S×A)/G, α) in the robot's.

    The robot's frame is a set of representatives, so its cover is one of the quotient (up to the metric: distances in
    the quotient are at most those between representatives).
    """
    rows = []
    for shift, turn in spreads:
        spec = PlanarSpec(task, spread=(shift, turn))
        found = {arm: extent(spec, arm) for arm in ARMS}
        for alpha in alphas:
            counts = {arm: found[arm].cover(alpha) for arm in ARMS}
            rows.append(
                {
                    "task": task,
                    "shift": shift,
                    "turn": turn,
                    "alpha": alpha,
                    **{f"log10_{arm}": math.log10(count) for arm, count in counts.items()},
                    "log10_ratio": math.log10(counts["world"]) - math.log10(counts["robot"]),
                }
            )
    return rows
