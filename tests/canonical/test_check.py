"""``check_symmetry`` catches wrong symmetries in anybody's environment and lets right ones pass; so does the CLI."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

import burnside.envs  # noqa: F401
from burnside.canonical import EnvSymmetry, EnvVerdict, SignFlip, check_symmetry, known
from burnside.cli.check import Check
from burnside.errors import InvalidParameter
from burnside.mdp import Verdict

SYMMETRIC = ["SFFF", "FHFF", "FFHF", "FFFG"]
CART = known.cartpole_reflection()
FEW = {"samples": 120, "max_failure_rate": 0.05}  # quick, and enough for a promise of 5 %
LAKE = known.frozenlake_transposition(4)


def lake(desc: list[str] | None = SYMMETRIC, **options) -> gym.Env:
    return gym.make("FrozenLake-v1", desc=desc, **options)


class Bare(gym.Env):
    """FrozenLake without its table; ``open`` shows its state, else nothing but observations."""

    def __init__(self, desc: list[str] | None = SYMMETRIC, open_: bool = True) -> None:
        self.inside = lake(desc).unwrapped
        self.observation_space, self.action_space = self.inside.observation_space, self.inside.action_space
        self.open = open_

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.inside.reset(seed=seed)

    def step(self, action):
        return self.inside.step(action)

    @property
    def s(self):
        return int(self.inside.s) if self.open else None

    @s.setter
    def s(self, value):
        self.inside.s = value


class Drift(gym.Env):
    """A point on a line with Gaussian noise of a scale that may depend on the side; pushes −1, 0, 1."""

    def __init__(self, lopsided: float = 0.0) -> None:
        self.lopsided = lopsided
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (1,), np.float64)
        self.action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state = self.np_random.normal(size=1)
        return self.state.copy(), {}

    def step(self, action):
        noise = self.np_random.normal(size=1) * (1 + self.lopsided * (self.state > 0))
        self.state = self.state + (action - 1) + noise
        return self.state.copy(), -float(self.state[0] ** 2), bool(abs(self.state[0]) > 10), False, {}


MIRROR = EnvSymmetry([-1], lambda g, x: g * x, lambda g, a: 2 - a, name="mirror")


# ---------------------------------------------------------------------- right ones pass


def test_cartpole_reflection_holds() -> None:
    verdict = check_symmetry("CartPole-v1", CART, samples=600)
    assert isinstance(verdict, EnvVerdict) and isinstance(verdict, Verdict) and verdict
    assert (verdict.verdict, verdict.method, verdict.exhaustive, verdict.eps_r) == ("holds", "deterministic", False, 0)
    assert verdict.failure_rate == pytest.approx(1 - 0.01 ** (1 / 600))
    assert verdict.canonical_checked == 500 and verdict.counterexample is None
    assert list(verdict.components) == ["dynamics", "reward", "termination", "truncation", "reset"]
    assert {part.verdict for part in verdict.components.values()} == {"holds"}


@pytest.mark.parametrize("slippery", [True, False])
def test_frozenlake_transposition_holds_on_symmetric_maps(slippery: bool) -> None:
    verdict = check_symmetry(lambda: lake(is_slippery=slippery), LAKE)
    assert verdict.ok and verdict.exhaustive and verdict.method == "table"
    assert verdict.checked == 64 and verdict.failure_rate == 0 and verdict.confidence == 1


@pytest.mark.parametrize(("name", "n", "d"), [("burnside/Ring1D-v0", 8, 1), ("burnside/Ring3D-v0", 5, 3)])
def test_ring_translations_hold(name: str, n: int, d: int) -> None:
    verdict = check_symmetry(gym.make(name, n=n), known.ring_translations(n, d), **FEW)
    assert verdict.ok and verdict.method == "deterministic" and verdict.canonical_checked >= 120
    assert verdict.components["reset"].verdict == "refuted", "the agent always starts in the same cell"


def test_stochastic_environments_without_a_table() -> None:
    verdict = check_symmetry(Bare(), LAKE, **FEW)
    assert verdict.ok and verdict.method == "two-sample" and 0 < verdict.pooled_resolution < verdict.resolution < 0.5
    verdict = check_symmetry(Drift(), MIRROR, **FEW)
    assert verdict.ok and verdict.method == "two-sample"


@pytest.mark.slow
def test_stochastic_environments_that_can_only_be_played() -> None:
    verdict = check_symmetry(Bare(open_=False), LAKE, **FEW)
    assert verdict.ok and verdict.method == "visited pairs" and verdict.checked > 20


# ---------------------------------------------------------------------- wrong ones are caught


def test_cartpole_with_the_observation_flipped_but_not_the_action() -> None:
    verdict = check_symmetry("CartPole-v1", replace(CART, act_on_action=lambda g, a: a), samples=100)
    assert verdict.verdict == "refuted" and verdict.failure_rate == 1 and verdict.counterexample.kind == "transition"
    assert "generator 0 (-1) maps" in str(verdict.counterexample)
    assert json.loads(json.dumps(verdict.to_dict()))["counterexample"]["kind"] == "transition"


@pytest.mark.parametrize(
    "signs",
    [[-1, -1, 1, 1], *(pytest.param(s, marks=pytest.mark.slow) for s in ([-1, 1, -1, 1], [1, 1, -1, -1]))],
)
def test_cartpole_with_a_part_of_the_observation_flipped(signs: list[int]) -> None:
    form = SignFlip(signs, actions=[1, 0])
    wrong = EnvSymmetry([-1], form.act, form.act_on_action, canonicalizer=form)
    assert check_symmetry("CartPole-v1", wrong, samples=100).verdict == "refuted"


def test_cartpole_with_wind() -> None:
    class Wind(gym.Wrapper):
        def step(self, action):
            x, reward, *rest = self.env.step(action)
            return x, reward + 0.01 * (x[0] > 0), *rest

    verdict = check_symmetry(Wind(gym.make("CartPole-v1")), CART, samples=200)
    assert verdict.verdict == "refuted" and verdict.counterexample.kind == "reward"
    assert verdict.eps_r == pytest.approx(0.01) and verdict.worst == "reward"
    found = {name: part.verdict for name, part in verdict.components.items()}
    assert found["reward"] == "refuted" and "refuted" not in (
        found["dynamics"],
        found["termination"],
        found["truncation"],
    )


@pytest.mark.parametrize("slippery", [True, False])
@pytest.mark.parametrize("desc", [None, ["SFFF", "FHFF", "FFHF", "FHFG"]])
def test_frozenlake_with_an_asymmetric_map(slippery: bool, desc: list[str] | None) -> None:
    verdict = check_symmetry(lake(desc, is_slippery=slippery), LAKE)
    assert verdict.verdict == "refuted" and verdict.exhaustive and verdict.eps_p > 0
    assert verdict.counterexample.kind in ("reward", "transition")


def test_frozenlake_with_wrong_actions() -> None:
    for wrong in ({"act_on_action": lambda g, a: a}, {"act_on_action": lambda g, a: a + 1}):
        assert check_symmetry(lake(), replace(LAKE, **wrong)).verdict == "refuted"
    outside = check_symmetry(lake(), replace(LAKE, act_on_observation=lambda g, x: x + 1))
    assert outside.verdict == "refuted"


@pytest.mark.parametrize(
    ("open_", "method", "samples"),
    [(True, "two-sample", 40), pytest.param(False, "visited pairs", 200, marks=pytest.mark.slow)],
)
def test_wrong_symmetries_of_stochastic_environments(open_: bool, method: str, samples: int) -> None:
    verdict = check_symmetry(Bare(None, open_), LAKE, samples=samples)
    assert verdict.verdict == "refuted" and verdict.method == method and verdict.eps_p > 0.15
    assert verdict.counterexample.here and verdict.counterexample.there, "outcomes of both sides are shown"


def test_wrong_symmetries_of_noisy_numbers() -> None:
    assert check_symmetry(Drift(lopsided=1.0), MIRROR, samples=40).verdict == "refuted"
    wrong = replace(MIRROR, act_on_action=lambda g, a: a)
    assert check_symmetry(Drift(), wrong, samples=40).verdict == "refuted"


def test_ring_with_the_board_and_the_agent_moved_in_opposite_directions() -> None:
    """App. C's (g·b)_c = b_{c+g} with q → q + g is not a symmetry of the game."""
    right = known.ring_translations(7)

    def opposite(g, state):
        moved = right.act_on_state(right.inverse(g), state)
        return replace(moved, pos=right.act_on_state(g, state).pos)

    def seen(g, x):
        return np.concatenate([right.act_on_observation(right.inverse(g), x)[:7], right.act_on_observation(g, x)[7:]])

    wrong = replace(right, act_on_state=opposite, act_on_observation=seen, canonicalizer=None)
    verdict = check_symmetry(gym.make("burnside/Ring1D-v0", n=7), wrong, samples=200)
    assert verdict.verdict == "refuted" and verdict.components["reward"].verdict == "refuted"


