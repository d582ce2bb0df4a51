"""Deep Q-learning (Mnih et al. 2015): a learner for any environment, and a fast one for the cyclic games of App. C.

``learner`` has :class:`DQN`, which takes an environment and an arm; ``config`` its settings. Its Q-networks are
compiled (``networks``, with ``kernels``; ``plain`` is the same in numpy) or in torch (``torch_networks``: 3D encoders,
equivariant networks, GPUs). On rings with a flat network the whole loop is compiled (``ring``, with ``ring_kernels``).

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
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
