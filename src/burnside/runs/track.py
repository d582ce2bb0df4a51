"""TensorBoard on request: the numbers of every logged row, one run per cell."""

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
        self._writer: Any = EventFileWriter(str(folder))

    def scalars(self, row: Mapping[str, Any], step: int) -> None:
        """The numbers of a row at a step; ``row["step"]`` comes first."""
        at = row.get("step", step)
        values = [
            self._summary.Value(tag=key, simple_value=float(value))
            for key, value in row.items()
            if isinstance(value, (int, float)) and key != "step"
        ]
        if values:
            self._writer.add_event(
                self._event(wall_time=time.time(), step=int(at), summary=self._summary(value=values))
            )

    def resume(self, step: int) -> None:
        """Tell TensorBoard to forget what an interrupted attempt wrote from this step on."""
        start = self._session(status=self._session.START)
        self._writer.add_event(self._event(wall_time=time.time(), step=step, session_log=start))

    def close(self) -> None:
        """Write everything out."""
        self._writer.close()
