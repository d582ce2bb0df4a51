"""Sixteen copies of a MuJoCo environment stepped in two threads, beside one: time by the clock, on free cores.

While MuJoCo computes, Python is free for another thread; while Python computes, it is not. Where a step is mostly
physics two threads help, where it is mostly Python they get into each other's way. Both must give the same states.
"""

import statistics
import time

import gymnasium as gym
import numpy as np

from burnside.envs.gymnasium_batch import GymnasiumBatch

ENVS = ("Ant-v5", "Walker2d-v5", "Swimmer-v5", "Reacher-v5")
COPIES, STEPS, REPEATS, THREADS = 16, 60, 5, 2


def play(env: GymnasiumBatch, episode: int) -> tuple[float, np.ndarray]:
    """Seconds of some steps with random actions, and the last observations; episodes that end begin again."""
    rows, width = np.arange(COPIES), env.action.width  # type: ignore[union-attr]
    episodes = np.full(COPIES, episode * STEPS)
    state = env.reset_batch(rows, episodes)
    rng, seconds = np.random.default_rng(episode), 0.0
    for _ in range(STEPS):
        action = rng.uniform(-1.0, 1.0, (COPIES, width)).astype(np.float32)
        began = time.perf_counter()
        step = env.step_batch(state, action)
        seconds += time.perf_counter() - began
        state, over = dict(step.state), np.flatnonzero(step.terminated | step.truncated)
        if over.size:
            episodes[over] += 1
            fresh = env.reset_batch(rows[over], episodes[over])
            for name, array in fresh.items():
                state[name] = np.array(state[name])
                state[name][over] = array
    return seconds, np.asarray(state["seen"])


def measure(name: str) -> dict[str, object]:
    gym.logger.min_level = gym.logger.ERROR
    batches = {n: GymnasiumBatch(lambda: gym.make(name), threads=n) for n in (1, THREADS)}
    for env in batches.values():
        play(env, 0)
    ratios, same, alone = [], True, []
    for repeat in range(1, REPEATS + 1):
        (one, seen), (two, also) = (play(env, repeat) for env in batches.values())
        ratios.append(one / two)
        alone.append(1e6 * one / STEPS / COPIES)
        same &= bool(np.array_equal(seen, also))
    return {
        "name": f"{COPIES} copies of {name}, {THREADS} threads over one",
        "ratio": [statistics.median(ratios), min(ratios), max(ratios)],
        "us_per_step": statistics.median(alone),
        "same_states": same,
    }


def run() -> list[dict[str, object]]:
    rows = [measure(name) for name in ENVS]
    for row in rows:
        low_high = row["ratio"]
        print(f"{row['name']}: {low_high[0]:.2f} ({low_high[1]:.2f}–{low_high[2]:.2f})")  # type: ignore[index]
        assert row["same_states"], "threads changed the states"
    return rows
