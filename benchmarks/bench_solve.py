"""What the shipped cube networks solve, and the longest that one cube takes: A* as ``burnside solve`` runs it.

200 random 2-cubes, judged by the exact table; 200 3-cubes scrambled by 1 to 12 turns; and fully scrambled 3-cubes.
Seconds by the clock, two threads, the network already loaded.
"""

import os
import time
from importlib.resources import as_file, files

import numpy as np
import torch

from burnside.agents.cube_values import load_network
from burnside.envs.cube import CubeSpec, scramble
from burnside.envs.cube.tables import two_values
from burnside.search import AStarConfig, CubePuzzle, astar
from burnside.search.result import SearchResult

SCRAMBLES = (1 << 61) + 7  # far from the seeds of training; tests/cli/test_shipped.py has the same ones
SETTINGS = AStarConfig(weight=0.6, batch=1000, cap=1_000_000)
COUNT, FULL = 200, 10


def solve(n: int, lengths: np.ndarray) -> tuple[np.ndarray, list[SearchResult], list[float]]:
    spec = CubeSpec(n)
    with as_file(files("burnside") / "data" / f"cube{n}.safetensors") as path:
        network = load_network(path, spec)
    starts, _ = scramble(spec, SCRAMBLES, lengths, np.arange(len(lengths)))
    puzzle, found, seconds = CubePuzzle(spec), [], []
    astar(puzzle, starts[0], network.value_fn, SETTINGS, canonical=network.canonicalizer)  # compiles
    for start in starts:
        began = time.perf_counter()
        found.append(astar(puzzle, start, network.value_fn, SETTINGS, canonical=network.canonicalizer))
        seconds.append(time.perf_counter() - began)
    return starts, found, seconds


def run() -> list[dict[str, object]]:
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    rows: list[dict[str, object]] = []
    for what, n, lengths in (
        ("2-cube, random", 2, np.full(COUNT, 30)),
        ("3-cube, 1 to 12 turns", 3, 1 + np.arange(COUNT) * 12 // COUNT),
        ("3-cube, 30 turns", 3, np.full(FULL, 30)),
    ):
        starts, found, seconds = solve(n, lengths)
        row: dict[str, object] = {
            "what": what,
            "cubes": len(found),
            "solved": float(np.mean([r.solved for r in found])),
            "longest_seconds": max(seconds),
            "median_seconds": float(np.median(seconds)),
        }
        if n == 2:
            best = two_values(starts)
            near = [r.length is not None and r.length <= b + 2 for r, b in zip(found, best, strict=True)]
            row["within_two_of_the_optimum"] = float(np.mean(near))
        print("  " + ", ".join(f"{k}: {v:.3g}" if isinstance(v, float) else f"{k}: {v}" for k, v in row.items()))
        rows.append(row)
    return rows
