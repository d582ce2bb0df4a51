"""The plugin of pytest: ``assert_symmetric`` as a fixture, without an import."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["assert_symmetric"]


@pytest.fixture
def assert_symmetric() -> Callable[..., Any]:
    """:func:`burnside.testing.assert_symmetric`, which is imported when a test asks for it."""
    from burnside.testing.symmetric import assert_symmetric as function

    return function
