"""The symmetry arm of a learner: a canonical form, or a random group element, in front of a batched environment.

The same as the Gymnasium wrappers :class:`~burnside.canonical.CanonicalEnv` and
:class:`~burnside.canonical.AugmentedEnv`, for environments whose scenes are rows of arrays. An action refers to the
observation it was chosen for, so it is undone with the group element of that observation.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import Any, cast

import numpy as np

from burnside._random import Stream, randint
from burnside._types import AnyArray, IntArray
from burnside.canonical.base import Canonicalizer, tree_map
from burnside.envs.batched import BatchedEnv, BatchStep, Box, Discrete, State
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter, UnknownName
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry

__all__ = ["AugmentedBatch", "CanonicalBatch", "form_of", "with_arm"]

#: What :func:`with_arm` knows by name.
ARMS = ("baseline", "canonical", "augment")
_ELEMENT = "arm/element"


def _same(x: Any) -> Any:
    return x


@dataclass(frozen=True)
class _Arm:
    """What both arms have in common: spaces are unchanged."""

    env: BatchedEnv

    @property
    def obs_dim(self) -> int:
        """Width of an observation."""
        return self.env.obs_dim

    @property
    def action(self) -> Discrete | Box:
        """The actions."""
        return self.env.action

    def _structured(self, flat: AnyArray) -> Any:
        """Observations as forms and symmetries know them, where the environment's flat ones differ."""
        return cast("Callable[[AnyArray], Any]", getattr(self.env, "structured", _same))(flat)

    def _flat(self, seen: Any) -> AnyArray:
        return np.asarray(getattr(self.env, "flat", _same)(seen), dtype=np.float32)

    def _named(self, arm: str, what: object) -> str:
        own = repr(what) if is_dataclass(what) and " at 0x" not in repr(what) else type(what).__name__
        return json.dumps({arm: own, "of": self.env.name})


@dataclass(frozen=True)
class CanonicalBatch(_Arm):
    """A batched environment that shows canonical forms; a :class:`~burnside.envs.batched.BatchedEnv`.

    >>> from burnside.envs.ring.symmetry import RollToGoal
    >>> from burnside.envs import RingSpec
    >>> from burnside.envs.ring.scenes import RingScenes
    >>> env = CanonicalBatch(RingScenes(RingSpec(5)), RollToGoal(5))
    >>> env.observe_batch(env.reset_batch(np.array([1]), np.array([0]))).tolist()   # the goal is at the origin
    [[10.0, -1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]

    Attributes:
        env: The environment.
        form: Its canonical form.
    """

    form: Canonicalizer

    @property
    def name(self) -> str:
        """The environment and the form, for checkpoints."""
        return self._named("canonical", self.form)

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """As the environment."""
        return self.env.reset_batch(seeds, episodes)

    def observe_batch(self, state: State) -> AnyArray:
        """Canonical observations."""
        return self._flat(self.form(self._structured(self.env.observe_batch(state)))[0])

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """Undo the actions with the elements of the observations they were chosen for, and step."""
        _, g = self.form(self._structured(self.env.observe_batch(state)))
        return self.env.step_batch(state, np.asarray(self.form.undo(action, g)))


