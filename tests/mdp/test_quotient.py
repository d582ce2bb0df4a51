"""``quotient``, ``minimise`` and ``Homomorphism``: nothing is lost, the counts are exact, and damage is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mdp.helpers import (
    DECLARED,
    ZOO,
    Planted,
    classes,
    coarser,
    dense,
    induction,
    one_sentence,
    plant,
    random_policy,
    same_partition,
)
from tests.mdp.test_verify import planted

from burnside.errors import InvalidParameter, NotVerified
from burnside.mdp import (
    Homomorphism,
    Quotient,
    Symmetry,
    TabularMDP,
    discover,
    evaluate,
    minimise,
    policy_return,
    quotient,
    solve,
    verify,
    zoo,
)

TINY = 1e-9


def check_quotient(mdp: TabularMDP, q: Quotient, seed: int = 0) -> None:
    """V*, the homomorphism in both directions, and returns of lifted policies."""
    best, small = solve(mdp), solve(q.mdp)
    assert np.abs(best.V - small.V[:, q.sigma]).max() <= TINY
    assert small.value == pytest.approx(best.value, abs=TINY)
    found = q.hom.check(mdp, q.mdp)
    assert found.ok and found.forward and found.backward and found.initial and found.why == ""
    assert max(found.eps_r, found.eps_p) <= TINY
    for mode in ("uniform", "deterministic"):
        lifted = q.lift(small.policy, mode)
        assert policy_return(mdp, lifted) == pytest.approx(best.value, abs=TINY)
        assert np.abs(evaluate(mdp, lifted) - best.V).max() <= TINY
    policy = random_policy(q.mdp, np.random.default_rng(seed))
    lifted = q.lift(policy)
    assert policy_return(mdp, lifted) == pytest.approx(policy_return(q.mdp, policy), abs=TINY)
    assert np.abs(evaluate(mdp, lifted) - evaluate(q.mdp, policy)[:, q.sigma]).max() <= TINY
    r = q.reduction
    assert (r.states, r.pairs, r.successors) == (mdp.n_states, mdp.n_pairs, mdp.successors)
    sizes = q.to_dict()
    assert sizes.pop("terminal_states") == q.mdp.n_terminal and (mdp.n_terminal > 0) == (q.mdp.n_terminal > 0)
    assert (r.quotient_states, r.quotient_pairs, r.quotient_successors) == tuple(sizes.values())
    assert r.quotient_successors <= min(mdp.successors, r.quotient_states)


# ---------------------------------------------------------------------- the zoo


@pytest.mark.parametrize(("model", "name"), DECLARED, ids=lambda x: x)
def test_zoo_under_declared_symmetries(model: str, name: str) -> None:
    mdp = ZOO[model]()
    symmetry = mdp.symmetry(name)
    q = quotient(mdp, symmetry)
    check_quotient(mdp, q)
    assert not q.trusted and q.verdict is not None and q.verdict.ok
    assert symmetry.burnside_counts() == (q.mdp.n_states, q.mdp.n_pairs)
    assert symmetry.order == sum(1 for _ in symmetry.elements())
    assert q.sigma.tolist() == classes(symmetry.on_states, mdp.n_states)
    assert q.hom.alpha.tolist() == classes(symmetry.on_pairs, mdp.n_pairs)
    # |(S×A)/G| ≥ max(|S/G|·|A/G|, |S×A|/|G|), where every state admits every action and G acts on A
    assert symmetry.order is not None and q.mdp.n_pairs >= mdp.n_pairs / symmetry.order
    actions = symmetry.action_permutations(mdp)
    if actions is not None and mdp.n_pairs == mdp.n_states * mdp.n_actions:
        assert q.mdp.n_pairs >= q.mdp.n_states * len(set(classes(actions, mdp.n_actions)))


@pytest.mark.parametrize("model", ZOO)
def test_zoo_under_discovered_symmetry_and_minimise(model: str) -> None:
    mdp = ZOO[model]()
    found = discover(mdp)
    assert verify(mdp, found).ok
    q, least = quotient(mdp, found), minimise(mdp)
    check_quotient(mdp, q)
    check_quotient(mdp, least)
    assert coarser(least.sigma, q.sigma) and coarser(least.hom.alpha, q.hom.alpha)
    for name in mdp.symmetries:
        declared = mdp.symmetry(name)
        assert coarser(found.state_orbits, declared.state_orbits)
        assert coarser(found.pair_orbits, declared.pair_orbits)
        assert found.order % declared.order == 0


@pytest.mark.parametrize("model", ["ring 5", "slip-ring 8", "grid 5", "fig2 doubled", "river-product 3", "deep-sea 6"])
def test_backward_induction_by_hand(model: str) -> None:
    """``solve`` itself against plain loops, so that 'V* agrees' is not an agreement in error."""
    mdp = ZOO[model]()
    solution = solve(mdp, keep_q=True)
    assert np.abs(solution.V - induction(mdp)).max() <= 1e-12
    assert np.abs(evaluate(mdp, solution.policy) - solution.V).max() <= 1e-12
    assert solution.Q is not None
    assert np.abs(np.maximum.reduceat(solution.Q, mdp.pair_ptr[:-1], axis=1) - solution.V[:-1]).max() == 0


def test_minimise_twice_changes_nothing() -> None:
    for model in ZOO:
        once = minimise(ZOO[model]()).mdp
        twice = minimise(once).mdp
        assert (twice.n_states, twice.n_pairs) == (once.n_states, once.n_pairs), model


# ---------------------------------------------------------------------- planted symmetries


@settings(deadline=None, max_examples=50)
@given(planted(), st.integers(0, 99))
def test_planted(found: Planted, seed: int) -> None:
    mdp, sym = found.mdp, found.symmetry
    q = quotient(mdp, sym)
    check_quotient(mdp, q, seed)
    states, pairs = found.orbits
    assert q.sigma.tolist() == states and q.hom.alpha.tolist() == pairs
    fixed_s = sum(int((g == np.arange(g.size)).sum()) for g, _ in found.elements)
    fixed_p = sum(int((g == np.arange(g.size)).sum()) for _, g in found.elements)
    order = len(found.elements)
    assert sym.burnside_counts() == (fixed_s // order, fixed_p // order) == (q.mdp.n_states, q.mdp.n_pairs)
    assert q.mdp.n_pairs * order >= mdp.n_pairs
    # the quotient by hand: any member of a class gives the same reward and the same aggregated row
    P, R = dense(mdp)
    P_bar, R_bar = dense(q.mdp)
    indicator = np.eye(q.mdp.n_states)[q.sigma]
    assert np.abs(R - R_bar[:, q.hom.alpha]).max() < 1e-12
    assert np.abs(P @ indicator - P_bar[q.hom.alpha]).max() < 1e-12
    assert q.mdp.successors == int(((P @ indicator) > 0).sum(axis=1).max())


@settings(deadline=None, max_examples=50)
@given(planted())
def test_planted_symmetry_is_discovered(found: Planted) -> None:
    mdp = found.mdp
    states, pairs = found.orbits
    aut = discover(mdp)
    assert coarser(aut.state_orbits, states) and coarser(aut.pair_orbits, pairs)
    assert aut.order % found.symmetry.order == 0
    check_quotient(mdp, quotient(mdp, aut))
    least = minimise(mdp)
    check_quotient(mdp, least)
    assert coarser(least.sigma, aut.state_orbits) and coarser(least.hom.alpha, aut.pair_orbits)


@pytest.mark.parametrize("seed", range(8))
def test_generic_planted_symmetry_is_all_there_is(seed: int) -> None:
    """With generic numbers nothing is symmetric but what was planted: discovery returns exactly these orbits."""
    found = plant(seed, "D4", ("points", "fixed", "subsets"), ("points", "two fixed", "points"), density=0.9)
    aut = discover(found.mdp)
    states, pairs = found.orbits
    assert same_partition(aut.state_orbits, states) and same_partition(aut.pair_orbits, pairs)
    assert aut.order == 8


# ---------------------------------------------------------------------- refusal and trust


def test_unverified_is_refused_and_trust_is_stamped() -> None:
    ring = zoo.ring(5)
    sym = ring.symmetry("D")
    broken = ring.replace(R=ring.R + 0.5 * (np.arange(ring.n_pairs) == 12))
    text = one_sentence(NotVerified, lambda: quotient(broken, sym), "D5", "trust=True", "generator")
    assert str(verify(broken, sym).counterexample) in text
    q = quotient(broken, sym, trust=True)
    assert q.trusted and (q.mdp.n_states, q.mdp.n_pairs) == (42, 160)
    cls = q.hom.alpha == q.hom.alpha[12]
    assert q.mdp.R[q.hom.alpha[12]] == pytest.approx(broken.R[cls].mean())
    assert not quotient(ring, sym).trusted


def test_a_verdict_on_other_objects_is_not_believed() -> None:
    ring = zoo.ring(5)
    sym = ring.symmetry("D")
    broken = ring.replace(R=ring.R + 0.5 * (np.arange(ring.n_pairs) == 12))
    verdict = verify(ring, sym)
    assert quotient(ring, sym, verdict=verdict).verdict is verdict
    one_sentence(NotVerified, lambda: quotient(broken, sym, verdict=verdict))
    one_sentence(NotVerified, lambda: quotient(broken, sym, verdict=verify(broken, sym)))


def test_trust_does_not_excuse_pairs_of_the_wrong_state() -> None:
    grid = zoo.grid(3)
    pairs = np.array(grid.symmetry().on_pairs)
    pairs[0, [0, 10]] = pairs[0, [10, 0]]
    wrong = Symmetry(grid.symmetry().on_states, pairs, name="wrong")
    one_sentence(NotVerified, lambda: quotient(grid, wrong, trust=True), "wrong", "state")


# ---------------------------------------------------------------------- Homomorphism.check


@pytest.fixture
def pair() -> tuple[TabularMDP, Quotient]:
    """The stochastic ring and its quotient by rotations."""
    ring = zoo.slip_ring(6)
    return ring, quotient(ring, ring.symmetry("Z"))


def test_check_notices_a_wrong_reward(pair: tuple[TabularMDP, Quotient]) -> None:
    ring, q = pair
    R = np.array(q.mdp.R)
    R[3] += 1e-3
    found = q.hom.check(ring, q.mdp.replace(R=R))
    assert (found.ok, found.forward, found.backward, found.initial) == (False, False, True, True)
    assert found.eps_r == pytest.approx(1e-3) and found.eps_p == 0 and "reward" in found.why


def test_check_notices_a_wrong_kernel(pair: tuple[TabularMDP, Quotient]) -> None:
    ring, q = pair
    P, _ = dense(q.mdp)
    P[5] = np.roll(P[5], 1)
    found = q.hom.check(ring, q.mdp.replace(P=P))
    assert (found.ok, found.forward, found.backward, found.initial) == (False, False, True, True)
    assert found.eps_r == 0 and found.eps_p == pytest.approx(0.5 * np.abs(P[5] - np.roll(P[5], -1)).sum())


def test_check_notices_a_wrong_start(pair: tuple[TabularMDP, Quotient]) -> None:
    ring, q = pair
    found = q.hom.check(ring, q.mdp.replace(p0=np.eye(6)[2]))
    assert (found.ok, found.forward, found.backward, found.initial) == (False, True, True, False)
    assert "p̄₀" in found.why


def test_check_notices_a_wrong_sigma(pair: tuple[TabularMDP, Quotient]) -> None:
    ring, q = pair
    sigma = q.sigma.copy()
    sigma[7] = (sigma[7] + 1) % 6
    found = Homomorphism(sigma, q.hom.alpha).check(ring, q.mdp)
    assert not found.ok and not found.forward and found.why


def test_check_notices_an_alpha_that_is_not_onto(pair: tuple[TabularMDP, Quotient]) -> None:
    """Two actions of one state sent to one abstract action: rows may still fit, but α_s misses an action."""
    ring, q = pair
    alpha = q.hom.alpha.copy()
    first = ring.pairs_of(0)[0]
    assert ring.R[first] == ring.R[first + 1]  # state 0 is (goal 0, agent 0): all actions do the same
    alpha[first + 1] = alpha[first]
    found = Homomorphism(q.sigma, alpha).check(ring, q.mdp)
    assert (found.forward, found.backward, found.ok) == (True, False, False)
    assert found.eps_r == found.eps_p == 0 and "do not reach" in found.why


def test_check_notices_an_alpha_into_another_state(pair: tuple[TabularMDP, Quotient]) -> None:
    """The action that should be hit is missed as well, so neither direction holds."""
    ring, q = pair
    alpha = q.hom.alpha.copy()
    alpha[10] = (alpha[10] + 8) % q.mdp.n_pairs
    found = Homomorphism(q.sigma, alpha).check(ring, q.mdp)
    assert not found.ok and not found.forward and not found.backward and "σ(s)" in found.why


def test_check_notices_a_sigma_that_is_not_onto(pair: tuple[TabularMDP, Quotient]) -> None:
    """An abstract state that nothing is mapped to: all rows fit, the other direction fails."""
    ring, q = pair
    P, _ = dense(q.mdp)
    n, m = q.mdp.n_states, q.mdp.n_pairs
    bigger = np.zeros((m + 1, n + 1))
    bigger[:m, :n], bigger[m, n] = P, 1.0
    larger = TabularMDP(
        bigger, [*q.mdp.R, 0.0], [*q.mdp.p0, 0.0], q.mdp.H, pair_state=[*q.mdp.pair_state, n],
        pair_action=[*q.mdp.pair_action, 0],
    )  # fmt: skip
    found = q.hom.check(ring, larger)
    assert (found.forward, found.backward, found.initial) == (True, False, True) and "no state" in found.why


def test_check_refuses_what_does_not_fit(pair: tuple[TabularMDP, Quotient]) -> None:
    ring, q = pair
    one_sentence(InvalidParameter, lambda: Homomorphism(q.sigma[1:], q.hom.alpha).check(ring, q.mdp), "states")
    one_sentence(InvalidParameter, lambda: Homomorphism(q.sigma + 1, q.hom.alpha).check(ring, q.mdp), "outside")
    one_sentence(InvalidParameter, lambda: q.hom.check(ring, q.mdp.replace(H=3)), "horizon")
    one_sentence(InvalidParameter, lambda: Homomorphism([0.5], [1]), "whole numbers")
    one_sentence(InvalidParameter, lambda: Homomorphism(q.sigma, q.hom.alpha).lift(solve(q.mdp).policy), "source")
    one_sentence(InvalidParameter, lambda: q.lift(solve(ring).policy), "shape")
    one_sentence(InvalidParameter, lambda: q.lift(solve(q.mdp).policy, "best"), "mode")
    policy = random_policy(q.mdp, np.random.default_rng(0))
    one_sentence(InvalidParameter, lambda: q.lift(policy, "deterministic"), "uniform")


def test_composition_of_homomorphisms() -> None:
    ring = zoo.ring(5)
    q = quotient(ring, ring.symmetry("Z"))
    second = minimise(q.mdp)
    both = q.hom.then(second.hom)
    assert both.check(ring, second.mdp).ok and (second.mdp.n_states, second.mdp.n_pairs) == (8, 18)
    assert policy_return(ring, both.lift(solve(second.mdp).policy)) == pytest.approx(solve(ring).value)


def test_learner_on_the_quotient_sees_the_quotient() -> None:
    """σ, α pushed step by step along a random episode of M give transitions that M̄ can make, with its rewards."""
    ring = zoo.slip_ring(6)
    q = quotient(ring, ring.symmetry("D"))
    P_bar, _ = dense(q.mdp)
    rng = np.random.default_rng(3)
    s = 9
    for _ in range(300):
        i = int(rng.choice(np.array(ring.pairs_of(s))))
        row = ring.P[i]
        successor = int(rng.choice(row.indices, p=row.data))
        s_bar, i_bar, r, c_bar = q.hom.push(s, i, float(ring.R[i]), successor)
        assert q.mdp.pair_state[i_bar] == s_bar and q.mdp.R[i_bar] == r and P_bar[i_bar, c_bar] > 0
        s = successor if ring.R[i] == 0 else int(rng.integers(ring.n_states))


def test_evaluate_refuses_bad_policies() -> None:
    ring = zoo.slip_ring(5)
    good = solve(ring).policy
    for bad, word in (
        (good[1:], "shape"),
        (np.roll(good, 1, axis=1), "another state"),
        (np.where(good == good.max(), ring.n_pairs + 5, good), "pair"),
        (np.full((ring.H, ring.n_pairs), 0.2), "sum to 1"),
        (np.full((ring.H, ring.n_pairs), np.nan), "sum to 1"),
    ):
        one_sentence(InvalidParameter, lambda bad=bad: evaluate(ring, bad), word)
