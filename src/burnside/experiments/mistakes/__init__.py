"""Measured mistakes (Def. 2): a PAC learner on M against the same learner on its quotient, across the zoo.

The question: does the number of ε-suboptimal episodes shrink by what theory predicts, and which prediction is right —
the order of the group, the paper's factor, or the exact count of orbits among the pairs that can be reached?
"""

from __future__ import annotations

from burnside.experiments.mistakes.config import PRESETS, Setting
from burnside.experiments.mistakes.run import EXPERIMENT, Mistakes

__all__ = ["EXPERIMENT", "PRESETS", "Mistakes", "Setting"]
