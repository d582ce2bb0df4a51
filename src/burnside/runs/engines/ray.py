"""A Ray cluster: a running one (option ``address``, or the variable RAY_ADDRESS), or one started on this machine."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from burnside.errors import InvalidParameter, MissingExtra
from burnside.runs.cells import Cell
from burnside.runs.engines.base import Report, StopFile, Tick, drive
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
            drive(_Ray(ray, task, self._remote(ray, task)), self.workers, task, cells, report, tick)
        finally:
            if ours:
                ray.shutdown()

    def _remote(self, ray: Any, task: Task) -> Any:
        own = dict(self.options.get("runtime_env") or {})
        own["env_vars"] = {**task.environment(), **own.get("env_vars", {})}
        gpus = self.options.get("num_gpus", 1 if task.device == "cuda" else 0)
        # Ray's own retries are off: a cell is retried from its checkpoint, by the same rule as with other engines.
        options = {"num_cpus": task.threads, "num_gpus": gpus, "max_retries": 0, "runtime_env": own}
        return ray.remote(**options)(_run_cell)


class _Ray:
    """The cluster as :func:`~burnside.runs.engines.base.drive` wants it."""

    def __init__(self, ray: Any, task: Task, remote: Any) -> None:
        self.ray, self.task, self.remote, self.died = ray, task, remote, _deaths(ray)

    def submit(self, cell: Cell, stop: StopFile) -> Any:
        return self.remote.remote(self.task, cell, stop)

    def ended(self, jobs: Sequence[Any]) -> list[tuple[Any, Outcome | None, str]]:
        ready, _ = self.ray.wait(list(jobs), timeout=0.2)
        return [(next(job for job in jobs if job == one), *self._outcome(one)) for one in ready]

    def _outcome(self, job: Any) -> tuple[Outcome | None, str]:
        try:
            found: Outcome = self.ray.get(job)
            return found, ""
        except self.died as error:
            return None, str(error).partition("\n")[0]
        except self.ray.exceptions.RayError as error:
            return Outcome("failed", f"ray: {str(error).strip().splitlines()[-1]}"), ""

    def cancel(self, job: Any) -> None:
        self.ray.cancel(job, force=True)


def _deaths(ray: Any) -> tuple[type[BaseException], ...]:
    """Errors that mean: the process or its machine went away."""
    names = ("WorkerCrashedError", "NodeDiedError", "LocalRayletDiedError", "OutOfMemoryError")
    return tuple(getattr(ray.exceptions, name) for name in names if hasattr(ray.exceptions, name))


def _run_cell(task: Task, cell: Cell, stop: StopFile) -> Outcome:
    return run_one(task, cell, stop)
