"""DQN and PPO on CartPole-v1 against Stable-Baselines3 with the same settings: processor time of a training step.

One thread, interleaved repeats, environment steps included. A step of DQN is one environment step and one update
(64×64, batch 64); a step of PPO is its share of a rollout of 8 × 64 steps and of ten epochs in batches of 128.
"""

import statistics
import time
from collections.abc import Callable

import gymnasium as gym
import torch

from burnside.agents import DQN, PPO, DQNConfig, PPOConfig

REPEATS, STEPS, WARM = 3, 2_048, 1_024


def ours(kind: str) -> Callable[[int], object]:
    if kind == "DQN":
        config = DQNConfig(hidden=(64, 64), capacity=50_000, target_every_steps=500, epsilon_steps=10_000)
        return DQN("CartPole-v1", config).learn
    return PPO("CartPole-v1", PPOConfig.preset("general")).learn


def theirs(kind: str) -> Callable[[int], object]:
    import stable_baselines3 as sb3

    net = {"net_arch": [64, 64]}
    if kind == "DQN":
        model = sb3.DQN(
            "MlpPolicy", "CartPole-v1", learning_rate=1e-3, buffer_size=50_000, learning_starts=64, batch_size=64,
            train_freq=1, gradient_steps=1, target_update_interval=500, policy_kwargs=net, device="cpu", seed=0,
        )  # fmt: skip
    else:
        envs = sb3.common.env_util.make_vec_env("CartPole-v1", 8, seed=0)
        model = sb3.PPO(
            "MlpPolicy", envs, learning_rate=1e-3, n_steps=64, batch_size=128, n_epochs=10, policy_kwargs=net,
            device="cpu", seed=0,
        )  # fmt: skip

    def until(steps: int) -> object:
        return model.learn(steps - model.num_timesteps, reset_num_timesteps=False)

    return until


def measure(kind: str) -> dict[str, object]:
    learners = {"ours": ours(kind), "sb3": theirs(kind)}
    times: dict[str, list[float]] = {name: [] for name in learners}
    for learn in learners.values():
        learn(WARM)
    for repeat in range(1, REPEATS + 1):
        for name, learn in learners.items():
            began = time.process_time()
            learn(WARM + repeat * STEPS)
            times[name].append(1e6 * (time.process_time() - began) / STEPS)
    ratios = sorted(b / a for a, b in zip(times["ours"], times["sb3"], strict=True))
    return {
        "name": f"{kind} on CartPole-v1",
        "us_per_step": statistics.median(times["ours"]),
        "sb3_us_per_step": statistics.median(times["sb3"]),
        "ratio_cpu": [statistics.median(ratios), ratios[0], ratios[-1]],
    }


def run() -> list[dict[str, object]]:
    torch.set_num_threads(1)
    gym.logger.min_level = gym.logger.ERROR
    rows = [measure(kind) for kind in ("DQN", "PPO")]
    for row in rows:
        print(
            f"{row['name']}: {row['us_per_step']:.0f} µs of processor per step, Stable-Baselines3 "
            f"{row['sb3_us_per_step']:.0f} µs, {row['ratio_cpu'][0]:.1f} times faster"  # type: ignore[index]
        )
    return rows
