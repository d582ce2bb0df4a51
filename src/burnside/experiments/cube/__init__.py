"""Rubik's cube (section 5, App. C, Table 2 and Fig. 4c): what each way to use symmetry saves, against exact distances.

Two questions. *Labels*: with a number of exactly labelled states, how wrong is the network on states it has not seen,
and how many labels is the symmetry worth? *Value iteration*: after a number of states of DAVI, how wrong is it, and how
often do greedy play and beam search solve the cube?
"""

from __future__ import annotations

from burnside.experiments.cube.config import PAPER, PRESETS, DaviPlan, LabelPlan, Plan, SolvePlan, cube_spec
from burnside.experiments.cube.run import EXPERIMENT, Cube

__all__ = ["EXPERIMENT", "PAPER", "PRESETS", "Cube", "DaviPlan", "LabelPlan", "Plan", "SolvePlan", "cube_spec"]