def test_misfits() -> None:
    verdict = check_symmetry("CartPole-v1", replace(CART, act_on_action=lambda g, a: 2), samples=20)
    assert verdict.verdict == "refuted" and verdict.counterexample.kind == "action"
    verdict = check_symmetry("CartPole-v1", replace(CART, act_on_observation=lambda g, x: x[:2]), samples=20)
    assert verdict.counterexample.kind == "observation"


@pytest.mark.parametrize(
    ("form", "word"),
    [
        (SignFlip([-1] * 4, actions=[0, 1]), "whose image is"),  # the action is not turned back
        (SignFlip([-1, -1, 1, 1], actions=[1, 0]), "differ"),  # not constant on orbits
    ],
)
def test_wrong_canonical_forms(form: SignFlip, word: str) -> None:
    verdict = check_symmetry("CartPole-v1", replace(CART, canonicalizer=form), samples=50)
    assert verdict.verdict == "refuted" and verdict.counterexample.kind == "canonical"
    assert word in verdict.counterexample.text and verdict.canonical["verdict"] == "refuted"


def test_forms_that_are_not_idempotent_or_lie_about_g() -> None:
    class Restless(SignFlip):
        def __call__(self, x):
            return self.act(-1, x), np.array(-1)

    class Liar(SignFlip):
        def __call__(self, x):
            x_bar, g = super().__call__(x)
            return x_bar, -g

    for kind, word in ((Restless, "must be itself"), (Liar, "not g·x")):
        wrong = replace(CART, canonicalizer=kind([-1] * 4, actions=[1, 0]))
        assert word in check_symmetry("CartPole-v1", wrong, samples=50).counterexample.text


