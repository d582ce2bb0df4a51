"""App. A: V* and Q* are invariant, the sets of optimal actions are equivariant, single policies need not be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mdp.helpers import DECLARED, ZOO, Planted, dense, one_sentence
from tests.mdp.test_verify import planted

from burnside.errors import InvalidParameter
from burnside.mdp import TabularMDP, check_invariance, discover, quotient, solve, zoo
from burnside.mdp.planning import solve_discounted


def value_iteration(mdp: TabularMDP, gamma: float) -> np.ndarray:
    """V* of the discounted problem by dense value iteration."""
    P, R = dense(mdp)
    V = np.zeros(mdp.n_states)
    for _ in range(int(np.log(1e-13) / np.log(max(gamma, 0.1))) + 50):
        V = np.maximum.reduceat(R[0] + gamma * (P @ V), mdp.pair_ptr[:-1])
    return V


@pytest.mark.parametrize("gamma", [None, 0.0, 0.9])
@pytest.mark.parametrize(("model", "name"), DECLARED, ids=lambda x: x)
def test_zoo(model: str, name: str, gamma: float | None) -> None:
    mdp = ZOO[model]()
    found = check_invariance(mdp, mdp.symmetry(name), gamma=gamma)
    assert found.ok and found and found.argmax_equivariant
    assert max(found.value_gap, found.q_gap) <= 1e-9
    assert found.deterministic_equivariant == (found.obstruction is None)


@settings(deadline=None, max_examples=40)
@given(planted(), st.sampled_from([None, 0.5, 0.95]))
def test_planted(found: Planted, gamma: float | None) -> None:
    mdp = found.mdp
    if mdp.time_dependent:
        gamma = None
    result = check_invariance(mdp, found.symmetry, gamma=gamma)
    assert result.ok
    V = solve(mdp).V[:-1] if gamma is None else solve_discounted(mdp, gamma)[0][None]
    for gs, _ in found.elements:  # by hand, for every element
        assert np.abs(V[:, gs] - V).max() < 1e-9


@pytest.mark.parametrize("model", ["slip-ring 5", "grid 3", "fig2", "river 5", "bandit 8"])
@pytest.mark.parametrize("gamma", [0.3, 0.9])
def test_discounted_values_by_value_iteration(model: str, gamma: float) -> None:
    mdp = ZOO[model]()
    V, Q = solve_discounted(mdp, gamma)
    P, R = dense(mdp)
    assert np.abs(V - value_iteration(mdp, gamma)).max() < 1e-9
    assert np.abs(Q - (R[0] + gamma * (P @ V))).max() < 1e-9


def test_broken_symmetry_shows() -> None:
    grid = zoo.grid(5)
    sym = grid.symmetry()
    tilted = grid.replace(R=grid.R + 0.1 * (grid.pair_state == 3))
    for gamma in (None, 0.9):
        found = check_invariance(tilted, sym, gamma=gamma)
        assert not found.ok and found.value_gap > 0.05 and found.q_gap > 0.05
    V = solve(tilted).V[:-1]
    expected = max(float(np.abs(V[:, g] - V).max()) for g in sym.on_states)
    assert check_invariance(tilted, sym).value_gap == pytest.approx(expected)


def test_reward_broken_at_one_time_shows_only_in_finite_horizon() -> None:
    river = zoo.river(3, horizon=5)
    R = np.tile(river.R, (5, 1))
    R[2, 1] += 1.0
    assert not check_invariance(river.replace(R=R), river.symmetry()).ok
    one_sentence(InvalidParameter, lambda: check_invariance(river.replace(R=R), river.symmetry(), gamma=0.9), "time")


@pytest.mark.parametrize("gamma", [-0.1, 1.0, float("nan")])
def test_bad_discount(gamma: float) -> None:
    one_sentence(InvalidParameter, lambda: solve_discounted(zoo.fig2(), gamma), "discount")


# ---------------------------------------------------------------------- no equivariant policy


def test_no_deterministic_equivariant_policy_on_the_river() -> None:
    """The mirror fixes the start and swaps its two optimal actions: π(0) = −π(0) is impossible."""
    river = zoo.river(3, horizon=4)
    sym = river.symmetry()
    solution = solve(river, keep_q=True)
    assert solution.Q is not None
    best = solution.V[:-1][:, river.pair_state] - 1e-9 <= solution.Q
    g_states, g_pairs = sym.on_states[0], sym.on_pairs[0]
    assert (best[:, g_pairs] == best).all()  # the argmax sets are equivariant
    for t in range(river.H):
        choices = [[i for i in river.pairs_of(s) if best[t, i]] for s in range(river.n_states)]
        equivariant = [
            policy
            for policy in itertools.product(*choices)
            if all(g_pairs[policy[s]] == policy[g_states[s]] for s in range(river.n_states))
        ]
        assert equivariant == []
    middle = 3
    assert g_states[middle] == middle and [bool(b) for b in best[0, list(river.pairs_of(middle))]] == [True, True]
    found = check_invariance(river, sym)
    assert (found.ok, found.deterministic_equivariant, found.obstruction) == (True, False, "0")


@pytest.mark.parametrize(("model", "name"), DECLARED, ids=lambda x: x)
def test_uniform_lift_is_equivariant(model: str, name: str) -> None:
    mdp = ZOO[model]()
    sym = mdp.symmetry(name)
    q = quotient(mdp, sym)
    policy = solve(q.mdp).policy
    uniform = q.lift(policy)
    for gp in sym.on_pairs:
        assert np.abs(uniform[:, gp] - uniform).max() < 1e-12
    found = check_invariance(mdp, sym)
    if not found.deterministic_equivariant:  # then no deterministic lift can be equivariant either
        chosen = np.zeros((mdp.H, mdp.n_pairs), dtype=bool)
        np.put_along_axis(chosen, q.lift(policy, "deterministic"), True, axis=1)
        assert any((chosen[:, gp] != chosen).any() for gp in sym.on_pairs)


@pytest.mark.parametrize("seed", range(12))
def test_deterministic_equivariance_against_brute_force(seed: int) -> None:
    """The verdict of the library on 'some deterministic optimal policy is equivariant' against trying all of them."""
    from tests.mdp.helpers import plant

    rng = np.random.default_rng(seed)
    found = plant(seed, ["Z2", "Z3", "V4", "S3"][seed % 4], ("points", "fixed"), ("points", "points"), horizon=2)
    R = np.round(np.array(found.mdp.R) * 2) / 2  # many ties
    if seed % 3 == 0:
        R[:] = rng.integers(2)
    mdp = found.mdp.replace(R=R)
    solution = solve(mdp, keep_q=True)
    assert solution.Q is not None
    best = solution.V[:-1][:, mdp.pair_state] - 1e-9 <= solution.Q
    possible = True
    for t in range(mdp.H):
        choices = [[i for i in mdp.pairs_of(s) if best[t, i]] for s in range(mdp.n_states)]
        possible &= any(
            all(gp[p[s]] == p[gs[s]] for gs, gp in found.elements for s in range(mdp.n_states))
            for p in itertools.product(*choices)
        )
    assert check_invariance(mdp, found.symmetry).deterministic_equivariant == possible


def test_discovered_symmetries_are_invariant_too() -> None:
    for model in ("ring 5", "torus 3", "hypercube 4", "river 5"):
        mdp = ZOO[model]()
        assert check_invariance(mdp, discover(mdp)).ok
