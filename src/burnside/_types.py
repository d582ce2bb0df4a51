"""Names of types used throughout the package: arrays, and what reports progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["AnyArray", "ArrayLike", "BoolArray", "FloatArray", "IntArray", "Progress"]

AnyArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Called with (done, in all) while something runs.
Progress = Callable[[int, int], object]
