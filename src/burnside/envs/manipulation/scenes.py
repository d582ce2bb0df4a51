"""Building the physical model of a task with robosuite, once; everything after that needs MuJoCo only.

robosuite assembles table, robot, gripper and objects into one MuJoCo model and knows where the robot starts. It is
imported here and nowhere else (its import costs seconds and most of the memory), and the finished model can be handed
to other processes, which then never load it.
"""

from __future__ import annotations

import copy
import importlib.util
import logging
import os
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.envs.manipulation.opengl import load_mujoco
from burnside.envs.manipulation.tasks import SUBSTEPS, Task
from burnside.errors import BurnsideError, InvalidParameter, MissingExtra

__all__ = ["Scene", "build_scene", "load_robosuite", "reference_environment", "scene_of", "stack_three_class"]


@dataclass(frozen=True)
class Scene:
    """A compiled model and where the robot starts in it.

    Attributes:
        task: the task the model is for.
        model: the ``mujoco.MjModel``.
        joints: the seven joint angles before noise.
        fingers: the two finger positions at the start.
        noise: standard deviation of the noise on the joint angles at the start.
        substeps: physics steps in one control step of 50 ms; the model's own step is as long as that makes it.
    """

    task: Task
    model: Any
    joints: FloatArray
    fingers: FloatArray
    noise: float
    substeps: int = SUBSTEPS[0]


def load_robosuite() -> Any:
    """robosuite, or one sentence about why not."""
    mujoco = load_mujoco()
    if importlib.util.find_spec("robosuite") is None:  # before the version, which is right for all but robosuite
        raise MissingExtra("robosuite", "robot")
    version = tuple(int(part) for part in mujoco.__version__.split(".")[:2])
    if version >= (3, 10):
        raise InvalidParameter(
            f"robosuite 1.5.2 does not run with mujoco {mujoco.__version__}: pip install 'mujoco==3.3.7' "
            f"(3.3.7 to 3.9.0 work)"
        )
    log = logging.getLogger("robosuite_logs")
    chosen = os.environ.get("MUJOCO_GL")
    log.disabled = True  # it warns on import about macros, robots and solvers nobody asked for
    try:
        import robosuite
    except ImportError:
        raise MissingExtra("robosuite", "robot") from None
    finally:
        log.disabled = False
        log.setLevel(logging.ERROR)
        os.environ.pop("MUJOCO_GL", None)  # robosuite chooses EGL for everyone, without trying it
        if chosen is not None:
            os.environ["MUJOCO_GL"] = chosen
    return robosuite


@lru_cache(maxsize=1)
def stack_three_class() -> Any:
    """robosuite's ``Stack`` with a third cube: the class from which the model of stack-three is built."""
    load_robosuite()
    from robosuite.environments.manipulation.stack import Stack
    from robosuite.models.objects import BoxObject
    from robosuite.models.tasks import ManipulationTask
    from robosuite.utils.mjcf_utils import CustomMaterial

    class StackThree(Stack):
        """Three cubes; only the model is used, the task's rules are in ``burnside.envs.manipulation.tasks``."""

        def _load_model(self) -> None:
            super()._load_model()
            arena = self.model.mujoco_arena  # type: ignore[has-type]
            blue = CustomMaterial(
                texture="WoodBlue",
                tex_name="bluewood",
                mat_name="bluewood_mat",
                tex_attrib={"type": "cube"},
                mat_attrib={"texrepeat": "1 1", "specular": "0.4", "shininess": "0.1"},
            )
            half = [0.02, 0.02, 0.02]
            self.cubeC = BoxObject(name="cubeC", size_min=half, size_max=half, rgba=[0, 0, 1, 1], material=blue)
            cubes = [self.cubeA, self.cubeB, self.cubeC]
            self.placement_initializer.reset()
            self.placement_initializer.add_objects(cubes)
            arena.set_camera("fulltable", pos=[0.75, 0.0, 1.75], quat=[0.6408564, 0.2988362, 0.2988362, 0.6408564])
            self.model = ManipulationTask(
                mujoco_arena=arena,
                mujoco_robots=[robot.robot_model for robot in self.robots],
                mujoco_objects=cubes,
            )

    return StackThree


def reference_environment(task: Task, seed: int = 0) -> Any:
    """robosuite's own environment of a task with absolute control: what our step is compared with."""
    suite = load_robosuite()
    from robosuite.controllers import load_composite_controller_config

    stack_three_class()
    config = load_composite_controller_config(controller=None, robot="Panda")
    config["body_parts"]["right"].update(input_type="absolute", input_ref_frame="world")
    try:
        return suite.make(
            {"stack-three": "StackThree", "stack-two": "Stack"}.get(task.name, "NutAssembly"),
            robots="Panda",
            controller_configs=config,
            has_renderer=False,
            has_offscreen_renderer=False,
            use_camera_obs=False,
            renderer="mujoco",
            control_freq=20,
            hard_reset=False,
            ignore_done=True,
            seed=seed,
        )
    except (AssertionError, TypeError) as error:  # how versions that do not fit fail
        raise BurnsideError(
            f"robosuite cannot build the model with the installed versions ({error}): pip install 'robosuite==1.5.2' "
            f"'mujoco==3.3.7'"
        ) from error


@lru_cache(maxsize=6)
def build_scene(task: Task, substeps: int = SUBSTEPS[0]) -> Scene:
    """The model of a task; built once per process (a second or two).

    Args:
        task: what to build.
        substeps: physics steps in one control step of 50 ms, one of :data:`SUBSTEPS`.
    """
    if substeps not in SUBSTEPS:
        raise InvalidParameter(f"substeps is {substeps}: give {' or '.join(map(str, SUBSTEPS))}")
    if substeps == SUBSTEPS[0]:
        return scene_of(task, reference_environment(task))
    scene = build_scene(task)
    model = copy.deepcopy(scene.model)
    model.opt.timestep = 0.05 / substeps
    return replace(scene, model=model, substeps=substeps)


def scene_of(task: Task, env: Any) -> Scene:
    """The model of one of robosuite's environments, and where its robot starts."""
    model = env.sim.model._model
    robot = env.robots[0]
    gripper = robot.gripper["right"] if isinstance(robot.gripper, dict) else robot.gripper  # robosuite 1.4 has one
    scene = Scene(
        task=task,
        model=model,
        joints=np.array(robot.init_qpos, float),
        fingers=np.array(gripper.init_qpos, float),
        noise=float(robot.initialization_noise["magnitude"]),
    )
    _paint(task, model)
    return scene


def _paint(task: Task, model: Any) -> None:
    """Give the collision shapes the colours of what they stand for: only they are drawn in point clouds."""
    owner = {place.body: colour for place, colour in zip(task.objects, task.colours, strict=True)}
    for geom in range(model.ngeom):
        if model.geom_group[geom] != 0:
            continue
        body = model.body(model.geom_bodyid[geom]).name
        if body in owner:
            colour = owner[body]
        elif body.startswith("robot0"):
            colour = (0.9, 0.9, 0.9)
        elif body.startswith("gripper0"):
            colour = (0.3, 0.3, 0.3)
        elif body.startswith("peg"):
            colour = (0.4, 0.25, 0.1)
        else:
            colour = (0.75, 0.72, 0.68)
        model.geom_rgba[geom, :3] = colour
        model.geom_matid[geom] = -1
