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
from burnside.agents.cube_values.config import ARMS, DaviConfig, arm_symmetry
from burnside.agents.cube_values.truth import (
    DepthErrors,
    SolveRates,
    exact_labels,
    greedy_paths,
    greedy_solve_rate,
    sample_depth,
    value_error,
)

if TYPE_CHECKING:
    from burnside.agents.cube_values.labels import BellmanLabels, ExactLabels, bellman_targets, walks
    from burnside.agents.cube_values.learner import ValueLearner, update
    from burnside.agents.cube_values.loop import DaviLog, DaviRun, fit_values
    from burnside.agents.cube_values.network import CubeValue, load_network, make_network

__all__ = [
    "ARMS",
    "BellmanLabels",
    "CubeValue",
    "DaviConfig",
    "DaviLog",
    "DaviRun",
    "DepthErrors",
    "ExactLabels",
    "SolveRates",
    "ValueLearner",
    "arm_symmetry",
    "bellman_targets",
    "exact_labels",
    "fit_values",
    "greedy_paths",
    "greedy_solve_rate",
    "load_network",
    "make_network",
    "sample_depth",
    "update",
    "value_error",
    "walks",
]

_HOME = {
    "BellmanLabels": "labels",
    "CubeValue": "network",
    "DaviLog": "loop",
    "DaviRun": "loop",
    "ExactLabels": "labels",
    "ValueLearner": "learner",
    "bellman_targets": "labels",
    "fit_values": "loop",
    "load_network": "network",
    "make_network": "network",
    "update": "learner",
    "walks": "labels",
}

__getattr__ = lazy(__name__, _HOME)
