"""The cube as a Gymnasium environment: a thin adapter around the functional core.

``burnside/Cube-v0`` takes ``n``, ``turns`` and ``goal`` as :class:`CubeSpec` does. ``reset(seed=s)`` gives the first
scramble of seed s and every further ``reset()`` the next one, so they depend on (seed, number of the episode) only.
"""

from __future__ import annotations

from typing import Any, SupportsFloat

import numpy as np

from burnside._random import Stream, randint
from burnside._types import AnyArray
from burnside.envs.adapters import NumberedEnv, check_mode
from burnside.envs.cube.core import CubeSpec, draw_ansi, is_solved, move, one_hot
from burnside.envs.cube.core import scramble as scrambled
from burnside.envs.cube.pieces import check_states
from burnside.envs.cube.render import draw_rgb
from burnside.envs.cube.symmetry import CubeCanonicalizer, CubeSymmetry
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra

try:
    import gymnasium as gym
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["CubeEnv"]

_MODES = ["ansi", "rgb_array"]
_OBSERVATIONS = ("stickers", "one-hot")


class CubeEnv(NumberedEnv):
    """One cube to solve: −1 for every turn, terminated when it is solved.

    Args:
        n: size, see :class:`CubeSpec`.
        turns: ``outer`` or ``slices``.
        goal: what counts as solved.
        scramble: turns of a scramble, or a pair (least, most) from which each episode draws uniformly. A scramble that
            ends in a goal is drawn again with one turn more.
        time_limit: turns after which an episode is truncated.
        observation: ``stickers`` (uint8 colours) or ``one-hot`` (float32).
        symmetry: what the declared canonical form uses; one with ``+inverse`` is refused, it has no action on turns.

    ``reset(options={"state": stickers})`` starts from a given state instead, which must be solvable.

    >>> import gymnasium as gym, burnside.envs.cube
    >>> env = gym.make("burnside/Cube-v0", n=3, scramble=1)
    >>> x, info = env.reset(seed=0)
    >>> info["scramble"], x.shape
    ("U'", (54,))
    >>> env.step(env.unwrapped.cube.parse("U")[0])[1:4]
    (-1.0, True, False)
    """

    metadata: dict[str, Any] = {"render_modes": _MODES, "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        n: int = 3,
        *,
        turns: str = "outer",
        goal: str | None = None,
        scramble: int | tuple[int, int] = 20,
        time_limit: int = 100,
        observation: str = "stickers",
        symmetry: str = "conjugation+mirror",
        render_mode: str | None = None,
    ) -> None:
        self.cube = CubeSpec(n, turns, goal)  # type: ignore[arg-type]
        least, most = (scramble, scramble) if isinstance(scramble, int) else scramble
        if not 1 <= least <= most <= 10_000:
            raise InvalidParameter(f"a scramble has 1 to 10 000 turns, got {scramble}")
        if time_limit < 1:
            raise InvalidParameter(f"time_limit must be at least 1, got {time_limit}")
        if observation not in _OBSERVATIONS:
            raise InvalidParameter(f"observation must be one of {', '.join(_OBSERVATIONS)}, got {observation!r}")
        _ = CubeSymmetry(self.cube, symmetry).on_moves  # refuses what is not a symmetry of the turns
        self._least, self._most, self.time_limit = int(least), int(most), int(time_limit)
        self._symmetry, self._one_hot, self.render_mode = (
            symmetry,
            observation == "one-hot",
            check_mode(render_mode, _MODES),
        )
        self.action_space = gym.spaces.Discrete(self.cube.n_moves)
        self.observation_space = (
            gym.spaces.Box(0, 1, (self.cube.n_inputs,), np.float32)
            if self._one_hot
            else gym.spaces.Box(0, 5, (self.cube.n_stickers,), np.uint8)
        )
        self.state: AnyArray | None = None
        self._t = 0

    @property
    def canonicalizer(self) -> CubeCanonicalizer:
        """The canonical form this environment declares, for ``CanonicalEnv``; for observations made of stickers."""
        if self._one_hot:
            raise InvalidParameter("the canonical form reads stickers: use observation='stickers'")
        return CubeCanonicalizer(CubeSymmetry(self.cube, self._symmetry))

    def _observe(self) -> AnyArray:
        assert self.state is not None
        return one_hot(self.cube, self.state) if self._one_hot else self.state.copy()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[AnyArray, dict[str, Any]]:
        """Scramble a solved cube, or start from ``options["state"]``; ``info["scramble"]`` has the turns."""
        self.reseed(seed)
        self._t = 0
        if options is not None and "state" in options:
            given = np.asarray(options["state"])
            check_states(self.cube, given)
            self.state = given.astype(np.uint8).reshape(self.cube.n_stickers)
            return self._observe(), {"scramble": None}
        self._episode += 1
        key = np.uint64(self._seed)
        length = self._least + int(randint(key, Stream.MISC, self._episode, self._most - self._least + 1))
        while True:
            states, moves = scrambled(self.cube, key, length, self._episode)
            if not bool(is_solved(self.cube, states[0])):
                break
            length += 1
        self.state = states[0]
        return self._observe(), {"scramble": self.cube.format(moves[0])}

    def step(self, action: Any) -> tuple[AnyArray, SupportsFloat, bool, bool, dict[str, Any]]:
        """Make one turn."""
        if self.state is None:
            raise InvalidAction("step was called before reset: call reset() first")
        if not self.action_space.contains(action):
            raise InvalidAction(f"turns are whole numbers from 0 to {self.cube.n_moves - 1}, got {action!r:.80}")
        self.state = move(self.cube, self.state, int(action))
        self._t += 1
        terminated = bool(is_solved(self.cube, self.state))
        return self._observe(), -1.0, terminated, self._t >= self.time_limit and not terminated, {}

    def render(self) -> Any:
        """The unfolded cube: text in terminal colours (``ansi``) or an image (``rgb_array``)."""
        if self.render_mode is None:
            gym.logger.warn("render() was called without a render mode: give render_mode='ansi' or 'rgb_array' to make")
            return None
        if self.state is None:
            raise InvalidAction("render was called before reset: call reset() first")
        if self.render_mode == "rgb_array":
            return draw_rgb(self.cube, self.state)
        return draw_ansi(self.cube, self.state, colour=True)
