"""Environments: each a functional core on arrays (what learners batch) with thin Gymnasium adapters around it.

What lives here: :mod:`burnside.envs.ring`, the cyclic game of App. C in any dimension, :mod:`burnside.envs.cube`, and
:mod:`burnside.envs.planar`, manipulation in the plane. Importing this package registers ``burnside/Ring1D-v0`` and the
others; ``gymnasium.make("burnside.envs:burnside/Ring1D-v0")`` does both.

It may import ``burnside.mdp`` and what lies below. Gymnasium is the extra ``envs``: without it the functional cores
still work, and asking for an adapter raises :class:`~burnside.errors.MissingExtra`.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

from burnside.envs.planar import PlanarSpec, PlanarState
from burnside.envs.ring import RingSpec, RingState

if TYPE_CHECKING:
    from burnside.envs.planar.env import PlanarEnv, PlanarVectorEnv
    from burnside.envs.ring.env import RingEnv, RingVectorEnv

__all__ = [
    "PlanarEnv",
    "PlanarSpec",
    "PlanarState",
    "PlanarVectorEnv",
    "RingEnv",
    "RingSpec",
    "RingState",
    "RingVectorEnv",
    "register",
]


def register() -> None:
    """Make the environments known to ``gymnasium.make``; a second call changes nothing."""
    import gymnasium

    for dimensions in (1, 3):
        name = f"burnside/Ring{dimensions}D-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="burnside.envs.ring.env:RingEnv",
                vector_entry_point="burnside.envs.ring.env:RingVectorEnv",
                kwargs={"d": dimensions},
            )
    for task in ("Push", "Stack"):
        name = f"burnside/Planar{task}-v0"
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="burnside.envs.planar.env:PlanarEnv",
                vector_entry_point="burnside.envs.planar.env:PlanarVectorEnv",
                kwargs={"task": task.lower()},
            )
    for name, task in (("StackThree", "stack-three"), ("NutAssembly", "nut-assembly")):
        if f"burnside/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"burnside/{name}-v0",
                entry_point="burnside.envs.manipulation.env:ManipulationEnv",
                kwargs={"task": task},
            )
    if "burnside/Cube-v0" not in gymnasium.registry:
        gymnasium.register("burnside/Cube-v0", entry_point="burnside.envs.cube.env:CubeEnv")


def __getattr__(name: str) -> Any:
    if name in ("RingEnv", "RingVectorEnv"):
        from burnside.envs.ring import env as ring

        return getattr(ring, name)
    if name in ("PlanarEnv", "PlanarVectorEnv"):
        from burnside.envs.planar import env as planar

        return getattr(planar, name)
    raise AttributeError(f"module 'burnside.envs' has no attribute {name!r}")


if importlib.util.find_spec("gymnasium") is not None:
    register()
