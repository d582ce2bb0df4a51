"""Robot manipulation on MuJoCo with robosuite's models: stack-three and nut assembly (App. C).

- ``tasks`` — the two tasks as numbers; ``scenes`` — their models, the only place that imports robosuite;
- ``control``, ``simulation`` — the controller in compiled code, and one scene that is reset, stepped and restored;
- ``opengl``, ``rendering``, ``clouds`` — which library draws, pictures, and point clouds from merged views;
- ``observations`` — state vectors, frames;
- ``env``, ``vector``, ``pool``, ``workers`` — the Gymnasium environments, many scenes in processes that may crash;
- ``chunks`` — the batched environment for policies that act in chunks;
- ``experts``, ``generate``, ``demos`` — scripted experts, making demonstrations, and their files.

It may import ``burnside.groups`` and what lies below. MuJoCo, robosuite, h5py and fpsample are the extra ``robot``;
this file loads nothing until a name is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.envs.manipulation.chunks import ManipulationChunks, evaluation_scenes, manipulation_chunks
    from burnside.envs.manipulation.demos import (
        Demonstration,
        DemonstrationFile,
        read_demonstrations,
        write_demonstrations,
    )
    from burnside.envs.manipulation.env import ManipulationEnv
    from burnside.envs.manipulation.observations import ACTION_LAYOUT, CLOUD_LAYOUT, frame_form, state_layout
    from burnside.envs.manipulation.simulation import Simulation
    from burnside.envs.manipulation.tasks import EVALUATION_SCENES, EVALUATION_SEED, TASKS, Task, find_task
    from burnside.envs.manipulation.vector import ManipulationVectorEnv

__all__ = [
    "ACTION_LAYOUT",
    "CLOUD_LAYOUT",
    "EVALUATION_SCENES",
    "EVALUATION_SEED",
    "TASKS",
    "Demonstration",
    "DemonstrationFile",
    "ManipulationChunks",
    "ManipulationEnv",
    "ManipulationVectorEnv",
    "Simulation",
    "Task",
    "evaluation_scenes",
    "find_task",
    "frame_form",
    "manipulation_chunks",
    "read_demonstrations",
    "state_layout",
    "write_demonstrations",
]

_HOME = {
    "ACTION_LAYOUT": "observations",
    "CLOUD_LAYOUT": "observations",
    "EVALUATION_SCENES": "tasks",
    "EVALUATION_SEED": "tasks",
    "TASKS": "tasks",
    "Demonstration": "demos",
    "DemonstrationFile": "demos",
    "ManipulationChunks": "chunks",
    "ManipulationEnv": "env",
    "ManipulationVectorEnv": "vector",
    "Simulation": "simulation",
    "Task": "tasks",
    "evaluation_scenes": "chunks",
    "find_task": "tasks",
    "frame_form": "observations",
    "manipulation_chunks": "chunks",
    "read_demonstrations": "demos",
    "state_layout": "observations",
    "write_demonstrations": "demos",
}

__getattr__ = lazy(__name__, _HOME)
