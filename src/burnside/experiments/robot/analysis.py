"""Success of imitation by frame and demonstrations, what a frame saves, fine-tuning before and after, and curves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from burnside._types import FloatArray, IntArray
from burnside.envs.manipulation.cell import STILL
from burnside.envs.manipulation.tasks import EVALUATION_SEED
from burnside.experiments.robot.config import ARMS, CANONICAL, LATER, OBSERVATIONS
from burnside.experiments.savings import saving
from burnside.runs import Results, read_results
from burnside.stats import difference, mean_interval, rate_over_seeds

__all__ = ["Curve", "Setting", "finetune_curves", "table", "training_curves"]

_EMPTY: dict[str, Any] = dict.fromkeys(
    [
        "kind", "task", "observation", "features", "mishaps", "shift", "turn", "arm", "demos", "test_from", "seeds",
        "scenes", "successes", "success", "success_low", "success_high", "gap", "gap_low", "gap_high", "saving",
        "saving_low", "saving_high", "saving_bound", "inside_gate", "variant", "pays", "before", "before_low",
        "before_high", "gain", "gain_low", "gain_high", "training", "training_first", "training_last", "ends",
        "env_steps",
    ]
)  # fmt: skip
_TASKS = ("stack-two", "stack-three", "nut-assembly")


class Setting(NamedTuple):
    """What seeds of one row share; ``variant`` and ``pays`` are of fine-tuning alone."""

    task: str
    observation: str
    features: str
    mishaps: float
    shift: float
    turn: float
    demos: int
    arm: str
    variant: str = ""
    pays: str = "sparse"
    test_from: int = EVALUATION_SEED

    @property
    def order(self) -> tuple[Any, ...]:
        """By which rows are sorted."""
        place = (OBSERVATIONS.index(self.observation), _TASKS.index(self.task), self.features, self.mishaps)
        which = (self.demos, ARMS.index(self.arm), self.variant, self.pays, self.test_from)
        return (*place, self.shift, self.turn, *which)

    def with_arm(self, arm: str, spread: tuple[float, float] | None = None) -> Setting:
        """The same for another arm, perhaps with another spread."""
        shift, turn = (self.shift, self.turn) if spread is None else spread
        return self._replace(arm=arm, shift=shift, turn=turn)


def _setting(row: dict[str, Any], tuned: bool = False) -> Setting:
    """Of a row; rows of the first study have none of the settings that came later."""
    found = {**LATER, **{key: value for key, value in row.items() if value is not None}}
    setting = Setting(
        found["task"],
        found["observation"],
        found["features"],
        float(found["mishaps"]),
        float(found["shift"]),
        float(found["turn"]),
        int(found["demos"]),
        found["arm"],
        test_from=int(found["test_from"]),
    )
    return setting._replace(variant=found["variant"], pays=found["pays"]) if tuned else setting


def _grouped(results: Results, tuned: bool = False) -> dict[Setting, list[dict[str, Any]]]:
    """Rows by setting, one per seed: cells that differ in what follows imitation have imitated alike."""
    found: dict[Setting, dict[int, dict[str, Any]]] = {}
    for row in results.rows:
        if not tuned or row["after"] is not None:
            found.setdefault(_setting(row, tuned), {}).setdefault(int(row["seed"]), row)
    return {key: list(found[key].values()) for key in sorted(found, key=lambda key: key.order)}


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row per setting: of imitation, of what frames save, then of fine-tuning.

    *imitation*: ``success`` is pooled over the seeds; its interval (``success_low``, ``success_high``) is Wilson's with
    seeds as the unit, since a seed's policy plays its episodes its own way. All play the same held-out scenes, so it is
    about those. ``gap`` is success minus that of the world's frame in the same setting (Welch's t). *saving*: for every
    spread of cells and every arm, how many times as many demonstrations the world's frame needs there for the same
    success (``saving``, an interval over seeds; ``saving_bound`` says "at least" or "at most" where the world's curve
    ends first). Arms that a motion of the cell does not change are run once and stand beside every spread. *finetune*:
    success ``before``, the ``gain`` (run by run, Student's interval), in ``training`` the share of successes, noise
    included, in the last quarter of the training episodes, and in ``training_first`` and ``training_last`` that of the
    ``ends`` episodes at either end. A single seed has no interval.
    """
    results = read_results(folder, allow_missing=allow_missing)
    return rows_of(results)


def rows_of(results: Results) -> list[dict[str, Any]]:
    """The rows of :func:`table`."""
    imitated, tuned = _grouped(results), _grouped(results, True)
    return [
        *(_imitation_row(imitated, key) for key in imitated),
        *_saving_rows(imitated),
        *(_finetune_row(key, rows) for key, rows in tuned.items()),
    ]


def _rates(rows: list[dict[str, Any]]) -> dict[int, float]:
    return {int(row["seed"]): row["successes"] / row["scenes"] for row in rows}


def _pooled(name: str, rows: list[dict[str, Any]], column: str) -> dict[str, Any]:
    found = rate_over_seeds({int(row["seed"]): (int(row[column]), int(row["scenes"])) for row in rows})
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}


def _counted(rows: list[dict[str, Any]], column: str) -> dict[str, Any]:
    return {
        "seeds": len(rows),
        "scenes": int(rows[0]["scenes"]),
        "successes": sum(int(row[column]) for row in rows),
        **_pooled("success", rows, column),
    }


