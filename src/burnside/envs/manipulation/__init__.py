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
    from burnside.envs.manipulation.chunks import ManipulationChunks as ManipulationChunks
    from burnside.envs.manipulation.chunks import evaluation_scenes as evaluation_scenes
    from burnside.envs.manipulation.demos import read_demonstrations as read_demonstrations
    from burnside.envs.manipulation.vector import ManipulationVectorEnv as ManipulationVectorEnv
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
