"""The same job on every engine gives the same bits; processes killed there are replaced."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.runs.toy import ToyJob, snapshot, starts, workers_of, working

from burnside.errors import InvalidParameter, MissingExtra, UnknownName
from burnside.runs import sweep
from burnside.runs.sweep import SweepOutcome

REPO = Path(__file__).resolve().parents[2]
WHERE = os.pathsep.join([str(REPO), str(REPO / "src")])
STEPS = 300


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert sweep(ToyJob(STEPS), "laptop", folder, workers=0, progress="none").ok
    return snapshot(folder)


@pytest.fixture(autouse=True)
def python_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that others start must find the toy."""
    monkeypatch.setenv("PYTHONPATH", WHERE)


def killing(folder: Path, run: Callable[[], SweepOutcome], kills: int) -> tuple[SweepOutcome, int]:
    """Run, while a thread kills processes that are at work on a cell; those that just ended it do not count."""
    killed: set[int] = set()
    ended = threading.Event()

    def kill() -> None:
        while not ended.is_set() and len(killed) < kills:
            for pid in set(working(folder)) - killed:
                time.sleep(0.1)
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                if pid in workers_of(folder):  # its lock is still there: it had not finished
                    killed.add(pid)
                break
            time.sleep(0.05)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        return run(), len(killed)
    finally:
        ended.set()
        thread.join()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A small cluster of our own: two processes, the smallest store that Ray accepts, no dashboard, no telemetry."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'burnside[ray]'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.delenv("RAY_ADDRESS", raising=False)
        ray.init(
            num_cpus=2,
            object_store_memory=80_000_000,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"env_vars": {"PYTHONPATH": WHERE}},
        )
        yield ray
        ray.shutdown()


@pytest.mark.slow
def test_ray_with_killed_workers(tmp_path: Path, undisturbed: dict[str, bytes], cluster: Any) -> None:
    job = ToyJob(STEPS, pause=0.004)
    outcome, killed = killing(tmp_path, lambda: sweep(job, "laptop", tmp_path, engine="ray", progress="none"), kills=2)
    assert killed == 2
    assert outcome.ok and len(outcome.done) == 4
    assert snapshot(tmp_path) == undisturbed
    assert sum(starts(tmp_path)) >= 4 + 2


def test_ray_lists_failures_and_gives_up_on_the_hopeless(tmp_path: Path, cluster: Any) -> None:
    outcome = sweep(ToyJob(50, fail=(1,), die=(2,)), "laptop", tmp_path, engine="ray", progress="none")
    assert sorted(outcome.failed.values())[0] == "RuntimeError: the toy breaks at n=1"
    assert "its process died 3 times" in sorted(outcome.failed.values())[1]
    assert len(outcome.done) == 2 and outcome.exit_code == 1


def test_ray_stops_politely(tmp_path: Path, undisturbed: dict[str, bytes], cluster: Any) -> None:
    job = ToyJob(STEPS, pause=0.01, eager=False)
    before = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    threading.Thread(target=lambda: (wait_for(tmp_path), os.kill(os.getpid(), signal.SIGALRM))).start()
    try:
        stopped = sweep(job, "laptop", tmp_path, engine="ray", progress="none")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert stopped.exit_code == 130 and list(tmp_path.glob("cells/*/checkpoint-*.npz"))
    assert sweep(ToyJob(STEPS), "laptop", tmp_path, workers=0, progress="none").ok  # any engine may resume it
    assert snapshot(tmp_path) == undisturbed


def wait_for(folder: Path) -> None:
    while not working(folder):
        time.sleep(0.05)
    time.sleep(0.3)


def test_ray_starts_its_own_cluster(tmp_path: Path) -> None:
    """In a separate process, as the command does it: no cluster is running and none is left behind."""
    pytest.importorskip("ray", reason="ray is not installed: pip install 'burnside[ray]'")
    code = (
        "from burnside.runs import sweep; from tests.runs.toy import ToyJob; import ray, sys\n"
        f"ok = sweep(ToyJob(50), 'smoke', {str(tmp_path)!r}, engine='ray', progress='none').ok\n"
        "sys.exit(0 if ok and not ray.is_initialized() else 1)"
    )
    own = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"} | {"RAY_USAGE_STATS_ENABLED": "0"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPO, timeout=300, env=own)


