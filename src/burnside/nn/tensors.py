"""Networks in files: safetensors, read without trusting them.

The header says which tensors there are, and what they are for. It is checked against the size of the file before a
tensor is read, and code that makes a network from the settings in a file first compares them with the shapes in it: a
small file cannot ask for a large network.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from burnside._files import open_file, size_words, write_atomically
from burnside.errors import DamagedFile, MissingExtra, UnreadableFile
from burnside.nn._torch import torch

__all__ = ["TensorFile", "open_tensors", "write_tensors"]

#: Bytes of the largest file of tensors that is read, and of its header.
LARGEST_FILE, LARGEST_HEADER = 2**32, 2**24
_BYTES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}


@dataclass(frozen=True)
class TensorFile:
    """What a file of tensors says it holds.

    Attributes:
        path: the file.
        about: what was written beside the tensors.
        shapes: of the tensors, by name.
    """

    path: Path
    about: Mapping[str, str]
    shapes: Mapping[str, tuple[int, ...]] = field(repr=False)

    def tensors(self) -> dict[str, torch.Tensor]:
        """The tensors themselves; all numbers in them are finite."""
        library = _safetensors()
        try:
            found: dict[str, torch.Tensor] = library.load_file(str(self.path), device="cpu")
        except Exception as error:  # whatever safetensors makes of bytes that are none
            raise self.damaged(type(error).__name__) from None
        for name, tensor in found.items():
            if tensor.shape != self.shapes.get(name) or not bool(torch.isfinite(tensor).all()):
                raise self.damaged(f"{name} holds numbers that are not finite, or has changed just now")
        return found

    def settings(self, key: str) -> dict[str, Any]:
        """What is written under a key, as a JSON object."""
        try:
            found = json.loads(self.about[key])
        except (KeyError, ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise self.damaged(f"it has no {key!r}")
        return found

    def damaged(self, why: str) -> DamagedFile:
        """The sentence about it."""
        return DamagedFile(f"{self.path.name} is damaged or no network of this version ({why}): train or copy it again")


def _safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError:  # pragma: no cover - it is there wherever the tests of this layer run
        raise MissingExtra("safetensors", "learn") from None
    return safetensors.torch


def write_tensors(path: str | Path, tensors: Mapping[str, torch.Tensor], about: Mapping[str, str]) -> Path:
    """Write tensors, and what they are for, into one file, atomically; equal content gives an equal file."""
    content: bytes = _safetensors().save({name: t.detach().cpu().contiguous() for name, t in tensors.items()})
    start = 8 + int.from_bytes(content[:8], "little")
    # safetensors would write what belongs to the tensors in another order every time
    header = {"__metadata__": dict(sorted(about.items())), **json.loads(content[8:start])}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    beginning = len(text).to_bytes(8, "little") + text

    def write(file: BinaryIO) -> None:
        file.write(beginning)
        file.write(memoryview(content)[start:])

    return write_atomically(path, write)


def open_tensors(path: str | Path) -> TensorFile:
    """Read and check the header of a file of tensors.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_tensors(Path(folder) / "x.safetensors", {"w": torch.ones(2, 3)}, {"format": "mine"})
    ...     found = open_tensors(file)
    ...     found.about, found.shapes, found.tensors()["w"].sum()
    ({'format': 'mine'}, {'w': (2, 3)}, tensor(6.))
    """
    source = Path(path)
    with open_file(source) as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST_FILE:
            raise UnreadableFile(
                f"cannot read {source.name}: it has {size_words(size)}; at most {size_words(LARGEST_FILE)} are read"
            )
        found = TensorFile(source, {}, {})
        try:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= min(size - 8, LARGEST_HEADER):
                raise ValueError("no header")
            header = json.loads(file.read(length))
            about = header.pop("__metadata__", {})
            if not all(isinstance(text, str) for text in about.values()):
                raise ValueError("no texts")
            shapes = {name: _shape(entry, size - 8 - length) for name, entry in header.items()}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise found.damaged(f"{type(error).__name__}: its header cannot be read") from None
        except OSError as error:
            raise UnreadableFile(f"cannot read {source.name}: {error.strerror}") from None
    return TensorFile(source, about, shapes)


def _shape(entry: dict[str, Any], room: int) -> tuple[int, ...]:
    """The shape of a tensor whose place in the file is as large as it needs."""
    shape, (start, end) = tuple(entry["shape"]), entry["data_offsets"]
    if any(type(number) is not int or number < 0 for number in (*shape, start, end)) or len(shape) > 16:
        raise ValueError("no shape")
    if not start <= end <= room or end - start != math.prod(shape) * _BYTES[entry["dtype"]] or end == start:
        raise ValueError("another size")
    return shape
