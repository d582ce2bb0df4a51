"""The command line: ``burnside COMMAND …``; ``burnside --help`` lists the commands.

A command is a frozen dataclass whose fields are its options and whose ``run`` returns an exit code. Errors that are the
user's to fix are printed as one sentence with exit code 2, never as a traceback; a symmetry that was found not to hold
gives exit code 1. This is the top layer: it may import everything, and everything it prints is also to be had from
Python.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    >>> main(["minimise", "ring", "--n", "5", "--json"])
    {"model": "ring(n=5)", "states": 8, "pairs": 18, "successors": 1, "from": {"states": 400, "pairs": 1600}}
    0
    """
    arguments = sys.argv[1:] if argv is None else argv
    if arguments in (["--version"], ["-V"]):  # before the imports, which take a moment
        from burnside import __version__

        print(f"burnside {__version__}")
        return 0
    try:
        return _main(arguments)
    except KeyboardInterrupt:  # also while modules are being imported, so with nothing but what is there already
        print("interrupted", file=sys.stderr)
        return 130


def _main(arguments: list[str]) -> int:
    import tyro

    from burnside.cli import commands
    from burnside.cli.console import error_console
    from burnside.errors import BurnsideError, NotVerified

    try:
        command = tyro.cli(
            commands.Command,
            args=arguments,
            prog="burnside",
            description="How much less experience does your problem need because of its symmetry?",
        )
    except SystemExit as stop:
        return int(stop.code) if isinstance(stop.code, int) else 2
    try:
        return int(command.run())
    except NotVerified as error:  # an answer, not a mistake in the question: as when ``check`` finds a counter-example
        error_console().print(f"[bold red]refused:[/] {_escape(str(error))}", soft_wrap=True)
        return 1
    except BurnsideError as error:
        error_console().print(f"[bold red]error:[/] {_escape(str(error))}", soft_wrap=True)
        return 2
    except BrokenPipeError:  # the reader went away: burnside … | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:  # a file that cannot be read or written, a full disk
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        error_console().print(f"[bold red]error:[/] {_escape(what)}; choose another place", soft_wrap=True)
        return 2


def _escape(text: str) -> str:
    from rich.markup import escape

    return escape(text)
