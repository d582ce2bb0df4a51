"""UCFH: its constants, confidence sets, FixedHorizonEVI, phases, and the literal algorithm in bulk."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import ks_2samp

from burnside.errors import InvalidParameter
from burnside.experiments.mistakes.run import RunArchive
from burnside.learning import UCFH, learn
from burnside.learning.plain import Limits, Meter
from burnside.learning.run import eps_absolute
from burnside.learning.ucfh import (
    confidence_interval,
    fixed_horizon_evi,
    new_model,
    optimistic_value,
    ucfh_constants,
    ucfh_literal,
)
from burnside.learning.world import World
from burnside.mdp import TabularMDP, quotient, solve, zoo
from burnside.theory.bounds import Size, ucfh


def test_the_pouring_solves_the_linear_programme() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(1, 7))
        p = rng.dirichlet(np.ones(n))
        low = p * rng.random(n)
        high = np.minimum(1.0, p + rng.random(n) * rng.choice([0.1, 1.0]))
        value = rng.normal(size=n).round(1)  # with ties
        programme = linprog(-value, A_eq=np.ones((1, n)), b_eq=[1], bounds=list(zip(low, high, strict=True)))
        assert optimistic_value(low, high, value) == pytest.approx(-programme.fun, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_evi_agrees_with_linear_programmes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states, actions, H = 4, 3, 4
    P = rng.dirichlet(np.ones(states), size=states * actions)
    mdp = TabularMDP(P, rng.random((H, states * actions)), np.full(states, 1 / states), H)
    low = P * rng.random(P.shape)
    high = np.minimum(1, P + 0.5 * rng.random(P.shape))
    V, policy = fixed_horizon_evi(mdp, low, high)
    brute = np.zeros((H + 1, states))
    for t in reversed(range(H)):
        q = np.empty(mdp.n_pairs)
        for i in range(mdp.n_pairs):
            box = list(zip(low[i], high[i], strict=True))
            q[i] = mdp.R[t, i] - linprog(-brute[t + 1], A_eq=np.ones((1, states)), b_eq=[1], bounds=box).fun
        brute[t] = q.reshape(states, actions).max(axis=1)
        np.testing.assert_array_equal(
            policy[t], np.arange(states) * actions + q.reshape(states, actions).argmax(axis=1)
        )
    np.testing.assert_allclose(V, brute, atol=1e-8)
    assert (V[0] >= solve(mdp).V[0] - 1e-12).all()


def test_known_and_full_support_agree_where_every_state_may_follow() -> None:
    from burnside.learning.ucfh_kernels import evi, set_row

    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(4), size=12)
    mdp = TabularMDP(P, rng.random(12), np.full(4, 0.25), 5)
    agent = World.direct(mdp).agent_arrays
    values = []
    for support in ("unknown", "known"):
        model = new_model(mdp, support)
        counts = np.random.default_rng(1).multinomial(300, P)
        model.n[:] = 300
        model.n_next[:] = counts.ravel()
        for i in range(12):
            set_row(agent, model, i, 5.0)
        V = np.zeros((6, 4))
        evi(agent, model, V, np.zeros(12))
        values.append(V)
    np.testing.assert_allclose(values[0], values[1], atol=1e-12)


def test_intervals_by_hand() -> None:
    n, p, delta1 = 500, 0.2, 0.01
    L = math.log(6 / delta1)
    bernstein = math.sqrt(2 * p * (1 - p) * L / n) + 7 * L / (3 * (n - 1))
    radius = min(math.sqrt(L / (2 * n)), bernstein)
    k = math.sqrt(2 * L / (n - 1))
    half = math.sqrt(0.25 - (0.4 - k) ** 2)
    low, high = confidence_interval(p, n, delta1)
    assert (low, high) == pytest.approx((max(p - radius, 0.5 - half), min(p + radius, 0.5 + half)))
    assert confidence_interval(0.0, 1, delta1) == (0.0, 1.0)
    # p̂ = 0: Bernstein alone gives 0.01494, the upper side of the variance condition √(p(1−p)) ≤ √(2L/(n−1)) less
    square = 2 * L / 999
    assert confidence_interval(0.0, 1000, delta1) == pytest.approx((0, 0.5 - math.sqrt(0.25 - square)), abs=1e-12)
    assert confidence_interval(0.0, 1000, delta1)[1] == pytest.approx(0.012975, abs=5e-7)
    with pytest.raises(InvalidParameter, match="p_hat must lie in"):
        confidence_interval(1.2, 10, 0.1)


@pytest.mark.parametrize("n", [2, 3, 7, 30, 200, 1000, 20_000])
@pytest.mark.parametrize("delta1", [0.5, 0.01, 1e-6])
def test_the_interval_is_the_hull_of_the_whole_set(n: int, delta1: float) -> None:
    """Every condition of App. B on a fine grid of p: the interval is the smallest one around what is left."""
    L = math.log(6 / delta1)
    grid = np.linspace(0, 1, 200_001)
    deviation = np.sqrt(grid * (1 - grid))
    for count in sorted({0, 1, n // 50, n // 7, n // 2, n - n // 7, n - 1, n}):
        p_hat = count / n
        sigma = math.sqrt(p_hat * (1 - p_hat))
        radius = min(math.sqrt(L / (2 * n)), sigma * math.sqrt(2 * L / n) + 7 * L / (3 * (n - 1)))
        kept = grid[(np.abs(grid - p_hat) <= radius) & (np.abs(deviation - sigma) <= math.sqrt(2 * L / (n - 1)))]
        low, high = confidence_interval(p_hat, n, delta1)
        assert low <= p_hat <= high
        assert (low, high) == pytest.approx((min(kept.min(), p_hat), max(kept.max(), p_hat)), abs=1.1e-5)


def test_the_confidence_event_on_simulated_data() -> None:
    """The true p lies in its interval in at least a share 1 − δ₁ of samples, for every p and n tried."""
    rng = np.random.default_rng(0)
    delta1, trials = 0.2, 4000
    for p in (0.003, 0.05, 0.2, 0.5, 0.8, 0.97):
        for n in (2, 10, 100, 3000):
            hats = np.bincount(rng.binomial(n, p, size=trials), minlength=n + 1)
            inside = 0
            for x in np.flatnonzero(hats):
                low, high = confidence_interval(x / n, n, delta1)
                assert low <= x / n <= high
                inside += int(hats[x]) * (low <= p <= high)
            assert inside / trials >= 1 - delta1 - 0.02, (p, n)


def test_the_set_of_all_kernels_holds_the_truth_throughout_a_run() -> None:
    """App. B's lemma on one MDP: p stays in the set through all updates, except with probability δ."""
    from burnside.learning.ucfh_kernels import set_row

    mdp = zoo.slip_ring(5)
    agent = World.direct(mdp).agent_arrays
    constants = ucfh_constants(mdp, UCFH(), eps_absolute(mdp), 0.1)
    failures = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = new_model(mdp, "unknown")
        for n in (5, 50, 500, 5000):
            for i in range(mdp.n_pairs):
                a, b = agent.indptr[i], agent.indptr[i + 1]
                model.n[i] += n
                model.n_next[a:b] += rng.multinomial(n, mdp.P.data[a:b])
                set_row(agent, model, i, constants.log_term)
            truth = mdp.P.toarray()
            failures += bool(((truth < model.low - 1e-12) | (truth > model.low + model.width + 1e-12)).any())
    assert failures <= 80 * 0.1