# ---------------------------------------------------------------------- input


def test_any_object_with_the_attributes_serves() -> None:
    class Mine:
        generators = (-1,)

        @staticmethod
        def act_on_observation(g, x):
            return g * np.asarray(x)

        @staticmethod
        def act_on_action(g, a):
            return 1 - a

    assert check_symmetry(gym.make("CartPole-v1"), Mine(), **FEW).ok


def test_bad_input() -> None:
    with pytest.raises(InvalidParameter, match="act_on_action"):
        check_symmetry("CartPole-v1", object())
    with pytest.raises(InvalidParameter, match="cannot make"):
        check_symmetry("NoSuchEnv-v0", CART)
    with pytest.raises(InvalidParameter, match="need a Gymnasium environment"):
        check_symmetry(lambda: 3, CART)
    for options in (
        {"samples": 0},
        {"confidence": 1.0},
        {"draws": 2},
        {"tol": -1},
        {"tol": float("nan")},
        {"max_failure_rate": 0.0},
        {"places": "everywhere"},
        {"policy": 3},
        {"seed": -1},
        {"names": ["x"]},
        {"states": []},
        {"states": 3},
    ):
        with pytest.raises(InvalidParameter):
            check_symmetry("CartPole-v1", CART, **({"samples": 20} | options))
    with pytest.raises(InvalidParameter, match="vector environment"):
        check_symmetry(gym.make_vec("CartPole-v1", num_envs=2), CART)
    with pytest.raises(InvalidParameter, match="not a cyclic game"):
        known.translations_of(gym.make("CartPole-v1"))


