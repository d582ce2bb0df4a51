"""Processes that answer requests and are started again when they die: a crashed simulator costs one answer.

A worker runs a function ``serve(connection, *arguments)`` in a fresh process (spawned, so that neither OpenGL nor
threads are inherited). It never imports robosuite: the finished model is among its arguments.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

__all__ = ["Worker", "WorkerDied", "ready"]


class WorkerDied(Exception):
    """The process is gone; :meth:`Worker.restart` starts another. Never seen by users."""


class Worker:
    """One process.

    Args:
        serve: a function of a module, called as ``serve(connection, *arguments)``.
        arguments: what it needs.
    """

    def __init__(self, serve: Callable[..., None], arguments: Sequence[Any]) -> None:
        self._serve, self._arguments = serve, tuple(arguments)
        self.restarts = -1
        self.connection: Connection
        self.process: Any = None
        self.restart()

    def restart(self) -> None:
        """Start the process, or another one in its place."""
        if self.process is not None:
            self.connection.close()
            self.process.kill()
            self.process.join()
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=self._serve, args=(theirs, *self._arguments), daemon=True)
        self.process.start()
        theirs.close()  # so that the death of the process closes the pipe
        self.restarts += 1

    def send(self, request: Any) -> None:
        """Ask something."""
        try:
            self.connection.send(request)
        except (BrokenPipeError, ConnectionResetError, OSError):
            raise WorkerDied from None

    def receive(self) -> Any:
        """The answer; an exception the worker raised is raised here."""
        try:
            answer = self.connection.recv()
        except (EOFError, ConnectionResetError, OSError):
            raise WorkerDied from None
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        if self.process is None:
            return
        with contextlib.suppress(OSError):
            self.connection.send(None)
        self.process.join(timeout=2.0)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.connection.close()
        self.process = None


def ready(workers: Sequence[Worker], timeout: float | None = None) -> list[Worker]:
    """Those workers that have an answer, or are dead."""
    found = wait([worker.connection for worker in workers], timeout)
    return [worker for worker in workers if worker.connection in found]
