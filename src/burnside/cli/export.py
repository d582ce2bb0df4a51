"""``burnside export``: a symmetry as plain code for another library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from burnside._files import write_text
from burnside.cli.check import open_environment, open_symmetry
from burnside.cli.console import print_json
from burnside.cli.words import Words
from burnside.errors import InvalidParameter

__all__ = ["Export"]


@dataclass(frozen=True)
class Export:
    """Write a symmetry as plain code for another library, which needs nothing of Burnside.

    The code is not checked against the environment: run 'burnside check' first. A module:name given here is imported,
    so its code runs.
    """

    env: Annotated[str, tyro.conf.Positional]
    """module:env (an environment, or a function that makes one), or a Gymnasium id such as CartPole-v1."""
    to: Literal["cleanrl", "rsl_rl", "sb3", "torchrl"]
    """The library: rsl_rl (data_augmentation_func), sb3 (buffers), torchrl (a transform), cleanrl (functions)."""
    symmetry: str | None = None
    """module:obj: an EnvSymmetry, or a function that returns one (of the environment, if it takes an 'env').
    Default: what the environment declares, else what the atlas knows of it (burnside atlas)."""
    out: Path | None = None
    """The file to write; default the terminal."""
    turns: int = 8
    """How many turns of SO(2) or O(2) are used, which is approximated by them."""
    param: Words = ()
    """Parameters of the environment, as name=value."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        from burnside.canonical import export
        from burnside.symmetry.declaration import as_symmetry

        if self.out is not None and self.out.suffix != ".py":
            raise InvalidParameter(f"the code is a Python module, so --out must end in .py, got {self.out}")
        env = open_environment(self.env, self.param)
        symmetry = as_symmetry(open_symmetry(self.symmetry, env, "export"))
        code = export(symmetry, env, self.to, turns=self.turns)
        if self.out is not None:
            write_text(self.out, code)
        if self.json:
            about = {"env": self.env, "symmetry": symmetry.name, "to": self.to, "out": self.out and str(self.out)}
            print_json(about | {"code": code})
        elif self.out is None:
            print(code, end="")
        else:
            print(f"wrote {self.out}")
        return 0
