"""PPO over the denoising chains of a flow policy (App. C): a decision is a chunk of actions.

``config`` has :class:`FlowPPOConfig` with the paper's preset, ``env`` the batched chunk interface :class:`ChunkEnv` and
evaluation, ``planar`` the planar tasks behind it, ``learner`` rollouts and updates, ``loop`` training with checkpoints.

It may import ``burnside.nn.flow``, what lies below, and from the other learners what all share (checkpoint files,
advantages, the clipped objective). Torch is loaded when a name that needs it is first asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burnside.agents.flow_ppo.config import PRESETS, FlowPPOConfig
from burnside.agents.flow_ppo.env import ChunkEnv, ChunkStep

if TYPE_CHECKING:
    from burnside.agents.flow_ppo.learner import FlowLog, FlowPPO
    from burnside.agents.flow_ppo.loop import load, save, train
    from burnside.agents.flow_ppo.planar import PlanarChunks, demonstration_chunks
    from burnside.agents.flow_ppo.play import evaluate

__all__ = [
    "PRESETS",
    "ChunkEnv",
    "ChunkStep",
    "FlowLog",
    "FlowPPO",
    "FlowPPOConfig",
    "PlanarChunks",
    "demonstration_chunks",
    "evaluate",
    "load",
    "save",
    "train",
]

_HOME = {
    "FlowLog": "learner",
    "FlowPPO": "learner",
    "PlanarChunks": "planar",
    "demonstration_chunks": "planar",
    "evaluate": "play",
    "load": "loop",
    "save": "loop",
    "train": "loop",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
