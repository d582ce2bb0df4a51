"""What symmetry is worth to a solver of random cubes: training states and weights, for the same rate of solved cubes.

A policy learns from random walks (:mod:`burnside.agents.cube_walks`), and a beam of fixed width tries random cubes with
it, without an endgame table. *Rates*: which learning rate each arm likes, on seeds of their own. *Budgets*: with how
many training states does an arm solve 90 % of them? *Sizes*: with how many weights?
"""

from __future__ import annotations

from burnside.experiments.cube_solver.config import PRESETS, PUBLISHED, Plan
from burnside.experiments.cube_solver.run import EXPERIMENT, CubeSolver

__all__ = ["EXPERIMENT", "PRESETS", "PUBLISHED", "CubeSolver", "Plan"]
