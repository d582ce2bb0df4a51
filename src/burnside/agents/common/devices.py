"""Where torch computes."""

from __future__ import annotations

from burnside.errors import InvalidParameter, UnknownName
from burnside.nn._torch import torch

__all__ = ["choose_device"]


def choose_device(name: str = "auto") -> torch.device:
    """``cpu``, ``cuda``, or whichever is there (``auto``).

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if name not in ("auto", "cpu", "cuda"):
        raise UnknownName("device", name, ("auto", "cpu", "cuda"))
    if name == "cuda" and not torch.cuda.is_available():
        raise InvalidParameter("device 'cuda' was requested, but torch sees no GPU here: use 'auto' or 'cpu'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")
