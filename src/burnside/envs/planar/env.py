"""The planar tasks as Gymnasium environments: thin adapters around the functional core.

``burnside/PlanarPush-v0`` and ``burnside/PlanarStack-v0`` take every field of :class:`PlanarSpec` as keyword arguments.
Observations and actions are those of the ``world`` arm; ``CanonicalEnv`` puts any other frame in front of it.
``reset(seed=s)`` starts episode 0 of seed s and every further ``reset()`` the next episode of that seed, so the scenes
depend on (seed, number of the episode) only, alone or in a batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, SupportsFloat

import numpy as np

from burnside._types import AnyArray, BoolArray
from burnside.envs.planar.core import PlanarSpec, PlanarState, reset, restart, step
from burnside.envs.planar.render import draw_rgb
from burnside.envs.planar.symmetry import PlanarSymmetry
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra
from burnside.groups.rigid.frames import FrameForm

try:
    import gymnasium as gym
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["PlanarEnv", "PlanarVectorEnv", "VelocitySpace"]

_MODES = ["rgb_array"]
_LIMIT = 2.0  # of commands; velocities and turn rates beyond 1 are clipped


class VelocitySpace(gym.spaces.Box):
    """Commands whose velocity lies in a disc of radius 2, which rotations map to itself, and the others in [−2, 2].

    To learners it is the box around it. Sampled commands go beyond the clipping at 1, so that a random walk shows
    whether the clipping is symmetric.

    >>> space = VelocitySpace(3, np.float32, seed=0)
    >>> space.contains(space.sample()), space.contains(np.array([1.9, 1.9, 0], np.float32))
    (True, False)
    """

    def __init__(self, width: int, dtype: Any = np.float32, seed: Any = None) -> None:
        super().__init__(-_LIMIT, _LIMIT, (width,), dtype, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """A command, its velocity uniform in the disc."""
        if mask is not None or probability is not None:
            raise InvalidParameter("commands cannot be sampled with a mask or with probabilities")
        out = self.np_random.uniform(-_LIMIT, _LIMIT, self.shape)
        angle, radius = self.np_random.uniform(0, 2 * math.pi), _LIMIT * math.sqrt(self.np_random.uniform())
        out[:2] = radius * math.cos(angle), radius * math.sin(angle)
        return out.astype(self.dtype)

    def contains(self, x: Any) -> bool:
        """Whether x is a command; rounding is allowed for."""
        found = np.asarray(x)
        if found.shape != self.shape or found.dtype.kind != "f":
            return False
        return bool(np.hypot(found[0], found[1]) <= _LIMIT + 1e-5 and (np.abs(found[2:]) <= _LIMIT + 1e-5).all())


def _spaces(spec: PlanarSpec) -> tuple[gym.Space[Any], gym.Space[Any]]:
    """Observation and action space of one scene; the bounds hold whatever the robot does in an episode."""
    far = 2 * (math.sqrt(2) * spec.spread[0] + 2.0 + math.sqrt(2) * spec.fast * spec.horizon)
    high = np.ones(spec.obs_dim)
    for name in spec.layout.of_kind("point"):
        high[spec.layout.slice(name)] = far
    high = high.astype(spec.dtype)
    return gym.spaces.Box(-high, high, dtype=np.dtype(spec.dtype)), VelocitySpace(spec.action_dim, spec.dtype)


def _check_mode(render_mode: str | None) -> str | None:
    if render_mode is not None and render_mode not in _MODES:
        raise InvalidParameter(f"render_mode must be one of {', '.join(_MODES)} or None, got {render_mode!r}")
    return render_mode


class PlanarEnv(gym.Env[Any, Any]):
    """One planar scene.

    >>> import gymnasium as gym, burnside.envs
    >>> env = gym.make("burnside/PlanarPush-v0", spread=(1.0, 3.14))
    >>> x, info = env.reset(seed=3)
    >>> x.shape, x.dtype, info
    ((8,), dtype('float32'), {'success': False})
    >>> x, reward, terminated, truncated, info = env.step(env.action_space.sample())
    >>> terminated, truncated
    (False, False)
    """

    metadata: dict[str, Any] = {"render_modes": _MODES, "render_fps": 20}  # noqa: RUF012

    def __init__(self, task: str = "push", *, render_mode: str | None = None, **options: Any) -> None:
        self.planar = PlanarSpec(task, **options)
        self.render_mode = _check_mode(render_mode)
        self.observation_space, self.action_space = _spaces(self.planar)
        self.state: PlanarState | None = None
        self._seed, self._episode = 0, -1

    @property
    def symmetry(self) -> PlanarSymmetry:
        """The rigid motions of the plane, for ``check_symmetry``."""
        return PlanarSymmetry(self.planar)

    @property
    def canonicalizer(self) -> FrameForm:
        """The canonical form this environment declares, for ``CanonicalEnv``: the robot's frame."""
        return self.symmetry.canonicalizer

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Start episode 0 of a seed, or without a seed the next episode of the current one."""
        super().reset(seed=seed)
        if seed is not None or self._episode < 0:
            # Gymnasium draws 128 bits where no seed was given; ours are 64
            self._seed, self._episode = int(self.np_random_seed or 0) % 2**64, -1
        self._episode += 1
        self.state = reset(self.planar, np.uint64(self._seed), self._episode)
        return self.state.x[0].copy(), {"success": False}

    def step(self, action: Any) -> tuple[AnyArray, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take one action."""
        if self.state is None:
            raise InvalidAction("step was called before reset: call reset() first")
        self.state, reward, terminated, truncated, success = step(self.planar, self.state, np.asarray(action)[None])
        info = {"success": bool(success[0])}
        return self.state.x[0].copy(), float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Any:
        """The picture of the current scene."""
        if self.render_mode is None:
            gym.logger.warn("render() was called without a render mode: give render_mode='rgb_array' to make")
            return None
        if self.state is None:
            raise InvalidAction("render was called before reset: call reset() first")
        return draw_rgb(self.planar, self.state.x[0])


