"""The planar tasks behind Gymnasium: contract, vector against single, the symmetry checked, pictures and films."""

import shutil
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import burnside.envs  # noqa: F401
from burnside.canonical import AugmentedEnv, CanonicalEnv, check_symmetry
from burnside.cli.check import Check
from burnside.envs.planar import PlanarSpec, expert, reset
from burnside.envs.planar.core import PlanarState
from burnside.envs.planar.env import PlanarEnv, PlanarVectorEnv, VelocitySpace
from burnside.envs.planar.render import draw_rgb, film, write_video
from burnside.envs.planar.symmetry import Motion, motions_of
from burnside.errors import InvalidAction, InvalidParameter
from burnside.symmetry.declaration import as_symmetry

IDS = ["burnside/PlanarPush-v0", "burnside/PlanarStack-v0"]
FULL = (1.0, 3.0)


@pytest.mark.filterwarnings("ignore:.*symmetric and normalized space")  # commands go to 2, beyond the clipping at 1
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
@pytest.mark.parametrize("name", IDS)
def test_check_env_passes(name: str, render_mode: str | None) -> None:
    check_env(gym.make(name, spread=FULL, render_mode=render_mode).unwrapped, skip_render_check=render_mode is None)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", IDS)
def test_vector_env_equals_single_envs(name: str, mode: AutoresetMode) -> None:
    """Step by step through autoresets by success and by time, against Gymnasium's own vectorizer."""
    options = {"horizon": 28, "spread": FULL}
    ours = gym.make_vec(name, num_envs=5, autoreset_mode=mode, **options)
    theirs = gym.make_vec(
        name, num_envs=5, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **options
    )
    assert isinstance(ours, PlanarVectorEnv) and ours.metadata["autoreset_mode"] == mode
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    x, _ = ours.reset(seed=5)
    y, _ = theirs.reset(seed=5)
    assert np.array_equal(x, y) and x.dtype == np.float32 and x in ours.observation_space
    spec, ends = ours.planar, np.zeros(2, int)
    for t in range(80):
        action = expert(spec, PlanarState(x, np.zeros(5, np.int64))).astype(np.float32)
        action[3:] = 0.3 * np.sin(t)  # two that never get there
        x, r, te, tr, info = ours.step(action)
        y, r_too, te_too, tr_too, info_too = theirs.step(action)
        assert np.array_equal(x, y) and np.array_equal(te, te_too) and np.array_equal(tr, tr_too)
        assert r.dtype == r_too.dtype and np.array_equal(r, r_too)
        assert np.array_equal(info["success"], info_too["success"])
        if "final_obs" in info_too:
            assert np.array_equal(info["_final_obs"], info_too["_final_obs"])
            assert np.array_equal(info["final_info"]["success"], info_too["final_info"]["success"])
            for i in np.flatnonzero(info["_final_obs"]):
                assert np.array_equal(info["final_obs"][i], info_too["final_obs"][i])
        ends += te.sum(), tr.sum()
        if mode == AutoresetMode.DISABLED and (te | tr).any():
            mask = te | tr
            with pytest.raises(InvalidAction, match="is over"):
                ours.step(action)
            x, _ = ours.reset(options={"reset_mask": mask})
            y, _ = theirs.reset(options={"reset_mask": mask})
            assert np.array_equal(x, y)
    assert (ends >= 3).all(), "episodes must end both ways"


def test_episodes_follow_the_seed() -> None:
    env, spec = PlanarEnv("stack", spread=FULL), PlanarSpec("stack", FULL)
    first, _ = env.reset(seed=9)
    second, _ = env.reset()
    assert np.array_equal(first, reset(spec, 9, 0).x[0]) and np.array_equal(second, reset(spec, 9, 1).x[0])
    assert np.array_equal(env.reset(seed=9)[0], first)


def test_success_is_told() -> None:
    env = gym.make("burnside/PlanarPush-v0", spread=FULL, reward="sparse")
    env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        action = expert(env.unwrapped.planar, env.unwrapped.state)[0]
        _, reward, terminated, truncated, info = env.step(action)
        total, over = total + reward, terminated or truncated
    assert terminated and info["success"] and total == 10.0


