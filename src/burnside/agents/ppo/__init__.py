"""Proximal policy optimisation (Schulman et al. 2017): a learner for any environment.

``learner`` has :class:`PPO`, which takes an environment and an arm; ``config`` its settings. Its networks are compiled
(``networks``, with ``kernels``), since at 64×64 an operation takes less time than its dispatch; ``plain`` is the same
in numpy. ``torch_networks`` has App. C's for rings, with 3D encoders.

It may import ``burnside.nn``, ``burnside.canonical``, ``burnside.agents.common`` and what lies below; numba and torch
are loaded when a learner first runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.agents.ppo.config import PPOConfig as PPOConfig
    from burnside.agents.ppo.config import RingPPOConfig as RingPPOConfig
    from burnside.agents.ppo.learner import PPO as PPO
    from burnside.agents.ppo.learner import GeneralPPO as GeneralPPO
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
