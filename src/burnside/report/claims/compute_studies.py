"""Figures of the committed studies that ``burnside table`` does not print: read from ``results/`` again."""

from __future__ import annotations

import csv
import json
import math
from typing import Any

from burnside.report.claims.compute import Figures, committed_file, computation

__all__: list[str] = []


@computation
def measured_mistakes() -> Figures:
    """Ratios of ``results/mistakes``, and how far each prediction is off, as a geometric mean over the models."""
    with committed_file("mistakes", "mistakes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    def off(column: str) -> float:
        logs = [abs(math.log(float(row[column]) / float(row["ratio"]))) for row in rows if row[column]]
        return math.exp(sum(logs) / len(logs))

    found: Figures = {"models": len(rows), "seeds": min(int(row["seeds"]) for row in rows)}
    by_model = {row["model"]: row for row in rows}
    for n in (5, 10, 15, 20):
        row = by_model[f"slip-ring(n={n}) / Z"]
        found |= {f"ring_{n}": float(row["ratio"]), f"ring_{n}_low": float(row["low"]), f"c_{n}": float(row["scale"])}
        found[f"ring_{n}_capped"] = int(row["capped M"]) + int(row["capped quotient"])
    fixed = by_model["slip-ring(n=10, goal=fixed) / Z"]
    found |= {f"fixed_{key}": float(fixed[key]) for key in ("ratio", "low", "high", "order", "joint reachable")}
    found["fixed_reachable"] = found.pop("fixed_joint reachable")
    return found | {
        "off_reachable": off("joint reachable"),
        "off_joint": off("joint"),
        "off_order": off("order"),
        "off_paper": off("paper"),
    }


@computation
def table_one_rules() -> Figures:
    """Table 1 under three readings of 'converged': which cells lie within four of the paper's standard errors.

    Cells with runs that do not converge have no mean and do not.
    """
    from burnside.experiments.ring1d.analysis import by_rule

    found: Figures = {}
    for rule, rows in by_rule(committed_file("ring1d")).items():
        for arm in ("baseline", "canonical"):
            # the paper's numbers stand beside App. C's settings; longer runs are the evidence of another row
            shown = [row for row in rows if row["paper_mean"] is not None and row["budget"] <= 10_000]
            mine = {row["n"]: row for row in shown if row["arm"] == arm}
            within = [n for n, row in mine.items() if _within(row)]
            found |= {
                f"{rule}_{arm}": [row["restricted_mean"] for row in mine.values()],
                f"{rule}_{arm}_within": within,
                f"{rule}_{arm}_cells": len(mine),
            }
            found["sizes"] = list(mine)
    return found


def _within(row: dict[str, Any]) -> bool:
    return row["mean"] is not None and abs(row["mean"] - row["paper_mean"]) <= 4 * row["paper_se"]


@computation
def circles() -> Figures:
    """Expected return in the 3D game of a policy that runs in a circle of two to five cells."""
    from burnside.experiments.ring3d.analysis import circling

    return {f"cells_{k}": circling(k) for k in (2, 3, 4, 5)}


@computation
def identical_settings() -> Figures:
    """Committed cells that should differ in the arm alone: how many groups of them there are, and how many do.

    The arm ``equivariant`` is left out: it has another network, which is the point of it. Runs of another length or of
    another variant of a learner are groups of their own.
    """
    from burnside.experiments.arms import KEY
    from burnside.experiments.ring1d.run import variant_of

    found: Figures = {}
    for name, key in (("ring1d", KEY), ("ring3d", KEY), ("cube", "arm"), ("planar", "arm")):
        manifest = json.loads(committed_file(name, "manifest.json").read_text(encoding="utf-8"))
        arms: dict[str, set[str]] = {}
        settings: dict[str, set[str]] = {}
        for cell in manifest["cells"]:
            config = dict(cell["config"])
            which = str(config.pop(key))
            if name == "ring1d":
                config["variant"] = variant_of(config["dqn"])
            if which != "equivariant":
                what = json.dumps({word: config.pop(word) for word in _TASK if word in config}, sort_keys=True)
                arms.setdefault(what, set()).add(which)
                settings.setdefault(what, set()).add(json.dumps(config, sort_keys=True))
        compared = [what for what in arms if len(arms[what]) > 1]
        found |= {f"{name}_groups": len(compared), f"{name}_same": sum(len(settings[what]) == 1 for what in compared)}
    return found


#: What a cell is about, besides its arm; everything else is how it is trained and tested.
_TASK = ("n", "kind", "task", "shift", "turn", "demos", "algorithm", "encoder", "labels", "episodes", "variant")


# ---------------------------------------------------------------------- what runs cost


def _cells(experiment: str) -> list[tuple[dict[str, Any], float, int]]:
    """Configuration, seconds and number of seeds of every cell of a committed study."""
    manifest = json.loads(committed_file(experiment, "manifest.json").read_text(encoding="utf-8"))
    seconds = manifest["cell_seconds"]
    return [(cell["config"], seconds[cell["name"]], len(cell["seeds"])) for cell in manifest["cells"]]


@computation
def ring1d_compute() -> Figures:
    """CPU time of a run of 10 000 episodes of the 1D game in the committed study: least, mean and most."""
    from burnside.experiments.arms import KEY

    spent = [
        seconds / seeds
        for config, seconds, seeds in _cells("ring1d")
        if config["episodes"] == 10_000 and config[KEY] in ("baseline", "canonical")
    ]
    return {
        "settings": len(spent),
        "seconds_least": min(spent),
        "seconds_mean": sum(spent) / len(spent),
        "seconds_most": max(spent),
    }


@computation
def ring3d_compute() -> Figures:
    """What the 50 000 episodes of App. C's PPO in the 3D game cost on one core, as committed; of DQN, its updates."""
    from burnside.envs.ring.core import RingSpec

    episodes = 50_000
    hours = [
        seconds / 3600 / seeds
        for config, seconds, seeds in _cells("ring3d")
        if config["algorithm"] == "ppo" and config["episodes"] == episodes and not config.get("variant")
    ]
    return {
        "episodes": episodes,
        "ppo_runs": len(hours),
        "ppo_core_hours_least": min(hours),
        "ppo_core_hours_most": max(hours),
        "dqn_updates": episodes * RingSpec(5, d=3).time_limit,
    }


@computation
def cube_compute() -> Figures:
    """States per second of value iteration in the committed study, and the size of the paper's runs beside it."""
    from burnside.experiments.cube.config import EPOCH_STATES

    spent = [
        (config["agent"]["states"], seconds)
        for config, seconds, _ in _cells("cube")
        if config["kind"] == "davi" and config["arm"] == "baseline"
    ]
    return {
        "states": spent[0][0],
        "states_per_second": sum(s for s, _ in spent) / sum(t for _, t in spent),
        "epoch_states": EPOCH_STATES,
        "paper_states": 10_000 * EPOCH_STATES,
    }
