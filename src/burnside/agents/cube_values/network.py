"""A trained value network as others use it: values of states, the canonical form of its arm, a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.cube_values.config import DaviConfig, arm_symmetry
from burnside.envs.cube.core import CubeSpec, as_array, is_torch
from burnside.envs.cube.symmetry import CubeCanonicalizer, CubeSymmetry
from burnside.errors import DamagedFile, InvalidModel, InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.cube_equivariant import EquivariantValue
from burnside.nn.layers import Initializer
from burnside.nn.residual import FoldedValue, ResidualValue
from burnside.nn.tensors import TensorFile, open_tensors, write_tensors

__all__ = ["CubeValue", "load_network", "make_network"]

_FORMAT = "burnside cube value 1"


def make_network(config: DaviConfig, spec: CubeSpec, arm: str, seeds: list[int]) -> ResidualValue:
    """The network of an arm before training, one member per seed.

    >>> net = make_network(DaviConfig.preset("smoke"), CubeSpec(2), "equivariant", [0])
    >>> net(torch.zeros(1, 3, 24, dtype=torch.uint8)).shape
    torch.Size([1, 3])
    """
    symmetry = arm_symmetry(config, spec, arm)
    init = Initializer(seeds)
    if arm == "equivariant":
        assert symmetry is not None
        return EquivariantValue(symmetry, config.hidden, config.blocks, init)
    return ResidualValue(spec, config.hidden, config.blocks, init)


def arm_form(config: DaviConfig, spec: CubeSpec, arm: str) -> CubeCanonicalizer | None:
    """The canonical form under which the values of an arm are constant; None where they are not."""
    symmetry = arm_symmetry(config, spec, arm)
    return None if symmetry is None or arm == "augment" else CubeCanonicalizer(symmetry)


class CubeValue:
    """Estimated distances to the goal, by one network under one arm.

    >>> config = DaviConfig.preset("smoke")
    >>> value = CubeValue(CubeSpec(3), "conjugation", config, make_network(config, CubeSpec(3), "conjugation", [0]))
    >>> value.value_fn(np.zeros((4, 54), dtype=np.uint8)).shape, value.canonicalizer.symmetry.order
    ((4,), 48)

    Attributes:
        spec: The cube.
        arm: How states are shown to the network.
        config: The settings it was made with.
        net: The network, one member, in evaluation mode; :meth:`fold` after changing it.
        seed: The seed of the run it comes from, if known.
        canonicalizer: A form under which its values are constant, or None (``baseline``, ``augment``).
    """

    def __init__(
        self, spec: CubeSpec, arm: str, config: DaviConfig, net: ResidualValue, seed: int | None = None
    ) -> None:
        """Wrap a network of one member."""
        self.spec, self.arm, self.config, self.net, self.seed = spec, arm, config, net.eval(), seed
        self.canonicalizer = arm_form(config, spec, arm)
        self.folded = FoldedValue(self.net)

    @property
    def symmetry(self) -> CubeSymmetry | None:
        """The group of the arm."""
        return arm_symmetry(self.config, self.spec, self.arm)

    def fold(self) -> None:
        """Make the fast copy anew from ``net``."""
        self.folded = FoldedValue(self.net)

    def value_fn(self, states: Any) -> AnyArray:
        """Values, float32 and at least 0, of uint8 states with any leading axes; numpy arrays or torch tensors."""
        found = as_array(self.spec, states)
        array = found.detach().cpu().numpy() if is_torch(found) else found
        if array.dtype != np.uint8:
            raise InvalidModel(f"states are uint8 colours, got {array.dtype}")
        flat = np.ascontiguousarray(array.reshape(-1, self.spec.n_stickers))
        if flat.size and flat.max() > 5:
            raise InvalidModel("stickers must be whole numbers from 0 to 5")
        if self.canonicalizer is not None and self.arm != "equivariant":
            flat = self.canonicalizer(flat)[0]
        out = self.folded(torch.from_numpy(flat)).clamp_(min=0.0).cpu().numpy()
        return np.asarray(out.reshape(array.shape[:-1]))

    __call__ = value_fn

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


def load_network(
    path: str | Path, spec: CubeSpec | None = None, arm: str | None = None, *, device: str = "cpu"
) -> CubeValue:
    """A network from a file; refuses one trained for another cube or, if an arm is given, for another arm.

    >>> import tempfile
    >>> from burnside.agents import DaviConfig, DaviRun, Member
    >>> run = DaviRun(DaviConfig.preset("smoke", hidden=(8, 4)), CubeSpec(2), Member(0, "conjugation"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load_network(run.network().save(f"{folder}/v.safetensors"), CubeSpec(2)).arm
    'conjugation'
    """
    file = open_tensors(path)
    name, about = file.path.name, file.about
    if about.get("format") != _FORMAT:
        raise DamagedFile(f"{name} holds no value network of a cube, or one of another format: train or copy it again")
    try:
        found, trained = CubeSpec(int(about["n"]), about["turns"], about["goal"]), about["arm"]
        seed = int(about["seed"]) if "seed" in about else None
        config = DaviConfig.from_json(file.settings("config"))
        _check_shapes(file, config, found, trained)
    except (KeyError, TypeError, ValueError, LookupError, OverflowError) as error:
        raise error if isinstance(error, DamagedFile) else file.damaged(str(error)) from None
    if spec is not None and found != spec:
        raise InvalidParameter(f"the network {name} was trained for {_words(found)}, not for {_words(spec)}")
    if arm is not None and arm != trained:
        raise InvalidParameter(f"the network {name} was trained as arm {trained!r}, not {arm!r}")
    net = make_network(config, found, trained, [0])
    try:
        net.load_state_dict(file.tensors())
    except RuntimeError:
        raise file.damaged("its tensors do not fit its settings") from None
    return CubeValue(found, trained, config, net.to(device), seed)


def _check_shapes(file: TensorFile, config: DaviConfig, spec: CubeSpec, arm: str) -> None:
    """Compare the settings with the tensors before a network is made of them: of any size that the settings say."""
    symmetry = arm_symmetry(config, spec, arm)  # also refuses an unknown arm
    shared = symmetry.base if arm == "equivariant" and symmetry is not None else 1
    widths = [-(-width // shared) for width in config.hidden]
    layers = sum(name.startswith("layers.") and name.endswith(".weight") for name in file.shapes)
    first, second = (file.shapes.get(f"layers.{k}.weight", (0,)) for k in (0, 1))
    if [first[-1], second[-1]] != widths or layers != 2 + 2 * config.blocks:
        raise file.damaged("its tensors do not fit its settings")


def _words(spec: CubeSpec) -> str:
    return f"n={spec.n}, {spec.turns} turns, goal {spec.goal}"