# ---------------------------------------------------------------------- symmetry


@pytest.mark.parametrize("name", IDS)
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 1e-5), ("float64", 1e-12)])
def test_motions_are_a_symmetry(name: str, dtype: str, tol: float) -> None:
    env = gym.make(name, spread=FULL, dtype=dtype)
    verdict = check_symmetry(env, env.unwrapped.symmetry, samples=100, max_failure_rate=0.05, tol=tol)
    assert verdict.ok and verdict.method == "deterministic" and verdict.checked >= 200, "walked and explored places"
    assert verdict.canonical_checked >= 200


@pytest.mark.parametrize("name", IDS)
def test_box_clipping_is_caught_with_a_counterexample(name: str) -> None:
    env = gym.make(name, spread=FULL, clip="box")
    verdict = check_symmetry(env, env.unwrapped.symmetry, samples=100, tol=1e-5)
    assert verdict.verdict == "refuted"
    symmetry, found = env.unwrapped.symmetry, verdict.counterexample
    assert "Motion(" in found.text and found.element.angle, "shifts still are symmetries"
    moves = [g for g in symmetry.generators if not g.angle]
    shifts = replace(as_symmetry(symmetry), generators=moves, elements=[Motion(0.0, 0.0, 0.0), *moves])
    assert check_symmetry(env, shifts, samples=100, max_failure_rate=0.05, tol=1e-5, places="walk").ok


def test_a_world_with_a_corner_is_caught() -> None:
    """A reward that depends on the place in the world is not invariant."""

    class Windy(PlanarEnv):
        def step(self, action):
            x, reward, *rest = super().step(action)
            return x, reward + 0.01 * float(x[0]), *rest

    env = Windy("push", spread=FULL)
    verdict = check_symmetry(env, env.symmetry, samples=100, tol=1e-5)
    assert not verdict.ok and verdict.counterexample.kind == "reward"


def test_check_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    motions = "burnside.envs.planar.symmetry:motions_of"
    assert Check("burnside/PlanarPush-v0", motions, samples=50, param=("dtype=float64",)).run() == 3, "50 decide little"
    enough = {"samples": 50, "max_failure_rate": 0.1}
    assert Check("burnside/PlanarPush-v0", motions, **enough, param=("dtype=float64",)).run() == 0
    assert Check("burnside/PlanarPush-v0", motions, samples=50, param=("clip=box",)).run() == 1
    assert "angle=" in capsys.readouterr().out


def test_declarations_fit() -> None:
    env = gym.make(IDS[0])
    assert as_symmetry(env.unwrapped.symmetry).name == "SE(2)"
    assert motions_of(env).spec == env.unwrapped.planar
    with pytest.raises(InvalidParameter, match="not a planar task"):
        motions_of(gym.make("CartPole-v1"))
    for g in env.unwrapped.symmetry.elements[:5]:
        assert np.allclose(g.inverse.matrix @ g.matrix, np.eye(3), atol=1e-14)
    assert env.unwrapped.symmetry.elements[0] == Motion()


