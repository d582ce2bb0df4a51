"""The statistics of ``check_symmetry``: joint laws, rare outcomes, rounding; and states that are set in part."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from burnside.canonical import EnvSymmetry, check_symmetry
from burnside.canonical.checking.access import Outcome, Pair
from burnside.canonical.checking.laws import POOL_DIVISIONS, Pool
from burnside.canonical.checking.tolerance import Ruler
from burnside.canonical.checking.twosample import Sample, keys_of, merged, p_values, resolution
from burnside.canonical.checking.visited import _alarmed, _Job, _Met
from burnside.errors import InvalidParameter

TURN = np.array([[np.cos(1.0), -np.sin(1.0)], [np.sin(1.0), np.cos(1.0)]])
ROTATION = EnvSymmetry([1], lambda g, x: (TURN @ x).astype(x.dtype), lambda g, a: a, name="rotation")
FEW = {"samples": 120, "max_failure_rate": 0.05}


def p_of(
    one: list[Outcome], other: list[Outcome], level: float = 0.05, rng: np.random.Generator | None = None
) -> float:
    """The least p-value of all groups, for observations of one number that varies by about one."""
    ruler = Ruler(1e-6, np.ones(1), 1.0, np.zeros(1, dtype=bool))
    ps = p_values(Sample.of(one), Sample.of(other), ruler, level, rng or np.random.default_rng(0))
    return ps.get("dynamics", 1.0)


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
    assert verdict.ok and verdict.method == "two-sample", verdict.components


def test_outcomes_on_the_edge_of_a_bin_are_one_outcome() -> None:
    one, two = 1 / 64, np.nextafter(1 / 64, 1)
    assert len(set(keys_of([np.array([one]), np.array([two]), [one - 1e-9], np.float32([one])], 1e-6))) == 1
    left = [Outcome(np.array([one * k]), 0.0, False) for k in (1, 2) * 100]
    right = [Outcome(np.array([two * k]), 0.0, False) for k in (1, 2) * 100]
    assert p_of(left, right) == 1


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
    assert check_symmetry(Plane(shock), flip, **FEW).verdict == "refuted"
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


@pytest.mark.slow
def test_many_rare_outcomes_are_not_pooled_away() -> None:
    """Even and odd cells: a distance of one half in total variation, but hardly any in the order of the labels."""
    odd, even = (EnvSymmetry([k], lambda g, x: x ^ g, lambda g, a: a) for k in (1, 2))
    verdict = check_symmetry(Teleport(), odd, draws=64, **FEW)
    assert verdict.verdict == "refuted" and verdict.eps_p > 0.3
    assert check_symmetry(Teleport(), even, **FEW).ok


def test_two_sample_tests() -> None:
    rng = np.random.default_rng(0)

    def draw(p: float, n: int = 300) -> list[Outcome]:
        return [Outcome(int(rng.random() < p), 0.0, False) for _ in range(n)]

    false = [p_of(draw(0.5), draw(0.5), rng=rng) for _ in range(120)]
    assert 0.005 < np.mean(np.array(false) < 0.05) < 0.12
    assert p_of(draw(0.3), draw(0.7), 1e-4) < 1e-3
    assert p_of(draw(0.0), draw(0.0)) == 1 and p_of(draw(0.0), draw(1.0), 1e-4) < 1e-3
    smooth = [[Outcome(rng.normal(s, 1, 1), 0.0, False) for _ in range(300)] for s in (0, 0, 1)]
    assert p_of(smooth[0], smooth[1]) > 1e-3 and p_of(smooth[0], smooth[2], 1e-4) < 1e-3


def test_level_and_resolution_are_what_is_said() -> None:
    rng = np.random.default_rng(3)

    def coins(p: float, n: int = 200) -> list[Outcome]:
        return [Outcome(int(x), 0.0, False) for x in rng.random(n) < p]

    def rare(n: int) -> list[Outcome]:
        return [Outcome(int(x), 0.0, False) for x in rng.integers(60, size=n)]

    level = 0.05
    for draw in (lambda: coins(0.5), lambda: rare(100)):
        false = [p_of(draw(), draw(), level, rng) < level for _ in range(60)]
        assert sum(false) <= 8
    for power in (0.5, 0.9):
        apart = resolution([(200, level)], power, 4) / 2
        seen = [p_of(coins(0.5 - apart), coins(0.5 + apart), level, rng) < level for _ in range(60)]
        assert np.mean(seen) > power - 0.15, "what is called visible is seen that often"
    assert resolution([(100, 0.05)], 0.5, 5) > resolution([(1000, 0.05)], 0.5, 5)
    assert resolution([(100, 0.05)], 0.5, 50) > resolution([(100, 0.05)], 0.5, 5)


# ---------------------------------------------------------------------- a state that is not all of the state


class Car(gym.Env):
    """Position and speed; drag is one-sided, so that the mirror is not a symmetry; ``noise`` on the speed."""

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
    [-1],
    lambda g, x: -x,
    lambda g, a: 1 - a,
    get_state=lambda env: env.unwrapped.x,
    set_state=_put,
    act_on_state=lambda g, s: -s,
    name="mirror",
)


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_state_that_is_set_in_part_is_not_judged(noise: float) -> None:
    with pytest.raises(InvalidParameter, match="setting the state does not reproduce what was seen"):
        check_symmetry(Car(noise), FORGETFUL, samples=300)
    whole = replace(
        FORGETFUL,
        get_state=lambda env: (env.unwrapped.x, env.unwrapped.v),
        set_state=_put_all,
        act_on_state=lambda g, s: (-s[0], -s[1]),
    )
    verdict = check_symmetry(Car(noise), whole, samples=200)
    assert verdict.method == ("two-sample" if noise else "deterministic") and not verdict.ok
    assert noise or verdict.verdict == "refuted"


def test_a_clock_inside_the_environment_is_a_part_of_the_state() -> None:
    class Late(Plane):
        def step(self, action):
            seen, _, *rest = super().step(action)
            return seen, float(self.t > 3 and self.state[0] > 0), *rest

    mirror = EnvSymmetry([1], lambda g, x: -x, lambda g, a: a)
    late = Late(lambda rng: (0.0, 0.0))
    verdict = check_symmetry(late, mirror, samples=200)
    # the state cannot be set, so whole trajectories decide: the reward prefers one side, late in an episode
    assert verdict.verdict == "refuted" and verdict.components["reward"].verdict == "refuted"
    given = replace(mirror, get_state=lambda env: env.state.copy(), set_state=lambda env, s: setattr(env, "state", s))
    with pytest.raises(InvalidParameter, match="does not reproduce"):  # what was given is wrong
        check_symmetry(late, replace(given, act_on_state=lambda g, s: -s), samples=200)


def test_rare_outcomes_are_not_taken_for_a_forgotten_state() -> None:
    rare = Plane(lambda rng: (0.0, float(rng.random() < 0.003)))
    for seed in range(3):
        assert check_symmetry(rare, ROTATION, seed=seed, **FEW).ok


def test_pairs_of_one_orbit_are_pooled_once() -> None:
    """Along an orbit every pair has images and is one: counted again and again, chance would look like a difference."""
    size, repeats, level = 4, 60, 0.05
    turns = EnvSymmetry([1], lambda g, x: x, lambda g, a: a)
    ruler = Ruler(1e-6, np.ones(9), 1.0, np.zeros(9, dtype=bool))
    jobs = [_Job(k, (k + turn) % size, 0) for k in range(size) for turn in (1, 2, 3)]
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(repeats):
        drawn = -np.eye(9)[rng.integers(9, size=(size, 40))]  # one of nine places is taken
        met = {k: _Met(Pair(None, np.zeros(9), k), [Outcome(x, 0.0, False) for x in drawn[k]]) for k in range(size)}
        pool = Pool(POOL_DIVISIONS + 1)
        _alarmed({}, met, turns, ruler, rng, None, pool, jobs, 0.0)
        alarms += pool.ps()["dynamics"] < level
    assert pool.places == size // 2 and alarms <= repeats * level + 3 * np.sqrt(repeats * level)
