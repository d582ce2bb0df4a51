"""Torch layers with a leading member axis, the encoders of App. C, and layers that share weights over a group.

``layers`` has :class:`BatchLinear` and :class:`BatchConv3d` (one network per seed, all in one product), ``encoders``
the 3D encoders, ``orbit`` the exactly equivariant :class:`OrbitLinear`, ``qnets`` the Q-networks of the cyclic games,
``residual`` and ``cube_equivariant`` the value networks of the cube, and the package ``flow`` flow-matching policies
over action chunks.

It may import ``burnside.groups``, ``burnside.envs`` and what lies below. The whole layer rests on torch (the extra
``learn``): this file loads it when a name is first asked for, and raises ``MissingExtra`` without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.nn.cube_equivariant import EquivariantValue
    from burnside.nn.encoders import GridEncoder
    from burnside.nn.layers import BatchConv3d, BatchLinear, Initializer
    from burnside.nn.orbit import OrbitLinear, copies
    from burnside.nn.qnets import EquivariantQ, GridQ, OneHotQ, QNetwork, make_q
    from burnside.nn.residual import FoldedValue, MemberNorm, ResidualValue

__all__ = [
    "BatchConv3d",
    "BatchLinear",
    "EquivariantQ",
    "EquivariantValue",
    "FoldedValue",
    "GridEncoder",
    "GridQ",
    "Initializer",
    "MemberNorm",
    "OneHotQ",
    "OrbitLinear",
    "QNetwork",
    "ResidualValue",
    "copies",
    "make_q",
]

_HOME = {
    "BatchConv3d": "layers",
    "BatchLinear": "layers",
    "EquivariantQ": "qnets",
    "EquivariantValue": "cube_equivariant",
    "FoldedValue": "residual",
    "GridEncoder": "encoders",
    "GridQ": "qnets",
    "Initializer": "layers",
    "MemberNorm": "residual",
    "OneHotQ": "qnets",
    "OrbitLinear": "orbit",
    "QNetwork": "qnets",
    "ResidualValue": "residual",
    "copies": "orbit",
    "make_q": "qnets",
}

__getattr__ = lazy(__name__, _HOME)
