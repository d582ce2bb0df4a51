"""One list of names per package: the import lines of its ``__init__.py``.

A public name is written once, as ``from burnside.mdp.verify import verify as verify``: type checkers and documentation
tools take that spelling for a re-export, and :func:`exported` reads ``__all__`` from it. A package that is slow to
import writes those lines under ``if TYPE_CHECKING`` and calls :func:`lazy` in the ``else`` branch: its names are then
imported when they are first used.

A lazy package must not have a name that is also the name of one of its modules: Python would put the module in its
place. Such packages (``mdp`` has ``verify``) import their names at once. ``tests/test_public_api.py`` checks this.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["exported", "homes", "lazy"]


def homes(package: str) -> dict[str, str]:
    """Every public name of a package and the module it comes from, read from the source of the package.

    >>> homes("burnside.report")["Page"]
    'burnside.report.page'
    """
    module = sys.modules.get(package) or importlib.import_module(package)
    # Not `loader.get_source`, which imports the tokenizer: `import burnside` stays quick.
    source: str = module.__loader__.get_data(module.__file__).decode()  # type: ignore[union-attr]
    found = {}
    for line in source.splitlines():
        words = line.replace("(", " ").split()
        match words:
            case ["from", home, "import", name, "as", again] if name == again:
                found[name] = home
            case ["def" | "class", name, *_] if not line.startswith((" ", "\t")) and not name.startswith("_"):
                found[name.rstrip(":")] = package
    return found


def exported(package: str) -> list[str]:
    """The ``__all__`` of a package.

    >>> exported("burnside.groups")
    ['Action', 'Group']
    """
    return sorted(homes(package))


def lazy(package: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package whose names are imported when they are first used.

    >>> names, find, _ = lazy("burnside.groups")
    >>> find("Group").cyclic(3).order
    3
    >>> find("Grup")
    Traceback (most recent call last):
    ...
    AttributeError: module 'burnside.groups' has no attribute 'Grup'
    """
    home = homes(package)
    module = sys.modules[package]

    def find(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home[name] == package:  # `from burnside import groups as groups`: a module of the package itself
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(home[name]), name)
        setattr(module, name, value)
        return value

    return sorted(home), find, lambda: sorted({*vars(module), *home})
