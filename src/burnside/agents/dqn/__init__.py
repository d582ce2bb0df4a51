"""Deep Q-learning on the cyclic games with a leading member axis (App. C): many seeds and conditions at once.

``config`` has :class:`DQNConfig`, :class:`Member` and :class:`Log`. ``native`` is the CPU engine, one compiled loop per
member (``_loop``, ``_kernels``, ``_products``, ``_gather``); ``state`` and ``checkpoint`` hold and save what a member
remembers. ``torch_engine`` is the same algorithm in torch, for GPUs, the 3D encoders and equivariant networks
(``torch_update`` its pure functions, ``_lockstep`` its games).

It may import ``burnside.nn``, ``burnside.envs`` and what lies below; numba and torch are loaded when an engine first
runs.
"""

from __future__ import annotations

from burnside.agents.dqn.config import CONDITIONS, PRESETS, DQNConfig, Log, Member
from burnside.agents.dqn.native import Evaluation, Progress, advance, evaluate, train, train_states
from burnside.agents.dqn.state import MemberState, load, new_state, parameters, save

__all__ = [
    "CONDITIONS",
    "PRESETS",
    "DQNConfig",
    "Evaluation",
    "Log",
    "Member",
    "MemberState",
    "Progress",
    "advance",
    "evaluate",
    "load",
    "new_state",
    "parameters",
    "save",
    "train",
    "train_states",
]
