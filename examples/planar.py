"""The robot's frame as a canonical form: a pusher in the plane, seen from the world or from the robot.

Moving the whole scene changes nothing that matters. The view from the robot takes that away exactly, so that it learns
from one episode what the view from the world must learn for every place and heading.
"""

import sys

import numpy as np

from burnside.agents import PPO
from burnside.envs.planar import PlanarScenes, PlanarSpec

EPISODES = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000

spec = PlanarSpec("push", spread=(1.0, np.pi))  # scenes anywhere within a metre, turned by any angle
for frame in ("world", "robot"):
    agent = PPO(PlanarScenes(spec, frame)).learn(episodes=EPISODES)
    print(f"{frame}: {100 * agent.evaluate(200).success.mean():.0f} % of new scenes after {EPISODES} episodes")
