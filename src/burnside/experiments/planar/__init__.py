"""Planar manipulation (Thm. 3, and Fig. 5 in small): what a frame saves when scenes are spread over SE(2).

Three questions, each in the arms ``world``, ``relative`` (positions only) and ``robot``. *ppo*: how many episodes until
90 % of them succeed, as the spread (L, Θ) of the scenes grows? *imitation*: how much success does a number of
demonstrations give? *finetune*: how far does PPO over the denoising chain raise a policy that imitation left half-way?
"""

from __future__ import annotations

from burnside.experiments.planar.config import PRESETS, FinetunePlan, ImitationPlan, Plan, PPOPlan
from burnside.experiments.planar.run import EXPERIMENT, Planar

__all__ = ["EXPERIMENT", "PRESETS", "FinetunePlan", "ImitationPlan", "PPOPlan", "Plan", "Planar"]
