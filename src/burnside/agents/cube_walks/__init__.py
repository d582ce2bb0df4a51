"""A policy for the cube from random walks: which turn did the walk end with, and how long was it?

Walks begin at the solved cube. The network sees where one ended, and learns its last turn (12 scores) and its length;
undoing the likeliest last turn again and again leads back (EfficientCube, Takano 2023; CayleyPy regresses the length).
Nothing is labelled by search, so a state costs 20 µs of one core. ``config`` has :class:`WalkConfig` and the arms,
which say what is done with the symmetry; ``walks`` makes the batches, ``loop`` trains (:class:`WalkRun`), ``network``
is a trained network as search uses it (:class:`CubePolicy`, :func:`load_policy`).

It may import ``burnside.nn``, ``burnside.envs``, ``burnside.agents.common`` and what lies below. Torch is loaded when a
name that needs it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.agents.cube_walks.config import ARMS as ARMS
    from burnside.agents.cube_walks.config import WalkConfig as WalkConfig
    from burnside.agents.cube_walks.loop import WalkRun as WalkRun
    from burnside.agents.cube_walks.network import CubePolicy as CubePolicy
    from burnside.agents.cube_walks.network import load_policy as load_policy
    from burnside.agents.cube_walks.walks import Walks as Walks
    from burnside.agents.cube_walks.walks import random_walks as random_walks
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
