"""Terminal states: a state without pairs behaves as an absorbing one that pays nothing, and is never counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from tests.mdp.helpers import Planted, coarser, induction, one_sentence, random_policy
from tests.mdp.test_discover import coarse
from tests.mdp.test_verify import planted

from burnside import audit
from burnside.errors import InvalidParameter
from burnside.mdp import (
    Homomorphism,
    Symmetry,
    TabularMDP,
    check_invariance,
    discover,
    evaluate,
    minimise,
    policy_return,
    quotient,
    solve,
    verify,
)
from burnside.mdp.planning import solve_discounted
from burnside.mdp.reach import reachable


def with_loops(mdp: TabularMDP) -> tuple[TabularMDP, np.ndarray]:
    """The same MDP with one action in every terminal state, which stays there for nothing; and the old pairs in it."""
    stay = np.flatnonzero(mdp.terminal)
    P = np.vstack([mdp.P.toarray(), np.eye(mdp.n_states)[stay]])
    R = np.concatenate([np.atleast_2d(mdp.R), np.zeros((mdp.H if mdp.time_dependent else 1, stay.size))], axis=1)
    states = np.concatenate([mdp.pair_state, stay])
    actions = np.concatenate([mdp.pair_action, np.zeros(stay.size, dtype=int)])
    full = TabularMDP(P, R if mdp.time_dependent else R[0], mdp.p0, mdp.H, pair_state=states, pair_action=actions)
    return full, full.pair_index(mdp.pair_state, mdp.pair_action)


def values(mdp: TabularMDP) -> None:
    """Values, returns, reach and rewards are those of the model with loops."""
    full, old = with_loops(mdp)
    found, expected = solve(mdp, keep_q=True), solve(full, keep_q=True)
    assert np.allclose(found.V, induction(mdp)) and np.allclose(found.V, expected.V)
    assert np.allclose(found.Q, expected.Q[:, old])
    assert ((found.policy == -1) == mdp.terminal).all()
    assert np.allclose(evaluate(mdp, found.policy), found.V)
    policy = random_policy(mdp, np.random.default_rng(0))
    spread = np.ones((mdp.H, full.n_pairs))
    spread[:, old] = policy
    assert np.allclose(evaluate(mdp, policy), evaluate(full, spread))
    assert (reachable(mdp) == reachable(full)).all()
    if not mdp.time_dependent:
        v, q = solve_discounted(mdp, 0.8)
        w, r = solve_discounted(full, 0.8)
        assert np.allclose(v, w) and np.allclose(q, r[old])
    assert mdp.reward_range == pytest.approx(full.reward_range)


def quotients(mdp: TabularMDP) -> None:
    """Quotients are exact and keep terminal states terminal; the loops only add pairs of their own."""
    found = discover(mdp)
    assert check_invariance(mdp, found).ok
    for q in (quotient(mdp, found), minimise(mdp)):
        assert q.hom.check(mdp, q.mdp).ok and (q.mdp.terminal[q.sigma] == mdp.terminal).all()
        assert np.allclose(solve(q.mdp).V[:, q.sigma], solve(mdp).V)
        for mode in ("uniform", "deterministic"):
            lifted = q.lift(solve(q.mdp).policy, mode)
            assert policy_return(mdp, lifted) == pytest.approx(solve(mdp).value, abs=1e-9)
        assert q.mdp.n_terminal <= mdp.n_terminal
    full, old = with_loops(mdp)
    assert coarser(discover(full).pair_orbits[old], found.pair_orbits)  # an absorbing state may be like a terminal one
    assert minimise(mdp).mdp.n_terminal == min(1, mdp.n_terminal)


@settings(deadline=None, max_examples=80)
@given(coarse())
def test_random_models(mdp: TabularMDP) -> None:
    values(mdp)
    quotients(mdp)


@settings(deadline=None, max_examples=40)
@given(planted())
def test_models_with_a_planted_symmetry(found: Planted) -> None:
    values(found.mdp)
    quotients(found.mdp)


DOOR = TabularMDP([[0.5, 0.5, 0], [0, 0, 1], [0, 0, 1]], [1, 0, -2], [1, 0, 0], 3, pair_state=[0, 0, 1], name="door")


def test_sizes_names_and_range() -> None:
    assert DOOR.terminal.tolist() == [False, False, True] and DOOR.n_terminal == 1
    assert repr(DOOR) == "TabularMDP('door', states=3 (1 terminal), pairs=3, successors=2, H=3)"
    assert list(DOOR.pairs_of(2)) == [] and DOOR.pair_index([2], [0]).tolist() == [-1]
    paid = DOOR.replace(R=[1, 2, 3])
    assert paid.reward_range == 3  # 0 is paid after the end
    assert DOOR.replace(R=np.array([[1, 1, 1], [2, 2, 2], [-1, -1, -1.0]])).reward_range == 3
    masked = TabularMDP.from_dense(np.ones((2, 2, 2)) / 2, np.ones((2, 2)), [1, 0], 3, mask=[[1, 1], [0, 0]])
    assert masked.terminal.tolist() == [False, True]
    walk = TabularMDP.from_step([0], lambda s: () if s == 2 else (1,), lambda s, a: [(1.0, s + a, 1.0)], 9)
    assert walk.n_terminal == 1 and solve(walk).value == 2


@pytest.mark.parametrize("suffix", ["json", "npz"])
def test_files_keep_them(suffix: str, tmp_path: Path) -> None:
    again = TabularMDP.from_file(DOOR.save(tmp_path / f"door.{suffix}"))
    assert again.terminal.tolist() == DOOR.terminal.tolist() and (again.P != DOOR.P).nnz == 0


def test_a_terminal_state_is_no_image_of_another() -> None:
    swap = Symmetry([[0, 2, 1]], [[0, 1, 2]])
    assert verify(DOOR, swap).counterexample.kind == "action"
    hom = Homomorphism([0, 1, 1], [0, 1, 2])
    small = TabularMDP([[0.5, 0.5], [0, 1], [0, 1]], [1, 0, -2], [1, 0], 3, pair_state=[0, 0, 1])
    assert "do not reach every action" in hom.check(DOOR, small).why
    other = TabularMDP([[0.5, 0.5], [0, 1]], [1, 0], [1, 0], 3, pair_state=[0, 0])
    assert not Homomorphism([0, 1, 1], [0, 1, 1]).check(DOOR, other).forward


def test_policies_need_no_choice_there() -> None:
    best = solve(DOOR).policy
    assert best[0].tolist() == [0, 2, -1]
    assert np.allclose(evaluate(DOOR, np.array([[0, 2, 0]] * 3)), solve(DOOR).V)  # whatever it holds there
    one_sentence(InvalidParameter, lambda: evaluate(DOOR, np.array([[0, -1, -1]] * 3)), "another state")


def test_very_many_states_that_nothing_leads_to() -> None:
    """A few bytes of a file can ask for them."""
    n = 300_000
    P = sp.csr_matrix(([1.0, 1.0], ([0, 1], [1, 0])), shape=(2, n))
    mdp = TabularMDP(P, [1.0, 1.0], np.eye(1, n)[0], 2, pair_state=[0, 1])
    found = discover(mdp)
    assert found.order is None and found.n_state_orbits == 2 and found.n_pair_orbits == 1
    assert found.order_on(mdp, np.ones(2, dtype=bool)) == 2
    assert quotient(mdp, found).mdp.n_states == minimise(mdp).mdp.n_states == 2
    assert audit(mdp, found).to_dict()["group"] == {
        "name": "Aut(M)", "order": None, "log10_order": None, "acting_order": 2, "log10_acting_order": np.log10(2)
    }  # fmt: skip


def test_terminal_states_that_nothing_tells_apart() -> None:
    """Exchanging them is an automorphism, but moves no pair: it does not count among the permutations of pairs."""
    P = np.array([[0.25, 0.25, 0.25, 0.25, 0, 0]])
    mdp = TabularMDP(P, [1.0], [1, 0, 0, 0, 0, 0], 2, pair_state=[0])
    found = discover(mdp)
    assert found.order == 6 * 2 == sum(1 for _ in found.elements())  # three that are reached, two that are not
    assert found.order_on(mdp, np.ones(1, dtype=bool)) == 1
    assert quotient(mdp, found).mdp.n_states == 3 and minimise(mdp).mdp.n_states == 2