class PlanarVectorEnv(VectorEnv[Any, Any, Any]):
    """Many planar scenes in one batch; row i equals a :class:`PlanarEnv` reset with seed ``seed + i``.

    All three autoreset modes of Gymnasium 1.x are kept to: ``NEXT_STEP`` (default; the step after the end of an episode
    ignores its action, resets and gives reward 0), ``SAME_STEP`` (the step that ends an episode returns the first
    observation of the next one, and the last one as ``info["final_obs"]``) and ``DISABLED`` (``reset`` with
    ``options={"reset_mask": mask}``).

    >>> import gymnasium as gym, burnside.envs
    >>> envs = gym.make_vec("burnside/PlanarStack-v0", num_envs=3)
    >>> x, _ = envs.reset(seed=0)
    >>> x.shape, envs.metadata["autoreset_mode"].name
    ((3, 13), 'NEXT_STEP')
    """

    metadata: dict[str, Any] = {"render_modes": _MODES, "render_fps": 20, "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        task: str = "push",
        *,
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        if num_envs < 1:
            raise InvalidParameter(f"num_envs must be at least 1, got {num_envs}")
        self.num_envs = num_envs
        self.planar = PlanarSpec(task, **options)
        self.render_mode = _check_mode(render_mode)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        self.single_observation_space, self.single_action_space = _spaces(self.planar)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.state: PlanarState | None = None
        self._seeds = np.zeros(num_envs, dtype=np.uint64)
        self._episodes = np.full(num_envs, -1, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)

    @property
    def canonicalizer(self) -> FrameForm:
        """The canonical form this environment declares, for ``CanonicalVectorEnv``."""
        return PlanarSymmetry(self.planar).canonicalizer

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Reset all scenes, or those of ``options["reset_mask"]``; a seed s means s, s + 1, … for the rows."""
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
        return self.state.x.copy(), {"success": np.zeros(self.num_envs, np.bool_), "_success": mask.copy()}

    def _restart(self, mask: BoolArray) -> None:
        """Put the next episode in the rows of the mask."""
        self._episodes[mask] += 1
        if self.state is None:
            self.state = reset(self.planar, self._seeds, self._episodes)
        else:
            self.state = restart(self.planar, self.state, mask, self._seeds, self._episodes)
        self._over[mask] = False

    def step(self, actions: Any) -> tuple[AnyArray, AnyArray, BoolArray, BoolArray, dict[str, Any]]:
        """Take one action in every scene, and reset those that are over as the mode says."""
        if self.state is None:
            raise InvalidAction("step was called before reset: call reset() first")
        was_over = self._over.copy()
        if self.autoreset_mode == AutoresetMode.DISABLED and was_over.any():
            raise InvalidAction(
                f"scene {int(np.argmax(was_over))} is over and autoreset is disabled: reset it with "
                "options={'reset_mask': mask} first"
            )
        self.state, reward, terminated, truncated, success = step(self.planar, self.state, actions)
        reward = reward.astype(np.float64)
        if was_over.any():  # NEXT_STEP: this step only resets
            self._restart(was_over)
            reward[was_over], terminated[was_over], truncated[was_over], success[was_over] = 0.0, False, False, False
        self._over = terminated | truncated
        info: dict[str, Any] = {"success": success, "_success": np.ones(self.num_envs, np.bool_)}
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            ended = self._over.copy()
            final = np.full(self.num_envs, None, dtype=object)
            for i in np.flatnonzero(ended):
                final[i] = self.state.x[i].copy()
            last = {"success": success & ended, "_success": ended.copy()}
            info |= {"final_obs": final, "_final_obs": ended, "final_info": last, "_final_info": ended.copy()}
            self._restart(ended)
            info["success"] = success & ~ended
        return self.state.x.copy(), reward, terminated, truncated, info

    def render(self) -> tuple[Any, ...] | None:
        """The pictures of all scenes."""
        if self.render_mode is None:
            return None
        if self.state is None:
            raise InvalidAction("render was called before reset: call reset() first")
        return tuple(draw_rgb(self.planar, x) for x in self.state.x)
