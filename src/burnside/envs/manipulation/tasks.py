"""The tasks as plain numbers: where objects start, when the task is done, how long it may take.

Two are those of App. C: the facts are those of robosuite's ``NutAssembly`` and of MimicGen's ``stack_three_d0`` and
``stack_three_d1``, which are restated here and not taken from its code. ``stack-two`` is ours, a shorter task for
studies
that need many runs: robosuite's ``Stack`` with the spread of ``stack_three_d1``. Nothing here needs the simulator.
"""

from __future__ import annotations

from dataclasses import dataclass

from burnside.errors import InvalidParameter, UnknownName

__all__ = [
    "EVALUATION_SCENES",
    "EVALUATION_SEED",
    "FRAMES",
    "FRESH_SEED",
    "STAGES",
    "SUBSTEPS",
    "TASKS",
    "Placement",
    "Task",
    "find_task",
]

EVALUATION_SEED = 100_000
"""Scenes for evaluation have the seeds from here on; training and demonstrations stay below."""

FRESH_SEED = 200_000
"""Scenes for evaluation on which no setting was chosen have the seeds from here on."""

STAGES = {"stack-two": 3, "stack-three": 6, "nut-assembly": 4}
"""The stage of success, see :meth:`burnside.envs.manipulation.simulation.Simulation.stage`."""

SUBSTEPS = (25, 10)
"""Physics steps in one control step of 50 ms: of 2 ms as robosuite, or of 5 ms, which cost less than half."""

EVALUATION_SCENES = 50
"""How many held-out scenes an evaluation plays."""

FRAMES = ("world", "base", "azimuth", "relative", "upright", "gripper")
"""Frames for observations and actions, see :class:`burnside.groups.rigid.FrameForm`; App. C compares the ends."""


@dataclass(frozen=True)
class Placement:
    """Where one object may start: a rectangle on the table, any yaw.

    Attributes:
        body: name of the object's body in the model.
        joint: name of its free joint.
        x: range of the first coordinate, relative to the middle of the table.
        y: range of the second coordinate.
        radius: horizontal radius with which objects keep apart.
        below: height of the body's origin above its lowest point.
        above: height of its highest point above the body's origin.
        lift: how far above the table it is let go.
    """

    body: str
    joint: str
    x: tuple[float, float]
    y: tuple[float, float]
    radius: float
    below: float
    above: float
    lift: float


@dataclass(frozen=True)
class Task:
    """One task and one difficulty.

    Attributes:
        name: "stack-two", "stack-three" or "nut-assembly".
        level: "D0" or "D1".
        limit: control steps after which an episode is truncated.
        table: height of the table's top.
        objects: the objects in the order in which observations list them.
        colours: RGB of every object, used in point clouds.
        workspace: lowest and highest corner of the box that a point cloud keeps.
        views: cameras whose depth pictures a point cloud merges.
        environment: name in the files of demonstrations, as MimicGen writes it.
        landmarks: what stands still and has to be known all the same (the pegs): name and point. The world's
            coordinates hold them by themselves, those of a moving hand do not.
    """

    name: str
    level: str
    limit: int
    table: float
    objects: tuple[Placement, ...]
    colours: tuple[tuple[float, float, float], ...]
    workspace: tuple[tuple[float, float, float], tuple[float, float, float]]
    views: tuple[str, ...]
    environment: str
    landmarks: tuple[tuple[str, tuple[float, float, float]], ...] = ()

    @property
    def cubes(self) -> bool:
        """Whether the objects are cubes, which look the same after 24 rotations."""
        return self.name.startswith("stack")


def _stack(name: str, level: str, reach: float, limit: int) -> Task:
    def cube(letter: str, half: float) -> Placement:
        body = f"cube{letter}"
        radius = half * 2.0**0.5
        return Placement(f"{body}_main", f"{body}_joint0", (-reach, reach), (-reach, reach), radius, half, half, 0.01)

    three = name == "stack-three"
    colours = ((0.9, 0.1, 0.1), (0.1, 0.7, 0.1), (0.1, 0.2, 0.9))
    return Task(
        name=name,
        level=level,
        limit=limit,
        table=0.8,
        objects=(cube("A", 0.02), cube("B", 0.025), *([cube("C", 0.02)] if three else [])),
        colours=colours if three else colours[:2],
        workspace=((-0.4, -0.4, 0.804), (0.4, 0.4, 1.2)),
        views=("birdview", "fulltable" if three and level == "D1" else "agentview", "sideview", "robot0_eye_in_hand"),
        environment=f"{'StackThree' if three else 'Stack'}_{level}",
    )


def _nut() -> Task:
    def nut(name: str, y: tuple[float, float], above: float) -> Placement:
        return Placement(f"{name}_main", f"{name}_joint0", (-0.115, -0.11), y, 0.11, 0.05, above, 0.02)

    return Task(
        name="nut-assembly",
        level="D0",
        limit=500,
        table=0.82,
        objects=(nut("SquareNut", (0.11, 0.225), 0.01), nut("RoundNut", (-0.225, -0.11), 0.025)),
        colours=((0.8, 0.6, 0.1), (0.5, 0.5, 0.7)),
        workspace=((-0.4, -0.4, 0.824), (0.4, 0.4, 1.2)),
        views=("birdview", "agentview", "sideview", "robot0_eye_in_hand"),
        environment="NutAssembly_D0",
        landmarks=(("peg1", (0.23, 0.1, 0.85)), ("peg2", (0.23, -0.1, 0.85))),
    )


TASKS: dict[tuple[str, str], Task] = {
    (task.name, task.level): task
    for task in (
        _stack("stack-three", "D0", 0.10, 400),
        _stack("stack-three", "D1", 0.20, 400),
        _stack("stack-two", "D1", 0.20, 160),
        _nut(),
    )
}
"""Every task by (name, level)."""


def find_task(name: str, level: str | None = None) -> Task:
    """The task of this name; without a level the one of the paper.

    >>> find_task("stack-three").level, find_task("nut-assembly").limit
    ('D1', 500)
    """
    levels = {key[1]: task for key, task in TASKS.items() if key[0] == name}
    if not levels:
        raise UnknownName("task", name, {key[0] for key in TASKS})
    wanted = level or max(levels)
    if wanted not in levels:
        raise InvalidParameter(f"{name} has the levels {', '.join(sorted(levels))}, not {level!r}")
    return levels[wanted]
