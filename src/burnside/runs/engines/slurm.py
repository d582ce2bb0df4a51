"""Slurm through submitit: a job per cell, requeued after preemption and timeouts, resuming from its checkpoint.

With the option ``cluster=local`` the same code runs as processes of this machine, which is how it is tested. submitit
keeps its own files (scripts, outputs, its pickles) in the subfolder ``slurm``; nothing of ours is read from there.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from typing import Any

from burnside.errors import InvalidParameter, MissingExtra
from burnside.runs.cells import Cell
from burnside.runs.engines.base import Report, StopFile, Tick, drive, environment
from burnside.runs.work import Outcome, Task, run_one

__all__ = ["SlurmEngine"]


class SlurmEngine:
    """One Slurm job per cell, at most ``workers`` at a time.

    Options: ``cluster`` (``slurm`` or ``local``) and whatever submitit's ``update_parameters`` takes, such as
    ``timeout_min``, ``slurm_partition``, ``mem_gb``, ``gpus_per_node``.
    """

    def __init__(self, workers: int, options: Mapping[str, Any]) -> None:
        self.workers = workers
        self.options = dict(options)
        self.cluster = str(self.options.pop("cluster", "slurm"))
        if self.cluster not in ("slurm", "local"):
            raise InvalidParameter(f"the option cluster must be slurm or local, not {self.cluster!r}")

    def run(self, task: Task, cells: Sequence[Cell], report: Report, tick: Tick) -> None:
        """Run them all, or until ``tick()`` is true."""
        drive(_Jobs(task, self._executor(task)), self.workers, task, cells, report, tick)

    def _executor(self, task: Task) -> Any:
        try:
            import submitit
        except ImportError:
            raise MissingExtra("submitit", "slurm") from None
        if self.cluster == "slurm" and shutil.which("sbatch") is None:
            raise InvalidParameter(
                "the command sbatch is not found: run this on a login node of a Slurm cluster, or try it on this "
                "machine with --option cluster=local"
            )
        executor = submitit.AutoExecutor(folder=task.folder / "slurm", cluster=self.cluster)
        parameters: dict[str, Any] = {"timeout_min": 240, "cpus_per_task": task.threads, "name": "burnside"}
        if task.device == "cuda":
            parameters["gpus_per_node"] = 1
        if self.cluster == "slurm":
            parameters["slurm_setup"] = [f"export {name}={value}" for name, value in task.environment().items()]
        try:
            executor.update_parameters(**(parameters | self.options))
        except (NameError, TypeError, ValueError) as error:
            sentence = " ".join(str(error).split())
            raise InvalidParameter(f"submitit does not take these options: {sentence}") from None
        return executor


class _Jobs:
    """The cluster as :func:`~burnside.runs.engines.base.drive` wants it."""

    def __init__(self, task: Task, executor: Any) -> None:
        self.task, self.executor = task, executor

    def submit(self, cell: Cell, stop: StopFile) -> Any:
        with environment(self.task.environment()):
            return self.executor.submit(SlurmCell(self.task, cell, stop))

    def ended(self, jobs: Sequence[Any]) -> list[tuple[Any, Outcome | None, str]]:
        found = [(job, *_outcome(job)) for job in jobs if job.done()]
        if not found:
            time.sleep(0.2)
        return found

    def cancel(self, job: Any) -> None:
        job.cancel(check=False)


class SlurmCell:
    """What submitit runs; asked to checkpoint, it returns the same job, since the state is in our own files."""

    def __init__(self, task: Task, cell: Cell, stop: StopFile) -> None:
        self.task, self.cell, self.stop = task, cell, stop

    def __call__(self) -> Outcome:
        """Run the cell."""
        return run_one(self.task, self.cell, self.stop)

    def checkpoint(self) -> Any:
        """Called by submitit before it requeues a preempted job."""
        from submitit.helpers import DelayedSubmission

        return DelayedSubmission(SlurmCell(self.task, self.cell, self.stop))


def _outcome(job: Any) -> tuple[Outcome | None, str]:
    """What the job returned; without that, how it ended."""
    import submitit

    try:
        found: Outcome = job.result()
        return found, ""
    except submitit.core.utils.FailedJobError as error:  # an exception outside run_one: usually in the job's module
        return Outcome("failed", f"submitit: {str(error).strip().splitlines()[-1]}"), ""
    except submitit.core.utils.UncompletedJobError as error:
        return None, str(error).strip().partition("\n")[0]
