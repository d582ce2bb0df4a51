"""Figures of the committed studies, read from ``results/`` again."""

from __future__ import annotations

import json
import math

from burnside.report.claims.checks import Figures, _check, _committed

__all__: list[str] = []


@_check
def table_one() -> Figures:
    """Table 1 from ``results/ring1d``: means, solved runs, deviations from the paper in its standard errors."""
    from burnside.experiments.ring1d.analysis import ratios, table
    from burnside.runs import read_results

    folder = _committed("ring1d")
    figures: Figures = {}
    within: dict[str, list[int]] = {"baseline": [], "canonical": []}
    for row in table(folder):
        n, condition = row["n"], row["condition"]
        figures[f"{condition}_{n}"] = round(row["restricted_mean"], 1)
        figures[f"{condition}_{n}_solved"] = round(row["solved"] * row["seeds"])
        figures[f"{condition}_{n}_steps"] = round(row["steps_mean"])
        figures[f"{condition}_{n}_returns"] = row["returns"] and [round(value, 1) for value in row["returns"]]
        compared = row["paper_mean"] is not None and row["mean"] is not None
        if compared and abs(row["mean"] - row["paper_mean"]) <= 4 * row["paper_se"]:
            within[condition].append(n)
    for n, ratio in ratios(read_results(folder)).items():
        figures[f"ratio_{n}"] = round(ratio.value, 2)
        # of a bound the confidence limit is quoted, rounded to the safe side
        figures[f"ratio_{n}_low"] = None if ratio.low is None else math.floor(100 * ratio.low) / 100
    return figures | {f"{condition}_within": sizes for condition, sizes in within.items()}


@_check
def ring3d_study() -> Figures:
    """Final returns from ``results/ring3d``: greedy and sampled, per algorithm, condition and encoder."""
    from burnside.experiments.ring3d.analysis import table

    figures: Figures = {}
    for row in table(_committed("ring3d")):
        if row["seeds"]:
            name = f"{row['algorithm']}_{row['condition']}_{row['encoder']}"
            figures[f"{name}_greedy"] = round(row["greedy_mean"], 1)
            figures[f"{name}_sampled"] = round(row["sampled_mean"], 1)
    return figures


@_check
def cube_study() -> Figures:
    """From ``results/cube``: errors, percentages solved by beam search, and what arms are worth in labels."""
    from burnside.experiments.cube.analysis import table

    figures: Figures = {}
    for row in table(_committed("cube")):
        if row["kind"] == "davi":
            figures[f"rmse_{row['n']}_{row['arm']}"] = round(row["rmse"], 2)
            figures[f"solved_{row['n']}_{row['arm']}"] = round(row["solved_mean"], 1)
        elif row["worth"] is not None:
            figures[f"worth_{row['labels']}_{row['arm']}"] = round(row["worth"], 1)
    return figures


@_check
def planar_study() -> Figures:
    """From ``results/planar``: episodes of PPO at full spread, imitation, gains of fine-tuning."""
    from burnside.experiments.planar.analysis import table
    from burnside.experiments.planar.config import FULL

    figures: Figures = {}
    for row in table(_committed("planar")):
        arm = row["arm"]
        if row["kind"] == "ppo" and (row["shift"], row["turn"]) == FULL:
            figures[f"episodes_{arm}"] = round(row["restricted_mean"])
            figures[f"solved_{arm}"] = round(row["solved"] * row["seeds"])
            if row["ratio"] is not None:
                figures[f"ratio_{arm}"] = round(row["ratio"], 1)
                figures[f"ratio_{arm}_low"] = math.floor(10 * row["ratio_low"]) / 10
        elif row["kind"] == "imitation" and row["task"] == "push" and row["demos"] == 40:
            figures[f"imitation_{arm}"] = round(100 * row["success_mean"], 1)
        elif row["kind"] == "imitation" and row["task"] == "push" and row["demos"] == 10 and row["saving"] is not None:
            figures[f"saving_{arm}"] = round(row["saving"], 1)
        elif row["kind"] == "finetune":
            figures[f"before_{arm}"] = round(100 * row["before_mean"], 1)
            figures[f"after_{arm}"] = round(100 * row["success_mean"], 1)
    return figures


@_check
def robot_study() -> Figures:
    """From ``results/robot``: per cent of held-out scenes solved after imitation, and before and after fine-tuning."""
    from burnside.experiments.robot.analysis import table

    figures: Figures = {}
    for row in table(_committed("robot")):
        short = {"stack-three": "stack", "nut-assembly": "nut"}[row["task"]]
        name = (
            f"{short}_{row['arm']}_{row['demos']}"
            + {"state": "", "cloud": "_cloud", "tokens": "_tokens"}[row["observation"]]
        )
        if row["kind"] == "imitation":
            figures[name] = round(100 * row["success"], 1)
        else:
            figures[f"{name}_after"] = round(100 * row["success"], 1)
            figures[f"{name}_steps"] = row["env_steps"]
    return figures


@_check
def ring1d_compute() -> Figures:
    """Wall time of the committed 1D study, and CPU time of one run of it."""
    manifest = json.loads((_committed("ring1d") / "manifest.json").read_text(encoding="utf-8"))
    first = manifest["sweeps"][0]  # baseline, canonical and augment; what was added later has another engine
    runs = first["done"] * len(manifest["cells"][0]["seeds"])
    seconds = first["wall_seconds"] * first["workers"] * first["threads"]
    return {
        "runs": runs,
        "wall_minutes": round(first["wall_seconds"] / 60),
        "cpu_seconds_per_run": round(seconds / runs),
    }
