"""Your own environment: declare its symmetry, check it, train with it.

A cart on a line must come to rest at the middle. The line is its own mirror image: what is right on one side is wrong
on the other, and an agent that knows this has half as much to learn.
"""

import sys

import gymnasium as gym
import numpy as np

from burnside import CanonicalEnv, check_symmetry
from burnside.agents import PPO
from burnside.symmetry import EnvSymmetry

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000


class Cart(gym.Env):
    """Push left, push right, or wait; the reward is highest at rest in the middle."""

    def __init__(self, slope: float = 0.0) -> None:
        self.observation_space = gym.spaces.Box(-5.0, 5.0, (2,), np.float32)  # place and speed
        self.action_space = gym.spaces.Discrete(3)
        self.slope = slope  # a slope breaks the symmetry

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.time = self.np_random.uniform(-1.0, 1.0, 2), 0
        return self.state.astype(np.float32), {}

    def step(self, action):
        place, speed = self.state
        speed = np.clip(speed + 0.2 * (int(action) - 1) + self.slope, -5.0, 5.0)
        self.state, self.time = np.clip(np.array([place + 0.1 * speed, speed]), -5.0, 5.0), self.time + 1
        reward = -float(place**2 + 0.1 * speed**2)
        return self.state.astype(np.float32), reward, False, self.time >= 50, {}


# One line: both numbers change their sign, and pushing left becomes pushing right.
mirror = EnvSymmetry("mirror", observation="-0,-1", action="labels 2,1,0", name="left and right")

for slope in (0.0, 0.05):
    verdict = check_symmetry(Cart(slope), mirror, samples=300, max_failure_rate=0.05)
    print(f"slope {slope}: {verdict.verdict}", verdict.counterexample or "")

plain = PPO(Cart()).learn(STEPS).evaluate(20)
symmetric = PPO(CanonicalEnv(Cart(), mirror)).learn(STEPS).evaluate(20)
print(f"mean return after {STEPS} steps: {plain.returns.mean():.1f} without, {symmetric.returns.mean():.1f} with")
