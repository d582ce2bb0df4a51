"""Where the paper's counts go wrong, each with its counter-example (``test_invariance`` has one for policies)."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from tests.mdp.helpers import ZOO, classes, dense

from burnside.mdp import (
    GraphMDP,
    Symmetry,
    TabularMDP,
    VertexSymmetry,
    discover,
    minimise,
    quotient,
    solve,
    verify,
    zoo,
)


def test_orbits_of_different_size() -> None:
    """|S̄| = |S|/|orbit| fails: D5 has order 10, but some boards are their own mirror image: 42 classes, not 40."""
    ring = zoo.ring(5)
    D = ring.symmetry("D")
    sizes = np.bincount(D.state_orbits)
    assert ring.n_states / D.order == 40 and D.n_state_orbits == 42
    assert set(sizes.tolist()) == {5, 10} and int((sizes == 5).sum()) == 4
    assert D.n_pair_orbits == 160 == ring.n_pairs // 10  # no action is fixed, so pairs divide evenly
    assert set(np.bincount(D.pair_orbits).tolist()) == {10}


@pytest.mark.parametrize("n", [2, 3, 5, 8, 20])
def test_states_and_actions_are_not_divided_twice(n: int) -> None:
    """The rotated bandit: one orbit of contexts, one of arms, and yet n arms to learn."""
    bandit = zoo.bandit(n)
    sym = bandit.symmetry()
    assert verify(bandit, sym).ok
    actions = sym.action_permutations(bandit)
    by_hand = [[(k + 1) % n for k in range(n)]]
    orbits_of_arms = len(set(classes(by_hand, n)))
    paper = sym.n_state_orbits * orbits_of_arms
    assert paper == 3
    q = quotient(bandit, sym)
    assert sym.n_pair_orbits == q.mdp.n_pairs == n + 2 == sym.burnside_counts()[1]
    assert actions is None or classes(actions, n) == classes(by_hand, n)
    # n different success probabilities survive: the quotient is an n-armed bandit, and so is the coarsest one
    P, _ = dense(q.mdp)
    assert len({round(float(p), 9) for p in P[q.mdp.pair_state == 0, 1]}) == n
    assert minimise(bandit).mdp.n_pairs == n + 2
    assert bandit.n_pairs / q.mdp.n_pairs <= n


def test_figure_two() -> None:
    """64 → 8 needs a group of order 4; the drawn Z2 gives 8 pairs with 2 successors: 16."""
    mdp = zoo.fig2()
    assert mdp.n_states * mdp.n_actions * mdp.successors == 64
    q = quotient(mdp, mdp.symmetry("Z2"))
    assert (q.mdp.n_states, q.mdp.n_pairs, q.mdp.successors) == (2, 8, 2)
    assert q.mdp.n_pairs * q.mdp.successors == 16
    assert discover(mdp).order == 2  # there is no more symmetry than what is drawn
    assert minimise(mdp).mdp.n_pairs == 8
    double = zoo.fig2(duplicates=True)
    q = quotient(double, double.symmetry("Z2×Z2"))
    assert (q.mdp.n_states, q.mdp.n_pairs, q.mdp.successors) == (2, 4, 2)
    assert q.mdp.n_pairs * q.mdp.successors == 8
    second = double.symmetry("Z2×Z2")
    assert (second.on_states[1] == np.arange(4)).all() and second.order == 4
    P, R = dense(double)
    for s in range(4):
        left, right, up, down = double.pairs_of(s)
        assert (P[left] == P[right]).all() and R[0, left] == R[0, right]
        assert (P[up] == P[down]).all() and R[0, up] == R[0, down]
    assert quotient(double, double.symmetry("Z2")).mdp.n_pairs == 8
    assert not verify(mdp, Symmetry.from_actions(mdp, [[0, 1, 2, 3]], [[1, 0, 3, 2]])).ok


def slippery_walk(n: int) -> tuple[TabularMDP, Symmetry]:
    """A walk on a ring whose state is the position alone."""
    mdp = TabularMDP.from_step(range(n), lambda s: (-1, 1), lambda s, a: [(0.8, (s + a) % n, 0.0), (0.2, s, 0.0)], H=4)
    turn = (np.arange(n) + 1) % n
    return mdp, Symmetry.from_actions(mdp, turn[None], order=n)


@pytest.mark.parametrize("n", [3, 5, 12])
def test_successors_are_never_less_than_one(n: int) -> None:
    """C = 2 and orbits of N states: C/|G_C| = 2/N is not a number of successors; |σ(Succ)| is 1."""
    mdp, rotations = slippery_walk(n)
    q = quotient(mdp, rotations)
    assert (mdp.successors, rotations.n_state_orbits) == (2, 1)
    assert mdp.successors / n < 1
    assert q.mdp.successors == q.reduction.quotient_successors == 1
    assert q.reduction.successor_factor == 2


@pytest.mark.parametrize("model", ZOO)
def test_successor_counts_in_the_zoo(model: str) -> None:
    mdp = ZOO[model]()
    for sym in [*(mdp.symmetry(name) for name in mdp.symmetries), discover(mdp)]:
        q = quotient(mdp, sym)
        by_hand = max(len(set(sym.state_orbits[mdp.P[i].indices].tolist())) for i in range(mdp.n_pairs))
        assert 1 <= q.mdp.successors == by_hand <= mdp.successors


@pytest.mark.parametrize("n", [5, 7])
def test_admissible_pairs_not_ambient_actions(n: int) -> None:
    """With A = V (Def. 4) the paper's formula counts |S|/N pairs; the truth is d·|S|/N."""
    game = GraphMDP(nx.circulant_graph(n, [1, 2]), alphabet=(0, 1), reward=lambda x, q, v: float(x[v]), H=3)
    mdp = game.tabular()
    turn = VertexSymmetry([[(v + 1) % n for v in range(n)]], name=f"Z{n}")
    sym = game.lift(mdp, list(game.states()), turn)
    assert verify(mdp, sym).ok
    assert (mdp.n_states, mdp.n_actions, mdp.n_pairs) == (n * 2**n, n, 4 * n * 2**n)
    assert mdp.n_pairs != mdp.n_states * mdp.n_actions
    paper = mdp.n_states * mdp.n_actions // n**2
    assert paper == mdp.n_states // n
    q = quotient(mdp, sym)
    assert q.mdp.n_pairs == 4 * mdp.n_states // n == 4 * paper
    assert game.orbits(turn).quotient_pairs == q.mdp.n_pairs
    assert sym.action_permutations(mdp) is not None  # the vertices themselves are turned: no relative moves


