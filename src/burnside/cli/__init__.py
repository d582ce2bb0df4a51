"""The command line: ``burnside COMMAND …``; ``burnside --help`` lists the commands.

A command is a frozen dataclass whose fields are its options and whose ``run`` returns an exit code. Errors that are the
user's to fix are printed as one sentence with exit code 2, never as a traceback; a symmetry that was found not to hold
gives exit code 1. This is the top layer: it may import everything, and everything it prints is also available from
Python.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Any

__all__ = ["main", "run"]


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return its exit code.

    >>> main(["minimise", "ring", "--n", "5", "--json"])  # doctest: +ELLIPSIS
    {"model": "ring(n=5)", "states": 8, "terminal_states": 0, "pairs": 18, "successors": 1, "from": {"states": 400, ...
    0
    """
    arguments = sys.argv[1:] if argv is None else argv
    _usable_streams()
    try:
        if arguments in (["--version"], ["-V"]):  # before the imports, which take a moment
            from burnside import __version__

            print(f"burnside {__version__}")
            code = 0
        elif arguments in ([], ["--help"], ["-h"]):
            from burnside.cli.overview import show_beginning, show_help

            (show_help if arguments else show_beginning)()
            code = 0
        else:
            code = _main(arguments)
        sys.stdout.flush()  # here, where a full disk or a closed pipe can still be told
        return code
    except KeyboardInterrupt:  # also while modules are being imported, so with nothing but what is there already
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader went away: burnside … | head
        _drop_output()
        return 141
    except OSError as error:  # of stdout itself
        _drop_output()
        return _problem(f"cannot write the output: {error.strerror or error}")


def _main(arguments: list[str]) -> int:
    from burnside.cli.overview import COMMANDS, QUESTION

    names = [name for group in COMMANDS.values() for name in group]
    if not arguments[0].startswith("-") and arguments[0] not in names:
        from burnside.errors import UnknownName

        return _problem(f"{UnknownName('command', arguments[0], names)}; burnside --help says what each does")
    import tyro

    from burnside.cli import commands

    try:
        command = tyro.cli(
            commands.Command,
            args=arguments,
            prog="burnside",
            description=QUESTION,
        )
    except SystemExit as stop:
        return int(stop.code) if isinstance(stop.code, int) else 2
    _note_old_names(arguments)
    return run(command)


#: Options that still have their old name, by command: old, new, and the version in which the old one goes.
_OLD_NAMES = {("train", "robot"): (("--frame", "--arm", "0.3.0"),)}


def _note_old_names(arguments: list[str]) -> None:
    for command, names in _OLD_NAMES.items():
        for old, new, version in names:
            words = [word.partition("=")[0] for word in arguments]
            if tuple(words[: len(command)]) == command and old in words:
                _show_warning(f"{old} is called {new} now; the old name goes with version {version}")


def run(command: Any) -> int:
    """Run a command that has been parsed; whatever is the user's or the machine's fault is one sentence."""
    from burnside.cli.console import print_problem
    from burnside.errors import BurnsideError, NotVerified

    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            return int(command.run())
    except NotVerified as error:  # an answer, not a mistake in the question: as when ``check`` finds a counter-example
        print_problem("refused", str(error))
        return 1
    except BurnsideError as error:
        return _problem(str(error))
    except BrokenPipeError:
        raise
    except OSError as error:  # a file that cannot be read or written, a full disk
        what = error.strerror or str(error)
        return _problem(f"{error.filename}: {what}; choose another place" if error.filename else what)
    except MemoryError as error:
        return _problem(f"there is not enough memory for this{_reason(error)}: make the problem smaller")
    except RecursionError:
        return _problem("the input is nested too deeply: make it flatter")
    except RuntimeError as error:  # of torch: it has no MemoryError
        if not re.search("can't allocate memory|out of memory", str(error)):
            raise
        return _problem("there is not enough memory for this: make the problem smaller")
    except UnicodeError as error:
        return _problem(f"a text cannot be read or written in its encoding ({error}): use UTF-8")


def _problem(sentence: str) -> int:
    from burnside.cli.console import print_problem

    print_problem("error", sentence)
    return 2


def _reason(error: MemoryError) -> str:
    """What numpy says of the array it could not make, or nothing."""
    return f" ({error})" if str(error) else ""


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """A warning is a note of one line; the file and line of our own code do not help a user."""
    from burnside.cli.console import error_console, styled

    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(message))  # Gymnasium colours its own
    error_console().print(styled(("note:", "yellow"), f" {plain}"), soft_wrap=True)


def _usable_streams() -> None:
    """Streams that are there, and that spell out a character they cannot encode instead of failing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell: burnside … >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process
        elif getattr(stream, "errors", None) == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """What is left of the output goes nowhere; otherwise Python would try, and fail, once more at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no file of the system: a test's
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
