"""MiniGrid: what the agent sees is a picture, and its mirror image is the same situation with left and right exchanged.

The picture is egocentric, so that of the world's turns and mirrors only this mirror is left for the agent.
"""

import sys

import gymnasium as gym
import minigrid  # noqa: F401  # registers the environments
import numpy as np

from burnside.agents import make_sb3
from burnside.symmetry import EnvSymmetry

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000


class View(gym.ObservationWrapper):
    """The picture alone, as small numbers."""

    def __init__(self, env: gym.Env) -> None:
        super().__init__(env)
        self.observation_space = gym.spaces.Box(0.0, 1.1, env.observation_space["image"].shape, np.float32)

    def observation(self, observation):
        return np.asarray(observation["image"], dtype=np.float32) / 10.0


mirror = EnvSymmetry.from_dict(
    {
        "group": "mirror",
        "observation": {"kind": "image", "channels": "last", "op": "flip_ud"},  # MiniGrid's first axis is left to right
        "action": "labels 1,0,2,3,4,5,6",  # turn left and turn right change places
        "name": "left and right",
    }
)

env = View(gym.make("MiniGrid-Empty-Random-5x5-v0"))
image, _ = env.reset(seed=0)
print("a picture and its mirror image differ:", not np.array_equal(image, mirror.act_on_observation(1, image)))

# equal-minibatch: a random image of every sample, so that the work is that of the baseline
options = {"n_steps": min(512, STEPS), "batch_size": 64, "seed": 0, "mode": "equal-minibatch"}
model = make_sb3("PPO", env, "augment", mirror, **options)
model.learn(STEPS)
print(f"trained on {model.num_timesteps} steps and their mirror images")
