"""Any Gymnasium environment as a batched one: a copy of it for every scene, and the actions so far as its state.

An environment keeps its state to itself, so a scene is described by what led to it: the seed of its reset and the
actions since. That is a plain array, which a checkpoint can hold. After resuming, the actions are played again from the
seeded reset; if the observation that comes out differs from the one that was seen, the environment is not a function of
its seed and the run stops with an error. So episode e of seed s is the same alone, among others, and after resuming.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import AnyArray, IntArray
from burnside.envs.batched import BatchedEnv, BatchStep, Box, Discrete, State
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra

try:
    import gymnasium as gym
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["GymnasiumBatch", "as_batched", "scenes_of"]

#: Longest episode of an environment that does not say: its actions have to fit into the state.
LIMIT = 10_000
#: Wrappers that change nothing a learner can see.
_TRANSPARENT = ("OrderEnforcing", "PassiveEnvChecker")


@dataclass
class _Live:
    """A copy of the environment in the middle of an episode."""

    env: Any
    t: int


class GymnasiumBatch:
    """Scenes of a Gymnasium environment; a :class:`~burnside.envs.batched.BatchedEnv`.

    Observations are flattened as ``gymnasium.spaces.flatten`` does; actions are ``Discrete``, or a ``Box`` to whose
    bounds they are clipped. An episode counts as a success where the last ``info`` says so (``is_success``,
    ``success``).

    Args:
        make: Makes a copy of the environment.
        name: What a checkpoint must agree on; default: the environment's own name with its wrappers and arguments.
        threads: Scenes are stepped in that many threads, with the same results. That helps one run on free cores where
            a step is mostly physics, during which Python is free for another thread; ``make bench`` measures it
            (it helps Ant, and makes Reacher slower).

    >>> env = GymnasiumBatch(lambda: gym.make("CartPole-v1"))
    >>> state = env.reset_batch(np.array([0, 0]), np.array([0, 1]))
    >>> env.obs_dim, env.action, env.step_batch(state, np.array([1, 0])).reward.tolist()
    (4, Discrete(n=2), [1.0, 1.0])
    """

    def __init__(self, make: Callable[[], Any], name: str | None = None, *, threads: int = 1) -> None:
        if threads < 1:
            raise InvalidParameter(f"threads is {threads}: give at least 1")
        first = make()
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads - 1, thread_name_prefix="scenes") if threads > 1 else None
        self._make, self._free, self._live = make, [first], dict[tuple[int, int], _Live]()
        self._lock = threading.Lock()  # learners in other threads may share the copies
        self._seen, self._acts = first.observation_space, first.action_space
        if isinstance(self._acts, gym.spaces.Discrete):
            self.action: Discrete | Box = Discrete(int(self._acts.n))
        elif isinstance(self._acts, gym.spaces.Box):
            bounds = (tuple(np.ravel(b).astype(float).tolist()) for b in (self._acts.low, self._acts.high))
            self.action = Box(int(np.prod(self._acts.shape)), *bounds)
        else:
            raise InvalidParameter(f"actions are {self._acts}: the learners take Discrete and Box")
        if not self._seen.is_np_flattenable:
            raise InvalidParameter(f"observations are {self._seen}: the learners take what can be flattened")
        self.obs_dim = int(gym.spaces.flatdim(self._seen))
        spec = first.spec
        self.limit = int(getattr(spec, "max_episode_steps", None) or LIMIT)
        self.name = name or f"{first} {getattr(spec, 'kwargs', None) or ''}".strip()
        self.canonicalizer = getattr(first.unwrapped, "canonicalizer", None)  # what the environment declares

    def wrapped(self, wrapper: Callable[[Any], Any], what: str) -> GymnasiumBatch:
        """The same environment inside a wrapper."""
        make = self._make
        return GymnasiumBatch(lambda: wrapper(make()), f"{what} of {self.name}", threads=self._threads)

    def _flat(self, x: Any) -> AnyArray:
        found = np.asarray(gym.spaces.flatten(self._seen, x), dtype=np.float32)
        if found.shape != (self.obs_dim,):  # a single number would silently fill a whole row
            raise InvalidParameter(
                f"{self.name} shows an observation of {found.size} numbers, but its space, {self._seen}, "
                f"has {self.obs_dim}"
            )
        return found

    @property
    def example(self) -> Any:
        """A copy of the environment, to be asked but not to be stepped."""
        if not self._free:
            self._free.append(self._make())
        return self._free[0]

    def structured(self, flat: AnyArray) -> Any:
        """Rows as observations with their own shapes, all rows at once; the inverse of :meth:`flat`."""
        return _unflatten(self._seen, np.asarray(flat))

    def flat(self, seen: Any) -> AnyArray:
        """Observations with leading rows as flat rows."""
        return _flatten(self._seen, seen)

    def as_rows(self, x: Any) -> tuple[AnyArray, bool]:
        """One observation, or a batch of arrays, as flat rows; and whether it was one."""
        if isinstance(self._seen, gym.spaces.Box) and np.shape(x)[1:] == self._seen.shape:
            return np.asarray(x, dtype=np.float32).reshape(len(x), -1), False
        return self._flat(x)[None], True

    def given(self, action: AnyArray) -> Any:
        """An action as the environment takes it."""
        if isinstance(self._acts, gym.spaces.Discrete):
            return self._acts.dtype.type(int(action) + int(self._acts.start))
        box = self._acts
        return np.clip(np.asarray(action, dtype=box.dtype).reshape(box.shape), box.low, box.high)

    def _begin(self, seed: int, episode: int) -> AnyArray:
        """Reset a copy to an episode; the seed of the reset has 31 bits, which all environments take."""
        live = self._live.pop((seed, episode), None)
        env = live.env if live is not None else self._free.pop() if self._free else self._make()
        x, _ = env.reset(seed=int(hash_u64(seed, Stream.ENV, episode)) >> 33)
        self._live[seed, episode] = _Live(env, 0)
        return self._flat(x)

    def _at(self, seed: int, episode: int, t: int, history: AnyArray, seen: AnyArray) -> _Live:
        """The copy that is at a moment of an episode, brought there by playing its actions again if need be."""
        live = self._live.get((seed, episode))
        if live is None or live.t != t:
            x = self._begin(seed, episode)
            live = self._live[seed, episode]
            for action in history[:t]:
                x = self._flat(live.env.step(self.given(action))[0])
            live.t = t
            if not np.array_equal(x, seen):
                raise InvalidParameter(
                    f"{self.name} cannot be resumed: played again from its seed, episode {episode} shows something "
                    f"else after {t} steps; its randomness must come from reset(seed=…)"
                )
        return live

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """Fresh episodes."""
        with self._lock:
            seen = [self._begin(int(s), int(e)) for s, e in zip(seeds, episodes, strict=True)]
        discrete = isinstance(self.action, Discrete)
        shape = (len(seen), self.limit) if discrete else (len(seen), self.limit, getattr(self.action, "width", 1))
        return {
            "seed": np.array(seeds, dtype=np.int64),
            "episode": np.array(episodes, dtype=np.int64),
            "t": np.zeros(len(seen), dtype=np.int64),
            "seen": np.array(seen, dtype=np.float32).reshape(len(seen), self.obs_dim),
            "history": np.zeros(shape, dtype=np.int32 if discrete else np.float32),
        }

    def observe_batch(self, state: State) -> AnyArray:
        """What the environments showed last."""
        return np.asarray(state["seen"])

    def _steps(self, lives: Sequence[_Live], given: Sequence[Any]) -> list[Any]:
        """What every copy answers: a share of them in every thread, the first share in this one."""
        rows = list(zip(lives, given, strict=True))
        size = -(-len(rows) // self._threads)

        def share(begin: int) -> list[Any]:
            return [live.env.step(action) for live, action in rows[begin : begin + size]]

        if self._pool is None:
            return share(0)
        others = [self._pool.submit(share, begin) for begin in range(size, len(rows), size)]
        return share(0) + [answer for other in others for answer in other.result()]

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """One step of every scene."""
        rows = len(state["t"])
        seen, history, t = np.array(state["seen"]), np.array(state["history"]), np.array(state["t"])
        reward = np.zeros(rows)
        terminated, truncated, success = (np.zeros(rows, dtype=np.bool_) for _ in range(3))
        with self._lock:
            if (t >= self.limit).any():
                raise InvalidAction(
                    f"an episode of {self.name} is longer than {self.limit} steps: give it a time limit "
                    "(gymnasium.make(…, max_episode_steps=…))"
                )
            keys = [(int(seed), int(episode)) for seed, episode in zip(state["seed"], state["episode"], strict=True)]
            history[np.arange(rows), t] = action
            # an episode that stands in two rows is played again for the second one, so these go one after the other
            for part in [range(rows)] if len(set(keys)) == rows else [range(i, i + 1) for i in range(rows)]:
                lives = [self._at(*keys[i], int(t[i]), history[i], seen[i]) for i in part]
                answers = self._steps(lives, [self.given(history[i, t[i]]) for i in part])
                for i, live, (x, gain, over, cut, info) in zip(part, lives, answers, strict=True):
                    t[i] += 1
                    live.t += 1
                    seen[i], reward[i], terminated[i], truncated[i] = self._flat(x), gain, over, cut and not over
                    success[i] = bool(info.get("is_success", info.get("success", False)))
                    if over or cut:
                        self._free.append(self._live.pop(keys[i]).env)
        after = {**state, "seen": seen, "history": history, "t": t}
        return BatchStep(after, reward, terminated, truncated, success)


def _unflatten(space: Any, rows: AnyArray) -> Any:
    """Flat rows as points of a space, with the rows as leading axis; numbers of a Discrete space are one-hot."""
    if isinstance(space, gym.spaces.Box):
        return rows.reshape(len(rows), *space.shape)
    if isinstance(space, gym.spaces.Discrete):
        return rows.argmax(axis=1) + int(space.start)
    if isinstance(space, gym.spaces.Dict):
        parts = np.split(rows, np.cumsum([gym.spaces.flatdim(part) for part in space.values()])[:-1], axis=1)
        return {key: _unflatten(part, own) for (key, part), own in zip(space.items(), parts, strict=True)}
    if isinstance(space, gym.spaces.MultiBinary):
        return rows.reshape(len(rows), *space.shape)
    raise InvalidParameter(f"observations in {space} have no symmetry on flat rows: use Box, Discrete or Dict of these")


def _flatten(space: Any, seen: Any) -> AnyArray:
    if isinstance(space, gym.spaces.Dict):
        return np.concatenate([_flatten(part, seen[key]) for key, part in space.items()], axis=1)
    found = np.asarray(seen)
    if isinstance(space, gym.spaces.Discrete):
        return np.eye(int(space.n), dtype=np.float32)[found - int(space.start)]
    return found.reshape(len(found), -1)


def _native(env: Any) -> BatchedEnv | None:
    """The batched form an environment of this package has of its own, if nothing that matters is wrapped around it."""
    inner = env
    while hasattr(inner, "env") and type(inner).__name__ in _TRANSPARENT:
        inner = inner.env
    found = getattr(inner, "batched", None)
    return found if isinstance(found, BatchedEnv) else None


def as_batched(env: Any) -> BatchedEnv:
    """A batched environment from an id, a Gymnasium environment or vector environment, or a function that makes one.

    The environments of this package are batched natively. An environment that is given as an object is copied.

    >>> as_batched("CartPole-v1").obs_dim, type(as_batched("burnside/Ring1D-v0")).__name__
    (4, 'RingScenes')
    """
    if isinstance(env, BatchedEnv):
        return env
    if isinstance(env, str):
        import burnside.envs  # noqa: F401  # registers the environments of this package

        name = env
        try:
            return _native(gym.make(name)) or GymnasiumBatch(lambda: gym.make(name))
        except gym.error.Error as error:
            raise InvalidParameter(f"there is no environment {name!r}: {error}") from None
    if isinstance(env, gym.vector.VectorEnv):
        if (found := _native(env)) is not None:
            return found
        inside, spec = getattr(env, "envs", None), getattr(env, "spec", None)
        if inside:
            env = inside[0]
        elif spec is not None:  # one that is vectorised by itself
            own = {k: v for k, v in (spec.kwargs or {}).items() if k not in ("num_envs", "vectorization_mode")}
            return GymnasiumBatch(lambda: gym.make(spec.id, **own))
        else:
            raise InvalidParameter(f"the environments inside {env} are out of reach: give one of them, or its id")
    if isinstance(env, gym.Env):
        if (found := _native(env)) is not None:
            return found
        try:
            original = copy.deepcopy(env)
        except Exception as error:
            raise InvalidParameter(
                f"{env} cannot be copied ({type(error).__name__}: {error}): give its id, or a function that makes one"
            ) from None
        return GymnasiumBatch(lambda: copy.deepcopy(original))
    if callable(env):
        return GymnasiumBatch(env)
    raise InvalidParameter(f"a {type(env).__name__} is not an environment: give an id, an environment or a factory")


def scenes_of(env: Any) -> int | None:
    """How many scenes a vector environment asks for; None if it is not one."""
    return int(env.num_envs) if isinstance(env, gym.vector.VectorEnv) else None
