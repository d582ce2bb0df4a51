"""Continuous control: Gaussian PPO end to end against Stable-Baselines3, and the chain update against its products.

**PPO.** Planar push at full spread in the robot's frame; everyone has 64×64 tanh networks for policy and value, 8192
steps per rollout, 4 epochs in batches of 2048, Adam at 1e-3. The peer gets the task as a batched VecEnv of 256 scenes
(its best shape) and as 256 Gymnasium environments in a DummyVecEnv (what its users have). One thread each, rounds
interleaved, the median of ratios within rounds, by the clock and by processor time. Success at the end and episodes to
90 % are printed beside it: the ratio means nothing unless both learn.

**Chain update.** Log-probability of stored chains of a DiTX policy, forwards and backwards, with the context's keys and
values computed once and once per step; the roofline is what the bare matrix products of the same update take in torch.
"""

import importlib.util
import json
import os
import subprocess
import sys
import time

import numpy as np

from benchmarks.bench_dqn import PEERS, interpreter
from benchmarks.environments import ONE_THREAD

ROUNDS, STEPS = 3, 400_000
SHAPES = {"batched": "VecEnv of 256 scenes in numpy", "gym": "256 Gymnasium environments in a DummyVecEnv"}


def launch(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **ONE_THREAD})
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["failed"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def same_task() -> float:
    """The largest difference between the peer's rules and ours over 50 steps of 64 scenes."""
    from burnside.envs.planar import PlanarSpec, observe, step, to_world
    from burnside.envs.planar.core import PlanarState

    spec = importlib.util.spec_from_file_location("planar_sb3", PEERS / "planar_sb3.py")
    assert spec is not None and spec.loader is not None
    peer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peer)
    rng = np.random.default_rng(0)
    x, rules, worst = peer.fresh(rng, 64), PlanarSpec("push", dtype="float64"), 0.0
    for _ in range(50):
        action = rng.normal(size=(64, 3))
        state = PlanarState(x, np.zeros(64, dtype=np.int64))
        after, reward, success, _, _ = step(rules, state, to_world(rules, state, "robot", action))
        x, gain, won = peer.advance(x, action)
        worst = max(worst, float(np.abs(after.x - x).max()), float(np.abs(reward - gain).max()))
        worst = max(worst, float(np.abs(observe(rules, after, "robot") - peer.observe(x)).max()))
        assert (success == won).all()
    return worst


def ppo() -> list[dict[str, object]]:
    worst = same_task()
    print(f"  the peer's task is ours to {worst:.1e}", flush=True)
    if worst > 1e-5:
        raise RuntimeError("the peer plays another task")
    commands = {"ours": [sys.executable, str(PEERS / "planar_ours.py"), "{seed}", str(STEPS)]}
    python, reason = interpreter("sb3")
    rows: list[dict[str, object]] = []
    if python is None:
        rows.append({"name": "Stable-Baselines3", "not installable": reason})
    else:
        for shape in SHAPES:
            commands[shape] = [str(python), str(PEERS / "planar_sb3.py"), "{seed}", str(STEPS), "256", shape]
    launch([part.format(seed=0) for part in [*commands["ours"][:-1], "9000"]])  # fills numba's cache
    rounds = []
    for k in range(ROUNDS):
        found = {name: launch([part.format(seed=k) for part in command]) for name, command in commands.items()}
        rounds.append(found)
        text = ", ".join(f"{n} {f['steps'] / f['cpu']:.0f} steps per CPU s" for n, f in found.items())
        print(f"  round {k + 1}: {text}", flush=True)
    for name in commands:
        each = [r[name] for r in rounds]
        row: dict[str, object] = {
            "name": "burnside Gaussian PPO" if name == "ours" else f"Stable-Baselines3 2.9.2, {SHAPES[name]}",
            "steps per second": round(float(np.median([f["steps"] / f["seconds"] for f in each]))),
            "steps per CPU second": round(float(np.median([f["steps"] / f["cpu"] for f in each]))),
            "success of the last 500 episodes": [round(f["success"], 3) for f in each],
            "episodes to 90 %": [f["to90"] for f in each],
        }
        if name != "ours":
            for by, key in (("seconds", "ours is faster by"), ("cpu", "ours is faster by, CPU time")):
                ratios = [(r[name][by] / r[name]["steps"]) / (r["ours"][by] / r["ours"]["steps"]) for r in rounds]
                row[key] = [round(float(f(ratios)), 2) for f in (np.median, min, max)]
        rows.append(row)
    return rows