@pytest.mark.parametrize("name", IDS)
def test_augmentation_leaves_returns_alone(name: str) -> None:
    plain, turned = gym.make(name, spread=FULL), gym.make(name, spread=FULL)
    turned = AugmentedEnv(turned, turned.unwrapped.symmetry)
    x, _ = plain.reset(seed=2)
    y, info = turned.reset(seed=2)
    g = info["group_element"]
    symmetry = plain.unwrapped.symmetry
    assert np.allclose(symmetry.act_on_observation(g, x), y, atol=1e-6) and not np.allclose(x, y, atol=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = rng.uniform(-1, 1, plain.action_space.shape).astype(np.float32)
        x, r, *_ = plain.step(action)
        y, r_too, *_ = turned.step(symmetry.act_on_action(g, action))
        assert r == pytest.approx(r_too, abs=1e-4)


def test_canonical_env_shows_the_robot_at_the_origin() -> None:
    env = CanonicalEnv(gym.make(IDS[1], spread=FULL))
    x, _ = env.reset(seed=1)
    for _ in range(5):
        assert np.allclose(x[:4], [0, 0, 1, 0], atol=1e-6)
        x, *_ = env.step(np.array([0.5, 0.5, 0.5, 0.0], np.float32))


def test_commands_come_from_a_disc() -> None:
    space = VelocitySpace(4, np.float64, seed=0)
    drawn = np.array([space.sample() for _ in range(2000)])
    radius = np.hypot(drawn[:, 0], drawn[:, 1])
    assert radius.max() <= 2 and np.mean(radius < np.sqrt(2)) == pytest.approx(0.5, abs=0.05)  # uniform on the disc
    assert all(space.contains(a) for a in drawn[:50])
    assert not space.contains(np.array([1.5, 1.5, 0, 0])) and not space.contains(np.zeros(3))
    assert not space.contains(np.array([0, 0, 2.1, 0]))


# ---------------------------------------------------------------------- pictures


@pytest.mark.parametrize("task", ["push", "stack"])
def test_pictures_show_what_is_there(task: str) -> None:
    spec = PlanarSpec(task)
    x = reset(spec, 0).x[0]
    image = draw_rgb(spec, x, 120)
    assert image.shape == (120, 120, 3) and image.dtype == np.uint8
    scale = 120 / (1.5 + 0.5)  # the window of no spread is 2 wide, from −0.5
    column, row = int((x[4] + 0.5) * scale), int((1.0 - x[5]) * scale)
    assert np.abs(image[row, column].astype(int) - [224, 122, 48]).max() <= 3, "the puck or block a, in orange"
    assert (image[0, 0] == [250, 250, 247]).all()
    moved = x.copy()
    moved[4] += 0.2
    assert not np.array_equal(draw_rgb(spec, moved, 120), image)


def test_films_are_written(tmp_path: Path) -> None:
    from PIL import Image

    spec = PlanarSpec("stack", FULL)
    frames = film(spec, expert, seeds=0, episodes=[0, 1, 2], size=40, columns=2)
    assert frames[0].shape == (80, 80, 3) and len(frames) > 15
    path = write_video(tmp_path / "deep" / "film.gif", frames, fps=25)
    with Image.open(path) as film_:
        assert film_.n_frames > 15 and film_.size == (80, 80) and film_.info["duration"] == 40
    if shutil.which("ffmpeg"):
        assert write_video(tmp_path / "film.mp4", frames).stat().st_size > 1000
    else:
        with pytest.raises(InvalidParameter, match="ffmpeg"):
            write_video(tmp_path / "film.mp4", frames)
    with pytest.raises(InvalidParameter, match="videos are"):
        write_video(tmp_path / "film.avi", frames)
    with pytest.raises(InvalidParameter, match="at least one frame"):
        write_video(tmp_path / "film.gif", [])


def test_gymnasium_can_record_it() -> None:
    env = gym.make(IDS[0], render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (240, 240, 3)
    envs = gym.make_vec(IDS[0], num_envs=2, render_mode="rgb_array")
    envs.reset(seed=0)
    assert len(envs.render()) == 2


# ---------------------------------------------------------------------- bad input


def test_bad_use_is_explained() -> None:
    env = PlanarEnv()
    with pytest.raises(InvalidAction, match="reset"):
        env.step(np.zeros(3))
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"\(1, 3\)"):
        env.step(np.zeros(4))
    with pytest.raises(InvalidAction, match="NaN"):
        env.step(np.array([0, np.nan, 0]))
    with pytest.raises(InvalidParameter, match="rgb_array"):
        PlanarEnv(render_mode="human")
    with pytest.raises(InvalidParameter, match="num_envs"):
        PlanarVectorEnv(0)
    with pytest.raises(InvalidParameter, match="one seed or 2"):
        PlanarVectorEnv(2).reset(seed=[1, 2, 3])
    with pytest.raises(InvalidParameter, match="8 numbers"):
        draw_rgb(PlanarSpec(), np.zeros(3))
