"""What policies and buffers of Stable-Baselines3 need of a declaration: finite, by representations, for its spaces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from burnside._types import FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.nn.tensor_action import TensorAction, VectorAction, action_on
from burnside.symmetry.affine import affine
from burnside.symmetry.base import Map
from burnside.symmetry.concrete import flat_maps
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.vectors import SignedPermutation

__all__ = ["Plan"]

_LARGEST = 256  # elements for which hidden units are made


@dataclass(frozen=True)
class Plan:
    """What is done with the symmetry inside a policy, and the symmetry in the form that it takes.

    Attributes:
        arm: averaging, equivariant, relaxed or mirror-loss.
        symmetry: finite and by representations, on the spaces that the policy sees.
        observation_space: that of the policy.
        action_space: that of the policy.
        relaxation: α of the relaxed layers.
        mirror_coefficient: weight of the mirror loss.
    """

    arm: str
    symmetry: EnvSymmetry
    observation_space: Any
    action_space: Any
    relaxation: float = 0.1
    mirror_coefficient: float = 1.0

    @property
    def order(self) -> int:
        """How many elements the group has."""
        return int(self.symmetry.on("observation").group.order or 0)

    def on_observations(self) -> TensorAction:
        """On observations as networks see them."""
        return action_on(self.symmetry.on("observation"), self.observation_space)

    def on_outputs(self) -> TensorAction:
        """On the outputs of a network for actions: means, logits, Q-values."""
        return VectorAction(self.output_maps)

    def on_sizes(self) -> TensorAction:
        """On standard deviations: they move with their actions, without signs."""
        return VectorAction([SignedPermutation(m.index, np.ones(m.index.size)) for m in self._signed_outputs])

    # ------------------------------------------------------------------ for equivariant layers

    @cached_property
    def output_maps(self) -> list[Map]:
        """On the outputs of a network for actions, element by element."""
        return flat_maps(self.symmetry.on("action"), self.action_space, logits=True)

    @property
    def _signed_outputs(self) -> list[Any]:
        return list(self.output_maps)

    @cached_property
    def table(self) -> IntArray:
        """The multiplication table of the group."""
        if self.order > _LARGEST:
            raise InvalidParameter(
                f"{self.symmetry.name} has {self.order} elements, and hidden units come in sets of as many: use the "
                "arm 'augment' with mode='equal-minibatch', or declare a subgroup"
            )
        elements = np.arange(self.order)
        return np.asarray(self.symmetry.on("observation").group.compose(elements[:, None], elements[None]))

    @property
    def trivial(self) -> FloatArray:
        """On one number that nothing changes: a value."""
        return np.ones((self.order, 1, 1))

    @cached_property
    def feature_matrices(self) -> FloatArray:
        """On flat features, ``(order, features, features)``."""
        return _matrices(flat_maps(self.symmetry.on("observation"), self.observation_space), "observation")

    @cached_property
    def output_matrices(self) -> FloatArray:
        """On means, logits or Q-values."""
        return _matrices(self.output_maps, "action")

    @cached_property
    def size_matrices(self) -> FloatArray:
        """On standard deviations."""
        return np.abs(self.output_matrices)

    @cached_property
    def shared_sizes(self) -> FloatArray:
        """The projection that gives actions which are mixed by some element one standard deviation.

        A diagonal covariance commutes with orthogonal matrices if it is a multiple of one on each such set.
        """
        from scipy.sparse.csgraph import connected_components

        linear = np.stack([affine(m).linear for m in self.output_maps])
        if not np.allclose(linear @ np.swapaxes(linear, 1, 2), np.eye(linear.shape[-1]), atol=1e-6):
            raise InvalidParameter(
                f"{self.symmetry.name} stretches actions, so no Gaussian noise follows it: scale the actions"
            )
        _, label = connected_components(np.abs(linear).max(0) > 1e-9, directed=False)
        same = (label[:, None] == label[None]).astype(np.float64)
        return same / same.sum(1, keepdims=True)


def _matrices(maps: list[Map], what: str) -> FloatArray:
    found = []
    for m in maps:
        general = affine(m)
        if general.folding or general.offset.any():
            raise InvalidParameter(
                f"the {what} has angles, phases or quaternions, which equivariant layers cannot take: give cosine and "
                "sine instead, or use the arm 'averaging'"
            )
        found.append(general.linear)
    return np.stack(found)
