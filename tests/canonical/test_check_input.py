"""``check_symmetry`` with what others write: wrappers, containers, types, failing functions, groups that are none."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import RecordEpisodeStatistics, TransformReward

from burnside._wrappers import transparent
from burnside.canonical import AugmentedEnv, EnvSymmetry, SignFlip, check_symmetry, known
from burnside.canonical.base import largest_gap, leaves
from burnside.canonical.checking.tolerance import Ruler
from burnside.cli import main
from burnside.errors import InvalidAction, InvalidParameter

LAKE = ["SFFF", "FHFF", "FFHF", "FFFG"]
FEW = {"samples": 80, "max_failure_rate": 0.1}  # quick, and enough for a promise of 10 %


# ---------------------------------------------------------------------- wrappers around a table


class Biased(gym.Wrapper):
    def step(self, action):
        seen, reward, *rest = self.env.step(action)
        return seen, float(reward) + float(action == 0), *rest


class Turned(gym.ActionWrapper):
    def action(self, action):
        return (action + 1) % 4


@pytest.mark.parametrize("wrapper", [Biased, Turned])
@pytest.mark.parametrize("slippery", [True, False])
def test_wrappers_are_judged_too(wrapper, slippery: bool) -> None:
    lake = gym.make("FrozenLake-v1", desc=LAKE, is_slippery=slippery)
    assert transparent(lake) and transparent(lake.unwrapped) and transparent(RecordEpisodeStatistics(lake))
    assert not transparent(wrapper(lake)) and not transparent(RecordEpisodeStatistics(wrapper(lake)))
    verdict = check_symmetry(wrapper(lake), known.frozenlake_transposition(4), samples=100)
    assert verdict.verdict == "refuted" and verdict.method == ("two-sample" if slippery else "deterministic")


def test_wrappers_that_keep_the_symmetry_pass() -> None:
    lake = gym.make("FrozenLake-v1", desc=LAKE, is_slippery=False)
    flip = known.frozenlake_transposition(4)
    assert check_symmetry(RecordEpisodeStatistics(lake), flip).exhaustive
    verdict = check_symmetry(TransformReward(lake, lambda r: 2 * r), flip, samples=100)
    assert verdict.ok and verdict.method == "deterministic" and verdict.exhaustive, "all states and actions were tried"


# ---------------------------------------------------------------------- containers and types


class Two(gym.Env):
    """Agent and goal on a ring of 7, as a dictionary; it slips if ``slip``."""

    observation_space = spaces.Dict({"pos": spaces.Discrete(7), "goal": spaces.Discrete(7)})
    action_space = spaces.Discrete(2)

    def __init__(self, slip: float = 0.0) -> None:
        self.slip = slip

    def _seen(self):
        return {"pos": self.pos, "goal": self.goal}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.pos, self.goal = (int(k) for k in self.np_random.integers(7, size=2))
        return self._seen(), {}

    def step(self, action):
        self.pos = (self.pos + (1 if (action == 1) ^ (self.np_random.random() < self.slip) else -1)) % 7
        return self._seen(), float(self.pos == self.goal), self.pos == self.goal, False, {}


def _put(env, state) -> None:
    env.unwrapped.pos, env.unwrapped.goal = (int(k) for k in state)


TURN = EnvSymmetry([1], lambda g, x: {"goal": (x["goal"] + g) % 7, "pos": (x["pos"] + g) % 7}, lambda g, a: a)


def test_dictionaries_are_matched_by_key() -> None:
    assert largest_gap({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}) == 0
    assert largest_gap({"b": {"c": 2}}, {"b": {"d": 2}}) == np.inf
    assert [int(k) for k in leaves({"b": 2, "a": 1})] == [1, 2]
    settable = replace(
        TURN,
        get_state=lambda env: (env.unwrapped.pos, env.unwrapped.goal),
        set_state=_put,
        act_on_state=lambda g, s: ((s[0] + g) % 7, (s[1] + g) % 7),
    )
    assert check_symmetry(Two(), settable, **FEW).ok
    assert check_symmetry(Two(), TURN, **FEW).ok


class Ring(gym.Env):
    """A ring of 6 with slips and a prize at 0; ``open_`` shows the state."""

    observation_space, action_space = spaces.Discrete(6), spaces.Discrete(2)

    def __init__(self, open_: bool) -> None:
        self.open = open_

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.hidden = SimpleNamespace()  # not among the attributes that are numbers
        self._p, self.t = int(self.np_random.integers(6)), 0
        return self._p, {}

    @property
    def _p(self):
        return self.hidden.p

    @_p.setter
    def _p(self, value):
        self.hidden.p = value

    @property
    def s(self):
        return self._p if self.open else None

    @s.setter
    def s(self, value):
        self._p = value

    def step(self, action):
        self._p = (self._p + (1 if (action == 1) ^ (self.np_random.random() < 0.2) else -1)) % 6
        self.t += 1
        return self._p, float(self._p == 0), False, self.t > 20, {}


@pytest.mark.parametrize("open_", [True, False])
@pytest.mark.parametrize("kind", [int, np.int32, np.uint8, float, np.float32, np.asarray])
def test_the_type_of_a_number_does_not_matter(kind, open_: bool) -> None:
    mirror = EnvSymmetry([1], lambda g, x: kind(-x % 6), lambda g, a: kind(1 - a))
    verdict = check_symmetry(Ring(open_), mirror, **FEW)
    assert verdict.ok and verdict.method == ("two-sample" if open_ else "visited pairs")
    wrong = replace(mirror, act_on_observation=lambda g, x: kind((x + 1) % 6), act_on_action=lambda g, a: a)
    assert check_symmetry(Ring(open_), wrong, **FEW).verdict == "refuted"


class Grid(gym.Env):
    """A grid whose rows and columns are indices, in a container of some kind."""

    observation_space, action_space = spaces.MultiDiscrete([3, 5]), spaces.Discrete(4)
    walls = np.array([[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [0, 0, 0, 0, 0]])

    def __init__(self, kind, bonus: float = 0.0) -> None:
        self.kind, self.bonus = kind, bonus

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.kind((2, int(self.np_random.integers(5))))
        return np.array(self.state), {}

    def step(self, action):
        assert isinstance(self.state, type(self.kind((0, 0))))
        row, column = self.state
        down, right = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
        to = min(max(row + down, 0), 2), min(max(column + right, 0), 4)
        if self.walls[to]:
            to = row, column
        self.state = self.kind(to)
        return np.array(self.state), float(to == (0, 2)) + self.bonus * (to == (0, 4)), to == (0, 2), False, {}


@pytest.mark.parametrize("kind", [tuple, list, np.array])
@pytest.mark.parametrize("image", [np.array, list, tuple, lambda x: np.array(x, float)])
def test_states_keep_their_container_and_type(kind, image) -> None:
    mirror = EnvSymmetry([1], lambda g, x: image([x[0], 4 - x[1]]), lambda g, a: [0, 1, 3, 2][a])
    verdict = check_symmetry(Grid(kind), mirror, **FEW)
    assert verdict.ok and verdict.method == "deterministic"
    assert check_symmetry(Grid(kind, bonus=0.1), mirror, samples=300).verdict == "refuted"


class Point(gym.Env):
    """A point in the plane; ``step_`` says what a step returns."""

    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)

    def __init__(self, step_, action_space=None) -> None:
        self.step_, self.action_space = step_, action_space or spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.normal(size=2)
        return self.state.astype(np.float32), {}

    def step(self, action):
        return self.step_(self, action)


def _move(env, by, reward=0.0):
    env.state = env.state + by
    return env.state.astype(np.float32), reward, False, False, {}


BOX = spaces.Box(-1, 1, (2,), np.float32)


@pytest.mark.parametrize(
    ("space", "by", "act"),
    [
        (spaces.Tuple((spaces.Discrete(2), BOX)), lambda a: a[0] * a[1], lambda g, a: (a[0], -a[1])),
        (spaces.Tuple((spaces.Discrete(2), BOX)), lambda a: a[0] * a[1], lambda g, a: [a[0], -a[1]]),
        (spaces.Dict({"k": spaces.Discrete(2), "v": BOX}), lambda a: a["k"] * a["v"], lambda g, a: a | {"v": -a["v"]}),
        (spaces.MultiDiscrete([3, 3]), lambda a: np.asarray(a) - 1, lambda g, a: (2 - a).tolist()),
    ],
)
def test_actions_with_parts(space, by, act) -> None:
    mirror = EnvSymmetry([-1], lambda g, x: -x, act)
    assert check_symmetry(Point(lambda env, a: _move(env, by(a)), space), mirror, **FEW).ok
    unmoved = replace(mirror, act_on_action=lambda g, a: a)
    assert check_symmetry(Point(lambda env, a: _move(env, by(a)), space), unmoved, samples=50).verdict == "refuted"


# ---------------------------------------------------------------------- what fails, in one sentence

SAME = EnvSymmetry([1], lambda g, x: x, lambda g, a: a)


def test_a_reward_may_be_an_array_of_one() -> None:
    assert check_symmetry(Point(lambda env, a: _move(env, a, np.array([1.0]))), SAME, **FEW).ok


@pytest.mark.parametrize(
    ("step", "word"),
    [
        (lambda env, a: 1 / 0, "step of the environment fails: ZeroDivisionError"),
        (lambda env, a: (env.state, 0.0, False, {}), "not 4 values"),
        (lambda env, a: _move(env, a, None), "one number as reward, got None"),
        (lambda env, a: _move(env, a, np.zeros(2)), "one number as reward"),
        (lambda env, a: None, "not a NoneType"),
    ],
)
def test_failing_environments(step, word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        check_symmetry(Point(step), SAME, samples=20)


def test_failing_resets_and_symmetries() -> None:
    class Never(Point):
        def reset(self, *, seed=None, options=None):
            raise ValueError("no")

    with pytest.raises(InvalidParameter, match="reset of the environment fails: ValueError: no"):
        check_symmetry(Never(_move), SAME, samples=20)
    for name in ("act_on_observation", "act_on_action"):
        with pytest.raises(InvalidParameter, match=f"{name} of G fails: IndexError"):
            check_symmetry(Point(_move), replace(SAME, **{name: lambda g, x: [][0]}), samples=20)
    with pytest.raises(InvalidParameter, match="the canonical form fails: TypeError"):
        check_symmetry(Point(_move), SAME, samples=20, canonicalizer=3)


def test_the_command_says_so_and_exits_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "my_failing.py").write_text(
        "import gymnasium as gym\n"
        "from burnside.canonical import EnvSymmetry\n"
        "class Broken(gym.Env):\n"
        "    observation_space = action_space = gym.spaces.Discrete(2)\n"
        "    def reset(self, *, seed=None, options=None):\n        return 0, {}\n"
        "    def step(self, action):\n        raise RuntimeError('out of order')\n"
        "same = EnvSymmetry([1], lambda g, x: x, lambda g, a: a)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert main(["check", "my_failing:Broken", "--symmetry", "my_failing:same"]) == 2
    said = capsys.readouterr()
    assert "RuntimeError: out of order (my_failing.py, line 8)" in said.err and "Traceback" not in said.err


# ---------------------------------------------------------------------- the group, and the form's undo

MIRROR = EnvSymmetry([-1], lambda g, x: g * x, lambda g, a: a if g == 1 else 1 - a, name="mirror")
FLIPS_ALWAYS = replace(MIRROR, act_on_action=lambda g, a: 1 - a)
RIGHT, WRONG = (SignFlip([-1] * 4, actions=actions, order=[2, 3, 0, 1]) for actions in ([1, 0], [0, 1]))


@pytest.mark.parametrize("elements", [None, [1, -1]])
def test_undo_is_checked_with_and_without_elements(elements) -> None:
    mirror = replace(MIRROR, elements=elements)
    verdict = check_symmetry("CartPole-v1", mirror, canonicalizer=WRONG, samples=50)
    assert not verdict.ok and "whose image is" in verdict.counterexample.text
    verdict = check_symmetry("CartPole-v1", mirror, canonicalizer=RIGHT, **FEW)
    assert verdict.ok and verdict.canonical_checked >= 80


def test_undo_may_use_any_element_that_fixes_the_observation() -> None:
    """At an observation that is its own image, either action is a right one; in a group too large to list, unknown."""
    from burnside.canonical.checking.canonicity import check_form

    class Whim(SignFlip):
        def undo(self, action, g):
            return 1 - action if np.asarray(g) < 0 else action

        def __call__(self, x):
            self.turn = -getattr(self, "turn", -1)
            return np.asarray(x), np.array(self.turn)

    form, space = Whim([-1] * 2, actions=[1, 0]), spaces.Discrete(2)
    ruler = Ruler(1e-6, np.ones(2), 1.0, np.zeros(2, dtype=bool))
    found = check_form(form, MIRROR, [np.zeros(2)] * 4, space, np.random.default_rng(0), ruler)
    assert found == (4, None)
    shift = EnvSymmetry([1], lambda g, x: x + g, lambda g, a: a)  # infinite

    class ToZero:
        def __call__(self, x):
            return 0 * x, -x

        def act(self, g, x):
            return x + g

        def undo(self, action, g):
            return action if g % 2 else 1 - action

    single = Ruler(1e-6, np.ones(1), 1.0, np.zeros(1, dtype=bool))
    assert check_form(ToZero(), shift, [np.array(3)], space, np.random.default_rng(0), single) == (0, None)


def test_elements_need_an_identity_and_a_right_inverse() -> None:
    for wrong, word in (
        (replace(FLIPS_ALWAYS, elements=[1, -1]), "no element of mirror leaves observations and actions alone"),
        (replace(MIRROR, elements=[-1]), "the identity is missing"),
        (replace(MIRROR, inverse=lambda g: 1), "inverse of mirror is wrong"),
        (replace(MIRROR, act_on_observation=lambda g, x: -x, inverse=lambda g: 1), "inverse of mirror is wrong"),
    ):
        verdict = check_symmetry("CartPole-v1", wrong, samples=30)
        assert (
            verdict.verdict == "refuted"
            and verdict.counterexample.kind == "group"
            and word in str(verdict.counterexample)
        )
    assert check_symmetry("CartPole-v1", replace(MIRROR, elements=[1, -1], inverse=lambda g: g), **FEW).ok


def test_augmentation_refuses_elements_that_are_no_group() -> None:
    cart = gym.make("CartPole-v1")
    AugmentedEnv(cart, replace(MIRROR, elements=[1, -1], inverse=lambda g: g))
    with pytest.raises(InvalidAction, match="1 maps the action"):
        AugmentedEnv(cart, replace(FLIPS_ALWAYS, elements=[1, -1], inverse=lambda g: g))
