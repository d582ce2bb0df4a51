"""A job whose state evolves deterministically, and a script that sweeps it, for tests that kill processes."""

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnside.errors import UnknownName
from burnside.runs import Cell, Context, read_results, sweep
from burnside.runs.folder import CellFolder

PRESETS = {"smoke": 2, "laptop": 4, "study": 6}


@dataclass(frozen=True)
class ToyJob:
    """Iterates a map from 64-bit numbers to themselves: one wrong, lost or repeated step changes every later one."""

    steps: int = 200
    pause: float = 0.0  # seconds per step; not part of the config, since it does not change the result
    fail: tuple[int, ...] = ()
    die: tuple[int, ...] = ()
    die_last: bool = False  # with the result written and nothing cleaned up
    eager: bool = True  # a checkpoint after every chunk, not only when one is due

    def plan(self, preset: str) -> Sequence[Cell]:
        if preset not in PRESETS:
            raise UnknownName("preset", preset, PRESETS)
        return [Cell("toy", {"n": n, "steps": self.steps}, seeds=(7, 3)) for n in range(PRESETS[preset])]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        with open(context.folder / "own-starts.txt", "a") as file:
            file.write(f"{os.getpid()}\n")
        n = cell.config["n"]
        if n in self.fail:
            raise RuntimeError(f"the toy breaks at n={n}")
        if n in self.die:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.die_last:
            CellFolder.clear = lambda _: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign, assignment]
        saved = context.restore()
        state = np.array(cell.seeds, dtype=np.uint64) + np.uint64(1000 * n) if saved is None else saved.arrays["state"]
        step = 0 if saved is None else saved.meta["step"]
        seen = np.zeros(0, dtype=np.uint64) if saved is None else saved.arrays["seen"]
        while step < cell.config["steps"]:
            for _ in range(10):
                state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
                step += 1
                if self.pause:
                    time.sleep(self.pause)
            seen = np.append(seen, state[0])
            context.log({"step": step, "state": [int(s) for s in state], "charts/low": int(state[0] % 100)})
            context.progress(step, cell.config["steps"])
            if self.eager or context.due():
                context.checkpoint({"state": state, "seen": seen}, step=step)
        context.save("curve", {"step": np.arange(10, step + 1, 10, dtype=np.int32), "seen": seen})
        return {"rows": [{"seed": s, "value": int(v % 10**9)} for s, v in zip(cell.seeds, state, strict=True)]}


@dataclass(frozen=True)
class ThreadsJob:
    """Says with how many threads it was started."""

    def plan(self, preset: str) -> Sequence[Cell]:
        return [Cell("threads", {})]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
        return {"rows": [{name: os.environ.get(name) for name in names} | {"threads": context.threads}]}


def snapshot(folder: Path) -> dict[str, bytes]:
    """Everything that must be the same however a sweep was disturbed: results, logs, tables."""
    kept = [*folder.glob("cells/*/result.json"), *folder.glob("cells/*/log.jsonl"), *folder.glob("cells/*/table-*.npz")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept}


def starts(folder: Path) -> list[int]:
    """How often each cell was begun."""
    return [len(path.read_text().splitlines()) for path in sorted(folder.glob("cells/*/own-starts.txt"))]


def table(folder: Path) -> list[dict[str, Any]]:
    return read_results(folder).rows


def workers_of(folder: Path) -> list[int]:
    """Process numbers of those who hold a lock now."""
    found = []
    for lock in folder.glob("cells/*/lock"):
        try:
            found.append(int(json.loads(lock.read_text())["pid"]))
        except (OSError, ValueError):
            continue
    return found


def working(folder: Path) -> list[int]:
    """Of those, the ones whose cell has begun: killed now, they will have been started in vain."""
    found = []
    for pid in workers_of(folder):
        for path in folder.glob("cells/*/own-starts.txt"):
            lock = path.with_name("lock")
            try:
                if int(json.loads(lock.read_text())["pid"]) == pid and f"{pid}\n" in path.read_text():
                    found.append(pid)
            except (OSError, ValueError):
                continue
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--preset", default="laptop")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--lazy", action="store_true")
    parser.add_argument("--die-last", action="store_true")
    args = parser.parse_args()
    job = ToyJob(args.steps, args.pause, die_last=args.die_last, eager=not args.lazy)
    outcome = sweep(job, args.preset, args.folder, workers=args.workers, progress="lines")
    print(json.dumps({"done": len(outcome.done), "skipped": len(outcome.skipped), "left": len(outcome.left)}))
    return outcome.exit_code


if __name__ == "__main__":
    # Other processes must find the job under its own name, not as __main__.
    from tests.runs import toy

    sys.exit(toy.main())
