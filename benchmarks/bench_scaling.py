"""Cost against seeds, against N and against workers; what it costs against states is in ``bench_core``.

Short sweeps for the scaling plots: processor time per unit of work where one thread does it, the clock where the
question is how many cores help.
"""

import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from burnside.agents.common.members import Member
from burnside.agents.dqn import DQNConfig, RingDQN
from burnside.envs.cube import CubeCanonicalizer, CubeSpec, CubeSymmetry, scramble
from burnside.envs.ring.core import RingSpec
from burnside.runs import Cell, Context, sweep

SEEDS = (1, 2, 5, 10, 20, 40)
RINGS = (5, 10, 20, 40, 80)
CUBES = (2, 3, 4, 5, 6, 7)
WORKERS = (1, 2, 4)
CELLS, CELL_UPDATES = 8, 16_000
WARM, UPDATES, ROUNDS = 200, 16_000, 3
STATES = 20_000


def until(state: RingDQN, steps: int) -> RingDQN:
    """Whole episodes until a number of environment steps."""
    limit = int(state.spec.time_limit)
    while state.steps[0] < steps:
        state.play(max(1, int((steps - state.steps[0]) // limit)))
    return state


def updates(states: Sequence[RingDQN]) -> int:
    return sum(int(state.state.counters[2]) for state in states)


def training(n: int, members: int, threads: int) -> dict[str, float]:
    """Microseconds per update of DQN on a ring, by the clock and by processor time."""
    states = [until(RingDQN(DQNConfig.preset("ring1d"), RingSpec(n), Member(seed)), WARM) for seed in range(members)]
    before, began, cpu = updates(states), time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda state: until(state, WARM + UPDATES // members), states))
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    done = updates(states) - before
    return {"clock_us": 1e6 * seconds / done, "cpu_us": 1e6 * cpu / done}


def median(found: list[dict[str, float]]) -> dict[str, float]:
    return {key: float(np.median([one[key] for one in found])) for key in found[0]}


def forms(n: int, name: str) -> float:
    """Nanoseconds of processor time per canonical form of an n-cube."""
    spec = CubeSpec(n)
    canonical = CubeCanonicalizer(CubeSymmetry(spec, name))
    states = scramble(spec, np.arange(STATES), 30)[0]
    canonical(states)
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        canonical(states)
        times.append(time.process_time() - began)
    return 1e9 * float(np.median(times)) / STATES


class Cells:
    """A sweep of equal cells, each a DQN on the ring with N = 20."""

    def plan(self, preset: str) -> Sequence[Cell]:
        return [Cell("scaling", {"part": part}, seeds=(part,)) for part in range(CELLS)]

    def run_cell(self, cell: Cell, context: Context) -> Mapping[str, Any]:
        state = until(RingDQN(DQNConfig.preset("ring1d"), RingSpec(20), Member(cell.seeds[0])), CELL_UPDATES)
        return {"rows": [{"seed": cell.seeds[0], "updates": updates([state])}]}


def sweeping(workers: int) -> float:
    """Seconds by the clock for the whole sweep, the start of its processes included."""
    from benchmarks.bench_scaling import Cells as Found  # under its own name, also if this is __main__

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        outcome = sweep(Found(), "study", folder, workers=workers, device="cpu", progress="none")
        seconds = time.perf_counter() - began
    assert outcome.ok and len(outcome.done) == CELLS
    return seconds


def run() -> list[dict[str, object]]:
    """Print and return the rows."""
    training(5, 1, 1)  # compile
    rows: list[dict[str, object]] = []
    print("DQN, ring N = 20: microseconds per update against seeds (two threads, the clock; and processor time)")
    seeds: dict[int, list[dict[str, float]]] = {members: [] for members in SEEDS}
    for _ in range(ROUNDS):
        for members, found in seeds.items():
            found.append(training(20, members, 2))
    for members, found in seeds.items():
        row = median(found)
        print(f"{members:>4} seeds: {row['clock_us']:.0f} µs, {row['cpu_us']:.0f} µs of processor time", flush=True)
        rows.append({"against": "seeds", "what": "DQN update, ring N = 20", "x": members, **row})
    print("against N, one thread, processor time")
    for n in RINGS:
        row = median([training(n, 1, 1) for _ in range(ROUNDS)])
        print(f"ring N = {n}: {row['cpu_us']:.0f} µs per update", flush=True)
        rows.append({"against": "n", "what": "DQN update, ring", "x": n, **row})
    for name in ("position", "conjugation", "conjugation+mirror"):
        for n in CUBES:
            cost = forms(n, name)
            print(f"cube n = {n}, {name}: {cost:.0f} ns per canonical form", flush=True)
            rows.append({"against": "n", "what": f"canonical form, cube, {name}", "x": n, "cpu_us": cost / 1e3})
    print(f"a sweep of {CELLS} cells against workers, seconds by the clock")
    times: dict[int, list[float]] = {workers: [] for workers in WORKERS}
    for _ in range(ROUNDS):
        for workers, taken in times.items():
            taken.append(sweeping(workers))
    for workers, taken in times.items():
        seconds = float(np.median(taken))
        print(f"{workers:>4} workers: {seconds:.1f} s", flush=True)
        rows.append({"against": "workers", "what": f"sweep of {CELLS} cells", "x": workers, "seconds": seconds})
    return rows
