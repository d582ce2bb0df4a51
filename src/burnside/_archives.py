"""npz archives, written the same to the byte every time and read without trusting them.

What :func:`numpy.load` would do on trust is checked first, for the members that are wanted and no others: how they are
packed (stored or deflated), that the size in the directory is the one the array's own header has, that it can come out
of its packed bytes, and that all of them together stay below a limit. The header of an array is read by a pattern, not
evaluated; an array of Python objects, which would be a pickle, is refused.
"""

from __future__ import annotations

import errno
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from burnside._files import open_file, size_words, write_atomically
from burnside._types import AnyArray, ArrayLike
from burnside.errors import DamagedFile, InvalidParameter, UnreadableFile

__all__ = ["LARGEST_ARRAYS", "Archive", "Header", "open_archive", "write_archive"]

#: Bytes that the compressed arrays of one archive may unpack to. What is stored without compression is as large as its
#: file, so that a small file cannot hold much of it.
LARGEST_ARRAYS = 2**31

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment a zip can name: equal content gives equal files
_DIRECTORY = 8 * 2**20  # bytes of the largest table of contents that is read
_RATIO = 1032  # deflate never packs better than this
_CHUNK = 2**20
_LONGEST_HEADER = 10_000
_HEADER = re.compile(
    rb"\{\s*'descr':\s*'(?P<descr>[<>|=]?[biufcSU][0-9]{1,12})',\s*'fortran_order':\s*(?P<fortran>True|False),"
    rb"\s*'shape':\s*\((?P<shape>[0-9, ]*)\),?\s*\}\s*"
)
_OBJECTS = re.compile(rb"'descr':\s*('\|O|\[.*'\|O)", re.DOTALL)
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    RuntimeError,  # encrypted; NotImplementedError is one
    OverflowError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


@dataclass(frozen=True)
class Header:
    """What an archive says of one of its arrays."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    start: int

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""
        return math.prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return f"{self.dtype} of shape {self.shape}" if self.shape else f"one {self.dtype}"


class Archive:
    """An open archive; :meth:`headers` before :meth:`arrays`."""

    def __init__(self, name: str, archive: zipfile.ZipFile) -> None:
        self.name = name
        self._zip = archive
        self._members = {info.filename: info for info in archive.infolist()}

    @property
    def names(self) -> list[str]:
        """Names of the arrays, in the order of the file."""
        return [member.removesuffix(".npy") for member in self._members if member.endswith(".npy")]

    @property
    def members(self) -> Container[str]:
        """Names of everything in it, arrays with their ending."""
        return self._members.keys()

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._members

    def text(self, member: str, limit: int) -> bytes:
        """The bytes of a member that is not an array."""
        info = self._info(member)
        if info.file_size > limit:
            raise self._damaged(f"{member} has {size_words(info.file_size)}")
        with self._reading(), self._zip.open(info) as entry:
            return entry.read()

    def headers(self, names: Iterable[str], limit: int = LARGEST_ARRAYS) -> dict[str, Header]:
        """Shape and type of these arrays, which together may unpack to ``limit`` bytes."""
        found = {name: self._header(name) for name in names}
        packed = [name for name in found if self._info(f"{name}.npy").compress_type != zipfile.ZIP_STORED]
        total = sum(found[name].nbytes for name in packed)
        if total > limit:
            raise UnreadableFile(
                f"cannot read {self.name}: its arrays have {size_words(total)}; at most {size_words(limit)} are read"
            )
        return found

    def array(self, name: str, header: Header) -> AnyArray:
        """The array whose header was read and found good."""
        nbytes = header.nbytes
        if nbytes == 0:
            with self._reading():
                return np.zeros(header.shape, header.dtype)
        with self._reading(), self._zip.open(self._info(f"{name}.npy")) as entry:
            entry.read(header.start)
            content = np.empty(nbytes, np.uint8)
            at = 0
            while chunk := entry.read(_CHUNK):  # to the end, where the checksum is compared
                content[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
                at += len(chunk)
            if at != nbytes:
                raise EOFError(f"{name} ends early")
            _check_content(name, content, header.dtype)
            order: Any = "F" if header.fortran else "C"
            return content.view(header.dtype).reshape(header.shape, order=order)

    def arrays(self, names: Iterable[str], limit: int = LARGEST_ARRAYS) -> dict[str, AnyArray]:
        """These arrays, after a look at all their headers."""
        return {name: self.array(name, header) for name, header in self.headers(names, limit).items()}

    def _info(self, member: str) -> zipfile.ZipInfo:
        if member not in self._members:
            raise DamagedFile(f"{self.name} lacks the array {member.removesuffix('.npy')!r}")
        info = self._members[member]
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise self._damaged(f"{member} is packed in a way that is not read here")
        if info.file_size > _RATIO * info.compress_size + _RATIO:
            raise self._damaged(f"{member} cannot have {size_words(info.file_size)}")
        return info

    def _header(self, name: str) -> Header:
        info = self._info(f"{name}.npy")
        with self._reading(), self._zip.open(info) as entry:
            magic = entry.read(8)
            wide = magic[6:7] in (b"\x02", b"\x03")
            length = int.from_bytes(entry.read(4 if wide else 2), "little")
            if magic[:6] != npy.MAGIC_PREFIX or magic[6:7] not in b"\x01\x02\x03" or length > _LONGEST_HEADER:
                raise ValueError(f"{name} is not an array")
            text = entry.read(length)
            if _OBJECTS.search(text):
                raise _Pickled
            match = _HEADER.fullmatch(text)
            if match is None:
                raise ValueError(f"{name} does not hold plain numbers, truth values or text")
            try:
                dtype = np.dtype(match["descr"].decode("ascii"))
            except TypeError:
                raise ValueError(f"{name} has an unknown type") from None
            numbers = [word.strip() for word in match["shape"].decode("ascii").split(",")]
            if any(len(word) > 18 or " " in word for word in numbers) or len(numbers) > 32:
                raise ValueError(f"{name} has an impossible shape")
            shape = tuple(int(word) for word in numbers if word)
            header = Header(shape, dtype, match["fortran"] == b"True", 8 + (4 if wide else 2) + length)
            if header.start + header.nbytes != info.file_size:
                raise ValueError(f"{name} has another size than its header says")
        return header

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except UnreadableFile:
            raise
        except _DAMAGE as error:
            raise _said(self.name, error) from None

    def _damaged(self, why: str) -> UnreadableFile:
        return _said(self.name, ValueError(why))


def _check_content(name: str, content: AnyArray, dtype: np.dtype[Any]) -> None:
    """Refuse bytes that are not a truth value or a character: numpy would take them and fail later, or never."""
    if dtype.kind == "b" and content.max() > 1:
        raise ValueError(f"{name} holds other values than true and false")
    if dtype.kind == "U":
        codes = content.view(np.dtype("u4").newbyteorder(dtype.byteorder))
        if codes.max() > 0x10FFFF:
            raise ValueError(f"{name} holds no text")


class _Pickled(ValueError):
    """An array of Python objects."""

    def __str__(self) -> str:
        return "it holds pickled objects, which are never loaded"


def _said(name: str, error: Exception) -> UnreadableFile:
    """The sentence about an archive that cannot be read; a disk or network that fails is not the archive's damage."""
    if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
        return UnreadableFile(f"cannot read {name}: {error.strerror}")
    why = str(error) or type(error).__name__
    return DamagedFile(f"cannot read {name}: {why if 'pickle' in why else f'it is damaged or no npz archive ({why})'}")


