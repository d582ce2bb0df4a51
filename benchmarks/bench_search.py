"""Search on the 3-cube with one and the same network: nodes per second of ours, deepxube and cayleypy.

The network (324 → 512 → 256 → two residual blocks → 1, random weights, the same torch modules for everybody) is called
on at most 8192 states at a time. A* expands 1000 states per step to about 240 000 nodes, beam search keeps 2048 over 12
layers; nodes are children made, duplicates included. deepxube has both, cayleypy beam search only. Each peer lives in
an environment of its own (``.bench/NAME``, made at the first run); everyone has one thread. Rounds are interleaved and
ratios taken within a round, by the clock and by processor time: on a machine that others use too only the second means
much. All that ours can win is what is not the network, so the share of the time outside it is given too.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.environments import ONE_THREAD, TORCH, peer

SCRIPT = Path(__file__).parent / "peers" / "cube_search.py"
PACKAGES = {"deepxube": [TORCH, "deepxube==0.3.2"], "cayleypy": [TORCH, "cayleypy==0.2.0"]}
TITLES = {
    "ours": "burnside",
    "folded": "burnside with the network of burnside.agents.cube_values",
    "deepxube": "deepxube 0.3.2",
    "cayleypy": "cayleypy 0.2.0",
}
BUDGETS = {"astar": ["1000", "20"], "beam": ["2048", "12"]}
WHO = {"astar": ["ours", "folded", "deepxube"], "beam": ["ours", "folded", "deepxube", "cayleypy"]}
ROUNDS = int(os.environ.get("BURNSIDE_BENCH_ROUNDS", "5"))


def interpreter(name: str) -> tuple[Path | None, str]:
    """The Python that runs ours or a peer; or None and the reason."""
    return (Path(sys.executable), "") if name in ("ours", "folded") else peer(name, PACKAGES[name], name)


def measure(name: str, python: Path, method: str) -> dict[str, float]:
    """One search in a process of its own."""
    command = [str(python), str(SCRIPT), name, method, *BUDGETS[method]]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError(f"{name}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
    found = json.loads(done.stdout.strip().splitlines()[-1])
    return {
        "rate": found["nodes"] / found["seconds"],
        "cpu": found["nodes"] / found["cpu"],
        "outside": 1 - found["network"] / found["seconds"],
        "nodes": found["nodes"],
        "evaluated": found["rows"] / found["nodes"],
    }


def run() -> list[dict[str, object]]:
    pythons: dict[str, Path] = {}
    rows: list[dict[str, object]] = []
    for name, title in TITLES.items():
        python, reason = interpreter(name)
        if python is None:
            rows.append({"name": title, "not installable": reason})
        else:
            pythons[name] = python
    for method, names in WHO.items():
        there = [name for name in names if name in pythons]
        measure("ours", pythons["ours"], method)  # fills numba's cache
        rounds: list[dict[str, dict[str, float]]] = []
        for k in range(ROUNDS):
            rounds.append({name: measure(name, pythons[name], method) for name in there})
            rates = ", ".join(f"{name} {found['cpu']:.0f}" for name, found in rounds[-1].items())
            print(f"  {method}, round {k + 1}, nodes per CPU second: {rates}", flush=True)
        for name in there:
            row: dict[str, object] = {
                "name": f"{method}: {TITLES[name]}",
                "nodes per second": round(_median(rounds, name, "rate")),
                "nodes per CPU second": round(_median(rounds, name, "cpu")),
                "nodes": int(rounds[0][name]["nodes"]),
                "evaluated per node": round(_median(rounds, name, "evaluated"), 3),
                "outside the network": round(_median(rounds, name, "outside"), 3),
            }
            if name not in ("ours", "folded"):
                row["ours is faster by"] = _ratio(rounds, name, "rate")
                row["ours is faster by, CPU time"] = _ratio(rounds, name, "cpu")
            rows.append(row)
    for row in rows:
        print("  " + ", ".join(f"{k}: {v}" for k, v in row.items()), flush=True)
    return rows


def _median(rounds: list[dict[str, dict[str, float]]], name: str, what: str) -> float:
    return float(np.median([r[name][what] for r in rounds]))


def _ratio(rounds: list[dict[str, dict[str, float]]], name: str, by: str) -> list[float]:
    """Ours over another within rounds: median, least and largest."""
    values = [r["ours"][by] / r[name][by] for r in rounds]
    return [round(float(f(values)), 2) for f in (np.median, min, max)]
