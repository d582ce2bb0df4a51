"""The robot tasks in the report (Fig. 5): success by frame and demonstrations, and against environment steps."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
from pathlib import Path
from typing import Any

from burnside.experiments.robot.analysis import Curve, finetune_curves, table, training_curves
from burnside.experiments.robot.config import ARMS
from burnside.report.page import Page
from burnside.report.parts import add_figures, add_results
from burnside.report.plots import Plot, band, plot
from burnside.report.tables import per_cent
from burnside.runs import Results, read_results

__all__ = ["demonstrations_plot", "finetune_plot", "has_simulator", "robot_part", "show", "simulator_python"]

_COLOURS = {
    "world": "#d55e00",
    "base": "#009e73",
    "azimuth": "#cc79a7",
    "relative": "#8a8a8a",
    "upright": "#e69f00",
    "gripper": "#0072b2",
    "augmented": "#56b4e9",
}
_SEES = {"state": "poses", "cloud": "clouds", "tokens": "poses in the clouds' network"}
_NEEDED = ("mujoco", "robosuite", "h5py", "fpsample", "torch")


def has_simulator() -> bool:
    """Whether the extra ``robot`` is installed here."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def simulator_python() -> Path | None:
    """The Python of an environment with the simulator: ``BURNSIDE_ROBOT_PYTHON``, or what ``make`` keeps for it.

    That a file is there says nothing: it is asked to import what it needs, and the same release of this package.
    """
    python = Path(os.environ.get("BURNSIDE_ROBOT_PYTHON") or ".venv-robot/bin/python").absolute()
    try:
        asked = subprocess.run(
            [
                str(python),
                "-c",
                f"import importlib.metadata as m, burnside, {', '.join(_NEEDED)}; print(m.version('burnside'))",
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    works = asked.returncode == 0 and asked.stdout.split()[-1:] == [importlib.metadata.version("burnside")]
    return python if works else None


def robot_part(page: Page, preset: str, folder: Path, out: Path) -> None:
    """Tabulate and draw what was run here, if anything was, and the committed study."""
    page.text(
        "Two manipulation tasks on MuJoCo with a Panda arm: imitation of scripted demonstrations by flow matching, "
        "then PPO over the denoising chain. Observations and whole chunks of actions are in the frame of the world, "
        "of the base (a constant change of coordinates, so a control) or of the gripper at the latest observation; "
        "upright, azimuth and relative take a part of the gripper's pose only. "
        "The simulator does not have the symmetry exactly: gravity, the table, the base and the joint limits break it."
    )
    ran = (folder / "cells").is_dir()
    if not ran:
        page.text(
            "Not run here: the simulator is the extra 'robot', with an environment of its own. 'make test-robot' makes "
            "it in .venv-robot; then 'make reproduce' runs the preset 'smoke' in it (every step of the pipeline, far "
            "too little to learn anything), and '.venv-robot/bin/burnside reproduce --only robot' this preset."
        )
    add_results(page, "robot", show, folder.name if ran else preset, folder if ran else None, out)


def show(page: Page, folder: Path, caption: str, out: Path, *, suffix: str = "") -> None:
    """Add one folder of results to the page."""
    results, rows = read_results(folder, allow_missing=True), table(folder, allow_missing=True)
    imitation = [row for row in rows if row["kind"] == "imitation"]
    tuned = [row for row in rows if row["kind"] == "finetune"]
    page.table(
        [
            "task",
            "sees",
            "cell",
            "demonstrations",
            "frame",
            "seeds",
            "successes",
            "success",
            "95 % over seeds",
            "inside the gate",
        ],
        [_imitation_cells(row) for row in imitation],
        f"{caption}. Imitation: success on held-out scenes; the gate of fine-tuning is 20 to 60 %",
    )
    saved = [row for row in rows if row["kind"] == "saving"]
    if saved:
        page.table(
            [
                "task",
                "sees",
                "cell",
                "demonstrations",
                "frame",
                "seeds",
                "success",
                "demonstrations saved, times",
                "95 %",
            ],
            [_saving_cells(row) for row in saved],
            f"{caption}. How many times as many demonstrations the world's frame needs for the same success",
        )
    if tuned:
        page.table(
            ["task", "sees", "cell", "demonstrations", "frame", "PPO", "seeds", "before", "after", "95 % over seeds",
             "gain in points", "95 % over seeds", "training episodes at the end", "environment steps"],
            [_finetune_cells(row) for row in tuned],
            f"{caption}. PPO over the denoising chain, from those policies",
        )  # fmt: skip
    add_figures(page, (demonstrations_plot(rows, suffix), finetune_plot(results, suffix)), out)


def _place(row: dict[str, Any]) -> list[object]:
    sees = row["observation"] if row["features"] == "poses" else f"{row['observation']}, {row['features']}"
    still = not (row["shift"] or row["turn"])
    cell = "stands still" if still else f"± {row['shift']:g} m, ± {row['turn']:g}°"
    return [row["task"], sees + (", mishaps" if row["mishaps"] else ""), cell, row["demos"], row["arm"]]


def _saving_cells(row: dict[str, Any]) -> list[object]:
    ends = ["…" if row[key] is None else f"{row[key]:.1f}" for key in ("saving_low", "saving_high")]
    return [
        *(*_place(row), row["seeds"], f"{row['success']:.1%}"),
        f"{row['saving_bound']} {row['saving']:.1f}".strip(),
        " to ".join(ends),
    ]


def _imitation_cells(row: dict[str, Any]) -> list[object]:
    return [
        *(*_place(row), row["seeds"]),
        f"{row['successes']} of {row['seeds'] * row['scenes']}",
        f"{row['success']:.1%}",
        per_cent(row["success_low"], row["success_high"]),
        f"{row['inside_gate']} of {row['seeds']}",
    ]


def _finetune_cells(row: dict[str, Any]) -> list[object]:
    return [
        *(*_place(row), ", ".join([row["pays"], *([row["variant"]] if row["variant"] else [])]), row["seeds"]),
        *(f"{row['before']:.1%}", f"{row['success']:.1%}"),
        per_cent(row["success_low"], row["success_high"]),
        f"{100 * row['gain']:.1f}",
        per_cent(row["gain_low"], row["gain_high"]),
        "–" if row["training"] is None else f"{row['training']:.1%}",
        row["env_steps"],
    ]


def _distance(row: dict[str, Any], end: str) -> float:
    return 0.0 if row[end] is None else 100 * abs(row["success"] - row[end])


def _panel(row: dict[str, Any]) -> tuple[Any, ...]:
    """What the curves of one panel share."""
    return tuple(row[key] for key in ("task", "observation", "features", "mishaps", "shift", "turn"))


def _panel_title(panel: tuple[Any, ...]) -> str:
    task, observation, features, mishaps, shift, turn = panel
    sees = _SEES[observation] if features == "poses" else f"{_SEES[observation]}, relations"
    more = ", mishaps" if mishaps else ""
    return f"{task}, {sees}{more}" + (f"\ncell ± {shift:g} m, ± {turn:g}°" if shift or turn else "")


def demonstrations_plot(rows: list[dict[str, Any]], suffix: str = "") -> Plot | None:
    """Success of imitation against the number of demonstrations, by frame; a panel per task and observation."""
    mine = [row for row in rows if row["kind"] == "imitation"]
    tasks = sorted({_panel(row) for row in mine}, reverse=True)
    if not mine:
        return None

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
        for axes, task in zip(panels, tasks, strict=True):
            for k, arm in enumerate(ARMS):
                chosen = [row for row in mine if _panel(row) == task and row["arm"] == arm]
                if not chosen:
                    continue
                y = [100 * row["success"] for row in chosen]
                ends = [[_distance(r, end) for r in chosen] for end in ("success_low", "success_high")]
                x = [row["demos"] * 1.03 ** (k - 2) for row in chosen]  # side by side
                axes.errorbar(x, y, ends, color=_COLOURS[arm], marker="o", markersize=3, capsize=2, label=arm)
            axes.set(xscale="log", xlabel="demonstrations", title=_panel_title(task), ylim=(-2, 102))
            numbers = sorted({row["demos"] for row in mine if _panel(row) == task})
            axes.set_xlim(numbers[0] / 1.5, numbers[-1] * 1.5)
            axes.set_xticks(numbers, [str(n) for n in numbers])
            axes.minorticks_off()
            axes.legend()
        panels[0].set_ylabel("success, %")

    place = ("task", "observation", "features", "shift", "turn", "demos", "arm", "seeds", "success")
    headers, keys = (*place, "low", "high"), (*place, "success_low", "success_high")
    caption = (
        "Imitation: success on held-out scenes against the number of demonstrations, 95 % over seeds (none for one)."
    )
    data = [[row[key] for key in keys] for row in mine]
    size, seeds = (4.2 * len(tasks), 3.4), min(row["seeds"] for row in mine)
    return plot(f"demonstrations-robot{suffix}", caption, draw, headers, data, size=size, seeds=seeds)


def _marker(curves: list[Curve], curve: Curve) -> str:
    """Another one for every number of demonstrations that an arm begins with."""
    return "osD^v"[sorted({c.demos for c in curves if c.arm == curve.arm}).index(curve.demos) % 5]


def _which(curve: Curve) -> str:
    """What a curve's settings of PPO and cell are, where they are not the usual ones."""
    own = curve.setting
    more = [own.variant, own.pays if own.pays != "sparse" else "", f"± {own.turn:g}°" if own.turn else ""]
    return "".join(f", {part}" for part in more if part)


def finetune_plot(results: Results, suffix: str = "") -> Plot | None:
    """Fig. 5's form: success against environment steps, by task and frame; training episodes are thin."""
    found = [curve for curve in finetune_curves(results) if curve.observation == "state"]
    train = [curve for curve in training_curves(results) if curve.observation == "state"]
    tasks = sorted({curve.task for curve in found}, reverse=True)
    if not found:
        return None

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(tasks), squeeze=False, sharey=True)[0]
        for axes, task in zip(panels, tasks, strict=True):
            for curve in (c for c in found if c.task == task):
                colour, marker = _COLOURS[curve.arm], _marker(found, curve)
                label = f"{curve.arm}, {curve.demos} demos{_which(curve)}"
                look: Any = {"color": colour, "marker": marker, "markersize": 4, "label": label}
                band(axes, curve.env_steps, curve.mean, curve.low, curve.high, scale=100, **look)
            for curve in (c for c in train if c.task == task):
                colour, marker = _COLOURS[curve.arm], _marker(found, curve)
                label = f"{curve.arm}, {curve.demos}{_which(curve)}, training"
                line = {"lw": 0.8, "ls": ":", "marker": marker, "markersize": 2}
                axes.plot(curve.env_steps, 100 * curve.mean, color=colour, label=label, **line)
            axes.set(xlabel="environment steps", title=task, ylim=(-2, 102))
        panels[0].set_ylabel("success, %")
        panels[0].legend()

    rows = [
        (kind, c.task, c.arm, c.demos, c.seeds, *map(float, point))
        for kind, curves in (("test", found), ("training", train))
        for c in curves
        for point in zip(c.env_steps, c.mean, c.low, c.high, strict=True)
    ]
    caption = (
        "Fig. 5's form: success on held-out scenes while PPO fine-tunes, 95 % over seeds (none for one); "
        "dotted: training episodes, with the noise of the sampler."
    )
    headers = ("kind", "task", "arm", "demos", "seeds", "env_steps", "success", "low", "high")
    size, seeds = (4.2 * len(tasks), 3.4), min(curve.seeds for curve in found)
    return plot(f"fig5-robot{suffix}", caption, draw, headers, rows, size=size, seeds=seeds)
