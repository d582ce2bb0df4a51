"""A rectified-flow policy over action chunks, its noisy sampler with exact log-probability, and imitation training.

``config`` has :class:`FlowConfig` and its presets, ``encoders`` what turns observations into context tokens, ``blocks``
and ``trunks`` the velocity networks (ManiFlow's DiTX, and a small ``mlp``), ``chain`` the sampler of App. C as pure
functions, ``policy`` all of it together with normalisation and files, ``imitation`` flow matching with EMA.

It may import what lies below ``burnside.nn``. Torch is loaded when a name that needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy
from burnside.nn.flow.config import FlowConfig

if TYPE_CHECKING:
    from burnside.nn.flow.chain import Schedule, chain_log_prob, schedule
    from burnside.nn.flow.encoders import resample_cloud
    from burnside.nn.flow.imitation import Imitation, ImitationConfig
    from burnside.nn.flow.policy import Chain, FlowPolicy, load_policy, save_policy

__all__ = [
    "Chain",
    "FlowConfig",
    "FlowPolicy",
    "Imitation",
    "ImitationConfig",
    "Schedule",
    "chain_log_prob",
    "load_policy",
    "resample_cloud",
    "save_policy",
    "schedule",
]

_HOME = {
    "Chain": "policy",
    "FlowPolicy": "policy",
    "Imitation": "imitation",
    "ImitationConfig": "imitation",
    "Schedule": "chain",
    "chain_log_prob": "chain",
    "load_policy": "policy",
    "resample_cloud": "encoders",
    "save_policy": "policy",
    "schedule": "chain",
}

__getattr__ = lazy(__name__, _HOME)
