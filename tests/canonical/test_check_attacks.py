"""Environments made to fool the check, in both directions: false ones that look true, true ones that look false."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from tests.canonical.cases import MIRROR, Line

from burnside.canonical import EnvSymmetry, check_symmetry, known

FEW = {"samples": 120, "max_failure_rate": 0.05}  # quick, and enough for a promise of 5 %


def verdict_of(env: Any, symmetry: EnvSymmetry = MIRROR, **options: Any) -> str:
    return check_symmetry(env, symmetry, **(FEW | options)).verdict


# ---------------------------------------------------------------------- true symmetries that look false


def turn(angle: float) -> EnvSymmetry:
    matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return EnvSymmetry([1], lambda g, x: (matrix @ x).astype(x.dtype), lambda g, a: a, name="turn")


class Disc(gym.Env):
    """A point in a disc, pushed out of the centre or into it; on the rim the episode ends, rounding permitting."""

    action_space = spaces.Discrete(2)

    def __init__(self, dtype: Any = np.float64, strict: bool = False) -> None:
        self.observation_space = spaces.Box(-2, 2, (2,), dtype)
        self.dtype, self.strict = dtype, strict

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        z = self.np_random.normal(size=2)
        self.state, self.t = (z / np.linalg.norm(z) * self.np_random.choice([1.0, 0.5])).astype(self.dtype), 0
        return self.state.copy(), {}

    def step(self, action):
        r = np.linalg.norm(self.state)
        new = self.state * (self.dtype(1.25) if action else self.dtype(0.8))
        self.state = (new if np.linalg.norm(new) < 1 else new / np.linalg.norm(new)).astype(self.dtype)
        self.t += 1
        on_rim = np.linalg.norm(self.state) > 1 if self.strict else np.linalg.norm(self.state) >= 1
        return self.state.copy(), float(r), bool(on_rim), self.t >= 20, {}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("strict", [True, False])
def test_states_on_an_edge_are_decided_by_rounding(dtype, strict: bool) -> None:
    verdict = check_symmetry(Disc(dtype, strict), turn(1.0), **FEW)
    assert verdict.verdict == "holds", (verdict.counterexample, verdict.advice)


class Cancelling(Line):
    """Beside an ordinary number one that is zero but for rounding, and one that is constant."""

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)

    def start(self):
        x = self.np_random.normal()
        return np.array([x, 0.0, 7.0, 1e3 * x])

    def move(self, action):
        x = self.state[0] + (0.1 if action else -0.1)
        noise = (x + 1.1) - 1.1 - x  # some 1e-17, and not odd
        self.state = np.array([x, noise, 7.0, 1e3 * x])


def test_numbers_that_are_noise_do_not_refute() -> None:
    signs = np.array([-1.0, -1.0, 1.0, -1.0])
    mirror = EnvSymmetry([-1], lambda g, x: signs * x, lambda g, a: 1 - a)
    assert verdict_of(Cancelling(), mirror) != "refuted"


class OffsetMirror(Line):
    """The mirror is at π/3, so that images are rounded; double and single precision."""

    def __init__(self, dtype=np.float64) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), dtype)
        self.dtype = dtype

    def start(self):
        return np.array([np.pi / 3 + self.np_random.normal()], dtype=self.dtype)

    def move(self, action):
        self.state = (self.state + self.dtype(0.1 if action else -0.1)).astype(self.dtype)

    def reward(self, action):
        return float((self.state[0] - np.pi / 3) ** 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_images_may_be_rounded(dtype) -> None:
    mirror = EnvSymmetry([-1], lambda g, x: (2 * np.pi / 3 - x).astype(x.dtype), lambda g, a: 1 - a)
    assert verdict_of(OffsetMirror(dtype), mirror) == "holds"


class HalfOpen(Line):
    """The episode ends at 1 but only beyond −1: no difference for a number that is never exactly ±1."""

    def ends(self):
        return bool(self.state[0] >= 1 or self.state[0] < -1)


def test_half_open_intervals_of_continuous_numbers_hold() -> None:
    assert verdict_of(HalfOpen()) == "holds"


class HalfOpenGrid(HalfOpen):
    """The same on a grid, where it makes a difference; the numbers are floating-point all the same."""

    def start(self):
        return np.array([float(self.np_random.integers(-2, 3)) / 2])

    def move(self, action):
        self.state = self.state + (0.5 if action else -0.5)


def test_half_open_intervals_on_a_grid_are_refuted() -> None:
    assert verdict_of(HalfOpenGrid()) == "refuted"


class Junk(gym.Env):
    """A track of 11 cells, declared loosely: outside of it negative indices wrap around and large ones fail."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(-np.inf, np.inf, (1,), np.float64)
    heights = (5, 4, 3, 2, 1, 0, 1, 2, 3, 4, 5)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = np.array([5.0 + self.np_random.uniform(-1, 1)])
        return self.state.copy(), {}

    def step(self, action):
        x = float(np.clip(self.state[0] + (0.3 if action else -0.3), 0.2, 9.8))
        height = self.heights[int(np.floor(self.state[0] + 0.5))]
        self.state = np.array([x])
        return self.state.copy(), -float(height), False, False, {}


