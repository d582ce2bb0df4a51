"""Saving and resuming a learner, in the format of all checkpoints (:mod:`burnside._checkpoints`)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from burnside._checkpoints import generations, load_newest, put_aside, read_arrays, save_next, write_arrays
from burnside._types import AnyArray
from burnside.errors import DamagedFile, InvalidParameter, UnreadableFile

__all__ = ["Resumable", "check_arrays", "load", "resume", "save", "save_generation"]

#: Arrays whose length may differ between two moments of a run.
LOGS = ("log/rows", "log/stats", "losses", "rows", "network/memory/boards", "network/memory/features")


class Resumable(Protocol):
    """A learner between two rollouts that is nothing but arrays; those named ``log/…`` grow."""

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        ...

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> Any:
        """Resume from them."""
        ...


def check_arrays(like: Mapping[str, AnyArray], found: Mapping[str, AnyArray]) -> None:
    """Refuse arrays that do not belong to a learner: one is missing or of another shape or type (logs may grow)."""
    for name, array in like.items():
        if name not in found:
            raise InvalidParameter(f"these arrays do not belong to this run: {name} is missing")
        own, its = array.shape[name in LOGS :], found[name].shape[name in LOGS :]
        if own != its or array.ndim != found[name].ndim or array.dtype != found[name].dtype:
            raise InvalidParameter(
                f"these arrays do not belong to this run: {name} is {found[name].dtype} of shape {found[name].shape}, "
                f"not {array.dtype} of shape {array.shape}"
            )


_Learner = TypeVar("_Learner", bound=Resumable)


def save(learner: Resumable, path: str | Path) -> Path:
    """Write everything a learner needs to resume into one file, atomically."""
    return write_arrays(Path(path), learner.arrays(), {"cell": learner.identity})


def load(learner: _Learner, path: str | Path) -> _Learner:
    """Resume from a file of exactly this learner."""
    arrays, meta = read_arrays(Path(path))
    _check_owner(learner, meta)
    _take(learner, arrays, Path(path))
    return learner


def save_generation(learner: Resumable, folder: Path) -> Path:
    """Write the next checkpoint of a learner into its folder; the one before it stays."""
    return save_next(folder, learner.identity, learner.arrays(), {})


def resume(learner: Resumable, folder: Path) -> bool:
    """Resume from the newest usable checkpoint in a folder; False if there is none, and nothing has changed.

    A checkpoint that is damaged or of another version is set aside, with a warning. One of another run is refused.
    """
    old = folder.with_name(f"{folder.name}.npz")  # older versions kept checkpoints there
    if old.exists() and not generations(folder):
        warnings.warn(put_aside(old, f"{old.name} was written by another version", "unusable"), stacklevel=3)
    found, notes = load_newest(folder, learner.identity, lambda meta: _check_owner(learner, meta))
    for note in notes:
        warnings.warn(note, RuntimeWarning, stacklevel=3)
    if found is None:
        return False
    try:
        _take(learner, found.arrays, found.path)
    except DamagedFile as error:
        warnings.warn(put_aside(found.path, str(error), "unusable"), RuntimeWarning, stacklevel=3)
        return resume(learner, folder)
    return True


def _check_owner(learner: Resumable, meta: Mapping[str, Any]) -> str | None:
    """Refuse a checkpoint of another run: it is intact, but in the wrong place."""
    belongs = meta.get("cell")
    if belongs != learner.identity:
        raise UnreadableFile(
            f"the checkpoint belongs to another run, {belongs!s:.2000}; this run is {learner.identity}: give another "
            f"place or delete it"
        )
    return None


def _take(learner: Resumable, arrays: Mapping[str, AnyArray], path: Path) -> None:
    try:
        learner.restore(arrays)
    except (InvalidParameter, KeyError) as error:
        raise DamagedFile(f"{path.name} is damaged or was written by another version ({error})") from None
