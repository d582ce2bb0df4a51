"""The cyclic game as a batched environment."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.envs.batched import BatchStep, Discrete, State
from burnside.envs.ring.core import Observation, RingSpec, RingState, initial, observe, transition
from burnside.envs.ring.symmetry import RollToGoal
from burnside.errors import InvalidParameter

__all__ = ["RingScenes", "SeenFromGoal"]

_FIELDS = ("items", "pos", "goal", "t")


@dataclass(frozen=True)
class RingScenes:
    """Cyclic games as rows; a :class:`~burnside.envs.batched.BatchedEnv`.

    An observation is that of ``burnside/Ring1D-v0``; in more dimensions it is flat, items then coordinates, and
    ``structured`` gives the form with names.

    >>> env = RingScenes(RingSpec(5))
    >>> env.observe_batch(env.reset_batch(np.array([1]), np.array([0]))).tolist()
    [[-1.0, 0.0, -1.0, 0.0, 10.0, 1.0, 0.0, 0.0, 0.0, 0.0]]

    Attributes:
        spec: The rules.
    """

    spec: RingSpec

    @property
    def name(self) -> str:
        """All parameters, for checkpoints."""
        return json.dumps({"ring": asdict(self.spec)})

    @property
    def obs_dim(self) -> int:
        """Width of a flat observation."""
        return 2 * self.spec.n if self.spec.d == 1 else self.spec.n_cells + self.spec.d

    @property
    def action(self) -> Discrete:
        """4^d moves."""
        return Discrete(self.spec.n_actions)

    @property
    def canonicalizer(self) -> RollToGoal:
        """The canonical form of App. C, for structured observations."""
        return RollToGoal(self.spec.n, self.spec.d)

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """The boards of episodes."""
        return _rows(initial(self.spec, seeds, episodes))

    def observe_batch(self, state: State) -> AnyArray:
        """Flat observations."""
        return self.flat(observe(self._games(state)))

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """One move in every game."""
        after, reward, terminated, truncated = transition(self._games(state), np.asarray(action))
        return BatchStep(_rows(after), reward, terminated, truncated, terminated)

    def structured(self, flat: AnyArray) -> Observation:
        """Observations as the Gymnasium environment shows them."""
        if self.spec.d == 1:
            return flat
        cells = self.spec.n_cells
        return {"items": flat[:, :cells].reshape(-1, *self.spec.shape), "pos": flat[:, cells:]}

    def flat(self, seen: Observation) -> AnyArray:
        """The inverse of :meth:`structured`."""
        if self.spec.d == 1:
            return cast("AnyArray", seen)
        named = cast("dict[str, AnyArray]", seen)
        return np.concatenate([named["items"].reshape(len(named["pos"]), -1), named["pos"]], axis=1)

    def as_rows(self, seen: Observation) -> tuple[AnyArray, bool]:
        """One observation of the Gymnasium environment, or a batch, as flat rows; and whether it was one."""
        last = np.asarray(seen["pos"] if isinstance(seen, dict) else seen)
        if last.ndim > 1:
            return self.flat(seen), False
        one = {k: np.asarray(v)[None] for k, v in seen.items()} if isinstance(seen, dict) else last[None]
        return self.flat(one), True

    def boards(self, flat: AnyArray) -> tuple[AnyArray, IntArray]:
        """The codes of the items and the cell of the agent, from flat observations."""
        cells, n = self.spec.n_cells, self.spec.n
        codes = np.sign(flat[:, :cells]).astype(np.int8)
        if self.spec.d == 1:
            return codes, np.argmax(flat[:, cells:], axis=1)
        return codes, self.spec.cell(np.rint(flat[:, cells:] * n).astype(np.int64))

    def _games(self, state: State) -> RingState:
        return RingState(self.spec, *(np.asarray(state[name]) for name in _FIELDS))


@dataclass(frozen=True)
class SeenFromGoal:
    """The 1D game as it is, with a feature: the place as seen from the goal, one-hot.

    This is what the canonical form shows of the place, without the symmetry: boards are not moved, so that no two of
    them become the same. A saving that this feature brings is not one by symmetry. In three dimensions networks with an
    encoder see it with ``place="relative"``.

    >>> env = SeenFromGoal(RingScenes(RingSpec(5)))
    >>> env.observe_batch(env.reset_batch(np.array([1]), np.array([0])))[0, 5:].tolist()   # goal at 4, agent at 0
    [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]

    Attributes:
        env: The game.
    """

    env: RingScenes

    def __post_init__(self) -> None:
        """Refuse more dimensions."""
        if self.env.spec.d != 1:
            raise InvalidParameter(f"this feature is one of the 1D game, got d={self.env.spec.d}: use place='relative'")

    @property
    def name(self) -> str:
        """The game and the feature, for checkpoints."""
        return json.dumps({"feature": "seen from the goal", "of": self.env.name})

    @property
    def obs_dim(self) -> int:
        """Width of an observation."""
        return self.env.obs_dim + self.env.spec.n

    @property
    def action(self) -> Discrete:
        """As the game."""
        return self.env.action

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """As the game."""
        return self.env.reset_batch(seeds, episodes)

    def observe_batch(self, state: State) -> AnyArray:
        """Observations of the game, the feature behind them."""
        n = self.env.spec.n
        seen = np.asarray(state["pos"] - state["goal"]) % n
        return np.concatenate([self.env.observe_batch(state), np.eye(n, dtype=np.float32)[seen.reshape(-1)]], axis=1)

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """As the game."""
        return self.env.step_batch(state, action)


def _rows(games: RingState) -> dict[str, AnyArray]:
    return {name: getattr(games, name) for name in _FIELDS}
