"""Checkpoints: plain arrays in a zip, written atomically, the one before always kept.

Every entry of the archive carries a checksum, so that a truncated or damaged file is noticed when it is read; then the
generation before it is used. There are no pickles: an array of Python objects is refused.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from burnside._files import write_atomically
from burnside._types import AnyArray, ArrayLike
from burnside.errors import InvalidParameter, UnreadableFile

__all__ = ["Checkpoint", "generations", "load_newest", "read_arrays", "save_next", "write_arrays"]

KEEP = 2
_META = "meta.json"
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,
    NotImplementedError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Checkpoint:
    """What a cell remembers.

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
    found = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in found.items():
        if array.dtype.hasobject:
            raise InvalidParameter(f"the array {name!r} holds Python objects: give numbers, booleans or strings")

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as archive:
            archive.writestr(_META, json.dumps(meta, allow_nan=False))
            for name, array in found.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    npy.write_array(entry, array, allow_pickle=False)

    return write_atomically(path, write)


def read_arrays(path: Path) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """What :func:`write_arrays` wrote; one sentence if the file is damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            meta = json.loads(archive.read(_META))
            if not isinstance(meta, dict):
                raise ValueError(f"{_META} is no object")
            arrays = {
                name.removesuffix(".npy"): npy.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name != _META
            }
    except _DAMAGE as error:
        raise UnreadableFile(f"{path.name} cannot be read ({type(error).__name__}: {error})") from None
    return arrays, meta


def generations(folder: Path) -> list[Path]:
    """The checkpoints in a folder, the newest first."""
    return sorted(folder.glob("checkpoint-*.npz"), reverse=True)


def save_next(folder: Path, cell: str, arrays: Mapping[str, ArrayLike], meta: Mapping[str, Any]) -> Path:
    """Write the next generation and then delete all but the newest two."""
    before = generations(folder)
    number = int(before[0].stem.split("-")[1]) + 1 if before else 1
    path = write_arrays(folder / f"checkpoint-{number:010d}.npz", arrays, {"cell": cell, **meta})
    for old in generations(folder)[KEEP:]:
        old.unlink(missing_ok=True)
    return path


def load_newest(folder: Path, cell: str) -> tuple[Checkpoint | None, list[str]]:
    """The newest readable checkpoint of this cell, if any, and a sentence about every one that is not readable.

    Damaged files are put aside as ``….damaged``, so that they do not count as a generation.
    """
    notes: list[str] = []
    found = generations(folder)
    for k, path in enumerate(found):
        try:
            arrays, meta = read_arrays(path)
            if meta.get("cell") != cell:
                raise UnreadableFile(f"{path.name} belongs to another cell")
            return Checkpoint(arrays, meta, path), notes
        except UnreadableFile as error:
            then = "the checkpoint before it is used" if k + 1 < len(found) else "the cell starts from the beginning"
            notes.append(f"cell {cell}: {error}; {then}")
            path.replace(path.with_name(f"{path.name}.damaged"))
    return None, notes