def test_constants_are_the_published_ones() -> None:
    mdp = zoo.slip_ring(10)
    for support, succ in (("unknown", 100), ("known", 2)):
        c = ucfh_constants(mdp, UCFH(support), 0.5, 0.1)  # type: ignore[arg-type]
        b = ucfh(Size(100, 400, succ), 10, 0.5, 0.1)
        assert c.first == pytest.approx(b.m * b.w_min)
        assert c.frozen == pytest.approx(100 * b.m * 10)
        assert c.log_term == pytest.approx(math.log(6 / b.delta1))
    tripled = ucfh_constants(mdp.replace(R=3 * mdp.R), UCFH(), 1.5, 0.1)
    assert tripled.first == pytest.approx(ucfh_constants(mdp, UCFH(), 0.5, 0.1).first)
    with pytest.raises(InvalidParameter, match="every policy is optimal"):
        ucfh_constants(mdp.replace(R=0 * mdp.R), UCFH(), 0.5, 0.1)


def test_pairs_move_into_the_model_as_the_update_rule_says() -> None:
    """First after m·w_min visits, then at doublings, never after S·m·H; one pair per phase."""
    from burnside.learning.ucfh_kernels import steps_run

    mdp = zoo.hypercube(2)
    world = World.direct(mdp)
    model = new_model(mdp, "unknown")
    meter = Meter(world.best, 0.1, 1e9, np.zeros(1), np.array([0, 0, 0, -2, 0]))
    first, frozen = 7.0, 60.0
    seen = model.n.copy()
    for u in np.random.default_rng(0).random((3000, 1, mdp.H + 1, 3)):
        limits = Limits(first, frozen, 3.0, 0.0, 0)
        steps_run(world.arrays, world.agent_arrays, model, limits, meter, u, np.empty(1))
        moved = np.flatnonzero(model.n != seen)
        assert moved.size <= 1
        for i in moved:
            assert seen[i] < frozen
            assert model.n[i] - seen[i] >= max(first, seen[i])
            assert model.n[i] - seen[i] <= max(first, seen[i]) + mdp.H * 12  # others may have been due before it
        assert model.n_next.sum() == model.n.sum()
        seen = model.n.copy()
    assert (seen[seen > 0] >= first).all() and seen.max() >= frozen


