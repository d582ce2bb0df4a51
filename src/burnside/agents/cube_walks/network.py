"""A trained policy of a cube as search uses it, and its file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from burnside._types import AnyArray
from burnside.agents.common.cube_network import CubeNetwork
from burnside.agents.cube_walks.config import WalkConfig
from burnside.agents.cube_walks.walks import ArmForm
from burnside.envs.cube.core import CubeSpec
from burnside.nn._torch import torch
from burnside.nn.layers import Initializer
from burnside.nn.placements import FoldedPlacementNet, PlacementNet, TyingGroup

__all__ = ["CubePolicy", "load_policy", "make_net"]


def _shape(config: WalkConfig, form: ArmForm) -> tuple[TyingGroup, tuple[int, int]]:
    tied = form.arm == "equivariant"
    make = TyingGroup.conjugation if tied else TyingGroup.none
    group = make(form.world, config.sides)
    one, two = (-(-width // group.order) for width in config.hidden)
    return group, (one, two)


def make_net(config: WalkConfig, form: ArmForm, seed: int, *, plain: bool = False) -> PlacementNet:
    """A network before its first update."""
    group, channels = _shape(config, form)
    return PlacementNet(group, channels, config.blocks, Initializer([seed]), plain=plain)


class CubePolicy(CubeNetwork):
    """Which turn a walk to a state ended with, and how long it was; ``world`` are the placements of its cube."""

    FORMAT, NOUN, CONFIG = "burnside-cube-walks-1", "policy", WalkConfig

    def __init__(
        self, spec: CubeSpec, arm: str, config: WalkConfig, net: PlacementNet, seed: int | None = None
    ) -> None:
        """Wrap a network."""
        super().__init__(spec, arm, config, net, seed)
        self.form = ArmForm(config, spec, arm)
        self.world = self.form.world
        self.folded = FoldedPlacementNet(self.net)

    @classmethod
    def untrained(cls, config: WalkConfig, spec: CubeSpec, arm: str) -> PlacementNet:
        """See :class:`CubeNetwork`."""
        return make_net(config, ArmForm(config, spec, arm), 0)

    @classmethod
    def fits(cls, shapes: Mapping[str, tuple[int, ...]], config: WalkConfig, spec: CubeSpec, arm: str) -> bool:
        """See :class:`CubeNetwork`."""
        _, channels = _shape(config, ArmForm(config, spec, arm))
        layers = sum(name.startswith("layers.") for name in shapes)
        first, second = shapes.get("first", (0,)), shapes.get("layers.0", (0,))
        return (first[-1], second[-1]) == channels and layers == 1 + 2 * config.blocks

    @property
    def weights(self) -> int:
        """Number of parameters."""
        return self.net.weights

    @property
    def inverse_alike(self) -> bool:
        """Whether a state and its inverse are the same to it, up to the sides, so that a search finds the same."""
        return self.arm == "equivariant" and self.config.sides == 2

    def __call__(self, states: AnyArray) -> tuple[AnyArray, AnyArray]:
        """Log-probabilities of last turns ``(batch, sides · turns)`` and lengths ``(batch,)`` of states as placements.

        The placements of a state may come in any order.
        """
        rows = np.ascontiguousarray(states, dtype=np.uint16)
        g = None
        if self.arm in ("position", "conjugation"):
            rows, g = self.form.canonical(self.world.sorted(rows))
        scores, lengths = self.folded(rows)
        sides = scores.reshape(len(rows), self.config.sides, -1)
        found = torch.log_softmax(sides, dim=2).reshape(len(rows), -1).numpy()
        if g is not None:  # the score of g·a is that of a
            found = np.take_along_axis(found, self.form.turns[g], axis=1)
        return found, lengths.numpy() * self.config.walk


def load_policy(path: str | Path, spec: CubeSpec | None = None) -> CubePolicy:
    """A policy from a file; refuses one that was trained for another cube.

    >>> import tempfile
    >>> from burnside.agents.common.members import Member
    >>> from burnside.agents.cube_walks import WalkRun
    >>> run = WalkRun(WalkConfig.preset("smoke", states=512), CubeSpec(3), Member(0, "equivariant"))
    >>> run.run()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_policy(run.network().save(f"{folder}/p.safetensors"), CubeSpec(3)).weights
    1177
    """
    return CubePolicy.load(path, spec)
