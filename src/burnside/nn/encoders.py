"""The 3D encoder of App. C, and the same without its pooling."""

from __future__ import annotations

from itertools import pairwise

from burnside.errors import UnknownName
from burnside.nn._torch import torch
from burnside.nn.layers import BatchConv3d, BatchLinear, Initializer

__all__ = ["CHANNELS", "FEATURES", "GridEncoder"]

CHANNELS = (16, 32, 64)
FEATURES = 128


class GridEncoder(torch.nn.Module):
    """Three convolutions 1 → 16 → 32 → 64 with ReLU, then a 128-d feature.

    ``pool`` is the paper's: adaptive average pooling to one cell, then 64 → 128. The average forgets where the goal is,
    except for what zero padding lets through, and so handicaps a network that must find it. ``flatten`` keeps all
    places, 64·n³ → 128. Kernel 3, zero padding, and a ReLU on the feature: the paper does not say.

    >>> encoder = GridEncoder(4, "pool", Initializer([0, 1]))
    >>> encoder(torch.zeros(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 128])
    """

    def __init__(self, n: int, kind: str, init: Initializer) -> None:
        """An encoder of n×n×n grids; ``kind`` is ``pool`` or ``flatten``."""
        super().__init__()
        if kind not in ("pool", "flatten"):
            raise UnknownName("3D encoder", kind, ("pool", "flatten"))
        self.kind = kind
        widths = (1, *CHANNELS)
        self.convolutions = torch.nn.ModuleList(BatchConv3d(a, b, init) for a, b in pairwise(widths))
        self.feature = BatchLinear(CHANNELS[-1] * (1 if kind == "pool" else n**3), FEATURES, init)

    def forward(self, grids: torch.Tensor) -> torch.Tensor:
        """``(members, batch, n, n, n)`` to ``(members, batch, 128)``."""
        x = grids[:, :, None]
        for convolution in self.convolutions:
            x = torch.relu(convolution(x))
        x = x.mean(dim=(-3, -2, -1)) if self.kind == "pool" else x.flatten(2)
        return torch.relu(self.feature(x))
