"""Checkpoints of cells and of learners: plain arrays in a zip, written atomically, the one before always kept.

Every entry of the archive carries a checksum, so that a truncated or damaged file is noticed when it is read; then the
generation before it is used. There are no pickles: an array of Python objects is refused. A checkpoint that can be read
but is not what the program expects, because another version of it wrote it, is put aside as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnside._archives import open_archive, write_archive
from burnside._files import LARGEST_TEXT
from burnside._types import AnyArray, ArrayLike
from burnside.errors import DamagedFile, UnreadableFile

__all__ = [
    "Checkpoint",
    "Kept",
    "OtherLayout",
    "generations",
    "load_newest",
    "number",
    "put_aside",
    "read_arrays",
    "save_next",
    "write_arrays",
]

KEEP = 2
_META = "meta.json"
_NAME = re.compile(r"checkpoint-([0-9]{1,18})\.npz")


class OtherLayout(DamagedFile, KeyError):
    """A checkpoint that lacks what the job looks for: it was written by another version of it."""

    def __str__(self) -> str:  # KeyError would show the quotes of its argument
        return str(self.args[0])


class Kept(dict[str, Any]):
    """A dict that says of a missing key what it means."""

    def __init__(self, content: Mapping[str, Any], what: str) -> None:
        super().__init__(content)
        self._what = what

    def __missing__(self, key: str) -> Any:
        raise OtherLayout(f"{self._what} {key!r} is not in it")

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


@dataclass(frozen=True)
class Checkpoint:
    """What a run remembers.

    Attributes:
        arrays: as they were given.
        meta: plain values, as they were given.
        path: the file.
    """

    arrays: dict[str, AnyArray]
    meta: dict[str, Any]
    path: Path


def write_arrays(
    path: Path, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any], *, compress: bool = False
) -> Path:
    """Write arrays and plain values into one file, atomically; results are compressed, checkpoints are not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_arrays(Path(folder) / "x.npz", {"net/w": [[1.0, 2.0]]}, {"episode": 3})
    ...     read_arrays(path)
    ({'net/w': array([[1., 2.]])}, {'episode': 3})
    """
    return write_archive(path, arrays, {_META: json.dumps(meta, allow_nan=False)}, compress=compress)


def read_arrays(path: Path) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """What :func:`write_arrays` wrote; one sentence if the file is damaged."""
    with open_archive(path) as archive:
        if _META not in archive.members:
            raise DamagedFile(f"cannot read {path.name}: it is not a checkpoint, or one of another version")
        try:
            meta = json.loads(archive.text(_META, LARGEST_TEXT))
        except (ValueError, RecursionError) as error:
            if isinstance(error, UnreadableFile):
                raise
            raise DamagedFile(f"cannot read {path.name}: its {_META} is damaged") from None
        if not isinstance(meta, dict):
            raise DamagedFile(f"cannot read {path.name}: its {_META} is not an object")
        return archive.arrays(archive.names), meta


def generations(folder: Path) -> list[Path]:
    """The checkpoints in a folder, the newest first."""
    found = {path: number(path) for path in folder.glob("checkpoint-*.npz") if _NAME.fullmatch(path.name)}
    return sorted(found, key=lambda path: found[path], reverse=True)


def number(path: Path) -> int:
    """The number of a checkpoint; it grows as the run gets on."""
    match = _NAME.fullmatch(path.name)
    return int(match[1]) if match else 0


def save_next(folder: Path, owner: str, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any]) -> Path:
    """Write the next generation and then delete all but the newest two; ``owner`` says what it belongs to."""
    before = generations(folder)
    following = number(before[0]) + 1 if before else 1
    path = write_arrays(folder / f"checkpoint-{following:010d}.npz", arrays, {"cell": owner, **meta})
    for old in generations(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    return path


def load_newest(
    folder: Path, owner: str, check: Callable[[dict[str, Any]], str | None] = lambda meta: None
) -> tuple[Checkpoint | None, list[str]]:
    """The newest usable checkpoint of this owner, if any, and a sentence about every one that is not.

    ``check`` says what is wrong with the plain values of one, or None. Unusable files are renamed to ``….damaged`` and
    no longer count as a generation; a disk that cannot be read just now is an error instead.
    """
    notes: list[str] = []
    for path in generations(folder):
        try:
            arrays, meta = read_arrays(path)
            why = check(meta) or ("it belongs to another cell" if meta.get("cell") != owner else None)
            if why is not None:
                raise DamagedFile(f"cannot use {path.name}: {why}")
            return Checkpoint(Kept(arrays, "the array"), meta, path), notes
        except DamagedFile as error:
            notes.append(put_aside(path, str(error), "damaged"))
    return None, notes


def put_aside(path: Path, why: str, word: str) -> str:
    """Rename a checkpoint that cannot be used; the sentence about it."""
    try:
        path.replace(path.with_name(f"{path.name}.{word}"))
    except OSError as error:
        raise UnreadableFile(f"{why}, and it cannot be put aside ({error.strerror}): delete {path}") from None
    before = "the checkpoint before it is used" if generations(path.parent) else "the run starts from the beginning"
    return f"{why}; {before}"
