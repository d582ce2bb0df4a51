"""The cyclic game as Gymnasium environments: thin adapters around the functional core.

``burnside/Ring1D-v0`` and ``burnside/Ring3D-v0`` take ``n`` and every other field of :class:`RingSpec` as keyword
arguments. ``reset(seed=s)`` starts episode 0 of seed s and every further ``reset()`` the next episode of that seed, so
the boards depend on (seed, number of the episode) only, alone or in a batch.
"""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np

from burnside._types import AnyArray, BoolArray, IntArray
from burnside.envs.adapters import NumberedEnv, NumberedVectorEnv, check_mode, ready
from burnside.envs.ring.core import Observation, RingSpec, RingState, initial, observe, transition
from burnside.envs.ring.render import draw_ansi, draw_rgb
from burnside.envs.ring.scenes import RingScenes
from burnside.envs.ring.symmetry import RollToGoal
from burnside.errors import InvalidAction, MissingExtra

try:
    import gymnasium as gym
    from gymnasium.vector import AutoresetMode
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["RingEnv", "RingVectorEnv"]

_MODES = ["ansi", "rgb_array"]


def _spaces(spec: RingSpec) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Observation and action space of one game."""
    low, high = np.float32(-1), np.float32(spec.end_reward)
    actions = gym.spaces.Discrete(spec.n_actions)
    if spec.d == 1:
        least, most = (np.repeat(np.array(pair, np.float32), spec.n) for pair in ((low, 0), (high, 1)))
        return gym.spaces.Box(least, most, dtype=np.float32), actions
    items = gym.spaces.Box(low, high, spec.shape, np.float32)
    return gym.spaces.Dict({"items": items, "pos": gym.spaces.Box(0, 1, (spec.d,), np.float32)}), actions


def _one(x: Observation) -> Observation:
    """The only game of a batch of one."""
    return {key: value[0] for key, value in x.items()} if isinstance(x, dict) else x[0]


def _draw(state: RingState, row: int, render_mode: str) -> Any:
    draw = draw_ansi if render_mode == "ansi" else draw_rgb
    return draw(state.spec, state.items[row], int(state.pos[row]))


class RingEnv(NumberedEnv):
    """One cyclic game (App. C).

    >>> import gymnasium as gym, burnside.envs
    >>> env = gym.make("burnside/Ring1D-v0", n=10)
    >>> x, info = env.reset(seed=3)
    >>> x.shape, env.action_space
    ((20,), Discrete(4))
    >>> x, reward, terminated, truncated, info = env.step(2)          # +1
    >>> float(reward), terminated, truncated
    (0.0, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": _MODES, "render_fps": 4}  # noqa: RUF012

    def __init__(self, n: int = 10, d: int = 1, *, render_mode: str | None = None, **options: Any) -> None:
        self.ring = RingSpec(n, d, **options)
        self.render_mode = check_mode(render_mode, _MODES)
        self.observation_space, self.action_space = _spaces(self.ring)
        self.state: RingState | None = None

    @property
    def canonicalizer(self) -> RollToGoal:
        """The canonical form this environment declares, for ``CanonicalEnv``."""
        return RollToGoal(self.ring.n, self.ring.d)

    @property
    def batched(self) -> RingScenes:
        """The same game for learners, see ``burnside.envs.batched``."""
        return RingScenes(self.ring)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start episode 0 of a seed, or without a seed the next episode of the current one."""
        key, episode = self.next_episode(seed)
        self.state = initial(self.ring, np.uint64(key), episode)
        return _one(observe(self.state)), {}

    def step(self, action: Any) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take one action."""
        before: RingState = ready(self.state, "step")
        if not self.action_space.contains(action):
            raise InvalidAction(f"actions are whole numbers from 0 to {self.ring.n_actions - 1}, got {action!r:.80}")
        self.state, reward, terminated, truncated = transition(before, np.array([int(action)]))
        return _one(observe(self.state)), float(reward[0]), bool(terminated[0]), bool(truncated[0]), {}

    def render(self) -> Any:
        """The picture of the current game, in the mode given on construction."""
        if self.render_mode is None:
            gym.logger.warn("render() was called without a render mode: give render_mode='ansi' or 'rgb_array' to make")
            return None
        return _draw(ready(self.state, "render"), 0, self.render_mode)


class RingVectorEnv(NumberedVectorEnv):
    """Many cyclic games in one batch; row i equals a :class:`RingEnv` reset with seed ``seed + i``.

    >>> import gymnasium as gym, burnside.envs
    >>> envs = gym.make_vec("burnside/Ring3D-v0", num_envs=2, n=5)
    >>> x, _ = envs.reset(seed=0)
    >>> x["items"].shape, envs.metadata["autoreset_mode"].name
    ((2, 5, 5, 5), 'NEXT_STEP')
    """

    metadata: dict[str, Any] = {"render_modes": _MODES, "render_fps": 4, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        n: int = 10,
        d: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        self.ring = RingSpec(n, d, **options)
        super().__init__(num_envs, _spaces(self.ring), autoreset_mode, render_mode)

    @property
    def canonicalizer(self) -> RollToGoal:
        """The canonical form this environment declares, for ``CanonicalVectorEnv``."""
        return RollToGoal(self.ring.n, self.ring.d)

    @property
    def batched(self) -> RingScenes:
        """The same game for learners, see ``burnside.envs.batched``."""
        return RingScenes(self.ring)

    def begin(self, seeds: AnyArray, episodes: IntArray) -> RingState:
        """Fresh boards."""
        return initial(self.ring, seeds, episodes)

    def replace(self, state: RingState, mask: BoolArray, seeds: AnyArray, episodes: IntArray) -> RingState:
        """Fresh boards in the rows of the mask."""
        if not mask.any():
            return state
        fresh = initial(self.ring, seeds[mask], episodes[mask])
        rows = {name: getattr(state, name).copy() for name in ("items", "pos", "goal", "t")}
        for name, values in rows.items():
            values[mask] = getattr(fresh, name)
        return RingState(self.ring, **rows)

    def advance(
        self, state: RingState, actions: Any
    ) -> tuple[RingState, AnyArray, BoolArray, BoolArray, dict[str, AnyArray]]:
        """One step of every game."""
        return *transition(state, np.asarray(actions)), {}

    def observe(self, state: RingState) -> Observation:
        """All observations."""
        return observe(state)

    def row(self, state: RingState, i: int) -> Observation:
        """One of them."""
        return _one(observe(state[i : i + 1]))

    def draw(self, state: RingState, i: int) -> Any:
        """The picture of a game."""
        return _draw(state, i, str(self.render_mode))
