"""Compiling with numba. What was compiled is kept for the next process, where there is a folder to keep it in.

Numba keeps it beside the source, or in the user's cache. In a container that runs as some user without a home, neither
can be written; numba then refuses to compile at all, and every command would end there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numba

__all__ = ["njit"]

_told: list[str] = []


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit``, which compiles again in every process where nothing can be kept.

    >>> njit(cache=False)(lambda x: x + 1)(2)
    3
    """

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
        if not _told:
            _told.append(function.__module__)
            warnings.warn(
                "compiled code cannot be kept, so every start compiles it again: set NUMBA_CACHE_DIR to a folder that "
                "can be written",
                stacklevel=2,
            )
        return numba.njit(**options | {"cache": False})(function)

    return compiled
