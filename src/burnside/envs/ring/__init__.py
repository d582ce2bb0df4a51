"""The cyclic game of App. C on ``(Z/n)^d``: items safe, mine and end on the cells, moves ``{−2, −1, 1, 2}^d``.

``core`` has the rules as pure batched functions, ``kernels`` the same for compiled code, ``optimal`` the exact optimal
return of a board and its expectation, ``symmetry`` the translations and the paper's roll-to-goal, ``games`` boards as
an arm sees them, ``scenes`` the batched environment, ``render`` the pictures, ``env`` the Gymnasium adapters. It may
import what lies below ``burnside.envs``; numba and gymnasium are loaded only by ``kernels`` and ``env``.
"""

from __future__ import annotations

from burnside.envs.ring.core import RingSpec, RingState, initial, observe, transition
from burnside.envs.ring.games import RingEvaluation, play, random_play, start
from burnside.envs.ring.optimal import ExpectedReturn, expected_optimal_return, optimal_return, optimal_values
from burnside.envs.ring.scenes import RingScenes
from burnside.envs.ring.symmetry import RollToGoal, translate

__all__ = [
    "ExpectedReturn",
    "RingEvaluation",
    "RingScenes",
    "RingSpec",
    "RingState",
    "RollToGoal",
    "expected_optimal_return",
    "initial",
    "observe",
    "optimal_return",
    "optimal_values",
    "play",
    "random_play",
    "start",
    "transition",
    "translate",
]
