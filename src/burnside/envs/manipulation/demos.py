"""Demonstrations in files: the HDF5 layout of robomimic, written, and read also from robomimic's and MimicGen's files.

``data/demo_k`` holds ``actions`` (absolute: position, axis-angle, gripper), ``rewards``, ``dones`` and ``obs/…``; the
attribute ``env_args`` of ``data`` says how the arm was controlled. In memory an action always has 10 numbers. Files of
MimicGen hold *relative* actions; they are turned into the absolute goals that robosuite's controller made of them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from burnside._archives import LARGEST_ARRAYS
from burnside._files import open_file, size_words, write_atomically
from burnside._types import AnyArray, FloatArray
from burnside.envs.manipulation.observations import state_vector
from burnside.envs.manipulation.tasks import SUBSTEPS, Task
from burnside.errors import DamagedFile, InvalidParameter, MissingExtra, UnreadableFile
from burnside.groups.rigid import matrix_to_rot6d, quaternion_to_matrix, rot6d_to_matrix, so3_exp, so3_log

__all__ = ["Demonstration", "DemonstrationFile", "read_demonstrations", "write_demonstrations"]

# Rotation of the grip site in the hand: robomimic's robot0_eef_quat is the hand's.
_SITE_IN_HAND = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True)
class Demonstration:
    """One successful episode; row t of every array belongs to control step t.

    Attributes:
        actions: (T, 10) what the expert asked for: position, rot6d, gripper.
        eef: (T, 3) position of the grip site before the action.
        eef_rotation: (T, 3, 3) its rotation.
        fingers: (T, 2) finger joints.
        objects: (T, n, 3) positions of the objects; None where a file does not say.
        object_rotations: (T, n, 3, 3) their rotations.
        executed: (T, 10) the actions with the noise they were executed with; None if there was none.
        seed: the scene; −1 where a file does not say.
    """

    actions: FloatArray
    eef: FloatArray
    eef_rotation: FloatArray
    fingers: FloatArray
    objects: FloatArray | None = None
    object_rotations: FloatArray | None = None
    executed: FloatArray | None = None
    seed: int = -1

    def __len__(self) -> int:
        return len(self.actions)

    def states(self, objects: bool = True, symmetric: bool = False, landmarks: FloatArray | None = None) -> AnyArray:
        """(T, width) the vectors the environment's observation ``state`` would have held.

        Args:
            objects: with the poses of the objects.
            symmetric: with the cubes' own symmetry taken out; for stacks only.
            landmarks: points of the task that stand still (``landmark_points``); for nut-assembly.
        """
        robot = (self.eef, self.eef_rotation, self.fingers)
        if not objects:
            return state_vector(*robot)
        if self.objects is None:
            raise InvalidParameter("these demonstrations hold no object poses in a layout we know: use objects=False")
        return state_vector(*robot, self.objects, self.object_rotations, symmetric, landmarks)


@dataclass(frozen=True)
class DemonstrationFile:
    """What a file holds.

    Attributes:
        environment: name of the environment, such as "StackThree_D1".
        demos: the demonstrations, in order.
        attempts: how many episodes were tried for them; 0 where a file does not say.
        noise: standard deviation in metres of the noise on executed positions.
        substeps: physics steps in a control step; 25 where a file does not say.
        mishaps: probability per step that something went wrong, see
            :class:`~burnside.envs.manipulation.generate.Mishaps`.
    """

    environment: str
    demos: tuple[Demonstration, ...] = field(repr=False)
    attempts: int = 0
    noise: float = 0.0
    substeps: int = SUBSTEPS[0]
    mishaps: float = 0.0

    def __len__(self) -> int:
        return len(self.demos)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError:
        raise MissingExtra("h5py", "robot") from None
    return h5py


def _to_seven(actions: FloatArray) -> AnyArray:
    """Position, axis-angle and gripper from 10 numbers."""
    axis = so3_log(rot6d_to_matrix(actions[:, 3:9]))
    return np.concatenate([actions[:, :3], axis, actions[:, 9:]], axis=1)


def _to_ten(actions: FloatArray) -> FloatArray:
    """The other way."""
    six = matrix_to_rot6d(so3_exp(actions[:, 3:6]))
    return np.concatenate([actions[:, :3], six, actions[:, 6:7]], axis=1)


def write_demonstrations(
    path: str | Path,
    task: Task,
    demos: list[Demonstration],
    attempts: int = 0,
    noise: float = 0.0,
    substeps: int = SUBSTEPS[0],
    mishaps: float = 0.0,
) -> Path:
    """Write a file, whole or not at all.

    Args:
        path: where to.
        task: what was demonstrated.
        demos: the demonstrations.
        attempts: how many episodes were tried.
        noise: standard deviation of the noise on executed positions.
        substeps: physics steps in a control step.
        mishaps: probability per step that something went wrong.
    """
    h5py = _h5py()
    control = {"type": "OSC_POSE", "input_type": "absolute", "input_ref_frame": "world", "control_delta": False}
    arguments = {
        "env_name": task.environment,
        "type": 1,
        "env_version": "burnside 1, robosuite 1.5.2",
        "env_kwargs": {"robots": ["Panda"], "control_freq": 20, "controller_configs": control},
    }

    def write(file: Any) -> None:
        with h5py.File(file, "w") as target:
            data = target.create_group("data")
            data.attrs["total"] = sum(len(demo) for demo in demos)
            data.attrs["env_args"] = json.dumps(arguments)
            data.attrs["attempts"], data.attrs["noise"] = attempts, noise
            data.attrs["substeps"], data.attrs["mishaps"] = substeps, mishaps
            for k, demo in enumerate(demos):
                _write_one(data.create_group(f"demo_{k}"), demo)

    return write_atomically(path, write)


def _write_one(group: Any, demo: Demonstration) -> None:
    group.attrs["num_samples"], group.attrs["seed"] = len(demo), demo.seed

    def put(name: str, value: Any, kind: Any = np.float32) -> None:
        array = np.asarray(value, kind)
        group.create_dataset(name, data=array, compression="gzip", shuffle=True)

    from burnside.groups.rigid import matrix_to_quaternion

    put("actions", _to_seven(demo.actions))
    if demo.executed is not None:
        put("actions_executed", _to_seven(demo.executed))
    ends = np.zeros(len(demo))
    ends[-1] = 1.0
    put("rewards", ends)
    put("dones", ends, np.uint8)
    put("obs/robot0_eef_pos", demo.eef)
    put("obs/robot0_eef_quat", matrix_to_quaternion(demo.eef_rotation @ _SITE_IN_HAND.T))
    put("obs/robot0_eef_quat_site", matrix_to_quaternion(demo.eef_rotation))
    put("obs/robot0_gripper_qpos", demo.fingers)
    if demo.objects is not None and demo.object_rotations is not None:
        quaternions = matrix_to_quaternion(demo.object_rotations)
        put("obs/object_poses", np.concatenate([demo.objects, quaternions], axis=-1))


def read_demonstrations(path: str | Path, limit: int | None = None) -> DemonstrationFile:
    """Read a file of ours, of robomimic or of MimicGen.

    The file is not trusted: only the arrays named above are read, once their shapes have been looked at, and links to
    other files are not followed.

    Args:
        path: the file.
        limit: read at most this many.
    """
    h5py = _h5py()
    where = Path(path)
    with open_file(where) as file:
        try:
            with h5py.File(file, "r") as source:
                return _read_all(where, source, limit)
        except UnreadableFile:
            raise
        except MemoryError:
            raise
        except Exception as error:  # h5py raises nearly everything for one kind of damage or another
            raise DamagedFile(
                f"{where} is damaged or no file of demonstrations ({type(error).__name__}): make or download it again"
            ) from None


def _read_all(path: Path, source: Any, limit: int | None) -> DemonstrationFile:
    data = _member(path, source, "data")
    if data is None:
        raise UnreadableFile(f"{path} has no group 'data': it is not a file of demonstrations")
    arguments = json.loads(data.attrs.get("env_args", "{}"))
    names = sorted((name for name in data if name.startswith("demo")), key=_number)
    if not names:
        raise UnreadableFile(f"{path} holds no demonstrations")
    chosen = [_member(path, data, name) for name in names[:limit]]
    room = LARGEST_ARRAYS
    demos = []
    for group in chosen:
        arrays = _Arrays(path, group, room)
        demos.append(_read_one(arrays, _is_absolute(arguments)))
        room = arrays.room
    attempts, noise = int(data.attrs.get("attempts", 0)), float(data.attrs.get("noise", 0.0))
    physics, mishaps = int(data.attrs.get("substeps", SUBSTEPS[0])), float(data.attrs.get("mishaps", 0.0))
    return DemonstrationFile(str(arguments.get("env_name", "")), tuple(demos), attempts, noise, physics, mishaps)


def _number(name: str) -> int:
    digits = "".join(c for c in name if c.isdecimal())[:18]
    return int(digits) if digits else 0


def _is_absolute(arguments: dict[str, Any]) -> bool:
    """Whether the actions are goals themselves; robosuite 1.4 and 1.5 say it in different words."""
    control = arguments.get("env_kwargs", {}).get("controller_configs", {})
    while isinstance(control, dict) and "body_parts" in control:
        parts = control["body_parts"]
        control = parts.get("right", parts.get("arms", {}).get("right", {}))
    if isinstance(control, list):
        control = control[0] if control else {}
    return control.get("input_type") == "absolute" or control.get("control_delta") is False


def _member(path: Path, group: Any, name: str) -> Any:
    """What a path inside the file leads to, None if nothing; a link to another file is refused."""
    h5py = _h5py()
    for part in name.split("/"):
        link = group.get(part, getlink=True) if isinstance(group, h5py.Group) else None
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            raise UnreadableFile(f"{path}: {group.name}/{part} is a link to somewhere else, which is not followed")
        group = group[part]
    return group


class _Arrays:
    """The arrays of one demonstration, looked at before they are read; ``room`` is how many bytes more are read."""

    def __init__(self, path: Path, group: Any, room: int) -> None:
        self.path, self.group, self.room = path, group, room
        self.steps: int | None = None

    def __contains__(self, name: str) -> bool:
        return _member(self.path, self.group, name) is not None

    def get(self, name: str, *widths: int, axes: int = 2) -> FloatArray:
        """An array with this many axes, of which the first are the steps and the last has one of these widths."""
        found = _member(self.path, self.group, name)
        where = f"{self.path}: {self.group.name}/{name}"
        if found is None:
            raise UnreadableFile(f"{where} is missing: the file is not complete, make or download it again")
        shape: tuple[int, ...] = getattr(found, "shape", None) or ()
        if len(shape) != axes or shape[-1] not in widths or shape[0] < 1 or found.dtype.kind not in "iuf":
            expected = " or ".join(map(str, widths))
            raise UnreadableFile(f"{where} has shape {shape}: expected (steps, {'objects, ' * (axes - 2)}{expected})")
        if self.steps not in (None, shape[0]):
            raise UnreadableFile(f"{self.path}: the arrays of {self.group.name} have different numbers of steps")
        if found.is_virtual or found.external:
            raise UnreadableFile(f"{where} is kept in another file, which is not read")
        self.room -= 8 * found.size
        if self.room < 0:
            raise UnreadableFile(f"{self.path}: its demonstrations have more than {size_words(LARGEST_ARRAYS)}")
        self.steps = shape[0]
        array = np.asarray(found[()], float)
        if not np.isfinite(array).all():
            raise UnreadableFile(f"{where} holds numbers that are not finite: make or download it again")
        return array

    def rotations(self, name: str, axes: int = 2) -> FloatArray:
        """The last four numbers of an array, quaternions, as matrices."""
        return self.turned(name, self.get(name, 4, axes=axes))

    def turned(self, name: str, quaternions: FloatArray) -> FloatArray:
        """Quaternions as matrices."""
        if not (np.linalg.norm(quaternions, axis=-1) > 1e-6).all():
            raise UnreadableFile(f"{self.path}: {self.group.name}/{name} holds no rotations: make or download it again")
        return quaternion_to_matrix(quaternions)


def _read_one(arrays: _Arrays, absolute: bool) -> Demonstration:
    actions, eef = arrays.get("actions", 7, 10), arrays.get("obs/robot0_eef_pos", 3)
    if "obs/robot0_eef_quat_site" in arrays:
        rotation = arrays.rotations("obs/robot0_eef_quat_site")
    else:
        rotation = arrays.rotations("obs/robot0_eef_quat") @ _SITE_IN_HAND
    fingers = arrays.get("obs/robot0_gripper_qpos", 2)
    if actions.shape[1] == 7:
        actions = _to_ten(actions) if absolute else _goals(actions, eef, rotation)
    poses = arrays.get("obs/object_poses", 7, axes=3) if "obs/object_poses" in arrays else None
    executed = arrays.get("actions_executed", 7) if "actions_executed" in arrays else None
    return Demonstration(
        actions=actions,
        eef=eef,
        eef_rotation=rotation,
        fingers=fingers,
        objects=None if poses is None else poses[..., :3],
        object_rotations=None if poses is None else arrays.turned("obs/object_poses", poses[..., 3:]),
        executed=None if executed is None else _to_ten(executed),
        seed=int(arrays.group.attrs.get("seed", -1)),
    )


def _goals(actions: FloatArray, eef: FloatArray, rotation: FloatArray) -> FloatArray:
    """The absolute goals robosuite makes of relative actions: 5 cm and 0.5 rad at 1, from the pose the hand has."""
    clipped = np.clip(actions, -1.0, 1.0)
    turned = so3_exp(0.5 * clipped[:, 3:6]) @ rotation
    return np.concatenate([eef + 0.05 * clipped[:, :3], matrix_to_rot6d(turned), actions[:, 6:7]], axis=1)
