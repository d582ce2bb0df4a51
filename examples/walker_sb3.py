"""Walker2d of MuJoCo with PPO of Stable-Baselines3, its networks averaged over left and right.

The atlas knows the symmetry of Walker2d-v5, and checked it. `make_sb3` returns an ordinary model of Stable-Baselines3.
One run says little: `burnside measure Walker2d-v5 --learner sb3:PPO` compares several seeds, with controls.
"""

import sys

import gymnasium as gym
from stable_baselines3.common.evaluation import evaluate_policy

from burnside.agents import make_sb3

STEPS = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000

for arm in ("baseline", "averaging"):
    model = make_sb3("PPO", gym.make("Walker2d-v5"), arm, seed=0, n_steps=min(2048, STEPS))
    model.learn(STEPS)
    mean, spread = evaluate_policy(model, model.get_env(), n_eval_episodes=5)
    print(f"{arm}: return {mean:.0f} ± {spread:.0f} after {model.num_timesteps} steps")
