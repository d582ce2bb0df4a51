"""The experiments that ``burnside sweep`` and ``burnside table`` know, by name."""

from __future__ import annotations

from burnside.experiments.atlas import Atlas
from burnside.experiments.cube import Cube
from burnside.experiments.cube_solver import CubeSolver
from burnside.experiments.mistakes import Mistakes
from burnside.experiments.planar import Planar
from burnside.experiments.ring1d import Ring1D
from burnside.experiments.ring3d import Ring3D
from burnside.experiments.robot import Robot
from burnside.runs.job import Experiment

__all__ = ["EXPERIMENTS"]

EXPERIMENTS: dict[str, Experiment] = {
    "mistakes": Mistakes(),
    "ring1d": Ring1D(),
    "ring3d": Ring3D(),
    "cube": Cube(),
    "cube_solver": CubeSolver(),
    "planar": Planar(),
    "robot": Robot(),
    "atlas": Atlas(),
}
