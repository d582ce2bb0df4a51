"""The compiled loops of the learners against their plain twins, on the same random numbers."""

from typing import Any

import numpy as np
import pytest

from burnside.learning import kernels, plain, ucfh_kernels
from burnside.learning.plain import Limits, Memory, Meter, Widths
from burnside.learning.ucfh import new_model
from burnside.learning.world import World, first_policy
from burnside.mdp import TabularMDP, quotient, zoo


def lottery(ends: bool = False) -> TabularMDP:
    """Random probabilities and rewards, so that no two choices are worth the same; perhaps with a terminal state."""
    rng = np.random.default_rng(5)
    P = rng.dirichlet(np.ones(5), size=12) * (rng.random((12, 5)) < 0.7)
    P[:, 0] += 0.1
    states = np.repeat(np.arange(4 if ends else 5), [3, 3, 3, 3] if ends else [3, 3, 2, 2, 2])
    return TabularMDP(P / P.sum(axis=1, keepdims=True), rng.random((4, 12)), np.full(5, 0.2), 4, pair_state=states)


def worlds() -> list[World]:
    ring = zoo.slip_ring(5)
    through = World.through(quotient(ring, ring.symmetry("Z")), "uniform")
    return [World.direct(lottery()), World.direct(lottery(ends=True)), through]


def meter(world: World, fewest: float) -> Meter:
    return Meter(float(world.best), 0.1 * world.best, fewest, np.zeros(1), np.array([0, 0, 0, -2, 0]))


def memory(world: World) -> Memory:
    pairs, states, horizon = world.agent.n_pairs, world.agent.n_states, world.agent.H
    entries = world.agent_arrays.indices.size
    n, counts = np.zeros(pairs, dtype=np.int64), np.zeros(entries, dtype=np.int64)
    visits, q_cap = np.zeros((horizon, states), dtype=np.int64), np.full((horizon, pairs), np.inf)
    return Memory(n, counts, visits, np.zeros(entries), np.zeros(pairs), q_cap, first_policy(world.agent))


def equal(one: Any, other: Any) -> None:
    """The same counts and choices, and numbers that differ by rounding alone."""
    for name, mine, theirs in zip(one._fields, one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("world", worlds(), ids=["random", "terminal", "quotient"])
@pytest.mark.parametrize(("kind", "own_span"), [(0, False), (0, True), (1, False), (2, False)])
def test_a_run_of_an_optimistic_learner(world: World, kind: int, own_span: bool) -> None:
    """150 episodes: the same plans, episodes, counts, gaps and end."""
    widths = Widths(kind, 0.05 if kind == 0 else 0.002, 6.0, own_span, 2)
    u = np.random.default_rng(kind).random((150, world.agent.H + 1, 3))
    found = []
    for code in (plain, kernels):
        known, read, gaps = memory(world), meter(world, 100.0), np.zeros(len(u))
        played = code.optimistic_run(world.arrays, world.agent_arrays, widths, known, read, u, gaps)
        found.append((known, read, gaps, played))
    (known, read, gaps, played), (known_2, read_2, gaps_2, played_2) = found
    assert played == played_2 and known.n.sum() > 0
    equal(known, known_2)
    equal(read, read_2)
    np.testing.assert_allclose(gaps, gaps_2, atol=1e-9)
    assert np.unique(gaps[:played].round(9)).size > 1  # the policy changed on the way


@pytest.mark.parametrize("support", ["unknown", "known"])
@pytest.mark.parametrize("ends", [False, True])
def test_a_run_of_ucfh(support: str, ends: bool) -> None:
    """250 episodes of UCFH with small thresholds: the same phases, intervals and gaps."""
    world = World.direct(lottery(ends))
    u = np.random.default_rng(1).random((250, world.agent.H + 1, 3))
    found = []
    for code in (plain, ucfh_kernels):
        model, read, gaps = new_model(world.agent, support), meter(world, 1e9), np.zeros(len(u))
        limits = Limits(3.0, 40.0, 0.2, 0.0, 0)
        code.steps_run(world.arrays, world.agent_arrays, model, limits, read, u, gaps)
        found.append((model, read, gaps))
    (model, read, gaps), (model_2, read_2, gaps_2) = found
    equal(model, model_2)
    equal(read, read_2)
    np.testing.assert_allclose(gaps, gaps_2, atol=1e-9)
    assert model.n.max() >= 40 and model.width.min() < 0.9 and np.unique(gaps.round(9)).size > 1