def test_pendulum_with_its_state_described() -> None:
    """Continuous actions, and a state that is not the observation: without a word on it, nothing is decided."""
    plain = EnvSymmetry([-1], lambda g, x: (np.array([1, -1, -1]) * x).astype(np.float32), lambda g, a: -a)
    verdict = check_symmetry("Pendulum-v1", plain, samples=20)
    assert verdict.verdict == "inconclusive" and "act_on_state" in verdict.advice and verdict.checked == 0
    mirror = replace(plain, act_on_state=lambda g, s: -s)
    assert check_symmetry("Pendulum-v1", mirror, **FEW).ok
    wrong = replace(mirror, act_on_action=lambda g, a: a)
    assert check_symmetry("Pendulum-v1", wrong, **FEW).verdict == "refuted"


# ---------------------------------------------------------------------- the command


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    reflection = "burnside.canonical.known:cartpole_reflection"
    assert Check("CartPole-v1", reflection, samples=100, max_failure_rate=0.05).run() == 0
    out = capsys.readouterr().out
    assert "reflection of CartPole-v1: holds" in out and "99 % confidence at most 4.5 %" in out
    assert "truncation" in out and "reset" in out and "observation[3]" in out and "explored" in out
    assert Check("CartPole-v1", reflection, samples=100).run() == 3
    out = capsys.readouterr().out
    assert "is inconclusive" in out and "459 samples" in out
    transposition = "burnside.canonical.known:frozenlake_transposition"
    assert Check("FrozenLake-v1", transposition).run() == 1
    out = capsys.readouterr().out
    assert "transposition of FrozenLake-v1: is refuted" in out and "counter-example" in out
    assert Check("FrozenLake-v1", transposition, json=True).run() == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False and found["method"] == "table" and found["counterexample"]["text"]
    assert found["verdict"] == "refuted" and found["components"]["dynamics"]["verdict"] == "refuted"
    assert Check("FrozenLake-v1", transposition, param=(f"desc={SYMMETRIC!r}",)).run() == 0
    translations = "burnside.canonical.known:translations_of"
    options = {"samples": 50, "max_failure_rate": 0.1}
    assert Check("burnside/Ring1D-v0", translations, param=("n=6",), **options).run() == 0
    assert "Z6 of burnside/Ring1D-v0: holds" in capsys.readouterr().out


def test_command_with_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    (tmp_path / "my_walk.py").write_text(
        "import gymnasium as gym\n"
        "from burnside.canonical import EnvSymmetry\n"
        "def make(slippery=True):\n"
        "    return gym.make('FrozenLake-v1', desc=['SFF', 'FHF', 'FFG'], is_slippery=bool(slippery))\n"
        "ready = make()\n"
        "flip = EnvSymmetry([1], lambda g, s: s % 3 * 3 + s // 3, lambda g, a: 3 - a, name='flip')\n"
        "number = 3\n"
        "def needs(x):\n    return flip\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert Check("my_walk:make", "my_walk:flip").run() == 0
    assert Check("my_walk:ready", "my_walk:flip").run() == 0
    assert Check("my_walk:make", "my_walk:flip", param=("slippery=false",)).run() == 0
    out = capsys.readouterr().out
    assert "flip of my_walk:make: holds" in out and "all 36" in out
    for bad, word in (
        (Check("my_walk:ready", "my_walk:flip", param=("slippery=1",)), "made already"),
        (Check("my_walk:make", "my_walk:flip", param=("colour=1",)), "cannot be called"),
        (Check("my_walk:number", "my_walk:flip"), "must be an environment"),
        (Check("my_walk:make", "my_walk:number"), "not a symmetry"),
        (Check("my_walk:make", "my_walk:needs"), "cannot be called"),
        (Check("my_walk:make", "flip"), "module:obj"),
        (Check("my_walk", "my_walk:flip"), "neither"),
        (Check("NoSuchEnv-v3", "my_walk:flip"), "cannot make"),
        (Check("no_such_module:x", "my_walk:flip"), "cannot import"),
    ):
        with pytest.raises(InvalidParameter, match=word):
            bad.run()
