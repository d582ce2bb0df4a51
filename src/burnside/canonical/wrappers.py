"""Gymnasium wrappers that put a canonical form, or a random group element, between an environment and any learner.

The action a learner chooses refers to the canonical observation *it was shown*. It is therefore undone with the group
element of that observation, never with that of the one that follows; the element is computed from the observation each
time, so that autoresets need no special care.
"""

from __future__ import annotations

import copy
from typing import Any, SupportsFloat

import numpy as np

from burnside._types import AnyArray, BoolArray
from burnside.canonical.base import Canonicalizer, largest_gap, numbers, tree_map
from burnside.canonical.checking.canonicity import acts_as_group
from burnside.canonical.checking.spaces import inside
from burnside.canonical.checking.tolerance import Ruler
from burnside.canonical.construction import check_at_construction
from burnside.canonical.declared import known_symmetry
from burnside.canonical.guard import GuardedForm, guarded, theirs
from burnside.errors import InvalidAction, InvalidParameter, MissingExtra
from burnside.symmetry.acting import FunctionActing, tree_stack
from burnside.symmetry.augment import move_rows
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry
from burnside.symmetry.given import GivenGroup
from burnside.symmetry.groups import ContinuousGroup

try:
    import gymnasium as gym
    from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper
except ImportError:  # pragma: no cover - the whole module rests on it
    raise MissingExtra("gymnasium", "envs") from None

__all__ = ["AugmentedEnv", "AugmentedVectorEnv", "CanonicalEnv", "CanonicalVectorEnv"]

_LABELS = 64  # numbered actions that are tried when a wrapper is made


def _declared(env: Any, canonicalizer: Any, user: str, stacked: bool) -> tuple[Canonicalizer, EnvSymmetry | None]:
    """The canonical form that is given, that of the symmetry that is given, the one the environment declares, or that
    of the symmetry that the atlas knows; and the symmetry, where there is one.
    """
    symmetry: EnvSymmetry | None = None
    if canonicalizer is None:
        canonicalizer = getattr(env.unwrapped, "canonicalizer", None) or _of_members(env)
        if canonicalizer is None:
            canonicalizer = known_symmetry(env, user)
            if not stacked:
                seen = getattr(env, "single_observation_space", env.observation_space)
                canonicalizer.check_spaces(seen, getattr(env, "single_action_space", env.action_space))
    if _is_symmetry(canonicalizer):
        symmetry = as_symmetry(canonicalizer)
        if symmetry.canonicalizer is None:
            raise InvalidParameter(
                f"the symmetry {symmetry.name} has no canonical form: {_how_to_choose(symmetry)}, or use AugmentedEnv, "
                "which needs none"
            )
        canonicalizer = symmetry.canonicalizer
    if not isinstance(canonicalizer, Canonicalizer):
        raise InvalidParameter(
            f"a {type(canonicalizer).__name__} is not a canonicalizer: it must be callable and have act and undo "
            "(see burnside.canonical.Canonicalizer)"
        )
    _fits_actions(getattr(env, "single_action_space", env.action_space), canonicalizer)
    return canonicalizer, symmetry


def _is_symmetry(found: Any) -> bool:
    """Whether an object is a symmetry, with generators, and not itself a canonical form."""
    names = ("generators", "act_on_observation", "act_on_action")
    return not isinstance(found, Canonicalizer) and all(hasattr(found, name) for name in names)