def test_known_support_leaves_nothing_to_learn_on_a_slip_ring() -> None:
    assert ucfh_literal(zoo.slip_ring(5), support="known", max_episodes=10**7).mistakes() == 0


def test_bulk_and_step_by_step_agree_in_distribution() -> None:
    mdp = zoo.hypercube(2)
    seeds, budget = range(60), {"max_episodes": 100_000, "min_episodes": 1}
    steps = [learn(mdp, UCFH(scale_m=2e-4), seed=s, **budget).mistakes() for s in seeds]
    bulk = [learn(mdp, UCFH(scale_m=2e-4, bulk=True, grain=1e-4), seed=s, **budget).mistakes() for s in seeds]
    assert min(steps) > 0
    assert ks_2samp(steps, bulk).pvalue > 1e-3


def test_bulk_counts_are_consistent() -> None:
    from burnside.learning.ucfh_kernels import Crowd, bulk_episodes, occupancy

    mdp = zoo.slip_ring(5)
    world = World.direct(mdp)
    w, agent = world.arrays, world.agent_arrays
    model = new_model(mdp, "unknown")
    model.policy[:] = solve(mdp).policy
    now, after = np.zeros(mdp.n_states, dtype=np.int64), np.zeros(mdp.n_states, dtype=np.int64)
    parts = np.zeros(model.n_next.size, dtype=np.int64)
    B = 10**9
    bulk_episodes(np.random.default_rng(0), w, agent, model, B, Crowd(now, after, parts))
    assert model.v.sum() == model.v_next.sum() == B * mdp.H and now.sum() == B
    assert (np.add.reduceat(model.v_next, agent.indptr[:-1]) == model.v).all()
    exact = np.zeros(mdp.n_pairs)
    occupancy(agent, w.data, w.p0, model.policy, exact)
    np.testing.assert_allclose(model.v / B, exact, atol=5 * mdp.H / math.sqrt(B))
    first = agent.indptr[:-1]
    expected = model.v * w.data[first]
    error = np.abs(model.v_next[first] - expected)
    assert (error <= 5 * np.sqrt(model.v * w.data[first] * (1 - w.data[first])) + 1e-6).all()


