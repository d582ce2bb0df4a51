"""Learners. One folder each, none imports another; what they share is in ``common``.

``dqn`` and ``ppo`` take any environment (an id, a Gymnasium environment, a batched one) and an *arm*, which says what
is done with its symmetry: :class:`DQN` and :class:`PPO`. ``flow_ppo`` is PPO over the chains of a flow policy (App. C),
``cube_values`` deep approximate value iteration on cubes. All are seeded by counters: a seed gives the same curve alone
or among others.

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
    from burnside.agents.dqn import DQN, DQNConfig
    from burnside.agents.ppo import PPO, PPOConfig

__all__ = ["DQN", "PPO", "DQNConfig", "PPOConfig"]

__getattr__ = lazy(__name__, {"DQN": "dqn", "DQNConfig": "dqn", "PPO": "ppo", "PPOConfig": "ppo"})
