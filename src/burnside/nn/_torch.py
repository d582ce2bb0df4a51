"""Import torch or say in one sentence what is missing."""

from __future__ import annotations

from burnside.errors import MissingExtra

try:
    import torch
except ImportError:  # pragma: no cover - torch is there wherever the tests of this layer run
    raise MissingExtra("torch", "learn") from None

__all__ = ["torch"]