@pytest.mark.parametrize(("order", "seed"), [(2, 0), (5, 1), (12, 2)])
def test_any_quotient_occurs(order: int, seed: int) -> None:
    """Lift a hard M̄ to S̄×G with transitions that keep the group coordinate: the quotient is M̄, to the bit."""
    rng = np.random.default_rng(seed)
    hard = zoo.deep_sea(5)
    P, R = dense(hard)
    n, m = hard.n_states, hard.n_pairs
    big = np.zeros((m * order, n * order))
    for g in range(order):
        big[g::order, g::order] = P  # pair (i, g) at i·order + g, state (s, g) at s·order + g
    start = rng.dirichlet(np.ones(order))
    pair_state = (hard.pair_state[:, None] * order + np.arange(order)).ravel()
    pair_action = np.repeat(hard.pair_action, order)
    key = np.lexsort((pair_action, pair_state))
    place = np.argsort(key)
    lifted = TabularMDP(
        big,
        np.repeat(R[0], order),
        np.outer(hard.p0, start).ravel(),
        hard.H,
        pair_state=pair_state,
        pair_action=pair_action,
    )
    turn = (np.arange(order) + 1) % order
    on_states = (np.arange(n)[:, None] * order + turn).ravel()
    moved = (np.arange(m)[:, None] * order + turn).ravel()  # in the order in which pairs were given
    on_pairs = np.empty_like(moved)
    on_pairs[place] = place[moved]
    sym = Symmetry(on_states, on_pairs, order=order)
    q = quotient(lifted, sym)
    P_bar, R_bar = dense(q.mdp)
    assert (P_bar == P).all() and (R_bar == R).all() and np.allclose(q.mdp.p0, hard.p0)
    assert (q.mdp.pair_state == hard.pair_state).all() and (q.mdp.pair_action == hard.pair_action).all()
    assert q.reduction.pair_factor == order and q.reduction.successor_factor == 1
    assert solve(lifted).value == pytest.approx(solve(hard).value)


@pytest.mark.parametrize("n", [5, 30])
def test_full_state_symmetry_is_a_bandit(n: int) -> None:
    """|G| = |S|: one abstract state that always returns to itself; nothing but rewards is left."""
    mdp, rotations = slippery_walk(n)
    q = quotient(mdp, rotations)
    assert rotations.order == mdp.n_states and q.mdp.n_states == 1
    assert (q.mdp.P.toarray() == 1).all() and q.mdp.successors == 1 and q.mdp.n_pairs == 2
    assert minimise(mdp).mdp.n_pairs == 1


def test_the_real_ring_game_reduces_by_n() -> None:
    """|S| ≈ 10⁵ is n = 11, and the rotations then save a factor of 11, not of 10⁵."""
    game = zoo.ring_game(11)
    found = game.orbits(game.symmetry())
    assert game.n_states == 123_904 == 11**2 * 2**10
    assert found.states / found.quotient_states == 11 == found.pairs / found.quotient_pairs
    big = zoo.ring_game(10, d=3)
    found = big.orbits(big.symmetry())
    assert found.free and big.n_states // found.quotient_states == 1000 and big.n_pairs == big.n_states * 64
