"""Learners of Stable-Baselines3 in a cell, with the same arms and controls.

Their state is not written to checkpoints: a cell that was killed starts over, and gives the same numbers, since a run
is a function of its seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from burnside._random import Stream, hash_u64, held_out
from burnside._types import AnyArray
from burnside.canonical.guard import theirs
from burnside.canonical.wrappers import CanonicalEnv
from burnside.errors import InvalidParameter
from burnside.symmetry.flat import FlatSymmetry

if TYPE_CHECKING:
    from burnside.experiments.atlas.learners import Condition

__all__ = ["SB3Learner"]


class _Form:
    """A canonical form on flat rows as one on observations."""

    def __init__(self, symmetry: FlatSymmetry) -> None:
        self._symmetry = symmetry

    def __deepcopy__(self, memo: Any) -> _Form:
        """Gymnasium copies what a wrapper was made with; this never changes."""
        return self

    def _rows(self, x: Any) -> tuple[AnyArray, bool]:
        found = np.asarray(x, dtype=np.float32)
        return (found.reshape(1, -1), True) if found.ndim == 1 else (found, False)

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """The representative and its element."""
        rows, single = self._rows(x)
        seen, g = self._symmetry.canonical(rows)
        return (seen[0], g) if single else (seen, g)

    def act(self, g: Any, x: Any) -> Any:
        """``g·x``."""
        rows, single = self._rows(x)
        moved = self._symmetry.move(g, rows)
        return moved[0] if single else moved

    def undo(self, action: Any, g: Any) -> Any:
        """``g⁻¹·a``."""
        one = np.ndim(action) == (0 if self._symmetry.discrete else 1)
        back = self._symmetry.undo(np.asarray(action)[None] if one else np.asarray(action), g)
        return back[0] if one else back


class _Features(gym.ObservationWrapper[Any, Any, Any]):
    """The observation with what its canonical form would know."""

    def __init__(self, env: Any, symmetry: FlatSymmetry) -> None:
        super().__init__(env)
        self._symmetry = symmetry
        width = symmetry.obs_dim + symmetry.feature_width
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (width,), np.float32)

    def observation(self, observation: Any) -> AnyArray:
        """With the features behind it."""
        row = np.asarray(observation, dtype=np.float32).reshape(1, -1)
        return np.concatenate([row, self._symmetry.features(row)], axis=1)[0]


class SB3Learner:
    """One model of Stable-Baselines3."""

    def __init__(self, algorithm: str, settings: Mapping[str, Any], where: Condition, seed: int) -> None:
        from burnside.agents.sb3.make import make_sb3

        self._where, self._seed, self._flat = where, seed, where.symmetry_of(seed)
        space = where.make().observation_space
        if where.arm != "baseline" and not (isinstance(space, gym.spaces.Box) and len(space.shape) == 1):
            raise InvalidParameter(f"arms of Stable-Baselines3 are measured on vectors, not on {space}")
        # forms and features are wrappers of ours, so that every domain and placebo has them too
        arm, wrapped, symmetry = where.arm, self._wrapped(), None
        if arm in ("canonical", "feature"):
            arm = "baseline"
        options = dict(settings)
        if arm == "augment-random":
            arm, options = "augment", options | {"mode": "equal-minibatch"}
        if arm != "baseline":
            assert self._flat is not None
            symmetry = self._flat.as_declared() if self._flat.count else where.symmetry
        what = f"{algorithm} of Stable-Baselines3"  # settings are the user's words
        self.model = theirs(what, make_sb3, algorithm, wrapped, arm, symmetry, seed=seed, device="cpu", **options)
        self._test = self._wrapped()

    def _wrapped(self) -> Any:
        env, arm, flat = self._where.make(), self._where.arm, self._flat
        if flat is None:
            return env
        if arm == "canonical":
            return CanonicalEnv(env, _Form(flat))
        return _Features(env, flat) if arm == "feature" else env

    def advance_to(self, steps: int) -> None:
        """Train until this many environment steps have been made in all."""
        left = steps - self.made
        if left > 0:
            self.model.learn(left, reset_num_timesteps=False, progress_bar=False)

    @property
    def made(self) -> int:
        """Environment steps so far."""
        return int(self.model.num_timesteps)

    @property
    def updates_made(self) -> int:
        """Updates so far (PPO of Stable-Baselines3 counts passes over a rollout)."""
        return int(self.model._n_updates)

    def score(self, episodes: int) -> float:
        """Mean return of the held-out episodes that our learners play too."""
        total, key = 0.0, held_out(0)
        for episode in range(episodes):
            seen, _ = self._test.reset(seed=int(hash_u64(key, Stream.ENV, episode)) >> 33)
            over = False
            while not over:
                action, _ = self.model.predict(seen, deterministic=True)
                seen, reward, terminated, truncated, _ = self._test.step(action)
                total, over = total + float(reward), bool(terminated or truncated)
        return total / episodes

    def arrays(self) -> dict[str, AnyArray]:
        """Nothing: it begins again."""
        return {}

    def restore(self, arrays: Mapping[str, AnyArray]) -> Any:
        """Nothing."""
        return self
