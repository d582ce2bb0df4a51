"""The declaration of a symmetry, where the check and the wrappers look for it: that of :mod:`burnside.symmetry`."""

from __future__ import annotations

from burnside.symmetry.declaration import EnvSymmetry, as_symmetry

__all__ = ["EnvSymmetry", "as_symmetry"]
