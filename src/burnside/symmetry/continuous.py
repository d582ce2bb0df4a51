"""Rotations, reflections and translations of the plane and of space, as groups of an environment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._random import Stream, normal, uniform
from burnside._types import ArrayLike, FloatArray
from burnside.errors import InvalidParameter, UnknownName
from burnside.groups.rigid import invert, quaternion_to_matrix, rigid, so2_exp, so3_exp
from burnside.symmetry.finite import EnvGroup

__all__ = ["CONTINUOUS", "ContinuousGroup"]

_SLOTS = 8  # random numbers that one element may take: those of different counters must not meet

#: Continuous groups: the dimension of the space, whether there are reflections, whether there are translations.
CONTINUOUS = {
    "SO(2)": (2, False, False),
    "O(2)": (2, True, False),
    "SO(3)": (3, False, False),
    "SE(2)": (2, False, True),
    "SE(3)": (3, False, True),
}


@dataclass(frozen=True)
class ContinuousGroup(EnvGroup):
    """Rotations, reflections and translations of the plane or of space; elements are matrices.

    Attributes:
        name: one of ``SO(2)``, ``O(2)``, ``SO(3)``, ``SE(2)``, ``SE(3)``.
        reach: random translations lie between −reach and reach, along each axis.

    >>> turns = ContinuousGroup("SO(2)")
    >>> turns.rotation(np.pi / 2).round(6).tolist()
    [[0.0, -1.0], [1.0, 0.0]]
    >>> turns.random_element(seed=0, counter=[0, 1, 2]).shape
    (3, 2, 2)
    """

    name: str
    reach: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in CONTINUOUS:
            raise UnknownName("continuous group", self.name, CONTINUOUS)
        if not (self.reach > 0 and math.isfinite(self.reach)):
            raise InvalidParameter(f"reach must be a positive number, got {self.reach}")

    @property
    def order(self) -> None:  # type: ignore[override]
        """None: there are infinitely many elements."""
        return

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Dimension of the space."""
        return CONTINUOUS[self.name][0]

    @property
    def has_reflections(self) -> bool:
        """Whether there are elements of determinant −1."""
        return CONTINUOUS[self.name][1]

    @property
    def has_translations(self) -> bool:
        """Whether there are translations."""
        return CONTINUOUS[self.name][2]

    def rotation(self, angle: ArrayLike, axis: ArrayLike = (0, 0, 1), *, reflect: bool = False) -> FloatArray:
        """The element that turns by an angle; in space about an axis. ``reflect``: after the mirror ``y → −y``."""
        angles = np.asarray(angle, dtype=np.float64)
        if self.dimension == 2:
            turn = so2_exp(angles)
            if reflect:
                if not self.has_reflections:
                    raise InvalidParameter(f"{self.name} has no reflections: use O(2)")
                turn = turn * np.array([1.0, -1.0])
        else:
            unit = np.asarray(axis, dtype=np.float64)
            turn = so3_exp(angles[..., None] * unit / np.linalg.norm(unit))
        return rigid(turn) if self.has_translations else turn

    def translation(self, shift: ArrayLike) -> FloatArray:
        """The element that moves every point by ``shift``."""
        if not self.has_translations:
            raise InvalidParameter(f"{self.name} has no translations: use SE({self.dimension})")
        moved = np.asarray(shift, dtype=np.float64)
        return rigid(
            np.broadcast_to(np.eye(self.dimension), (*moved.shape[:-1], self.dimension, self.dimension)), moved
        )

    @property
    def generators(self) -> list[FloatArray]:
        """Elements whose products come as near as one likes to every element.

        One radian is not a fraction of a full turn, so its multiples are dense in the circle. What holds for these
        elements, exactly, holds for the whole group if it depends on the element continuously.
        """
        found = [self.rotation(1.0)]
        if self.dimension == 3:
            found.append(self.rotation(1.0, (1, 0, 0)))
        if self.has_reflections:
            found.append(self.rotation(0.0, reflect=True))
        if self.has_translations:
            found.append(self.translation(self.reach * np.eye(self.dimension)[0]))
        return found

    @property
    def elements(self) -> None:
        """None: there are infinitely many; use :meth:`random_element`."""
        return

    @property
    def identity(self) -> FloatArray:
        """The unit matrix."""
        return np.eye(self.dimension + self.has_translations)

    def inverse(self, g: Any) -> Any:
        """``g⁻¹``."""
        return invert(g) if self.has_translations else np.swapaxes(np.asarray(g), -1, -2)

    def compose(self, g: Any, h: Any) -> Any:
        """``gh``: first h, then g."""
        return np.matmul(g, h)

    def random_element(self, seed: int, counter: ArrayLike) -> FloatArray:
        """Rotations uniform over the group; translations uniform in a box of half-width :attr:`reach`."""
        first = _SLOTS * np.asarray(counter)
        if self.dimension == 2:
            turn = so2_exp(2 * np.pi * uniform(seed, Stream.AUGMENT, first))
            if self.has_reflections:
                flip = np.where(uniform(seed, Stream.AUGMENT, first + 1) < 0.5, 1.0, -1.0)
                turn = turn * np.stack([np.ones_like(flip), flip], axis=-1)[..., None, :]
        else:
            four = np.stack([normal(seed, Stream.AUGMENT, first // 2 + k) for k in range(4)], axis=-1)
            turn = quaternion_to_matrix(four)
        if not self.has_translations:
            return turn
        # another stream than the rotation, whose normal numbers take all the slots
        shift = [uniform(seed, Stream.MISC, first + k) for k in range(self.dimension)]
        return rigid(turn, self.reach * (2 * np.stack(shift, axis=-1) - 1))

    def lead(self, g: Any) -> tuple[int, ...]:
        """The axes before the matrices."""
        size = self.dimension + self.has_translations
        shape = np.shape(g)
        if shape[-2:] != (size, size):
            raise InvalidParameter(f"elements of {self.name} are {size}×{size} matrices, got shape {shape}")
        return shape[:-2]

    def motion(self, g: Any) -> tuple[FloatArray, FloatArray | None]:
        """Rotation and translation."""
        self.lead(g)
        found, d = np.asarray(g, dtype=np.float64), self.dimension
        return found[..., :d, :d], (found[..., :d, d] if self.has_translations else None)

    def to_data(self) -> Any:
        """The name, with the reach where it matters."""
        return self.name if self.reach == 1.0 else {"name": self.name, "reach": self.reach}

    def __repr__(self) -> str:
        """The name."""
        return self.name
