"""States that nobody declared: found among attributes, moved as what is seen; and numbers that mean the same."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from burnside.canonical import CanonicalEnv, check_symmetry
from burnside.errors import InvalidParameter
from burnside.symmetry import EnvSymmetry, Frame, MultiLabels, Rotation

FEW = {"samples": 30, "max_failure_rate": 0.2}


class Own(gym.Env):
    """An environment as people write them: the state in attributes of any name, and a clock."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.begin()
        self.clock = 0
        return self.seen(), {}

    def step(self, action):
        reward = self.move(np.asarray(action))
        self.clock += 1
        return self.seen(), float(reward), False, self.clock >= 40, {}


class Arm(Own):
    """Two angles, seen as cosines and sines; friction may differ between both directions."""

    def __init__(self, back=0.1):
        self.back = back
        self.observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = spaces.Box(-2, 2, (2,), np.float32)

    def begin(self):
        self.joints = list(self.np_random.uniform(-1, 1, 4))

    def seen(self):
        a, b, u, v = self.joints
        return np.array([np.cos(a), np.sin(a), np.cos(b), np.sin(b), u, v], np.float32)

    def move(self, torque):
        a, b, u, v = self.joints
        u += 0.05 * (torque[0] - (0.1 if u > 0 else self.back) * u - 3 * np.sin(a) + 0.3 * np.sin(b))
        v += 0.05 * (torque[1] - 0.1 * v - np.sin(a + b))
        self.joints = [a + 0.05 * u, b + 0.05 * v, u, v]
        return np.cos(a)


class Clipped(Own):
    """A cart on a spring whose speed is shown up to a bound, as Gymnasium's walkers show theirs."""

    def __init__(self, slope=0.0):
        self.slope = slope
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)

    def begin(self):
        self.place, self.speed = self.np_random.uniform(-1, 1, 2)

    def seen(self):
        return np.array([self.place, np.clip(self.speed, -0.5, 0.5)])

    _get_obs = seen

    def move(self, force):
        self.speed += 0.1 * (float(force[0]) - self.place + self.slope)
        self.place += 0.1 * self.speed
        return -abs(self.place)


class Levers(Own):
    """Three levers that are alike, unless the first is worth something by itself."""

    def __init__(self, bonus=0.0):
        self.bonus = bonus
        self.observation_space = spaces.MultiDiscrete([4, 4, 4])
        self.action_space = spaces.MultiDiscrete([3, 3, 3])

    def begin(self):
        self.places = self.np_random.integers(0, 4, 3)

    def seen(self):
        return self.places.copy()

    def move(self, action):
        self.places = np.clip(self.places + action - 1, 0, 3)
        return float((self.places == 3).all()) + self.bonus * (self.places[0] == 2)


class Blind(Own):
    """A point whose speed is not seen, and wind that may blow."""

    def __init__(self, wind=0.0):
        self.wind = wind
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = spaces.Discrete(3)

    def begin(self):
        self.place, self.speed = self.np_random.uniform(-1, 1), self.np_random.uniform(-0.5, 0.5)

    def seen(self):
        return np.array([self.place])

    def move(self, action):
        self.speed += 0.1 * (int(action) - 1) + self.wind
        self.place += 0.1 * self.speed
        return -abs(self.place)


class Swapped(Blind):
    """Two hidden speeds that change places in the mirror: no change of signs is right, so nothing may be refuted."""

    def begin(self):
        self.place, self.push, self.pull = 0.0, *self.np_random.uniform(0, 1, 2)

    def move(self, action):
        self.place += 0.1 * (self.push - self.pull)
        self.push, self.pull = self.push + 0.05 * (action == 2), self.pull + 0.05 * (action == 0)
        return -abs(self.place)


class Satellite(Own):
    """Attitude as a quaternion of either sign, angular velocity in the body's axes, and a direction to look at."""

    def __init__(self, pull=0.0):
        self.pull = pull
        self.observation_space = spaces.Box(-np.inf, np.inf, (10,), np.float32)
        self.action_space = spaces.Box(-1, 1, (3,), np.float32)

    def begin(self):
        q, t = self.np_random.normal(size=4), self.np_random.normal(size=3)
        self.attitude, self.target = q / np.linalg.norm(q), t / np.linalg.norm(t)
        self.spin = 0.3 * self.np_random.normal(size=3)

    def seen(self):
        return np.concatenate([self.attitude, self.spin, self.target]).astype(np.float32)

    def move(self, torque):
        inertia = np.array([1.0, 2.0, 3.0])
        turning = (torque - np.cross(self.spin, inertia * self.spin)) / inertia
        turning[2] += self.pull * self.target[2]
        self.spin = self.spin + 0.05 * turning
        w, v = self.attitude[0], self.attitude[1:]
        change = np.concatenate([[-v @ self.spin], w * self.spin + np.cross(v, self.spin)])
        q = self.attitude + 0.025 * change
        self.attitude = q / np.linalg.norm(q)
        w, x, y, z = self.attitude
        ahead = np.array([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        return ahead @ self.target


ARM = EnvSymmetry("mirror", "0,-1,2,-3,-4,-5", "-0,-1")
ROUND = MultiLabels([None] * 3, places="1,2,0")
LEVERS = EnvSymmetry("C3", ROUND, ROUND)
BLIND = EnvSymmetry("mirror", "-0", "labels 2,1,0")
LOOK = EnvSymmetry("SO(3)", Rotation((7, 8, 9), quaternions=[(0, 1, 2, 3)]), "trivial")


@pytest.mark.parametrize(
    ("right", "wrong", "symmetry", "part"),
    [
        (Arm(), Arm(back=0.101), ARM, "dynamics"),
        (Levers(), Levers(bonus=0.1), LEVERS, "reward"),
        (Satellite(), Satellite(pull=0.05), LOOK, "dynamics"),
        (Clipped(), Clipped(slope=0.01), EnvSymmetry("mirror", "-0,-1", "-0"), "dynamics"),
    ],
    ids=["bent", "whole numbers", "quaternions", "clipped"],
)
def test_no_line_about_the_state_is_needed(right, wrong, symmetry, part):
    found = check_symmetry(right, symmetry, **FEW)
    assert (found.verdict, found.method) == ("holds", "deterministic"), found.counterexample
    found = check_symmetry(wrong, symmetry, **FEW)
    assert (found.verdict, found.method) == ("refuted", "deterministic")
    assert found.components[part].verdict == "refuted"


def test_what_is_not_seen_is_moved_by_a_guess_that_can_only_confirm():
    found = check_symmetry(Blind(), BLIND, **FEW)
    assert (found.verdict, found.method) == ("holds", "deterministic")
    found = check_symmetry(Blind(wind=0.05), BLIND, **FEW)
    assert (found.verdict, found.method) == ("refuted", "trajectories")
    found = check_symmetry(Swapped(), BLIND, **FEW)
    assert found.verdict != "refuted", found.counterexample


def test_a_continuous_group_says_how_to_get_a_form():
    with pytest.raises(InvalidParameter, match=r"domain=Frame"):
        CanonicalEnv(Satellite(), LOOK)
    frame = EnvSymmetry("SO(3)", LOOK.observation, "trivial", domain=Frame(orientation=(0, 1, 2, 3)))
    x, _ = CanonicalEnv(Satellite(), frame).reset(seed=0)
    assert np.allclose(x[:4], [1, 0, 0, 0], atol=1e-6)
