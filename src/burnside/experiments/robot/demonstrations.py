"""The demonstrations of a recipe: found in a file or made by the expert, and turned into chunks to imitate."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from burnside._types import AnyArray
from burnside.envs.manipulation.chunks import ManipulationChunks, manipulation_chunks
from burnside.envs.manipulation.demos import DemonstrationFile, read_demonstrations
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import InvalidParameter
from burnside.experiments.robot.config import Recipe
from burnside.nn.flow import FlowPolicy, Imitation, ImitationConfig

__all__ = ["DEMOS", "clouds_of", "find_demonstrations", "student"]

#: Where 'burnside demos' puts its files.
DEMOS = Path("runs") / "demos"


def find_demonstrations(recipe: Recipe, path: str | Path | None = None, scene: Any = None) -> DemonstrationFile:
    """The first demonstrations of a file, as many as the recipe asks for; without a path they are found or made.

    Args:
        recipe: task, number and noise.
        path: the file; default ``runs/demos/TASK.hdf5``, and where there is none the expert makes as many as are
            needed, in ``runs/demos/TASK-NUMBER.hdf5``.
        scene: NVIDIA's, if the file is NVIDIA's.
    """
    task = find_task(recipe.task)
    given = path is not None
    target = Path(path) if path is not None else DEMOS / f"{recipe.task}.hdf5"
    if not given and not target.exists():
        target = DEMOS / f"{recipe.task}-{recipe.demos}.hdf5"
        _make(recipe, target)
    if scene is not None:
        from burnside.envs.manipulation.nvidia import nvidia_demonstrations

        found = nvidia_demonstrations(target, scene, recipe.demos)
    else:
        found = read_demonstrations(target, recipe.demos)
    if found.environment and found.environment != task.environment:
        raise InvalidParameter(
            f"{target} holds demonstrations of {found.environment}, the task is {task.environment}: give another file"
        )
    if len(found) < recipe.demos:
        raise InvalidParameter(
            f"{target} holds {len(found)} demonstrations and {recipe.demos} are asked for: make more with 'burnside "
            f"demos {recipe.task} --count {recipe.demos} --noise {recipe.noise} --force', or ask for fewer with "
            f"--demonstrations"
        )
    if not given and found.noise != recipe.noise:
        raise InvalidParameter(
            f"{target} was made with the noise {found.noise}, and the experiment is defined with {recipe.noise}: make "
            f"it again with 'burnside demos {recipe.task} --count {recipe.demos} --noise {recipe.noise} --force'"
        )
    return found


def _make(recipe: Recipe, target: Path) -> None:
    """Let the expert make a file, unless another process has just done so."""
    from burnside.envs.manipulation.generate import generate
    from burnside.runs.lock import CellLock

    target.parent.mkdir(parents=True, exist_ok=True)
    lock = CellLock(target.with_name(target.name + ".lock"))
    while not lock.acquire():
        time.sleep(0.5)
    try:
        if not target.exists():
            generate(find_task(recipe.task), recipe.demos, target, workers=0, noise=recipe.noise)
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
    cache = DEMOS / f"clouds-{recipe.task}-{file.noise:g}"
    return demonstration_clouds(task, file.demos, file.noise, recipe.policy.points, cache, progress)


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
    clouds = clouds_of(recipe, file)
    observations, actions = manipulation_chunks(env, file.demos, recipe.policy.horizon, clouds)
    policy = FlowPolicy(recipe.policy, seed).to(device)
    return Imitation(policy, ImitationConfig(**recipe.imitation), observations, actions, seed)
