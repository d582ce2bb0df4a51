"""What counts as equal: every number is measured by its own size of change, and rounding is measured, not guessed.

A difference counts if it exceeds ``tol`` times the scale of that number *and* what rounding can explain. The scale of a
number is how much it typically varies or changes in one step, whichever is less, so a small number is not lost beside a
large one. Rounding is first taken from the number's own type; where that does not explain a difference, the inputs are
nudged in their last digits, and what this does to the results is rounding too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, BoolArray, FloatArray
from burnside.canonical.base import numbers, precision, structure
from burnside.canonical.checking.access import Outcome, map_floats

__all__ = ["Gap", "Ruler", "fit_scales", "lattice_of", "nudged", "typical"]

_NOISE = 64 * 2.0**-52  # variation below this, relative to the number, does not count
_LARGE = 2 * 10**7  # numbers that are looked at to find the scales
_DOUBT = 1e-4  # times tol: numbers this small beside the largest one may be the errors of a solver
_REWARD_DOUBT = 1e-7  # the same for rewards, which are single numbers
_GRID = 0.5  # if fewer values of a number than this share are different, the number lives on a grid


# ---------------------------------------------------------------------- scales


def typical(values: FloatArray) -> FloatArray:
    """How far the numbers of each column are from its median, where they are not on it: the median of that.

    It is not moved by a few outliers, nor by many zeros.

    >>> typical(np.array([[0.0, 1e6], [0.0, 1e6], [1.0, 1e6 + 2], [0.0, 1e6 + 2], [0.0, -1e9]])).tolist()
    [1.0, 2.0]
    >>> typical(np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [-1.0], [1e9]])).tolist()
    [1.0]
    """
    if not values.shape[0]:
        return np.zeros(values.shape[1])
    finite = np.where(np.isfinite(values), values, np.nan)
    with np.errstate(all="ignore"):
        largest = np.fmax.reduce(np.abs(finite), axis=0)
        apart = np.abs(finite - _median(finite))
        apart = np.where(apart > _NOISE * largest, apart, np.nan)
    return np.nan_to_num(_median(apart), nan=0.0)


def _median(values: FloatArray) -> FloatArray:
    """The median of what is not NaN in each column, the upper one of two; NaN if there is nothing."""
    ordered = np.sort(values, axis=0)  # NaN last
    count = np.sum(~np.isnan(values), axis=0)
    at = np.minimum(count // 2, len(values) - 1)
    return np.take_along_axis(ordered, at[None], axis=0)[0]


def fit_scales(before: Sequence[Any], after: Sequence[Any], rewards: Sequence[float]) -> tuple[FloatArray, float]:
    """The scale of every number of an observation, and of the reward, from steps that were seen."""
    reward = float(typical(np.array(rewards, dtype=np.float64)[:, None])[0])
    if not before:
        return np.empty(0), reward
    form = structure(before[0])
    size = numbers(before[0]).size
    most = max(8, _LARGE // max(1, size))
    pairs = [(numbers(x), numbers(y)) for x, y in zip(before[:most], after, strict=False) if _both(x, y, form)]
    if not pairs or not size:
        return np.zeros(size), reward
    start, end = np.stack([x for x, _ in pairs]), np.stack([y for _, y in pairs])
    varies = typical(np.concatenate([start, end]))
    with np.errstate(invalid="ignore"):
        moved = np.abs(end - start)
        moved = np.where(moved > _NOISE * np.maximum(np.abs(end), np.abs(start)), moved, np.nan)
    changes = np.nan_to_num(_median(np.where(np.isfinite(moved), moved, np.nan)), nan=0.0)
    return np.where(changes > 0, np.minimum(varies, changes), varies), reward


def _both(x: Any, y: Any, form: Any) -> bool:
    return bool(structure(x) == form and structure(y) == form)


# ---------------------------------------------------------------------- differences


@dataclass(frozen=True)
class Gap:
    """By how much an outcome differs from what was expected.

    Attributes:
        observation: per number; None if the observations have different shapes or differ in what is not a number.
        reward: the difference of the rewards.
        excess: numbers of the observation whose difference is beyond the tolerance.
        reward_excess: the same for the reward.
        terminated: whether one of them ends the episode and the other does not.
        truncated: the same for truncation.
    """

    observation: FloatArray | None
    reward: float
    excess: BoolArray
    reward_excess: bool
    terminated: bool
    truncated: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """The components that differ."""
        found = {
            "dynamics": self.observation is None or bool(self.excess.any()),
            "reward": self.reward_excess,
            "termination": self.terminated,
            "truncation": self.truncated,
        }
        return tuple(name for name, differs in found.items() if differs)


@dataclass(frozen=True)
class Ruler:
    """What counts as equal in one environment.

    Attributes:
        tol: relative to the scales.
        scale: of every number of an observation.
        reward_scale: of the reward.
        label: numbers that are labels.
    """

    tol: float
    scale: FloatArray
    reward_scale: float
    label: BoolArray

    def fits(self, size: int) -> bool:
        """Whether the scales are those of observations of that many numbers."""
        return self.scale.size == size

    def room(self, x: FloatArray, y: FloatArray, eps: FloatArray) -> FloatArray:
        """What two numbers may differ by at least: the tolerance, and rounding of their own type."""
        scale = self.scale if self.fits(x.size) else np.zeros(x.size)
        with np.errstate(invalid="ignore", over="ignore"):
            own = 2 * eps * np.maximum(np.abs(x), np.abs(y))
        # Integers are equal or not: half a step of a counter is not rounding.
        return np.where(eps > 0, self.tol * scale, 0.0) + np.where(np.isfinite(own), own, 0.0)

    def reward_room(self, one: Outcome, other: Outcome) -> float:
        """The same for rewards."""
        own = 2 * max(one.reward_eps, other.reward_eps) * max(abs(one.reward), abs(other.reward))
        return self.tol * self.reward_scale + (own if np.isfinite(own) else 0.0)

    def gap(self, one: Outcome, other: Outcome, more: FloatArray | None = None, more_reward: float = 0.0) -> Gap:
        """The difference of two outcomes; ``more`` and ``more_reward`` is what rounding was found to explain."""
        apart = self.apart(one.observation, other.observation)
        if apart is None:
            excess = np.zeros(0, dtype=np.bool_)
        else:
            x, y = numbers(one.observation), numbers(other.observation)
            eps = np.maximum(precision(one.observation), precision(other.observation))
            excess = ~(apart <= self.room(x, y, eps) + (0.0 if more is None else more))
        reward = _distance(one.reward, other.reward)
        return Gap(
            apart,
            reward,
            excess,
            not reward <= self.reward_room(one, other) + more_reward,
            one.terminated != other.terminated,
            one.truncated != other.truncated,
        )

    def apart(self, x: Any, y: Any) -> FloatArray | None:
        """The differences of two observations, number by number; 0 or 1 for labels; None if of different form."""
        if structure(x, values=True) != structure(y, values=True):
            return None
        one, other = numbers(x), numbers(y)
        same = (one == other) | (np.isnan(one) & np.isnan(other))
        with np.errstate(invalid="ignore", over="ignore"):
            found = np.where(same, 0.0, np.abs(one - other))
        found = np.where(np.isnan(found), np.inf, found)
        if self.label.size == found.size:
            found = np.where(self.label, np.minimum(np.ceil(found), 1.0), found)
        return found

    def doubtful(self, gap: Gap, one: Outcome, other: Outcome) -> bool:
        """Whether all that differs are numbers that vary by next to nothing beside the largest: a solver's errors."""
        if gap.observation is None or gap.terminated or gap.truncated:
            return False
        both = np.abs(np.concatenate([numbers(one.observation), numbers(other.observation)]))
        largest = float(np.max(both, initial=0.0, where=np.isfinite(both)))
        limit = _DOUBT * self.tol * largest
        scale = self.scale if self.fits(gap.excess.size) else np.zeros(gap.excess.size)
        small = bool(np.all((gap.observation <= limit) & (scale <= limit), where=gap.excess))
        least = _REWARD_DOUBT * self.tol * max(abs(one.reward), abs(other.reward))
        paid = not gap.reward_excess or (gap.reward <= least and self.reward_scale <= least)
        return small and paid and np.isfinite(gap.reward)

    def relative(self, apart: FloatArray) -> FloatArray:
        """Differences in units of the scales; where a number never varied, of its own."""
        scale = self.scale if self.fits(apart.size) else np.zeros(apart.size)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(scale > 0, apart / np.where(scale > 0, scale, 1.0), np.where(apart > 0, np.inf, 0.0))


