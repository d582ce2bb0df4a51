"""One spelling for numpy arrays and torch tensors: which of the two an array is, and the few functions that differ.

Torch accepts numpy's keywords ``axis`` and ``keepdims``, so the rest of the package writes ``xp.stack(…, axis=-1)``
for both. Torch is never imported from here: code that holds a tensor has loaded it.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["as_array", "as_like", "is_torch", "namespace"]


def is_torch(x: Any) -> bool:
    """Whether x is a torch tensor.

    >>> is_torch(np.zeros(2))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def namespace(*arrays: Any) -> Any:
    """The module ``torch`` if any argument is a tensor, else ``numpy``.

    >>> namespace(np.zeros(2), 1.0).__name__
    'numpy'
    """
    return sys.modules["torch"] if any(is_torch(x) for x in arrays) else np


def as_array(x: Any) -> Any:
    """A tensor as it is, anything else as a floating numpy array.

    >>> as_array([1, 2]).dtype
    dtype('float64')
    """
    if is_torch(x):
        return x if x.dtype.is_floating_point else x.double()
    found = np.asarray(x)
    return found if found.dtype.kind == "f" else found.astype(np.float64)


def as_like(x: Any, other: Any) -> Any:
    """x as the kind of array that ``other`` is; a tensor gets its dtype and device, a numpy array keeps its own dtype.

    numpy promotes on its own, and callers cast the result; torch would refuse to multiply across dtypes.

    >>> as_like([1.0, 2.0], np.zeros(1, np.float32)).dtype
    dtype('float64')
    """
    if is_torch(other):
        torch = namespace(other)
        if not is_torch(x):
            x = torch.from_numpy(np.array(x, dtype=np.float64))
        return x.to(dtype=other.dtype, device=other.device)
    return x.detach().cpu().numpy() if is_torch(x) else as_array(x)
