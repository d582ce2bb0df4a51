"""Checkpoints as plain arrays in an npz: no pickles, atomic, and the one before is kept in case the last is damaged."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from burnside._archives import Archive, open_archive, write_archive
from burnside._types import AnyArray
from burnside.errors import DamagedFile, InvalidParameter, UnreadableFile

__all__ = ["Resumable", "check_arrays", "exists", "load", "read_checkpoint", "save", "write_checkpoint"]

_FORMAT = 1
#: Arrays whose length may differ between two moments of a run.
LOGS = ("log/rows", "log/stats", "losses", "rows")


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{path.stem}.{what}{path.suffix}")


def exists(path: str | Path) -> bool:
    """Whether there is a checkpoint to resume, the last or the one before."""
    return Path(path).exists() or _beside(Path(path), "previous").exists()


def write_checkpoint(path: str | Path, arrays: Mapping[str, AnyArray], identity: str) -> Path:
    """Write arrays and what they belong to; at every moment a whole checkpoint is on disk."""
    target = Path(path)
    content = {**arrays, "identity": np.array(identity), "format": np.array(_FORMAT)}
    new = write_archive(_beside(target, "next"), content)
    if target.exists():
        target.replace(_beside(target, "previous"))
    new.replace(target)
    return target


def read_checkpoint(path: str | Path, expected: Mapping[str, AnyArray | None], identity: str) -> dict[str, AnyArray]:
    """The arrays of a checkpoint of exactly this run; if it is damaged, of the one before it, with a warning.

    ``expected`` has an array of the right shape and type under every name, or None where these may vary.
    """
    target = Path(path)
    try:
        return _read(target, expected, identity)
    except UnreadableFile as error:
        if not _beside(target, "previous").exists():
            raise
        found = _read(_beside(target, "previous"), expected, identity)
        warnings.warn(f"{error}; going on from the checkpoint before it", RuntimeWarning, stacklevel=3)
        return found


def _read(path: Path, expected: Mapping[str, AnyArray | None], identity: str) -> dict[str, AnyArray]:
    with open_archive(path) as archive:
        belongs = _identity(path, archive)
        if belongs != identity:
            raise UnreadableFile(
                f"the checkpoint {path.name} belongs to another run, {belongs!s:.2000}; this run is {identity}:"
                " give another place or delete it"
            )
        missing = [name for name in expected if name not in archive]
        if missing:
            raise DamagedFile(f"{path.name} was written by another version, without {missing[0]!r}: delete it")
        headers = archive.headers(expected)
        for name, like in expected.items():
            if like is not None and (headers[name].shape != like.shape or headers[name].dtype != like.dtype):
                raise DamagedFile(
                    f"{path.name} is damaged or of another version: {name} is {headers[name]}, "
                    f"not {like.dtype} of shape {like.shape}: delete it"
                )
        return {name: archive.array(name, header) for name, header in headers.items()}


def _identity(path: Path, archive: Archive) -> Any:
    """What a checkpoint belongs to."""
    if "identity" in archive and "format" in archive:
        headers = archive.headers(("identity", "format"))
        kinds = [(header.shape, header.dtype.kind) for header in headers.values()]
        if kinds == [((), "U"), ((), "i")]:
            found = {name: archive.array(name, header).item() for name, header in headers.items()}
            if found["format"] == _FORMAT:
                return found["identity"]
    raise DamagedFile(f"the checkpoint {path.name} is damaged or of another version: delete it")


class Resumable(Protocol):
    """A learner between two rollouts that is nothing but arrays; those named ``log/…`` grow."""

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        ...

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to go on."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> Any:
        """Go on from them."""
        ...


def check_arrays(like: Mapping[str, AnyArray], found: Mapping[str, AnyArray], vary: tuple[str, ...] = LOGS) -> None:
    """Refuse arrays that do not belong to a learner: one is missing or has another shape (logs may grow)."""
    for name, array in like.items():
        if name not in found or (found[name].shape != array.shape and name not in vary):
            raise InvalidParameter(f"these arrays do not belong to this run: {name} is missing or has another shape")


_Learner = TypeVar("_Learner", bound=Resumable)


def save(learner: Resumable, path: str | Path) -> Path:
    """Write a checkpoint atomically; the one before it stays beside it."""
    return write_checkpoint(path, learner.arrays(), learner.identity)


def load(learner: _Learner, path: str | Path) -> _Learner:
    """Go on from a checkpoint of exactly this learner; if it is damaged, from the one before, with a warning."""
    expected = {name: None if name in LOGS else array for name, array in learner.arrays().items()}
    learner.restore(read_checkpoint(path, expected, learner.identity))
    return learner
