"""``verify``: planted symmetries pass, every single change is caught, and the counter-example it gives is true."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mdp.helpers import GROUPS, SETS, Planted, dense, one_sentence, plant, violation

from burnside.errors import InvalidParameter
from burnside.mdp import ImplicitMDP, Symmetry, TabularMDP, Verdict, verify, zoo
from burnside.mdp.verify import Counterexample

SLACK = 1e-12


@st.composite
def planted(draw: st.DrawFn) -> Planted:
    """Random MDPs with a planted group: free and other orbits, fixed and terminal states, timed rewards."""
    blocks = draw(st.integers(1, 3))
    small = [k for k in SETS if k != "regular"]
    some = [k for k in small if k != "none"]
    places = sorted(set(SETS) - {"none"})
    return plant(
        draw(st.integers(0, 10**6)),
        draw(st.sampled_from(sorted(GROUPS))),
        ("points", *draw(st.tuples(*[st.sampled_from(places)] * (blocks - 1)))),
        draw(st.tuples(st.sampled_from(some), *[st.sampled_from(small)] * (blocks - 1))),
        draw(st.integers(1, 4)),
        draw(st.booleans()),
        draw(st.sampled_from([0.0, 0.2, 0.9])),
    )


def moved_pairs(found: Planted) -> list[int]:
    """Pairs that some element of the group moves."""
    return [i for i in range(found.mdp.n_pairs) if any(gp[i] != i for _, gp in found.elements)]


def eps(mdp: TabularMDP, symmetry: Symmetry) -> tuple[float, float]:
    """Largest violations over the generators, by dense arrays."""
    both = [violation(mdp, g, h) for g, h in zip(symmetry.on_states, symmetry.on_pairs, strict=True)]
    return max(float(r.max()) for r, _ in both), max(float(p.max()) for _, p in both)


def check_counterexample(mdp: TabularMDP, symmetry: Symmetry, verdict: Verdict) -> Counterexample:
    """Recompute from P and R that the named pair and its image differ, in the stated kind and by the stated amount."""
    example = verdict.counterexample
    assert example is not None and not verdict.ok and not verdict
    g_states, g_pairs = symmetry.on_states[example.generator], symmetry.on_pairs[example.generator]
    i = int(mdp.pair_index([example.state], [example.action])[0])
    image = int(mdp.pair_index([example.image_state], [example.image_action])[0])
    assert i >= 0 and image == g_pairs[i]
    rewards, kernel = violation(mdp, g_states, g_pairs)
    P, R = dense(mdp)
    assert mdp.pair_name(i) in example.text and mdp.pair_name(image) in example.text
    assert str(example) == example.text and "\n" not in example.text
    if example.kind == "action":
        assert example.image_state != g_states[example.state]
        return example
    assert example.image_state == g_states[example.state]
    assert example.amount == pytest.approx((rewards if example.kind == "reward" else kernel)[i], abs=SLACK)
    assert example.amount > verdict.tolerance
    if example.kind == "reward":
        t = int(np.abs(R[:, i] - R[:, image]).argmax())
        assert f"{R[t, i]:.10g}" in example.text and f"{R[t, image]:.10g}" in example.text
        assert (f"at time {t + 1}" in example.text) == mdp.time_dependent
    else:
        assert example.kind == "transition"
        stated = re.search(
            r"first reaches s(\d+) with probability (\S+) and the second reaches its image "
            r"s(\d+) with probability (\S+)$",
            example.text,
        )
        assert stated is not None, example.text
        c, gc = int(stated[1]), int(stated[3])
        assert gc == g_states[c]
        assert float(stated[2]) == pytest.approx(P[i, c], abs=1e-9)
        assert float(stated[4]) == pytest.approx(P[image, gc], abs=1e-9)
        assert abs(P[i, c] - P[image, gc]) > 0
    return example


@settings(deadline=None, max_examples=60)
@given(planted())
def test_planted_symmetry_holds(found: Planted) -> None:
    verdict = verify(found.mdp, found.symmetry)
    assert verdict.ok and verdict and verdict.exhaustive and verdict.counterexample is None
    assert verdict.checked == found.mdp.n_pairs * found.symmetry.n_generators
    assert (verdict.confidence, verdict.failure_rate) == (1.0, 0.0)
    assert max(verdict.eps_r, verdict.eps_p) < SLACK
    for gs, gp in found.elements:  # generators were checked; the whole group must hold
        rewards, kernel = violation(found.mdp, gs, gp)
        assert max(rewards.max(), kernel.max()) < SLACK
    assert found.symmetry.order == len({(gs.tobytes(), gp.tobytes()) for gs, gp in found.elements})


@settings(deadline=None, max_examples=80)
@given(planted(), st.floats(-6, 0), st.booleans(), st.data())
def test_one_changed_reward_is_caught(found: Planted, exponent: float, up: bool, data: st.DataObject) -> None:
    moved = moved_pairs(found)
    if not moved:
        return
    i = data.draw(st.sampled_from(moved))
    change = 10**exponent * (1 if up else -1)
    R = np.array(found.mdp.R)
    if found.mdp.time_dependent:
        R[data.draw(st.integers(0, found.mdp.H - 1)), i] += change
    else:
        R[i] += change
    broken = found.mdp.replace(R=R)
    verdict = verify(broken, found.symmetry)
    example = check_counterexample(broken, found.symmetry, verdict)
    assert example.kind == "reward"
    assert verdict.eps_r == pytest.approx(abs(change), rel=1e-6, abs=SLACK)
    assert verdict.eps_r == pytest.approx(eps(broken, found.symmetry)[0], abs=SLACK)
    assert verdict.eps_p < SLACK
    pair = int(broken.pair_index([example.state], [example.action])[0])
    assert i in (pair, int(found.symmetry.on_pairs[example.generator][pair]))


@settings(deadline=None, max_examples=80)
@given(planted(), st.floats(-6, 0), st.data())
def test_one_changed_probability_is_caught(found: Planted, exponent: float, data: st.DataObject) -> None:
    moved = moved_pairs(found)
    if not moved or found.mdp.n_states < 2:
        return
    i = data.draw(st.sampled_from(moved))
    P, _ = dense(found.mdp)
    P = P.copy()
    source = int(P[i].argmax())
    target = data.draw(st.sampled_from([c for c in range(found.mdp.n_states) if c != source]))
    mass = min(10**exponent, P[i, source])
    P[i, source] -= mass
    P[i, target] += mass
    broken = found.mdp.replace(P=P)
    verdict = verify(broken, found.symmetry)
    example = check_counterexample(broken, found.symmetry, verdict)
    assert example.kind == "transition"
    expected = eps(broken, found.symmetry)
    assert verdict.eps_p == pytest.approx(expected[1], abs=SLACK)
    assert verdict.eps_p >= mass * (1 - 1e-6) and verdict.eps_r < SLACK


@settings(deadline=None, max_examples=40)
@given(planted(), st.integers(0, 10**6))
def test_eps_are_the_dense_ones(found: Planted, seed: int) -> None:
    """Unrelated random permutations of pairs within states: nothing holds, and the sizes are those of dense arrays."""
    mdp, rng = found.mdp, np.random.default_rng(seed)
    P, _ = dense(mdp)
    noisy = P + rng.random(P.shape) * (rng.random(P.shape) < 0.3)
    broken = mdp.replace(
        P=noisy / noisy.sum(axis=1, keepdims=True), R=np.array(mdp.R) + rng.normal(size=np.shape(mdp.R))
    )
    verdict = verify(broken, found.symmetry)
    eps_r, eps_p = eps(broken, found.symmetry)
    assert (verdict.eps_r, verdict.eps_p) == (pytest.approx(eps_r, abs=SLACK), pytest.approx(eps_p, abs=SLACK))
    assert verdict.ok == (max(eps_r, eps_p) <= 1e-9)
    if not verdict.ok:
        check_counterexample(broken, found.symmetry, verdict)
    loose = verify(broken, found.symmetry, tol=1.01 * max(eps_r, eps_p, 1e-9))
    assert loose.ok and (loose.eps_r, loose.eps_p) == (verdict.eps_r, verdict.eps_p)


@settings(deadline=None, max_examples=40)
@given(planted(), st.data())
def test_image_in_the_wrong_state_is_caught(found: Planted, data: st.DataObject) -> None:
    mdp = found.mdp
    if mdp.n_states < 2:
        return
    i = data.draw(st.integers(0, mdp.n_pairs - 1))
    j = data.draw(st.sampled_from([k for k in range(mdp.n_pairs) if mdp.pair_state[k] != mdp.pair_state[i]]))
    pairs = np.array(found.symmetry.on_pairs)
    row = data.draw(st.integers(0, len(pairs) - 1))
    pairs[row, [i, j]] = pairs[row, [j, i]]
    wrong = Symmetry(found.symmetry.on_states, pairs)
    verdict = verify(mdp, wrong)
    example = check_counterexample(mdp, wrong, verdict)
    assert example.kind == "action" and example.generator == row and verdict.eps_p == 1.0


def test_wrong_relabelling_within_a_state_is_caught() -> None:
    """Reflecting the ring without turning the moves round is a permutation of pairs, but no symmetry."""
    ring = zoo.slip_ring(7)
    mirror = Symmetry.from_actions(ring, ring.symmetry("D").on_states[1:])
    verdict = verify(ring, mirror)
    example = check_counterexample(
        ring.replace(state_names=None), mirror, verify(ring.replace(state_names=None), mirror)
    )
    assert example.kind == "transition" and verdict.eps_p == pytest.approx(0.8) and verdict.eps_r == 0


@pytest.mark.parametrize("t", range(6))
def test_reward_broken_at_one_time_only(t: int) -> None:
    grid = zoo.grid(5, horizon=6)
    R = np.tile(grid.R, (6, 1))
    timed = grid.replace(R=R * np.arange(1, 7)[:, None])
    assert verify(timed, grid.symmetry()).ok
    R = np.array(timed.R)
    R[t, 17] += 1e-6
    verdict = verify(timed.replace(R=R), grid.symmetry())
    assert not verdict.ok and verdict.counterexample is not None and verdict.counterexample.kind == "reward"
    assert f"at time {t + 1}" in verdict.counterexample.text
    assert verdict.eps_r == pytest.approx(1e-6, rel=1e-6)


def test_only_the_last_generator_fails() -> None:
    ring = zoo.ring(5)
    Z, D = ring.symmetry("Z"), ring.symmetry("D")
    R = np.array(ring.R)
    for _, gp in Z.elements():  # break the reflection, keep the rotation
        R[gp[8]] += 0.25
    broken = ring.replace(R=R)
    assert verify(broken, Z).ok
    verdict = verify(broken, D)
    assert verdict.counterexample is not None and verdict.counterexample.generator == 1
    assert (verdict.eps_r, verdict.eps_p) == (0.25, 0.0)
    check_counterexample(broken, D, verdict)


@pytest.mark.parametrize("where", [0, 1, 49_999, 51_200, 99_999, 102_399])
def test_large_models_are_checked_in_parts(where: int) -> None:
    """Beyond 100 000 pairs several threads share the work; no part and no boundary may be missed."""
    ring = zoo.slip_ring(160)
    assert ring.n_pairs == 102_400
    sym = ring.symmetry("D")
    assert verify(ring, sym).ok
    R = np.array(ring.R)
    R[where] += 1e-6
    verdict = verify(ring.replace(R=R), sym)
    assert not verdict.ok and verdict.eps_r == pytest.approx(1e-6, rel=1e-6)
    P = ring.P.copy()
    row = slice(P.indptr[where], P.indptr[where + 1])
    if P.data[row].size == 2:
        P.data[row] += [1e-6, -1e-6]
        verdict = verify(ring.replace(P=P), sym)
        assert not verdict.ok and verdict.eps_p == pytest.approx(1e-6, rel=1e-6) and verdict.eps_r == 0
    pairs = np.array(sym.on_pairs)
    other = (where + 4) % ring.n_pairs
    pairs[1, [where, other]] = pairs[1, [other, where]]
    verdict = verify(ring, Symmetry(sym.on_states, pairs))
    assert verdict.counterexample is not None and verdict.counterexample.kind == "action"


@pytest.mark.parametrize(("i", "j"), [(51_199, 102_399), (51_200, 0), (25_599, 76_799), (25_600, 76_800)])
def test_ends_of_the_parts_are_checked(i: int, j: int) -> None:
    """Only two images are wrong, and both lie where one thread's part ends (or begins), for 2 threads and for 4."""
    ring = zoo.slip_ring(160)
    sym = ring.symmetry("Z")
    pairs = np.array(sym.on_pairs)
    pairs[0, [i, j]] = pairs[0, [j, i]]
    verdict = verify(ring, Symmetry(sym.on_states, pairs))
    example = verdict.counterexample
    assert example is not None and example.kind == "action"
    assert int(ring.pair_index([example.state], [example.action])[0]) in (i, j)


