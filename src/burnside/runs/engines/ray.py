"""A Ray cluster: a running one (option ``address``, or the variable RAY_ADDRESS), or one started on this machine."""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from burnside.errors import InvalidParameter, MissingExtra
from burnside.runs.cells import Cell
from burnside.runs.engines.base import GRACE, Patience, Report, StopFile, Tick
from burnside.runs.folder import CellFolder
from burnside.runs.work import Outcome, Task, run_one

__all__ = ["RayEngine"]


class RayEngine:
    """One Ray task per cell, at most ``workers`` at a time.

    Options: ``address`` of a cluster, ``num_gpus`` of a cell (1 with ``--device cuda``, else 0), ``runtime_env``.
    Every machine of the cluster must see the folder of the sweep under the same path and have the same packages.
    """

    def __init__(self, workers: int, options: Mapping[str, Any]) -> None:
        unknown = set(options) - {"address", "num_gpus", "runtime_env"}
        if unknown:
            raise InvalidParameter(f"the ray engine has no option {', '.join(sorted(unknown))}")
        self.workers = workers
        self.options = dict(options)

    def run(self, task: Task, cells: Sequence[Cell], report: Report, tick: Tick) -> None:
        """Run them all, or until ``tick()`` is true."""
        try:
            import ray
        except ImportError:
            raise MissingExtra("ray", "ray") from None
        ours = not ray.is_initialized()
        if ours:
            address = self.options.get("address")
            new = address is None and "RAY_ADDRESS" not in os.environ
            ray.init(
                address=address,
                num_cpus=self.workers * task.threads if new else None,
                include_dashboard=False if new else None,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        try:
            self._run(ray, task, cells, report, tick)
        finally:
            if ours:
                ray.shutdown()

    def _run(self, ray: Any, task: Task, cells: Sequence[Cell], report: Report, tick: Tick) -> None:
        died = _deaths(ray)
        waiting, patience = deque(cells), Patience()
        running: dict[Any, Cell] = {}
        stop = StopFile(task.folder / f".stop-{secrets.token_hex(8)}")
        remote = self._remote(ray, task)
        asked: float | None = None
        try:
            while waiting or running:
                if tick() and asked is None:
                    asked = time.monotonic()
                    waiting.clear()
                    stop.set()
                while waiting and len(running) < self.workers:
                    cell = waiting.popleft()
                    report(cell, None)
                    running[remote.remote(task, cell, stop)] = cell
                if asked is not None and time.monotonic() - asked > GRACE:
                    for reference in running:
                        ray.cancel(reference, force=True)
                    return
                ready, _ = ray.wait(list(running), timeout=0.2) if running else ([], [])
                for reference in ready:
                    cell = running.pop(reference)
                    try:
                        report(cell, ray.get(reference))
                    except died as error:
                        why = str(error).partition("\n")[0]
                        if asked is not None:
                            report(cell, Outcome("stopped"))
                        elif patience.again(CellFolder(task.folder, cell)):
                            waiting.appendleft(cell)
                        else:
                            report(cell, patience.given_up(why))
                    except ray.exceptions.RayError as error:
                        report(cell, Outcome("failed", f"ray: {str(error).strip().splitlines()[-1]}"))
        finally:
            if asked is None:
                for reference in running:
                    ray.cancel(reference, force=True)
            stop.clear()

    def _remote(self, ray: Any, task: Task) -> Any:
        own = dict(self.options.get("runtime_env") or {})
        own["env_vars"] = {**task.environment(), **own.get("env_vars", {})}
        gpus = self.options.get("num_gpus", 1 if task.device == "cuda" else 0)
        # Ray's own retries are off: a cell is tried again by the same rule as everywhere, from its checkpoint.
        options = {"num_cpus": task.threads, "num_gpus": gpus, "max_retries": 0, "runtime_env": own}
        return ray.remote(**options)(_run_cell)


def _deaths(ray: Any) -> tuple[type[BaseException], ...]:
    """Errors that mean: the process or its machine went away."""
    names = ("WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError", "OutOfMemoryError")
    return tuple(getattr(ray.exceptions, name) for name in names if hasattr(ray.exceptions, name))


def _run_cell(task: Task, cell: Cell, stop: StopFile) -> Outcome:
    return run_one(task, cell, stop)