def products(config: object, batch: int) -> list[tuple[int, int, int, int]]:
    """(count, rows, inner, columns) of every product of a chain's log-probability, forwards, context shared."""
    from burnside.nn.flow import FlowConfig

    assert isinstance(config, FlowConfig)
    w, h, heads, layers, k = config.width, config.horizon, config.heads, config.layers, config.steps
    rows, each, context = batch * h, w // heads, config.context
    per_step = [
        (1, rows, w, 3 * w),
        (3, rows, w, w),
        (1, rows, w, 4 * w),
        (1, rows, 4 * w, w),
        (1, batch, w, 9 * w),
        (batch * heads, h, each, h),
        (batch * heads, h, h, each),
        (batch * heads, h, each, context),
        (batch * heads, h, context, each),
    ]
    ends = [(k, rows, config.act_dim, w), (k, rows, w, w), (k, rows, w, config.act_dim), (k, batch, 256, w)]
    ends += [(k, batch, w, w), (1, batch * context, 192, w), (layers, batch * context, w, 2 * w)]
    return [(n * layers * k, a, b, c) for n, a, b, c in per_step] + ends


def chain() -> list[dict[str, object]]:
    import torch

    from burnside.nn.flow import FlowConfig, FlowPolicy

    torch.set_num_threads(1)
    batch = 32
    config = FlowConfig.preset("laptop", layers=4, width=256, heads=4, points=64)
    policy = FlowPolicy(config)
    rng = np.random.default_rng(0)
    seen = {
        "state": rng.normal(size=(batch, 2, 9)).astype(np.float32),
        "cloud": rng.normal(size=(batch, 2, 64, 6)).astype(np.float32),
    }
    with torch.no_grad():
        tokens = policy.encode(seen)
        path = policy.decide(tokens, torch.randn(batch, *policy.noise_shape)).path
    jobs = []
    for count, a, b, c in products(config, batch):
        lead = (count,) if a <= config.horizon else ()
        x, w, d = (torch.randn(*lead, *shape) for shape in ((a, b), (b, c), (a, c)))
        jobs.append((1 if lead else count, x, w, d))

    def bare() -> None:
        for count, x, w, d in jobs:
            for _ in range(count):
                torch.matmul(x, w)
                torch.matmul(d, w.mT)
                torch.matmul(x.mT, d)

    def update(share: bool) -> None:
        policy.zero_grad()
        policy.log_prob(tokens, path, share=share).sum().backward()

    work = {"bare": bare, "shared": lambda: update(True), "apart": lambda: update(False)}
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(5):
        for name, job in work.items():
            begin = time.process_time()
            job()
            times[name].append(time.process_time() - begin)
    median = {name: float(np.median(found[1:])) for name, found in times.items()}
    flops = 6 * sum(n * a * b * c for n, a, b, c in products(config, batch))
    return [
        {
            "name": f"chain update, DiTX 4×256, context {config.context}, batch {batch}, 4 steps",
            "bare products, CPU s": round(median["bare"], 3),
            "GFLOP/s of the bare products": round(flops / median["bare"] / 1e9, 1),
            "shared context, CPU s": round(median["shared"], 3),
            "context per step, CPU s": round(median["apart"], 3),
            "of the roofline, shared": round(median["bare"] / median["shared"], 2),
            "sharing saves a factor": round(median["apart"] / median["shared"], 2),
        }
    ]


def run() -> list[dict[str, object]]:
    rows = chain() + ppo()
    for row in rows:
        print("  " + ", ".join(f"{k}: {v}" for k, v in row.items()), flush=True)
    return rows
