"""Ways to make a model: dense arrays, step functions, Gymnasium's toy texts, graphs."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mdp.helpers import classes, induction, one_sentence, plant

from burnside.errors import InvalidModel
from burnside.mdp import GraphMDP, TabularMDP, VertexSymmetry, discover, minimise, quotient, solve, verify
from burnside.mdp.reach import reachable

# ---------------------------------------------------------------------- dense arrays and step functions


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_from_dense(timed: bool, masked: bool) -> None:
    rng = np.random.default_rng(1)
    P = rng.random((5, 3, 5)) * (rng.random((5, 3, 5)) < 0.6) + np.eye(5)[:, None, :]
    P /= P.sum(axis=2, keepdims=True)
    R = rng.normal(size=(4, 5, 3) if timed else (5, 3))
    mask = rng.random((5, 3)) < 0.6 if masked else np.ones((5, 3), dtype=bool)
    mask[:, 1] = True
    if masked:
        P[~mask] = np.nan  # what is not admissible need not be filled in
        R[..., ~mask] = np.nan
    mdp = TabularMDP.from_dense(P, R, np.eye(5)[0], 4, mask=mask if masked else None)
    assert mdp.n_pairs == mask.sum() and mdp.time_dependent == timed
    V = np.zeros(5)
    for t in reversed(range(4)):
        q = np.where(mask, (R[t] if timed else R) + np.nan_to_num(P) @ V, -np.inf)
        V = q.max(axis=1)
    assert np.abs(solve(mdp).V[0] - V).max() < 1e-12
    for i in range(mdp.n_pairs):
        s, a = int(mdp.pair_state[i]), int(mdp.pair_action[i])
        assert mask[s, a] and np.array_equal(mdp.P[i].toarray()[0], P[s, a])
        assert np.array_equal(mdp.R[..., i], R[..., s, a])
    assert mdp.pair_index(np.repeat(np.arange(5), 3), np.tile(np.arange(3), 5)).tolist() == [
        int(mask[:s].sum() + mask[s, :a].sum()) if mask[s, a] else -1 for s in range(5) for a in range(3)
    ]


def test_pairs_may_come_in_any_order() -> None:
    found = plant(3, "Z3", ("points", "fixed"), ("points", "two fixed"), timed=True)
    mdp = found.mdp
    order = np.random.default_rng(0).permutation(mdp.n_pairs)
    again = TabularMDP(
        mdp.P[order],
        mdp.R[:, order],
        mdp.p0,
        mdp.H,
        pair_state=mdp.pair_state[order],
        pair_action=mdp.pair_action[order],
    )
    assert (again.P != mdp.P).nnz == 0 and (again.R == mdp.R).all()
    assert (again.pair_state == mdp.pair_state).all() and (again.pair_action == mdp.pair_action).all()
    assert verify(again, found.symmetry).ok


def test_from_step_names_and_numbers() -> None:
    def step(s: int, a: str) -> list[tuple[float, int, float]]:
        return [(0.25, s, 1.0), (0.5, (s + 1) % 3, 2.0), (0.25, s, 3.0)]

    def actions(s: int) -> tuple[str, ...]:
        return ("stay",) if s == 0 else ("go", "stay")

    for names in (None, ["go", "stay"]):
        mdp = TabularMDP.from_step([0], actions, step, 2, **({} if names is None else {"action_names": names}))
        shown = [(mdp.state_name(int(s)), mdp.action_name(int(a))) for s, a in zip(mdp.pair_state, mdp.pair_action)]  # noqa: B905
        assert sorted(shown) == [("0", "stay"), ("1", "go"), ("1", "stay"), ("2", "go"), ("2", "stay")]
    assert mdp.R.tolist() == [2.0] * 5 and mdp.successors == 2 and mdp.p0.tolist() == [1, 0, 0]
    assert mdp.P[0].toarray().tolist() == [[0.5, 0.5, 0]]
    one_sentence(
        InvalidModel,
        lambda: TabularMDP.from_step([0], actions, step, 2, action_names=["go"]),
        "action_names",
    )


def test_uniform_start_counts_every_state_once() -> None:
    mdp = TabularMDP.from_step([4, 5, 4], lambda s: (0,), lambda s, a: [(1.0, s, 0.0)], 1)
    assert mdp.p0.tolist() == [0.5, 0.5]


# ---------------------------------------------------------------------- Gymnasium


def table_induction(table: Any, H: int) -> np.ndarray:
    """V* straight from ``env.P``: what ends the episode is worth its reward and nothing after."""
    V = np.zeros((H + 1, len(table)))
    for t in reversed(range(H)):
        for s in table:
            V[t, s] = max(
                sum(p * (r + (0.0 if done else V[t + 1, c])) for p, c, r, done in table[s][a]) for a in table[s]
            )
    return V


GYM = [
    ("FrozenLake-v1", {"is_slippery": True}, 100, 5, False),
    ("FrozenLake-v1", {"is_slippery": False}, 100, 5, False),
    ("FrozenLake-v1", {"is_slippery": True, "reward_schedule": (2, -1, -0.1)}, 100, 5, False),
    ("FrozenLake-v1", {"desc": ["SHG", "HHF", "FFH"]}, 100, 5, False),  # a hole that only holes surround
    ("FrozenLake8x8-v1", {"is_slippery": True}, 200, 11, False),
    ("FrozenLake8x8-v1", {"is_slippery": False}, 200, 11, False),
    ("CliffWalking-v1", {}, 100, 1, False),
    ("CliffWalking-v1", {"is_slippery": True}, 100, 1, False),
    ("Taxi-v4", {}, 200, 0, True),
    ("Taxi-v4", {"is_rainy": True}, 200, 0, True),
]


@pytest.mark.parametrize(("name", "options", "horizon", "terminal", "end"), GYM, ids=lambda x: str(x))
def test_from_gym(name: str, options: dict[str, Any], horizon: int, terminal: int, end: bool) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name, **options)
    table = env.unwrapped.P
    n = len(table)
    mdp = TabularMDP.from_gym(env)
    assert (mdp.H, mdp.n_states, mdp.n_terminal, mdp.name) == (horizon, n + end, terminal + end, name)
    assert mdp.n_pairs == len(table[0]) * (n - terminal)
    assert np.abs(np.asarray(mdp.P.sum(axis=1)) - 1).max() < 1e-12
    assert np.allclose(mdp.p0[:n], env.unwrapped.initial_state_distrib) and mdp.p0[n:].sum() == 0
    assert not end or (mdp.terminal[n] and mdp.state_name(n) == "end")
    for s in table:
        for a in table[s]:
            i = int(mdp.pair_index([s], [a])[0])
            assert (i < 0) == mdp.terminal[s]
            if i < 0:
                continue
            expected = np.zeros(n + end)
            for p, c, _, done in table[s][a]:
                expected[n if done and end else c] += p
                assert not p or done == bool(mdp.terminal[n if done and end else c])
            assert np.allclose(mdp.P[i].toarray()[0], expected)
            assert mdp.R[i] == pytest.approx(sum(p * r for p, _, r, _ in table[s][a]))
    by_hand = table_induction(table, 25)
    acting = np.flatnonzero(~mdp.terminal[:n])
    assert np.abs(solve(mdp.replace(H=25)).V[:, acting] - by_hand[:, acting]).max() < 1e-9


@pytest.mark.parametrize(("name", "options", "horizon", "terminal", "end"), GYM, ids=lambda x: str(x))
def test_the_literal_table_of_gym(name: str, options: dict[str, Any], horizon: int, terminal: int, end: bool) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name, **options)
    table = env.unwrapped.P
    n = len(table)
    mdp, literal = TabularMDP.from_gym(env, H=25), TabularMDP.from_gym(env, H=25, terminal_actions=True)
    extra = literal.n_states - n  # CliffWalking's goal and Taxi's have ordinary rows of their own
    assert extra == (name[:4] in ("Clif", "Taxi")) and literal.n_terminal == 0
    assert literal.n_pairs == len(table[0]) * n + extra
    assert np.abs(solve(literal).V[:, :n] - table_induction(table, 25)).max() < 1e-9
    assert solve(literal).value == pytest.approx(solve(mdp).value, abs=1e-12)


@pytest.mark.parametrize(("name", "options", "horizon", "terminal", "end"), GYM, ids=lambda x: str(x))
def test_nobody_ever_acts_where_there_are_no_pairs(
    name: str, options: dict[str, Any], horizon: int, terminal: int, end: bool
) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name, **options)
    mdp = TabularMDP.from_gym(env)
    rng = np.random.default_rng(0)
    met, over = set(), set()
    seen, _ = env.reset(seed=0)
    for _ in range(4_000):
        assert not mdp.terminal[seen]
        met.add(int(seen))
        seen, _, terminated, truncated, _ = env.step(int(rng.integers(env.action_space.n)))
        if terminated:
            assert end or mdp.terminal[seen]
            over.add(int(seen))
        if terminated or truncated:
            seen, _ = env.reset()
    assert met <= set(np.flatnonzero(reachable(mdp)).tolist())
    if name == "FrozenLake-v1" and "desc" not in options:  # small enough to have met all
        assert met == set(np.flatnonzero(~mdp.terminal)) and over <= set(np.flatnonzero(mdp.terminal))


def test_a_state_that_ends_the_episode_only_sometimes() -> None:
    class Sometimes:
        initial_state_distrib = (1.0, 0.0, 0.0)
        P = (
            {0: [(0.5, 1, 1.0, True), (0.5, 1, 0.0, False)], 1: [(1.0, 2, 0.0, True)]},
            {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 2, 3.0, True)]},
            {0: [(1.0, 1, 9.0, False)], 1: [(1.0, 2, 9.0, True)]},  # never entered but to end
        )

    mdp = TabularMDP.from_gym(Sometimes(), H=4)
    assert mdp.terminal.tolist() == [False, False, True, True] and mdp.n_pairs == 4
    assert mdp.P.toarray().tolist() == [[0, 0.5, 0, 0.5], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert np.allclose(solve(mdp).V[:, :2], table_induction(dict(enumerate(Sometimes.P)), 4)[:, :2])
    assert mdp.reward_range == 3.0

    class Started(Sometimes):
        initial_state_distrib = (0.5, 0.0, 0.5)  # now an episode may begin there

    started = TabularMDP.from_gym(Started(), H=4)
    assert started.terminal.tolist() == [False, False, False, True] and started.n_pairs == 6
    assert started.P[1].indices.tolist() == [3] and started.R.max() == 9


def test_tables_whose_environment_does_more_are_refused() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("Taxi-v4", fickle_passenger=True)
    one_sentence(InvalidModel, lambda: TabularMDP.from_gym(env), "fickle_passenger=False")

    class Short:
        initial_state_distrib = (1.0, 0.0)
        P = ({0: [(1.0, 0, 0.0, False)]},)

    one_sentence(InvalidModel, lambda: TabularMDP.from_gym(Short(), H=2), "one entry for each of its 1 states")


def test_from_gym_known_values() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    lake = TabularMDP.from_gym(gymnasium.make("FrozenLake-v1", is_slippery=False))
    assert solve(lake).value == 1.0 and solve(lake.replace(H=5)).value == 0.0 and solve(lake.replace(H=6)).value == 1.0
    assert TabularMDP.from_gym("CliffWalking-v1", H=13).H == 13
    assert solve(TabularMDP.from_gym("CliffWalking-v1")).value == -13  # eleven cells along the cliff, one up, one down
    taxi = TabularMDP.from_gym("Taxi-v4")
    assert solve(taxi).value == pytest.approx(7.93, abs=0.01)  # mean over starts of 20 minus the steps before it
    for small in (quotient(taxi, discover(taxi)), minimise(taxi)):
        assert solve(small.mdp).value == pytest.approx(solve(taxi).value, abs=1e-9)


def test_from_gym_agrees_with_what_the_environment_does() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("Taxi-v4")
    mdp = TabularMDP.from_gym(env)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for s in rng.integers(500, size=200):
        env.reset()
        env.unwrapped.s = int(s)
        a = int(rng.integers(6))
        successor, reward, terminated, _, _ = env.step(a)
        i = int(mdp.pair_index([s], [a])[0])
        assert mdp.R[i] == reward and mdp.P[i].indices.tolist() == [500 if terminated else successor]


def test_anything_with_a_table_will_do() -> None:
    class Bare:
        def __init__(self) -> None:
            self.P = {
                0: {0: [(1.0, 1, 5.0, True)], 1: [(0.5, 0, 0.0, False), (0.5, 0, 1.0, False)]},
                1: {0: [(1.0, 1, 0.0, True)]},
            }

    mdp = TabularMDP.from_gym(Bare(), H=3)
    assert (mdp.n_states, mdp.n_pairs, mdp.H, mdp.name) == (2, 2, 3, "Bare")
    assert mdp.p0.tolist() == [1.0, 0.0] and solve(mdp).V[0].tolist() == [6.0, 0.0] and mdp.terminal.tolist() == [0, 1]


def test_a_bandit_without_a_stated_start_is_no_terminal_state() -> None:
    class Bandit:
        P = ({0: [(1.0, 0, 1.0, True)], 1: [(1.0, 0, 2.0, True)]},)

    mdp = TabularMDP.from_gym(Bandit(), H=3)
    assert (mdp.n_states, mdp.n_pairs, solve(mdp).value) == (2, 2, 2.0)


def test_lists_are_tables_too() -> None:
    class Listed:
        P = ({0: [(1.0, 1, 5.0, True)]}, [[(1.0, 1, 0.0, True)], [(1.0, 0.0, 2.0, False)]])

    mdp = TabularMDP.from_gym(Listed(), H=2)
    assert (mdp.n_states, mdp.n_pairs) == (3, 3) and mdp.state_name(2) == "end"
    assert mdp.R.tolist() == [5.0, 0.0, 2.0] and mdp.P.indices.tolist() == [2, 2, 0]


TABLES: dict[str, tuple[Any, str]] = {
    "an array": (np.ones((2, 1, 2)) / 2, "from_dense"),
    "empty": ({}, "must map states"),
    "states from 1": ({1: {0: []}, 2: {0: []}}, "P[0] of this environment must map actions to outcomes"),
    "a row of numbers": ([0.5, 0.5], "P[0]"),
    "an action by name": ([{"left": [(1.0, 0, 0.0, False)]}], "the action 'left'"),
    "no list of outcomes": ([{0: 1.0}], "P[0][0] of this environment must be a list"),
    "three entries": ([{0: [(1.0, 0, 0.0)]}], "(probability, next state, reward, terminated)"),
    "half a state": ([{0: [(1.0, 0.5, 0.0, False)]}], "leads to 0.5: the states are numbered 0…0"),
    "a state that is not there": ([{0: [(1.0, 0, 0.0, False)]}, {3: [(1.0, 2, 0.0, False)]}], "P[1][3]"),
    "a state by name": ([{0: [(1.0, "home", 0.0, False)]}], "leads to 'home'"),
}


@pytest.mark.parametrize("case", TABLES)
def test_tables_that_are_none(case: str) -> None:
    table, words = TABLES[case]
    bare = type("Bare", (), {"P": table})()
    one_sentence(InvalidModel, lambda: TabularMDP.from_gym(bare, H=2), words)


def test_wrappers_that_the_table_does_not_know_are_refused() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    lake = gymnasium.make("FrozenLake-v1")
    wrappers = gymnasium.wrappers

    class Costly(gymnasium.Wrapper):  # type: ignore[misc,name-defined]
        def step(self, action: int) -> Any:
            seen, reward, terminated, truncated, info = self.env.step(action)
            return seen, float(reward) - 0.1, terminated, truncated, info

    wrapped = {
        "Costly": Costly(lake),
        "TransformAction": wrappers.TransformAction(lake, lambda a: 3 - a, lake.action_space),
        "TransformReward": wrappers.RecordEpisodeStatistics(wrappers.TransformReward(lake, lambda r: 2 * r)),
        "TransformObservation": Costly(wrappers.TransformObservation(lake, lambda s: 15 - s, lake.observation_space)),
    }
    for name, env in wrapped.items():
        text = one_sentence(InvalidModel, lambda env=env: TabularMDP.from_gym(env), f"wrapper {name} changes")
        assert "pass env.unwrapped" in text
        assert TabularMDP.from_gym(env.unwrapped, H=9).n_states == 16
    harmless = wrappers.RecordEpisodeStatistics(wrappers.TimeLimit(lake.unwrapped, 7))
    assert TabularMDP.from_gym(harmless).n_states == 16


# ---------------------------------------------------------------------- graphs

GRAPHS = {
    "path 3": (nx.path_graph(3), [[2, 1, 0]]),
    "cycle 4": (nx.cycle_graph(4), [[1, 2, 3, 0], [0, 3, 2, 1]]),
    "cycle 5": (nx.cycle_graph(5), [[1, 2, 3, 4, 0], [0, 4, 3, 2, 1]]),
    "directed 4": (nx.cycle_graph(4, create_using=nx.DiGraph), [[1, 2, 3, 0]]),
    "star 3": (nx.star_graph(3), [[0, 2, 3, 1], [0, 2, 1, 3]]),
    "complete 4": (nx.complete_graph(4), [[1, 2, 3, 0], [1, 0, 2, 3]]),
    "looped": ([[0, 1], [1, 0], [2, 0], [3, 1]], [[1, 0, 3, 2]]),
    "fixed": ([[0, 1], [1, 0, 2], [2, 1]], [[0, 1, 2]]),
}


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(GRAPHS)), st.integers(1, 3), st.data())
def test_graph_counts_and_orbits(name: str, letters: int, data: st.DataObject) -> None:
    """Exact sizes and Burnside's counts against plain enumeration, for groups that fix vertices too."""
    graph, generators = GRAPHS[name]
    alphabet = "abc"[:letters]
    n = len(generators[0])
    counted = data.draw(st.sets(st.sampled_from(alphabet), max_size=letters))
    counts: dict[str, int] = {}
    for label in sorted(counted):
        counts[label] = data.draw(st.integers(0, n - sum(counts.values())))
    game = GraphMDP(graph, alphabet, reward=lambda x, q, v: float(x[q] == x[v]), H=2, counts=counts)
    wanted = [
        (x, q)
        for x in itertools.product(alphabet, repeat=n)
        if all(x.count(label) == count for label, count in counts.items())
        for q in range(n)
    ]
    assert list(game.states()) == wanted and game.n_states == len(wanted)
    assert game.n_pairs == sum(len(game.actions(s)) for s in wanted)
    if not wanted:
        return
    mdp = game.tabular()
    assert (mdp.n_states, mdp.n_pairs) == (game.n_states, game.n_pairs)
    vertices = VertexSymmetry(generators, name="G")
    symmetry = game.lift(mdp, wanted, vertices)
    assert verify(mdp, symmetry).ok
    found = game.orbits(vertices)
    q = quotient(mdp, symmetry)
    assert (found.states, found.pairs) == (mdp.n_states, mdp.n_pairs)
    assert (found.quotient_states, found.quotient_pairs) == (q.mdp.n_states, q.mdp.n_pairs)
    assert found.quotient_pairs == len(set(classes(symmetry.on_pairs, mdp.n_pairs)))
    assert found.quotient_successors == q.mdp.successors == 1