@contextmanager
def open_archive(path: str | Path) -> Iterator[Archive]:
    """Open an npz file and read its table of contents, nothing else."""
    name = Path(path).name
    with open_file(path) as file:
        try:
            _check_directory(file)
            archive = zipfile.ZipFile(file)
        except _DAMAGE as error:
            raise _said(name, error) from None
        with archive:
            yield Archive(name, archive)


def _check_directory(file: BinaryIO) -> None:
    """Refuse a table of contents that would take much memory; zipfile reads all of it at once."""
    file.seek(0)
    if file.read(1) == b"\x80":
        raise ValueError("it is a pickle, which is never loaded")
    size = file.seek(0, os.SEEK_END)
    tail = 22 + 20 + 56  # end record, and before it, in large files, a locator and a wider end record
    file.seek(max(0, size - tail))
    end = file.read()
    if len(end) < 22 or end[-22:-18] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise ValueError("no table of contents at its end")
    directory = int.from_bytes(end[-10:-6], "little")
    if end[-42:-38] == b"PK\x06\x07":
        directory = int.from_bytes(end[-98:][40:48], "little")
    if directory > _DIRECTORY:
        raise ValueError(f"a table of contents of {size_words(directory)}")
    file.seek(0)


def write_archive(
    path: str | Path,
    arrays: Mapping[str, ArrayLike],
    texts: Mapping[str, str] | None = None,
    *,
    compress: bool = False,
) -> Path:
    """Write arrays, and texts under their own names before them, into one npz file, atomically.

    Equal content gives an equal file, to the byte: no moment of writing is kept.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_archive(Path(folder) / "x.npz", {"w": [[1.0, 2.0]]})
    ...     with open_archive(path) as archive:
    ...         archive.arrays(["w"])
    {'w': array([[1., 2.]])}
    """
    found = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in found.items():
        if array.dtype.kind not in "biufcSU":
            raise InvalidParameter(
                f"the array {name!r} holds {array.dtype}, not numbers, truth values or text: no file can keep that"
            )

    def write(file: BinaryIO) -> None:
        with zipfile.ZipFile(file, "w") as archive:
            for name, text in (texts or {}).items():
                archive.writestr(_member(name, compress), text)
            for name, array in found.items():
                with archive.open(_member(f"{name}.npy", compress), "w", force_zip64=True) as entry:
                    npy.write_array(entry, array, allow_pickle=False)

    return write_atomically(path, write)


def _member(name: str, compress: bool) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    info.create_system = 3  # the same on every system
    info.external_attr = 0o600 << 16
    return info
