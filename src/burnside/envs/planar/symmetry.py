"""The rigid motions of the plane as a symmetry of the planar tasks, for ``check_symmetry`` and the wrappers.

An element is a :class:`Motion`, or a homogeneous 3×3 matrix. It moves points, turns headings and velocities, and leaves
turn rates and the gripper alone. The rules commute with every motion (Def. 7 holds exactly), unless velocities are
clipped in a box.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from burnside._random import Stream, uniform
from burnside._types import FloatArray
from burnside.envs.planar.core import PlanarSpec, PlanarState
from burnside.errors import InvalidParameter
from burnside.groups.rigid.exponential import so2_exp
from burnside.groups.rigid.frames import FrameForm
from burnside.groups.rigid.motions import invert, rigid

__all__ = ["Motion", "PlanarSymmetry", "motions_of"]

_SAMPLE = 32


class Motion(NamedTuple):
    """A turn about the origin by an angle, then a shift; short to print.

    >>> Motion(angle=np.pi / 2, x=1.0).matrix.round(9).tolist()
    [[0.0, -1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    """

    x: float = 0.0
    y: float = 0.0
    angle: float = 0.0

    @property
    def matrix(self) -> FloatArray:
        """The homogeneous matrix."""
        return _motion_matrix(self).copy()

    @property
    def inverse(self) -> Motion:
        """The motion back."""
        back = invert(self.matrix)
        return Motion(float(back[0, 2]), float(back[1, 2]), -self.angle)


@lru_cache(maxsize=256)
def _motion_matrix(g: Motion) -> FloatArray:
    return rigid(so2_exp(g.angle), [g.x, g.y])


def _matrix(g: Any) -> Any:
    return _motion_matrix(g) if isinstance(g, Motion) else g


@dataclass(frozen=True)
class PlanarSymmetry:
    """SE(2) acting on a planar task; has all attributes of :class:`burnside.canonical.EnvSymmetry`.

    ``generators`` are a turn by 1 (no fraction of a full turn, so its powers come near every rotation) and two shifts.
    ``elements`` are not all motions, of which there are infinitely many, but 32 of them, the identity first.

    >>> moved = PlanarSymmetry(PlanarSpec())
    >>> moved.act_on_action(Motion(angle=np.pi / 2), np.array([1.0, 0.0, 0.5])).round(9).tolist()
    [0.0, 1.0, 0.5]
    """

    spec: PlanarSpec
    name: str = "SE(2)"

    @cached_property
    def generators(self) -> list[Motion]:
        """A turn and two shifts."""
        return [Motion(angle=1.0), Motion(x=0.3), Motion(y=-0.2)]

    @cached_property
    def elements(self) -> list[Motion]:
        """A sample of motions: turns of any angle, shifts up to 1."""
        u = 2 * uniform(0, Stream.AUGMENT, np.arange(3 * _SAMPLE).reshape(_SAMPLE, 3)) - 1
        return [Motion(), *(Motion(x, y, np.pi * turn) for x, y, turn in u[1:].tolist())]

    @property
    def canonicalizer(self) -> FrameForm:
        """The robot's frame."""
        return FrameForm(self.spec.layout, self.spec.action_layout, "robot")

    def act_on_observation(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        return self.spec.layout.act(_matrix(g), x)

    def act_on_action(self, g: Any, action: Any) -> Any:
        """``g·a``."""
        return self.spec.action_layout.act(_matrix(g), action)

    def act_on_state(self, g: Any, state: PlanarState) -> PlanarState:
        """``g·s``; the clock runs on."""
        return PlanarState(self.spec.layout.act(_matrix(g), state.x), state.t)

    def inverse(self, g: Any) -> Any:
        """``g⁻¹``."""
        return g.inverse if isinstance(g, Motion) else invert(g)

    def get_state(self, env: Any) -> PlanarState:
        """The scene of an environment."""
        return env.unwrapped.state

    def set_state(self, env: Any, state: PlanarState) -> None:
        """Put a scene in its place."""
        env.unwrapped.state = state


def motions_of(env: Any) -> PlanarSymmetry:
    """The rigid motions of a given planar environment, for ``burnside check``."""
    spec = getattr(env.unwrapped, "planar", None)
    if not isinstance(spec, PlanarSpec):
        raise InvalidParameter(
            f"{env} is not a planar task: these motions are those of burnside/PlanarPush-v0 and Stack"
        )
    return PlanarSymmetry(spec)
