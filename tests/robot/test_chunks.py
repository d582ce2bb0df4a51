"""Chunks of the manipulation tasks: processes and checkpoints change no bit, frames are undone, demonstrations fit."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnside.agents.common.checkpoint import load, save
from burnside.agents.flow_ppo import FlowPPO, FlowPPOConfig, evaluate
from burnside.envs.manipulation import ManipulationChunks, evaluation_scenes, read_demonstrations
from burnside.envs.manipulation.chunks import manipulation_chunks
from burnside.envs.manipulation.env import ManipulationEnv
from burnside.envs.manipulation.pool import ScenePool
from burnside.envs.manipulation.tasks import find_task
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.nn.flow import FlowConfig, FlowPolicy

SAMPLE = Path(__file__).parent / "data" / "stack-three-sample.hdf5"
SEEDS, EPISODES = np.array([3, 4, 5]), np.array([0, 0, 2])


def down(rows: Any, steps: int = 4) -> np.ndarray:
    """Chunks that lower every hand by 2 cm a step, fingers open."""
    now = rows["seen/state"][:, -1]
    out = np.repeat(np.concatenate([now[:, :9], np.full((len(now), 1), -1.0)], axis=1)[:, None], steps, axis=1)
    out[..., 2] -= 0.02 * (1 + np.arange(steps))
    return out.astype(float)


@pytest.fixture(scope="module")
def pool() -> Iterator[ScenePool]:
    with ScenePool("stack-three", history=2, workers=2, symmetric=True, limit=10) as made:
        yield made


def test_rows_equal_scenes_played_alone(pool: ScenePool) -> None:
    rows = pool.begin(SEEDS, EPISODES)
    alone = ManipulationEnv("stack-three", symmetric=True, limit=10)
    first, _ = alone.reset(seed=5, options={"episode": 2})
    assert np.array_equal(rows["seen/state"][2, 1], first["state"])
    assert np.array_equal(rows["seen/state"][2, 0], first["state"])
    for _ in range(2):
        chunk = down(rows)
        rows = pool.play(rows, chunk)
        seen = alone.step_chunk(chunk[2], 2)[0]
        assert np.array_equal(rows["seen/state"][2], seen["state"])
    assert rows["steps"].tolist() == [8, 8, 8] and rows["taken"].tolist() == [4, 4, 4]
    rows = pool.play(rows, down(rows))
    assert rows["truncated"].all() and rows["taken"].tolist() == [2, 2, 2]  # the limit is 10


def test_processes_change_no_bit_even_if_one_is_killed(pool: ScenePool) -> None:
    here = ScenePool("stack-three", history=2, symmetric=True, limit=10)
    one, two = here.begin(SEEDS, EPISODES), pool.begin(SEEDS, EPISODES)
    chunk = down(one)
    before = pool.restarts
    os.kill(pool.workers[1].process.pid, signal.SIGKILL)
    one, two = here.play(one, chunk), pool.play(two, chunk)
    assert pool.restarts == before + 1
    assert one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)
    with pytest.raises(InvalidAction, match="at least 2"):
        here.play(one, chunk[:, :1])
    with pytest.raises(InvalidAction, match="finite"):
        pool.play(two, np.full_like(chunk, np.nan))
    assert np.array_equal(pool.play(two, chunk)["qpos"], here.play(one, chunk)["qpos"])  # alive after a wrong action
    with pytest.raises(InvalidParameter, match="workers"):
        ScenePool(workers=-1)


def test_frames_are_undone() -> None:
    world, hand = (ManipulationChunks("nut-assembly", frame, 2, limit=20) for frame in ("world", "gripper"))
    a, b = world.reset_batch(SEEDS, EPISODES), hand.reset_batch(SEEDS, EPISODES)
    seen = hand.observe_batch(b)["state"]
    assert seen.shape == (3, 2, 35) and world.obs_dim == 35
    np.testing.assert_allclose(seen[:, -1, :9], np.tile([0, 0, 0, 1, 0, 0, 0, 1, 0], (3, 1)), atol=1e-6)
    peg = seen[0, -1, -6:-3] - world.observe_batch(a)["state"][0, -1, -6:-3]
    assert np.abs(peg).max() > 0.1  # the pegs stand still in the world, and so not in the hand
    chunk = down(a)
    g = hand.form.history(b["seen/state"])[1]
    one, two = world.step_chunk(a, chunk), hand.step_chunk(b, np.asarray(hand.form.into(chunk, g)))
    np.testing.assert_allclose(one.state["qpos"], two.state["qpos"], atol=1e-6)
    assert one.steps.tolist() == [4, 4, 4] and not one.success.any()
    for _ in range(5):
        one = world.step_chunk(one.state, down(one.state))
    assert one.state["over"].all() and one.steps.tolist() == [0, 0, 0]  # over, so nothing is played any more
    with pytest.raises(UnknownName, match="gripper"):
        ManipulationChunks("stack-three", "robot")


def test_demonstrations_are_in_the_frame_of_the_latest_observation() -> None:
    demos = read_demonstrations(SAMPLE, 2).demos
    config = FlowConfig(obs_dim=38, act_dim=10, horizon=8, n_obs=2, n_act=4)
    made = {}
    for frame in ("world", "base", "gripper"):
        env = ManipulationChunks("stack-three", frame, 2)
        made[frame] = manipulation_chunks(env, demos, config.horizon)
        assert made[frame][0]["state"].shape == (sum(map(len, demos)), 2, 38)
        assert made[frame][1].shape == (sum(map(len, demos)), 8, 10)
    seen, chunks = made["world"]
    assert np.array_equal(chunks[5, 1:5], demos[0].actions[5:9].astype(np.float32))  # the first is of the step before
    assert np.array_equal(chunks[0, 0], chunks[0, 1])  # nothing was before the start
    assert np.array_equal(seen["state"][5, 0], demos[0].states(symmetric=True)[4])
    moved = made["gripper"][1][5, 1, :3]
    rotation, at = demos[0].eef_rotation[5], demos[0].eef[5]
    np.testing.assert_allclose(moved, rotation.T @ (demos[0].actions[5, :3] - at), atol=1e-6)
    base = made["base"][1][5, 1, :3] - chunks[5, 1, :3]
    np.testing.assert_allclose(base, [0.56, 0, -0.912], atol=1e-6)  # a constant change of coordinates
    with pytest.raises(InvalidParameter, match="burnside demos"):
        manipulation_chunks(ManipulationChunks("stack-three", "world", 2), [], config.horizon)


def test_a_run_goes_on_in_the_middle_of_its_episodes_to_the_same_bits(tmp_path: Path) -> None:
    shape = FlowConfig(obs_dim=38, act_dim=10, horizon=8, n_act=4, layers=1, width=16, value_width=8, sigma=0.1)
    agent = FlowPPOConfig(scenes=2, rollout=2, budget=10_000, minibatch=4, critic_rollouts=1)

    demos = read_demonstrations(SAMPLE, 1).demos
    seen, chunks = manipulation_chunks(ManipulationChunks("stack-three", "gripper"), demos, shape.horizon)

    def learner(workers: int) -> FlowPPO:
        policy = FlowPolicy(shape, 3).fit_normalisation(seen["state"], chunks)
        return FlowPPO(agent, policy, ManipulationChunks("stack-three", "gripper", limit=20, workers=workers), seed=1)

    straight = learner(0)
    for _ in range(3):
        straight.iterate()
    first = learner(0)
    first.iterate()
    assert first.length.tolist() == [8, 8]  # nobody's episode is over
    save(first, tmp_path / "run.npz")
    second = load(learner(1), tmp_path / "run.npz")
    second.iterate()
    second.iterate()
    one, two = straight.arrays(), second.arrays()
    assert all(np.array_equal(one[key], two[key]) for key in one)
    assert straight.recorder.log().episodes == 2  # of 20 steps each, truncated
    second.env.close()  # type: ignore[attr-defined]


def test_the_held_out_scenes_are_played() -> None:
    seeds, episodes = evaluation_scenes(2)
    env = ManipulationChunks("stack-three", "world", limit=8)
    shape = FlowConfig(obs_dim=38, act_dim=10, horizon=8, n_act=4, layers=1, width=16, value_width=8)
    demos = read_demonstrations(SAMPLE, 1).demos
    seen, chunks = manipulation_chunks(env, demos, shape.horizon)
    policy = FlowPolicy(shape, 0).fit_normalisation(seen["state"], chunks)
    played = evaluate(policy, env, scenes=(seeds, episodes))
    assert played.lengths.tolist() == [8, 8] and not played.success.any()
    again = evaluate(policy, env, scenes=(seeds, episodes))
    assert np.array_equal(played.returns, again.returns)
    assert "limit" in env.name and find_task("stack-three").limit == 400


@pytest.mark.draws
def test_clouds_are_in_the_frame_too() -> None:
    world, hand = (
        ManipulationChunks("stack-three", frame, observation="cloud", points=16, limit=4)
        for frame in ("world", "gripper")
    )
    a, b = world.reset_batch(SEEDS[:1], EPISODES[:1]), hand.reset_batch(SEEDS[:1], EPISODES[:1])
    one, two = world.observe_batch(a), hand.observe_batch(b)
    assert one["state"].shape == (1, 2, 11) and one["cloud"].shape == (1, 2, 16, 6)
    at, turn = one["state"][0, -1, :3], one["state"][0, -1, 3:9].reshape(2, 3)
    rotation = np.stack([*turn, np.cross(*turn)], axis=1)
    np.testing.assert_allclose((one["cloud"][0, -1, :, :3] - at) @ rotation, two["cloud"][0, -1, :, :3], atol=1e-5)
    assert np.array_equal(one["cloud"][..., 3:], two["cloud"][..., 3:])  # colours stay
    step = hand.step_chunk(b, np.asarray(hand.form.into(down(a), hand.form.history(hand._histories(b))[1])))
    assert step.truncated.all() and step.state["seen/cloud"].shape == (1, 2, 16, 6)
