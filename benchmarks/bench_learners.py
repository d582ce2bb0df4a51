"""DQN and PPO against Stable-Baselines3 with the same settings, end to end: processor time of a training step.

CartPole-v1, Reacher-v5 and Walker2d-v5; one thread, interleaved repeats, environment steps included. DQN updates after
every fourth step with a batch of 128, once with our usual 256×256, where both spend their time in matrix products, and
once with 64×64. A step of PPO (64×64) is its share of a rollout of 8 × 64 steps and of ten epochs in batches of 128.
The share of the environment is what its bare steps with random actions take of our time: where it is large, no learner
can be much faster than another. A row is void unless both learned: the best of four greedy evaluations on the way to
the gate must be well above random play, for both (DQN goes up and down on CartPole).
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from burnside.agents import DQN, PPO, DQNConfig, PPOConfig
from burnside.experiments.atlas.learners import reference_score

REPEATS, STEPS, WARM = 3, 2_048, 1_024
USUAL = DQNConfig.preset("general")
SMALL = DQNConfig.preset("general", hidden=(64, 64), learning_rate=2e-3)


@dataclass(frozen=True)
class Case:
    """A learner (PPO, or DQN with these settings), the steps before the gate, and the score wanted there."""

    env: str
    gate: int
    wanted: float  # random play has 22, −42 and 2
    dqn: DQNConfig | None = None

    @property
    def name(self) -> str:
        """For people; the first row of a learner keeps the name it always had."""
        if self.dqn is None:
            return f"PPO on {self.env}"
        return f"DQN on {self.env}" + ("" if self.dqn == USUAL else f", {self.dqn.hidden[0]}×{self.dqn.hidden[1]}")


CASES = (
    Case("CartPole-v1", 49_152, 300.0, USUAL),
    Case("CartPole-v1", 49_152, 300.0, SMALL),
    Case("CartPole-v1", 24_576, 300.0),
    Case("Reacher-v5", 24_576, -20.0),
    Case("Walker2d-v5", 24_576, 100.0),
)


class Learner:
    """Either learner: train up to a number of steps, and a greedy score."""

    def __init__(self, until: Callable[[int], object], score: Callable[[], float]) -> None:
        self.until, self.score = until, score


def ours(case: Case) -> Learner:
    agent: Any = PPO(case.env, PPOConfig.preset("general")) if case.dqn is None else DQN(case.env, case.dqn)
    return Learner(agent.learn, lambda: float(agent.evaluate(10).returns.mean()))


def theirs(case: Case) -> Learner:
    import stable_baselines3 as sb3
    from stable_baselines3.common.evaluation import evaluate_policy

    env, same = case.env, case.dqn
    net: dict[str, Any] = {"net_arch": list((64, 64) if same is None else same.hidden)}
    if same is not None:
        model: Any = sb3.DQN(
            "MlpPolicy", env, learning_rate=same.learning_rate, buffer_size=same.capacity, learning_starts=same.batch,
            batch_size=same.batch, train_freq=same.update_every, gradient_steps=1, policy_kwargs=net,
            target_update_interval=same.target_every_steps, device="cpu", seed=0,
        )  # fmt: skip
        # its own schedule begins again with every call of `learn`
        model.exploration_schedule = lambda _: same.epsilon(0, model.num_timesteps)
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


def measure(case: Case) -> dict[str, object]:
    env = case.env
    learners = {"ours": ours(case), "sb3": theirs(case)}
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
    scores = {}
    for name, learner in learners.items():
        on_the_way = []
        for quarter in range(1, 5):
            learner.until(case.gate * quarter // 4)
            on_the_way.append(learner.score())
        scores[name] = max(on_the_way)
    step = statistics.median(times["ours"])
    return {
        "name": case.name,
        "us_per_step": step,
        "sb3_us_per_step": statistics.median(times["sb3"]),
        "ratio_cpu": [statistics.median(ratios), ratios[0], ratios[-1]],
        "env_us_per_step": statistics.median(alone),
        "env_share": statistics.median(alone) / step,
        "gate_steps": case.gate,
        "score": scores["ours"],
        "sb3_score": scores["sb3"],
        "random_score": float(reference_score(lambda: gym.make(env), "random", 30).mean()),
        "both_learned": min(scores.values()) >= case.wanted,
    }


def run() -> list[dict[str, object]]:
    torch.set_num_threads(1)
    gym.logger.min_level = gym.logger.ERROR
    rows = [measure(case) for case in CASES]
    for row in rows:
        print(
            f"{row['name']}: {row['us_per_step']:.0f} µs of processor per step ({row['env_share']:.0%} of it the "
            f"environment), Stable-Baselines3 {row['sb3_us_per_step']:.0f} µs, "
            f"{row['ratio_cpu'][0]:.1f} times faster; "  # type: ignore[index]
            f"within {row['gate_steps']} steps {row['score']:.0f} and {row['sb3_score']:.0f}"
            f"{'' if row['both_learned'] else ': void, not both learned'}"
        )
    return rows
