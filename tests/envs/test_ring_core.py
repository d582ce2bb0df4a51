"""The cyclic game: rules against the paper, compiled twins, the zoo's table, and optimal returns by brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnside.envs.ring import kernels
from burnside.envs.ring.core import MOVES, RingSpec, RingState, initial, observe, transition
from burnside.envs.ring.optimal import (
    enumerated_optimal_return,
    expected_optimal_return,
    optimal_return,
    optimal_values,
)
from burnside.errors import InvalidAction, InvalidParameter
from burnside.mdp import solve, zoo


def test_defaults_are_those_of_the_paper() -> None:
    one, three = RingSpec(15), RingSpec(5, d=3)
    assert (one.p_mine, one.end_reward, one.time_limit, one.n_actions) == (0.7, 10.0, 60, 4)
    assert (three.p_mine, three.end_reward, three.time_limit, three.n_actions, three.n_cells) == (0.7, 20, 100, 64, 125)
    assert MOVES == (-2, -1, 1, 2)
    assert RingSpec(5) == RingSpec(5, 1, 0.7, 10.0, 20) and hash(RingSpec(5)) == hash(RingSpec(5, end_reward=10))


@pytest.mark.parametrize(
    "options",
    [{"n": 4}, {"n": 5, "d": 0}, {"n": 5, "p_mine": 1.2}, {"n": 5, "end_reward": 0}, {"n": 5, "time_limit": 0}],
)
def test_bad_specs_are_refused(options: dict) -> None:
    with pytest.raises(InvalidParameter):
        RingSpec(**options)


@pytest.mark.parametrize(("n", "d"), [(5, 1), (20, 1), (6, 2), (5, 3)])
def test_compiled_code_has_the_same_boards_and_moves(n: int, d: int) -> None:
    spec = RingSpec(n, d)
    state = initial(spec, seeds=[7] * 4, episodes=[0, 1, 2, 10**6])
    for row, episode in enumerate([0, 1, 2, 10**6]):
        items = np.empty(spec.n_cells, np.int8)
        goal = kernels.reset_board(items, 7, episode, spec.p_mine)
        assert goal == state.goal[row] and np.array_equal(items, state.items[row])
    rng = np.random.default_rng(0)
    for pos, action in zip(rng.integers(0, n**d, 200), rng.integers(0, 4**d, 200), strict=True):
        at = RingState(spec, state.items[:1], np.array([pos]), state.goal[:1], np.array([0]))
        after, reward, *_ = transition(at, [action])
        assert kernels.move(pos, action, n, d) == after.pos[0]
        assert kernels.item_reward(state.items[0, after.pos[0]], spec.end_reward) == reward[0]


def test_boards_follow_the_stated_law() -> None:
    spec = RingSpec(8)
    state = initial(spec, seeds=3, episodes=np.arange(40_000))
    assert ((state.items > 0).sum(axis=1) == 1).all() and (state.pos == 0).all()
    goals = np.bincount(state.goal, minlength=8) / 40_000
    assert np.abs(goals - 1 / 8).max() < 5 * np.sqrt(1 / 8 * 7 / 8 / 40_000)  # the start included
    mines = (state.items < 0).sum() / (40_000 * 7)
    assert abs(mines - 0.7) < 5 * np.sqrt(0.21 / (40_000 * 7))


def test_a_seed_is_the_same_alone_and_among_others() -> None:
    spec = RingSpec(10)
    together = initial(spec, seeds=np.arange(20), episodes=4)
    for seed in range(20):
        alone = initial(spec, seeds=seed, episodes=4)
        assert np.array_equal(alone.items[0], together.items[seed])
    assert len({row.tobytes() for row in together.items}) > 15  # and seeds differ


def play(spec: RingSpec, items: list[int], pos: int, actions: list[int]) -> list[tuple]:
    """The rules written out once more, in plain Python."""
    q = list(np.unravel_index(pos, spec.shape))
    moves = list(itertools.product(MOVES, repeat=spec.d))
    out = []
    for t, a in enumerate(actions, start=1):
        q = [(c + m) % spec.n for c, m in zip(q, moves[a], strict=True)]
        cell = int(np.ravel_multi_index(tuple(q), spec.shape))
        over = items[cell] == 1
        out.append((cell, spec.end_reward if over else float(items[cell]), over, t >= spec.time_limit and not over))
    return out


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([(5, 1), (9, 1), (5, 2), (5, 3)]), st.integers(0, 2**63), st.data())
def test_transitions_against_plain_python(shape: tuple[int, int], seed: int, data: st.DataObject) -> None:
    spec = RingSpec(*shape, time_limit=6)
    state = initial(spec, seeds=seed, episodes=0)
    actions = data.draw(st.lists(st.integers(0, spec.n_actions - 1), min_size=8, max_size=8))
    expected = play(spec, state.items[0].tolist(), 0, actions)
    for a, want in zip(actions, expected, strict=True):
        state, reward, terminated, truncated = transition(state, [a])
        assert (state.pos[0], reward[0], terminated[0], truncated[0]) == want


def test_goal_on_the_start_must_be_left_and_entered_again() -> None:
    spec = RingSpec(5)
    items = np.array([[1, 0, 0, 0, 0]], dtype=np.int8)
    state = RingState(spec, items, np.array([0]), np.array([0]), np.array([0]))
    state, reward, terminated, _ = transition(state, [2])
    assert not terminated[0] and reward[0] == 0
    _, reward, terminated, _ = transition(state, [1])
    assert terminated[0] and reward[0] == 10


def test_mines_persist_and_functions_are_pure() -> None:
    spec = RingSpec(5)
    items = np.array([[0, -1, 0, 1, 0]], dtype=np.int8)
    state = RingState(spec, items.copy(), np.array([0]), np.array([3]), np.array([0]))
    there, r1, *_ = transition(state, [2])
    back, _, *_ = transition(there, [1])
    _, r2, *_ = transition(back, [2])
    assert r1[0] == r2[0] == -1
    assert state.pos[0] == 0 and state.t[0] == 0 and np.array_equal(state.items, items)


@pytest.mark.parametrize("actions", [[4], [-1], [0.5], [[0]], [0, 1]])
def test_bad_actions_are_refused(actions: list) -> None:
    with pytest.raises(InvalidAction):
        transition(initial(RingSpec(5), seeds=0, episodes=0), actions)


def test_observation_is_that_of_the_paper() -> None:
    spec = RingSpec(6)
    state = initial(spec, seeds=np.arange(5), episodes=0)
    state, *_ = transition(state, [0, 1, 2, 3, 0])
    seen = observe(state)
    assert seen.shape == (5, 12) and seen.dtype == np.float32
    for row in range(5):
        assert seen[row, :6].tolist() == [10.0 if c == 1 else float(c) for c in state.items[row]]
        assert np.flatnonzero(seen[row, 6:]).tolist() == [state.pos[row]] and seen[row, 6:].sum() == 1
    cube = observe(initial(RingSpec(5, d=3), seeds=[1, 2], episodes=0))
    assert cube["items"].shape == (2, 5, 5, 5) and cube["pos"].shape == (2, 3)
    state = initial(RingSpec(5, d=3), seeds=[1], episodes=0)
    state, *_ = transition(state, [0 * 16 + 3 * 4 + 2])  # (−2, +2, +1)
    assert observe(state)["pos"][0].tolist() == pytest.approx([3 / 5, 2 / 5, 1 / 5])


# ---------------------------------------------------------------------- optimal returns


def brute_force(spec: RingSpec, items: tuple[int, ...], pos: int, left: int) -> float:
    if left == 0:
        return 0.0
    best = -np.inf
    for m in MOVES:
        q = (pos + m) % spec.n
        best = max(best, spec.end_reward if items[q] == 1 else items[q] + brute_force(spec, items, q, left - 1))
    return best


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_optimal_values_against_brute_force(steps: int) -> None:
    spec = RingSpec(7, end_reward=2.0)
    state = initial(spec, seeds=5, episodes=np.arange(6))
    values = optimal_values(spec, state.items, steps)
    for row, pos in itertools.product(range(6), range(7)):
        assert values[row, pos] == brute_force(spec, tuple(state.items[row].tolist()), pos, steps)


def test_optimal_return_uses_the_time_that_is_left() -> None:
    spec = RingSpec(12, time_limit=4)
    state = initial(spec, seeds=1, episodes=np.arange(30))
    after, *_ = transition(state, np.zeros(30, int))
    late = RingState(spec, after.items, after.pos, after.goal, after.t + 2)
    mixed = RingState(
        spec,
        np.concatenate([state.items, late.items]),
        np.concatenate([state.pos, late.pos]),
        np.concatenate([state.goal, late.goal]),
        np.concatenate([state.t, late.t]),
    )
    found = optimal_return(mixed)
    for row in range(60):
        left = 4 - int(mixed.t[row])
        assert found[row] == brute_force(spec, tuple(mixed.items[row].tolist()), int(mixed.pos[row]), left)


@pytest.mark.parametrize("n", [5, 6, 7])
def test_values_equal_those_of_the_table(n: int) -> None:
    """The zoo's ring(n): the same game, solved by general backward induction."""
    mdp = zoo.ring(n)
    table = np.asarray(solve(mdp).V)[0]
    boards = 2 ** (n - 1)
    bits = np.arange(boards)
    items = np.zeros((boards, n), np.int8)
    items[:, 0] = 1
    for k in range(n - 1):  # bit k stands for the cell goal + 1 + k
        items[:, 1 + k] = -((bits >> k) & 1)
    ours = optimal_values(RingSpec(n), items)
    # states (goal, agent, mines); on the goal the table stays there with reward 0, where the game continues
    theirs = table.reshape(n, n, boards)
    for goal, agent in itertools.product(range(n), range(n)):
        if goal != agent:
            assert np.allclose(theirs[goal, agent], ours[:, (agent - goal) % n], atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"p_mine": 0.3}, {"p_mine": 1.0}, {"p_mine": 0.0}, {"end_reward": 3.0}])
