"""From demonstrations to a policy that was imitated and fine-tuned: the steps that the sweep and the command share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.flow_ppo import evaluate
from burnside.envs.batched import Evaluation
from burnside.envs.manipulation.chunks import ManipulationChunks, evaluation_scenes, manipulation_chunks
from burnside.envs.manipulation.demos import Demonstration, DemonstrationFile, read_demonstrations
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import InvalidParameter
from burnside.experiments.robot.config import GATE, Recipe
from burnside.nn.flow import FlowPolicy, Imitation, ImitationConfig

__all__ = [
    "DEMOS",
    "clouds_of",
    "environment",
    "find_demonstrations",
    "gate_says",
    "student",
    "success_on_test",
    "training_curve",
]

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


def environment(recipe: Recipe, workers: int = 0, scene: Any = None, source: str = "burnside") -> ManipulationChunks:
    """The scenes of a recipe, in its frame."""
    return ManipulationChunks(
        recipe.task,
        recipe.frame,
        recipe.policy.n_obs,
        observation="cloud" if recipe.cloud else "state",
        points=max(1, recipe.policy.points),
        workers=workers,
        scene=scene,
        source=source,
    )


def clouds_of(
    recipe: Recipe,
    file: DemonstrationFile,
    demos: Sequence[Demonstration],
    progress: Callable[[int, int], object] | None = None,
) -> list[AnyArray] | None:
    """The clouds of demonstrations if the policy sees clouds; kept in ``runs/demos/clouds-…``."""
    if not recipe.cloud:
        return None
    from burnside.envs.manipulation.replay import demonstration_clouds

    task = find_task(recipe.task)
    cache = DEMOS / f"clouds-{recipe.task}-{file.noise:g}"
    return demonstration_clouds(task, demos, file.noise, recipe.policy.points, cache, progress)


def student(
    recipe: Recipe,
    env: ManipulationChunks,
    seed: int,
    *,
    demos: str | Path | None = None,
    device: str = "cpu",
    progress: Callable[[int, int], object] | None = None,
) -> Imitation:
    """Imitation before its first update.

    Args:
        recipe: what to learn.
        env: see :func:`environment`.
        seed: of everything random.
        demos: a file of demonstrations; default: found or made.
        device: where the policy learns.
        progress: of drawing clouds, called with (done, all).
    """
    file = find_demonstrations(recipe, demos, env.scene if env.source == "nvidia" else None)
    clouds = clouds_of(recipe, file, file.demos, progress)
    observations, actions = manipulation_chunks(env, file.demos, recipe.policy.horizon, clouds)
    policy = FlowPolicy(recipe.policy, seed).to(device)
    return Imitation(policy, ImitationConfig(**recipe.imitation), observations, actions, seed)


def success_on_test(policy: FlowPolicy, env: ManipulationChunks, scenes: int) -> Evaluation:
    """Play the held-out scenes with Euler's method; the same scenes and the same noise for every policy."""
    return evaluate(policy, env, scenes=evaluation_scenes(scenes))


def gate_says(success: float) -> str | None:
    """Why fine-tuning should not begin, or None.

    >>> gate_says(0.4) is None, gate_says(0.9)[:35]
    (True, 'imitation succeeds in 90 % of the h')
    """
    low, high = GATE
    if low <= success <= high:
        return None
    remedy = "give imitation more updates or demonstrations" if success < low else "there is little left to learn"
    return (
        f"imitation succeeds in {100 * success:.0f} % of the held-out scenes, and fine-tuning wants {100 * low:.0f} to "
        f"{100 * high:.0f} %: {remedy}"
    )


def training_curve(rows: Sequence[tuple[float, ...]], points: int = 20) -> dict[str, AnyArray]:
    """Success of training episodes (with the noise of the sampler) in equal pieces of the environment steps."""
    found = np.array([row[:4] for row in rows], dtype=np.float64).reshape(-1, 4)
    if not len(found):
        return {
            "env_steps": np.zeros(0, np.int64),
            "episodes": np.zeros(0, np.int64),
            "success": np.zeros(0, np.float32),
        }
    edges = np.linspace(0, found[-1, 3], points + 1)
    which = np.clip(np.searchsorted(edges, found[:, 3], side="left") - 1, 0, points - 1)
    count = np.bincount(which, minlength=points)
    won = np.bincount(which, weights=found[:, 2], minlength=points)
    used = count > 0
    return {
        "env_steps": edges[1:][used].astype(np.int64),
        "episodes": count[used].astype(np.int64),
        "success": (won[used] / count[used]).astype(np.float32),
    }
