"""``burnside completion``: a script that lets the shell complete commands and options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

__all__ = ["Completion"]


@dataclass(frozen=True)
class Completion:
    """Print a completion script for the shell, to be put where the shell looks for them."""

    shell: Annotated[Literal["bash", "zsh", "tcsh"], tyro.conf.Positional] = "bash"
    """Which shell."""

    def run(self) -> int:
        """Run the command."""
        from burnside.cli import commands

        try:
            tyro.cli(commands.Command, args=["--tyro-print-completion", self.shell], prog="burnside")
        except SystemExit as stop:  # printing is what ends the parser
            return int(stop.code or 0)
        return 1
