"""The planar tasks as Gymnasium environments: thin adapters around the functional core.

``burnside/PlanarPush-v0`` and ``burnside/PlanarStack-v0`` take every field of :class:`PlanarSpec` as keyword arguments.
Observations and actions are those of the ``world`` arm; ``CanonicalEnv`` puts any other frame in front of it.
``reset(seed=s)`` starts episode 0 of seed s and every further ``reset()`` the next episode of that seed, so the scenes
depend on (seed, number of the episode) only, alone or in a batch.
"""

from __future__ import annotations

import math
from typing import Any, SupportsFloat

import numpy as np

from burnside._types import AnyArray, BoolArray, IntArray
from burnside.envs.adapters import NumberedEnv, NumberedVectorEnv, check_mode, ready
from burnside.envs.planar.core import PlanarSpec, PlanarState, reset, restart, step
from burnside.envs.planar.render import draw_rgb
from burnside.envs.planar.scenes import PlanarScenes
from burnside.envs.planar.symmetry import PlanarSymmetry
from burnside.errors import InvalidParameter, MissingExtra
from burnside.groups.rigid.frames import FrameForm

try:
    import gymnasium as gym
    from gymnasium.vector import AutoresetMode
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


class PlanarEnv(NumberedEnv):
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
        self.render_mode = check_mode(render_mode, _MODES)
        self.observation_space, self.action_space = _spaces(self.planar)
        self.state: PlanarState | None = None

    @property
    def symmetry(self) -> PlanarSymmetry:
        """The rigid motions of the plane, for ``check_symmetry``."""
        return PlanarSymmetry(self.planar)

    @property
    def canonicalizer(self) -> FrameForm:
        """The canonical form this environment declares, for ``CanonicalEnv``: the robot's frame."""
        return self.symmetry.canonicalizer

    @property
    def batched(self) -> PlanarScenes:
        """The same task for learners, see ``burnside.envs.batched``."""
        return PlanarScenes(self.planar)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Start episode 0 of a seed, or without a seed the next episode of the current one."""
        key, episode = self.next_episode(seed)
        self.state = reset(self.planar, np.uint64(key), episode)
        return self.state.x[0].copy(), {"success": False}

    def step(self, action: Any) -> tuple[AnyArray, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take one action."""
        before: PlanarState = ready(self.state, "step")
        self.state, reward, terminated, truncated, success = step(self.planar, before, np.asarray(action)[None])
        info = {"success": bool(success[0])}
        return self.state.x[0].copy(), float(reward[0]), bool(terminated[0]), bool(truncated[0]), info

    def render(self) -> Any:
        """The picture of the current scene."""
        if self.render_mode is None:
            gym.logger.warn("render() was called without a render mode: give render_mode='rgb_array' to make")
            return None
        return draw_rgb(self.planar, ready(self.state, "render").x[0])


class PlanarVectorEnv(NumberedVectorEnv):
    """Many planar scenes in one batch; row i equals a :class:`PlanarEnv` reset with seed ``seed + i``.

    >>> import gymnasium as gym, burnside.envs
    >>> envs = gym.make_vec("burnside/PlanarStack-v0", num_envs=3)
    >>> x, _ = envs.reset(seed=0)
    >>> x.shape, envs.metadata["autoreset_mode"].name
    ((3, 13), 'NEXT_STEP')
    """

    noun = "scene"
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
        self.planar = PlanarSpec(task, **options)
        super().__init__(num_envs, _spaces(self.planar), autoreset_mode, render_mode)

    @property
    def canonicalizer(self) -> FrameForm:
        """The canonical form this environment declares, for ``CanonicalVectorEnv``."""
        return PlanarSymmetry(self.planar).canonicalizer

    def first_info(self, mask: BoolArray) -> dict[str, Any]:
        """No scene is a success yet."""
        return {"success": np.zeros(self.num_envs, np.bool_), "_success": mask.copy()}

    def begin(self, seeds: AnyArray, episodes: IntArray) -> PlanarState:
        """Fresh scenes."""
        return reset(self.planar, seeds, episodes)

    def replace(self, state: PlanarState, mask: BoolArray, seeds: AnyArray, episodes: IntArray) -> PlanarState:
        """Fresh scenes in the rows of the mask."""
        return restart(self.planar, state, mask, seeds, episodes)

    def advance(
        self, state: PlanarState, actions: Any
    ) -> tuple[PlanarState, AnyArray, BoolArray, BoolArray, dict[str, AnyArray]]:
        """One step of every scene."""
        after, reward, terminated, truncated, success = step(self.planar, state, actions)
        return after, reward.astype(np.float64), terminated, truncated, {"success": success}

    def observe(self, state: PlanarState) -> AnyArray:
        """All observations."""
        return state.x.copy()

    def row(self, state: PlanarState, i: int) -> AnyArray:
        """One of them."""
        return np.array(state.x[i])

    def draw(self, state: PlanarState, i: int) -> Any:
        """The picture of a scene."""
        return draw_rgb(self.planar, state.x[i])
