"""Approximate symmetry: the bound holds, exactness costs nothing, averages are symmetric; and checks by sampling."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mdp.helpers import DECLARED, ZOO, Planted, dense, one_sentence, violation
from tests.mdp.test_verify import planted

from burnside.errors import BurnsideError
from burnside.mdp import (
    ImplicitMDP,
    ImplicitSymmetry,
    TabularMDP,
    approximate,
    average,
    evaluate,
    quotient,
    solve,
    verify,
    zoo,
)
from burnside.mdp.approximate import regret_bound


def perturbed(mdp: TabularMDP, rng: np.random.Generator, reward: float, kernel: float) -> TabularMDP:
    """Rewards changed by up to ``reward``, rows mixed with random ones by up to ``kernel``."""
    P, _ = dense(mdp)
    if kernel:
        weight = kernel * rng.random((mdp.n_pairs, 1))
        P = (1 - weight) * P + weight * rng.dirichlet(np.full(mdp.n_states, 0.3), size=mdp.n_pairs)
        P /= P.sum(axis=1, keepdims=True)
    R = np.array(mdp.R)
    return mdp.replace(P=P, R=R + reward * rng.uniform(-1, 1, size=R.shape))


SMALL = [(model, name) for model, name in DECLARED if model not in ("ring 6", "torus 4")]


@pytest.mark.parametrize(("reward", "kernel"), [(0.05, 0.0), (0.0, 0.05), (0.3, 0.3), (0.0, 1.0), (1e-7, 1e-7)])
@pytest.mark.parametrize(("model", "name"), SMALL, ids=lambda x: str(x))
def test_regret_stays_within_the_bound(model: str, name: str, reward: float, kernel: float) -> None:
    mdp = ZOO[model]()
    sym = mdp.symmetry(name)
    noisy = perturbed(mdp, np.random.default_rng(len(model + name)), reward, kernel)
    found = approximate(noisy, sym)
    assert -1e-9 <= found.regret <= found.worst_regret + 1e-12
    assert found.worst_regret <= found.bound + 1e-9
    assert found.quotient.trusted
    # the regret by hand: the optimum of the averaged quotient, lifted, against the optimum
    q = quotient(noisy, sym, trust=True)
    lifted = evaluate(noisy, q.lift(solve(q.mdp).policy))
    loss = solve(noisy).V[0] - lifted[0]
    assert found.regret == pytest.approx(float(noisy.p0 @ loss), abs=1e-12)
    assert found.worst_regret == pytest.approx(float(loss.max()), abs=1e-12)
    # and the ingredients of the bound, from dense arrays
    P, R = dense(noisy)
    P_bar, R_bar = dense(q.mdp)
    pushed = P @ np.eye(q.mdp.n_states)[q.sigma]
    eps_r = float(np.abs(R - R_bar[:, q.hom.alpha]).max())
    eps_p = float(0.5 * np.abs(pushed - P_bar[q.hom.alpha]).sum(axis=1).max())
    assert (found.eps_r, found.eps_p) == (pytest.approx(eps_r, abs=1e-12), pytest.approx(eps_p, abs=1e-12))
    span = float(R.max() - R.min())
    H = noisy.H
    assert found.bound == pytest.approx(2 * H * eps_r + H * (H - 1) * eps_p * span, abs=1e-9)
    if reward or (kernel and sym.order != 1):
        assert not found.verdict.ok or sym.order == 1


@settings(deadline=None, max_examples=40)
@given(planted(), st.integers(0, 999), st.sampled_from([1e-3, 0.1, 1.0]), st.sampled_from([0.0, 0.1, 1.0]))
def test_regret_of_planted_models(found: Planted, seed: int, reward: float, kernel: float) -> None:
    """Timed rewards and negative ones included."""
    mdp = found.mdp.replace(R=np.array(found.mdp.R) - 0.5)
    noisy = perturbed(mdp, np.random.default_rng(seed), reward, kernel)
    result = approximate(noisy, found.symmetry)
    assert -1e-12 <= result.worst_regret <= result.bound + 1e-9


@pytest.mark.parametrize(("model", "name"), DECLARED, ids=lambda x: str(x))
def test_exact_symmetry_costs_nothing(model: str, name: str) -> None:
    mdp = ZOO[model]()
    found = approximate(mdp, mdp.symmetry(name))
    assert found.verdict.ok and found.bound <= 1e-9 and abs(found.regret) <= 1e-9 and abs(found.worst_regret) <= 1e-9


def test_regret_bound_formula() -> None:
    assert regret_bound(10, 0.01, 0.001) == pytest.approx(2 * 10 * 0.01 + 10 * 9 * 0.001)
    assert regret_bound(1, 0.5, 1.0) == 1.0  # one step: transitions do not matter
    assert regret_bound(3, 0.0, 0.1, reward_range=11) == pytest.approx(6 * 0.1 * 11)


def test_the_bound_is_not_vacuous() -> None:
    """A symmetry that does not hold at all: the quotient forgets which action pays, and the regret is real."""
    mdp = TabularMDP([[1.0], [1.0]], [1.0, 0.0], [1.0], 5)
    swap = zoo.fig2().symmetry().__class__([[0]], [[1, 0]], name="swap")
    found = approximate(mdp, swap)
    assert found.regret == pytest.approx(2.5) and found.bound == pytest.approx(5.0) and found.eps_r == 0.5


# ---------------------------------------------------------------------- averages


@settings(deadline=None, max_examples=40)
@given(planted(), st.integers(0, 999))
def test_average_is_invariant(found: Planted, seed: int) -> None:
    noisy = perturbed(found.mdp, np.random.default_rng(seed), 0.5, 0.5)
    mean = average(noisy, found.symmetry)
    P, R = dense(noisy)
    P_mean, R_mean = dense(mean)
    expected_P = np.mean([P[gp][:, gs] for gs, gp in found.elements], axis=0)
    expected_R = np.mean([R[:, gp] for _, gp in found.elements], axis=0)
    assert np.abs(P_mean - expected_P).max() < 1e-12 and np.abs(R_mean - expected_R).max() < 1e-12
    for gs, gp in found.elements:
        rewards, kernel = violation(mean, gs, gp)
        assert max(rewards.max(), kernel.max()) < 1e-12
    assert verify(mean, found.symmetry).ok
    # its quotient is the trusted quotient of the original
    a, b = quotient(mean, found.symmetry), quotient(noisy, found.symmetry, trust=True)
    assert np.abs(dense(a.mdp)[0] - dense(b.mdp)[0]).max() < 1e-12
    assert np.abs(dense(a.mdp)[1] - dense(b.mdp)[1]).max() < 1e-12
    assert np.abs(a.mdp.p0 - b.mdp.p0).max() < 1e-12 and np.array_equal(a.sigma, b.sigma)


@pytest.mark.parametrize(
    ("model", "name"), [("grid 5", "D4"), ("hypercube 4", "S"), ("fig2", "Z2"), ("torus 3", "full")]
)
def test_average_in_the_zoo(model: str, name: str) -> None:
    mdp = ZOO[model]()
    sym = mdp.symmetry(name)
    same = average(mdp, sym)
    assert np.abs(dense(same)[0] - dense(mdp)[0]).max() < 1e-12 and np.abs(same.R - mdp.R).max() < 1e-12
    noisy = perturbed(mdp, np.random.default_rng(0), 0.2, 0.2)
    a, b = quotient(average(noisy, sym), sym).mdp, quotient(noisy, sym, trust=True).mdp
    assert np.abs(dense(a)[0] - dense(b)[0]).max() < 1e-12 and np.abs(a.R - b.R).max() < 1e-12
    assert solve(a).value == pytest.approx(solve(b).value, abs=1e-12)


# ---------------------------------------------------------------------- sampling


def walk(broken: int = 0, n: int = 10**9, where: str = "reward") -> ImplicitMDP:
    """A walk on a huge ring that rotation preserves, except at states that are 0 modulo ``broken``."""

    def step(s: int, a: int) -> list[tuple[float, int, float]]:
        odd = broken and s % broken == 0
        prize = 0.5 if odd and where == "reward" else 0.0
        slip = 0.5 if odd and where == "transition" else 0.2
        return [(1 - slip, (s + a) % n, prize), (slip, s, prize)]

    def actions(s: int) -> tuple[int, ...]:
        return (1,) if broken and s % broken == 0 and where == "action" else (1, -1)

    return ImplicitMDP(step, actions, lambda rng: int(rng.integers(n)), name="walk", H=10)


def turn(n: int = 10**9) -> ImplicitSymmetry:
    return ImplicitSymmetry(lambda g, s: (s + g) % n, lambda g, s, a: a, generators=[1], name="turn", order=n)


@pytest.mark.parametrize(("samples", "confidence"), [(1, 0.5), (50, 0.9), (500, 0.99), (2000, 0.999)])
def test_failure_rate_of_a_clean_sample(samples: int, confidence: float) -> None:
    verdict = verify(walk(), turn(), samples=samples, confidence=confidence)
    assert verdict.ok and not verdict.exhaustive and verdict.checked == samples
    assert verdict.confidence == confidence and verdict.counterexample is None
    rate = verdict.failure_rate
    assert (1 - rate) ** samples == pytest.approx(1 - confidence)  # a rate that high would have shown that surely
    assert 0 < rate < 1


@pytest.mark.parametrize("where", ["reward", "transition", "action"])
@pytest.mark.parametrize("broken", [2, 10, 50])
def test_frequent_violations_are_caught(broken: int, where: str) -> None:
    verdict = verify(walk(broken, where=where), turn(), samples=2000)
    assert not verdict.ok and not verdict.exhaustive and verdict.failure_rate == 1.0
    example = verdict.counterexample
    assert example is not None and example.kind == where and "\n" not in example.text
    s, image = int(example.state), int(example.image_state)
    assert image == (s + 1) % 10**9
    if where == "action":
        assert image % broken == 0 and example.action == "-1"  # −1 is not admissible there
    else:
        assert s % broken == 0 or image % broken == 0
        assert example.amount == pytest.approx(0.5 if where == "reward" else 0.3)
        assert verdict.eps_r == pytest.approx(0.5 if where == "reward" else 0.0)
        assert verdict.eps_p == pytest.approx(0.3 if where == "transition" else 0.0)


def test_rare_violations_may_be_missed_and_the_rate_says_so() -> None:
    """Two pairs in 10⁶ are broken; 100 samples see nothing and claim no more than a rate of 4.5 %."""
    verdict = verify(walk(10**6), turn(), samples=100)
    assert verdict.ok and 2e-6 < verdict.failure_rate < 0.05


def test_the_seed_decides() -> None:
    runs = [verify(walk(40), turn(), samples=60, seed=seed) for seed in (0, 0, 1)]
    assert runs[0].to_dict() == runs[1].to_dict()
    texts = {str(verify(walk(2), turn(), samples=5, seed=seed).counterexample) for seed in range(6)}
    assert len(texts) > 1


def test_sampling_agrees_with_the_table() -> None:
    """The ring game as functions and as a table, under a true symmetry and under a false one."""
    game = zoo.ring_game(5)
    rotation = game.symmetry("Z").implicit()
    assert verify(game.implicit(), rotation, samples=500).ok
    wrong = ImplicitSymmetry(rotation.act, lambda g, s, v: v, rotation.generators)
    found = verify(game.implicit(), wrong, samples=500)
    assert not found.ok and found.counterexample is not None
    assert found.counterexample.kind in ("action", "transition", "reward")
    big = zoo.ring_game(20, d=2)
    assert verify(big.implicit(), big.symmetry("Z").implicit(), samples=50).ok


def test_outcomes_that_coincide_are_added_up() -> None:
    """Two outcomes with one successor are one transition; unhashable states go through ``key``."""
    n = 7

    def step(s: list[int], a: int) -> list[tuple[float, list[int], float]]:
        ahead = [(s[0] + 1) % n]
        return [(0.5, ahead, 1.0), (0.5, ahead, 3.0)] if s[0] % 2 else [(1.0, ahead, 2.0)]

    model = ImplicitMDP(step, lambda s: (0,), lambda rng: [int(rng.integers(n))], key=tuple)
    sym = ImplicitSymmetry(lambda g, s: [(s[0] + 1) % n], lambda g, s, a: a, generators=["turn"])
    assert verify(model, sym, samples=200, tol=0).ok


def silly(outcomes: list[tuple[float, int, float]]) -> ImplicitMDP:
    """A model whose every step has these outcomes."""
    return ImplicitMDP(lambda s, a: outcomes, lambda s: (0,), lambda rng: int(rng.integers(9)))


BAD: dict[str, Any] = {
    "no samples": lambda: verify(walk(), turn(), samples=0),
    "negative samples": lambda: verify(walk(), turn(), samples=-5),
    "confidence 1": lambda: verify(walk(), turn(), confidence=1.0),
    "confidence 0": lambda: verify(walk(), turn(), confidence=0.0),
    "confidence NaN": lambda: verify(walk(), turn(), confidence=float("nan")),
    "no generators": lambda: verify(walk(), ImplicitSymmetry(lambda g, s: s, lambda g, s, a: a, generators=[])),
    "NaN rewards": lambda: verify(silly([(1.0, 0, float("nan"))]), turn()),
    "no total of probability": lambda: verify(silly([(0.5, 0, 0.0)]), turn()),
    "negative probabilities": lambda: verify(silly([(1.5, 0, 0.0), (-0.5, 1, 0.0)]), turn()),
    "no actions": lambda: verify(ImplicitMDP(lambda s, a: [], lambda s: (), lambda rng: 0), turn()),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_sampling(case: str) -> None:
    words = {"samples": "samples", "confidence": "confidence", "generators": "generator", "actions": "action"}
    word = next((w for key, w in words.items() if key in case), "probabilities that sum to 1")
    one_sentence(BurnsideError, BAD[case], word)
