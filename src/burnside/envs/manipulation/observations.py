"""What a policy sees, as flat vectors with a layout: so that rigid motions act on them and frames come for free.

The state is the pose of the grip site (a point and a rot6d), the two fingers, and in the low-dimensional mode the pose
of every object and the points of the task's landmarks (the pegs). App. C lists the orientation as a quaternion; a rot6d
holds the same and motions act on it linearly.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.envs.manipulation.simulation import Simulation
from burnside.envs.manipulation.tasks import Task
from burnside.groups.rigid import FrameForm, Layout, matrix_to_rot6d

__all__ = [
    "ACTION_LAYOUT",
    "CLOUD_LAYOUT",
    "frame_form",
    "landmark_points",
    "observe",
    "state_layout",
    "state_vector",
]

ACTION_LAYOUT = Layout((("position", "point"), ("rotation", "rot6d"), ("gripper", "scalar")), d=3)
"""An action: where the grip site should go, its rotation, and the gripper (positive closes)."""

CLOUD_LAYOUT = Layout((("where", "point"), ("red", "scalar"), ("green", "scalar"), ("blue", "scalar")), d=3)
"""One point of a cloud."""

_BASE = np.array([[1.0, 0, 0, -0.56], [0, 1, 0, 0], [0, 0, 1, 0.912], [0, 0, 0, 1]])


def state_layout(task: Task, objects: bool = True) -> Layout:
    """What the numbers of the state are.

    >>> from burnside.envs.manipulation.tasks import find_task
    >>> state_layout(find_task("stack-three")).width, state_layout(find_task("nut-assembly"), objects=False).width
    (38, 11)
    >>> state_layout(find_task("nut-assembly")).names[-2:]
    ('peg1', 'peg2')
    """
    parts = [("eef", "point"), ("eef_rotation", "rot6d"), ("finger1", "scalar"), ("finger2", "scalar")]
    for place in task.objects if objects else ():
        name = place.body.removesuffix("_main")
        parts += [(name, "point"), (f"{name}_rotation", "rot6d")]
    parts += [(name, "point") for name, _ in task.landmarks if objects]
    return Layout(tuple(parts), d=3)


def landmark_points(task: Task) -> FloatArray:
    """Where the landmarks of a task are, (n, 3)."""
    return np.array([point for _, point in task.landmarks], float).reshape(-1, 3)


def frame_form(task: Task, frame: str, cloud: bool = False) -> FrameForm:
    """The canonical form of App. C's robot tasks: observations and chunks in the frame of the gripper, say.

    Args:
        task: the task.
        frame: one of :data:`burnside.envs.manipulation.tasks.FRAMES`.
        cloud: whether observations are dictionaries with a cloud, as the environment gives them; otherwise the state
            vector alone.
    """
    state = state_layout(task, objects=not cloud)
    observation = {"state": state, "cloud": CLOUD_LAYOUT} if cloud else state
    return FrameForm(observation, ACTION_LAYOUT, frame, position="eef", orientation="eef_rotation", base=_BASE)


@lru_cache(maxsize=1)
def _cube_turns() -> FloatArray:
    """The 24 rotations of a cube, as matrices."""
    found = []
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((-1.0, 1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[range(3), order] = signs
            if np.linalg.det(matrix) > 0:
                found.append(matrix)
    return np.array(found)


def _reduce(rotations: FloatArray, hand: FloatArray) -> FloatArray:
    """Of the 24 rotations that look the same for a cube, the one closest to the hand's.

    Closeness is measured by ``trace(handᵀ R s)``, which no rigid motion of the scene changes, so this choice commutes
    with every frame.
    """
    turned = rotations[..., None, :, :] @ _cube_turns()
    score = np.einsum("...ji,...kji->...k", hand[..., None, :, :].repeat(rotations.shape[-3], -3), turned)
    best = score.argmax(-1)
    return np.take_along_axis(turned, best[..., None, None, None], -3)[..., 0, :, :]


def state_vector(
    eef: FloatArray,
    eef_rotation: FloatArray,
    fingers: FloatArray,
    objects: FloatArray | None = None,
    object_rotations: FloatArray | None = None,
    cubes: bool = False,
    landmarks: FloatArray | None = None,
) -> AnyArray:
    """States (…, width) in 32 bits from poses with any leading axes.

    Args:
        eef: positions of the grip site (…, 3).
        eef_rotation: its rotation matrices (…, 3, 3).
        fingers: the two finger joints (…, 2).
        objects: positions of the objects (…, n, 3), or None for a state without them.
        object_rotations: their rotation matrices (…, n, 3, 3).
        cubes: whether the objects are cubes whose own symmetry is to be taken out.
        landmarks: points (n, 3) that stand still; they follow the objects.
    """
    parts = [eef, matrix_to_rot6d(eef_rotation), fingers]
    if objects is not None and object_rotations is not None:
        rotations = _reduce(object_rotations, eef_rotation) if cubes else object_rotations
        poses = np.concatenate([objects, matrix_to_rot6d(rotations)], axis=-1)
        parts.append(poses.reshape(*poses.shape[:-2], -1))
        if landmarks is not None and len(landmarks):
            parts.append(np.broadcast_to(np.ravel(landmarks), (*np.shape(eef)[:-1], np.size(landmarks))))
    return np.concatenate(parts, axis=-1).astype(np.float32)


def observe(sim: Simulation, objects: bool = True, symmetric: bool = False) -> AnyArray:
    """The state of a scene as a vector; ``symmetric`` takes the cubes' own symmetry out of their rotations."""
    robot = (sim.eef_position(), sim.eef_rotation(), sim.finger_positions())
    if not objects:
        return state_vector(*robot)
    cubes = symmetric and sim.task.name == "stack-three"
    return state_vector(*robot, sim.object_positions(), sim.object_rotations(), cubes, landmark_points(sim.task))
