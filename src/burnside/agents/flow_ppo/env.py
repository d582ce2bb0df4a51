"""Batched environments in which a decision is a chunk of actions; planar tasks and simulators serve alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from burnside._types import AnyArray, BoolArray, IntArray
from burnside.agents.gaussian_ppo.env import State

__all__ = ["ChunkEnv", "ChunkStep"]


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
