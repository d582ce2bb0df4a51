"""The demonstrations of a recipe: found in a file or made by the expert, and turned into chunks to imitate."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import AnyArray
from burnside.envs.manipulation.chunks import ManipulationChunks, augmentation, manipulation_chunks
from burnside.envs.manipulation.demos import DemonstrationFile, read_demonstrations
from burnside.envs.manipulation.observations import ACTION_LAYOUT, metric_scales
from burnside.envs.manipulation.tasks import SUBSTEPS, find_task
from burnside.errors import InvalidParameter
from burnside.experiments.robot.config import AUGMENTED, Recipe
from burnside.nn.flow import FlowPolicy, Imitation, ImitationConfig

__all__ = ["DEMOS", "clouds_of", "drawn", "find_demonstrations", "student"]

#: Where 'burnside demos' puts its files.
DEMOS = Path("runs") / "demos"


def find_demonstrations(recipe: Recipe, path: str | Path | None = None, scene: Any = None) -> DemonstrationFile:
    """The first demonstrations of a file, as many as the recipe draws from; without a path they are found or made.

    Args:
        recipe: task, number and noise.
        path: the file; default ``runs/demos/TASK.hdf5`` (``TASK-5ms`` for the fast physics, ``TASK-mishaps``), and
            where there is none the expert makes as many as are needed, in ``runs/demos/TASK-NUMBER.hdf5``.
        scene: NVIDIA's, if the file is NVIDIA's.
    """
    task = find_task(recipe.task)
    given = path is not None
    kind = f"{recipe.task}{'' if recipe.substeps == SUBSTEPS[0] else '-5ms'}{'-mishaps' if recipe.mishaps else ''}"
    count = max(recipe.pool, recipe.demos)
    target = Path(path) if path is not None else DEMOS / f"{kind}.hdf5"
    if not given and not target.exists():
        target = DEMOS / f"{kind}-{count}.hdf5"
        _make(recipe, count, target)
    if scene is not None:
        from burnside.envs.manipulation.nvidia import nvidia_demonstrations

        found = nvidia_demonstrations(target, scene, count)
    else:
        found = read_demonstrations(target, count)
    if found.environment and found.environment != task.environment:
        raise InvalidParameter(
            f"{target} holds demonstrations of {found.environment}, the task is {task.environment}: give another file"
        )
    more = "" if recipe.substeps == SUBSTEPS[0] else f" --substeps {recipe.substeps}"
    more += f" --mishaps {recipe.mishaps}" if recipe.mishaps else ""
    again = f"'burnside demos {recipe.task} --count {count} --noise {recipe.noise}{more} --out {target} --force'"
    if len(found) < (recipe.demos if given else count):
        raise InvalidParameter(
            f"{target} holds {len(found)} demonstrations and {count} are needed: make more with {again}, or use "
            f"fewer with --demonstrations"
        )
    made, wanted = (
        {"noise": each.noise, "substeps": each.substeps, "mishaps": each.mishaps} for each in (found, recipe)
    )
    for name in made:
        if not given and made[name] != wanted[name]:
            raise InvalidParameter(
                f"{target} was made with the {name} {made[name]}, and the experiment is defined with {wanted[name]}: "
                f"make it again with {again}"
            )
    return found


def drawn(recipe: Recipe, file: DemonstrationFile, seed: int) -> list[int]:
    """Which demonstrations of a file a seed learns from: the first ones, or as many from the pool, in a random order.

    Those of fewer demonstrations are among those of more.
    """
    if not recipe.pool:
        return list(range(recipe.demos))
    keys = hash_u64(seed, Stream.ENV, np.arange(min(len(file), max(recipe.pool, recipe.demos))))
    return [int(k) for k in np.argsort(keys, kind="stable")[: recipe.demos]]


def _make(recipe: Recipe, count: int, target: Path) -> None:
    """Let the expert make a file, unless another process has just done so."""
    from burnside.envs.manipulation.generate import generate
    from burnside.runs.lock import CellLock

    target.parent.mkdir(parents=True, exist_ok=True)
    lock = CellLock(target.with_name(target.name + ".lock"))
    while not lock.acquire():
        time.sleep(0.5)
    try:
        if not target.exists():
            generate(
                find_task(recipe.task), count, target, workers=0, noise=recipe.noise, substeps=recipe.substeps,
                mishaps=recipe.mishaps,
            )  # fmt: skip
    finally:
        lock.release()


def clouds_of(
    recipe: Recipe, file: DemonstrationFile, progress: Callable[[int, int], object] | None = None
) -> list[AnyArray] | None:
    """The clouds of demonstrations if the policy sees clouds; kept in ``runs/demos/clouds-…``."""
    if not recipe.cloud:
        return None
    from burnside.envs.manipulation.replay import demonstration_clouds

    task = find_task(recipe.task)
    more = "" if (file.substeps, file.mishaps) == (SUBSTEPS[0], 0.0) else f"-{file.substeps}-{file.mishaps:g}"
    cache = DEMOS / f"clouds-{recipe.task}-{file.noise:g}{more}"
    return demonstration_clouds(
        task, file.demos, file.noise, recipe.policy.points, cache, progress, file.substeps, file.mishaps
    )


def student(
    recipe: Recipe,
    env: ManipulationChunks,
    seed: int,
    *,
    demos: str | Path | None = None,
    device: str = "cpu",
) -> Imitation:
    """Imitation before its first update.

    Args:
        recipe: what to learn.
        env: its scenes.
        seed: of everything random.
        demos: a file of demonstrations; default: found or made.
        device: where the policy learns.
    """
    file = find_demonstrations(recipe, demos, env.scene if env.source == "nvidia" else None)
    file = replace(file, demos=tuple(file.demos[k] for k in drawn(recipe, file, seed)))
    clouds, moves = clouds_of(recipe, file), recipe.arm in AUGMENTED
    observations, actions = manipulation_chunks(env, file.demos, recipe.policy.horizon, clouds, seed=seed, still=moves)
    scales = None
    if recipe.scales == "metric":
        scales = {"state": metric_scales(env.layout), "action": metric_scales(ACTION_LAYOUT)}
    return Imitation(
        FlowPolicy(recipe.policy, seed).to(device),
        ImitationConfig(**recipe.imitation),
        observations,
        actions,
        seed,
        scales=scales,
        augment=augmentation(env, seed) if moves else None,
    )
