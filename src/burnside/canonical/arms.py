"""What an arm puts in front of a batched environment: canonical forms, or features, of flat observations.

The symmetry is a :class:`~burnside.symmetry.flat.FlatSymmetry`, so that the same arms, controls and placebos work for
every batched environment, whatever its observations are before they are flat.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.canonical.declared import known_symmetry
from burnside.envs.batched import BatchedEnv, BatchStep, Box, Discrete, State
from burnside.envs.planar.scenes import PlanarScenes
from burnside.envs.planar.symmetry import PlanarSymmetry
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.symmetry.declaration import EnvSymmetry, as_symmetry
from burnside.symmetry.flat import FlatSymmetry, flat_symmetry

__all__ = ["CanonicalRows", "FeatureRows", "on_rows"]


def _same(x: Any) -> Any:
    return x


def on_rows(env: BatchedEnv, symmetry: EnvSymmetry | None = None, *, subgroup: bool = False) -> FlatSymmetry:
    """A symmetry on the flat observations of an environment.

    Args:
        env: the environment.
        symmetry: default what the environment declares, else what the atlas knows of it.
        subgroup: of a continuous group of the plane take four elements, so that all images can be listed.

    >>> from burnside.envs.gymnasium_batch import as_batched
    >>> on_rows(as_batched("CartPole-v1")).order
    2
    """
    declared = _declared(env) if symmetry is None else as_symmetry(symmetry)
    discrete = isinstance(env.action, Discrete)
    found = flat_symmetry(
        declared,
        env.obs_dim,
        env.action.n if isinstance(env.action, Discrete) else env.action.width,
        discrete=discrete,
        structured=getattr(env, "structured", _same),
        flat=getattr(env, "flat", _same),
        subgroup=subgroup,
    )
    probe = np.zeros((2, env.obs_dim), dtype=np.float32)
    try:
        moved = found.images(probe)[:, 0] if found.count else found.canonical(probe)[0]
    except (InvalidParameter, ValueError, IndexError, TypeError, KeyError) as error:
        raise InvalidParameter(f"{declared.name} does not fit the observations of {env.name}: {error}") from None
    if moved.shape != probe.shape:
        raise InvalidParameter(f"{declared.name} moves observations of shape {moved.shape[1:]}, not ({env.obs_dim},)")
    return found


def _declared(env: BatchedEnv) -> EnvSymmetry:
    if isinstance(env, RingScenes):
        from burnside.canonical.known import ring_translations

        return ring_translations(env.spec.n, env.spec.d)
    if isinstance(env, PlanarScenes) and env.frame == "world":
        return as_symmetry(PlanarSymmetry(env.spec))
    inner = getattr(env, "example", None)
    if inner is None:
        raise InvalidParameter(f"{env.name} declares no symmetry: give an EnvSymmetry")
    return known_symmetry(inner, "this arm")


@dataclass(frozen=True)
class _Rows:
    """What both have in common."""

    env: BatchedEnv
    symmetry: FlatSymmetry

    @property
    def action(self) -> Discrete | Box:
        """The actions are those of the environment."""
        return self.env.action

    def reset_batch(self, seeds: IntArray, episodes: IntArray) -> State:
        """As the environment."""
        return self.env.reset_batch(seeds, episodes)


@dataclass(frozen=True)
class CanonicalRows(_Rows):
    """A batched environment that shows canonical forms; a :class:`~burnside.envs.batched.BatchedEnv`.

    >>> from burnside.envs.gymnasium_batch import as_batched
    >>> cartpole = as_batched("CartPole-v1")
    >>> env = CanonicalRows(cartpole, on_rows(cartpole))
    >>> seen = env.observe_batch(env.reset_batch(np.zeros(8, dtype=np.int64), np.arange(8)))
    >>> bool((seen[:, 2] >= 0).all())                                # the pole leans to the right
    True
    """

    @property
    def name(self) -> str:
        """The environment and the form, for checkpoints."""
        form = repr(self.symmetry.form) if " at 0x" not in repr(self.symmetry.form) else self.symmetry.name
        return json.dumps({"canonical": [form, list(self.symmetry.columns[:1])], "of": self.env.name})

    @property
    def obs_dim(self) -> int:
        """As the environment."""
        return self.env.obs_dim

    def observe_batch(self, state: State) -> AnyArray:
        """Canonical observations."""
        return self.symmetry.canonical(self.env.observe_batch(state))[0]

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """Undo the actions with the elements of the observations they were chosen for, and step."""
        _, g = self.symmetry.canonical(self.env.observe_batch(state))
        return self.env.step_batch(state, self.symmetry.undo(action, g))


@dataclass(frozen=True)
class FeatureRows(_Rows):
    """A batched environment that also shows what its canonical form would know, without using the symmetry."""

    @property
    def name(self) -> str:
        """The environment and the symmetry, for checkpoints."""
        return json.dumps({"features": self.symmetry.name, "of": self.env.name})

    @property
    def obs_dim(self) -> int:
        """The numbers of the observation, and those of the features."""
        return self.env.obs_dim + self.symmetry.feature_width

    def observe_batch(self, state: State) -> AnyArray:
        """Observations with the features behind them."""
        seen = np.asarray(self.env.observe_batch(state), dtype=np.float32)
        return np.concatenate([seen, self.symmetry.features(seen)], axis=1)

    def step_batch(self, state: State, action: AnyArray) -> BatchStep:
        """As the environment."""
        return self.env.step_batch(state, action)
