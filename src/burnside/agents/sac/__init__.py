"""Soft actor-critic: ``config`` says what a run is, ``learner`` learns, ``kernels`` is its update, compiled.

It may import ``burnside.agents.common`` and what lies below ``burnside.agents``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.agents.sac.config import SACConfig as SACConfig
    from burnside.agents.sac.learner import SAC as SAC
    from burnside.agents.sac.learner import GeneralSAC as GeneralSAC
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
