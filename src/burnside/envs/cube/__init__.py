"""The N×N×N cube of App. C ("Rubik's Cube"), any N ≥ 2, with the symmetries that hold and those that do not.

``geometry`` makes stickers, turns, rotations and mirrors as permutations; ``notation`` reads and writes turns; ``core``
has the rules as batched functions on numpy arrays or torch tensors; ``pieces`` says what is wrong with a colouring;
``symmetry`` has ``position`` (the paper's) and ``conjugation``, for ``verify`` and as canonical forms; ``tables``
counts states per depth and knows the exact values of the 2-cube; ``audit`` says what each symmetry merges, and
``model`` is the cube as a model that :func:`burnside.audit` takes; ``render`` draws nets and orbits; ``env`` is the
Gymnasium adapter ``burnside/Cube-v0``.

It may import what lies below ``burnside.envs``; numba, torch and gymnasium are loaded only where they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.envs.cube.audit import audit_cube as audit_cube
    from burnside.envs.cube.core import CubeSpec as CubeSpec
    from burnside.envs.cube.core import apply_moves as apply_moves
    from burnside.envs.cube.core import scramble as scramble
    from burnside.envs.cube.core import solved as solved
    from burnside.envs.cube.env import CubeEnv as CubeEnv
    from burnside.envs.cube.render import net as net
    from burnside.envs.cube.render import orbit_figure as orbit_figure
    from burnside.envs.cube.symmetry import CubeCanonicalizer as CubeCanonicalizer
    from burnside.envs.cube.symmetry import CubeSymmetry as CubeSymmetry
    from burnside.envs.cube.tables import two_values as two_values
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
