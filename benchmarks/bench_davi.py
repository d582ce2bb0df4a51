"""Value iteration on the 3-cube: states per second against the bare matrix products of the same update.

One thread, process time, best of interleaved repeats. Two rooflines: the products of the update and of the target
network on *all* twelve children of a state, which is what the recipe says; and on the *distinct* children only, which
is what is evaluated (children that coincide, after the canonical form where there is one, are asked about once).
"""

import time

import torch

from burnside.agents.common.members import Member
from burnside.agents.cube_values import DaviConfig, DaviRun
from burnside.envs.cube import CubeSpec

BATCH, REPEATS, UPDATES = 1_000, 4, 10
ARMS = ("baseline", "conjugation", "equivariant")
CHILDREN = 12


def products(shapes: list[tuple[int, int]], rows: int, train: bool) -> float:
    """Process seconds of the matrix products of one pass, forward or forward and backward."""
    total = 0.0
    for layer, (inputs, outputs) in enumerate(shapes):
        x, w, g = torch.randn(rows, inputs), torch.randn(inputs, outputs), torch.randn(rows, outputs)
        began = time.process_time()
        x @ w
        if train:
            x.T @ g
            if layer:  # nobody asks for the gradient of the inputs
                g @ w.T
        total += time.process_time() - began
    return total


def measure(arm: str) -> dict[str, object]:
    spec = CubeSpec(3)
    config = DaviConfig(states=10**6, states_per_round=10**5, batch=BATCH)
    run = DaviRun(config, spec, Member(0, arm))
    run.target, run.copies = run.learner.tensors(), 1  # a target network from the start: the first is free
    run.source.forget()
    run.run(UPDATES)
    wide, narrow = config.hidden
    shapes = [(spec.n_inputs, wide), (wide, narrow), *[(narrow, narrow)] * (2 * config.blocks), (narrow, 1)]
    ours = every = asked = float("inf")
    share = 0.0
    for _ in range(REPEATS):
        before, began = run.source.evaluated, time.process_time()
        run.run(UPDATES)
        ours = min(ours, (time.process_time() - began) / UPDATES)
        distinct = (run.source.evaluated - before) / UPDATES
        update = min(products(shapes, BATCH, True) for _ in range(3))
        child = min(products(shapes, 2048, False) for _ in range(5)) / 2048
        every = min(every, update + CHILDREN * BATCH * child)
        asked = min(asked, update + distinct * child)
        share = distinct / (CHILDREN * BATCH)
    return {
        "what": "value iteration",
        "arm": arm,
        "states_per_second": BATCH / ours,
        "products_all_children": BATCH / every,
        "products_distinct_children": BATCH / asked,
        "fraction_of_roofline": asked / ours,
        "distinct_children": share,
    }


def run() -> list[dict[str, object]]:
    torch.set_num_threads(1)
    rows = [measure(arm) for arm in ARMS]
    print(
        f"{'arm':>12} {'states/s':>9} {'products, all':>14} {'products, distinct':>19} {'fraction':>9} {'distinct':>9}"
    )
    for row in rows:
        print(
            f"{row['arm']:>12} {row['states_per_second']:>9,.0f} {row['products_all_children']:>14,.0f} "
            f"{row['products_distinct_children']:>19,.0f} {row['fraction_of_roofline']:>9.2f} "
            f"{row['distinct_children']:>9.2f}"
        )
    return rows
