"""The 1D cyclic game (section 5, App. C, Table 1 and Fig. 4a): DQN with and without canonicalization, N = 5 … 50.

The question: how many episodes until the training return reaches 95 % of the optimum, and how does that grow with N?
"""

from __future__ import annotations

from burnside.experiments.ring1d.config import PAPER, PRESETS, Plan
from burnside.experiments.ring1d.run import EXPERIMENT, Ring1D

__all__ = ["EXPERIMENT", "PAPER", "PRESETS", "Plan", "Ring1D"]
