"""The 1D cyclic game of App. C as a lean Gymnasium environment, for peers; nothing of Burnside is needed."""

import json
import resource
import sys
import time

import numpy as np

BEGIN = time.perf_counter()
N, P_MINE, END = 20, 0.7, 10.0
MOVES = (-2, -1, 1, 2)
BATCH, CAPACITY, TARGET_EVERY, RATE, GAMMA = 64, 10_000, 500, 1e-3, 0.99
EPSILON_END = 0.05
#: ε falls linearly over this many environment steps, whatever the length of the run.
EPSILON_STEPS = 25_000


def arguments() -> tuple[list[int], int, int, str]:
    """SEEDS (comma-separated), STEPS, WARM, OUT."""
    seeds, steps, warm, out = sys.argv[1:5]
    return [int(s) for s in seeds.split(",")], int(steps), int(warm), out


def report(**values: object) -> None:
    """One line of JSON for the benchmark, with the memory this process needed at most."""
    values["rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(values), flush=True)


def make_env(seed: int):  # type: ignore[no-untyped-def]
    import gymnasium

    class Ring(gymnasium.Env):  # type: ignore[misc,type-arg]
        observation_space = gymnasium.spaces.Box(-1.0, END, (2 * N,), np.float32)
        action_space = gymnasium.spaces.Discrete(4)

        def __init__(self) -> None:
            self.rng = np.random.default_rng(seed)

        def reset(self, *, seed=None, options=None):  # type: ignore[no-untyped-def]
            self.obs = np.zeros(2 * N, dtype=np.float32)
            self.obs[:N] = -(self.rng.random(N) < P_MINE).astype(np.float32)
            self.goal = int(self.rng.integers(N))
            self.obs[self.goal] = END
            self.obs[N] = 1.0
            self.pos = self.t = 0
            return self.obs.copy(), {}

        def step(self, action):  # type: ignore[no-untyped-def]
            self.obs[N + self.pos] = 0.0
            self.pos = (self.pos + MOVES[int(action)]) % N
            self.obs[N + self.pos] = 1.0
            self.t += 1
            terminated = self.pos == self.goal
            truncated = not terminated and self.t >= 4 * N
            return self.obs.copy(), float(self.obs[self.pos]), terminated, truncated, {}

    return Ring()