def test_long_rows_are_compared_exactly() -> None:
    """Rows with more than 16 successors take another search; both must agree with dense arrays."""
    for seed in range(4):
        found = plant(seed, "Z4", ("points", "regular", "points", "points", "subsets"), ("points",), density=0.95)
        P, _ = dense(found.mdp)
        assert (P > 0).sum(axis=1).max() > 16
        assert verify(found.mdp, found.symmetry).ok
        P = P.copy()
        P[0, P[0].argmax()] -= 1e-6
        P[0, P[0].argmin()] += 1e-6
        broken = found.mdp.replace(P=P)
        verdict = verify(broken, found.symmetry)
        assert not verdict.ok and verdict.eps_p == pytest.approx(eps(broken, found.symmetry)[1], abs=SLACK)


def test_exact_models_pass_without_tolerance() -> None:
    for make in (zoo.ring, zoo.slip_ring, zoo.fig2, zoo.grid, zoo.torus, zoo.hypercube, zoo.river_product, zoo.bandit):
        mdp = make()
        for name in mdp.symmetries:
            verdict = verify(mdp, mdp.symmetry(name), tol=0)
            assert verdict.ok and verdict.eps_r == verdict.eps_p == 0, (mdp.name, name)


def test_verdict_to_dict_and_subject() -> None:
    ring = zoo.ring(5)
    sym = ring.symmetry("Z")
    verdict = verify(ring, sym)
    assert verdict.about(ring, sym) and not verdict.about(ring, ring.symmetry("Z"))
    as_dict = verdict.to_dict()
    assert as_dict["ok"] is True and as_dict["exhaustive"] is True and as_dict["checked"] == 1600
    assert as_dict["counterexample"] is None
    broken = verify(ring.replace(R=ring.R + 1.0 * (np.arange(1600) == 3)), sym).to_dict()
    assert broken["counterexample"]["kind"] == "reward" and broken["counterexample"]["amount"] == 1.0


def test_mixed_up_arguments() -> None:
    ring = zoo.ring(5)
    implicit = ImplicitMDP(lambda s, a: [(1.0, s, 0.0)], lambda s: (0,), lambda rng: 0)
    one_sentence(InvalidParameter, lambda: verify(implicit, ring.symmetry()), "ImplicitMDP")  # type: ignore[arg-type]
    one_sentence(InvalidParameter, lambda: verify(ring, ring.symmetry(), tol=-1.0), "tol")
    one_sentence(InvalidParameter, lambda: verify(ring, ring.symmetry(), tol=float("nan")), "tol")
