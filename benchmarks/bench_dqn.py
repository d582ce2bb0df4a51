"""DQN on the ring with N = 20: updates per second of ours and of other libraries, all in one run on one machine.

Everyone trains 2N → 128 → 128 → 4 with batch 64 and one update per environment step, replay 10 000, linear ε, target
every 500 steps, nothing logged. Each peer lives in an environment of its own (``.bench/NAME``, made at the first run)
and gets its best shape on two cores: two processes of one thread, for rejax with five seeds vmapped in each (as one
process with ten it is slower). The roofline is what the bare matrix products of the same update take in numpy's BLAS,
also in two processes of one thread. Rounds are interleaved; ratios are taken within a round, and their median is
reported, once by the clock and once by processor time: on a machine that others use too only the second means much, and
on a free one they agree. A row is void unless the final networks of the gate (50 000 steps) play as well as ours: all
are judged by one greedy evaluation on the same held-out boards, and the 95 % intervals over seeds must overlap.

``BURNSIDE_BENCH_GATE=0`` leaves the gate out (it takes most of the time).
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from benchmarks.environments import ONE_THREAD, TORCH, peer

PEERS = Path(__file__).parent / "peers"
PACKAGES = {
    "sb3": [TORCH, "stable-baselines3==2.9.2"],
    "sbx": [TORCH, "sbx-rl==0.28.0"],
    "rejax": ["rejax==0.1.3", "gymnax<1"],
}
TITLES = {
    "ours": "burnside (10 members, 2 threads)",
    "eager": "plain eager torch loop (2 processes)",
    "sb3": "Stable-Baselines3 2.9.2 (2 processes)",
    "sbx": "SBX 0.28.0 (2 processes)",
    "rejax": "rejax 0.1.3 (2 processes × 5 seeds vmapped)",
    "products": "bare matrix products (2 processes)",
}
ROUNDS = 5
STEPS, WARM = 4_000, 1_000
GATE_STEPS, GATE_SEEDS = 50_000, 4
ONE_XLA_THREAD = {
    **ONE_THREAD,
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}


def interpreter(name: str) -> tuple[Path | None, str]:
    """The Python that runs ours or a peer; or None and the reason."""
    module = {"sb3": "stable_baselines3", "sbx": "sbx", "rejax": "rejax"}.get(name)
    return (Path(sys.executable), "") if module is None else peer(name, PACKAGES[name], module)


def command(name: str, python: Path, seeds: list[int], steps: int, warm: int, out: Path) -> list[str]:
    script = {"sb3": "sb3_family.py", "sbx": "sb3_family.py", "rejax": "rejax_dqn.py", "eager": "eager_torch.py"}
    extra = {"sb3": ["sb3"], "sbx": ["sbx"], "ours": ["2" if len(seeds) > 1 else "1"]}
    file = PEERS / script.get(name, f"{name}.py")
    return [str(python), str(file), *extra.get(name, []), ",".join(map(str, seeds)), str(steps), str(warm), str(out)]


def launch(
    name: str, python: Path, shares: list[list[int]], steps: int, warm: int, folder: Path
) -> tuple[list[dict[str, float]], list[Path]]:
    """One process per share of the seeds, at the same time."""
    outs = [folder / f"{name}-{'_'.join(map(str, share))}.npz" for share in shares]
    env = {**os.environ, **ONE_XLA_THREAD}
    children = [
        subprocess.Popen(
            command(name, python, share, steps, warm, out),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for share, out in zip(shares, outs, strict=True)
    ]
    found = []
    for child in children:
        stdout, stderr = child.communicate()
        if child.returncode:
            raise RuntimeError(f"{name}: {(stderr.strip().splitlines() or ['failed'])[-1]}")
        found.append(json.loads(stdout.strip().splitlines()[-1]))
    return found, outs


def shares_of(name: str, seeds: list[int]) -> list[list[int]]:
    """How the seeds are dealt out: all to one process of ours, halves to two processes of a peer."""
    return [seeds] if name == "ours" else [seeds[0::2], seeds[1::2]]


def measure(name: str, python: Path, folder: Path) -> dict[str, float]:
    """Aggregate updates per second of one round, and what it cost to get going."""
    # A peer that takes one seed after the other needs only one per process to show its rate.
    seeds = list(range(10)) if name in ("ours", "rejax") else [0, 1]
    steps = {"products": 8_000, "rejax": 2_000}.get(name, STEPS)
    begin = time.perf_counter()
    found, _ = launch(name, python, shares_of(name, seeds), steps, WARM, folder)
    return {
        "rate": sum(f["updates"] / f["seconds"] for f in found),
        "cpu": sum(f["updates"] for f in found) / sum(f["cpu"] for f in found),
        "cold": max(f["cold"] for f in found),
        "rss_mb": sum(f["rss_mb"] for f in found),
        "wall": time.perf_counter() - begin,
    }


def single(python: Path, folder: Path) -> float:
    """Updates per second of one member on one thread."""
    found, _ = launch("ours", python, [[0]], 4 * STEPS, WARM, folder)
    return found[0]["updates"] / found[0]["seconds"]


def final_returns(files: list[Path]) -> list[float]:
    """The mean greedy return of every network in the files, on 500 boards nobody trained on."""
    from burnside.agents.common.members import Member
    from burnside.agents.dqn import DQNConfig, RingDQN
    from burnside.envs.ring.core import RingSpec

    out = []
    for file in files:
        with np.load(file, allow_pickle=False) as found:
            for seed in sorted({int(name.split(".")[0]) for name in found}):
                learner = RingDQN(DQNConfig(), RingSpec(20), Member(seed))
                learner.set_parameters({k: found[f"{seed}.{k}"] for k in ("w1", "b1", "w2", "b2", "w3", "b3")})
                out.append(float(learner.evaluate(500).returns.mean()))
    return out


def interval(values: list[float]) -> tuple[float, float]:
    """95 % interval of the mean over seeds (Student)."""
    half = float(student.ppf(0.975, len(values) - 1)) * np.std(values, ddof=1) / math.sqrt(len(values))
    return float(np.mean(values) - half), float(np.mean(values) + half)


def gate(pythons: dict[str, Path], folder: Path) -> dict[str, dict[str, object]]:
    """Final returns after the whole protocol, and whether each peer's interval overlaps ours."""
    out: dict[str, dict[str, object]] = {}
    for name, python in pythons.items():
        if name == "products":
            continue
        seeds = list(range(10 if name in ("ours", "rejax") else GATE_SEEDS))
        begin = time.perf_counter()
        found, files = launch(name, python, shares_of(name, seeds), GATE_STEPS, WARM, folder)
        low, high = interval(final_returns(files))
        ours = out.get("ours", {"interval": (low, high)})["interval"]
        same = low <= ours[1] and ours[0] <= high  # type: ignore[index]
        rate = sum(f["updates"] / f["seconds"] for f in found)
        out[name] = {"interval": (round(low, 2), round(high, 2)), "seeds": len(seeds), "same": same, "rate": rate}
        wall = time.perf_counter() - begin
        print(f"  gate {TITLES[name]}: final return {low:.2f}…{high:.2f}, {rate:.0f}/s, {wall:.0f} s", flush=True)
    return out


