"""``burnside completion``: a script that lets the shell complete commands, options and names.

The parser writes the script, with what it knows of commands and options as a table of Python. We add the names that an
argument may have: environments of the atlas, models of the zoo, experiments.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

__all__ = ["Completion", "names"]

#: After the table of the parser: a name is offered like a command below the command, with the same options after it.
_MORE = """
NAMES = {names!r}
for _command, _names in NAMES.items():
    _spec = COMPLETION_SPEC["subcommands"][_command]
    _spec["subcommands"] = {{_name: {{**_spec, "description": _name}} for _name in _names}}
"""


@dataclass(frozen=True)
class Completion:
    """Print a completion script for the shell, to be put where the shell looks for them.

    bash: burnside completion bash > ~/.local/share/bash-completion/completions/burnside. zsh: as _burnside in a folder
    of $fpath. Both complete the names of environments, models and experiments too; tcsh commands and options only.
    """

    shell: Annotated[Literal["bash", "zsh", "tcsh"], tyro.conf.Positional] = "bash"
    """Which shell."""

    def run(self) -> int:
        """Run the command."""
        from burnside.cli import commands

        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):  # printing is what ends the parser
            tyro.cli(commands.Command, args=["--tyro-print-completion", self.shell], prog="burnside")
        script = text.getvalue()
        if self.shell != "tcsh":
            script = re.sub(
                r"^COMPLETION_SPEC = .*$", lambda line: line[0] + _MORE.format(names=names()), script, flags=re.M
            )
        sys.stdout.write(script)
        return 0 if script else 1


def names() -> dict[str, list[str]]:
    """The names that the first argument of a command may have."""
    from burnside.cli.models import OTHERS
    from burnside.experiments.registry import EXPERIMENTS
    from burnside.mdp import zoo
    from burnside.symmetry.atlas import entries

    environments = sorted({entry.env for entry in entries()})
    models = sorted([*zoo.names(), *OTHERS])
    moving = sorted({entry.env for entry in entries() if entry.family == "MuJoCo"})
    return {
        **dict.fromkeys(("atlas", "check", "discover", "export"), environments),
        "measure": [*models, *environments],
        "lint": moving,
        **dict.fromkeys(("audit", "minimise", "show"), models),
        **dict.fromkeys(("sweep", "table"), sorted(EXPERIMENTS)),
    }
