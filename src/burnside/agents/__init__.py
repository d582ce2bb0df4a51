"""Learners. One folder each, none imports another; what they share is in ``common``.

``dqn``, ``ppo`` and ``sac`` take any environment (an id, a Gymnasium environment, a batched one) and an *arm*, which
says what is done with its symmetry: :class:`DQN`, :class:`PPO` and :class:`SAC`. ``flow_ppo`` is PPO over the chains of
a flow policy (App. C), ``cube_values`` deep approximate value iteration on cubes. :func:`make_sb3` (folder ``sb3``)
makes models of Stable-Baselines3 with the same arms and more. Ours are seeded by counters: a seed gives the same curve
alone or among others.

>>> from burnside.agents import DQN
>>> agent = DQN("burnside/Ring1D-v0", arm="canonical").learn(1_000)
>>> agent.evaluate(20).returns.shape
(20,)

It may import ``burnside.nn``, ``burnside.canonical``, ``burnside.envs`` and what lies below; torch and numba are loaded
when a learner first runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.agents.common.members import Member as Member
    from burnside.agents.cube_values.config import DaviConfig as DaviConfig
    from burnside.agents.cube_values.loop import DaviRun as DaviRun
    from burnside.agents.cube_values.network import load_network as load_network
    from burnside.agents.cube_values.truth import value_error as value_error
    from burnside.agents.dqn.config import DQNConfig as DQNConfig
    from burnside.agents.dqn.learner import DQN as DQN
    from burnside.agents.flow_ppo.config import FlowPPOConfig as FlowPPOConfig
    from burnside.agents.flow_ppo.learner import FlowPPO as FlowPPO
    from burnside.agents.ppo.config import PPOConfig as PPOConfig
    from burnside.agents.ppo.config import RingPPOConfig as RingPPOConfig
    from burnside.agents.ppo.learner import PPO as PPO
    from burnside.agents.sac.config import SACConfig as SACConfig
    from burnside.agents.sac.learner import SAC as SAC
    from burnside.agents.sb3.make import make_sb3 as make_sb3
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
