"""Solvers of random 3-cubes side by side: ours, cayleypy and deepxube, one core, the same time to learn.

Each learns for the same processor time on one core (``BURNSIDE_BENCH_SECONDS``, 120 by default), then solves random
cubes of 100 turns, the same for all, with a beam of 1024 states; see ``peers/cube_solvers.py``. Neither package comes
with weights for the cube (AlphaCube downloads its own, 14.7 million of them, from another site), so all networks are
made here. Then the shipped policy as ``burnside solve`` runs it on 200 cubes, and the throughput of training against
its bare matrix products: the same shapes, forwards and backwards.
"""

import json
import os
import subprocess
import sys
import time
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
import torch

from benchmarks.environments import ONE_THREAD, TORCH, peer

SCRIPT = Path(__file__).parent / "peers" / "cube_solvers.py"
PACKAGES = {"deepxube": [TORCH, "deepxube==0.3.2"], "cayleypy": [TORCH, "cayleypy==0.2.0"]}
TITLES = {
    "ours": "burnside",
    "plain": "burnside without the endgame table",
    "cayleypy": "cayleypy 0.2.0",
    "deepxube": "deepxube 0.3.2",
}
SECONDS = os.environ.get("BURNSIDE_BENCH_SECONDS", "120")
WIDTH = 1024
#: The others take seconds or a minute for a cube, so they get the first few only.
CUBES = {"ours": 50, "plain": 50, "cayleypy": 10, "deepxube": 3}


def run() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for name, title in TITLES.items():
        python, reason = (Path(sys.executable), "") if name in ("ours", "plain") else peer(name, PACKAGES[name], name)
        if python is None:
            print(f"  {title}: not measured ({reason})")
            continue
        command = [str(python), str(SCRIPT), name, SECONDS, str(CUBES[name]), str(WIDTH)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
        if done.returncode:
            print(f"  {title}: failed ({(done.stderr.strip().splitlines() or ['no reason given'])[-1]})")
            continue
        found = json.loads(done.stdout.strip().splitlines()[-1])
        rows.append({"what": "solve", "name": title, "cubes": CUBES[name], "width": WIDTH, **found})
        print(f"  {title}: {found}")
    for row in (shipped(), throughput()):
        rows.append(row)
        print(f"  {row}")
    return rows


def shipped(count: int = 200) -> dict[str, object]:
    """The policy that comes with the package."""
    from burnside.agents.cube_walks import load_policy
    from burnside.envs.cube import CubeSpec, scramble
    from burnside.search import solve_cube

    torch.set_num_threads(1)
    with as_file(files("burnside") / "data" / "cube3-policy.safetensors") as path:
        policy = load_policy(path)
    starts, _ = scramble(CubeSpec(3), (1 << 61) + 7, 100, np.arange(count))
    solve_cube(policy, starts[0])  # compiles
    began = time.process_time()
    lengths = [found.length for found in (solve_cube(policy, start) for start in starts) if found.solved]
    seconds = (time.process_time() - began) / count
    return {
        "what": "shipped",
        "name": "burnside solve",
        "weights": policy.weights,
        "cubes": count,
        "solved": len(lengths) / count,
        "length": float(np.mean(lengths)),
        "cpu": seconds,
    }


def throughput(updates: int = 60) -> dict[str, object]:
    """States per second of training, and of its products alone."""
    from burnside.agents.common.members import Member
    from burnside.agents.cube_walks import WalkConfig, WalkRun
    from burnside.envs.cube import CubeSpec

    torch.set_num_threads(1)
    config = WalkConfig.preset("shipped", states=1_024 * 1_000)
    learner = WalkRun(config, CubeSpec(3), Member(0, "equivariant"))
    one, two = config.hidden
    shapes = [(one, two), *[(two, two)] * (2 * config.blocks), (two, 25)]
    arrays = [(torch.rand(config.batch, a), torch.rand(a, b), torch.rand(config.batch, b)) for a, b in shapes]

    def products() -> None:
        for x, w, g in arrays:
            x @ w, x.T @ g, g @ w.T

    learner.run(5)
    products()
    ours, bare = [], []
    for _ in range(updates // 10):  # side by side, since others use the machine too
        for kept, work in ((ours, lambda: learner.run(10)), (bare, lambda: [products() for _ in range(10)])):
            began = time.process_time()
            work()
            kept.append((time.process_time() - began) / 10)
    return {
        "what": "training",
        "name": "burnside",
        "states_per_cpu_second": config.batch / float(np.median(ours)),
        "bare_products_per_cpu_second": config.batch / float(np.median(bare)),
        "roofline": float(np.median(np.array(bare) / np.array(ours))),
    }
