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
from burnside.experiments.atlas.learners import minibatch
from burnside.runs import Results, read_results
from burnside.stats.censored import Times, first_reach_evaluated
from burnside.stats.intervals import mean_interval
from burnside.stats.ratios import Ratio, permutation_test, restricted_ratio, times_ratio
from burnside.symmetry.atlas import entries

__all__ = ["Group", "Scores", "groups", "saving_of", "table", "verdicts"]

#: The best verdict, and what is said instead where the check refutes the symmetry.
BY_SYMMETRY = "a saving by symmetry"
REFUTED_SAVING = "a saving, with a symmetry that the check refutes"

#: No interval from fewer solved runs than this.
LEAST_SOLVED = 3

Key = tuple[str, str, str]  # environment, variant, learner


@dataclass(frozen=True)
class Scores:
    """The evaluations of the runs of one condition: by seed, steps and scores.

    Attributes:
        curves: steps and scores by seed.
        rows: of the results, one per seed.
        budget: steps of a run.
        config: of its cells; their settings are no scalars and so not in the rows.
        seconds, processor: wall and processor time of a seed on average; None where it is not known.
    """

    curves: Mapping[int, tuple[AnyArray, AnyArray]]
    rows: Sequence[Mapping[str, Any]]
    budget: int
    config: Mapping[str, Any] | None = None
    seconds: float | None = None
    processor: float | None = None

    def times(self, threshold: float) -> Times:
        """Steps until a threshold is sustained, some of them censored at the budget."""
        found = {}
        for seed, (step, score) in self.curves.items():
            reach = first_reach_evaluated(step, score, threshold, patience=PATIENCE, budget=self.budget)
            found[seed] = reach
        return Times.of(found)

    def at_first(self, threshold: float) -> int:
        """Runs that are there at their first evaluation: they may have needed fewer steps than it counts."""
        times = self.times(threshold)
        first = np.array([self.curves[seed][0][0] for seed in times.seeds])
        return int((times.solved & (times.times <= first)).sum())


@dataclass(frozen=True)
class Group:
    """All conditions of one environment with one learner.

    Attributes:
        key: environment, variant, learner.
        about: the config that its cells share.
        conditions: by (arm, control).
        random, best: between these lie the thresholds; measured where they were not given.
        given: whether they were fixed before.
        improved: whether the baseline ever did better than at first; if not, measured thresholds mean nothing.
    """

    key: Key
    about: Mapping[str, Any]
    conditions: Mapping[tuple[str, str], Scores]
    random: float
    best: float
    given: bool
    improved: bool = True

    @property
    def refuted(self) -> bool:
        """Whether the symmetry is the atlas's, and its check refutes it (perhaps by little)."""
        if self.about.get("symmetry") != "atlas":
            return False
        return any(e.env == self.key[0] and e.claim != "dynamics" and e.verdict == "refuted" for e in entries())

    def threshold(self, fraction: float) -> float:
        """The score of a fraction of the way."""
        return self.random + fraction * (self.best - self.random)

    def ratio(
        self, condition: tuple[str, str], fraction: float = MAIN, against: tuple[str, str] = ("baseline", "")
    ) -> Ratio:
        """Steps of the baseline over steps of a condition."""
        level = self.threshold(fraction)
        return _fair(self.conditions[against].times(level), self.conditions[condition].times(level))

    def within(self, condition: tuple[str, str], fraction: float = MAIN) -> Ratio | None:
        """The same within the budget, where runs that do not arrive spend all of it; None if too few runs arrive."""
        level = self.threshold(fraction)
        base, mine = (self.conditions[key].times(level) for key in (("baseline", ""), condition))
        few = min(int(base.solved.sum()), int(mine.solved.sum())) < LEAST_SOLVED
        return None if few else restricted_ratio(base, mine)

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
        return _fair(pair[0], pair[1])


def _fair(base: Times, mine: Times) -> Ratio:
    """The ratio, without an interval where too few runs arrived; of a bound the side that arrives counts."""
    found = times_ratio(base, mine)
    solved = [int(times.solved.sum()) for times in (base, mine)]
    enough = (max if found.bound else min)(solved) >= LEAST_SOLVED
    return found if enough else found._replace(low=None, high=None)


def groups(folder: Path, allow_missing: bool = False) -> list[Group]:
    """The measurements in a folder, in the order of the plan."""
    return groups_of(read_results(folder, allow_missing=allow_missing))


def groups_of(results: Results) -> list[Group]:
    """The measurements in some results."""
    keys: dict[Key, list[dict[str, Any]]] = {}
    for row in results.rows:
        keys.setdefault((row["env"], row["variant"], row["learner"]), []).append(row)
    curves = _curves(results)
    configs = {cell["name"]: cell["config"] for cell in results.manifest.get("cells", [])}
    wall, worked = (results.manifest.get(key, {}) for key in ("cell_seconds", "cell_processor_seconds"))
    found = []
    for key, rows in keys.items():
        conditions: dict[tuple[str, str], Scores] = {}
        for arm, control in dict.fromkeys((row["arm"], row["control"]) for row in rows):
            own = [row for row in rows if (row["arm"], row["control"]) == (arm, control)]
            conditions[arm, control] = Scores(
                {int(row["seed"]): curves[row["cell"], int(row["seed"])] for row in own},
                own,
                int(own[0]["steps"]),
                configs.get(own[0]["cell"]),
                _spent(wall, own),
                _spent(worked, own),
            )
        if ("baseline", "") not in conditions:
            continue  # nothing to compare with yet
        first = rows[0]
        given = first["random"] is not None
        low, high = (float(first["random"]), float(first["best"])) if given else _measured(conditions)
        improved = given or high > low
        found.append(Group(key, first, conditions, low, high if improved else low + 1.0, given, improved))
    return found