@dataclass(frozen=True)
class AugmentedBatch(_Arm):
    """A batched environment played through a random element of the group, drawn for every episode.

    The element is a function of (seed, episode), from stream AUGMENT, as in the wrapper for Gymnasium.

    Attributes:
        env: The environment.
        symmetry: Must list its elements and know their inverses.
    """

    symmetry: EnvSymmetry

    def __post_init__(self) -> None:
        """Refuse a symmetry that cannot be drawn from."""
        found = as_symmetry(self.symmetry)
        object.__setattr__(self, "symmetry", found)
        if found.elements is None or found.inverse is None:
            raise InvalidParameter(
                f"augmentation needs the elements and the inverse of {found.name}: "
                "give EnvSymmetry(…, elements=…, inverse=…)"
            )

    @property
    def name(self) -> str:
        """The environment and the group, for checkpoints."""
        return json.dumps({"augment": self.symmetry.name, "of": self.env.name})

    def _rows(self, state: State) -> list[tuple[Any, AnyArray]]:
        """The distinct elements in use, with the rows that use them."""
        elements = self.symmetry.elements or ()
        numbers = np.asarray(state[_ELEMENT])
        return [(elements[int(k)], np.flatnonzero(numbers == k)) for k in np.unique(numbers)]

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """As the environment, with an element for every row."""
        drawn = randint(seeds, Stream.AUGMENT, episodes, len(self.symmetry.elements or ()))
        return {**self.env.reset_batch(seeds, episodes), _ELEMENT: drawn}

    def observe_batch(self, state: State) -> AnyArray:
        """Observations through the elements."""
        out = np.array(self.env.observe_batch(state), dtype=np.float32)
        for g, rows in self._rows(state):
            seen = [self._structured(out[r : r + 1]) for r in rows]
            moved = [self.symmetry.act_on_observation(g, tree_map(lambda leaf: leaf[0], x)) for x in seen]
            for r, x in zip(rows, moved, strict=True):
                out[r] = self._flat(tree_map(lambda leaf: np.asarray(leaf)[None], x))[0]
        return out

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """Carry out ``g⁻¹·a``."""
        assert self.symmetry.inverse is not None
        meant = np.array(action)
        for g, rows in self._rows(state):
            for r in rows:
                meant[r] = self.symmetry.act_on_action(self.symmetry.inverse(g), meant[r])
        own = {name: array for name, array in state.items() if name != _ELEMENT}
        step = self.env.step_batch(own, meant)
        return step._replace(state={**step.state, _ELEMENT: state[_ELEMENT]})


def with_arm(env: BatchedEnv, arm: str | Canonicalizer | EnvSymmetry | None) -> BatchedEnv:
    """An environment with what an arm does in front of it.

    Args:
        env: the environment.
        arm: ``baseline`` or None: nothing; ``canonical``: the form the environment declares; ``augment``: the symmetry
            it declares; a canonical form; or a symmetry to augment with.
    """
    if arm is None or (isinstance(arm, str) and arm == "baseline"):
        return env
    if isinstance(arm, str) and arm not in ARMS:
        raise UnknownName("arm", arm, ARMS)
    form = form_of(env, arm)
    wrapped = getattr(env, "wrapped", None)  # an adapted Gymnasium environment: the wrappers go inside the adapter
    if form is not None:
        if wrapped is None:
            return CanonicalBatch(env, form)
        from burnside.canonical.wrappers import CanonicalEnv

        return cast("BatchedEnv", wrapped(lambda inner: CanonicalEnv(inner, form), f"canonical {type(form).__name__}"))
    symmetry = arm if isinstance(arm, EnvSymmetry) else _declared_symmetry(env)
    if wrapped is None:
        return AugmentedBatch(env, symmetry)
    from burnside.canonical.wrappers import AugmentedEnv

    return cast("BatchedEnv", wrapped(lambda inner: AugmentedEnv(inner, symmetry), f"augment {symmetry.name}"))


def _declared_symmetry(env: BatchedEnv) -> EnvSymmetry:
    if not isinstance(env, RingScenes):
        raise InvalidParameter(f"{env.name} declares no symmetry to augment with: give an EnvSymmetry as the arm")
    from burnside.canonical.known import ring_translations

    return ring_translations(env.spec.n, env.spec.d)


def form_of(env: BatchedEnv, arm: str | Canonicalizer | EnvSymmetry | None) -> Canonicalizer | None:
    """The canonical form that an arm puts in front of an environment; None if it has none."""
    if isinstance(arm, str):
        if arm != "canonical":
            return None
        declared = getattr(env, "canonicalizer", None)
        if declared is None:
            raise InvalidParameter(f"{env.name} declares no canonical form: give a Canonicalizer as the arm")
        return cast("Canonicalizer", declared)
    if arm is None or isinstance(arm, EnvSymmetry):
        return None
    if not isinstance(arm, Canonicalizer):
        raise InvalidParameter(
            f"a {type(arm).__name__} is not an arm: give {', '.join(ARMS)}, a Canonicalizer or an EnvSymmetry"
        )
    return arm
