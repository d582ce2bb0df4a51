"""Search for a way to a goal with any heuristic over any puzzle: batch-weighted A*, beam search, greedy descent.

``puzzle`` says what a puzzle is (:class:`Puzzle`) and makes one of a cube; ``astar`` is the search of DeepCubeA;
``beam`` and ``greedy`` are cheaper and take many states at once; ``policy_beam`` follows a policy instead of a
heuristic, ``endgame`` is a table of the last turns, and ``solver`` solves cubes with both (:func:`solve_cube`);
``result`` has what they return; ``plain`` shows in numpy what the compiled ``kernels`` and ``policy_kernels`` do. A
heuristic is a function from states (uint8, one row each) to estimated distances: a network, a table or a constant. If
it comes with a canonical form, states with the same form are treated as one; the moves that are returned always belong
to the state that was given. Budgets are counts of nodes and moves, never seconds.

It may import ``burnside.agents``, ``burnside.envs`` and what lies below; numba is loaded when a search first runs.
"""

from __future__ import annotations

from burnside._lazy import exported
from burnside.search.astar import AStarConfig as AStarConfig
from burnside.search.astar import astar as astar
from burnside.search.beam import BeamConfig as BeamConfig
from burnside.search.beam import beam as beam
from burnside.search.greedy import greedy as greedy
from burnside.search.puzzle import CubePuzzle as CubePuzzle
from burnside.search.puzzle import Puzzle as Puzzle
from burnside.search.solver import SolverConfig as SolverConfig
from burnside.search.solver import solve_cube as solve_cube

__all__ = exported(__name__)
