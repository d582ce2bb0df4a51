"""A lock file per cell: two sweeps on one folder never work on the same cell, and a dead process does not block others.

The file is created with O_EXCL and says who holds it: host, boot, pid and the start time of that process, so that a
reused process number is not taken for the holder. On the same machine a dead holder is recognised at once; a holder on
another machine by its heartbeat, the modification time of the file. An equal host name does not prove that it is the
same machine: clones and containers share it. So where the boot is another one, the heartbeat decides as well, and after
a restart of the machine its old locks are free only once the heartbeat has been missed three times (90 seconds).
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burnside._files import read_json
from burnside.errors import UnreadableFile

__all__ = ["CellLock", "is_free"]

#: Seconds between heartbeats, and of silence after which a holder on another machine counts as dead. Long, because
#: compiled code that holds the interpreter lock also holds up the heartbeat.
HEARTBEAT, SILENCE = 30.0, 900.0
#: Seconds a lock file may be empty: between creating and filling it.
GRACE = 30.0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""


def _start_time(pid: int) -> str | None:
    """When a process of this machine began, in ticks; "" if that cannot be known; None if it is gone or a zombie."""
    if sys.platform == "win32":
        return ""  # os.kill(pid, 0) would end the process there: only the heartbeat tells
    stat = _read(f"/proc/{pid}/stat")
    if stat:
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in "ZX" else fields[19]
    if Path("/proc/self/stat").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return ""


def _here() -> dict[str, Any]:
    """Who and where this process is."""
    try:
        space = os.readlink("/proc/self/ns/pid")  # containers on one machine number their processes separately
    except OSError:
        space = ""
    return {
        "host": socket.gethostname(),
        "boot": _read("/proc/sys/kernel/random/boot_id"),
        "space": space,
        "pid": os.getpid(),
        "started": _start_time(os.getpid()) or "",
    }


def _holder(path: Path) -> dict[str, Any] | None:
    """What the lock file says; {} if it is empty or damaged, None if there is none."""
    if not os.path.lexists(path):
        return None
    try:
        content = read_json(path, limit=10_000)
    except UnreadableFile:
        return {} if os.path.lexists(path) else None
    return content if isinstance(content, dict) else {}


def _silent(path: Path, seconds: float) -> bool:
    """Whether the file was last touched longer ago than this, by the clock of its own file system."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".clock-") as probe:
            now = os.fstat(probe.fileno()).st_mtime
    except OSError:
        now = time.time()
    try:
        return now - path.stat().st_mtime > seconds
    except OSError:
        return False


def _stale(path: Path, holder: dict[str, Any]) -> bool:
    """Whether the holder is dead: certain where its process can be looked up, else judged by missing heartbeats."""
    here = _here()
    try:
        pid, started = int(holder["pid"]), str(holder["started"])
        place = tuple(str(holder[key]) for key in ("host", "boot", "space"))
    except (KeyError, TypeError, ValueError):
        return _silent(path, GRACE)
    if place[0] != here["host"]:
        return _silent(path, SILENCE)
    if place[1] != here["boot"]:  # the machine was started again since, or another one has the same name
        return _silent(path, 3 * HEARTBEAT)
    if place[2] != here["space"] or sys.platform == "win32":
        return _silent(path, SILENCE)
    found = _start_time(pid)
    return found is None or found != started


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one process at a time judges and breaks locks here, where the file system can lock a folder.

    Otherwise two could judge the same dead holder, and the slower one break the lock the faster one has just taken;
    ``_break`` then gives it back, and ``held`` tells a holder that lost it all the same.
    """
    handle: int | None = None
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
    except (ImportError, OSError):
        pass
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def is_free(path: Path) -> bool:
    """Whether a lock could be taken now: no process holds it, or a dead one does."""
    holder = _holder(path)
    return holder is None or _stale(path, holder)


class CellLock:
    """Exclusive right to work on a cell.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mine, other = CellLock(Path(folder) / "lock"), CellLock(Path(folder) / "lock")
    ...     found = [mine.acquire(), other.acquire(), mine.held()]
    ...     mine.release()
    ...     [*found, other.acquire()]
    [True, False, True, True]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.token = secrets.token_hex(8)
        self._ended = threading.Event()

    def acquire(self) -> bool:
        """Take the lock, breaking that of a dead process; False if a living one holds it."""
        for _ in range(3):
            if self._create():
                self._ended = threading.Event()
                threading.Thread(target=self._beat, args=(self._ended,), daemon=True).start()
                return True
            with _alone(self.path.parent):
                holder = _holder(self.path)
                if holder is not None and not (_stale(self.path, holder) and self._break(holder)):
                    return False
        return False

    def held(self) -> bool:
        """Whether the file is still ours; a user may have deleted it."""
        return (_holder(self.path) or {}).get("token") == self.token

    def release(self) -> None:
        """Give it back."""
        self._ended.set()
        if self.held():
            self.path.unlink(missing_ok=True)

    def _create(self) -> bool:
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            return False
        except OSError as error:
            raise UnreadableFile(f"cannot lock {self.path.parent}: {error.strerror}") from None
        try:
            os.write(handle, (json.dumps({**_here(), "token": self.token}) + "\n").encode())
        except OSError as error:
            self.path.unlink(missing_ok=True)
            raise UnreadableFile(f"cannot lock {self.path.parent}: {error.strerror}") from None
        finally:
            os.close(handle)
        return True

    def _break(self, holder: dict[str, Any]) -> bool:
        """Move a stale lock out of the way. Where ``_alone`` does nothing, another process may do it too."""
        aside = self.path.with_name(f".{self.path.name}-{self.token}")
        try:
            os.rename(self.path, aside)
        except OSError:
            return True  # gone already: try to create it
        taken = _holder(aside)
        if taken != holder:  # meanwhile the other process broke the lock and took it: give it back
            with contextlib.suppress(OSError):
                os.link(aside, self.path)
        aside.unlink(missing_ok=True)
        return taken == holder

    def _beat(self, ended: threading.Event) -> None:
        while not ended.wait(HEARTBEAT):
            with contextlib.suppress(OSError):
                os.utime(self.path)
