"""The N×N×N cube of App. C ("Rubik's Cube"), any N ≥ 2, with the symmetries that hold and those that do not.

``geometry`` makes stickers, turns, rotations and mirrors as permutations; ``notation`` reads and writes turns; ``core``
has the rules as batched functions on numpy arrays or torch tensors; ``pieces`` says what is wrong with a colouring;
``symmetry`` has ``position`` (the paper's) and ``conjugation``, for ``verify`` and as canonical forms; ``tables``
counts states per depth and knows the exact values of the 2-cube; ``audit`` says what each symmetry merges; ``render``
draws nets and orbits; ``env`` is the Gymnasium adapter ``burnside/Cube-v0``, which importing this package registers.

It may import what lies below ``burnside.envs``; numba, torch and gymnasium are loaded only where they are used.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from burnside.envs.cube.core import (
    CubeSpec,
    apply_moves,
    children,
    draw_ansi,
    is_solved,
    move,
    one_hot,
    scramble,
    solved,
)
from burnside.envs.cube.geometry import FACES
from burnside.envs.cube.notation import format_moves, parse_moves
from burnside.envs.cube.pieces import check_states, parse_stickers
from burnside.envs.cube.symmetry import SYMMETRIES, CubeCanonicalizer, CubeSymmetry, cube_mdp, inverse_states
from burnside.envs.cube.tables import Layers, ball, layers, two_index, two_states, two_table, two_values

if TYPE_CHECKING:
    from burnside.envs.cube.env import CubeEnv

__all__ = [
    "FACES",
    "SYMMETRIES",
    "CubeCanonicalizer",
    "CubeEnv",
    "CubeSpec",
    "CubeSymmetry",
    "Layers",
    "apply_moves",
    "ball",
    "check_states",
    "children",
    "cube_mdp",
    "draw_ansi",
    "format_moves",
    "inverse_states",
    "is_solved",
    "layers",
    "move",
    "one_hot",
    "parse_moves",
    "parse_stickers",
    "register",
    "scramble",
    "solved",
    "two_index",
    "two_states",
    "two_table",
    "two_values",
]


def register() -> None:
    """Make ``burnside/Cube-v0`` known to ``gymnasium.make``; a second call changes nothing."""
    import gymnasium

    if "burnside/Cube-v0" not in gymnasium.registry:
        gymnasium.register("burnside/Cube-v0", entry_point="burnside.envs.cube.env:CubeEnv")


def __getattr__(name: str) -> Any:
    if name == "CubeEnv":
        from burnside.envs.cube import env

        return env.CubeEnv
    raise AttributeError(f"module 'burnside.envs.cube' has no attribute {name!r}")


if importlib.util.find_spec("gymnasium") is not None:
    register()
