"""Where the command line prints: rich on a terminal, plain text in a pipe, progress on stderr only.

Strings are printed as they are, also in tables: no console of ours reads the markup of rich. For bold or coloured words
use ``styled`` (see :mod:`burnside._terminal`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.table import Table

from burnside._progress import progress
from burnside._terminal import Terminal, printable, styled

__all__ = ["error_console", "output", "print_json", "print_problem", "print_table", "progress", "styled", "table"]

_PIPE_WIDTH = 200


def output() -> Terminal:
    """The console for results."""
    return Terminal(width=None if sys.stdout.isatty() else _PIPE_WIDTH)


def error_console() -> Terminal:
    """The console for errors and progress."""
    return Terminal(stderr=True)


def print_problem(kind: str, sentence: str) -> None:
    """One line on stderr: what kind of problem, and the sentence about it."""
    error_console().print(styled((f"{kind}:", "bold red"), f" {sentence}"), soft_wrap=True)


def table(*headers: str, title: str | None = None) -> Table:
    """An empty table: boxed on a terminal, bare columns in a pipe."""
    terminal = sys.stdout.isatty()
    result = Table(title=title, box=box.SIMPLE_HEAD if terminal else None, title_justify="left", pad_edge=False)
    for k, header in enumerate(headers):
        result.add_column(header, justify="left" if k == 0 else "right", overflow="fold")
    return result


def print_table(console: Terminal, headers: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table; on a terminal that is too narrow for it, cells go on in a next line, at spaces only.

    Rich folds where the width ends, in the middle of a number or a name. Columns are made whole from the one that needs
    least. A terminal that is too narrow even for the longest words gets lines longer than its own.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    shown = [list(headers), *cells]
    if sys.stdout.isatty():
        columns = list(zip(*shown, strict=True))
        least = [max(cell_len(word) for cell in column for word in _words(cell)) for column in columns]
        frame = 3 * len(headers) - 1
        spare = console.width - frame - sum(least)
        for skip in (1, 0):  # the cells first, then the headers
            lacks = [
                max(cell_len(cell) for cell in column[skip:] or [""]) - width
                for column, width in zip(columns, least, strict=True)
            ]
            for k in sorted(range(len(least)), key=lacks.__getitem__):
                more = max(0, min(spare, lacks[k]))
                least[k], spare = least[k] + more, spare - more
        console.width = max(console.width, frame + sum(least))
        shown = [[_in_lines(cell, width) for cell, width in zip(row, least, strict=True)] for row in shown]
    drawn = table(*shown[0], title=title or None)
    for row in shown[1:]:
        drawn.add_row(*row)
    console.print(drawn)


def _words(text: str) -> list[str]:
    """What may stand in a line of its own; not the groups of three digits of a number.

    >>> _words("1 342 (1 061–1 622)"), _words("")
    (['1 342', '(1 061–1 622)'], [''])
    """
    return re.split(r"(?<!\d) +| +(?!\d{3}(?!\d))", text)


def _in_lines(text: str, width: int) -> str:
    """Text in lines of at most this width, if every word fits into one.

    >>> _in_lines("more than 1 999 872", 12)
    'more than\\n1 999 872'
    """
    lines: list[str] = []
    for word in _words(text):
        if lines and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


def print_json(content: Any) -> None:
    """One JSON object on stdout. Non-finite numbers are errors: they are not JSON."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    if printable(text) != text:  # JSON's own escapes; it leaves some controls and halves of characters as they are
        text = json.dumps(content, ensure_ascii=True, allow_nan=False)
    sys.stdout.write(text + "\n")
