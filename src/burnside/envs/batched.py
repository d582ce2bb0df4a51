"""What a batched environment offers to a learner: scenes as rows of arrays, without any state of its own.

:class:`BatchedEnv` is for learners that act at every step, :class:`ChunkEnv` for policies whose decision is a chunk of
actions. The environments of this package have such forms of their own; ``gymnasium_batch`` adapts any other one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from burnside._types import AnyArray, BoolArray, FloatArray, IntArray
from burnside.errors import InvalidParameter

__all__ = [
    "BatchStep",
    "BatchedEnv",
    "Box",
    "ChunkEnv",
    "ChunkStep",
    "Discrete",
    "Evaluation",
    "State",
    "check_observations",
    "select",
    "update_rows",
]

#: Arrays by name, each with the scenes as leading axis. Plain arrays, so that a checkpoint can hold them.
State = Mapping[str, AnyArray]


@dataclass(frozen=True)
class Discrete:
    """Actions are the numbers from 0 to n − 1; a batch of them is an integer array ``(scenes,)``."""

    n: int


@dataclass(frozen=True)
class Box:
    """Actions are vectors; a batch of them is a float32 array ``(scenes, width)``.

    Bounds are what the environment clips to; learners may draw beyond them.
    """

    width: int
    low: float | tuple[float, ...] = -1.0
    high: float | tuple[float, ...] = 1.0


class BatchStep(NamedTuple):
    """What a step of all scenes gives; a scene whose episode ended stays as it is until it is reset."""

    state: State
    reward: AnyArray
    terminated: BoolArray  # there is nothing to come
    truncated: BoolArray  # the time limit: there would be more
    success: BoolArray  # of the episode so far


@runtime_checkable
class BatchedEnv(Protocol):
    """Scenes as rows. Every row must be computed on its own: its numbers may not depend on the other rows.

    Attributes:
        name: What a checkpoint must agree on: the environment with all its parameters.
        obs_dim: Width of an observation.
        action: :class:`Discrete` or :class:`Box`.
    """

    @property
    def name(self) -> str:
        """See the class."""
        ...

    @property
    def obs_dim(self) -> int:
        """See the class."""
        ...

    @property
    def action(self) -> Discrete | Box:
        """See the class."""
        ...

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The first states of episodes, as a function of (seed, episode) alone: counter-based, see ``_random``."""
        ...

    def observe_batch(self, state: State) -> AnyArray:
        """Observations ``(scenes, obs_dim)``, float32."""
        ...

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """One step of every scene."""
        ...


class ChunkStep(NamedTuple):
    """What executing a chunk in all scenes gives.

    A scene whose episode ends inside the chunk stops there: the actions left are not executed, and what came after the
    end is in no number here.
    """

    state: State
    reward: AnyArray  # summed over the actions executed, discounted inside the chunk if the environment says so
    terminated: BoolArray
    truncated: BoolArray
    success: BoolArray
    steps: IntArray  # actions executed


class ChunkEnv(Protocol):
    """Scenes as rows, in the frame the policy sees; states are plain arrays, so that a checkpoint can hold them."""

    @property
    def name(self) -> str:
        """What a checkpoint must agree on: the environment with all its parameters."""
        ...

    @property
    def episode_steps(self) -> int:
        """Environment steps after which an episode is truncated."""
        ...

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The first states of episodes, as a function of (seed, episode) alone."""
        ...

    def observe_batch(self, state: State) -> Mapping[str, AnyArray]:
        """``state`` ``(scenes, n_obs, obs_dim)`` and perhaps ``cloud`` ``(scenes, n_obs, count, point_dim)``."""
        ...

    def step_chunk(self, state: State, actions: AnyArray) -> ChunkStep:
        """Execute actions ``(scenes, n_act, act_dim)``, chosen in the frame of the latest observation."""
        ...


@dataclass(frozen=True)
class Evaluation:
    """Episodes that were played, one entry each."""

    returns: FloatArray
    lengths: IntArray
    success: BoolArray


def select(state: State, rows: AnyArray) -> dict[str, AnyArray]:
    """Some rows of a state.

    >>> select({"x": np.arange(4)}, np.array([2, 0]))["x"].tolist()
    [2, 0]
    """
    return {name: np.asarray(array)[rows] for name, array in state.items()}


def update_rows(state: State, rows: AnyArray, new: State) -> dict[str, AnyArray]:
    """A state with some rows replaced; ``state`` is not changed.

    >>> update_rows({"x": np.arange(4)}, np.array([1]), {"x": np.array([9])})["x"].tolist()
    [0, 9, 2, 3]
    """
    out = {name: np.array(array) for name, array in state.items()}
    for name, array in new.items():
        out[name][rows] = array
    return out


def check_observations(obs: AnyArray, width: int) -> AnyArray:
    """Observations as contiguous float32; refuses another width and what is not a number."""
    found = np.ascontiguousarray(obs, dtype=np.float32)
    if found.ndim != 2 or found.shape[1] != width:
        raise InvalidParameter(f"observations have shape {found.shape}: the environment promised (scenes, {width})")
    if not np.isfinite(found).all():
        bad = int(np.flatnonzero(~np.isfinite(found).all(axis=1))[0])
        raise InvalidParameter(f"the observation of scene {bad} is not finite: check the environment's step and reset")
    return found