@pytest.mark.parametrize("n", [5, 6, 9, 11])
def test_expected_optimum_equals_enumeration(n: int, options: dict) -> None:
    spec = RingSpec(n, **options)
    exact, slow = expected_optimal_return(spec), enumerated_optimal_return(spec)
    assert exact.method == "exact" and slow.boards == 2 ** (n - 1)
    assert exact.value == pytest.approx(slow.value, abs=1e-12)


@pytest.mark.parametrize("n", [30, 50])
def test_expected_optimum_agrees_with_sampling(n: int) -> None:
    """Goals drawn as in the game, not averaged over: an independent estimate."""
    spec = RingSpec(n)
    found = optimal_return(initial(spec, seeds=9, episodes=np.arange(20_000)))
    se = found.std() / np.sqrt(found.size)
    exact = expected_optimal_return(spec)
    assert exact.error < 1e-5
    assert abs(found.mean() - exact.value) < 4 * se


def test_expected_optimum_is_sampled_where_it_is_not_exact() -> None:
    small_prize = expected_optimal_return(RingSpec(12, end_reward=0.5), boards=4000)
    assert small_prize.method == "sampling" and small_prize.boards == 4000 and small_prize.se > 0
    truth = enumerated_optimal_return(RingSpec(12, end_reward=0.5)).value
    assert abs(small_prize.value - truth) < 4 * small_prize.se
    short = expected_optimal_return(RingSpec(9, time_limit=2), boards=4000)
    assert short.method == "sampling"
    cube = expected_optimal_return(RingSpec(5, d=3), boards=50)
    assert 19.5 < cube.value <= 20
    assert expected_optimal_return(RingSpec(12, end_reward=0.5), boards=4000) is small_prize  # cached


def test_nobody_beats_the_optimum() -> None:
    spec = RingSpec(10)
    state = initial(spec, seeds=2, episodes=np.arange(200))
    best, total, over = optimal_return(state), np.zeros(200), np.zeros(200, bool)
    rng = np.random.default_rng(1)
    while not over.all():
        state, reward, terminated, truncated = transition(state, rng.integers(0, 4, 200))
        total += np.where(over, 0, reward)
        over |= terminated | truncated
    assert (total <= best).all() and total.mean() < best.mean() - 1