def run() -> list[dict[str, object]]:
    pythons, rows = {}, []
    for name, title in TITLES.items():
        python, reason = interpreter(name)
        if python is None:
            rows.append({"name": title, "not installable": reason})
            print(f"  {title}: not installable: {reason}", flush=True)
        else:
            pythons[name] = python
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        launch("ours", pythons["ours"], [[0]], WARM + 100, WARM, folder)  # fills numba's cache
        rounds: list[dict[str, dict[str, float]]] = []
        for k in range(ROUNDS):
            rounds.append({name: measure(name, python, folder) for name, python in pythons.items()})
            print(f"  round {k + 1}: " + ", ".join(f"{n} {f['rate']:.0f}/s" for n, f in rounds[-1].items()), flush=True)
        alone = float(np.median([single(pythons["ours"], folder) for _ in range(3)]))
        judged = {} if os.environ.get("BURNSIDE_BENCH_GATE") == "0" else gate(pythons, folder)
    for name in pythons:
        rates = [r[name]["rate"] for r in rounds]
        row: dict[str, object] = {
            "name": TITLES[name],
            "updates per second": round(float(np.median(rates))),
            "range": [round(min(rates)), round(max(rates))],
            "updates per CPU second": round(float(np.median([r[name]["cpu"] for r in rounds]))),
            "ours is faster by": _ratio(rounds, name, "rate"),
            "ours is faster by, CPU time": _ratio(rounds, name, "cpu"),
            "seconds for ten seeds of 50 000": round(500_000 / float(np.median(rates))),
            "cold start, s": round(float(np.median([r[name]["cold"] for r in rounds])), 1),
            "peak RSS, MB": round(max(r[name]["rss_mb"] for r in rounds)),
        }
        if name == "ours":
            row["one member, one thread"] = round(alone)
        if name in judged:
            row |= {"final return": judged[name]["interval"], "seeds of the gate": judged[name]["seeds"]}
            if not judged[name]["same"]:
                row["void"] = "its final return differs from ours"
        rows.append(row)
    peers = [name for name in ("sb3", "sbx", "rejax") if name in pythons]
    for what, by in (("by the clock", "rate"), ("by processor time", "cpu")):
        best = [min(r["ours"][by] / r[name][by] for name in peers) for r in rounds] if peers else []
        rows.append(
            {
                "name": f"summary, {what}",
                "over Stable-Baselines3 (target 8)": _ratio(rounds, "sb3", by),
                "over the best peer (target 3)": _spread(best),
                "of the roofline (target 0.5)": _ratio(rounds, "products", by),
            }
        )
    for row in rows:
        print("  " + ", ".join(f"{k}: {v}" for k, v in row.items()), flush=True)
    return rows


def _ratio(rounds: list[dict[str, dict[str, float]]], name: str, by: str) -> list[float] | None:
    """Ours over another, within rounds."""
    return _spread([r["ours"][by] / r[name][by] for r in rounds]) if name in rounds[0] else None


def _spread(values: list[float]) -> list[float] | None:
    """Median, least and largest."""
    return [round(float(f(values)), 2) for f in (np.median, min, max)] if values else None
