"""Every error a user of Burnside can meet, each carrying one sentence: what is wrong and how to fix it.

The command line prints that sentence and exits with code 2, or 1 if a symmetry was refused; the Python API raises it.
Nothing else in the package derives exceptions of its own, so ``except BurnsideError`` catches all that is the caller's
to fix.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "BurnsideError",
    "GroupTooLarge",
    "InvalidAction",
    "InvalidModel",
    "InvalidParameter",
    "MissingExtra",
    "ModelTooLarge",
    "NotVerified",
    "UnknownName",
    "UnreadableFile",
]


class BurnsideError(Exception):
    """Base of all errors that are the caller's to fix."""


class InvalidModel(BurnsideError, ValueError):
    """An MDP that is not one: a kernel that does not sum to one, a NaN reward, a wrong shape."""


class InvalidAction(BurnsideError, ValueError):
    """A group action or symmetry that is not one: not a permutation, wrong set, axioms broken."""


class InvalidParameter(BurnsideError, ValueError):
    """A number or option outside the range in which the question makes sense."""


class GroupTooLarge(BurnsideError, ValueError):
    """The answer needs every element of a group that is too large to enumerate."""


class ModelTooLarge(BurnsideError, ValueError):
    """The answer needs every state of a model that is too large to enumerate."""


class NotVerified(BurnsideError, ValueError):
    """A quotient was asked for under a symmetry that does not hold, or was never checked."""


class UnreadableFile(BurnsideError, ValueError):
    """A file that is missing, damaged, in another format, or would need unpickling."""


class DamagedFile(UnreadableFile):
    """A file that could be read, but whose content is not what it should be: cut short, changed, of another format."""


class MissingExtra(BurnsideError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        where = " in an environment of its own (docs/install.md)" if extra == "robot" else ""
        super().__init__(
            f"this needs the package '{package}', which is not installed: pip install 'burnside[{extra}]'{where}"
        )


class UnknownName(BurnsideError, LookupError):
    """A name that is not in a registry; the message offers the nearest ones.

    >>> str(UnknownName("model", "rnig", ["ring", "torus"]))
    "unknown model 'rnig': did you mean 'ring'? (known: ring, torus)"
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f": did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
        listing = ", ".join(names) if names else "none"
        super().__init__(f"unknown {kind} {name!r}{hint} (known: {listing})")
