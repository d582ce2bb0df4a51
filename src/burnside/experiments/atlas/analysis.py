"""From finished cells to effective group sizes: how many times fewer steps, with intervals, bounds and controls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.experiments.atlas.config import CONTROLS, FRACTIONS, MAIN, PATIENCE
from burnside.runs import Results, read_results
from burnside.stats.censored import Times, first_reach_evaluated
from burnside.stats.intervals import mean_interval
from burnside.stats.ratios import Ratio, permutation_test, times_ratio

__all__ = ["Group", "Scores", "groups", "saving_of", "table", "verdicts"]

#: No interval from fewer solved runs than this.
LEAST_SOLVED = 3

Key = tuple[str, str, str]  # environment, variant, learner


@dataclass(frozen=True)
class Scores:
    """The evaluations of the runs of one condition: by seed, steps and scores."""

    curves: Mapping[int, tuple[AnyArray, AnyArray]]
    rows: Sequence[Mapping[str, Any]]
    budget: int
    seconds: float | None

    def times(self, threshold: float) -> Times:
        """Steps until a threshold is sustained, some of them censored at the budget."""
        found = {}
        for seed, (step, score) in self.curves.items():
            reach = first_reach_evaluated(step, score, threshold, patience=PATIENCE, budget=self.budget)
            found[seed] = reach
        return Times.of(found)


@dataclass(frozen=True)
class Group:
    """All conditions of one environment with one learner.

    Attributes:
        key: environment, variant, learner.
        about: the config that its cells share.
        conditions: by (arm, control).
        random, best: between these lie the thresholds; measured where they were not given.
        given: whether they were fixed before.
    """

    key: Key
    about: Mapping[str, Any]
    conditions: Mapping[tuple[str, str], Scores]
    random: float
    best: float
    given: bool

    def threshold(self, fraction: float) -> float:
        """The score of a fraction of the way."""
        return self.random + fraction * (self.best - self.random)

    def ratio(
        self, condition: tuple[str, str], fraction: float = MAIN, against: tuple[str, str] = ("baseline", "")
    ) -> Ratio:
        """Steps of the baseline over steps of a condition."""
        level = self.threshold(fraction)
        found = times_ratio(self.conditions[against].times(level), self.conditions[condition].times(level))
        solved = min(int(s.times(level).solved.sum()) for s in (self.conditions[against], self.conditions[condition]))
        return found if solved >= LEAST_SOLVED or found.bound else found._replace(low=None, high=None)

    def over_thresholds(self, condition: tuple[str, str]) -> list[dict[str, Any]]:
        """The ratio at every threshold."""
        return [
            {"fraction": f, "score": self.threshold(f), **_ratio(self.ratio(condition, f))} for f in FRACTIONS
        ]  # fmt: skip

    def overall(self, condition: tuple[str, str]) -> Ratio:
        """The geometric mean over all thresholds: of every seed the geometric mean of its times; a run that missed one
        of them is censored.
        """
        pair = []
        for which in (("baseline", ""), condition):
            each = [self.conditions[which].times(self.threshold(f)) for f in FRACTIONS]
            mean = np.exp(np.mean([np.log(t.times) for t in each], axis=0))
            pair.append(Times(each[0].seeds, mean, np.all([t.solved for t in each], axis=0)))
        return times_ratio(pair[0], pair[1])


def groups(folder: Path, allow_missing: bool = False) -> list[Group]:
    """The measurements in a folder, in the order of the plan."""
    return groups_of(read_results(folder, allow_missing=allow_missing))


def groups_of(results: Results) -> list[Group]:
    """The measurements in some results."""
    keys: dict[Key, list[dict[str, Any]]] = {}
    for row in results.rows:
        keys.setdefault((row["env"], row["variant"], row["learner"]), []).append(row)
    curves = _curves(results)
    seconds = results.manifest.get("cell_seconds", {})
    found = []
    for key, rows in keys.items():
        conditions: dict[tuple[str, str], Scores] = {}
        for arm, control in dict.fromkeys((row["arm"], row["control"]) for row in rows):
            own = [row for row in rows if (row["arm"], row["control"]) == (arm, control)]
            spent = [seconds.get(name) for name in dict.fromkeys(row["cell"] for row in own)]
            conditions[arm, control] = Scores(
                {int(row["seed"]): curves[row["cell"], int(row["seed"])] for row in own},
                own,
                int(own[0]["steps"]),
                None if None in spent or not spent else float(sum(s for s in spent if s is not None)) / len(own),
            )
        if ("baseline", "") not in conditions:
            continue  # nothing to compare with yet
        first = rows[0]
        given = first["random"] is not None
        low, high = (float(first["random"]), float(first["best"])) if given else _measured(conditions)
        found.append(Group(key, first, conditions, low, high, given))
    return found


def _curves(results: Results) -> dict[tuple[str, int], tuple[AnyArray, AnyArray]]:
    table = results.table("scores")
    names, cells = np.unique(table["cell"], return_inverse=True)
    out = {}
    for k, name in enumerate(names):
        mine = cells == k
        for seed in np.unique(table["seed"][mine]):
            here = mine & (table["seed"] == seed)
            out[str(name), int(seed)] = (table["step"][here], table["score"][here].astype(np.float64))
    return out


def _measured(conditions: Mapping[tuple[str, str], Scores]) -> tuple[float, float]:
    """From the first evaluation to the median of the baseline's best ones, where no scores were given."""
    curves = conditions["baseline", ""].curves.values()
    low = float(np.median([scores[0] for _, scores in curves]))
    high = float(np.median([scores.max() for _, scores in curves]))
    return low, high if high > low else low + 1.0


