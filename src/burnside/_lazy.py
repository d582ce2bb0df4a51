"""Names that are imported when they are first asked for: a package then costs nothing before it is used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose names live in submodules.

    Args:
        package: ``__name__`` of the package.
        home: the submodule of every name.

    >>> lazy("burnside.nn", {"OrbitLinear": "orbit"})("Nothing")
    Traceback (most recent call last):
    ...
    AttributeError: module 'burnside.nn' has no attribute 'Nothing'
    """

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return find
