"""Files in and out: a file is written whole or not at all, and read only as far as it can do no harm.

What is read may come from anybody. So a path must lead to a regular file (a pipe would wait forever, a device never
ends), its size is looked at before its content, and whatever is wrong with it is one sentence.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from burnside.errors import BurnsideError, DamagedFile, UnreadableFile

__all__ = [
    "LARGEST_TEXT",
    "from_parquet",
    "open_file",
    "read_bytes",
    "read_json",
    "read_text",
    "sha256",
    "size_words",
    "write_atomically",
    "write_text",
]

#: Bytes of the largest text or JSON file that is read. JSON takes up to 25 times its size in memory.
LARGEST_TEXT = 64 * 2**20


def write_atomically(path: str | Path, write: Callable[[BinaryIO], object]) -> Path:
    """Call ``write(file)`` on a temporary file beside ``path`` and move it into place when it is complete."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise UnreadableFile(f"cannot write {target}: {_why(error)}; choose another place with enough room") from None
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
        raise UnreadableFile(f"cannot write {target}: {_why(error)}; what was there before is untouched") from None
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    return target


def write_text(path: str | Path, text: str) -> Path:
    """Write text as UTF-8, atomically."""
    return write_atomically(path, lambda file: file.write(text.encode()))


def open_file(path: str | Path) -> BinaryIO:
    """Open a regular file for reading; one sentence if there is none, or something else than a file."""
    source = Path(path)
    # without O_NONBLOCK, opening a pipe that nobody writes to would wait forever
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        handle = os.open(source, flags)
    except FileNotFoundError:
        raise UnreadableFile(f"there is no file {source}: check the path") from None
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"cannot read {source}: {_why(error)}") from None
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise UnreadableFile(f"cannot read {source}: it is {_kind(mode)}, not a file")
    return os.fdopen(handle, "rb")


def read_bytes(path: str | Path, limit: int) -> bytes:
    """The content of a regular file of at most ``limit`` bytes."""
    with open_file(path) as file:
        try:
            size = os.fstat(file.fileno()).st_size
            content = file.read(size + 1) if size <= limit else b""
        except OSError as error:
            raise UnreadableFile(f"cannot read {path}: {_why(error)}") from None
    if size > limit:
        raise UnreadableFile(f"cannot read {path}: it has {size_words(size)}; at most {size_words(limit)} are read")
    if len(content) > size:
        raise UnreadableFile(f"cannot read {path}: it grows while it is read; try again when it is complete")
    return content


def from_parquet(content: bytes, take: Callable[[Any], Any]) -> Any:
    """What ``take`` makes of the polars frame in a parquet file; what is wrong with it is told as a ``DamagedFile``.

    polars has a different error for every kind of damage, and may panic.
    """
    import polars

    try:
        with _quiet():
            return take(polars.read_parquet(io.BytesIO(content)))
    except (BurnsideError, MemoryError):  # what take itself says
        raise
    except Exception as error:
        raise DamagedFile(type(error).__name__) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of Rust; it is not an Exception
            raise
        raise DamagedFile("it makes the reader of parquet files fail") from None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence stderr, also for Rust, which prints a panic before Python can catch it."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def sha256(path: str | Path) -> str:
    """A hash of the content of a file, by which a result says what it was made from."""
    found = hashlib.sha256()
    with open_file(path) as file:
        while part := file.read(2**20):
            found.update(part)
    return found.hexdigest()


def read_text(path: str | Path, limit: int = LARGEST_TEXT) -> str:
    """The content of a text file in UTF-8."""
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DamagedFile(f"cannot read {path}: it is not text in UTF-8 (byte {error.start})") from None


def read_json(path: str | Path, limit: int = LARGEST_TEXT) -> Any:
    """What a JSON file holds, strictly: no NaN or Infinity, no absurdly long numbers, no bottomless nesting."""
    name = Path(path).name
    try:
        # Some editors put a byte order mark in front, which JSON does not have.
        return json.loads(read_bytes(path, limit).decode("utf-8-sig"), parse_constant=_no_constant)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DamagedFile(f"cannot read {name}: it is not valid JSON ({error})") from None
    except RecursionError:
        raise DamagedFile(f"cannot read {name}: it is not valid JSON (nested too deeply)") from None
    except UnreadableFile:
        raise
    except ValueError as error:  # of int: Python reads no number of more than some thousand digits
        why = str(error) if isinstance(error, _Constant) else "a number has too many digits"
        raise DamagedFile(f"cannot read {name}: it is not valid JSON ({why})") from None


class _Constant(ValueError):
    """A word for a number that JSON does not have."""


def _no_constant(word: str) -> Any:
    raise _Constant(f"JSON has no {word}: write a finite number, or null")


def size_words(size: int) -> str:
    """A number of bytes for people.

    >>> size_words(512), size_words(64 * 2**20), size_words(3 * 10**9)
    ('512 bytes', '64.0 MB', '2.8 GB')
    """
    if size < 2**20:
        return f"{size} bytes"
    return f"{size / 2**20:.1f} MB" if size < 2**30 else f"{size / 2**30:.1f} GB"


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def _kind(mode: int) -> str:
    for is_kind, word in ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket")):
        if is_kind(mode):
            return word
    return "a device"
