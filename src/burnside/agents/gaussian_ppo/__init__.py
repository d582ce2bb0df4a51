"""PPO with continuous actions on batched environments: many scenes per member, members side by side.

``config`` has :class:`GaussianPPOConfig` and :class:`ControlLog`, ``env`` the protocol :class:`BatchEnv`, ``block``
members in lockstep, ``loop`` training with checkpoints, ``planar`` the planar tasks. The networks are compiled
(``_network``, ``_update``, ``_tiles``): at 64×64 an operation takes less time than its dispatch.

It may import what lies below, and from ``burnside.agents.dqn`` and ``.ppo`` what all learners share (checkpoint files,
advantages). numba is loaded when a name that needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy
from burnside.agents.gaussian_ppo.config import PRESETS, ControlLog, GaussianPPOConfig
from burnside.agents.gaussian_ppo.env import BatchEnv, BatchStep, State, select, update_rows

if TYPE_CHECKING:
    from burnside.agents.gaussian_ppo.block import Evaluation, GaussianBlock
    from burnside.agents.gaussian_ppo.loop import Progress, load, save, train, train_block

__all__ = [
    "PRESETS",
    "BatchEnv",
    "BatchStep",
    "ControlLog",
    "Evaluation",
    "GaussianBlock",
    "GaussianPPOConfig",
    "Progress",
    "State",
    "load",
    "save",
    "select",
    "train",
    "train_block",
    "update_rows",
]

_HOME = {
    "Evaluation": "block",
    "GaussianBlock": "block",
    "Progress": "loop",
    "load": "loop",
    "save": "loop",
    "train": "loop",
    "train_block": "loop",
}

__getattr__ = lazy(__name__, _HOME)
