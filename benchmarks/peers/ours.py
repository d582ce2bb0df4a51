"""Burnside's native engine: all seeds at once; first argument: threads."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor

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
    N,
    arguments,
    report,
)

threads = int(sys.argv.pop(1))
seeds, steps, warm, out = arguments()

from burnside.agents.common.members import Member  # noqa: E402
from burnside.agents.dqn import DQNConfig, RingDQN  # noqa: E402
from burnside.envs.ring.core import RingSpec  # noqa: E402

config = DQNConfig(
    hidden=(128, 128),
    gamma=GAMMA,
    capacity=CAPACITY,
    batch=BATCH,
    learning_rate=RATE,
    epsilon_end=EPSILON_END,
    epsilon_steps=EPSILON_STEPS,
    target_every_steps=TARGET_EVERY,
)
spec = RingSpec(N)


def until(learner: RingDQN, steps: int) -> RingDQN:
    """Whole episodes, in chunks, until a number of environment steps."""
    while learner.steps[0] < steps:
        learner.play(max(1, int((steps - learner.steps[0]) // spec.time_limit)))
    return learner


until(RingDQN(config, spec, Member(10**6)), BATCH + 2)
cold = time.perf_counter() - BEGIN
learners = [until(RingDQN(config, spec, Member(seed)), warm) for seed in seeds]
before = sum(int(each.state.counters[2]) for each in learners)
started, cpu = time.perf_counter(), time.process_time()
with ThreadPoolExecutor(threads) as pool:
    list(pool.map(lambda each: until(each, steps), learners))
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
updates = sum(int(each.state.counters[2]) for each in learners) - before
np.savez(out, **{f"{s.member.seed}.{name}": a for s in learners for name, a in s.parameters().items()})
report(updates=updates, seconds=seconds, cpu=cpu, cold=cold)
