"""PPO on the cyclic games with a leading member axis (App. C): many seeds and conditions at once.

``config`` has :class:`PPOConfig` and :class:`Log`; ``gae`` is generalised advantage estimation, ``objective`` the pure
update function, ``network`` the actor-critic, ``block`` members in lockstep with rollouts, checkpoints and evaluation,
``frames`` the games as a condition sees them, and ``loop`` trains block after block.

It may import ``burnside.nn``, ``burnside.envs``, what lies below, and from ``burnside.agents.dqn`` what both learners
share (members, Adam, checkpoint files). Torch is loaded when a name that needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy
from burnside.agents.ppo.config import CONDITIONS, PRESETS, Log, PPOConfig
from burnside.agents.ppo.frames import Episodes, play, random_play, start
from burnside.agents.ppo.gae import advantages

if TYPE_CHECKING:
    from burnside.agents.ppo.block import PPOBlock
    from burnside.agents.ppo.loop import Progress, train, train_blocks
    from burnside.agents.ppo.network import ActorCritic
    from burnside.agents.ppo.objective import Batch, Stats, update

__all__ = [
    "CONDITIONS",
    "PRESETS",
    "ActorCritic",
    "Batch",
    "Episodes",
    "Log",
    "PPOBlock",
    "PPOConfig",
    "Progress",
    "Stats",
    "advantages",
    "play",
    "random_play",
    "start",
    "train",
    "train_blocks",
    "update",
]

_HOME = {
    "ActorCritic": "network",
    "Batch": "objective",
    "PPOBlock": "block",
    "Progress": "loop",
    "Stats": "objective",
    "train": "loop",
    "train_blocks": "loop",
    "update": "objective",
}

__getattr__ = lazy(__name__, _HOME)