def _distance(a: float, b: float) -> float:
    if a == b or (np.isnan(a) and np.isnan(b)):
        return 0.0
    found = abs(a - b)
    return float("inf") if np.isnan(found) else found


# ---------------------------------------------------------------------- rounding, by trying


def lattice_of(rows: AnyArray) -> BoolArray:
    """Which columns take few values again and again: numbers on a grid, which rounding does not move.

    >>> rng = np.random.default_rng(0)
    >>> lattice_of(np.stack([rng.integers(5, size=50), rng.normal(size=50)], axis=1)).tolist()
    [True, False]
    """
    if len(rows) < 8:
        return np.zeros(rows.shape[1] if rows.ndim == 2 else 0, dtype=np.bool_)
    ordered = np.sort(rows, axis=0)
    distinct = 1 + np.sum(ordered[1:] != ordered[:-1], axis=0)
    return np.asarray(distinct < _GRID * len(rows))


def nudged(x: Any, rng: np.random.Generator, ulps: float, fixed: BoolArray | None = None) -> Any:
    """The same with every floating-point number changed in its last digits, except the ``fixed`` ones.

    >>> moved = nudged(np.array([1.0, 0.0, 3.0]), np.random.default_rng(0), 4)
    >>> bool(0 < abs(moved[0] - 1) < 1e-14), float(moved[1])
    (True, 0.0)
    """
    place = 0

    def move(leaf: Any) -> Any:
        nonlocal place
        values = np.asarray(leaf)
        reach = ulps if values.dtype.itemsize >= 8 else min(ulps, 32.0)
        by = rng.uniform(-reach, reach, values.shape) * np.finfo(values.dtype).eps
        if fixed is not None and place + values.size <= fixed.size:
            by = np.where(fixed[place : place + values.size].reshape(values.shape), 0.0, by)
        place += values.size
        with np.errstate(all="ignore"):
            return (values + values * by).astype(values.dtype)[()]

    return map_floats(move, x)


def floats_of(x: Any) -> FloatArray:
    """All floating-point numbers of a state, in the order in which :func:`nudged` meets them."""
    found: list[Any] = []

    def note(leaf: Any) -> Any:
        found.append(np.asarray(leaf, dtype=np.float64).ravel())
        return leaf

    map_floats(note, x)
    return np.concatenate(found) if found else np.empty(0)