def test_literal_ucfh_obeys_its_law() -> None:
    """Mistakes M : M̄ ≈ joint × (m·w_min on M / m·w_min on M̄), with 10⁸ to 10⁹ mistakes."""
    ring = zoo.slip_ring(5)
    q = quotient(ring, ring.symmetry("Z"))
    on_m, on_quotient = ucfh_literal(ring, seed=1), ucfh_literal(q.mdp, seed=1)
    ratio = on_m.mistakes() / on_quotient.mistakes()
    first = [ucfh_constants(m, UCFH(), on_m.eps, 0.1).first for m in (ring, q.mdp)]
    law = q.reduction.pair_factor * first[0] / first[1]
    assert law == pytest.approx(11.25, abs=0.01)
    assert ratio == pytest.approx(law, rel=0.03)
    assert on_m.mistakes() == pytest.approx(6.1e8, rel=0.02)
    assert ucfh_constants(ring, UCFH(), on_m.eps, 0.1).bound.episodes == pytest.approx(9.6e14, rel=0.01)
    assert not on_m.capped and on_m.guarantee == "(ε, δ)-PAC"
    again = ucfh_literal(ring, seed=1)
    assert again.mistakes() == on_m.mistakes() and again.episodes == on_m.episodes


def two_arms(half: float) -> TabularMDP:
    """A state with two arms that win with probability ½ ± ``half``; winning pays 1 in the second step."""

    def step(state: int, arm: int) -> list[tuple[float, int, float]]:
        if state:
            return [(1.0, state, float(state == 1))]
        win = 0.5 + (half if arm == 0 else -half)
        return [(win, 1, 0.0), (1.0 - win, 2, 0.0)]

    return TabularMDP.from_step(range(3), lambda s: (0, 1) if s == 0 else (0,), step, H=2, p0={0: 1.0})


def test_a_frozen_learner_says_so_and_may_be_wrong_for_ever() -> None:
    """UCFH is (ε, δ)-PAC and not Uniform-PAC: frozen, it plays the worse of two close arms in more than δ of the runs.

    Arms that differ by more than ε it tells apart before it freezes.
    """
    forever = {"absolute": True, "min_episodes": 10**14, "max_episodes": 10**14}
    for half, least, most in ((1e-7, 10, 30), (0.06, 0, 0)):
        runs = [learn(two_arms(half), UCFH(bulk=True, grain=0.05), 0.05, 0.1, seed=s, **forever) for s in range(40)]
        assert all(run.settled and run.guarantee == "(ε, δ)-PAC" for run in runs)
        wrong = [run for run in runs if run.gaps[-1] > half]
        assert least <= len(wrong) <= most, len(wrong)
        for run in wrong:  # not a mistake at ε, and one in every further episode at anything below 2·half
            assert run.mistakes() == 0 and run.mistakes(half) >= run.lengths[-1] > 0


def test_unknown_support_of_a_large_model_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="too many"):
        learn(zoo.ring(8), "ucfh", max_episodes=1)


def test_luck_before_the_first_update_is_no_plateau() -> None:
    """On the river the first action, left, happens to be optimal; UCFH still has to explore once it starts to learn."""
    assert ucfh_literal(zoo.river(3)).mistakes() > 10**7


def test_runs_kept_by_an_older_revision_are_not_used_again(tmp_path: Path) -> None:
    """A kept run is found by its settings; UCFH's settings name the revision, those of other learners do not change."""
    assert RunArchive(tmp_path, {"learner": "ucfh-literal"}).settings["revision"] == UCFH.revision
    assert "revision" not in RunArchive(tmp_path, {"learner": "ubev"}).settings
