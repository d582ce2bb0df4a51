"""The Gymnasium adapters: the contract, the vector environment against the single one, autoreset, pictures."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import burnside.envs
from burnside.envs import RingEnv, RingSpec
from burnside.envs.ring.env import RingVectorEnv
from burnside.envs.ring.render import draw_ansi, draw_rgb
from burnside.errors import InvalidAction, InvalidParameter

IDS = [("burnside/Ring1D-v0", 7), ("burnside/Ring3D-v0", 5)]


def rows(x):
    return x["items"].reshape(len(x["items"]), -1) if isinstance(x, dict) else x


def same(x, y) -> bool:
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(same(x[k], y[k]) for k in x)
    return np.array_equal(x, y) and np.asarray(x).dtype == np.asarray(y).dtype


def row(x, i):
    return {k: v[i] for k, v in x.items()} if isinstance(x, dict) else x[i]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
@pytest.mark.parametrize(("name", "n"), IDS)
def test_check_env_passes(name: str, n: int, render_mode: str | None) -> None:
    check_env(gym.make(name, n=n, render_mode=render_mode).unwrapped, skip_render_check=render_mode is None)


def test_ids_work_from_a_fresh_interpreter() -> None:
    code = "import gymnasium as g; print(g.make('burnside.envs:burnside/Ring1D-v0', n=9).observation_space.shape)"
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "(18,)"
    burnside.envs.register()  # again: no warning about overriding
    assert gym.spec("burnside/Ring3D-v0").kwargs == {"d": 3}


def test_core_works_without_gymnasium_and_adapters_say_what_is_missing() -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import importlib.util as u; f = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'gymnasium' else f(name, *a)\n"
        "import burnside.envs as e\n"
        "from burnside.envs.ring.core import RingSpec, initial; from burnside.canonical import LexMin\n"
        "assert initial(RingSpec(5), 0, 0).items.shape == (1, 5)\n"
        "from burnside.errors import MissingExtra\n"
        "for get in (lambda: e.RingEnv, lambda: __import__('burnside.canonical', fromlist=['x']).CanonicalEnv):\n"
        "    try: get()\n"
        "    except MissingExtra as error: print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.count("pip install 'burnside[envs]'") == 2, found.stderr


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize(("name", "n"), IDS)
def test_vector_env_equals_single_envs(name: str, n: int, mode: AutoresetMode) -> None:
    """Step by step through several autoresets, against Gymnasium's own vectorizer around the single environment."""
    options = {"n": n, "time_limit": 9}
    ours = gym.make_vec(name, num_envs=6, autoreset_mode=mode, **options)
    theirs = gym.make_vec(
        name, num_envs=6, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    assert isinstance(ours, RingVectorEnv) and ours.metadata["autoreset_mode"] == mode
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    x, _ = ours.reset(seed=5)
    y, _ = theirs.reset(seed=5)
    assert same(x, y) and x in ours.observation_space
    rng = np.random.default_rng(0)
    ends = 0
    for _ in range(60):
        actions = rng.integers(0, ours.single_action_space.n, 6)
        x, *scores, info = ours.step(actions)
        y, *their_scores, their_info = theirs.step(actions)
        assert same(x, y)
        for a, b in zip(scores, their_scores, strict=True):
            assert np.array_equal(a, b) and a.dtype == b.dtype
        assert info.keys() == their_info.keys()
        if "final_obs" in info:
            assert np.array_equal(info["_final_obs"], their_info["_final_obs"])
            for i in np.flatnonzero(info["_final_obs"]):
                assert same(info["final_obs"][i], their_info["final_obs"][i])
        over = scores[1] | scores[2]
        ends += over.sum()
        if mode == AutoresetMode.DISABLED and over.any():
            with pytest.raises(InvalidAction, match="autoreset is disabled"):
                ours.step(actions)
            x, _ = ours.reset(options={"reset_mask": over.copy()})
            y, _ = theirs.reset(options={"reset_mask": over.copy()})
            assert same(x, y)
    assert ends > 12


def test_seeding() -> None:
    env = RingEnv(n=10)
    first = [env.reset(seed=4)[0], env.reset()[0], env.reset()[0]]
    again = [env.reset(seed=4)[0], env.reset()[0], env.reset()[0]]
    assert all(same(a, b) for a, b in zip(first, again, strict=True))
    assert not same(first[0], first[1]) and not same(first[0], env.reset(seed=5)[0])
    assert not same(RingEnv(n=30).reset()[0], RingEnv(n=30).reset()[0])  # no seed: not always the same game
    envs = RingVectorEnv(num_envs=3, n=30)
    assert len(np.unique(rows(envs.reset()[0]), axis=0)) == 3
    listed, _ = envs.reset(seed=[9, 4, 9])
    assert same(listed[0], listed[2]) and same(listed[1], RingEnv(n=30).reset(seed=4)[0])


def test_terminated_and_truncated_are_kept_apart() -> None:
    env = RingEnv(n=5, p_mine=0.0, time_limit=3)
    kinds = set()
    for seed in range(40):
        env.reset(seed=seed)
        for t in range(1, 4):
            _, reward, terminated, truncated, _ = env.step(3)
            assert (reward == 10) == terminated and truncated == (t == 3 and not terminated)
            if terminated or truncated:
                kinds.add((t, terminated, truncated))
                break
    assert (3, True, False) in kinds and (3, False, True) in kinds


@pytest.mark.parametrize("action", [4, -1, 1.5, "left", None])
def test_bad_actions_are_refused(action: object) -> None:
    env = RingEnv(n=5)
    with pytest.raises(InvalidAction, match="reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(InvalidAction):
        env.step(action)


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="render_mode"):
        RingEnv(render_mode="human")
    with pytest.raises(InvalidParameter, match="num_envs"):
        RingVectorEnv(num_envs=0)
    envs = RingVectorEnv(num_envs=2)
    with pytest.raises(InvalidParameter, match="one seed or 2"):
        envs.reset(seed=[1, 2, 3])
    with pytest.raises(InvalidParameter, match="reset_mask"):
        envs.reset(options={"reset_mask": np.zeros(2, bool)})


@pytest.mark.parametrize("n", [5, 10, 18, 30, 50, 77])
def test_text_shows_every_cell(n: int) -> None:
    items = np.zeros(n, int)
    items[[1, 2]], items[n - 1] = -1, 1
    drawing = draw_ansi(RingSpec(n), items, 2).rsplit("\n", 1)[0]
    assert (drawing.count("o"), drawing.count("x"), drawing.count("$")) == (n - 3, 2, 1)
    assert drawing.count("[x]") == 1


def test_text_shows_the_slices() -> None:
    items = np.zeros(125, int)
    items[[0, 60]], items[124] = -1, 1
    lines = draw_ansi(RingSpec(5, d=3), items, 124).splitlines()
    assert lines[0].startswith(" x ") and lines[4].endswith("[$]") and lines[0].count("|") == 4


def test_pictures() -> None:
    items = np.zeros(10, int)
    items[2], items[9] = -1, 1
    picture = draw_rgb(RingSpec(10), items, 5)
    assert picture.shape == (240, 240, 3) and picture.dtype == np.uint8
    angle = 2 * np.pi * np.arange(10) / 10
    y, x = 120 - 0.38 * 240 * np.cos(angle), 120 + 0.38 * 240 * np.sin(angle)
    centres = picture[np.rint(y).astype(int), np.rint(x).astype(int)]
    assert centres[0].tolist() == [223, 223, 223]
    assert centres[2].tolist() == [255, 115, 115] and centres[9].tolist() == [115, 255, 115]
    blue = (picture.astype(int) - [31, 90, 220]).__abs__().sum(axis=2) < 3
    assert 100 < blue.sum() < 2000  # the agent, once
    assert abs(np.argwhere(blue).mean(axis=0) - [y[5], x[5]]).max() < 3
    assert draw_rgb(RingSpec(5, d=3), np.zeros(125, int), 0).shape == (240, 1200, 3)
    frames = RingVectorEnv(num_envs=2, n=5, render_mode="rgb_array")
    frames.reset(seed=0)
    assert len(frames.render()) == 2


def test_returns_of_a_random_policy_in_three_dimensions() -> None:
    """The uniform random policy is near −38 on the 3D game with N = 5."""
    envs = RingVectorEnv(num_envs=2000, n=5, d=3, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    from burnside.envs.ring.core import transition

    rng, state = np.random.default_rng(0), envs.state
    total, over = np.zeros(2000), np.zeros(2000, bool)
    for _ in range(100):
        state, reward, terminated, truncated = transition(state, rng.integers(0, 64, 2000))
        total += np.where(over, 0, reward)
        over |= terminated | truncated
    assert over.all() and -43 < total.mean() < -33