def test_slurm_through_submitits_local_executor(
    tmp_path: Path, undisturbed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    submitit = pytest.importorskip("submitit", reason="submitit is not installed: pip install 'burnside[slurm]'")
    monkeypatch.setattr(submitit.core.core.Job, "_results_timeout_s", 1)  # it waits 15 s for what a killed job left
    job, options = ToyJob(STEPS, pause=0.002), {"cluster": "local", "timeout_min": 10}
    outcome, killed = killing(
        tmp_path,
        lambda: sweep(job, "laptop", tmp_path, engine="slurm", options=options, progress="none"),
        kills=1,
    )
    assert killed == 1 and outcome.ok and len(outcome.done) == 4
    assert snapshot(tmp_path) == undisturbed


def test_slurm_requeues_after_preemption(tmp_path: Path, undisturbed: dict[str, bytes]) -> None:
    """submitit's own signal before preemption: it asks for a checkpoint, ends the process and runs it again."""
    submitit = pytest.importorskip("submitit", reason="submitit is not installed: pip install 'burnside[slurm]'")
    from burnside.runs.engines.base import StopFile
    from burnside.runs.engines.slurm import SlurmCell
    from burnside.runs.work import Task

    executor = submitit.AutoExecutor(folder=tmp_path / "slurm", cluster="local")
    executor.update_parameters(timeout_min=10)
    cell = ToyJob(STEPS).plan("laptop")[0]
    task = Task(ToyJob(STEPS, pause=0.004), tmp_path)
    job = executor.submit(SlurmCell(task, cell, StopFile(tmp_path / "stop")))
    while not working(tmp_path):
        time.sleep(0.02)
    time.sleep(0.2)
    os.kill(working(tmp_path)[0], signal.SIGUSR2)
    assert job.result().status == "done"
    assert starts(tmp_path) == [2]
    assert snapshot(tmp_path).items() <= undisturbed.items()


def test_slurm_lists_failures(tmp_path: Path) -> None:
    pytest.importorskip("submitit", reason="submitit is not installed: pip install 'burnside[slurm]'")
    options = {"cluster": "local", "timeout_min": 10}
    outcome = sweep(ToyJob(50, fail=(1,)), "smoke", tmp_path, engine="slurm", options=options, progress="none")
    assert list(outcome.failed.values()) == ["RuntimeError: the toy breaks at n=1"] and len(outcome.done) == 1


def test_slurm_without_slurm_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit", reason="submitit is not installed: pip install 'burnside[slurm]'")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InvalidParameter, match="sbatch is not found"):
        sweep(ToyJob(), "smoke", tmp_path, engine="slurm", progress="none")


def test_a_stop_file_forgets_the_clock_of_the_machine_that_sends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from burnside.runs.engines.base import StopFile

    monkeypatch.setattr(time, "monotonic", lambda: 5e6)  # up for two months
    stop = StopFile(tmp_path / "stop")
    assert not stop()
    sent = pickle.dumps(stop)
    stop.set()
    monkeypatch.setattr(time, "monotonic", lambda: 0.5)  # just started
    assert pickle.loads(sent)() and StopFile(tmp_path / "stop")()


@pytest.mark.parametrize(("engine", "package", "extra"), [("ray", "ray", "ray"), ("slurm", "submitit", "slurm")])
def test_a_missing_package_names_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: Any, package: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"burnside\[{extra}\]"):
        sweep(ToyJob(), "smoke", tmp_path, engine=engine, progress="none")


def test_tracking_without_tensorboard_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(MissingExtra, match=r"burnside\[track\]"):
        sweep(ToyJob(), "smoke", tmp_path, workers=0, track=True, progress="none")


def test_wrong_engines_and_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'slurm'"):
        sweep(ToyJob(), "smoke", tmp_path, engine="slrum", progress="none")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="no options"):
        sweep(ToyJob(), "smoke", tmp_path, options={"x": 1}, progress="none")
    with pytest.raises(InvalidParameter, match="workers"):
        sweep(ToyJob(), "smoke", tmp_path, engine="ray", workers=0, progress="none")
    assert not list(tmp_path.iterdir())


def test_workers_get_the_threads_they_were_given(tmp_path: Path) -> None:
    from tests.runs.toy import ThreadsJob

    assert sweep(ThreadsJob(), "smoke", tmp_path, threads=3, workers=1, progress="none").ok
    from burnside.runs import read_results

    (row,) = read_results(tmp_path).rows
    assert row["OMP_NUM_THREADS"] == row["NUMBA_NUM_THREADS"] == "3" and row["threads"] == 3
