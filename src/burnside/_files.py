"""Writing files so that nothing is lost: a file is either the old one or the whole new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from burnside.errors import UnreadableFile

__all__ = ["write_atomically", "write_text"]


def write_atomically(path: str | Path, write: Callable[[BinaryIO], object]) -> Path:
    """Call ``write(file)`` on a temporary file beside ``path`` and move it into place when it is complete."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise UnreadableFile(
            f"cannot write {target}: {error.strerror or error}; choose another place with enough room"
        ) from None
    try:
        with os.fdopen(handle, "w+b") as file:  # h5py also reads what it has written
            write(file)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        raise UnreadableFile(
            f"cannot write {target}: {error.strerror or error}; what was there before is untouched"
        ) from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return target


def write_text(path: str | Path, text: str) -> Path:
    """Write text as UTF-8, atomically."""
    return write_atomically(path, lambda file: file.write(text.encode()))
