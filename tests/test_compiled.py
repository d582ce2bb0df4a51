"""Kernels compile also where what is compiled cannot be kept."""

import pytest
from numba.core import caching

from burnside import _compiled
from burnside._compiled import njit


def double(x: int) -> int:
    return 2 * x


def test_without_a_folder_to_keep_it_in_a_kernel_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container that runs as a user without a home, with an installation of somebody else's."""
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    monkeypatch.setattr(_compiled, "_told", [])
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a folder that can be written"):
        kernel = njit(cache=True)(double)
    assert kernel(3) == 6
    assert njit(cache=True)(double)(4) == 8, "said once only"
