"""Clouds for demonstrations: files keep poses only, so the expert plays the same scenes once more and is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from burnside._archives import open_archive, write_archive
from burnside._types import AnyArray
from burnside.envs.manipulation.clouds import point_cloud
from burnside.envs.manipulation.demos import Demonstration
from burnside.envs.manipulation.generate import attempt
from burnside.envs.manipulation.rendering import renderer_for
from burnside.envs.manipulation.scenes import build_scene
from burnside.envs.manipulation.simulation import Simulation
from burnside.envs.manipulation.tasks import SUBSTEPS, Task
from burnside.errors import InvalidParameter, UnreadableFile

__all__ = ["demonstration_clouds"]


def demonstration_clouds(
    task: Task,
    demos: Sequence[Demonstration],
    noise: float,
    points: int,
    cache: str | Path | None = None,
    progress: Callable[[int, int], object] | None = None,
    substeps: int = SUBSTEPS[0],
    mishaps: float = 0.0,
) -> list[AnyArray]:
    """The clouds (steps, points, 6) of every step of every demonstration of ours.

    Args:
        task: what was demonstrated.
        demos: the demonstrations; each must have its seed.
        noise: what they were made with, see :attr:`DemonstrationFile.noise`.
        points: size of a cloud.
        cache: a folder for one file per demonstration; what is there is not drawn again.
        progress: called with (done, all).
        substeps: physics steps in a control step, as in the file.
        mishaps: as in the file.
    """
    sim: Simulation | None = None
    found = []
    for k, demo in enumerate(demos):
        file = None if cache is None else Path(cache) / f"{demo.seed}-{points}.npz"
        clouds = None if file is None else _read(file, (len(demo), points, 6))
        if clouds is None:
            sim = sim or Simulation(task, build_scene(task, substeps))
            clouds = _draw(sim, demo, noise, points, mishaps)
            if file is not None:
                write_archive(file, {"clouds": clouds}, compress=True)
        found.append(clouds)
        if progress is not None:
            progress(k + 1, len(demos))
    return found


def _draw(sim: Simulation, demo: Demonstration, noise: float, points: int, mishaps: float) -> AnyArray:
    drawn: list[AnyArray] = []
    again = None
    if demo.seed >= 0:
        renderer = renderer_for(sim.model)

        def watch(s: Simulation) -> None:
            drawn.append(point_cloud(renderer, s.data, s.task, points))

        again = attempt(sim, demo.seed, noise, watch, mishaps)
    if again is None or len(again) != len(demo) or not np.allclose(again.eef, demo.eef, atol=1e-3):
        raise InvalidParameter(
            f"the demonstration of seed {demo.seed} cannot be played again, so its clouds cannot be drawn: clouds need "
            f"demonstrations made by this version with 'burnside demos'"
        )
    return np.stack(drawn).astype(np.float32)


def _read(path: Path, shape: tuple[int, ...]) -> AnyArray | None:
    try:
        with open_archive(path) as archive:
            header = archive.headers(["clouds"])["clouds"]
            fits = header.shape == shape and header.dtype == np.float32
            return archive.array("clouds", header) if fits else None
    except UnreadableFile:
        return None  # it will be drawn again
