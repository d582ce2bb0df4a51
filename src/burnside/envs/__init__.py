"""Environments: each a functional core on arrays (what learners batch) with thin Gymnasium adapters around it.

What lives here: :mod:`burnside.envs.ring`, the cyclic game of App. C in any dimension, :mod:`burnside.envs.cube`, and
:mod:`burnside.envs.planar`, manipulation in the plane; :mod:`burnside.envs.others` adapts those of dm_control and of
PettingZoo. Importing this package registers ``burnside/Ring1D-v0`` and the
others; ``gymnasium.make("burnside.envs:burnside/Ring1D-v0")`` does both.

It may import ``burnside.mdp`` and what lies below. Gymnasium is the extra ``envs``: without it the functional cores
still work, and asking for an adapter raises :class:`~burnside.errors.MissingExtra`.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.envs.cube.core import CubeSpec as CubeSpec
    from burnside.envs.cube.env import CubeEnv as CubeEnv
    from burnside.envs.planar.core import PlanarSpec as PlanarSpec
    from burnside.envs.planar.env import PlanarEnv as PlanarEnv
    from burnside.envs.ring.core import RingSpec as RingSpec
    from burnside.envs.ring.env import RingEnv as RingEnv
else:
    __all__, __getattr__, __dir__ = lazy(__name__)


def register() -> None:
    """Make the environments known to ``gymnasium.make``; importing this package does it, a second call changes nothing.

    >>> import gymnasium
    >>> register()
    >>> "burnside/Ring1D-v0" in gymnasium.registry
    True
    """
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
    for name, task in (("StackTwo", "stack-two"), ("StackThree", "stack-three"), ("NutAssembly", "nut-assembly")):
        if f"burnside/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"burnside/{name}-v0",
                entry_point="burnside.envs.manipulation.env:ManipulationEnv",
                kwargs={"task": task},
            )
    _register_others()
    if "burnside/Cube-v0" not in gymnasium.registry:
        gymnasium.register("burnside/Cube-v0", entry_point="burnside.envs.cube.env:CubeEnv")


def _register_others() -> None:
    import gymnasium

    from burnside.envs.others.games import GAMES
    from burnside.envs.others.suite import TASKS

    for task in TASKS:
        if f"dm_control/{task}-v0" not in gymnasium.registry:
            domain, _, name = task.partition("-")
            gymnasium.register(
                f"dm_control/{task}-v0",
                entry_point="burnside.envs.others.suite:SuiteEnv",
                kwargs={"domain": domain, "task": name},
            )
    for game, options in GAMES.items():
        name = "pettingzoo/" + game.replace("_v", "-v")
        if name not in gymnasium.registry:
            gymnasium.register(
                name, entry_point="burnside.envs.others.games:BoardGameEnv", kwargs={"game": game, **options}
            )


if importlib.util.find_spec("gymnasium") is not None:
    register()
