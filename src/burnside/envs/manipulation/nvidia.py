"""Scenes and demonstrations of NVIDIA's MimicGen, for users who have installed it themselves.

Its licence forbids to bring its code along, and the package ``mimicgen`` on PyPI is another project: the real one is
recognised by its modules. Its classes build the model; our controller, our rules of success and our observations run on
it. Its files hold relative actions, and object poses only inside the simulator's states, from which they are taken.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from burnside._archives import LARGEST_ARRAYS
from burnside._files import open_file
from burnside._types import FloatArray
from burnside.envs.manipulation.demos import Demonstration, DemonstrationFile, _Arrays, _number, read_demonstrations
from burnside.envs.manipulation.scenes import Scene, load_robosuite, scene_of
from burnside.envs.manipulation.tasks import Task, find_task
from burnside.errors import BurnsideError, InvalidParameter, UnreadableFile
from burnside.groups.rigid import quaternion_to_matrix

__all__ = ["find_nvidia", "nvidia_demonstrations", "nvidia_scene"]

_MODULES = {"stack-three": "mimicgen.envs.robosuite.stack", "nut-assembly": "mimicgen.envs.robosuite.nut_assembly"}


def find_nvidia(task: Task) -> Any:
    """NVIDIA's class of a task, or one sentence about why not."""
    if task.name not in _MODULES:
        raise InvalidParameter(f"NVIDIA's scenes are of {' and '.join(_MODULES)}, not of {task.name}")
    try:
        module = importlib.import_module(_MODULES[task.name])
        return getattr(module, task.environment)
    except (ImportError, AttributeError) as error:
        raise BurnsideError(
            f"NVIDIA's MimicGen with the class {task.environment} is not installed here ({error}): install it from its "
            f"repository (the package 'mimicgen' on PyPI is not it), or leave out --source nvidia"
        ) from None


def nvidia_scene(task: str) -> Scene:
    """The model that NVIDIA's class of a task builds."""
    wanted = find_task(task)
    find_nvidia(wanted)  # importing it also registers the class with robosuite
    env = load_robosuite().make(
        wanted.environment,
        robots="Panda",
        has_renderer=False,
        has_offscreen_renderer=False,
        use_camera_obs=False,
        control_freq=20,
        ignore_done=True,
    )
    return scene_of(wanted, env)


def nvidia_demonstrations(path: str | Path, scene: Scene, limit: int | None = None) -> DemonstrationFile:
    """A file of MimicGen with the poses of the objects, read from the simulator's states in it.

    Args:
        path: the file.
        scene: of the same task, see :func:`nvidia_scene`.
        limit: read at most this many.
    """
    import h5py

    found = read_demonstrations(path, limit)
    model = scene.model
    demos: list[Demonstration] = []
    with open_file(path) as file, h5py.File(file, "r") as source:
        names = sorted((name for name in source["data"] if name.startswith("demo")), key=_number)
        for name, demo in zip(names, found.demos, strict=False):
            arrays = _Arrays(Path(path), source["data"][name], LARGEST_ARRAYS)
            if demo.objects is not None:
                demos.append(demo)
                continue
            arrays.steps, width = len(demo), 1 + model.nq + model.nv
            if "states" not in arrays or arrays.group["states"].shape != (len(demo), width):
                raise UnreadableFile(
                    f"{path}: {name} has no simulator states of this scene (expected {len(demo)} rows of "
                    f"{width} numbers), so the poses of its objects are not known"
                )
            qpos = arrays.get("states", width)[:, 1 : 1 + model.nq]
            places, turns = zip(*(_poses(scene, qpos, place.joint) for place in scene.task.objects), strict=True)
            demos.append(replace(demo, objects=np.stack(places, axis=1), object_rotations=np.stack(turns, axis=1)))
    return replace(found, demos=tuple(demos))


def _poses(scene: Scene, qpos: FloatArray, joint: str) -> tuple[FloatArray, FloatArray]:
    at = int(scene.model.joint(joint).qposadr[0])
    quaternion = np.roll(qpos[:, at + 3 : at + 7], -1, axis=1)  # MuJoCo's has the scalar first
    return qpos[:, at : at + 3], quaternion_to_matrix(quaternion)
