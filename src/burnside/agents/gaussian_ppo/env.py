"""What a batched environment must offer to be learnt in: scenes as rows of arrays, without any state of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from burnside._types import AnyArray, BoolArray, IntArray
from burnside.errors import InvalidParameter

__all__ = ["BatchEnv", "BatchStep", "State", "check_observations", "select", "update_rows"]

#: Arrays by name, each with the scenes as leading axis. Plain arrays, so that a checkpoint can hold them.
State = Mapping[str, AnyArray]


class BatchStep(NamedTuple):
    """What a step of all scenes gives; a scene whose episode ended stays as it is until it is reset."""

    state: State
    reward: AnyArray
    terminated: BoolArray  # there is nothing to come
    truncated: BoolArray  # the time limit: there would be more
    success: BoolArray  # of the episode so far


class BatchEnv(Protocol):
    """Scenes as rows. Every row must be computed on its own: its numbers may not depend on the other rows.

    Attributes:
        name: What a checkpoint must agree on: the environment with all its parameters.
        obs_dim: Width of an observation.
        act_dim: Width of an action.
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
    def act_dim(self) -> int:
        """See the class."""
        ...

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The first states of episodes, as a function of (seed, episode) alone: counter-based, see ``_random``."""
        ...

    def observe_batch(self, state: State) -> AnyArray:
        """Observations ``(scenes, obs_dim)``, float32."""
        ...

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """One step under actions ``(scenes, act_dim)``; clipping is the environment's business."""
        ...


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
