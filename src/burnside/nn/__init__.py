"""Torch layers with a leading member axis, the encoders of App. C, and layers that share weights over a group.

``layers`` has :class:`BatchLinear` and :class:`BatchConv3d` (one network per seed, all in one product), ``encoders``
the 3D encoders, ``orbit`` the exactly equivariant :class:`OrbitLinear`, ``ring_networks`` those of the cyclic games,
``tensor_action`` a declared symmetry on tensors, ``averaging`` any network averaged over it (:class:`GroupAverage`),
``commutant`` layers for signed permutations and rotations (``EquivariantLinear``, ``RelaxedLinear``),
``residual`` and ``cube_equivariant`` the value networks of the cube, and the package ``flow`` flow-matching policies
over action chunks.

It may import ``burnside.symmetry``, ``burnside.envs`` and what lies below. The whole layer rests on torch (the extra
``learn``): this file loads it when a name is first asked for, and raises ``MissingExtra`` without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burnside._lazy import lazy

if TYPE_CHECKING:
    from burnside.nn.averaging import GroupAverage as GroupAverage
    from burnside.nn.orbit import OrbitLinear as OrbitLinear
    from burnside.nn.orbit import copies as copies
else:
    __all__, __getattr__, __dir__ = lazy(__name__)
