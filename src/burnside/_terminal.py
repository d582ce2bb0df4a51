"""Text on a terminal: what comes from outside is shown, never obeyed.

Names of models, files and environments, and the error messages of other packages, may hold anything: the markup of
rich (``[/x]``), escape sequences of the terminal, line breaks, halves of characters. This is the one place where they
are made harmless. Everything that is printed goes through a :class:`Terminal`, which reads no markup at all, or through
:func:`one_line`; words in bold or in colour are made with :func:`styled`.
"""

from __future__ import annotations

import re
from typing import Any

from rich.console import Console
from rich.text import Text

__all__ = ["Terminal", "one_line", "printable", "styled"]

#: Control characters except tab and line feed, marks that turn the direction of writing or break a line, and the halves
#: of characters by which Python stands in for bytes of a file name that are not UTF-8.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with every character spelled out that would do something else than be seen; line breaks stay.

    >>> printable("\x1b[31mred\x1b[0m, [/x] and ε")
    '\\x1b[31mred\\x1b[0m, [/x] and ε'
    """
    return _UNSAFE.sub(lambda found: ascii(found[0])[1:-1], text)


def one_line(text: str) -> str:
    r"""As :func:`printable`, with line breaks and tabs spelled out too: a name cannot pass for a line of ours.

    >>> one_line("model\nerror: none")
    'model\\nerror: none'
    """
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def styled(*parts: str | tuple[str, str]) -> Text:
    """A line of plain parts and of ``(text, style)`` parts.

    >>> styled(("ring[/x]", "bold"), " under C5").plain
    'ring[/x] under C5'
    """
    return Text.assemble(*(one_line(part) if isinstance(part, str) else (one_line(part[0]), part[1]) for part in parts))


class Terminal(Console):
    """A console of rich that prints strings as they are, wherever they stand: no markup, emoji codes or controls."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, **options, "markup": False, "emoji": False})

    def render_str(self, text: str, **options: Any) -> Text:
        """What rich calls for every string: those that are printed, and those in cells, headers and titles."""
        return super().render_str(printable(text), **{**options, "markup": False, "emoji": False})

    def on_broken_pipe(self) -> None:
        """Called while the reader's absence is being handled: it is told to the caller; rich would exit with code 1."""
        raise
