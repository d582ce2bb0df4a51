"""Cells: finished pieces of work, found again by the hash of their configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnside._files import write_text
from burnside.errors import UnreadableFile

__all__ = ["CellStore", "cell_name"]

FORMAT = 1


def cell_name(config: Mapping[str, Any]) -> str:
    """The name of a cell: a hash of its configuration, the same on every machine.

    >>> cell_name({"n": 5, "seed": 0}) == cell_name({"seed": 0, "n": 5})
    True
    >>> cell_name({"n": 5, "seed": 0}) == cell_name({"n": 5, "seed": 1})
    False
    """
    text = json.dumps(config, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class CellStore:
    """Results of finished cells in a folder, one JSON file each.

    Two processes may share a folder: a file appears whole or not at all, and both would write the same.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = CellStore(folder)
    ...     _ = store.save({"seed": 3}, {"mistakes": 12})
    ...     store.load({"seed": 3}), store.load({"seed": 4})
    ({'mistakes': 12}, None)
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, config: Mapping[str, Any]) -> Path:
        """Where the cell with this configuration is kept."""
        return self.folder / f"{cell_name(config)}.json"

    def load(self, config: Mapping[str, Any]) -> dict[str, Any] | None:
        """The result of a finished cell; None if it has not finished."""
        path = self.path(config)
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content["format"] != FORMAT or content["config"] != json.loads(json.dumps(config)):
                raise KeyError
            result: dict[str, Any] = content["result"]
        except (OSError, ValueError, KeyError, TypeError):
            raise UnreadableFile(
                f"the result file {path} is damaged or of another version: delete it and run the command again"
            ) from None
        return result

    def save(self, config: Mapping[str, Any], result: Mapping[str, Any]) -> Path:
        """Keep the result of a finished cell."""
        content = {"format": FORMAT, "config": config, "result": result}
        return write_text(self.path(config), json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")
