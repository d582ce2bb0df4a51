"""Stable-Baselines3's PPO on planar push in the robot's frame: SEED, STEPS, SCENES, SHAPE (batched | gym).

The task is written here in numpy, all scenes at once, so that nothing of Burnside is needed; ``bench_flow`` holds it
against ours. ``batched`` is a VecEnv that steps all scenes in a few array operations, the best shape for the peer;
``gym`` is what its users have: one Gymnasium environment per scene in a DummyVecEnv.
"""

import json
import sys
import time

import numpy as np

HORIZON, FAST, SLOW, TURN, TOUCH, TOLERANCE, PROGRESS, BONUS = 100, 0.04, 0.02, 0.25, 0.16, 0.06, 5.0, 5.0


def fresh(rng, n):  # type: ignore[no-untyped-def]
    """Scenes at full spread (L = 1, Θ = π), as rows: robot, heading, puck, goal."""
    low = [-0.05, -0.05, 0.35, -0.25, 0.8, -0.5]
    high = [0.05, 0.05, 0.6, 0.25, 1.2, 0.5]
    points = rng.uniform(low, high, (n, 6)).reshape(n, 3, 2)
    angle, look = rng.uniform(-np.pi, np.pi, n), rng.uniform(-0.5, 0.5, n)
    c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
    x, y = points[..., 0], points[..., 1]
    moved = np.stack([c * x - s * y, s * x + c * y], -1) + rng.uniform(-1, 1, (n, 1, 2))
    heading = np.stack([np.cos(angle + look), np.sin(angle + look)], -1)
    return np.concatenate([moved[:, 0], heading, moved[:, 1], moved[:, 2]], -1)


def _length(v):  # type: ignore[no-untyped-def]
    return np.sqrt((v * v).sum(-1, keepdims=True))


def _unit(v):  # type: ignore[no-untyped-def]
    return v / np.maximum(_length(v), 1e-9)


def _left(v):  # type: ignore[no-untyped-def]
    return np.stack([-v[..., 1], v[..., 0]], -1)


def _short(robot, puck, goal):  # type: ignore[no-untyped-def]
    return (_length(goal - puck) + 0.5 * _length(puck - TOUCH * _unit(goal - puck) - robot))[:, 0]


def advance(x, action):  # type: ignore[no-untyped-def]
    """Next rows, reward, success; actions in the robot's frame."""
    robot, heading, puck, goal = x[:, 0:2], x[:, 2:4], x[:, 4:6], x[:, 6:8]
    velocity = action[:, :2] / np.maximum(_length(action[:, :2]), 1.0)
    moved = robot + FAST * velocity[:, :1] * heading + SLOW * velocity[:, 1:2] * _left(heading)
    angle = TURN * np.clip(action[:, 2:3], -1, 1)
    turned = _unit(np.cos(angle) * heading + np.sin(angle) * _left(heading))
    away = puck - moved
    pushed = np.where(_length(away) < TOUCH, moved + TOUCH * _unit(away), puck)
    success = _length(goal - pushed)[:, 0] <= TOLERANCE
    reward = PROGRESS * (_short(robot, puck, goal) - _short(moved, pushed, goal)) + BONUS * success
    return np.concatenate([moved, turned, pushed, goal], -1), reward, success


def observe(x):  # type: ignore[no-untyped-def]
    """Everything from the robot's frame."""
    robot, heading = x[:, 0:2], x[:, 2:4]
    out = np.zeros((len(x), 8), dtype=np.float32)
    out[:, 2] = 1.0
    for k in (4, 6):
        v = x[:, k : k + 2] - robot
        out[:, k] = (v * heading).sum(-1)
        out[:, k + 1] = (v * _left(heading)).sum(-1)
    return out


def main() -> None:
    seed, steps, scenes, shape = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    import gymnasium
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv

    torch.set_num_threads(1)
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (8,), np.float32)
    acts = gymnasium.spaces.Box(-1e6, 1e6, (3,), np.float32)  # clipping is the task's own
    wins: list[bool] = []

    class Batched(VecEnv):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(scenes, seen, acts)
            self.rng = np.random.default_rng(seed)

        def reset(self):  # type: ignore[no-untyped-def]
            self.x, self.t = fresh(self.rng, scenes), np.zeros(scenes, dtype=np.int64)
            return observe(self.x)

        def step_async(self, actions):  # type: ignore[no-untyped-def]
            self.actions = actions

        def step_wait(self):  # type: ignore[no-untyped-def]
            self.x, reward, success = advance(self.x, self.actions)
            self.t += 1
            done = success | (self.t >= HORIZON)
            obs = observe(self.x)
            infos: list[dict[str, object]] = [{} for _ in range(scenes)]
            over = np.flatnonzero(done)
            for i in over:
                infos[i] = {"terminal_observation": obs[i].copy(), "TimeLimit.truncated": not success[i]}
                wins.append(bool(success[i]))
            if over.size:
                self.x[over], self.t[over] = fresh(self.rng, over.size), 0
                obs[over] = observe(self.x[over])
            return obs, reward.astype(np.float32), done, infos

        def close(self) -> None:
            pass

        def get_attr(self, name, indices=None):  # type: ignore[no-untyped-def]
            return [None] * scenes

        def set_attr(self, name, value, indices=None):  # type: ignore[no-untyped-def]
            pass

        def env_method(self, name, *args, indices=None, **kwargs):  # type: ignore[no-untyped-def]
            return []

        def env_is_wrapped(self, wrapper, indices=None):  # type: ignore[no-untyped-def]
            return [False] * scenes

    class One(gymnasium.Env):  # type: ignore[misc,type-arg]
        observation_space, action_space = seen, acts

        def __init__(self, k: int) -> None:
            self.rng = np.random.default_rng([seed, k])

        def reset(self, *, seed=None, options=None):  # type: ignore[no-untyped-def]
            self.x, self.t = fresh(self.rng, 1), 0
            return observe(self.x)[0], {}

        def step(self, action):  # type: ignore[no-untyped-def]
            self.x, reward, success = advance(self.x, action[None])
            self.t += 1
            cut = self.t >= HORIZON and not success[0]
            if success[0] or cut:
                wins.append(bool(success[0]))
            return observe(self.x)[0], float(reward[0]), bool(success[0]), cut, {}

    class Clock(BaseCallback):
        """Time begins after the first rollout, when everything is warm."""

        started = cpu = 0.0
        first = 0

        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            if self.num_timesteps and not self.started:
                self.started, self.cpu, self.first = time.perf_counter(), time.process_time(), self.num_timesteps

    venv = Batched() if shape == "batched" else DummyVecEnv([lambda k=k: One(k) for k in range(scenes)])
    model = PPO(
        "MlpPolicy", venv, seed=seed, n_steps=8192 // scenes, batch_size=2048, n_epochs=4, learning_rate=1e-3,
        gamma=0.99, gae_lambda=0.95, clip_range=0.2, vf_coef=0.25, max_grad_norm=0.5, device="cpu",
        policy_kwargs={"net_arch": {"pi": [64, 64], "vf": [64, 64]}, "log_std_init": -0.5},
    )  # fmt: skip
    clock = Clock()
    model.learn(steps, callback=clock)
    done = model.num_timesteps - clock.first
    found = {
        "steps": done,
        "seconds": time.perf_counter() - clock.started,
        "cpu": time.process_time() - clock.cpu,
        "episodes": len(wins),
        "success": float(np.mean(wins[-500:])),
        "to90": next((k for k in range(500, len(wins)) if np.mean(wins[k - 500 : k]) >= 0.9), None),
    }
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
