"""Canonical forms: constant on orbits, idempotent, and actions carried in the right direction."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnside.canonical import Canonicalizer, EnvSymmetry, LexMin, SignFlip, SmallestLabel
from burnside.canonical.base import equal, largest_gap
from burnside.canonical.known import ring_translations
from burnside.envs.ring.core import RingSpec, initial, observe, transition
from burnside.envs.ring.symmetry import RollToGoal, translate
from burnside.errors import InvalidAction, InvalidParameter
from burnside.groups import Action, Group
from burnside.symmetry.forms import largest

GROUPS = {
    "Z6": (Group.cyclic(6), 6),
    "D5": (Group.dihedral(5), 5),
    "S4": (Group.symmetric(4), 4),
    "octahedral": (Group.octahedral(full=True), None),
}


def orbit(action: Action, x: np.ndarray) -> list[tuple]:
    """All images, written out: (g·x)(g·i) = x(i)."""
    images = []
    for row in action.table:
        image = [None] * len(x)
        for i, j in enumerate(row):
            image[j] = x[i]
        images.append(tuple(image))
    return images


@pytest.mark.parametrize("name", GROUPS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_lexmin_is_the_smallest_image(name: str, data: st.DataObject) -> None:
    group, _ = GROUPS[name]
    action = Action.natural(group)
    form = LexMin(action, Action.trivial(group, 2))
    x = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=action.size, max_size=action.size)))
    images = orbit(action, x)
    x_bar, g = form(x)
    assert tuple(x_bar) == min(images)
    assert int(g) == images.index(min(images))  # ties: the first
    assert np.array_equal(form.act(g, x), x_bar)
    # constant on the whole orbit, in one batch of any shape
    batch = np.array(images).reshape(2, -1, action.size) if len(images) % 2 == 0 else np.array(images)
    bars, gs = form(batch)
    assert (bars == x_bar).all() and gs.shape == batch.shape[:-1]
    assert np.array_equal(form.act(gs, batch), bars)


def test_lexmin_undo_is_the_inverse_of_the_action_on_actions() -> None:
    group = Group.dihedral(5)
    on_cells, on_moves = Action.natural(group), Action.natural(group)
    form = LexMin(on_cells, on_moves)
    rng = np.random.default_rng(0)
    for _ in range(50):
        x = rng.normal(size=5)
        x_bar, g = form(x)
        for a in range(5):
            assert form.undo(on_moves.table[g, a], g) == a
        # what stands where: the entry at cell c of x is the entry at g·c of x̄
        assert all(x_bar[on_cells.table[g, c]] == x[c] for c in range(5))


def test_lexmin_refuses_what_has_no_order() -> None:
    group = Group.cyclic(3)
    form = LexMin(Action.natural(group), Action.trivial(group, 1))
    with pytest.raises(InvalidParameter, match="NaN"):
        form(np.array([0.0, np.nan, 1.0]))
    with pytest.raises(InvalidParameter, match="3 entries"):
        form(np.zeros(4))
    with pytest.raises(InvalidAction, match="0…0"):
        form.undo(1, 0)
    with pytest.raises(InvalidAction, match="different groups"):
        LexMin(Action.natural(group), Action.natural(Group.cyclic(4)))


def test_smallest_label() -> None:
    group = Group.cyclic(4)
    turns = Action.natural(group).product(Action.natural(group))
    form = SmallestLabel(turns, Action.natural(group))
    x_bar, g = form(np.arange(16))
    assert len(np.unique(x_bar)) == turns.n_orbits
    assert np.array_equal(form.act(g, np.arange(16)), x_bar)
    assert np.array_equal(form(x_bar)[0], x_bar)
    assert np.array_equal(turns.table[g, np.arange(16)], x_bar)
    with pytest.raises(InvalidParameter):
        form(16)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([-1.5, -1.0, 0.0, 1.0, 2.0]), min_size=4, max_size=4))
def test_sign_flip(values: list[float]) -> None:
    x = np.array(values)
    form = SignFlip([-1, -1, 1, -1], actions=[1, 0, 2], order=[3, 0, 1])
    mirror = form.act(-1, x)
    assert mirror.tolist() == [-x[0], -x[1], x[2], -x[3]]
    x_bar, g = form(x)
    assert np.array_equal(x_bar, form(mirror)[0]) and np.array_equal(form(x_bar)[0], x_bar)
    deciding = [v for v in (x_bar[3], x_bar[0], x_bar[1]) if v != 0]
    assert not deciding or deciding[0] > 0
    assert [int(form.undo(a, g)) for a in range(3)] == ([0, 1, 2] if g == 1 else [1, 0, 2])
    both, gs = form(np.stack([x, mirror]))
    assert np.array_equal(both[0], both[1]) and gs.shape == (2,)


def test_sign_flip_of_vector_actions_and_bad_input() -> None:
    form = SignFlip([-1, 1], action_signs=[-1, 1, 1])
    _, g = form(np.array([[-1.0, 0.0], [1.0, 0.0]]))
    assert form.undo(np.ones((2, 3)), g).tolist() == [[-1, 1, 1], [1, 1, 1]]
    for bad in (
        {"signs": [1, 2], "actions": [0]},
        {"signs": [-1], "actions": [0], "action_signs": [1]},
        {"signs": [-1]},
        {"signs": [-1, 1], "actions": [0], "order": [1]},
        {"signs": [1, 1], "actions": [0]},
    ):
        with pytest.raises(InvalidParameter):
            SignFlip(**bad)
    with pytest.raises(InvalidAction):
        SignFlip([-1], actions=[1, 2, 0])


# ---------------------------------------------------------------------- the ring


def test_translation_is_a_left_action_and_moves_board_and_agent_alike() -> None:
    """(g·b)(c) = b(c − g) requires q → q + g; with b(c + g) the agent would have to go the other way."""
    n = 7
    x = observe(initial(RingSpec(n), seeds=3, episodes=0))[0]
    for g, c in itertools.product(range(n), range(n)):
        moved = translate(n, 1, [g], x)
        assert moved[(c + g) % n] == x[c] and moved[n + (c + g) % n] == x[n + c]
    for g, h in itertools.product(range(n), range(n)):
        assert np.array_equal(translate(n, 1, [g], translate(n, 1, [h], x)), translate(n, 1, [(g + h) % n], x))


@pytest.mark.parametrize(("n", "d"), [(5, 1), (10, 1), (5, 2), (5, 3)])
def test_roll_to_goal(n: int, d: int) -> None:
    spec, form = RingSpec(n, d), RollToGoal(n, d)
    state = initial(spec, seeds=0, episodes=np.arange(40))
    state, *_ = transition(state, np.random.default_rng(0).integers(0, spec.n_actions, 40))
    x = observe(state)
    x_bar, g = form(x)
    assert isinstance(form, Canonicalizer) and g.shape == (40, d)
    assert np.array_equal(g, -spec.coordinates(state.goal) % n)
    items = x_bar[:, :n] if d == 1 else x_bar["items"].reshape(40, -1)
    assert (items[:, 0] == spec.end_reward).all()
    # the paper: roll(b, −c*, axis) along each axis, and the agent at pos − c*
    for i in range(40):
        grid = np.where(state.items[i] > 0, spec.end_reward, state.items[i]).reshape(spec.shape)
        for axis, shift in enumerate(spec.coordinates(state.goal[i])):
            grid = np.roll(grid, -shift, axis=axis)
        assert np.array_equal(items[i].reshape(spec.shape), grid)
        where = (spec.coordinates(state.pos[i]) - spec.coordinates(state.goal[i])) % n
        if d == 1:
            assert np.argmax(x_bar[i, n:]) == where[0]
        else:
            assert x_bar["pos"][i] == pytest.approx(where / n)
    # idempotent, constant on the orbit, one observation as a batch of none, the same dtype
    assert equal(form(x_bar)[0], x_bar)
    shifts = np.random.default_rng(1).integers(0, n, (40, d))
    assert equal(form(form.act(shifts, x))[0], x_bar)
    one = x[7] if d == 1 else {k: v[7] for k, v in x.items()}
    alone = form(one)[0]
    assert equal(alone, x_bar[7] if d == 1 else {k: v[7] for k, v in x_bar.items()})
    assert (alone if d == 1 else alone["pos"]).dtype == np.float32
    assert form.undo(3, g[0]) == 3


def test_canonical_game_is_the_same_game() -> None:
    """x̄ then a leads to the canonical form of what x then a leads to, with the same reward."""
    symmetry = ring_translations(6, 2)
    spec = RingSpec(6, 2)
    state = initial(spec, seeds=np.arange(20), episodes=0)
    for g in [(1, 0), (0, 1), (3, 5)]:
        image = symmetry.act_on_state(g, state)
        assert equal(observe(image), symmetry.act_on_observation(np.array(g), observe(state)))
        for a in range(16):
            after, reward, terminated, _ = transition(state, np.full(20, a))
            image_after, image_reward, image_terminated, _ = transition(image, np.full(20, a))
            assert np.array_equal(reward, image_reward) and np.array_equal(terminated, image_terminated)
            assert equal(observe(image_after), symmetry.act_on_observation(np.array(g), observe(after)))


def test_bad_translations_are_refused() -> None:
    x = observe(initial(RingSpec(5), seeds=0, episodes=0))[0]
    for g in ([1, 2], 1, [0.5]):
        with pytest.raises(InvalidParameter):
            translate(5, 1, g, x)
    with pytest.raises(InvalidParameter, match="12 entries"):
        RollToGoal(6)(x)


def test_symmetry_from_actions() -> None:
    group = Group.dihedral(4)
    made = EnvSymmetry.from_actions(Action.natural(group), Action.natural(group))
    x = np.array([4, 5, 6, 7])
    for g in made.elements:
        assert np.array_equal(made.act_on_observation(made.inverse(g), made.act_on_observation(g, x)), x)
        assert all(made.act_on_action(made.inverse(g), made.act_on_action(g, a)) == a for a in range(4))
    drawn = [made.random_element(0, k) for k in range(400)]
    assert set(drawn) == set(range(8)) and drawn == [made.random_element(0, k) for k in range(400)]
    with pytest.raises(InvalidParameter, match="no generators"):
        EnvSymmetry([], made.act_on_observation, made.act_on_action)
    with pytest.raises(InvalidParameter, match="elements"):
        EnvSymmetry([1], made.act_on_observation, made.act_on_action).random_element(0, 0)


def test_gaps() -> None:
    assert largest_gap(np.array([np.inf]), np.array([np.inf])) == 0
    assert largest_gap(np.array([np.nan]), np.array([np.nan])) == np.inf
    assert largest_gap(np.zeros(2), np.zeros(3)) == np.inf
    assert largest_gap({"a": 1}, {"b": 1}) == np.inf
    assert largest_gap(("x", 1), ("x", 2)) == 1 and largest_gap("x", "y") == np.inf


@pytest.mark.parametrize("shape", [(40, 3), (5, 40, 3), (2, 3, 40, 1)])
@pytest.mark.parametrize("kind", [np.int64, np.float32, np.bool_, np.uint8])
def test_the_largest_of_many_images_is_that_of_few(shape, kind):
    rows = np.random.default_rng(0).integers(0, 3, shape).astype(kind)
    found = largest(rows, 0.0)
    for at in np.ndindex(shape[:-2]):
        images = [tuple(row) for row in rows[at].tolist()]
        assert images[np.asarray(found)[at]] == max(images)
        assert int(np.asarray(found)[at]) == images.index(max(images))
