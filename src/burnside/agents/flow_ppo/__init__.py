"""PPO over the denoising chains of a flow policy (App. C): a decision is a chunk of actions.

``config`` has :class:`FlowPPOConfig` with the paper's preset, ``learner`` rollouts and updates (:class:`FlowPPO`), and
``play`` episodes no training run sees. Environments are those of ``burnside.envs.batched.ChunkEnv``.

It may import ``burnside.nn.flow``, ``burnside.agents.common`` and what lies below. Torch is loaded when a name that
needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.agents.flow_ppo.config import FlowPPOConfig as FlowPPOConfig
    from burnside.agents.flow_ppo.learner import FlowPPO as FlowPPO
    from burnside.agents.flow_ppo.play import evaluate as evaluate
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
