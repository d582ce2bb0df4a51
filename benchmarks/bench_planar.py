"""Environment steps per second of the planar tasks: our batch against Gymnasium's SyncVectorEnv around one scene each.

One thread. Every way plays the same scenes with the same commands and restarts what is over; the ways are interleaved,
so that a noisy neighbour hits all of them, and the median over rounds counts. Resets at the start are not timed.
"""

import time
from collections.abc import Callable

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

import burnside.envs  # noqa: F401
from burnside.envs.planar import PlanarSpec, observe, reset, step, to_world
from burnside.envs.planar.core import restart

ROUNDS, FULL = 5, (1.0, np.pi)


def batch(spec: PlanarSpec, n: int, steps: int, frame: str) -> Callable[[], float]:
    """The functional core as a learner uses it: actions to the world, step, restart, observe."""
    commands = np.random.default_rng(0).normal(size=(16, n, spec.action_dim)).astype(spec.dtype)

    def play() -> float:
        state, episodes = reset(spec, 0, n=n), np.arange(n)
        began = time.process_time()
        for t in range(steps):
            action = to_world(spec, state, frame, commands[t % 16])
            state, _, terminated, truncated, _ = step(spec, state, action)
            over = terminated | truncated
            episodes[over] += n
            state = restart(spec, state, over, 0, episodes)
            observe(spec, state, frame)
        return time.process_time() - began

    return play


def tensors(spec: PlanarSpec, n: int, steps: int) -> Callable[[], float]:
    """The torch path, on the CPU."""
    import torch

    torch.set_num_threads(1)
    commands = torch.from_numpy(np.random.default_rng(0).normal(size=(16, n, spec.action_dim)).astype(spec.dtype))

    def play() -> float:
        state, episodes = reset(spec, 0, n=n, device="cpu"), np.arange(n)
        began = time.process_time()
        for t in range(steps):
            action = to_world(spec, state, "robot", commands[t % 16])
            state, _, terminated, truncated, _ = step(spec, state, action)
            over = (terminated | truncated).numpy()
            episodes[over] += n
            state = restart(spec, state, over, 0, episodes)
            observe(spec, state, "robot")
        return time.process_time() - began

    return play


def vector(name: str, n: int, steps: int, mode: str | None) -> Callable[[], float]:
    """Through Gymnasium's interface: our vector environment, or ``sync``, its own around single ones."""
    options = {"spread": FULL}
    if mode is None:
        envs = gym.make_vec(name, num_envs=n, autoreset_mode=AutoresetMode.SAME_STEP, **options)
    else:
        same = {"autoreset_mode": AutoresetMode.SAME_STEP}
        envs = gym.make_vec(name, num_envs=n, vectorization_mode=mode, vector_kwargs=same, **options)
    shape = (16, n, envs.single_action_space.shape[0])
    commands = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def play() -> float:
        envs.reset(seed=0)
        began = time.process_time()
        for t in range(steps):
            envs.step(commands[t % 16])
        return time.process_time() - began

    return play


def run() -> list[dict[str, object]]:
    """Print and return the rows."""
    rows: list[dict[str, object]] = []
    for task in ("push", "stack"):
        spec, name = PlanarSpec(task, FULL), f"burnside/Planar{task.capitalize()}-v0"
        print(f"{task}: environment steps per second, one thread, random commands, full spread")
        heads = ("scenes", "core, world", "core, robot", "torch", "vector env", "SyncVectorEnv")
        print("".join(f"{head:>14}" for head in (*heads, "core/sync", "vector/sync")))
        for n in (16, 256, 4096):
            long, short = max(100, 40_000 // n), max(5, 2_000 // n)
            ways = {
                "core_world": (batch(spec, n, long, "world"), long),
                "core_robot": (batch(spec, n, long, "robot"), long),
                "torch": (tensors(spec, n, max(20, long // 4)), max(20, long // 4)),
                "vector": (vector(name, n, long, None), long),
                "sync": (vector(name, n, short, "sync"), short),
            }
            times: dict[str, list[float]] = {key: [] for key in ways}
            for play, _ in ways.values():
                play()  # compile, warm up
            for _ in range(ROUNDS):
                for key, (play, steps) in ways.items():
                    times[key].append(play() / (n * steps))
            speed = {key: 1 / float(np.median(found)) for key, found in times.items()}
            ratio, through = speed["core_robot"] / speed["sync"], speed["vector"] / speed["sync"]
            numbers = "".join(f"{value:>14,.0f}" for value in speed.values())
            print(f"{n:>14}{numbers}{ratio:>13.0f}×{through:>13.0f}×", flush=True)
            rows.append({"task": task, "scenes": n, **speed, "core_over_sync": ratio, "vector_over_sync": through})
    return rows
