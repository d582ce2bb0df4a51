"""A learner on M through σ and the same learner on M̄, on the same random numbers, make the same mistakes."""

from typing import Any

import numpy as np
import pytest

from burnside.errors import InvalidParameter, NotVerified
from burnside.learning import UBEV, UCBVI, UCFH, learn
from burnside.learning.world import World, first_policy
from burnside.mdp import Quotient, Symmetry, TabularMDP, discover, minimise, policy_return, quotient, solve, zoo


def random_symmetric(seed: int) -> tuple[TabularMDP, Symmetry]:
    """A random MDP on 3 cells × Z₃ that a rotation preserves: four actions, three successors, rewards in time."""
    rng = np.random.default_rng(seed)
    n, cells, actions, H = 3, 4, 3, 5
    base = rng.dirichlet(np.full(n * cells, 0.3), size=(cells, actions))  # from rotation 0, into (rotation, cell)
    reward = rng.random((H, cells, actions))
    P = np.empty((n * cells * actions, n * cells))
    R = np.empty((H, n * cells * actions))
    for g in range(n):
        for c in range(cells):
            for a in range(actions):
                i = (g * cells + c) * actions + a
                P[i] = np.roll(base[c, a].reshape(n, cells), g, axis=0).ravel()
                R[:, i] = reward[:, c, a]
    mdp = TabularMDP(P, R, rng.dirichlet(np.ones(n * cells)), H, name="random")
    turn = (np.arange(n * cells) + cells) % (n * cells)
    return mdp, Symmetry.from_actions(mdp, turn[None], name="Z3", order=3)


def ending(seed: int) -> tuple[TabularMDP, Symmetry]:
    """The same, with an episode that is over in the last cell of every rotation."""
    mdp, _ = random_symmetric(seed)
    kept = np.flatnonzero(mdp.pair_state % 4 < 3)
    states = mdp.pair_state[kept]
    over = TabularMDP(mdp.P[kept], mdp.R[:, kept] - 0.4, mdp.p0, mdp.H, pair_state=states, name="ending")
    turn = (np.arange(mdp.n_states) + 4) % mdp.n_states
    return over, Symmetry.from_actions(over, turn[None], name="Z3", order=3)


def lake() -> TabularMDP:
    """A slippery lake that is its own mirror image across the diagonal, if it were not for the turning of slips."""
    gymnasium = pytest.importorskip("gymnasium")
    made = gymnasium.make("FrozenLake-v1", desc=["SFF", "FHF", "FFG"], is_slippery=False)
    return TabularMDP.from_gym(made, H=8)


def cases() -> list[tuple[str, Quotient]]:
    models = {
        "ring": (zoo.slip_ring(5), "Z"),
        "dihedral": (zoo.slip_ring(5), "D"),
        "grid": (zoo.grid(3), "D4"),
        "torus": (zoo.torus(3), "full"),
        "hypercube": (zoo.hypercube(4), "S"),
        "river": (zoo.river(3), "Z2"),
    }
    found = [(name, quotient(mdp, mdp.symmetry(group))) for name, (mdp, group) in models.items()]
    found += [(f"random{seed}", quotient(*random_symmetric(seed))) for seed in range(2)]
    found += [("lake", quotient(lake(), discover(lake()))), ("lake minimised", minimise(lake()))]
    return found + [(f"ending{seed}", quotient(*ending(seed))) for seed in range(2)]