def test_graph_samples_are_states() -> None:
    game = GraphMDP(nx.cycle_graph(4), "ab.", counts={"a": 1, "b": 2}, H=2)
    rng = np.random.default_rng(0)
    drawn = [game.sample(rng) for _ in range(2000)]
    assert set(drawn) == set(game.states())
    assert max(drawn.count(s) for s in game.states()) < 90  # 2000/48 ≈ 42 expected of each


def test_graph_with_few_labellings_among_many() -> None:
    """One goal on 40 cells: 1600 states; trying all 2^40 labellings for them would never end."""
    game = GraphMDP(
        nx.cycle_graph(40), (".", "goal"), counts={"goal": 1}, reward=lambda x, q, v: float(x[v] == "goal"), H=3
    )
    mdp = game.tabular()
    assert mdp.n_states == game.n_states == 1600 and mdp.n_pairs == 3200
    turn = VertexSymmetry([np.roll(np.arange(40), -1)])
    assert quotient(mdp, game.lift(mdp, list(game.states()), turn)).mdp.n_states == 40


def test_graph_starts_and_dynamics() -> None:
    """Only what is reachable is listed; a model can be tabulated twice; the walk itself is right."""
    clean = (("x", "x", "x"), 0)

    def paint(x: tuple[str, ...], q: int, v: int) -> list[tuple[float, Any]]:
        return [(0.5, (x, q)), (0.5, (tuple("o" if i == v else c for i, c in enumerate(x)), v))]

    game = GraphMDP(
        nx.path_graph(3), "xo", paint, lambda x, q, v: float(x[v] == "x"), 4, starts=iter([clean]), successors=2
    )
    one, two = game.tabular(), game.tabular()
    seen, queue = {clean}, [clean]
    while queue:
        x, q = queue.pop()
        for v in game.actions((x, q)):
            for _, successor in paint(x, q, v):
                if successor not in seen:
                    seen.add(successor)
                    queue.append(successor)
    assert one.n_states == two.n_states == len(seen) < game.n_states
    assert np.abs(solve(one).V - induction(one)).max() < 1e-12
    assert verify(game.implicit(), VertexSymmetry([[2, 1, 0]]).implicit(), samples=300).ok
