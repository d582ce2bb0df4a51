"""The cyclic game as Gymnasium environments: thin adapters around the functional core.

``burnside/Ring1D-v0`` and ``burnside/Ring3D-v0`` take ``n`` and every other field of :class:`RingSpec` as keyword
arguments. ``reset(seed=s)`` starts episode 0 of seed s and every further ``reset()`` the next episode of that seed, so
the boards depend on (seed, number of the episode) only, alone or in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np

from burnside._types import AnyArray, BoolArray
from burnside.envs.ring.core import Observation, RingSpec, RingState, initial, observe, transition
from burnside.envs.ring.render import draw_ansi, draw_rgb
from burnside.envs.ring.symmetry import RollToGoal
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra

try:
    import gymnasium as gym
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
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


def _check_mode(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in _MODES:
        raise InvalidParameter(f"render_mode must be one of {', '.join(_MODES)} or None, got {render_mode!r}")
    return render_mode


def _draw(state: RingState, row: int, render_mode: str) -> Any:
    draw = draw_ansi if render_mode == "ansi" else draw_rgb
    return draw(state.spec, state.items[row], int(state.pos[row]))


class RingEnv(gym.Env[Any, Any]):
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
        self.render_mode = _check_mode(render_mode)
        self.observation_space, self.action_space = _spaces(self.ring)
        self.state: RingState | None = None
        self._seed, self._episode = 0, -1

    @property
    def canonicalizer(self) -> RollToGoal:
        """The canonical form this environment declares, for ``CanonicalEnv``."""
        return RollToGoal(self.ring.n, self.ring.d)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start episode 0 of a seed, or without a seed the next episode of the current one."""
        super().reset(seed=seed)
        if seed is not None or self._episode < 0:
            # Gymnasium draws 128 bits where no seed was given; ours are 64
            self._seed, self._episode = int(self.np_random_seed or 0) % 2**64, -1
        self._episode += 1
        self.state = initial(self.ring, np.uint64(self._seed), self._episode)
        return _one(observe(self.state)), {}

    def step(self, action: Any) -> tuple[Observation, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take one action."""
        if self.state is None:
            raise InvalidAction("step was called before reset: call reset() first")
        if not self.action_space.contains(action):
            raise InvalidAction(f"actions are whole numbers from 0 to {self.ring.n_actions - 1}, got {action!r:.80}")
        self.state, reward, terminated, truncated = transition(self.state, np.array([int(action)]))
        return _one(observe(self.state)), float(reward[0]), bool(terminated[0]), bool(truncated[0]), {}

    def render(self) -> Any:
        """The picture of the current game, in the mode given on construction."""
        if self.render_mode is None:
            gym.logger.warn("render() was called without a render mode: give render_mode='ansi' or 'rgb_array' to make")
            return None
        if self.state is None:
            raise InvalidAction("render was called before reset: call reset() first")
        return _draw(self.state, 0, self.render_mode)


class RingVectorEnv(VectorEnv[Any, Any, Any]):
    """Many cyclic games in one batch; row i equals a :class:`RingEnv` reset with seed ``seed + i``.

    All three autoreset modes of Gymnasium 1.x are kept to: ``NEXT_STEP`` (default; the step after the end of an episode
    ignores its action, resets and gives reward 0), ``SAME_STEP`` (the step that ends an episode returns the first
    observation of the next one, and the last one as ``info["final_obs"]``) and ``DISABLED`` (``reset`` with
    ``options={"reset_mask": mask}``).

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
        if num_envs < 1:
            raise InvalidParameter(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        self.ring = RingSpec(n, d, **options)
        self.render_mode = _check_mode(render_mode)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = _spaces(self.ring)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.state: RingState | None = None
        self._seeds = np.zeros(num_envs, dtype=np.uint64)
        self._episodes = np.full(num_envs, -1, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)

    @property
    def canonicalizer(self) -> RollToGoal:
        """The canonical form this environment declares, for ``CanonicalVectorEnv``."""
        return RollToGoal(self.ring.n, self.ring.d)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
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
        assert self.state is not None
        return observe(self.state), {}

    def _restart(self, mask: BoolArray) -> None:
        """Put the next episode in the rows of the mask."""
        self._episodes[mask] += 1
        if self.state is None:
            self.state = initial(self.ring, self._seeds, self._episodes)
        elif mask.any():
            fresh = initial(self.ring, self._seeds[mask], self._episodes[mask])
            rows = {name: getattr(self.state, name).copy() for name in ("items", "pos", "goal", "t")}
            for name, values in rows.items():
                values[mask] = getattr(fresh, name)
            self.state = RingState(self.ring, **rows)
        self._over[mask] = False

    def step(self, actions: Any) -> tuple[Observation, AnyArray, BoolArray, BoolArray, dict[str, Any]]:
        """Take one action in every game, and reset those that are over as the mode says."""
        if self.state is None:
            raise InvalidAction("step was called before reset: call reset() first")
        before, was_over, info = self.state, self._over.copy(), {}
        if self.autoreset_mode == AutoresetMode.DISABLED and was_over.any():
            raise InvalidAction(
                f"game {int(np.argmax(was_over))} is over and autoreset is disabled: reset it with "
                "options={'reset_mask': mask} first"
            )
        self.state, reward, terminated, truncated = transition(before, np.asarray(actions))
        if was_over.any():  # NEXT_STEP: this step only resets
            self._restart(was_over)
            reward[was_over], terminated[was_over], truncated[was_over] = 0.0, False, False
        self._over = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            ended = self._over.copy()
            final = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(ended):
                final[i] = _one(observe(self.state[i : i + 1]))
            info = {"final_obs": final, "_final_obs": ended, "final_info": {}, "_final_info": ended.copy()}
            self._restart(ended)
        return observe(self.state), reward, terminated, truncated, info

    def render(self) -> tuple[Any, ...] | None:
        """The pictures of all games."""
        if self.render_mode is None:
            return None
        if self.state is None:
            raise InvalidAction("render was called before reset: call reset() first")
        return tuple(_draw(self.state, i, self.render_mode) for i in range(self.num_envs))