def _spent(seconds: Mapping[str, float | None], rows: Sequence[Mapping[str, Any]]) -> float | None:
    """What a seed cost on average; None if a cell does not say."""
    each = [seconds.get(name) for name in dict.fromkeys(row["cell"] for row in rows)]
    known = [one for one in each if one is not None]
    return sum(known) / len(rows) if len(known) == len(each) else None


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
    return low, high


def _ratio(found: Ratio) -> dict[str, Any]:
    value = found.value if math.isfinite(found.value) else None
    return {"ratio": value, "low": found.low, "high": found.high, "bound": found.bound}


def _within(found: Ratio | None) -> dict[str, Any]:
    keys = ("within", "within_low", "within_high")
    return dict(zip(keys, (None, None, None) if found is None else (found.value, found.low, found.high), strict=True))


def table(folder: Path, allow_missing: bool = False) -> list[dict[str, Any]]:
    """One row for each environment, learner, arm and control.

    ``ratio`` is the effective group size: steps of the baseline over steps of this row until the main threshold is
    sustained (geometric means over seeds, Welch's t on logarithms; a bound where runs are censored). ``within`` is the
    ratio of the steps they spend within the budget, which is known where runs of both are censored, and usually closer
    to 1. ``at_first`` counts runs that are there at the first evaluation, and may have needed fewer steps.
    ``order`` is that of the group as the learner sees it; empty if it is infinite.
    """
    return [row for group in groups(folder, allow_missing) for row in rows_of(group)]


def rows_of(group: Group, refuted: bool | None = None) -> list[dict[str, Any]]:
    """The rows of one environment and learner; ``refuted``: see :func:`verdicts`."""
    env, variant, learner = group.key
    said = verdicts(group, refuted)
    out = []
    for (arm, control), scores in group.conditions.items():
        times = scores.times(group.threshold(MAIN))
        summary = times.summary(scores.budget)
        ratio = group.ratio((arm, control)) if (arm, control) != ("baseline", "") else None
        middle = summary["median"]
        order = next((r["order"] for r in scores.rows if r.get("order") is not None), None)
        row: dict[str, Any] = {
            "env": env,
            "variant": variant,
            "family": group.about["family"],
            "learner": learner,
            "arm": arm,
            "control": control,
            "seeds": len(times.seeds),
            "solved": float(times.solved.mean()),
            "at_first": scores.at_first(group.threshold(MAIN)),
            "steps": middle,
            **(_ratio(ratio) if ratio is not None else dict.fromkeys(("ratio", "low", "high"), None) | {"bound": ""}),
            **_within(group.within((arm, control)) if ratio is not None else None),
            "order": order,
            "p": None
            if ratio is None
            else permutation_test(group.conditions["baseline", ""].times(group.threshold(MAIN)), times),
            "budget": scores.budget,
            "threshold": group.threshold(MAIN),
            "updates": float(np.mean([r["updates"] for r in scores.rows])),
            "minibatch": minibatch(scores.config, order) if scores.config else None,
            "seconds": scores.seconds,
            "processor_seconds": scores.processor,
            "placebo": next((r["placebo_verdict"] for r in scores.rows if r.get("placebo_verdict")), ""),
            "verdict": said.get((arm, control), ""),
        }
        out.append(row)
    return out


def saving_of(ratio: Ratio) -> bool:
    """Whether a ratio is above one for certain."""
    return ratio.low is not None and ratio.low > 1.0


def verdicts(group: Group, refuted: bool | None = None) -> dict[tuple[str, str], str]:
    """What may be said of every arm: a saving by symmetry, one that a control shares, a loss, or not decided.

    *By symmetry* is said if the arm saves for certain and is faster, for certain, than the feature alone (whatever the
    arm, where it was measured) and than the placebo. A control shares a saving if it saves for certain and the arm is
    not certainly faster than it. Another domain that saves too speaks for the symmetry; if it does not, the saving is
    one of the domain. With a symmetry that the check refutes no saving is one by symmetry.

    Args:
        group: the measurement.
        refuted: whether the check refutes the symmetry; default: what the atlas says, if it is the atlas's.
    """
    arms = [key for key in group.conditions if key != ("baseline", "") and not key[1]]
    said = {(arm, ""): _verdict(group, arm) for arm, _ in arms}
    if group.refuted if refuted is None else refuted:
        said = {key: REFUTED_SAVING if word == BY_SYMMETRY else word for key, word in said.items()}
    return said


def _verdict(group: Group, arm: str) -> str:
    ratio = group.ratio((arm, ""))
    if not saving_of(ratio):
        return "a loss" if ratio.high is not None and ratio.high < 1.0 else "not decided here"
    if (arm, "domain") in group.conditions and not saving_of(group.ratio((arm, "domain"))):
        return "a saving of this domain: another domain of the same symmetry does not save"
    # the feature is run once, beside the form whose domain it is, and is a rival of every arm
    beside = {"feature": ("canonical", "feature"), "placebo": (arm, "placebo")}
    there = {name: key for name, key in beside.items() if key in group.conditions}
    rivals = [name for name, key in there.items() if not saving_of(group.ratio((arm, ""), against=key))]
    shared = [name for name in rivals if saving_of(group.ratio(there[name]))]
    if shared:
        return f"a saving that a control shares ({', '.join(shared)}): not by symmetry"
    if rivals:
        return f"a saving; whether a control shares it is not decided ({', '.join(rivals)})"
    wanted = ("feature", "placebo") if arm in CONTROLS["feature"] else ("placebo",)
    lacking = [repr(name) for name in wanted if name not in there]
    if lacking:
        return f"a saving, without the control {' and '.join(lacking)} for this arm"
    return BY_SYMMETRY


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