CASES = cases()
LEARNERS: dict[str, Any] = {
    "ubev": UBEV("heuristic", scale=0.5),
    "provable": UBEV(),
    "ucbvi": UCBVI("bernstein", scale=0.05),
    "ucfh": UCFH(scale_m=1e-6),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize(("name", "q"), CASES, ids=[name for name, _ in CASES])
def test_through_the_homomorphism_is_the_quotient_episode_by_episode(name: str, q: Quotient, learner: Any) -> None:
    budget = {"eps": 0.05, "min_episodes": 600, "max_episodes": 600, "seed": 7}
    for lift in ("first", "uniform"):
        on_m = learn(World.through(q, lift), learner, **budget)
        on_quotient = learn(q.mdp, learner, **budget)
        a, b = on_m.per_episode(), on_quotient.per_episode()
        assert a.size == b.size == 600
        np.testing.assert_allclose(a, b, atol=1e-9)
        for eps in (0.01, 0.05, 0.2):
            assert on_m.mistakes(eps) == on_quotient.mistakes(eps)


def test_the_two_steps_of_a_draw_give_back_the_kernel() -> None:
    mdp, symmetry = random_symmetric(3)
    q = quotient(mdp, symmetry)
    w = World.through(q).arrays
    for i in range(mdp.n_pairs):
        row = np.zeros(mdp.n_states)
        before = 0.0
        for c in range(w.row_ptr[i], w.row_ptr[i + 1]):
            inner = 0.0
            for j in range(w.member_ptr[c], w.member_ptr[c + 1]):
                row[w.member[j]] += (w.row_cdf[c] - before) * (w.member_cdf[j] - inner)
                inner = w.member_cdf[j]
            before = w.row_cdf[c]
        np.testing.assert_allclose(row, mdp.P[i].toarray().ravel(), atol=1e-12)


@pytest.mark.parametrize("lift", ["first", "uniform"])
def test_the_meter_evaluates_the_lifted_policy(lift: Any) -> None:
    from burnside.learning.kernels import policy_value

    q = quotient(zoo.grid(5), zoo.grid(5).symmetry("D4"))
    world = World.through(q, lift)
    rng = np.random.default_rng(0)
    policy = np.array([[rng.choice(q.mdp.pairs_of(s)) for s in range(q.mdp.n_states)] for _ in range(q.mdp.H)])
    value = policy_value(world.arrays, world.agent_arrays, policy, np.zeros((2, world.mdp.n_states)))
    mode = "deterministic" if lift == "first" else "uniform"
    assert value == pytest.approx(policy_return(world.mdp, q.lift(policy, mode)), abs=1e-12)
    assert value == pytest.approx(policy_return(q.mdp, policy), abs=1e-12)


def test_sampled_returns_agree_with_the_kernel() -> None:
    """The episodes that are played visit pairs as often as the occupancy says."""
    from burnside.learning.kernels import episode
    from burnside.learning.ucfh_kernels import occupancy

    mdp = zoo.slip_ring(5)
    world = World.direct(mdp)
    w, agent, policy = world.arrays, world.agent_arrays, solve(mdp).policy
    exact, counts = np.zeros(mdp.n_pairs), np.zeros(mdp.n_pairs)
    occupancy(agent, w.data, w.p0, policy, exact)
    pairs, entries = np.zeros(mdp.H, dtype=np.int64), np.zeros(mdp.H, dtype=np.int64)
    for u in np.random.default_rng(1).random((20_000, mdp.H + 1, 3)):
        episode(w, agent, policy, u, pairs, entries)
        np.add.at(counts, pairs, 1)
    assert exact.sum() == pytest.approx(mdp.H)
    np.testing.assert_allclose(counts / 20_000, exact, atol=0.03)


@pytest.mark.parametrize("make", [lake, lambda: ending(0)[0]])
def test_episodes_end_in_terminal_states(make: Any) -> None:
    """Steps, batches and the exact occupancy agree, and nothing is counted after the end."""
    from burnside.learning.kernels import episode
    from burnside.learning.ucfh import new_model
    from burnside.learning.ucfh_kernels import Crowd, bulk_episodes, occupancy

    mdp = make()
    world = World.direct(mdp)
    w, agent = world.arrays, world.agent_arrays
    policy = first_policy(mdp)
    rng = np.random.default_rng(2)
    for t in range(mdp.H):
        for s in np.flatnonzero(~mdp.terminal):
            policy[t, s] = rng.choice(mdp.pairs_of(s))
    exact, counts, entries_met = np.zeros(mdp.n_pairs), np.zeros(mdp.n_pairs), np.zeros(mdp.P.nnz)
    occupancy(agent, w.data, w.p0, policy, exact)
    steps = 0
    pairs, entries = np.full(mdp.H, -7), np.full(mdp.H, -7)
    for u in rng.random((20_000, mdp.H + 1, 3)):
        length = episode(w, agent, policy, u, pairs, entries)
        assert length == mdp.H or mdp.terminal[mdp.P.indices[entries[length - 1]]] or length == 0
        np.add.at(counts, pairs[:length], 1)
        np.add.at(entries_met, entries[:length], 1)
        steps += length
    assert 0 < steps / 20_000 < mdp.H and exact.sum() == pytest.approx(steps / 20_000, rel=0.02)
    np.testing.assert_allclose(counts / 20_000, exact, atol=0.03)
    # the total of a reward of 1 for one pair is how often it is taken
    for i in (0, mdp.n_pairs - 1):
        single = mdp.replace(R=(np.arange(mdp.n_pairs) == i).astype(float))
        assert policy_return(single, policy) == pytest.approx(exact[i], abs=1e-12)
    model = new_model(mdp, "known")._replace(policy=policy)
    now, after = np.zeros(mdp.n_states, dtype=np.int64), np.zeros(mdp.n_states, dtype=np.int64)
    parts = np.zeros(mdp.P.nnz, dtype=np.int64)
    bulk_episodes(np.random.default_rng(3), w, agent, model, 200_000, Crowd(now, after, parts))
    np.testing.assert_allclose(model.v / 200_000, exact, atol=0.01)
    np.testing.assert_allclose(model.v_next / 200_000, entries_met / 20_000, atol=0.03)


@pytest.mark.parametrize("learner", ["ubev", "ucbvi", "ucfh", "ucfh-literal"])
def test_every_learner_stops_making_mistakes_where_episodes_end(learner: str) -> None:
    options: dict[str, Any] = {"scale": 1e-6 if learner.startswith("ucfh") else 0.01}
    if learner == "ucbvi":
        options["bonus"] = "bernstein"
    run = learn(lake(), learner, seed=1, max_episodes=40_000, **options)
    assert not run.capped and run.gaps[-1] <= run.eps and run.best == 1.0


def test_worlds_refuse_what_is_no_homomorphism() -> None:
    ring = zoo.slip_ring(5)
    q = quotient(ring, ring.symmetry("Z"))
    with pytest.raises(InvalidParameter, match="lift must be"):
        World.through(q, "last")  # type: ignore[arg-type]
    P = ring.P.toarray()
    P[4] = np.roll(P[4], 1)
    broken = ring.replace(P=P)
    averaged = quotient(broken, ring.symmetry("Z"), trust=True)
    with pytest.raises(NotVerified, match="needs one that holds"):
        World.through(averaged)
    with pytest.raises(InvalidParameter, match="own MDP"):
        learn(World.through(q), "ucfh-literal")
