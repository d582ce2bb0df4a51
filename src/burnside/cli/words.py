"""Options that take words such as ``name=value``, several after one option or one after each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import tyro

__all__ = ["Words", "flat"]

#: ``--param a=1 b=2`` and ``--param a=1 --param b=2`` say the same.
Words = Annotated[tuple[tuple[str, ...], ...], tyro.conf.UseAppendAction]


def flat(words: Iterable[str | Iterable[str]]) -> list[str]:
    """The words one after the other.

    >>> flat((("a=1", "b=2"), ("c=3",))), flat(("a=1",))
    (['a=1', 'b=2', 'c=3'], ['a=1'])
    """
    return [word for part in words for word in ([part] if isinstance(part, str) else part)]
