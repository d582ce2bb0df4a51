"""The experiments that ``burnside sweep`` and ``burnside table`` know, by name."""

from __future__ import annotations

from burnside.experiments.ring1d import Ring1D
from burnside.runs import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {"ring1d": Ring1D()}
