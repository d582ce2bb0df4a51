"""A solver of random 3-cubes by ours, cayleypy or deepxube: WHO SECONDS CUBES WIDTH, one line of JSON.

Each trains a network for SECONDS of processor time on one core and then solves the same CUBES random cubes of 100 turns
with a beam of WIDTH states and at most 60 layers. ``ours`` is the policy and the beam of ``burnside solve``, ``plain``
the same without its table of the last turns. The others publish no weights in their packages, so they are trained here
on their own walks, to predict the length of a walk (CayleyPy's recipe; deepxube's supervised one), with a network of
CayleyPy's smallest published size: ``cayleypy`` with its model, walks and beam, ``deepxube`` with its domain and beam.
"""

import json
import sys
import time
from itertools import pairwise

import numpy as np
import torch

who, budget, cubes, width = sys.argv[1], float(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(1)
TURNS = ("U", "U'", "F", "F'", "L", "L'", "D", "D'", "B", "B'", "R", "R'")
#: cayleypy counts layers from F, R and D, and turns the far one as the near one.
THEIRS = {
    name + end: (layer + end).replace("''", "")
    for name, layer in zip("UFLDBR", ("d2'", "f0", "r2'", "d0", "f2'", "r0"), strict=True)
    for end in ("", "'")
}
TURN_NUMBERS = np.random.default_rng(20_26).integers(12, size=(cubes, 100))
LAYERS, LONGEST, BATCH = 60, 26, 1_000


def ours() -> dict[str, float]:
    from burnside.agents.common.members import Member
    from burnside.agents.cube_walks import WalkConfig, WalkRun
    from burnside.envs.cube import CubeSpec, apply_moves, solved
    from burnside.search.policy_beam import PolicyBeamConfig, policy_beam

    spec = CubeSpec(3)
    trial = WalkRun(WalkConfig.preset("shipped"), spec, Member(0, "equivariant"))
    trial.run(3)  # compiles
    began = time.process_time()
    trial.run(30)
    updates = int(budget / (time.process_time() - began) * 30)
    run = WalkRun(WalkConfig.preset("shipped", states=1_024 * updates), spec, Member(0, "equivariant"))
    began = time.process_time()
    run.run()
    trained = time.process_time() - began
    policy = run.network()
    settings = PolicyBeamConfig(width, LAYERS, table=7 if who == "ours" else 0)
    starts = [apply_moves(spec, solved(spec), turns) for turns in TURN_NUMBERS]
    policy_beam(policy, starts[0], settings)  # compiles, and makes the table
    began = time.process_time()
    lengths = [found.length for found in (policy_beam(policy, start, settings) for start in starts) if found.solved]
    return report(policy.weights, run.states, trained, lengths, time.process_time() - began)


def report(weights: int, states: int, trained: float, lengths: list, seconds: float) -> dict[str, float]:
    return {
        "weights": weights,
        "states": states,
        "training": trained,
        "solved": len(lengths),
        "length": float(np.mean(lengths)) if lengths else None,
        "cpu": seconds / cubes,
    }


def fit(net: torch.nn.Module, batches) -> tuple[int, float]:  # type: ignore[no-untyped-def]
    """Regress the lengths of walks for the budget: states and seconds."""
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    net.train()
    began, states = time.process_time(), 0
    while time.process_time() - began < budget:
        for x, y in batches():
            loss = (net(x).reshape(-1) - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            states += len(y)
            if time.process_time() - began >= budget:
                break
    net.eval()
    return states, time.process_time() - began


def cayleypy() -> dict[str, float]:
    from cayleypy import CayleyGraph, Predictor, Puzzles
    from cayleypy.models import ModelConfig

    graph = CayleyGraph(Puzzles.rubik_cube(3, "QTM"), device="cpu", random_seed=0)
    net = ModelConfig("RESMLP", len(graph.central_state), 6, [1024, 256, 256]).build_model()

    def batches():  # type: ignore[no-untyped-def]
        x, y = graph.random_walks(width=BATCH, length=LONGEST + 1, mode="bfs")
        order = torch.randperm(len(y))
        for part in order.split(BATCH):
            yield x[part], y[part].float()

    states, trained = fit(net, batches)
    names = list(graph.definition.generator_names)
    number = [names.index(THEIRS[turn]) for turn in TURNS]
    predictor = Predictor(graph, net)
    starts = []
    for turns in TURN_NUMBERS:
        state = graph.central_state
        for turn in turns:
            state = graph.get_neighbors_decoded(state[None])[number[turn]]
        starts.append(state)
    began, lengths = time.process_time(), []
    for state in starts:
        found = graph.beam_search(
            start_state=state, predictor=predictor, beam_width=width, max_steps=LAYERS, return_path=True
        )
        if found.path_found:
            lengths.append(found.path_length)
    weights = sum(p.numel() for p in net.parameters())
    return report(weights, states, trained, lengths, time.process_time() - began)


def deepxube() -> dict[str, float]:
    from deepxube.base.pathfinding import FNsHeurV
    from deepxube.domains.cube3 import Cube3
    from deepxube.pathfinding.beam_search import BeamSearchHeurNodeActsEnum

    domain = Cube3()
    np.random.seed(0)  # noqa: NPY002  # the library draws from numpy's global generator

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            sizes = [324, 1024, 256]
            self.layers = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in pairwise(sizes))
            self.norms = torch.nn.ModuleList(torch.nn.BatchNorm1d(b) for b in sizes[1:])
            self.block = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.BatchNorm1d(256), torch.nn.ReLU())
            self.head = torch.nn.Linear(256, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = torch.nn.functional.one_hot(x.long(), 6).float().flatten(1)
            for layer, norm in zip(self.layers, self.norms, strict=True):
                x = torch.relu(norm(layer(x)))
            return self.head(x + self.block(x))[:, 0]

    net = Net()

    def batches():  # type: ignore[no-untyped-def]
        lengths = np.random.randint(1, LONGEST + 1, size=BATCH)  # noqa: NPY002
        states, goals = domain.sample_problem_instances(lengths.tolist())
        flat = torch.from_numpy(np.asarray(domain.to_np_flat_sg(states, goals)[0]))
        yield flat, torch.from_numpy(lengths.astype(np.float32))

    states_seen, trained = fit(net, batches)

    @torch.inference_mode()
    def heuristic(states, goals):  # type: ignore[no-untyped-def]
        flat = torch.from_numpy(np.asarray(domain.to_np_flat_sg(states, goals)[0]))
        return torch.cat([net(part) for part in flat.split(8192)]).tolist()

    states, goals = domain.sample_problem_instances([100] * cubes)
    began, lengths = time.process_time(), []
    for state, goal in zip(states, goals, strict=True):
        search = BeamSearchHeurNodeActsEnum(domain, FNsHeurV(heuristic), beam_size=width)
        search.add_instances(search.make_instances([state], [goal], None, True))
        instance = search.instances[0]
        for _ in range(LAYERS):
            search.step()
            if instance.has_soln():
                lengths.append(instance.path_cost())
                break
    weights = sum(p.numel() for p in net.parameters())
    return report(weights, states_seen, trained, lengths, time.process_time() - began)


print(json.dumps({"ours": ours, "plain": ours, "cayleypy": cayleypy, "deepxube": deepxube}[who]()))
