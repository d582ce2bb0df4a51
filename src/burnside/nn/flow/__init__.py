"""A rectified-flow policy over action chunks, its noisy sampler with exact log-probability, and imitation training.

``config`` has :class:`FlowConfig` and its presets, ``encoders`` what turns observations into context tokens, ``blocks``
and ``trunks`` the velocity networks (ManiFlow's DiTX, and a small ``mlp``), ``chain`` the sampler of App. C as pure
functions, ``policy`` all of it together with normalisation and files, ``imitation`` flow matching with EMA.

It may import what lies below ``burnside.nn``. Torch is loaded when a name that needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.nn.flow.config import FlowConfig as FlowConfig
    from burnside.nn.flow.imitation import Imitation as Imitation
    from burnside.nn.flow.imitation import ImitationConfig as ImitationConfig
    from burnside.nn.flow.policy import FlowPolicy as FlowPolicy
    from burnside.nn.flow.policy import load_policy as load_policy
    from burnside.nn.flow.policy import save_policy as save_policy
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
