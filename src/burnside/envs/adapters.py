"""What our Gymnasium environments share: episodes numbered from a seed, and batches with every autoreset mode.

``reset(seed=s)`` starts episode 0 of seed s and every further ``reset()`` the next one, so what happens depends on
(seed, number of the episode) only, alone or in a batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside._types import AnyArray, BoolArray, IntArray
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra

try:
    import gymnasium as gym
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["NumberedEnv", "NumberedVectorEnv", "check_mode", "ready"]


def check_mode(render_mode: str | None, modes: Sequence[str]) -> str | None:
    """The mode, if there is such a one.

    >>> check_mode("human", ["ansi"])
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: render_mode must be one of ansi or None, got 'human'
    """
    if render_mode is not None and render_mode not in modes:
        raise InvalidParameter(f"render_mode must be one of {', '.join(modes)} or None, got {render_mode!r}")
    return render_mode


def ready(state: Any, what: str) -> Any:
    """The state, once there is one."""
    if state is None:
        raise InvalidAction(f"{what} was called before reset: call reset() first")
    return state


class NumberedEnv(gym.Env[Any, Any]):
    """An environment whose episodes are numbered from the seed on."""

    _seed: int = 0
    _episode: int = -1

    def reseed(self, seed: int | None) -> None:
        """Begin to count anew if a seed is given, or at the first time."""
        super().reset(seed=seed)
        if seed is not None or self._episode < 0:
            # Gymnasium draws 128 bits where no seed was given; ours are 64
            self._seed, self._episode = int(self.np_random_seed or 0) % 2**64, -1

    def next_episode(self, seed: int | None) -> tuple[int, int]:
        """Seed and number of the episode that a ``reset`` with this seed, or with None, begins."""
        self.reseed(seed)
        self._episode += 1
        return self._seed, self._episode


class NumberedVectorEnv(VectorEnv[Any, Any, Any], ABC):
    """Many games in one batch; row i equals a single environment reset with seed ``seed + i``.

    All three autoreset modes of Gymnasium 1.x are kept to: ``NEXT_STEP`` (default; the step after the end of an episode
    ignores its action, resets and gives reward 0), ``SAME_STEP`` (the step that ends an episode returns the first
    observation of the next one, and the last one as ``info["final_obs"]``) and ``DISABLED`` (``reset`` with
    ``options={"reset_mask": mask}``). A subclass gives the methods at the end.

    Args:
        num_envs: games in the batch.
        spaces: observation and action space of one game.
        autoreset_mode: see above.
        render_mode: one of the modes of ``metadata``, or None.
    """

    noun = "game"
    state: Any

    def __init__(
        self,
        num_envs: int,
        spaces: tuple[gym.Space[Any], gym.Space[Any]],
        autoreset_mode: AutoresetMode | str,
        render_mode: str | None,
    ) -> None:
        if num_envs < 1:
            raise InvalidParameter(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        self.render_mode = check_mode(render_mode, self.metadata["render_modes"])
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = spaces
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.state = None
        self._seeds = np.zeros(num_envs, dtype=np.uint64)
        self._episodes = np.full(num_envs, -1, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset all games, or those of ``options["reset_mask"]``; a seed s means s, s + 1, … for the rows."""
        mask = np.ones(self.num_envs, dtype=np.bool_)
        if options is not None and "reset_mask" in options:
            mask = np.asarray(options["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
                raise InvalidParameter(f"reset_mask must be {self.num_envs} booleans, not all false, got {mask!r:.80}")
        if self.state is None:
            mask = np.ones_like(mask)  # there is nothing yet to leave as it is
        given: Sequence[int | None]
        if seed is None or isinstance(seed, int | np.integer):
            super().reset(seed=None if seed is None else int(seed))
            given = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            given = seed
        if len(given) != self.num_envs:
            raise InvalidParameter(f"give one seed or {self.num_envs} of them, got {len(given)}")
        for i, one in enumerate(given):
            if mask[i] and (one is not None or self._episodes[i] < 0):
                fresh = self.np_random.integers(0, 2**64, dtype=np.uint64) if one is None else int(one)
                self._seeds[i], self._episodes[i] = fresh, -1
        self._restart(mask)
        return self.observe(self.state), self.first_info(mask)

    def _restart(self, mask: BoolArray) -> None:
        """Put the next episode in the rows of the mask."""
        self._episodes[mask] += 1
        if self.state is None:
            self.state = self.begin(self._seeds, self._episodes)
        else:
            self.state = self.replace(self.state, mask, self._seeds, self._episodes)
        self._over[mask] = False

    def step(self, actions: Any) -> tuple[Any, AnyArray, BoolArray, BoolArray, dict[str, Any]]:
        """Take one action in every game, and reset those that are over as the mode says."""
        before, was_over = ready(self.state, "step"), self._over.copy()
        if self.autoreset_mode == AutoresetMode.DISABLED and was_over.any():
            raise InvalidAction(
                f"{self.noun} {int(np.argmax(was_over))} is over and autoreset is disabled: reset it with "
                "options={'reset_mask': mask} first"
            )
        self.state, reward, terminated, truncated, info = self.advance(before, actions)
        every = np.ones(self.num_envs, np.bool_)
        if was_over.any():  # NEXT_STEP: this step only resets
            self._restart(was_over)
            for column in (reward, terminated, truncated, *info.values()):
                column[was_over] = 0
        self._over = terminated | truncated
        out: dict[str, Any] = {**info, **{f"_{name}": every.copy() for name in info}}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            ended = self._over.copy()
            final = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(ended):
                final[i] = self.row(self.state, int(i))
            last: dict[str, Any] = {
                name: np.where(ended, column, 0).astype(column.dtype) for name, column in info.items()
            }
            last |= {f"_{name}": ended.copy() for name in info}
            out |= {"final_obs": final, "_final_obs": ended, "final_info": last, "_final_info": ended.copy()}
            out |= {name: np.where(ended, 0, column).astype(column.dtype) for name, column in info.items()}
            self._restart(ended)
        return self.observe(self.state), reward, terminated, truncated, out

    def render(self) -> tuple[Any, ...] | None:
        """The pictures of all games."""
        if self.render_mode is None:
            return None
        state = ready(self.state, "render")
        return tuple(self.draw(state, i) for i in range(self.num_envs))

    def first_info(self, mask: BoolArray) -> dict[str, Any]:
        """The info of ``reset``, which began the games of the mask."""
        return {}

    # ------------------------------------------------------------------ a game gives these

    @abstractmethod
    def begin(self, seeds: AnyArray, episodes: IntArray) -> Any:
        """States at the start of episodes."""

    @abstractmethod
    def replace(self, state: Any, mask: BoolArray, seeds: AnyArray, episodes: IntArray) -> Any:
        """The states with those of the mask at the start of their episodes."""

    @abstractmethod
    def advance(self, state: Any, actions: Any) -> tuple[Any, AnyArray, BoolArray, BoolArray, dict[str, AnyArray]]:
        """States after an action each, rewards, terminated, truncated, columns of ``info``; the arrays are fresh."""

    @abstractmethod
    def observe(self, state: Any) -> Any:
        """Observations of all rows, not shared with the state."""

    @abstractmethod
    def row(self, state: Any, i: int) -> Any:
        """The observation of one row."""

    @abstractmethod
    def draw(self, state: Any, i: int) -> Any:
        """The picture of one row."""
