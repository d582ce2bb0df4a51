"""Deep approximate value iteration on the cube (App. C, after DeepCubeA), with arms for what is done with symmetry.

``config`` has :class:`DaviConfig` and the arms; ``labels`` makes states and targets (Bellman or
exact), ``learner`` is the pure update, ``loop`` trains (:class:`DaviRun`, :func:`fit_values`),
``network`` is a trained network as search uses it (:class:`CubeValue`, :func:`load_network`), and ``truth`` compares
with exact distances.

It may import ``burnside.nn``, ``burnside.envs``, ``burnside.agents.common`` and what lies below. Torch is loaded when a
name that needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.agents.cube_values.config import ARMS as ARMS
    from burnside.agents.cube_values.config import DaviConfig as DaviConfig
    from burnside.agents.cube_values.config import arm_symmetry as arm_symmetry
    from burnside.agents.cube_values.labels import BellmanLabels as BellmanLabels
    from burnside.agents.cube_values.labels import ExactLabels as ExactLabels
    from burnside.agents.cube_values.labels import bellman_targets as bellman_targets
    from burnside.agents.cube_values.labels import walks as walks
    from burnside.agents.cube_values.learner import ValueLearner as ValueLearner
    from burnside.agents.cube_values.learner import update as update
    from burnside.agents.cube_values.loop import DaviLog as DaviLog
    from burnside.agents.cube_values.loop import DaviRun as DaviRun
    from burnside.agents.cube_values.loop import fit_values as fit_values
    from burnside.agents.cube_values.network import CubeValue as CubeValue
    from burnside.agents.cube_values.network import load_network as load_network
    from burnside.agents.cube_values.network import make_network as make_network
    from burnside.agents.cube_values.truth import DepthErrors as DepthErrors
    from burnside.agents.cube_values.truth import SolveRates as SolveRates
    from burnside.agents.cube_values.truth import exact_labels as exact_labels
    from burnside.agents.cube_values.truth import greedy_paths as greedy_paths
    from burnside.agents.cube_values.truth import greedy_solve_rate as greedy_solve_rate
    from burnside.agents.cube_values.truth import sample_depth as sample_depth
    from burnside.agents.cube_values.truth import value_error as value_error
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
