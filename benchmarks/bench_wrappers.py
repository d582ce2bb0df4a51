"""What ``CanonicalEnv`` adds to a step of CartPole-v1, beside a wrapper written by hand for this one symmetry.

Processor time of a step with random actions, the environment included; interleaved repeats.
"""

import statistics
import time
from typing import Any

import gymnasium as gym
import numpy as np

from burnside.canonical import CanonicalEnv
from burnside.symmetry import EnvSymmetry

REPEATS, STEPS = 15, 4_000


class ByHand(gym.Wrapper[Any, Any, Any, Any]):
    """What a user would write: if the pole leans to the left, look in the mirror."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        x, info = self.env.reset(**options)
        self.mirrored = x[2] < 0
        return (-x if self.mirrored else x), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        x, reward, terminated, truncated, info = self.env.step(1 - action if self.mirrored else action)
        self.mirrored = x[2] < 0
        return (-x if self.mirrored else x), reward, terminated, truncated, info


def step_us(env: Any, actions: list[int]) -> float:
    env.reset(seed=0)
    began = time.process_time()
    for action in actions:
        _, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()
    return 1e6 * (time.process_time() - began) / len(actions)


def run() -> list[dict[str, object]]:
    mirror = EnvSymmetry("mirror", observation="- - - -", action="labels 1,0", domain=2)
    envs = {
        "raw": gym.make("CartPole-v1"),
        "by hand": ByHand(gym.make("CartPole-v1")),
        "CanonicalEnv": CanonicalEnv(gym.make("CartPole-v1"), mirror),
    }
    actions = np.random.default_rng(0).integers(2, size=STEPS).tolist()
    times: dict[str, list[float]] = {name: [] for name in envs}
    for repeat in range(REPEATS + 1):
        for name, env in envs.items():
            us = step_us(env, actions)
            if repeat:  # the first one warms up
                times[name].append(us)
    rows: list[dict[str, object]] = []
    for name, found in times.items():
        ratios = sorted(a / b for a, b in zip(found, times["by hand"], strict=True))
        over = [statistics.median(ratios), ratios[0], ratios[-1]]
        rows.append({"name": name, "us_per_step": statistics.median(found), "over_by_hand": over})
        print(f"{name}: {statistics.median(found):.1f} µs per step, {over[0]:.2f} times the wrapper written by hand")
    return rows
