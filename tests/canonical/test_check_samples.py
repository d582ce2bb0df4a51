"""The statistics of ``check_symmetry``: joint laws, rare outcomes, rounding; and states that are set in part."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from burnside.canonical.access import Outcome
from burnside.canonical.twosample import compare, keys_of, merged, p_value, resolution
from gymnasium import spaces

from burnside.canonical import EnvSymmetry, check_symmetry
from burnside.errors import InvalidParameter

TURN = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
ROTATION = EnvSymmetry([1], lambda g, x: (TURN @ x).astype(x.dtype), lambda g, a: a, name="rotation")
FEW = {"samples": 150, "draws": 100}


class Plane(gym.Env):
    """A point in the plane that shrinks or grows; ``noise`` makes what is added to it, and the reward."""

    action_space = spaces.Discrete(2)

    def __init__(self, noise, dtype=np.float32, scale: float = 1.0) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), dtype)
        self.noise, self.scale = noise, scale

    def _seen(self):
        return self.state.astype(self.observation_space.dtype)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.t = self.scale * self.np_random.normal(size=2), 0
        return self._seen(), {}

    def step(self, action):
        added, reward = self.noise(self.np_random)
        self.state, self.t = self.state * (0.9 if action else 1.1) + added, self.t + 1
        return self._seen(), reward, False, self.t > 5, {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize("reward", [lambda rng: float(rng.normal()), lambda rng: float(rng.random() < 0.5)])
def test_rounding_does_not_refuse_a_symmetry_of_a_noisy_environment(dtype, scale: float, reward) -> None:
    verdict = check_symmetry(Plane(lambda rng: (0.0, reward(rng)), dtype, scale), ROTATION, **FEW)
    assert verdict.ok and verdict.method == "two-sample"


def test_outcomes_on_the_edge_of_a_bin_are_one_outcome() -> None:
    one, two = 1 / 64, np.nextafter(1 / 64, 1)
    assert len(set(keys_of([np.array([one]), np.array([two]), [one - 1e-9], np.float32([one])], 1e-6))) == 1
    left = [Outcome(np.array([one * k]), 0.0, False) for k in (1, 2) * 100]
    right = [Outcome(np.array([two * k]), 0.0, False) for k in (1, 2) * 100]
    assert p_value(left, right, 1e-6) == 1


def test_dense_numbers_are_not_merged_into_one() -> None:
    dense = np.linspace(0, 1, 2000)[:, None]
    assert len(np.unique(merged(dense, 1e-3))) == 2000
    assert merged(np.array([[np.nan], [np.inf], [1.0], [np.nan], [np.inf]]), 1e-6).ravel().tolist() == [
        3.5,
        1.5,
        0.0,
        3.5,
        1.5,
    ]


def test_joint_laws_are_compared_not_only_single_numbers() -> None:
    def shock(rng):
        return np.full(2, rng.normal()), 0.0

    flip = EnvSymmetry([1], lambda g, x: x * np.array([1, -1], x.dtype), lambda g, a: a)
    assert not check_symmetry(Plane(shock), flip, **FEW).ok
    swap = EnvSymmetry([1], lambda g, x: x[::-1].copy(), lambda g, a: a)
    assert check_symmetry(Plane(shock), swap, **FEW).ok


class Teleport(gym.Env):
    """Half the time it stays; else it goes to one of 48 even cells of 96, wherever it was."""

    observation_space, action_space = spaces.Discrete(96), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s, self.t = int(self.np_random.integers(96)), 0
        return self.s, {}

    def step(self, action):
        self.t += 1
        if self.np_random.random() < 0.5:
            self.s = 2 * int(self.np_random.integers(48))
        return self.s, 0.0, False, self.t > 20, {}


def test_many_rare_outcomes_are_not_pooled_away() -> None:
    """Even and odd cells: a distance of one half in total variation, but hardly any in the order of the labels."""
    verdict = check_symmetry(Teleport(), EnvSymmetry([1], lambda g, x: x ^ 1, lambda g, a: a), samples=150)
    assert not verdict.ok and verdict.eps_p > 0.3
    assert check_symmetry(Teleport(), EnvSymmetry([2], lambda g, x: x ^ 2, lambda g, a: a), samples=150).ok


def test_level_and_resolution_are_what_is_said() -> None:
    rng = np.random.default_rng(3)

    def coins(p: float) -> list[Outcome]:
        return [Outcome(int(x), 0.0, False) for x in rng.random(200) < p]

    def rare(n: int) -> list[Outcome]:
        return [Outcome(int(x), 0.0, False) for x in rng.integers(60, size=n)]

    level = 0.05
    for draw in (lambda: coins(0.5), lambda: rare(100)):
        false = [compare(draw(), draw(), 1e-6, level, rng).p < level for _ in range(60)]
        assert sum(false) <= 8
    events = compare(coins(0.2), coins(0.8), 1e-6, level, rng).events
    apart = resolution(200, level, 0.99, events) / 2
    assert all(compare(coins(0.5 - apart), coins(0.5 + apart), 1e-6, level, rng).p < level for _ in range(15))


# ---------------------------------------------------------------------- a state that is not all of the state


class Car(gym.Env):
    """Position and speed; drag is one-sided, so that the mirror is no symmetry; ``noise`` on the speed."""

    observation_space, action_space = spaces.Box(-10, 10, (2,), np.float32), spaces.Discrete(2)

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise

    def _seen(self):
        return np.array([self.x, self.v], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.v = float(self.np_random.normal()), 0.0
        return self._seen(), {}

    def step(self, action):
        self.v += 0.1 * (2 * action - 1) - (0.05 * self.v if self.v > 0 else 0) + self.noise * self.np_random.normal()
        self.x += 0.1 * self.v
        return self._seen(), 0.0, abs(self.x) > 3, False, {}


def _put(env, state) -> None:
    env.unwrapped.x = float(state)


def _put_all(env, state) -> None:
    env.unwrapped.x, env.unwrapped.v = map(float, state)


FORGETFUL = EnvSymmetry(
    [-1], lambda g, x: -x, lambda g, a: 1 - a, lambda env: env.unwrapped.x, _put, lambda g, s: -s, name="mirror"
)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_state_that_is_set_in_part_is_not_judged(noise: float) -> None:
    with pytest.raises(InvalidParameter, match="setting the state does not reproduce what was seen"):
        check_symmetry(Car(noise), FORGETFUL, samples=500, draws=50)
    whole = replace(
        FORGETFUL,
        get_state=lambda env: (env.unwrapped.x, env.unwrapped.v),
        set_state=_put_all,
        act_on_state=lambda g, s: (-s[0], -s[1]),
    )
    verdict = check_symmetry(Car(noise), whole, samples=500, draws=50)
    assert verdict.method == ("two-sample" if noise else "deterministic") and (noise or not verdict.ok)


def test_a_clock_inside_the_environment_is_a_part_of_the_state() -> None:
    class Late(Plane):
        def step(self, action):
            seen, _, *rest = super().step(action)
            return seen, float(self.t > 3 and self.state[0] > 0), *rest

    with pytest.raises(InvalidParameter, match="does not reproduce"):
        check_symmetry(Late(lambda rng: (0.0, 0.0)), EnvSymmetry([1], lambda g, x: -x, lambda g, a: a), samples=200)


def test_rare_outcomes_are_not_taken_for_a_forgotten_state() -> None:
    rare = Plane(lambda rng: (0.0, float(rng.random() < 0.003)))
    for seed in range(3):
        assert check_symmetry(rare, ROTATION, samples=300, draws=50, seed=seed).ok
