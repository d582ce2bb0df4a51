"""Array type names used throughout the package."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["AnyArray", "ArrayLike", "BoolArray", "FloatArray", "IntArray"]

AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
