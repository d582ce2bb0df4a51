"""Our PPO on planar push in the robot's frame, for ``bench_flow``: SEED, STEPS."""

import json
import math
import sys
import time

import numpy as np

from burnside.agents.ppo import GeneralPPO, PPOConfig
from burnside.envs.planar import PlanarScenes, PlanarSpec

seed, steps = int(sys.argv[1]), int(sys.argv[2])
# Not the preset: the benchmark states its own settings, those given to the peer.
config = PPOConfig(epochs=4, batch=2048, learning_rate=1e-3, rollout=32, scenes=256, log_std=-0.5)
block = GeneralPPO(config, PlanarScenes(PlanarSpec("push", spread=(1.0, math.pi)), "robot"), [seed])
block.iterate()  # everything is compiled and warm
first, begin, cpu = int(block.steps[0]), time.perf_counter(), time.process_time()
while block.steps[0] < steps:
    block.iterate()
seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
wins = block.log(0).success
found = {
    "steps": int(block.steps[0]) - first,
    "seconds": seconds,
    "cpu": cpu,
    "episodes": len(wins),
    "success": float(wins[-500:].mean()),
    "to90": next((k for k in range(500, len(wins)) if np.mean(wins[k - 500 : k]) >= 0.9), None),
}
print(json.dumps(found), flush=True)
