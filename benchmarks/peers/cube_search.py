"""Search on the 3-cube by ours, deepxube or cayleypy with one network: WHO METHOD SIZE STEPS, one line of JSON.

WHO is ``ours`` (the network below), ``folded`` (ours with the network of ``burnside.agents.cube_values``, same size),
``deepxube`` or ``cayleypy``; METHOD is ``astar`` (SIZE states expanded in each of STEPS steps) or ``beam`` (width SIZE,
STEPS layers). Start: a scramble of 30 turns, which an untrained network does not solve. One thread each.
"""

import json
import sys
import time

import numpy as np
import torch

who, method, size, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(1)
ROWS = 8192  # states in one call of the network, for everybody
WEIGHT = 0.6


class Block(torch.nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = torch.nn.Linear(width, width), torch.nn.Linear(width, width)
        self.norm_one, self.norm_two = torch.nn.BatchNorm1d(width), torch.nn.BatchNorm1d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + self.norm_two(self.two(torch.relu(self.norm_one(self.one(x))))))


class Net(torch.nn.Module):
    """54 colours → one-hot 324 → 512 → 256 → 2 residual blocks → 1, random weights; it times itself."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(324, 512),
            torch.nn.BatchNorm1d(512),
            torch.nn.ReLU(),
            torch.nn.Linear(512, 256),
            torch.nn.BatchNorm1d(256),
            torch.nn.ReLU(),
            Block(256),
            Block(256),
            torch.nn.Linear(256, 1),
        )
        self.register_buffer("colours", torch.arange(6, dtype=torch.uint8))
        self.eval()
        self.seconds, self.rows = 0.0, 0

    @torch.inference_mode()
    def forward(self, states: torch.Tensor) -> torch.Tensor:
        began = time.perf_counter()
        out = [
            self.layers((part.to(torch.uint8)[:, :, None] == self.colours).float().flatten(1))[:, 0]
            for part in states.split(ROWS)
        ]
        self.seconds += time.perf_counter() - began
        self.rows += len(states)
        return torch.cat(out)


def ours(net: Net, size: int, steps: int) -> int:
    from burnside.envs.cube import CubeSpec, scramble
    from burnside.search import AStarConfig, BeamConfig, CubePuzzle, astar, beam

    spec = CubeSpec(3)
    state = scramble(spec, [1], [30])[0][0]
    if who == "folded":
        from burnside.agents.cube_values import CubeValue, DaviConfig, make_network

        config = DaviConfig(hidden=(512, 256), blocks=2)
        value = CubeValue(spec, "baseline", config, make_network(config, spec, "baseline", [0]))

        def heuristic(states: np.ndarray) -> np.ndarray:
            net.rows += len(states)
            began = time.perf_counter()
            found = value.value_fn(states)
            net.seconds += time.perf_counter() - began
            return found
    else:

        def heuristic(states: np.ndarray) -> np.ndarray:
            return net(torch.from_numpy(states)).numpy()

    if method == "astar":
        # The first steps expand fewer states than a full batch, so the cap and not the number of steps is the budget.
        settings = AStarConfig(weight=WEIGHT, batch=size, cap=12 * size * steps, network_rows=ROWS)
        return astar(CubePuzzle(spec), state, heuristic, settings).generated
    wide = BeamConfig(width=size, depth=steps, network_rows=ROWS)
    return beam(CubePuzzle(spec), state, heuristic, wide)[0].generated


def deepxube(net: Net, size: int, steps: int) -> int:
    from deepxube.base.pathfinding import FNsHeurV
    from deepxube.domains.cube3 import Cube3
    from deepxube.pathfinding.beam_search import BeamSearchHeurNodeActsEnum
    from deepxube.pathfinding.graph_search import GraphSearchHeurNodeActsEnum

    domain = Cube3()
    np.random.seed(1)  # noqa: NPY002  # the library draws from numpy's global generator
    states, goals = domain.sample_problem_instances([30])

    def heuristic(states, goals):  # type: ignore[no-untyped-def]
        return net(torch.from_numpy(domain.to_np_flat_sg(states, goals)[0])).tolist()

    if method == "astar":
        search = GraphSearchHeurNodeActsEnum(domain, FNsHeurV(heuristic), batch_size=size, weight=WEIGHT)
    else:
        search = BeamSearchHeurNodeActsEnum(domain, FNsHeurV(heuristic), beam_size=size)
    search.add_instances(search.make_instances(states, goals, None, True))
    instance = search.instances[0]
    done = 0
    while done < steps if method == "beam" else instance.num_nodes_generated < 12 * size * steps:
        search.step()
        done += 1
    return instance.num_nodes_generated


def cayleypy(net: Net, size: int, steps: int) -> int:
    from cayleypy import CayleyGraph, Predictor, Puzzles

    graph = CayleyGraph(Puzzles.rubik_cube(3, "QTM"), device="cpu", random_seed=0)
    state = graph.central_state
    rng = np.random.default_rng(1)
    for move in rng.integers(12, size=30):
        state = graph.get_neighbors_decoded(state[None])[int(move)]
    seen: list[int] = []
    original = graph.get_neighbors

    def counted(states):  # type: ignore[no-untyped-def]
        seen.append(12 * len(states))
        return original(states)

    graph.get_neighbors = counted
    graph.beam_search(
        start_state=state, predictor=Predictor(graph, net), beam_width=size, max_steps=steps, return_path=True
    )
    return sum(seen)


run = {"ours": ours, "folded": ours, "deepxube": deepxube, "cayleypy": cayleypy}[who]
net = Net()
run(net, min(size, 100), 3)  # compiled code and caches
net.seconds, net.rows = 0.0, 0
began, cpu = time.perf_counter(), time.process_time()
nodes = run(net, size, steps)
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
print(json.dumps({"nodes": nodes, "rows": net.rows, "seconds": seconds, "cpu": cpu, "network": net.seconds}))
