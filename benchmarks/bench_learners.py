"""DQN and PPO against Stable-Baselines3 with the same settings, end to end: processor time of a training step.

CartPole-v1, Reacher-v5 and Walker2d-v5; one thread, interleaved repeats, environment steps included. A step of DQN is
one environment step and one update (64×64, batch 64); a step of PPO is its share of a rollout of 8 × 64 steps and of
ten epochs in batches of 128. The environment's share is what its bare steps with random actions take of our time: where
it is large, no learner can be much faster than another. A row is void unless both learned: the best of four greedy
evaluations on the way to the gate must be well above random play, for both (DQN goes up and down on CartPole).
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from burnside.agents import DQN, PPO, DQNConfig, PPOConfig
from burnside.experiments.atlas.learners import reference_score

REPEATS, STEPS, WARM = 3, 2_048, 1_024
#: Environment steps before the gate, and the score that both must reach there; random play has 22, −42 and 2.
GATES = {"CartPole-v1": (24_576, 150.0), "Reacher-v5": (24_576, -20.0), "Walker2d-v5": (24_576, 100.0)}
CASES = (("DQN", "CartPole-v1"), ("PPO", "CartPole-v1"), ("PPO", "Reacher-v5"), ("PPO", "Walker2d-v5"))


class Learner:
    """Either learner: train up to a number of steps, and a greedy score."""

    def __init__(self, until: Callable[[int], object], score: Callable[[], float]) -> None:
        self.until, self.score = until, score


def ours(kind: str, env: str) -> Learner:
    agent: Any
    if kind == "DQN":
        config = DQNConfig(hidden=(64, 64), capacity=50_000, target_every_steps=500, epsilon_steps=10_000)
        agent = DQN(env, config)
    else:
        agent = PPO(env, PPOConfig.preset("general"))
    return Learner(agent.learn, lambda: float(agent.evaluate(10).returns.mean()))


def theirs(kind: str, env: str) -> Learner:
    import stable_baselines3 as sb3
    from stable_baselines3.common.evaluation import evaluate_policy

    net: dict[str, Any] = {"net_arch": [64, 64]}
    if kind == "DQN":
        model: Any = sb3.DQN(
            "MlpPolicy", env, learning_rate=1e-3, buffer_size=50_000, learning_starts=64, batch_size=64,
            train_freq=1, gradient_steps=1, target_update_interval=500, exploration_fraction=0.4, policy_kwargs=net,
            device="cpu", seed=0,
        )  # fmt: skip
    else:
        envs = sb3.common.env_util.make_vec_env(env, 8, seed=0)
        net |= {"log_std_init": -0.5}
        model = sb3.PPO(
            "MlpPolicy", envs, learning_rate=1e-3, n_steps=64, batch_size=128, n_epochs=10, policy_kwargs=net,
            device="cpu", seed=0,
        )  # fmt: skip

    def until(steps: int) -> object:
        return model.learn(steps - model.num_timesteps, reset_num_timesteps=False)

    def score() -> float:
        test = sb3.common.env_util.make_vec_env(env, 1, seed=1)
        return float(np.mean(evaluate_policy(model, test, n_eval_episodes=10)[0]))

    return Learner(until, score)


def bare(env: str) -> float:
    """Microseconds of a step of the environment with random actions."""
    made = gym.make(env)
    made.action_space.seed(0)
    made.reset(seed=0)
    actions = [made.action_space.sample() for _ in range(STEPS)]
    began = time.process_time()
    for action in actions:
        _, _, terminated, truncated, _ = made.step(action)
        if terminated or truncated:
            made.reset()
    return 1e6 * (time.process_time() - began) / STEPS


def measure(kind: str, env: str) -> dict[str, object]:
    learners = {"ours": ours(kind, env), "sb3": theirs(kind, env)}
    times: dict[str, list[float]] = {name: [] for name in learners}
    for learner in learners.values():
        learner.until(WARM)
    alone = []
    for repeat in range(1, REPEATS + 1):
        alone.append(bare(env))
        for name, learner in learners.items():
            began = time.process_time()
            learner.until(WARM + repeat * STEPS)
            times[name].append(1e6 * (time.process_time() - began) / STEPS)
    ratios = sorted(b / a for a, b in zip(times["ours"], times["sb3"], strict=True))
    gate, wanted = GATES[env]
    scores = {}
    for name, learner in learners.items():
        on_the_way = []
        for quarter in range(1, 5):
            learner.until(gate * quarter // 4)
            on_the_way.append(learner.score())
        scores[name] = max(on_the_way)
    step = statistics.median(times["ours"])
    return {
        "name": f"{kind} on {env}",
        "us_per_step": step,
        "sb3_us_per_step": statistics.median(times["sb3"]),
        "ratio_cpu": [statistics.median(ratios), ratios[0], ratios[-1]],
        "env_us_per_step": statistics.median(alone),
        "env_share": statistics.median(alone) / step,
        "gate_steps": gate,
        "score": scores["ours"],
        "sb3_score": scores["sb3"],
        "random_score": float(reference_score(lambda: gym.make(env), "random", 30).mean()),
        "both_learned": min(scores.values()) >= wanted,
    }


def run() -> list[dict[str, object]]:
    torch.set_num_threads(1)
    gym.logger.min_level = gym.logger.ERROR
    rows = [measure(*case) for case in CASES]
    for row in rows:
        print(
            f"{row['name']}: {row['us_per_step']:.0f} µs of processor per step ({row['env_share']:.0%} of it the "
            f"environment), Stable-Baselines3 {row['sb3_us_per_step']:.0f} µs, "
            f"{row['ratio_cpu'][0]:.1f} times faster; "  # type: ignore[index]
            f"within {row['gate_steps']} steps {row['score']:.0f} and {row['sb3_score']:.0f}"
            f"{'' if row['both_learned'] else ': void, not both learned'}"
        )
    return rows