def _ratio(found: Ratio) -> dict[str, Any]:
    value = found.value if math.isfinite(found.value) else None
    return {"ratio": value, "low": found.low, "high": found.high, "bound": found.bound}


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row for each environment, learner, arm and control.

    ``ratio`` is the effective group size: steps of the baseline over steps of this row until the main threshold is
    sustained (geometric means over seeds, Welch's t on logarithms; a bound where runs are censored). ``order`` is that
    of the group as the learner sees it; empty if it is infinite.
    """
    return [row for group in groups(folder, allow_missing) for row in rows_of(group)]


def rows_of(group: Group) -> list[dict[str, Any]]:
    """The rows of one environment and learner."""
    env, variant, learner = group.key
    said = verdicts(group)
    out = []
    for (arm, control), scores in group.conditions.items():
        times = scores.times(group.threshold(MAIN))
        summary = times.summary(scores.budget)
        ratio = group.ratio((arm, control)) if (arm, control) != ("baseline", "") else None
        middle = summary["median"]
        row: dict[str, Any] = {
            "env": env,
            "variant": variant,
            "family": group.about["family"],
            "learner": learner,
            "arm": arm,
            "control": control,
            "seeds": len(times.seeds),
            "solved": float(times.solved.mean()),
            "steps": middle,
            **(_ratio(ratio) if ratio is not None else dict.fromkeys(("ratio", "low", "high"), None) | {"bound": ""}),
            "order": next((r["order"] for r in scores.rows if r.get("order") is not None), None),
            "p": None
            if ratio is None
            else permutation_test(group.conditions["baseline", ""].times(group.threshold(MAIN)), times),
            "budget": scores.budget,
            "threshold": group.threshold(MAIN),
            "updates": float(np.mean([r["updates"] for r in scores.rows])),
            "seconds": scores.seconds,
            "placebo": next((r["placebo_verdict"] for r in scores.rows if r.get("placebo_verdict")), ""),
            "verdict": said.get((arm, control), ""),
        }
        out.append(row)
    return out


def saving_of(ratio: Ratio) -> bool:
    """Whether a ratio is above one for certain."""
    return ratio.low is not None and ratio.low > 1.0


def verdicts(group: Group) -> dict[tuple[str, str], str]:
    """What may be said of every arm: a saving by symmetry, one that a control shares, a loss, or not decided.

    *By symmetry* is said if the arm saves for certain and is faster, for certain, than the feature alone and than the
    placebo. A control shares a saving if it saves for certain and the arm is not certainly faster than it. Another
    domain that saves too speaks for the symmetry; if it does not, the saving is one of the domain.
    """
    arms = [key for key in group.conditions if key != ("baseline", "") and not key[1]]
    return {(arm, ""): _verdict(group, arm) for arm, _ in arms}


def _verdict(group: Group, arm: str) -> str:
    ratio = group.ratio((arm, ""))
    if not saving_of(ratio):
        return "a loss" if ratio.high is not None and ratio.high < 1.0 else "not decided here"
    controls = [name for name, arms in CONTROLS.items() if arm in arms]
    there = [name for name in controls if (arm, name) in group.conditions]
    if "domain" in there and not saving_of(group.ratio((arm, "domain"))):
        return "a saving of this domain: another domain of the same symmetry does not save"
    rivals = [name for name in there if name != "domain" and not saving_of(group.ratio((arm, ""), against=(arm, name)))]
    shared = [name for name in rivals if saving_of(group.ratio((arm, name)))]
    if shared:
        return f"a saving that a control shares ({', '.join(shared)}): not by symmetry"
    if rivals:
        return f"a saving; whether a control shares it is not decided ({', '.join(rivals)})"
    if "placebo" not in there:
        return "a saving, without the control 'placebo' for this arm"
    return "a saving by symmetry"


def curve_band(scores: Scores) -> dict[str, list[float]]:
    """Mean score over seeds at the evaluations, with an interval; a run that arrived keeps its last score."""
    longest = max((steps for steps, _ in scores.curves.values()), key=len)
    rows = []
    for _, values in scores.curves.values():
        rows.append(np.concatenate([values, np.full(len(longest) - len(values), values[-1])]))
    stacked = np.stack(rows)
    bands = [mean_interval({k: float(v) for k, v in enumerate(stacked[:, i])}) for i in range(stacked.shape[1])]
    return {
        "step": [float(s) for s in longest],
        "mean": [b.value for b in bands],
        "low": [b.value if b.low is None else b.low for b in bands],
        "high": [b.value if b.high is None else b.high for b in bands],
    }
