"""The Gymnasium adapter: the contract, scrambles, goals, canonical wrapper, what it refuses."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import burnside.envs.cube
from burnside.canonical import CanonicalEnv, check_symmetry
from burnside.envs.cube import CubeEnv, CubeSpec, CubeSymmetry, apply_moves, scramble, solved
from burnside.errors import InvalidAction, InvalidModel, InvalidParameter, NotVerified, UnknownName


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "options", [{"n": 2}, {"n": 3, "render_mode": "ansi"}, {"n": 4, "turns": "slices"}, {"observation": "one-hot"}]
)
def test_check_env_passes(options: dict) -> None:
    check_env(gym.make("burnside/Cube-v0", **options).unwrapped, skip_render_check="render_mode" not in options)


def test_id_works_from_a_fresh_interpreter() -> None:
    code = "import gymnasium as g; print(g.make('burnside.envs.cube:burnside/Cube-v0', n=4).observation_space.shape)"
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "(96,)"
    burnside.envs.register()  # again: no warning about overriding


def test_core_works_without_gymnasium_and_the_adapter_says_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import importlib.util as u; f = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'gymnasium' else f(name, *a)\n"
        "import burnside.envs.cube as c; from burnside.errors import MissingExtra\n"
        "assert c.scramble(c.CubeSpec(2), 0, 3)[0].shape == (1, 24)\n"
        "assert not {'numba', 'torch'} & set(sys.modules)\n"
        "try: c.CubeEnv\n"
        "except MissingExtra as error: print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "burnside[envs]" in found.stdout


def test_scrambles_are_reproducible_and_undone_by_their_inverse() -> None:
    env = CubeEnv(3, scramble=(3, 8))
    first = [env.reset(seed=5), env.reset(), env.reset()]
    again = [env.reset(seed=5), env.reset(), env.reset()]
    for (x, info), (y, other) in zip(first, again, strict=True):
        assert np.array_equal(x, y) and info == other
        assert np.array_equal(x, apply_moves(env.cube, solved(env.cube), info["scramble"]))
        assert 3 <= len(info["scramble"].split()) <= 9
    assert len({info["scramble"] for _, info in first}) == 3
    turns = env.cube.parse(first[2][1]["scramble"])
    env.reset(seed=5), env.reset(), env.reset()
    for action in reversed(turns):
        _, reward, terminated, truncated, _ = env.step(action ^ 1)
        assert reward == -1.0 and not truncated
    assert terminated


def test_never_starts_in_a_goal_and_truncates() -> None:
    env = CubeEnv(2, scramble=2, time_limit=1)
    for seed in range(60):
        x, info = env.reset(seed=seed)
        assert len(info["scramble"].split()) >= 2
        assert any((face != face[0]).any() for face in x.reshape(6, 4))
    env.reset(options={"state": apply_moves(CubeSpec(2), solved(CubeSpec(2)), "R U")})
    assert env.step(0)[2:4] == (False, True)


def test_canonical_wrapper_and_check() -> None:
    env = CanonicalEnv(CubeEnv(3, scramble=4))
    x, _ = env.reset(seed=1)
    form = env.unwrapped.canonicalizer
    assert np.array_equal(form(x)[0], x)
    assert form.symmetry.name == "conjugation+mirror"
    verdict = check_symmetry(lambda: CubeEnv(3, scramble=2), form.symmetry, samples=100, max_failure_rate=0.05)
    assert verdict.ok and verdict.method == "deterministic"
    wrong = CubeSymmetry(CubeSpec(2, goal="fixed"), "position")
    found = check_symmetry(lambda: CubeEnv(2, goal="fixed", scramble=1, time_limit=3), wrong, samples=100)
    assert found.verdict == "refuted"
    assert all(form.symmetry.act(form.symmetry.inverse(g), form.act(g, x)).tolist() == x.tolist() for g in range(48))


def test_drawing_and_options() -> None:
    env = CubeEnv(3, render_mode="ansi")
    with pytest.raises(InvalidAction, match="reset"):
        env.render()
    state = scramble(CubeSpec(3), 3, 9)[0][0]
    x, info = env.reset(options={"state": state})
    assert np.array_equal(x, state) and info["scramble"] is None
    assert env.render().count("\x1b[0m") == 54


def test_bad_parameters() -> None:
    for options, error in [
        ({"n": 1}, InvalidParameter),
        ({"scramble": 0}, InvalidParameter),
        ({"scramble": (5, 2)}, InvalidParameter),
        ({"time_limit": 0}, InvalidParameter),
        ({"observation": "pixels"}, InvalidParameter),
        ({"render_mode": "human"}, InvalidParameter),
        ({"goal": "any"}, UnknownName),
        ({"symmetry": "rotation"}, UnknownName),
        ({"symmetry": "conjugation+inverse"}, NotVerified),
    ]:
        with pytest.raises(error):
            CubeEnv(**options)
    env = CubeEnv(3)
    with pytest.raises(InvalidAction, match="before reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="0 to 11"):
        env.step(12)
    with pytest.raises(InvalidModel, match="each colour"):
        env.reset(options={"state": np.zeros(54, np.uint8)})
    with pytest.raises(InvalidParameter, match="stickers"):
        _ = CubeEnv(3, observation="one-hot").canonicalizer
