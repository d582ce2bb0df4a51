"""A plain eager torch loop, as one would write it for one seed."""

import time

import numpy as np
import torch
from ring_game import (
    BATCH,
    BEGIN,
    CAPACITY,
    EPSILON_END,
    EPSILON_STEPS,
    GAMMA,
    RATE,
    TARGET_EVERY,
    N,
    arguments,
    make_env,
    report,
)

seeds, steps, warm, out = arguments()
torch.set_num_threads(1)


def network() -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(2 * N, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 4),
    )


def train(seed: int, steps: int, warm: int) -> tuple[torch.nn.Sequential, float, float]:
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    env, net, target = make_env(seed), network(), network()
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=RATE)
    obs = np.zeros((CAPACITY, 2 * N), np.float32)
    after = np.zeros((CAPACITY, 2 * N), np.float32)
    action, reward, ended = np.zeros(CAPACITY, np.int64), np.zeros(CAPACITY, np.float32), np.zeros(CAPACITY, np.float32)
    state, _ = env.reset()
    started, cpu = time.perf_counter(), time.process_time()
    for step in range(steps):
        if step == warm:
            started, cpu = time.perf_counter(), time.process_time()
        if rng.random() < max(EPSILON_END, 1.0 - (1.0 - EPSILON_END) * step / EPSILON_STEPS):
            a = int(rng.integers(4))
        else:
            with torch.no_grad():
                a = int(net(torch.from_numpy(state)).argmax())
        new, r, terminated, truncated, _ = env.step(a)
        slot = step % CAPACITY
        obs[slot], after[slot], action[slot], reward[slot], ended[slot] = state, new, a, r, terminated
        state = env.reset()[0] if terminated or truncated else new
        if step + 1 >= BATCH:
            drawn = rng.integers(0, min(step + 1, CAPACITY), BATCH)
            with torch.no_grad():
                best = target(torch.from_numpy(after[drawn])).max(1).values
                goal = torch.from_numpy(reward[drawn]) + GAMMA * best * torch.from_numpy(1 - ended[drawn])
            q = net(torch.from_numpy(obs[drawn])).gather(1, torch.from_numpy(action[drawn])[:, None])[:, 0]
            loss = torch.nn.functional.mse_loss(q, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if (step + 1) % TARGET_EVERY == 0:
            target.load_state_dict(net.state_dict())
    return net, time.perf_counter() - started, time.process_time() - cpu


train(10**6, BATCH + 2, 0)
cold = time.perf_counter() - BEGIN
seconds, cpu, saved = 0.0, 0.0, {}
for seed in seeds:
    net, wall, spent = train(seed, steps, warm)
    seconds += wall
    cpu += spent
    for k, layer in enumerate((m for m in net if hasattr(m, "weight")), start=1):
        saved[f"{seed}.w{k}"], saved[f"{seed}.b{k}"] = layer.weight.detach().numpy().T, layer.bias.detach().numpy()
np.savez(out, **saved)
report(updates=(steps - warm) * len(seeds), seconds=seconds, cpu=cpu, cold=cold)
