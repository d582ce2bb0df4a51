"""Environment steps per second of the planar tasks: our batch against Gymnasium's SyncVectorEnv around one scene each.

One thread. Every way plays the same scenes with the same commands and restarts what is over; the ways are interleaved,
so that a noisy neighbour hits all of them, and the median over rounds counts.
"""

import time
from collections.abc import Callable

import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode

import burnside.envs  # noqa: F401
from burnside.envs.planar import PlanarSpec, observe, reset, restart, step, to_world

ROUNDS, FULL = 5, (1.0, np.pi)


def batch(spec: PlanarSpec, n: int, steps: int, frame: str) -> Callable[[], None]:
    """The functional core as a learner uses it: actions to the world, step, restart, observe."""
    commands = np.random.default_rng(0).normal(size=(16, n, spec.action_dim)).astype(spec.dtype)

    def play() -> None:
        state, episodes = reset(spec, 0, n=n), np.arange(n)
        for t in range(steps):
            action = to_world(spec, state, frame, commands[t % 16])
            state, _, terminated, truncated, _ = step(spec, state, action)
            over = terminated | truncated
            episodes[over] += n
            state = restart(spec, state, over, 0, episodes)
            observe(spec, state, frame)

    return play


def tensors(spec: PlanarSpec, n: int, steps: int) -> Callable[[], None]:
    """The torch path, on the CPU."""
    import torch

    torch.set_num_threads(1)
    commands = torch.from_numpy(np.random.default_rng(0).normal(size=(16, n, spec.action_dim)).astype(spec.dtype))

    def play() -> None:
        state, episodes = reset(spec, 0, n=n, device="cpu"), np.arange(n)
        for t in range(steps):
            action = to_world(spec, state, "robot", commands[t % 16])
            state, _, terminated, truncated, _ = step(spec, state, action)
            over = (terminated | truncated).numpy()
            episodes[over] += n
            state = restart(spec, state, over, 0, episodes)
            observe(spec, state, "robot")

    return play


def vector(name: str, n: int, steps: int, mode: str | None) -> Callable[[], None]:
    """Through Gymnasium's interface: our vector environment, or ``sync``, its own around single ones."""
    options = {"spread": FULL}
    if mode is None:
        envs = gym.make_vec(name, num_envs=n, autoreset_mode=AutoresetMode.SAME_STEP, **options)
    else:
        same = {"autoreset_mode": AutoresetMode.SAME_STEP}
        envs = gym.make_vec(name, num_envs=n, vectorization_mode=mode, vector_kwargs=same, **options)
    shape = (16, n, envs.single_action_space.shape[0])
    commands = np.random.default_rng(0).normal(size=shape).astype(np.float32)

    def play() -> None:
        envs.reset(seed=0)
        for t in range(steps):
            envs.step(commands[t % 16])

    return play


def run() -> list[dict[str, object]]:
    """Print and return the rows."""
    rows: list[dict[str, object]] = []
    for task in ("push", "stack"):
        spec, name = PlanarSpec(task, FULL), f"burnside/Planar{task.capitalize()}-v0"
        print(f"{task}: environment steps per second, one thread, random commands, full spread")
        print(f"{'scenes':>7} {'core, world':>13} {'core, robot':>13} {'torch':>11} {'vector env':>12} "
              f"{'SyncVectorEnv':>14} {'core / sync':>12} {'vector / sync':>14}")  # fmt: skip
        for n in (16, 256, 4096):
            long, short = max(100, 40_000 // n), max(2, 1_000 // n)
            ways = {
                "core_world": (batch(spec, n, long, "world"), long),
                "core_robot": (batch(spec, n, long, "robot"), long),
                "torch": (tensors(spec, n, max(20, long // 4)), max(20, long // 4)),
                "vector": (vector(name, n, long, None), long),
                "sync": (vector(name, n, short, "sync"), short),
            }
            times: dict[str, list[float]] = {key: [] for key in ways}
            for key, (play, _) in ways.items():
                play()  # compile, warm up
            for _ in range(ROUNDS):
                for key, (play, steps) in ways.items():
                    began = time.process_time()
                    play()
                    times[key].append((time.process_time() - began) / (n * steps))
            speed = {key: 1 / float(np.median(found)) for key, found in times.items()}
            ratio, through = speed["core_robot"] / speed["sync"], speed["vector"] / speed["sync"]
            print(f"{n:>7} {speed['core_world']:>13,.0f} {speed['core_robot']:>13,.0f} {speed['torch']:>11,.0f} "
                  f"{speed['vector']:>12,.0f} {speed['sync']:>14,.0f} {ratio:>11.0f}× {through:>13.0f}×", flush=True)  # fmt: skip
            rows.append({"task": task, "scenes": n, **speed, "core_over_sync": ratio, "vector_over_sync": through})
    return rows
