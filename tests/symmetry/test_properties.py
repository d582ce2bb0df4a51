"""What must hold of every declaration and every canonical form, tried on random observations of all kinds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.symmetry.zoo import CASES, Case

from burnside.canonical.base import Canonicalizer, largest_gap, numbers
from burnside.symmetry import all_images, canonical_form, orbit, random_images

SEEDS = st.integers(0, 2**32 - 1)
FORMS = [(name, k) for name, case in CASES.items() for k in range(len(case.domains))]


def elements(case: Case, rng: np.random.Generator, count: int) -> list[Any]:
    known = case.declaration.elements
    if known is not None:
        return [int(e) for e in rng.choice(len(known), size=count)]
    return list(case.declaration.random_element(int(rng.integers(2**31)), np.arange(count)))


def same(case: Case, x: Any, y: Any) -> bool:
    return largest_gap(x, y) <= max(case.tolerance, 1e-6 if case.tolerance else 0.0) * max(
        1.0, float(np.max(np.abs(numbers(y)), initial=0.0))
    )


def stacked(items: list[Any]) -> Any:
    if isinstance(items[0], dict):
        return {key: stacked([item[key] for item in items]) for key in items[0]}
    if isinstance(items[0], tuple):
        return tuple(stacked([item[i] for item in items]) for i in range(len(items[0])))
    return np.stack([np.asarray(item) for item in items])


def row(x: Any, i: int) -> Any:
    if isinstance(x, dict):
        return {key: row(value, i) for key, value in x.items()}
    return tuple(row(value, i) for value in x) if isinstance(x, tuple) else x[i]


@pytest.mark.parametrize("name", CASES)
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_it_is_an_action(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng(seed)
    found = case.declaration
    x, a = case.observe(rng), case.choose(rng)
    g, h = elements(case, rng, 2)
    unit, product = found.group.identity, found.group.compose(g, h)
    for act, point in ((found.act_on_observation, x), (found.act_on_action, a)):
        assert same(case, act(unit, point), point)
        assert same(case, act(product, point), act(g, act(h, point)))
        assert same(case, act(found.inverse(g), act(g, point)), point)


@pytest.mark.parametrize("name", CASES)
@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_a_batch_is_a_loop(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng(seed)
    found = case.declaration
    points = [case.observe(rng) for _ in range(5)]
    chosen = elements(case, rng, 5)
    many = found.act_on_observation(np.stack(chosen), stacked(points))
    one = found.act_on_observation(chosen[0], stacked(points))
    for i in range(5):
        assert largest_gap(row(many, i), found.act_on_observation(chosen[i], points[i])) <= 1e-12
        assert largest_gap(row(one, i), found.act_on_observation(chosen[0], points[i])) <= 1e-12


@pytest.mark.parametrize(("name", "k"), FORMS)
@given(seed=SEEDS)
@settings(max_examples=15, deadline=None)
def test_a_form_is_one(name: str, k: int, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng(seed)
    found = case.declaration
    form = canonical_form(found, case.domains[k])
    assert isinstance(form, Canonicalizer)
    x, a = case.observe(rng), case.choose(rng)
    (h,) = elements(case, rng, 1)
    x_bar, g = form(x)
    assert same(case, form.act(g, x), x_bar)  # in the orbit
    again, _ = form(x_bar)
    assert same(case, again, x_bar)  # idempotent
    moved_bar, moved_g = form(found.act_on_observation(h, x))
    assert same(case, moved_bar, x_bar)  # invariant
    assert same(case, form.undo(found.act_on_action(g, a), g), a)  # undo ∘ act
    # A choice at x̄ means one pair (x, action), up to elements that leave x alone.
    first, second = form.undo(a, g), form.undo(a, moved_g)
    k_fix = found.group.compose(found.inverse(found.group.compose(moved_g, h)), g)
    assert same(case, found.act_on_observation(k_fix, x), x)
    assert same(case, second, found.act_on_action(h, found.act_on_action(k_fix, first)))


@pytest.mark.parametrize(("name", "k"), FORMS)
@given(seed=SEEDS)
@settings(max_examples=5, deadline=None)
def test_forms_of_a_batch_are_those_of_its_rows(name: str, k: int, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng(seed)
    form = canonical_form(case.declaration, case.domains[k])
    points, choices = [case.observe(rng) for _ in range(4)], [case.choose(rng) for _ in range(4)]
    bars, g = form(stacked(points))
    undone = form.undo(stacked(choices), g)
    for i in range(4):
        bar, single = form(points[i])
        assert same(case, row(bars, i), bar)
        assert np.allclose(g[i], single)
        assert same(case, row(undone, i), form.undo(choices[i], single))


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c.declaration.elements is not None])
@given(seed=SEEDS)
@settings(max_examples=8, deadline=None)
def test_orbits_and_stabilizers_make_up_the_group(name: str, seed: int) -> None:
    case, rng = CASES[name], np.random.default_rng(seed)
    found = case.declaration
    x = case.observe(rng)
    seen = orbit(found, x)
    assert len(seen) * len(seen.stabilizer) == found.order
    for g in seen.stabilizer:
        assert same(case, found.act_on_observation(int(g), x), x)
    for i, g in enumerate(seen.elements):
        assert same(case, row(seen.images, i), found.act_on_observation(int(g), x))


@pytest.mark.parametrize("name", CASES)
def test_transitions_with_their_images(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(3)
    found = case.declaration
    obs, nxt = ([case.observe(rng) for _ in range(6)] for _ in range(2))
    actions = [case.choose(rng) for _ in range(6)]
    batch = {"obs": stacked(obs), "next_obs": stacked(nxt), "action": stacked(actions), "reward": np.arange(6.0)}
    moved, g = random_images(found, batch, seed=1, counter=7)
    for i in range(6):
        assert largest_gap(row(moved["obs"], i), found.act_on_observation(g[i], obs[i])) <= 1e-12
        assert largest_gap(row(moved["next_obs"], i), found.act_on_observation(g[i], nxt[i])) <= 1e-12
        assert largest_gap(row(moved["action"], i), found.act_on_action(g[i], actions[i])) <= 1e-12
        assert np.allclose(g[i], found.random_element(1, 7 + i))
    assert np.array_equal(moved["reward"], batch["reward"])
    chosen = elements(case, rng, 2) if found.elements is None else found.elements
    every = all_images(found, batch, elements=None if found.elements is not None else chosen)
    assert len(every["reward"]) == 6 * len(chosen)
    for k, e in enumerate(chosen):
        for i in range(6):
            assert largest_gap(row(every["action"], 6 * k + i), found.act_on_action(e, actions[i])) <= 1e-12
            assert largest_gap(row(every["obs"], 6 * k + i), found.act_on_observation(e, obs[i])) <= 1e-12
            assert every["reward"][6 * k + i] == i
