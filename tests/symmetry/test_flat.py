"""Symmetries on flat rows: images, canonical forms, other domains, placebos."""

import gymnasium as gym
import numpy as np
import pytest

from burnside.canonical.arms import CanonicalRows, FeatureRows, on_rows
from burnside.canonical.checking.placebo import refuted_placebo
from burnside.envs.gymnasium_batch import as_batched
from burnside.experiments.atlas.tasks import env_maker, symmetry_for
from burnside.symmetry import EnvSymmetry
from burnside.symmetry.flat import flat_symmetry

NAMES = ["CartPole-v1", "Acrobot-v1", "Pendulum-v1", "burnside/Ring1D-v0", "burnside/PlanarPush-v0"]


@pytest.mark.parametrize("name", NAMES)
def test_a_canonical_form_is_constant_on_orbits_and_actions_come_back(name):
    env = as_batched(name)
    mine = on_rows(env)
    rows = env.observe_batch(env.reset_batch(np.zeros(20, dtype=np.int64), np.arange(20)))
    g = mine.draw(0, np.arange(20))
    moved = mine.move(g, rows)
    assert np.allclose(mine.canonical(moved)[0], mine.canonical(rows)[0], atol=1e-5)
    actions = np.arange(20) % mine.width if mine.discrete else np.random.default_rng(0).normal(size=(20, mine.width))
    back = mine.move_actions(g, mine.move_actions(g, actions), back=True)
    assert np.allclose(back, actions, atol=1e-5)


@pytest.mark.parametrize("name", ["CartPole-v1", "Acrobot-v1", "Pendulum-v1"])
def test_another_domain_is_another_one_and_a_placebo_is_refuted(name):
    env = as_batched(name)
    mine = on_rows(env)
    rows = np.random.default_rng(0).normal(size=(200, env.obs_dim)).astype(np.float32)
    other = mine.other_domain()
    assert (other.canonical(rows)[0] != mine.canonical(rows)[0]).any()
    assert np.allclose(other.canonical(mine.images(rows)[:, 1])[0], other.canonical(rows)[0])
    placebo, verdict = refuted_placebo(lambda: gym.make(name), mine)
    assert verdict == "refuted" and placebo.closed and placebo.order == mine.order
    assert np.array_equal(placebo.turns, mine.turns)


@pytest.mark.parametrize("name", ["MiniGrid-Empty-Random-5x5-v0", "LunarLanderContinuous-v3", "tictactoe"])
def test_another_domain_is_another_one_on_what_random_play_meets(name):
    """The last number may hardly ever change: a pixel behind the wall, a leg in the air."""
    pytest.importorskip({"M": "minigrid", "L": "Box2D", "t": "gymnasium"}[name[0]])
    env = env_maker(name)()
    mine = on_rows(as_batched(env_maker(name)), symmetry_for(env, name, "atlas"))
    rows, (seen, _) = [], env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(300):
        rows.append(np.ravel(seen))
        seen, _, ended, cut, _ = env.step(env.action_space.sample())
        if ended or cut:
            seen, _ = env.reset()
    met = np.array(rows, dtype=np.float32)
    other = mine.other_domain()
    moved = (mine.canonical(met)[0] != mine.canonical(mine.images(met)[:, 1])[0]).any()
    assert not moved
    assert (other.canonical(met)[0] != mine.canonical(met)[0]).any(axis=1).mean() > 0.2


def test_the_order_is_the_groups_even_where_it_does_not_act_linearly():
    """A mirror that shifts numbers has two elements; a list of some motions of the plane is not a group."""
    orders = {"MountainCar-v0": 2, "FrozenLake-v1": 2, "burnside/Ring1D-v0": 10, "burnside/PlanarPush-v0": None}
    for name, order in orders.items():
        maker = env_maker(name)
        assert on_rows(as_batched(maker), symmetry_for(maker(), name, "atlas")).order == order, name


def test_the_order_of_functions_of_ones_own_is_known_if_their_products_are_listed():
    def act(g, x):
        return np.where(np.asarray(g) == 1, 2.0 - x, x)

    own = EnvSymmetry(elements=[0, 1], generators=[1], act_on_observation=act, act_on_action=lambda g, a: a)
    assert flat_symmetry(own, 3, 2).order == 2
    part = EnvSymmetry(elements=[0, 1], generators=[1], act_on_observation=lambda g, x: x + g, act_on_action=act)
    assert flat_symmetry(part, 3, 2).order is None


def test_a_learner_sees_forms_and_features():
    env = as_batched("CartPole-v1")
    mine = on_rows(env)
    state = env.reset_batch(np.zeros(30, dtype=np.int64), np.arange(30))
    seen = env.observe_batch(state)
    shown = CanonicalRows(env, mine).observe_batch(state)
    assert np.array_equal(shown, np.where(seen[:, 2:3] < 0, -seen, seen))
    with_features = FeatureRows(env, mine)
    found = with_features.observe_batch(state)
    assert found.shape[1] == with_features.obs_dim == 5
    assert np.array_equal(found[:, 4], seen[:, 2] < 0)


def test_turns_of_the_plane_become_four_elements_for_networks():
    env = as_batched("Reacher-v5")
    assert on_rows(env).count == 0 and on_rows(env).order is None
    four = on_rows(env, subgroup=True)
    assert four.count == four.order == 4