def _fits_actions(space: Any, form: Any) -> None:
    """A form that moves numbered actions needs as many of them; one that changes signs needs vectors of that length."""
    moved, signs = getattr(form, "actions", None), getattr(form, "action_signs", None)
    on_actions = getattr(form, "on_actions", None)
    count = moved.size if isinstance(moved, np.ndarray) else getattr(on_actions, "size", None)
    if isinstance(count, int):
        if not isinstance(space, gym.spaces.Discrete):
            raise InvalidParameter(
                f"the canonical form moves {count} numbered actions, but the actions of the environment are {space}: "
                "say how the group acts on these (for SignFlip by action_signs)"
            )
        if count != space.n or space.start != 0:
            raise InvalidParameter(
                f"the canonical form moves {count} actions, the environment has {space.n}"
                f"{f', numbered from {space.start}' if space.start else ''}: give it all of them"
            )
    if isinstance(signs, np.ndarray) and (not isinstance(space, gym.spaces.Box) or space.shape[-1:] != signs.shape):
        raise InvalidParameter(
            f"the canonical form changes signs of actions that are vectors of {signs.size} numbers, but the actions of "
            f"the environment are {space}"
        )


def _of_members(env: Any) -> Canonicalizer | None:
    """What the environments inside a SyncVectorEnv declare (those of an AsyncVectorEnv are out of reach)."""
    inside = getattr(env.unwrapped, "envs", None)
    return getattr(inside[0].unwrapped, "canonicalizer", None) if inside else None


def _apply(form: GuardedForm, x: Any, frames: int | None) -> tuple[Any, Any]:
    """Canonical observation and g; ``frames`` is the axis of a frame stack, all of which share the latest one's g."""
    if frames is None:
        return form(x)
    _, g = form(tree_map(lambda leaf: np.take(leaf, -1, axis=frames), x))
    return form.act(np.expand_dims(np.asarray(g), frames), x), g


def _as_action(space: gym.Space[Any], action: Any) -> Any:
    """A plain integer for a discrete space, whose environments may use it as the key of a dictionary."""
    if not isinstance(space, gym.spaces.Discrete):
        return action
    found = np.asarray(action)
    if found.size != 1 or found.dtype.kind not in "biuf" or found.item() != int(found.item()):
        raise InvalidAction(f"an action of {space} is a whole number, got {action!r:.80}")
    return int(found.item())


def _as_observation(space: gym.Space[Any], x: Any) -> Any:
    """In the type of the space: a number for a discrete one, the dtype of the box otherwise."""
    if isinstance(space, gym.spaces.Discrete):
        return int(x)
    if isinstance(space, gym.spaces.Box):
        return np.asarray(x, dtype=space.dtype)
    return x


def _size(x: Any) -> float:
    found = np.abs(numbers(x))
    return 1.0 + float(np.max(found, initial=0.0, where=np.isfinite(found)))


def _claimed(canonicalizer: Any, symmetry: Any) -> Any:
    """The symmetry to be checked: the one that is given, in either place."""
    if symmetry is not None:
        return symmetry
    return canonicalizer if _is_symmetry(canonicalizer) else None


def _labels_fit(symmetry: Any, space: Any) -> None:
    """Refuse a symmetry that takes numbered actions to what are none: else a step far from here would fail."""
    if symmetry is None or not isinstance(space, gym.spaces.Discrete):
        return
    safe, first, count = guarded(as_symmetry(symmetry)), int(space.start), int(space.n)
    for g in safe.generators:
        for action in range(first, first + min(count, _LABELS)):
            image = safe.act_on_action(g, action)
            if not inside(space, image):
                raise InvalidAction(
                    f"{safe.name} takes action {action} to {image!r:.40}, which is none of {space}: declare how it "
                    f'acts on {count} numbered actions, as in action="labels …"'
                )


