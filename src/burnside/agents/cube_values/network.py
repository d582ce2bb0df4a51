"""A trained value network as others use it: values of states, the canonical form of its arm, a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from burnside._types import AnyArray
from burnside.agents.common.cube_network import CubeNetwork
from burnside.agents.cube_values.config import DaviConfig, arm_symmetry
from burnside.envs.cube.core import CubeSpec, as_array, is_torch
from burnside.envs.cube.symmetry import CubeCanonicalizer, CubeSymmetry
from burnside.errors import InvalidModel
from burnside.nn._torch import torch
from burnside.nn.cube_equivariant import EquivariantValue
from burnside.nn.layers import Initializer
from burnside.nn.residual import FoldedValue, ResidualValue

__all__ = ["CubeValue", "load_network", "make_network"]


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


class CubeValue(CubeNetwork):
    """Estimated distances to the goal, by one network under one arm.

    >>> config = DaviConfig.preset("smoke")
    >>> value = CubeValue(CubeSpec(3), "conjugation", config, make_network(config, CubeSpec(3), "conjugation", [0]))
    >>> value.value_fn(np.zeros((4, 54), dtype=np.uint8)).shape, value.canonicalizer.symmetry.order
    ((4,), 48)

    ``canonicalizer`` is a form under which its values are constant, or None (``baseline``, ``augment``). Call
    :meth:`fold` after changing ``net``.
    """

    FORMAT, NOUN, CONFIG = "burnside cube value 1", "value network", DaviConfig

    def __init__(
        self, spec: CubeSpec, arm: str, config: DaviConfig, net: ResidualValue, seed: int | None = None
    ) -> None:
        """Wrap a network of one member."""
        super().__init__(spec, arm, config, net, seed)
        self.canonicalizer = arm_form(config, spec, arm)
        self.folded = FoldedValue(self.net)

    @property
    def symmetry(self) -> CubeSymmetry | None:
        """The group of the arm."""
        return arm_symmetry(self.config, self.spec, self.arm)

    def fold(self) -> None:
        """Make the fast copy from ``net`` again."""
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

    @classmethod
    def untrained(cls, config: DaviConfig, spec: CubeSpec, arm: str) -> ResidualValue:
        """See :class:`CubeNetwork`."""
        return make_network(config, spec, arm, [0])

    @classmethod
    def fits(cls, shapes: Mapping[str, tuple[int, ...]], config: DaviConfig, spec: CubeSpec, arm: str) -> bool:
        """See :class:`CubeNetwork`."""
        symmetry = arm_symmetry(config, spec, arm)
        shared = symmetry.base if arm == "equivariant" and symmetry is not None else 1
        widths = [-(-width // shared) for width in config.hidden]
        layers = sum(name.startswith("layers.") and name.endswith(".weight") for name in shapes)
        first, second = (shapes.get(f"layers.{k}.weight", (0,)) for k in (0, 1))
        return [first[-1], second[-1]] == widths and layers == 2 + 2 * config.blocks


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
    found = CubeValue.load(path, spec, arm)
    found.net.to(device)
    found.fold()
    return found
