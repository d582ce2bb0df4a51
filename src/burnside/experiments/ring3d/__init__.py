"""The 3D cyclic game (section 5, App. C, Fig. 4b): DQN and PPO with and without canonicalization at N = 5.

The question: what return does a trained policy end at? The paper gives one number per arm, −67.38 and 16.96, and
does not name the algorithm, so both are run, with the paper's pooling encoder and with one that keeps places.
"""

from __future__ import annotations

from burnside.experiments.ring3d.config import PAPER, PRESETS, Plan, Setting
from burnside.experiments.ring3d.run import EXPERIMENT, Ring3D

__all__ = ["EXPERIMENT", "PAPER", "PRESETS", "Plan", "Ring3D", "Setting"]
