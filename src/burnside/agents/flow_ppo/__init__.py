"""PPO over the denoising chains of a flow policy (App. C): a decision is a chunk of actions.

``config`` has :class:`FlowPPOConfig` with the paper's preset, ``env`` the batched chunk interface :class:`ChunkEnv` and
evaluation, ``planar`` and ``manipulation`` the tasks behind it, ``learner`` rollouts and updates, ``loop`` training
with checkpoints.

It may import ``burnside.nn.flow``, what lies below, and from the other learners what all share (checkpoint files,
advantages, the clipped objective). Torch is loaded when a name that needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy
from burnside.agents.flow_ppo.config import PRESETS, FlowPPOConfig
from burnside.agents.flow_ppo.env import ChunkEnv, ChunkStep

if TYPE_CHECKING:
    from burnside.agents.flow_ppo.learner import FlowLog, FlowPPO
    from burnside.agents.flow_ppo.loop import load, save, train
    from burnside.agents.flow_ppo.manipulation import ManipulationChunks, evaluation_scenes, manipulation_chunks
    from burnside.agents.flow_ppo.planar import PlanarChunks, demonstration_chunks
    from burnside.agents.flow_ppo.play import evaluate

__all__ = [
    "PRESETS",
    "ChunkEnv",
    "ChunkStep",
    "FlowLog",
    "FlowPPO",
    "FlowPPOConfig",
    "ManipulationChunks",
    "PlanarChunks",
    "demonstration_chunks",
    "evaluate",
    "evaluation_scenes",
    "load",
    "manipulation_chunks",
    "save",
    "train",
]

_HOME = {
    "FlowLog": "learner",
    "FlowPPO": "learner",
    "ManipulationChunks": "manipulation",
    "PlanarChunks": "planar",
    "demonstration_chunks": "planar",
    "evaluate": "play",
    "evaluation_scenes": "manipulation",
    "manipulation_chunks": "manipulation",
    "load": "loop",
    "save": "loop",
    "train": "loop",
}

__getattr__ = lazy(__name__, _HOME)
