"""Run by bench_robot in .venv-robot: control steps, clouds and workers, each beside what it is compared with."""

import json
import os
import subprocess
import sys
import time

import numpy as np

from burnside.envs.manipulation.clouds import point_cloud
from burnside.envs.manipulation.experts import make_expert
from burnside.envs.manipulation.rendering import renderer_for
from burnside.envs.manipulation.scenes import reference_environment
from burnside.envs.manipulation.simulation import Simulation
from burnside.envs.manipulation.tasks import find_task
from burnside.groups.rigid import rot6d_to_matrix, so3_log

ROUNDS = int(os.environ.get("BURNSIDE_BENCH_ROUNDS", "5"))


def seconds(work, repeat):  # type: ignore[no-untyped-def]
    """Processor time of one call: on a shared machine the clock would mostly measure the others."""
    began = time.process_time()
    for _ in range(repeat):
        work()
    return (time.process_time() - began) / repeat


def steps(name: str) -> dict[str, object]:
    """Control steps from the same states with the same actions: a plain robosuite loop against ours."""
    task = find_task(name)
    sim, reference = Simulation(task), reference_environment(task)
    reference.reset()
    ratios, speeds = [], []
    for k in range(ROUNDS):
        sim.reset(k)
        expert = make_expert(task)
        for _ in range(45):  # into the first grasp
            sim.step(expert.act(sim))
        action = expert.act(sim)
        seven = np.concatenate([action[:3], so3_log(rot6d_to_matrix(action[3:9])), action[9:]])
        data = reference.sim.data._data
        data.qpos[:], data.qvel[:] = sim.data.qpos, sim.data.qvel
        theirs = seconds(lambda seven=seven: reference.step(seven), 30)
        ours = seconds(lambda action=action: (sim.step(action), sim.success()), 60)
        ratios.append(theirs / ours)
        speeds.append(1.0 / ours)
    return {
        "what": f"control steps, {name}: ours / plain robosuite",
        "ratio": float(np.median(ratios)),
        "ours_per_second": float(np.median(speeds)),
        "target": 1.5,
    }


def clouds() -> dict[str, object]:
    """A cloud of four views: robosuite's default flags (visual meshes, shadows) against ours."""
    task = find_task("stack-three")
    sim = Simulation(task)
    sim.reset(0)
    plain, default = renderer_for(sim.model), renderer_for(sim.model, plain=False)
    ratios, times = [], []
    for _ in range(ROUNDS):
        theirs = seconds(lambda: point_cloud(default, sim.data, task), 2)
        ours = seconds(lambda: point_cloud(plain, sim.data, task), 5)
        ratios.append(theirs / ours)
        times.append(ours)
    return {
        "what": "point cloud 4 × 84 × 84 → 1024: default flags / ours",
        "ratio": float(np.median(ratios)),
        "ours_ms": 1e3 * float(np.median(times)),
        "target": 10.0,
    }


def work(episodes: int) -> None:
    """One worker's share, run in a process of its own: tells when it is ready, then plays."""
    task = find_task("stack-three")
    sim = Simulation(task)
    sim.reset(0)
    sim.step(sim.hold())
    print("ready", flush=True)
    sys.stdin.readline()
    for seed in range(episodes):
        sim.reset(seed)
        expert = make_expert(task)
        for _ in range(100):
            sim.step(expert.act(sim))
    print("done", flush=True)


def workers() -> dict[str, object]:
    """Expert steps per second by the clock: two processes against one."""

    def run(count: int) -> float:
        pool = [
            subprocess.Popen(
                [sys.executable, __file__, "work", "8"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(count)
        ]
        for one in pool:
            while one.stdout.readline().strip() != "ready":
                pass
        began = time.monotonic()
        for one in pool:
            one.stdin.write("\n")
            one.stdin.flush()
        for one in pool:
            one.communicate()
        return count * 8 * 100 / (time.monotonic() - began)

    ratios = [run(2) / run(1) for _ in range(min(ROUNDS, 3))]
    return {"what": "two workers / one, by the clock", "ratio": float(np.median(ratios)), "target": 1.6}


if sys.argv[1:2] == ["work"]:
    work(int(sys.argv[2]))
else:
    for measure in (lambda: steps("stack-three"), lambda: steps("nut-assembly"), clouds, workers):
        print("ROW " + json.dumps(measure()), flush=True)
