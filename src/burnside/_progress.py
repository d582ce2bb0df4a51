"""Progress of something long, on stderr: a bar on a terminal, a line now and then in a pipe or a log.

Nothing is shown of what ends within a second. The lines come from a thread of their own, so they come also while one
step takes long; what is counted may be unknown.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from burnside._terminal import Terminal, one_line

__all__ = ["LINE_EVERY", "Update", "duration", "progress", "progress_line"]

#: Seconds between two lines where there is no terminal; the environment variable ``BURNSIDE_PROGRESS`` sets others.
LINE_EVERY = 10.0


def _line_every() -> float:
    try:
        return max(0.1, float(os.environ.get("BURNSIDE_PROGRESS", LINE_EVERY)))
    except ValueError:
        return LINE_EVERY


class Update(Protocol):
    """Takes how much is done, of how much if that is known, and a word on where it is."""

    def __call__(self, done: float, total: float | None = None, note: str = "") -> None: ...


def duration(seconds: float) -> str:
    """Seconds for people.

    >>> duration(42), duration(3_700), duration(200_000)
    ('42 s', '1 h 01 min', '2 d 07 h')
    """
    s = round(seconds)
    if s < 100:
        return f"{s} s"
    if s < 3_600:
        return f"{s // 60} min {s % 60:02d} s"
    if s < 86_400:
        return f"{s // 3_600} h {s % 3_600 // 60:02d} min"
    return f"{s // 86_400} d {s % 86_400 // 3_600:02d} h"


@contextmanager
def progress(what: str, *, after: float = 1.0, every: float | None = None) -> Iterator[Update]:
    """Show how far ``what`` is while the block runs; it is given a function to say so: ``update(done, total, note)``.

    Args:
        what: what is being done, in a few words.
        after: seconds until a bar appears.
        every: seconds between two lines, where there is no terminal; default 10.

    >>> with progress("counting") as update:
    ...     for k in range(3):
    ...         update(k + 1, 3)
    """
    shown = _Bar(what, after) if sys.stderr.isatty() else _Lines(what, _line_every() if every is None else every)
    try:
        yield shown.update
    finally:
        shown.close()


def progress_line(what: str, elapsed: float, done: float, total: float | None, note: str) -> str:
    """A line on how far something is.

    >>> progress_line("measuring", 30, 5, 20, "")
    'measuring: 5 of 20, 30 s so far, about 90 s left'
    >>> progress_line("auditing", 30, 0, None, "")
    'auditing: 30 s so far'
    """
    parts = [] if not done and not total else [f"{int(done)}" if total is None else f"{int(done)} of {total:.0f}"]
    parts += [note] if note else []
    parts.append(f"{duration(elapsed)} so far")
    if total is not None and 1 <= done < total:
        parts.append(f"about {duration(elapsed * (total - done) / done)} left")
    return f"{one_line(what)}: {', '.join(one_line(part) for part in parts)}"


class _Lines:
    """A line every few seconds, from a thread that waits in between."""

    def __init__(self, what: str, every: float) -> None:
        self._what, self._every = what, every
        self._began = time.monotonic()
        self._at: tuple[float, float | None, str] = (0, None, "")
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="progress", daemon=True)
        self._thread.start()

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self._at = (done, total, note)

    def _tell(self) -> None:
        while not self._closed.wait(self._every):
            line = progress_line(self._what, time.monotonic() - self._began, *self._at)
            try:
                print(line, file=sys.stderr, flush=True)
            except (OSError, ValueError):  # nobody listens any more
                return

    def close(self) -> None:
        self._closed.set()
        self._thread.join(timeout=1.0)


class _Bar:
    """The bar of rich, once it has taken a while; it draws itself from a thread of its own."""

    def __init__(self, what: str, after: float) -> None:
        self._what, self._after = what, after
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._at: tuple[float, float | None, str] = (0, None, "")
        self._lock = threading.Lock()
        self._timer = threading.Timer(after, self._show)
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        with self._lock:
            if self._timer is None:
                return
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[count]}", markup=False),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=Terminal(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task(one_line(self._what), total=None, count="")
            self._bar.start()
            self._draw()

    def update(self, done: float, total: float | None = None, note: str = "") -> None:
        self._at = (done, total, note)
        with self._lock:
            if self._bar is not None:
                self._draw()

    def _draw(self) -> None:
        done, total, note = self._at
        count = f"{int(done)}/{total:.0f}" if total is not None else f"{int(done)}" if done else ""
        self._bar.update(self._task, completed=done, total=total, count=f"{count} {one_line(note)}".strip())

    def close(self) -> None:
        with self._lock:
            self._timer.cancel()
            self._timer = None  # type: ignore[assignment]
            if self._bar is not None:
                self._bar.stop()