def test_states_that_cannot_be_reached_do_not_refute() -> None:
    mirror = EnvSymmetry([-1], lambda g, x: 10 - x, lambda g, a: 1 - a)
    verdict = check_symmetry(gym.wrappers.TimeLimit(Junk(), 40), mirror, **FEW)
    assert verdict.verdict in ("holds", "inconclusive"), verdict.counterexample
    reached = check_symmetry(gym.wrappers.TimeLimit(Junk(), 40), mirror, places="reached", **FEW)
    assert reached.verdict == "holds"


class Islands(gym.Env):
    """Cells 0…6 can be reached and are symmetric; 7…9 cannot, and are not."""

    observation_space, action_space = spaces.Discrete(10), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 3
        return self.s, {}

    def step(self, action):
        if self.s < 7:
            self.s = int(np.clip(self.s + (1 if action else -1), 0, 6))
            return self.s, float(self.s in (0, 6)), self.s in (0, 6), False, {}
        return self.s, float(self.s == 9), False, False, {}


def test_labels_that_cannot_be_reached_do_not_refute() -> None:
    mirror = EnvSymmetry([-1], lambda g, s: 6 - s if s < 7 else 16 - s, lambda g, a: 1 - a)
    verdict = check_symmetry(Islands(), mirror, **FEW)
    assert verdict.verdict == "inconclusive" and "states where it fails can be reached" in verdict.advice
    assert check_symmetry(Islands(), mirror, places="reached", **FEW).verdict == "holds"


class Hidden(gym.Env):
    """Position on a ring; the speed is hidden, and episodes start with one to the right: symmetric, but unseen."""

    observation_space, action_space = spaces.Discrete(8), spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._x, self._v, self.t = int(self.np_random.integers(8)), 1, 0
        return self._x, {}

    def step(self, action):
        if self.np_random.random() < 0.3:
            self._v = 1 if action else -1
        self._x, self.t = (self._x + self._v) % 8, self.t + 1
        return self._x, 0.0, False, self.t >= 12, {}


def test_an_observation_that_is_not_the_state_does_not_refute() -> None:
    mirror = EnvSymmetry([-1], lambda g, x: -x % 8, lambda g, a: 1 - a)
    verdict = check_symmetry(Hidden(), mirror, samples=150)
    assert verdict.method == "visited pairs" and verdict.verdict == "inconclusive", verdict.counterexample


class Writes(Line):
    pass


def test_functions_that_write_into_what_they_get() -> None:
    def flip(g, x):
        x *= -1
        return x

    mirror = EnvSymmetry([-1], flip, lambda g, a: 1 - a)
    assert verdict_of(Writes(), mirror) == "holds"
    assert verdict_of(Writes(), replace(mirror, act_on_action=lambda g, a: a)) == "refuted"


class BoxPush(gym.Env):
    """A continuous push in the plane; the environment insists on its action space."""

    action_space = spaces.Box(-1, 1, (2,), np.float32)
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def __init__(self, corner: float = 0.0) -> None:
        self.corner = corner

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.normal(size=2)
        return self.state.copy(), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.state = self.state + 0.1 * np.asarray(action, dtype=np.float64)
        bonus = self.corner * float(action[0] > 0.98 and action[1] > 0.98)
        return self.state.copy(), float(-np.sum(self.state**2)) + bonus, False, False, {}


QUARTER = EnvSymmetry(
    [1], lambda g, x: np.array([-x[1], x[0]]), lambda g, a: np.array([-a[1], a[0]]), name="quarter turn"
)


def test_extreme_actions_are_tried() -> None:
    limited = gym.wrappers.TimeLimit(BoxPush(), 30)
    assert verdict_of(limited, QUARTER) == "holds"
    assert verdict_of(gym.wrappers.TimeLimit(BoxPush(corner=0.1), 30), QUARTER) == "refuted"


# ---------------------------------------------------------------------- false ones that look true


class ManyButtons(Line):
    """Of 300 actions, one is special."""

    action_space = spaces.Discrete(300)

    def move(self, action):
        self.state = self.state + 0.01 * (action - 149.5)

    def reward(self, action):
        return float(action == 217)


def test_every_numbered_action_is_tried() -> None:
    mirror = EnvSymmetry([-1], lambda g, x: -x, lambda g, a: 299 - a)
    assert verdict_of(ManyButtons(), mirror, samples=700) == "refuted"


