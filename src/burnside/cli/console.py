"""Where the command line prints: rich on a terminal, plain text in a pipe, progress on stderr only.

Strings are printed as they are, also in tables: no console of ours reads the markup of rich. For bold or coloured words
use ``styled`` (see :mod:`burnside._terminal`).
"""

from __future__ import annotations

import json
import sys
from typing import Any

from rich import box
from rich.table import Table

from burnside._progress import progress
from burnside._terminal import Terminal, printable, styled

__all__ = ["error_console", "output", "print_json", "print_problem", "progress", "styled", "table"]

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


def print_json(content: Any) -> None:
    """One JSON object on stdout. Non-finite numbers are errors: they are not JSON."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    if printable(text) != text:  # JSON's own escapes; it leaves some controls and halves of characters as they are
        text = json.dumps(content, ensure_ascii=True, allow_nan=False)
    sys.stdout.write(text + "\n")
