"""Puts the committed results into the wheel, so that ``burnside table`` works there too.

Only compact forms and tables of the report: a study that runs in the same folder has checkpoints and cells beside them.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KINDS = {".csv", ".json", ".npz", ".parquet"}


class CommittedResults(BuildHookInterface):
    """``results/NAME/FILE`` becomes ``burnside/results/NAME/FILE``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is made."""
        if version == "editable":  # it reads the results of the checkout
            return
        top = Path(self.root) / "results"
        for file in sorted(top.glob("*/*")):
            if file.suffix in KINDS and file.is_file() and not file.name.startswith("."):
                build_data["force_include"][str(file)] = f"burnside/results/{file.relative_to(top).as_posix()}"
