"""The Gymnasium environments: spaces, episodes, chunks, clouds and pictures."""

import gymnasium as gym
import numpy as np
import pytest

import burnside.envs  # noqa: F401  registers
from burnside.envs.manipulation.env import ManipulationEnv
from burnside.errors import InvalidAction, InvalidParameter


@pytest.mark.parametrize("name", ["StackThree", "NutAssembly"])
def test_made_by_name_with_observations_in_their_space(name: str) -> None:
    env = gym.make(f"burnside/{name}-v0")
    seen, info = env.reset(seed=100_000)
    assert env.observation_space.contains(seen) and set(seen) == {"state"}
    assert info == {"seed": 100_000, "episode": 0}
    action = env.unwrapped.sim.hold().astype(np.float32)
    seen, reward, terminated, truncated, info = env.step(action)
    assert env.observation_space.contains(seen)
    assert (reward, terminated, truncated, info["success"]) == (0.0, False, False, False)


def test_an_episode_is_truncated_at_its_limit_and_then_over() -> None:
    env = gym.make("burnside/StackThree-v0", limit=3).unwrapped
    env.reset(seed=0)
    ends = [env.step(env.sim.hold())[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    with pytest.raises(InvalidAction, match="call reset"):
        env.step(env.sim.hold())
    assert env.reset()[1]["episode"] == 1


def test_a_chunk_is_its_actions_one_by_one() -> None:
    one, many = (gym.make("burnside/StackThree-v0").unwrapped for _ in range(2))
    one.reset(seed=4)
    many.reset(seed=4)
    chunk = np.stack([one.sim.hold(1.0) + np.r_[0.01 * k, 0, -0.01 * k, np.zeros(7)] for k in range(5)])
    steps = [one.step(action)[0]["state"] for action in chunk]
    seen, reward, _, _, info = many.step_chunk(chunk, history=2)
    assert np.array_equal(seen["state"], np.stack(steps[-2:]))
    assert (reward, info["steps"]) == (0.0, 5)


def test_success_ends_the_episode_and_pays() -> None:
    from burnside.envs.manipulation.experts import make_expert

    env = gym.make("burnside/StackThree-v0", level="D0", reward=10.0).unwrapped
    env.reset(seed=0)
    expert, paid = make_expert(env.task), 0.0
    while True:
        reward, terminated, truncated = env.advance(expert.act(env.sim))
        paid += reward
        if terminated or truncated:
            break
    assert (terminated, truncated, paid) == (True, False, 10.0)


@pytest.mark.draws
def test_clouds_show_the_objects_where_they_are() -> None:
    env = gym.make("burnside/StackThree-v0", observation="cloud", points=512, wrist=True).unwrapped
    seen, _ = env.reset(seed=1)
    assert env.observation_space.contains(seen)
    assert seen["state"].shape == (11,)  # no object poses beside a cloud
    cloud = seen["cloud"]
    for index, channel in ((0, 0), (1, 1), (2, 2)):  # A is red, B green, C blue
        near = np.linalg.norm(cloud[:, :3] - env.sim.object_positions()[index], axis=1) < 0.045
        assert near.sum() >= 10
        assert np.median(cloud[near, 3:], axis=0).argmax() == channel
    assert len(np.unique(cloud[:, :3], axis=0)) > 400
    assert seen["wrist"].std() > 10  # not a blank picture
    again, _ = env.reset(seed=1)
    assert np.array_equal(again["cloud"], cloud)


@pytest.mark.draws
def test_a_chunk_draws_only_what_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    from burnside.envs.manipulation import env as module

    env = gym.make("burnside/StackThree-v0", observation="cloud", points=64).unwrapped
    env.reset(seed=0)
    drawn = []
    monkeypatch.setattr(module, "point_cloud", lambda *_: drawn.append(env.sim.steps) or np.zeros((64, 6), np.float32))
    seen = env.step_chunk(np.tile(env.sim.hold(), (8, 1)), history=2)[0]
    assert drawn == [7, 8]
    assert seen["cloud"].shape == (2, 64, 6)


def test_the_state_mode_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from burnside.envs.manipulation import env as module

    monkeypatch.setattr(module, "renderer_for", lambda *_, **__: pytest.fail("something was drawn"))
    env = gym.make("burnside/StackThree-v0").unwrapped
    env.reset(seed=0)
    env.step(env.sim.hold())


@pytest.mark.draws
def test_pictures() -> None:
    env = gym.make("burnside/NutAssembly-v0", render_mode="rgb_array").unwrapped
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (512, 512, 3) and picture.std() > 10


def test_wrong_options() -> None:
    for options, words in (
        ({"observation": "video"}, "'state' or 'cloud'"),
        ({"render_mode": "human"}, "rgb_array"),
        ({"points": 0}, "at least 1"),
        ({"level": "D7"}, "has the levels"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            ManipulationEnv("stack-three", **options)


def test_a_mujoco_that_is_too_new(monkeypatch: pytest.MonkeyPatch) -> None:
    import mujoco

    from burnside.envs.manipulation.scenes import load_robosuite

    monkeypatch.setattr(mujoco, "__version__", "4.0.0")
    with pytest.raises(InvalidParameter, match=r"mujoco==3\.3\.7"):
        load_robosuite()
