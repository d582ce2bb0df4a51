"""Success of imitation by frame and demonstrations, of fine-tuning before and after, and curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import FloatArray, IntArray
from burnside.experiments.robot.config import ARMS, OBSERVATIONS
from burnside.runs import Results, read_results
from burnside.stats import difference, mean_interval, rate_over_seeds

__all__ = ["Curve", "finetune_curves", "table", "training_curves"]

_EMPTY: dict[str, Any] = dict.fromkeys(
    [
        "kind", "task", "observation", "arm", "demos", "seeds", "scenes", "successes", "success", "success_low",
        "success_high", "gap", "gap_low", "gap_high", "inside_gate", "before", "before_low", "before_high", "gain",
        "gain_low", "gain_high", "training", "env_steps",
    ]
)  # fmt: skip
_KEYS = ("task", "observation", "demos", "arm")


def _settings(results: Results, tuned: bool) -> list[tuple[Any, ...]]:
    found = {tuple(row[key] for key in _KEYS) for row in results.rows if not tuned or row["after"] is not None}
    return sorted(
        found, key=lambda key: (OBSERVATIONS.index(key[1]), key[0] != "stack-three", key[2], ARMS.index(key[3]))
    )


def _of(results: Results, key: tuple[Any, ...], tuned: bool = False) -> list[dict[str, Any]]:
    rows = [row for row in results.rows if tuple(row[name] for name in _KEYS) == key]
    return [row for row in rows if row["after"] is not None] if tuned else rows


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per task, observation, number of demonstrations and frame: of imitation, then of fine-tuning.

    ``success`` is pooled over the seeds; its interval (``success_low``, ``success_high``) is Wilson's with seeds as the
    unit, since a seed's policy plays its episodes its own way. All play the same held-out scenes, so it is about those.
    ``gap`` is success minus that of the world's frame with the same observation and demonstrations (Welch's t).
    Fine-tuning also has success ``before``, the ``gain`` (run by run, Student's interval), and in ``training`` the
    share of successes, noise included, in the last quarter of its training episodes. A single seed has no interval.
    """
    results = read_results(folder, allow_missing=allow_missing)
    return [
        *(_imitation_row(results, key) for key in _settings(results, False)),
        *(_finetune_row(results, key) for key in _settings(results, True)),
    ]


def _pooled(name: str, rows: list[dict[str, Any]], column: str) -> dict[str, Any]:
    found = rate_over_seeds({int(row["seed"]): (int(row[column]), int(row["scenes"])) for row in rows})
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _imitation_row(results: Results, key: tuple[Any, ...]) -> dict[str, Any]:
    rows = _of(results, key)
    row = _EMPTY | {"kind": "imitation", **dict(zip(_KEYS, key, strict=True)), "seeds": len(rows)}
    row |= {"scenes": int(rows[0]["scenes"]), "successes": sum(int(r["successes"]) for r in rows)}
    row["inside_gate"] = sum(bool(r["gate"]) for r in rows)
    world = _of(results, (*key[:-1], "world"))
    if world and key[-1] != "world":
        mine, theirs = ({int(r["seed"]): r["successes"] / r["scenes"] for r in side} for side in (rows, world))
        gap = difference(mine, theirs)
        row |= {"gap": gap.value, "gap_low": gap.low, "gap_high": gap.high}
    return row | _pooled("success", rows, "successes")


def _finetune_row(results: Results, key: tuple[Any, ...]) -> dict[str, Any]:
    rows = _of(results, key, tuned=True)
    row = _EMPTY | {"kind": "finetune", **dict(zip(_KEYS, key, strict=True)), "seeds": len(rows)}
    row |= {"scenes": int(rows[0]["scenes"]), "successes": sum(int(r["after"]) for r in rows)}
    row |= _pooled("success", rows, "after") | _pooled("before", rows, "successes")
    gain = mean_interval({int(r["seed"]): (r["after"] - r["successes"]) / r["scenes"] for r in rows})
    known = [float(r["training"]) for r in rows if r["training"] is not None]
    row |= {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}
    row["training"] = float(np.mean(known)) if known else None
    return row | {"env_steps": int(np.mean([r["env_steps"] for r in rows]))}


@dataclass(frozen=True)
class Curve:
    """Success against environment steps.

    Attributes:
        task, observation, demos, arm, seeds: whose; runs from different numbers of demonstrations are apart.
        env_steps: where the points are, mean over seeds.
        mean, low, high: success pooled over seeds, with Wilson's interval whose unit is the seed; NaN for one seed.
    """

    task: str
    observation: str
    demos: int
    arm: str
    seeds: int
    env_steps: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def finetune_curves(results: Results) -> list[Curve]:
    """Tests on held-out scenes, one curve per task, observation, demonstrations and frame; seeds side by side."""
    return _curves(results, "finetune")


def training_curves(results: Results) -> list[Curve]:
    """The same of the training episodes, which have the noise of the sampler."""
    return _curves(results, "training")


def _curves(results: Results, name: str) -> list[Curve]:
    if name not in results.tables:
        return []
    columns = results.table(name)
    out = []
    for key in _settings(results, True):
        scenes = int(_of(results, key, tuned=True)[0]["scenes"])
        mine = np.logical_and.reduce([columns[n] == k for n, k in zip(_KEYS, key, strict=True)])
        seeds = np.unique(columns["seed"][mine])
        if not seeds.size:
            continue
        parts = [{n: columns[n][mine & (columns["seed"] == s)] for n in columns if n != "cell"} for s in seeds]
        length = min(len(part["env_steps"]) for part in parts)
        at = np.stack([part["env_steps"][:length] for part in parts]).mean(axis=0)
        if name == "finetune":
            played = np.full((len(seeds), length), scenes)
            won = np.stack([part["successes"][:length] for part in parts])
        else:
            played = np.stack([part["episodes"][:length] for part in parts])
            won = np.rint(np.stack([part["success"][:length] for part in parts]) * played).astype(np.int64)
        counts = [{s: (int(won[s, k]), int(played[s, k])) for s in range(len(seeds))} for k in range(length)]
        points = [rate_over_seeds({s: pair for s, pair in point.items() if pair[1]}) for point in counts]
        mean, low, high = (np.array(ends, dtype=np.float64) for ends in zip(*points, strict=True))
        task, observation, demos, arm = key
        out.append(Curve(task, observation, demos, arm, len(seeds), at.astype(np.int64), mean, low, high))
    return out