class CanonicalEnv(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """An environment that shows the canonical form of every observation, and understands actions accordingly.

    Returns are those of the wrapped environment: the same game, seen from where it always looks alike. The spaces are
    unchanged, so it goes in front of any learner.

    Args:
        env: any Gymnasium environment.
        canonicalizer: its canonical form, or a symmetry that has one; None: the one that the environment declares as
            ``env.unwrapped.canonicalizer``, else that of the symmetry that the atlas knows, which is named in the log.
        stacked: observations are frame stacks (``FrameStackObservation``), the latest frame last: all frames are moved
            by the group element of the latest.
        symmetry: what the form belongs to, for the check; default what is given as ``canonicalizer``, if that is an
            :class:`EnvSymmetry`, or what the environment declares.
        check: check the symmetry first, on a copy of the environment, with :func:`check_symmetry`. One that does not
            hold is refused, one that could not be decided gives a warning. The answer is remembered.

    The element in use is in ``info["group_element"]``. A symmetry that does not hold costs returns without a word, so
    ``check=True`` is worth its second unless you have checked before.

    >>> import gymnasium as gym, burnside.envs
    >>> env = CanonicalEnv(gym.make("burnside/Ring1D-v0", n=5))
    >>> x, info = env.reset(seed=0)
    >>> float(x[0]), info["group_element"]                          # the goal is at the origin
    (10.0, array([...]))
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        canonicalizer: Canonicalizer | EnvSymmetry | None = None,
        *,
        stacked: bool = False,
        symmetry: EnvSymmetry | None = None,
        check: bool = False,
    ) -> None:
        gym.utils.RecordConstructorArgs.__init__(
            self, canonicalizer=canonicalizer, stacked=stacked, symmetry=symmetry, check=check
        )
        gym.Wrapper.__init__(self, env)
        self.form, self.symmetry = _declared(env, canonicalizer, "CanonicalEnv", stacked)
        self._safe = GuardedForm(self.form)
        _labels_fit(_claimed(canonicalizer, symmetry), self.action_space)
        if check:
            check_at_construction(env, _claimed(canonicalizer, symmetry) or self.symmetry, self.form)
        self._frames = 0 if stacked else None
        self._g: Any = None
        # What every step asks of the spaces, asked once: a property of Gymnasium goes through all wrappers.
        self._numbered = isinstance(self.action_space, gym.spaces.Discrete)
        self._dtype = self.observation_space.dtype if isinstance(self.observation_space, gym.spaces.Box) else None

    def _show(self, x: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        x_bar, self._g = self._safe(x) if self._frames is None else _apply(self._safe, x, self._frames)
        if x_bar.__class__ is not np.ndarray or x_bar.dtype is not self._dtype:
            x_bar = _as_observation(self.observation_space, x_bar)
        return x_bar, {**info, "group_element": self._g}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset, and show the canonical form."""
        return self._show(*self.env.reset(seed=seed, options=options))

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Undo with the element of the observation that was acted on, step, and show the next canonical form."""
        if self._g is None:
            raise InvalidAction("step was called before reset: call reset() first")
        meant = self._safe.undo(action, self._g)
        if self._numbered and meant.__class__ is not int:
            meant = _as_action(self.action_space, meant)
        x, reward, terminated, truncated, info = self.env.step(meant)
        shown, info = self._show(x, info)
        return shown, reward, terminated, truncated, info


class CanonicalVectorEnv(VectorWrapper[Any, Any, Any, Any, Any]):
    """The same for vector environments, in any autoreset mode.

    With ``SAME_STEP`` the last observation of an episode, ``info["final_obs"]``, is brought to its own canonical form.
    With ``NEXT_STEP`` the action of a resetting step is ignored by the environment, so it does not matter how it is
    undone. The form must accept leading axes. ``check`` and ``symmetry`` are those of :class:`CanonicalEnv`.

    >>> import gymnasium as gym, burnside.envs
    >>> envs = CanonicalVectorEnv(gym.make_vec("burnside/Ring1D-v0", num_envs=3, n=5))
    >>> x, info = envs.reset(seed=0)
    >>> x[:, 0].tolist()
    [10.0, 10.0, 10.0]
    """

    def __init__(
        self,
        env: VectorEnv[Any, Any, Any],
        canonicalizer: Canonicalizer | EnvSymmetry | None = None,
        *,
        stacked: bool = False,
        symmetry: EnvSymmetry | None = None,
        check: bool = False,
    ) -> None:
        super().__init__(env)
        self.form, self.symmetry = _declared(env, canonicalizer, "CanonicalVectorEnv", stacked)
        self._safe = GuardedForm(self.form)
        _labels_fit(_claimed(canonicalizer, symmetry), self.single_action_space)
        if check:
            check_at_construction(env, _claimed(canonicalizer, symmetry) or self.symmetry, self.form)
        self._frames = 1 if stacked else None
        self._g: Any = None
        self._batched = False

    def _form(self, x: Any) -> tuple[Any, Any]:
        """The form of a batch. The first time, it must be that of each of its observations."""
        try:
            found = _apply(self._safe, x, self._frames)
        except InvalidParameter as error:
            if self._batched:
                raise
            raise InvalidParameter(f"{error}; {self._needs_axes()}") from None
        if not self._batched:
            frames = None if self._frames is None else 0
            for i in range(min(self.num_envs, 4)):
                alone, _ = _apply(self._safe, tree_map(lambda leaf, i=i: leaf[i], x), frames)
                try:
                    row = tree_map(lambda leaf, i=i: np.asarray(leaf)[i], found[0])
                    same = np.shape(found[1])[:1] == (self.num_envs,) and largest_gap(row, alone) <= 1e-5 * _size(alone)
                except (IndexError, KeyError, TypeError):
                    same = False
                if not same:
                    raise InvalidParameter(
                        f"the canonical form of a batch is not that of its rows; {self._needs_axes()}"
                    )
            self._batched = True
        return found

    def _needs_axes(self) -> str:
        return (
            f"in a vector environment a form gets all {self.num_envs} observations at once, along a leading axis, and "
            "returns as many elements: let it handle leading axes, or wrap the single environments in CanonicalEnv"
        )

    def _show(self, x: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        x_bar, self._g = self._form(x)
        if isinstance(self.observation_space, gym.spaces.Box):
            x_bar = np.asarray(x_bar, dtype=self.observation_space.dtype)
        info = info | {"group_element": self._g, "_group_element": np.ones(self.num_envs, dtype=np.bool_)}
        if "final_obs" in info:
            info["final_obs"] = self._final(info["final_obs"], info.get("_final_obs"))
        return x_bar, info

    def _final(self, final: AnyArray, mask: BoolArray | None) -> AnyArray:
        out = np.full(self.num_envs, None, dtype=object)
        frames = None if self._frames is None else 0
        for i in range(self.num_envs):
            if (mask is None or mask[i]) and final[i] is not None:
                x_bar, _ = _apply(self._safe, final[i], frames)
                out[i] = _as_observation(self.single_observation_space, x_bar)
        return out

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset, and show the canonical forms."""
        return self._show(*self.env.reset(seed=seed, options=options))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Undo with the elements of the observations that were acted on, step, and show the next canonical forms."""
        if self._g is None:
            raise InvalidAction("step was called before reset: call reset() first")
        x, reward, terminated, truncated, info = self.env.step(np.asarray(self._safe.undo(actions, self._g)))
        shown, info = self._show(x, info)
        return shown, reward, terminated, truncated, info


def _how_to_choose(symmetry: EnvSymmetry) -> str:
    if isinstance(symmetry.group, ContinuousGroup):
        return f"for {symmetry.group} say where the view stands and looks, EnvSymmetry(…, domain=Frame(…))"
    return "give EnvSymmetry(…, canonicalizer=…)"


def _can_augment(symmetry: EnvSymmetry, space: gym.Space[Any]) -> None:
    """Refuse a symmetry without elements or inverses, or whose inverses are wrong, as far as some actions can show."""
    if not symmetry.can_be_drawn:
        raise InvalidParameter(
            f"augmentation needs the elements and the inverse of {symmetry.name}: "
            "give EnvSymmetry(…, elements=…, inverse=…)"
        )
    _labels_fit(symmetry, space)
    space = copy.deepcopy(space)  # whose random state is the learner's
    space.seed(0)
    ruler = Ruler(1e-5, np.empty(0), 0.0, np.empty(0, dtype=np.bool_))
    fault = acts_as_group(guarded(symmetry), [], [space.sample() for _ in range(8)], space, ruler)
    if fault is not None:
        raise InvalidAction(f"{fault}; augmentation would carry out other actions than those chosen")


class AugmentedEnv(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Data augmentation: every episode is played through a random element of the group.

    The learner sees ``g·x`` and its action a is carried out as ``g⁻¹·a``, with g drawn at every reset (stream
    AUGMENT, a function of the seed and the number of the episode). Returns are unchanged; what changes is that all
    members of an orbit are seen equally often. Without a symmetry, it is the one that the environment declares or the
    atlas knows. ``check`` is that of :class:`CanonicalEnv`: without it, a symmetry that
    does not hold teaches the learner another game.

    >>> import gymnasium as gym, burnside.envs
    >>> from burnside.canonical.known import ring_translations
    >>> env = AugmentedEnv(gym.make("burnside/Ring1D-v0", n=5), ring_translations(5))
    >>> _, info = env.reset(seed=0)
    >>> info["group_element"]
    (...,)
    """

    def __init__(self, env: gym.Env[Any, Any], symmetry: EnvSymmetry | None = None, *, check: bool = False) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, symmetry=symmetry, check=check)
        gym.Wrapper.__init__(self, env)
        self.symmetry = known_symmetry(env, "AugmentedEnv") if symmetry is None else as_symmetry(symmetry)
        _can_augment(self.symmetry, self.action_space)
        if check:
            check_at_construction(env, self.symmetry, None)
        self._safe = guarded(self.symmetry)
        self._seed, self._episode = 0, -1
        self._g: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset, draw an element, and show the observation through it."""
        x, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._seed, self._episode = seed, -1
        elif self._episode < 0:
            self._seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._episode += 1
        self._g = self.symmetry.random_element(self._seed, self._episode)
        return self._show(x), info | {"group_element": self._g}

    def _show(self, x: Any) -> Any:
        return _as_observation(self.observation_space, self._safe.act_on_observation(self._g, x))

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        """Carry out ``g⁻¹·a``, and show the next observation through g."""
        if self._g is None:
            raise InvalidAction("step was called before reset: call reset() first")
        assert self._safe.inverse is not None
        meant = self._safe.act_on_action(self._safe.inverse(self._g), action)
        x, reward, terminated, truncated, info = self.env.step(_as_action(self.action_space, meant))
        return self._show(x), reward, terminated, truncated, info | {"group_element": self._g}


class AugmentedVectorEnv(VectorWrapper[Any, Any, Any, Any, Any]):
    """The same for vector environments, in any autoreset mode: every episode of every member has its own element.

    The elements are those that :class:`AugmentedEnv` around the members would draw. With ``SAME_STEP`` the last
    observation of an episode, ``info["final_obs"]``, is shown through the element of that episode.

    >>> import gymnasium as gym
    >>> envs = AugmentedVectorEnv(gym.make_vec("CartPole-v1", num_envs=3))
    >>> _, info = envs.reset(seed=0)
    >>> info["group_element"].tolist()
    [0, 1, 0]
    """

    def __init__(
        self, env: VectorEnv[Any, Any, Any], symmetry: EnvSymmetry | None = None, *, check: bool = False
    ) -> None:
        super().__init__(env)
        self.symmetry = known_symmetry(env, "AugmentedVectorEnv") if symmetry is None else as_symmetry(symmetry)
        _can_augment(self.symmetry, self.single_action_space)
        if check:
            check_at_construction(env, self.symmetry, None)
        mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
        self._mode = AutoresetMode(mode) if isinstance(mode, str) else mode
        self._seeds: list[int] = []
        self._episodes = [-1] * self.num_envs
        self._elements: list[Any] = [None] * self.num_envs
        self._over = np.zeros(self.num_envs, dtype=np.bool_)

    def _draw(self, which: BoolArray) -> None:
        """New elements for members whose episode begins."""
        for i in np.flatnonzero(which):
            self._episodes[i] += 1
            self._elements[i] = self.symmetry.random_element(self._seeds[i], self._episodes[i])

    def _moved(self, what: str, elements: list[Any], x: Any) -> Any:
        """Row i moved by element i; functions of the user's are asked row by row."""
        acting = self.symmetry.on(what)
        if not isinstance(acting, FunctionActing) and not isinstance(self.symmetry.group, GivenGroup):
            return move_rows(acting, np.stack([np.asarray(g) for g in elements]), x)
        act = self.symmetry.act_on_observation if what == "observation" else self.symmetry.act_on_action
        rows = [
            theirs(f"act_on_{what} of {self.symmetry.name}", act, g, tree_map(lambda leaf, i=i: np.array(leaf[i]), x))
            for i, g in enumerate(elements)
        ]
        return tree_stack(rows, 0)

    def _show(self, x: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        shown = self._moved("observation", self._elements, x)
        if isinstance(self.observation_space, gym.spaces.Box):
            shown = np.asarray(shown, dtype=self.observation_space.dtype)
        known = not isinstance(self.symmetry.group, GivenGroup)
        elements = np.stack([np.asarray(g) for g in self._elements]) if known else np.empty(self.num_envs, dtype=object)
        if not known:
            elements[:] = self._elements
        return shown, info | {"group_element": elements, "_group_element": np.ones(self.num_envs, dtype=np.bool_)}

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset, draw elements, and show the observations through them."""
        # before the reset, which takes the mask out of the options
        which = np.array((options or {}).get("reset_mask", np.ones(self.num_envs)), dtype=np.bool_)
        x, info = self.env.reset(seed=seed, options=options)
        fresh = np.random.SeedSequence().generate_state(self.num_envs, np.uint64).tolist() if seed is None else []
        seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else seed
        if not self._seeds:
            self._seeds = [0] * self.num_envs
        for i in np.flatnonzero(which):
            if seeds is not None and seeds[i] is not None:
                self._seeds[i], self._episodes[i] = int(seeds[i]), -1
            elif self._episodes[i] < 0:
                self._seeds[i] = fresh[i] if fresh else int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        self._draw(which)
        self._over = self._over & ~which
        return self._show(x, info)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Carry out ``g⁻¹·a`` in every member, and show what follows through the elements of their episodes."""
        if self._elements[0] is None:
            raise InvalidAction("step was called before reset: call reset() first")
        inverse = self.symmetry.inverse
        assert inverse is not None
        meant = self._moved("action", [inverse(g) for g in self._elements], actions)
        x, reward, terminated, truncated, info = self.env.step(
            np.asarray(meant) if not isinstance(meant, dict) else meant
        )
        over = np.asarray(terminated) | np.asarray(truncated)
        if "final_obs" in info:
            info = info | {"final_obs": self._final(info["final_obs"], info.get("_final_obs"))}
        if self._mode == AutoresetMode.SAME_STEP:
            self._draw(over)
        elif self._mode == AutoresetMode.NEXT_STEP:
            self._draw(self._over)  # this step began their next episodes
        self._over = over
        shown, info = self._show(x, info)
        return shown, reward, terminated, truncated, info

    def _final(self, final: AnyArray, mask: BoolArray | None) -> AnyArray:
        out = np.full(self.num_envs, None, dtype=object)
        for i in range(self.num_envs):
            if (mask is None or mask[i]) and final[i] is not None:
                moved = self.symmetry.act_on_observation(self._elements[i], final[i])
                out[i] = _as_observation(self.single_observation_space, moved)
        return out