class Outlier(Line):
    """Rewards of ±1, a rare one of −1e9, and a small bonus on one side."""

    def reward(self, action):
        x = float(self.state[0])
        return -1e9 if abs(x) > 4 else float(np.sign(x)) * (1 if action else -1) + (0.01 if action else 0.0)


class Drifting(Line):
    """A number of ±1e6 that moves in steps of 0.1 to one side and 0.1001 to the other."""

    def start(self):
        return self.np_random.uniform(-1e6, 1e6, size=1)

    def move(self, action):
        self.state = self.state + (0.1 if action else -0.1001)

    def reward(self, action):
        return 0.0


def test_scales_are_those_of_changes_and_not_of_outliers() -> None:
    assert verdict_of(Outlier()) == "refuted" and verdict_of(Drifting()) == "refuted"


def test_labels_are_equal_or_not() -> None:
    """A large number of cells: a cell beside the right one is a wrong one."""

    class Cells(gym.Env):
        observation_space, action_space = spaces.Discrete(10**7), spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.s, self.t = int(self.np_random.integers(10**6, 9 * 10**6)), 0
            return self.s, {}

        def step(self, action):
            self.s, self.t = self.s + (5000 if action else -5001), self.t + 1
            return self.s, 0.0, False, self.t > 9, {}

    mirror = EnvSymmetry([-1], lambda g, s: 10**7 - 1 - s, lambda g, a: 1 - a)
    assert verdict_of(Cells(), mirror) == "refuted"


def test_elements_beyond_the_generators_are_tried() -> None:
    """The generator is harmless; the elements that augmentation would use are not."""
    wrong = EnvSymmetry(
        [0],
        lambda g, x: x * [1, -1, 2][g],
        lambda g, a: a if g != 1 else 1 - a,
        elements=[0, 1, 2],
        inverse=lambda g: g,
    )
    verdict = check_symmetry(Line(), wrong, **FEW)
    assert verdict.verdict == "refuted"
    two = replace(wrong, elements=[0, 1])
    assert check_symmetry(Line(), two, **FEW).verdict == "holds"
    forgot = replace(two, act_on_action=lambda g, a: a, act_on_observation=lambda g, x: x * [1, -1][g], inverse=None)
    assert check_symmetry(Line(), forgot, **FEW).counterexample.text.startswith("element")


class Liar(gym.Env):
    """Has a table, but steps otherwise."""

    observation_space, action_space = spaces.Discrete(5), spaces.Discrete(2)

    def __init__(self, extra: float = 0.0, cut: bool = False, slip: float = 0.0) -> None:
        self.extra, self.cut, self.slip = extra, cut, slip
        self.P = {
            s: {a: [(1.0, min(max(s + 2 * a - 1, 0), 4), 0.0, s + 2 * a - 1 in (0, 4))] for a in (0, 1)}
            for s in range(5)
        }
        self.initial_state_distrib = np.eye(5)[2]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.s = 2
        return self.s, {}

    def step(self, action):
        (_, s, reward, over), *_ = self.P[self.s][int(action)]
        if action == 1 and self.np_random.random() < self.slip:
            s, over = self.s, False
        self.s = s
        return s, reward + self.extra * (s > 2), over, bool(self.cut and s == 3), {}


LIAR = EnvSymmetry([-1], lambda g, s: 4 - s, lambda g, a: 1 - a)


def test_a_table_is_believed_only_if_it_is_true() -> None:
    verdict = check_symmetry(Liar(), LIAR, **FEW)
    assert verdict.verdict == "holds" and verdict.method == "table"
    for lie, part in (({"extra": 0.1}, "reward"), ({"cut": True}, "truncation"), ({"slip": 0.3}, "dynamics")):
        verdict = check_symmetry(Liar(**lie), LIAR, **FEW)
        assert verdict.verdict == "refuted" and verdict.components[part].verdict == "refuted", lie
        assert verdict.method != "table" and verdict.notes


def test_a_table_is_judged_where_it_can_be_reached() -> None:
    walled = ["SFHF", "FFHF", "HHHF", "FFFF"]  # the goal is missing, the right part cannot be reached, and is lopsided
    flip = known.frozenlake_transposition(4)
    env = gym.make("FrozenLake-v1", desc=[row.replace("S", "S") for row in walled])
    env.unwrapped.P[3][0] = [(1.0, 3, 5.0, False)]
    verdict = check_symmetry(env, flip)
    assert verdict.verdict == "holds" and verdict.exhaustive
    assert sum(verdict.coverage["places"]["table"]["skipped"].values()) > 0


