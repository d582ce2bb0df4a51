"""Stable-Baselines3 or SBX (first argument: sb3 | sbx), one seed after the other, timed between two callbacks."""

import sys
import time

import numpy as np
from ring_game import (
    BATCH,
    BEGIN,
    CAPACITY,
    EPSILON_END,
    EPSILON_STEPS,
    GAMMA,
    RATE,
    TARGET_EVERY,
    arguments,
    make_env,
    report,
)

which = sys.argv.pop(1)
seeds, steps, warm, out = arguments()

from stable_baselines3.common.callbacks import BaseCallback  # noqa: E402

options = {
    "learning_rate": RATE,
    "gamma": GAMMA,
    "buffer_size": CAPACITY,
    "learning_starts": BATCH,
    "batch_size": BATCH,
    "train_freq": 1,
    "gradient_steps": 1,
    "target_update_interval": TARGET_EVERY,
    "exploration_fraction": EPSILON_STEPS / steps,
    "exploration_final_eps": EPSILON_END,
    "policy_kwargs": {"net_arch": [128, 128]},
}
if which == "sb3":
    import torch
    from stable_baselines3 import DQN

    torch.set_num_threads(1)
    options |= {"max_grad_norm": float("inf"), "device": "cpu"}
else:
    from sbx import DQN


class Clock(BaseCallback):
    """Notes the time after the warm-up steps."""

    started = 0.0
    cpu = 0.0

    def _on_step(self) -> bool:
        if self.num_timesteps == warm:
            self.started = time.perf_counter()
            self.cpu = time.process_time()
        return True


def exploration(model: object) -> None:
    """ε as a function of steps, also where the run is shorter than its fall."""
    model.exploration_schedule = lambda left: max(  # type: ignore[attr-defined]
        EPSILON_END, 1.0 - (1.0 - EPSILON_END) * (1.0 - left) * steps / EPSILON_STEPS
    )


def parameters(model: object) -> dict[str, np.ndarray]:
    found = {}
    if which == "sb3":
        layers = [m for m in model.q_net.q_net if hasattr(m, "weight")]  # type: ignore[attr-defined]
        for k, layer in enumerate(layers, start=1):
            found[f"w{k}"], found[f"b{k}"] = layer.weight.detach().numpy().T, layer.bias.detach().numpy()
    else:
        tree = model.policy.qf_state.params  # type: ignore[attr-defined]
        tree = tree.get("params", tree)
        for k, name in enumerate(sorted(tree), start=1):
            found[f"w{k}"], found[f"b{k}"] = np.asarray(tree[name]["kernel"]), np.asarray(tree[name]["bias"])
    return found


seconds, cpu, saved, cold = 0.0, 0.0, {}, None
for seed in seeds:
    model = DQN("MlpPolicy", make_env(seed), seed=seed, **options)
    exploration(model)
    clock = Clock()
    if cold is None:
        model.learn(BATCH + 2)
        cold = time.perf_counter() - BEGIN
        model = DQN("MlpPolicy", make_env(seed), seed=seed, **options)
        exploration(model)
    model.learn(steps, callback=clock)
    seconds += time.perf_counter() - clock.started
    cpu += time.process_time() - clock.cpu
    saved |= {f"{seed}.{name}": value for name, value in parameters(model).items()}
np.savez(out, **saved)
report(updates=(steps - warm) * len(seeds), seconds=seconds, cpu=cpu, cold=cold)
