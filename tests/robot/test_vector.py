"""Many scenes in processes: equal to scenes alone, and alive after a process was killed."""

import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest

from burnside.envs.manipulation import ManipulationVectorEnv
from burnside.envs.manipulation.env import ManipulationEnv
from burnside.errors import InvalidAction, InvalidParameter


@pytest.fixture(scope="module")
def vector() -> Iterator[ManipulationVectorEnv]:
    made = ManipulationVectorEnv(3, "stack-three", workers=2, limit=6)
    yield made
    made.close()


def hold(seen: dict[str, np.ndarray]) -> np.ndarray:
    """The action that keeps each hand where it is."""
    return np.concatenate([seen["state"][:, :9], np.ones((len(seen["state"]), 1))], axis=1)


def test_rows_equal_single_scenes(vector: ManipulationVectorEnv) -> None:
    seen, _ = vector.reset(seed=20)
    single = ManipulationEnv("stack-three", limit=6)
    alone, _ = single.reset(seed=21)
    assert np.array_equal(seen["state"][1], alone["state"])
    for _ in range(5):
        actions = hold(seen)
        actions[:, 2] -= 0.02
        alone = single.step(actions[1])[0]
        seen, rewards, terminated, truncated, _ = vector.step(actions)
        assert np.array_equal(seen["state"][1], alone["state"])
    assert not rewards.any() and not terminated.any() and not truncated.any()
    actions = hold(seen)
    last = single.step(actions[1])[0]
    seen, _, _, truncated, info = vector.step(actions)
    assert truncated.all()
    assert np.array_equal(info["final_obs"][1]["state"], last["state"])
    fresh, _ = single.reset()
    assert np.array_equal(seen["state"][1], fresh["state"])  # the next episode has begun


def test_a_killed_process_costs_its_episodes_only(vector: ManipulationVectorEnv) -> None:
    seen, _ = vector.reset(seed=40)
    before = vector.restarts
    seen = vector.step(hold(seen))[0]
    os.kill(vector.workers[0].process.pid, signal.SIGKILL)  # scenes 0 and 2
    seen, rewards, terminated, truncated, info = vector.step(hold(seen))
    assert vector.restarts == before + 1
    assert info["crashed"].tolist() == truncated.tolist() == [True, False, True]
    assert not terminated.any() and not rewards.any() and info["final_obs"][0] is None
    single = ManipulationEnv("stack-three", limit=6)
    expected, _ = single.reset(seed=42, options={"episode": 1})
    assert np.array_equal(seen["state"][2], expected["state"])  # as if the lost episode had just ended
    seen, *_, info = vector.step(hold(seen))
    assert not info["crashed"].any()


def test_a_process_that_died_between_calls_does_not_hang_the_reset(vector: ManipulationVectorEnv) -> None:
    expected, _ = vector.reset(seed=60)
    before = vector.restarts
    process = vector.workers[0].process
    os.kill(process.pid, signal.SIGKILL)
    process.join()  # so that asking it fails already

    def hangs(*_: object) -> None:
        raise AssertionError("reset hangs")

    previous = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(120)
    try:
        seen, _ = vector.reset(seed=60)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    assert vector.restarts == before + 1
    assert np.array_equal(seen["state"], expected["state"])


def test_wrong_actions_are_said_and_do_no_harm(vector: ManipulationVectorEnv) -> None:
    seen, _ = vector.reset(seed=1)
    with pytest.raises(InvalidAction, match=r"shape \(3, 10\), got \(2, 10\)"):
        vector.step(np.zeros((2, 10)))
    bad = hold(seen)
    bad[1] = np.nan
    with pytest.raises(InvalidAction, match="10 finite numbers"):
        vector.step(bad)
    seen, _ = vector.reset(seed=1)
    assert vector.step(hold(seen))[0]["state"].shape == (3, 38)
    with pytest.raises(InvalidParameter, match="at least 1"):
        ManipulationVectorEnv(0)


@pytest.mark.draws
def test_chunks_with_clouds() -> None:
    vector = ManipulationVectorEnv(2, "nut-assembly", workers=1, history=2, observation="cloud", points=64)
    try:
        seen, _ = vector.reset(seed=0)
        assert seen["cloud"].shape == (2, 2, 64, 6)
        actions = np.repeat(hold({"state": seen["state"][:, -1]})[:, None], 3, 1)
        seen, _, _, _, info = vector.step(actions)
        assert seen["state"].shape == (2, 2, 11) and info["steps"].tolist() == [3, 3]
    finally:
        vector.close()