class Turns(Line):
    """Every step takes the state by a random amount whose sign and size go together, on one side only."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def start(self):
        return self.np_random.normal(size=2)

    def move(self, action):
        a, b = self.np_random.normal(size=2)
        if self.state[0] > 0:
            b = np.sign(a) * abs(b)
        self.state = 0.9 * self.state + 0.1 * np.array([a, b])

    def reward(self, action):
        return 0.0


def test_what_numbers_do_together_is_compared() -> None:
    assert verdict_of(Turns()) == "refuted"


class Memory(Line):
    """The reward depends on the last action, which nobody can read or set."""

    def start(self):
        self._last = 0
        return super().start()

    def reward(self, action):
        paid, self._last = float(self._last == 1 and action == 1), action
        return paid


def test_what_is_hidden_leaves_the_question_open() -> None:
    verdict = check_symmetry(Memory(), MIRROR, samples=300)
    assert verdict.verdict == "inconclusive" and "reproduce" in verdict.advice


class Corridor(gym.Env):
    """A corridor whose ends random steps do not reach, and whose state cannot be set; the prize is on the right."""

    observation_space, action_space = spaces.Discrete(41), spaces.Discrete(2)

    def __init__(self, both: bool = False) -> None:
        self.both = both

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hidden = SimpleNamespace(x=20, t=0)  # not among the attributes that are numbers
        return self.hidden.x, {}

    def step(self, action):
        inside = self.hidden
        inside.x, inside.t = int(np.clip(inside.x + 2 * action - 1, 0, 40)), inside.t + 1
        won = inside.x == 40 or (self.both and inside.x == 0)
        return inside.x, float(won), won, inside.t >= 40, {}


def test_habits_lead_where_chance_does_not() -> None:
    mirror = EnvSymmetry([-1], lambda g, s: 40 - s, lambda g, a: 1 - a)
    verdict = check_symmetry(Corridor(), mirror, samples=120)
    assert verdict.method == "visited pairs" and verdict.verdict == "refuted"
    assert check_symmetry(Corridor(both=True), mirror, samples=120).verdict != "refuted"


def test_images_outside_the_space_refute_where_states_cannot_be_set() -> None:
    class Short(Corridor):
        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self._x = 5
            return self._x, {}

    verdict = check_symmetry(Short(), EnvSymmetry([-1], lambda g, s: 3 - s, lambda g, a: 1 - a), samples=60)
    assert verdict.verdict == "refuted" and verdict.coverage["space_mismatch"] > 0.5


class Late(Line):
    """One-sided rewards in the last tenth of a long episode; the clock is not part of the state."""

    def move(self, action):
        self.state = 0.9 * self.state + (0.1 if action else -0.1)

    def step(self, action):
        x, _, _, _, info = super().step(action)
        return x, float(self.t > 450 and action == 1), False, False, info


@pytest.mark.parametrize("samples", [120, 500])
def test_what_a_clock_does_late_is_seen(samples: int) -> None:
    late = gym.wrappers.TimeLimit(Late(), 500)
    verdict = check_symmetry(late, MIRROR, samples=samples, max_failure_rate=0.05)
    assert verdict.verdict != "holds" and verdict.coverage["longest"] > 450


# ---------------------------------------------------------------------- how often a true symmetry is refuted


class Wobble(Line):
    """Noise and an even reward with a coin in it: many tests, all of them of equal laws."""

    def move(self, action):
        self.state = 0.9 * self.state + (0.1 if action else -0.1) + 0.3 * self.np_random.normal(size=1)

    def reward(self, action):
        return float(self.np_random.random() < 0.3)

    def ends(self):
        return bool(abs(self.state[0]) > 1.5)


@pytest.mark.slow
def test_true_symmetries_are_rarely_refuted() -> None:
    """At a confidence of 0.8, at most a fifth of the checks may refute: of 15 hardly more than 7."""
    refuted = sum(
        check_symmetry(Wobble(), MIRROR, samples=40, confidence=0.8, places="walk", seed=seed).verdict == "refuted"
        for seed in range(15)
    )
    assert refuted <= 7


@pytest.mark.slow
@pytest.mark.parametrize("open_", [True, False])
def test_true_symmetries_are_rarely_refuted_many_seeds(open_: bool) -> None:
    """The bound is 1 − confidence; the excess over it must be within three standard errors."""
    from tests.canonical.test_check import LAKE, Bare

    confidence, count = 0.9, 100
    refuted = 0
    for seed in range(count):
        env, symmetry = (Wobble(), MIRROR) if open_ else (Bare(open_=False), LAKE)
        verdict = check_symmetry(env, symmetry, samples=60, confidence=confidence, places="walk", seed=seed)
        refuted += verdict.verdict == "refuted"
    assert refuted <= count * (1 - confidence) + 3 * np.sqrt(count * confidence * (1 - confidence))
