"""TensorBoard on request: the numbers of every logged row, one run per cell, or per seed if rows name one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from burnside.errors import MissingExtra

__all__ = ["Tracker"]


class Tracker:
    """Writes scalars for TensorBoard, without torch or TensorFlow."""

    def __init__(self, folder: Path) -> None:
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise MissingExtra("tensorboard", "track") from None
        self._event: Any = Event
        self._session: Any = SessionLog
        self._summary: Any = Summary
        self._new: Any = EventFileWriter
        self._folder = folder
        self._resumed: int | None = None
        self._writers: dict[str, Any] = {}

    def scalars(self, row: Mapping[str, Any], step: int) -> None:
        """The numbers of a row at a step; ``row["step"]`` takes precedence. Each ``seed`` is a separate run."""
        at = row.get("step", step)
        values = [
            self._summary.Value(tag=key, simple_value=float(value))
            for key, value in row.items()
            if isinstance(value, (int, float)) and key not in ("step", "seed")
        ]
        if values:
            self._writer(row).add_event(
                self._event(wall_time=time.time(), step=int(at), summary=self._summary(value=values))
            )

    def _writer(self, row: Mapping[str, Any]) -> Any:
        name = f"seed-{row['seed']}" if "seed" in row else ""
        if name not in self._writers:
            self._writers[name] = self._new(str(self._folder / name))
            if self._resumed is not None:
                self._forget(self._writers[name], self._resumed)
        return self._writers[name]

    def _forget(self, writer: Any, step: int) -> None:
        start = self._session(status=self._session.START)
        writer.add_event(self._event(wall_time=time.time(), step=step, session_log=start))

    def resume(self, step: int) -> None:
        """Tell TensorBoard to forget what an interrupted attempt wrote from this step on."""
        self._resumed = step
        for writer in self._writers.values():
            self._forget(writer, step)

    def close(self) -> None:
        """Write everything out."""
        for writer in self._writers.values():
            writer.close()
