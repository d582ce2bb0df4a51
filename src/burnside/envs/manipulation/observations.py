"""What a policy sees, as flat vectors with a layout: so that rigid motions act on them and frames come for free.

The state is the pose of the grip site (a point and a rot6d), the two fingers, and in the low-dimensional mode the pose
of every object and the points of the task's landmarks (the pegs). App. C lists the orientation as a quaternion; a rot6d
holds the same and motions act on it linearly. These are the ``poses``.

``relations`` add what a policy would have to compute from them, and in a moving frame can compute only badly: the pose
of the base, heights above the table, and the vectors between hand, objects and landmarks. They are the same in every
frame (heights) or turn with it (vectors), so every frame is given the same and none is favoured.
"""

from __future__ import annotations

import itertools
from functools import lru_cache

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.envs.manipulation.simulation import Simulation
from burnside.envs.manipulation.tasks import Task
from burnside.errors import UnknownName
from burnside.groups.rigid import FrameForm, Layout, matrix_to_rot6d

__all__ = [
    "ACTION_LAYOUT",
    "CLOUD_LAYOUT",
    "FEATURES",
    "frame_form",
    "landmark_points",
    "metric_scales",
    "observe",
    "relate",
    "state_layout",
    "state_vector",
]

ACTION_LAYOUT = Layout((("position", "point"), ("rotation", "rot6d"), ("gripper", "scalar")), d=3)
"""An action: where the grip site should go, its rotation, and the gripper (positive closes)."""

CLOUD_LAYOUT = Layout((("where", "point"), ("red", "scalar"), ("green", "scalar"), ("blue", "scalar")), d=3)
"""One point of a cloud."""

FEATURES = ("poses", "relations")
"""What the state holds."""

_BASE = np.array([[1.0, 0, 0, -0.56], [0, 1, 0, 0], [0, 0, 1, 0.912], [0, 0, 0, 1]])


def state_layout(task: Task, objects: bool = True, features: str = "poses") -> Layout:
    """What the numbers of the state are.

    Args:
        task: the task.
        objects: with the poses of the objects and the landmarks.
        features: one of :data:`FEATURES`.

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
    if features not in FEATURES:
        raise UnknownName("features", features, FEATURES)
    if features == "relations":
        moving, pairs = _related(task, objects)
        parts += [("base", "point"), ("base_rotation", "rot6d")]
        parts += [(f"height_{name}", "scalar") for name in moving]
        parts += [(f"{one}_to_{other}", "vector") for one, other in pairs]
    return Layout(tuple(parts), d=3)


def _related(task: Task, objects: bool) -> tuple[list[str], list[tuple[str, str]]]:
    """The points whose heights are told, and the pairs whose vectors are."""
    moving = ["eef", *(place.body.removesuffix("_main") for place in task.objects if objects)]
    still = [name for name, _ in task.landmarks if objects]
    pairs = [*itertools.combinations(moving, 2), *itertools.product(moving, still)]
    return moving, pairs


def relate(task: Task, states: AnyArray, objects: bool = True) -> FloatArray:
    """The ``relations`` of ``poses`` (…, width) of a cell that was not moved, in 64 bits."""
    poses, seen = state_layout(task, objects), np.asarray(states, dtype=np.float64)
    moving, pairs = _related(task, objects)
    lead = seen.shape[:-1]
    base = np.concatenate([_BASE[:3, 3], matrix_to_rot6d(_BASE[:3, :3])])
    heights = np.stack([seen[..., poses.slice(name)][..., 2] for name in moving], axis=-1) - task.table
    vectors = [seen[..., poses.slice(other)] - seen[..., poses.slice(one)] for one, other in pairs]
    return np.concatenate([seen, np.broadcast_to(base, (*lead, 9)), heights, *vectors], axis=-1)


# Units of the numbers of states and actions: the same for every frame, so that no frame is told to be more exact.
_UNITS = {"point": 0.1, "vector": 0.1, "rot6d": 0.5}


def metric_scales(layout: Layout) -> FloatArray:
    """What a number of a layout is divided by: 0.1 m for places and heights, 0.5 for rotations, 2 cm for fingers.

    With ranges of the data instead, a millimetre would weigh several times as much in one frame as in another, and
    noise of the same size would be exploration of another one.

    >>> metric_scales(ACTION_LAYOUT).tolist()
    [0.1, 0.1, 0.1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0]
    """
    out = np.ones(layout.width)
    for name, kind in layout.parts:
        scalar = 0.02 if name.startswith("finger") else 0.1 if name.startswith("height_") else 1.0
        out[layout.slice(name)] = _UNITS.get(kind, scalar)
    return out


def landmark_points(task: Task) -> FloatArray:
    """Where the landmarks of a task are, (n, 3)."""
    return np.array([point for _, point in task.landmarks], float).reshape(-1, 3)


def frame_form(task: Task, frame: str, cloud: bool = False, features: str = "poses") -> FrameForm:
    """The canonical form of App. C's robot tasks: observations and chunks in the frame of the gripper, say.

    Args:
        task: the task.
        frame: one of :data:`burnside.envs.manipulation.tasks.FRAMES`.
        cloud: whether observations are dictionaries with a cloud, as the environment gives them; otherwise the state
            vector alone.
        features: one of :data:`FEATURES`; with ``relations`` the base is where the observation says it is.
    """
    state = state_layout(task, not cloud, features)
    base = ("base", "base_rotation") if features == "relations" else _BASE
    observation = {"state": state, "cloud": CLOUD_LAYOUT} if cloud else state
    return FrameForm(observation, ACTION_LAYOUT, frame, position="eef", orientation="eef_rotation", base=base)


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
    cubes = symmetric and sim.task.cubes
    return state_vector(*robot, sim.object_positions(), sim.object_rotations(), cubes, landmark_points(sim.task))