def _gap(mine: list[dict[str, Any]], world: list[dict[str, Any]] | None) -> dict[str, Any]:
    if not world or mine is world:
        return {}
    gap = difference(_rates(mine), _rates(world))
    return {"gap": gap.value, "gap_low": gap.low, "gap_high": gap.high}


def _own(key: Setting) -> dict[str, Any]:
    return {name: value for name, value in key._asdict().items() if name not in ("variant", "pays")}


def _imitation_row(groups: dict[Setting, list[dict[str, Any]]], key: Setting) -> dict[str, Any]:
    rows = groups[key]
    row = _EMPTY | {"kind": "imitation", **_own(key), **_counted(rows, "successes")}
    row["inside_gate"] = sum(bool(r["gate"]) for r in rows)
    return row | _gap(rows, groups.get(key.with_arm("world")))


def _saving_rows(groups: dict[Setting, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """For every spread at which the world's frame has a curve, what the other arms save there."""
    worlds: dict[Setting, dict[int, dict[int, float]]] = {}
    for key, rows in groups.items():
        if key.arm == "world" and key.features == "relations":
            worlds.setdefault(key._replace(demos=0), {})[key.demos] = _rates(rows)
    out = []
    for place, curve in worlds.items():
        if len(curve) < 2:
            continue
        for key, rows in groups.items():
            here = (key.shift, key.turn) == (place.shift, place.turn)
            once = key.arm in CANONICAL and (key.shift, key.turn) == STILL
            if key.arm == "world" or key.with_arm("world", place[4:6])._replace(demos=0) != place or not (here or once):
                continue
            # run both here and where the cell stands still: the one with more seeds counts, since a single cell here is
            # the check that nothing depends on the spread
            other = groups.get(key.with_arm(key.arm, STILL if here else place[4:6])) if key.arm in CANONICAL else None
            if other is not None and other is not rows and (len(other), not here) > (len(rows), here):
                continue
            found = saving(curve, _rates(rows), key.demos)
            if found is None:
                continue
            row = _EMPTY | {"kind": "saving", **_own(key.with_arm(key.arm, place[4:6])), **_counted(rows, "successes")}
            at, low, high, bound = found
            row |= {"saving": at, "saving_low": low, "saving_high": high, "saving_bound": bound}
            out.append(row | _gap(rows, groups.get(place._replace(demos=key.demos))))
    return out


def _finetune_row(key: Setting, rows: list[dict[str, Any]]) -> dict[str, Any]:
    row = _EMPTY | {"kind": "finetune", **key._asdict(), **_counted(rows, "after")}
    row |= _pooled("before", rows, "successes")
    gain = mean_interval({int(r["seed"]): (r["after"] - r["successes"]) / r["scenes"] for r in rows})
    row |= {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}
    for name in ("training", "training_first", "training_last", "ends"):
        known = [float(r[name]) for r in rows if r.get(name) is not None]
        row[name] = float(np.mean(known)) if known else None
    return row | {"env_steps": int(np.mean([r["env_steps"] for r in rows]))}


@dataclass(frozen=True)
class Curve:
    """Success against environment steps.

    Attributes:
        setting: whose; runs from different numbers of demonstrations are apart.
        seeds: how many.
        env_steps: where the points are, mean over seeds.
        mean, low, high: success pooled over seeds, with Wilson's interval whose unit is the seed; NaN for one seed.
    """

    setting: Setting
    seeds: int
    env_steps: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    @property
    def task(self) -> str:
        """The task."""
        return self.setting.task

    @property
    def observation(self) -> str:
        """What the policy sees."""
        return self.setting.observation

    @property
    def demos(self) -> int:
        """From how many demonstrations."""
        return self.setting.demos

    @property
    def arm(self) -> str:
        """The frame."""
        return self.setting.arm


def finetune_curves(results: Results) -> list[Curve]:
    """Tests on held-out scenes, one curve per setting of fine-tuning; seeds side by side."""
    return _curves(results, "finetune")


def training_curves(results: Results) -> list[Curve]:
    """The same of the training episodes, which have the noise of the sampler."""
    return _curves(results, "training")


def _curves(results: Results, name: str) -> list[Curve]:
    if name not in results.tables:
        return []
    columns = results.table(name)
    out = []
    for key, rows in _grouped(results, True).items():
        parts = []
        for row in rows:
            mine = (columns["cell"] == row["cell"]) & (columns["seed"] == row["seed"])
            if mine.any():
                parts.append({n: column[mine] for n, column in columns.items() if n != "cell"})
        if not parts:
            continue
        scenes, length = int(rows[0]["scenes"]), min(len(part["env_steps"]) for part in parts)
        at = np.stack([part["env_steps"][:length] for part in parts]).mean(axis=0)
        if name == "finetune":
            played = np.full((len(parts), length), scenes)
            won = np.stack([part["successes"][:length] for part in parts])
        else:
            played = np.stack([part["episodes"][:length] for part in parts])
            won = np.rint(np.stack([part["success"][:length] for part in parts]) * played).astype(np.int64)
        counts = [{s: (int(won[s, k]), int(played[s, k])) for s in range(len(parts))} for k in range(length)]
        points = [rate_over_seeds({s: pair for s, pair in point.items() if pair[1]}) for point in counts]
        mean, low, high = (np.array(ends, dtype=np.float64) for ends in zip(*points, strict=True))
        out.append(Curve(key, len(parts), at.astype(np.int64), mean, low, high))
    return out
