"""Deep Q-learning (Mnih et al. 2015): a learner for any environment, and fast ones for the cyclic games of App. C.

``learner`` has :class:`DQN`, which takes an environment and an arm; ``config`` its settings. For rings it uses
``ring`` (one compiled loop per member, kernels in ``ring_kernels``) or ``ring_torch`` (3D encoders, equivariant
networks, GPUs) behind the same interface.

It may import ``burnside.nn``, ``burnside.canonical``, ``burnside.agents.common`` and what lies below; numba and torch
are loaded when a learner first runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.agents.dqn.config import DQNConfig as DQNConfig
    from burnside.agents.dqn.learner import DQN as DQN
    from burnside.agents.dqn.learner import GeneralDQN as GeneralDQN
    from burnside.agents.dqn.ring import RingDQN as RingDQN
    from burnside.agents.dqn.ring_torch import RingDQNTorch as RingDQNTorch
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
