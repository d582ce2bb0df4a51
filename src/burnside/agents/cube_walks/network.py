"""A trained policy of a cube as search uses it, and its file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from burnside._types import AnyArray
from burnside.agents.cube_walks.config import WalkConfig
from burnside.agents.cube_walks.walks import ArmForm
from burnside.envs.cube.core import CubeSpec
from burnside.errors import DamagedFile, InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.layers import Initializer
from burnside.nn.placements import FoldedPlacementNet, PlacementNet, TyingGroup
from burnside.nn.tensors import TensorFile, open_tensors, write_tensors

__all__ = ["CubePolicy", "load_policy", "make_net"]

_FORMAT = "burnside-cube-walks-1"


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


class CubePolicy:
    """Which turn a walk to a state ended with, and how long it was.

    Attributes:
        spec: The cube; for outer turns and n > 3 the network of the 3-cube serves.
        arm: How states are shown to the network.
        config: The settings it was made with.
        net: The network, in evaluation mode.
        seed: The seed of the run it comes from, if known.
        world: The placements of the cube.
    """

    def __init__(
        self, spec: CubeSpec, arm: str, config: WalkConfig, net: PlacementNet, seed: int | None = None
    ) -> None:
        """Wrap a network."""
        self.spec, self.arm, self.config, self.net, self.seed = spec, arm, config, net.eval(), seed
        self.form = ArmForm(config, spec, arm)
        self.world = self.form.world
        self.folded = FoldedPlacementNet(self.net)

    @property
    def weights(self) -> int:
        """Number of parameters."""
        return self.net.weights

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

    def save(self, path: str | Path) -> Path:
        """Write it as safetensors, with what it is for in the metadata; atomic."""
        about = {
            "format": _FORMAT,
            "n": str(self.spec.n),
            "turns": self.spec.turns,
            "goal": self.spec.goal,
            "arm": self.arm,
            "config": json.dumps(self.config.to_json()),
        }
        if self.seed is not None:
            about["seed"] = str(self.seed)
        return write_tensors(path, self.net.state_dict(), about)


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
    file = open_tensors(path)
    name, about = file.path.name, file.about
    if about.get("format") != _FORMAT:
        raise DamagedFile(f"{name} holds no policy of a cube, or one of another format: train or copy it again")
    try:
        found, arm = CubeSpec(int(about["n"]), about["turns"], about["goal"]), about["arm"]
        seed = int(about["seed"]) if "seed" in about else None
        config = WalkConfig.from_json(file.settings("config"))
        form = ArmForm(config, found, arm)
        _check_shapes(file, config, form)
    except (KeyError, TypeError, ValueError, LookupError, OverflowError) as error:
        raise error if isinstance(error, DamagedFile) else file.damaged(str(error)) from None
    if spec is not None and found != spec:
        raise InvalidParameter(f"the network {name} was trained for {_words(found)}, not for {_words(spec)}")
    net = make_net(config, form, 0)
    try:
        net.load_state_dict(file.tensors())
    except RuntimeError:
        raise file.damaged("its tensors do not fit its settings") from None
    return CubePolicy(found, arm, config, net, seed)


def _check_shapes(file: TensorFile, config: WalkConfig, form: ArmForm) -> None:
    """Compare the settings with the tensors before a network is made of them: of any size that the settings say."""
    _, channels = _shape(config, form)
    layers = sum(name.startswith("layers.") for name in file.shapes)
    first, second = file.shapes.get("first", (0,)), file.shapes.get("layers.0", (0,))
    if (first[-1], second[-1]) != channels or layers != 1 + 2 * config.blocks:
        raise file.damaged("its tensors do not fit its settings")


def _words(spec: CubeSpec) -> str:
    return f"n={spec.n}, {spec.turns} turns, goal {spec.goal}"
