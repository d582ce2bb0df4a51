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

from burnside.agents.dqn import DQNConfig, Member, MemberState, advance, new_state, parameters  # noqa: E402
from burnside.envs.ring import RingSpec  # noqa: E402

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


def until(state: MemberState, steps: int) -> MemberState:
    """Whole episodes, in chunks, until a number of environment steps."""
    while state.arrays.counters[1] < steps:
        advance(state, max(1, int((steps - state.arrays.counters[1]) // spec.time_limit)))
    return state


until(new_state(config, spec, Member(10**6)), BATCH + 2)
cold = time.perf_counter() - BEGIN
states = [until(new_state(config, spec, Member(seed)), warm) for seed in seeds]
before = sum(int(state.arrays.counters[2]) for state in states)
started, cpu = time.perf_counter(), time.process_time()
with ThreadPoolExecutor(threads) as pool:
    list(pool.map(lambda state: until(state, steps), states))
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
updates = sum(int(state.arrays.counters[2]) for state in states) - before
np.savez(out, **{f"{s.member.seed}.{name}": a for s in states for name, a in parameters(s).items()})
report(updates=updates, seconds=seconds, cpu=cpu, cold=cold)
