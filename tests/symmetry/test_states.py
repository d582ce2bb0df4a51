"""State adapters: what is put back is what was there, to the last bit, in every family that is installed."""

import warnings
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from burnside.canonical.atlas import is_installed, open_entry
from burnside.canonical.base import largest_gap
from burnside.symmetry.atlas import entry_of
from burnside.symmetry.states import state_adapter

KINDS = {
    "CliffWalking-v1": "label",
    "CartPole-v1": "vector",
    "Pendulum-v1": "vector",
    "Ant-v5": "mujoco",
    "Walker2d-v4": "mujoco",
    "InvertedDoublePendulum-v4": "mujoco",
    "dm_control/swimmer-swimmer6-v0": "dm_control",
    "dm_control/humanoid-walk-v0": "dm_control",
    "MiniGrid-DoorKey-5x5-v0": "minigrid",
    "pettingzoo/connect_four-v3": "moves",
    "pettingzoo/rps-v2": "moves",
}


def opened(name: str) -> Any:
    entry = entry_of(name)
    if not is_installed(entry):
        pytest.skip(f"{entry.family} is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = open_entry(entry)
    env.reset(seed=1)
    env.action_space.seed(1)
    return env


def shown(x: Any) -> Any:
    return {key: value for key, value in x.items() if not isinstance(value, str)} if isinstance(x, dict) else x


@pytest.mark.parametrize("name", KINDS)
def test_a_state_that_is_put_back_goes_on_as_before(name: str) -> None:
    env, other = opened(name), opened(name)
    adapter = state_adapter(env)
    assert adapter is not None and adapter.kind == KINDS[name]
    for k in range(12):
        before, action = adapter.get(env), env.action_space.sample()
        first = env.step(action)
        adapter.put(other, before)
        again = other.step(action)
        assert largest_gap(shown(first[0]), shown(again[0])) == 0 and first[1:4] == again[1:4], k
        if first[2] or first[3]:
            env.reset(seed=k)
    adapter.copy(env, other)
    assert largest_gap(adapter.get(env), adapter.get(other)) == 0


def test_states_are_copies() -> None:
    env = opened("Ant-v5")
    adapter = state_adapter(env)
    assert adapter is not None
    state = adapter.get(env)
    kept = {key: np.array(value) for key, value in state.items()}
    env.step(env.action_space.sample())
    assert largest_gap(state, kept) == 0


def test_a_moved_state_moves_the_warm_start_as_velocities() -> None:
    """Else the solver starts from elsewhere, and contacts differ by far more than rounding."""
    env = opened("Ant-v5")
    adapter, symmetry = state_adapter(env), entry_of("Ant-v5").declared()
    assert adapter is not None and symmetry.act_on_state is not None
    for _ in range(20):
        env.step(env.action_space.sample())
    state = adapter.get(env)
    moved = adapter.complete(symmetry.act_on_state)(1, state)
    legs = symmetry.act_on_state(1, {"qpos": state["qpos"], "qvel": state["warmstart"]})["qvel"]
    assert np.array_equal(moved["warmstart"], legs) and moved["time"] == state["time"]
    assert not np.array_equal(moved["warmstart"], state["warmstart"])


def test_names_of_the_numbers() -> None:
    env = opened("Ant-v5")
    adapter = state_adapter(env)
    assert adapter is not None
    names = adapter.names(env)
    assert names is not None and len(names) == 105
    assert names[0] == "root z" and names[5] == "hip_1" and "torso" in names[27] and names[26] == "ankle_4 velocity"
    old = opened("Walker2d-v4")  # whose observation_structure does not exist
    adapter = state_adapter(old)
    assert adapter is not None
    names = adapter.names(old)
    assert names is not None and names[1:3] == ("rooty", "thigh_joint") and names[16] == "foot_left_joint velocity"


def test_an_environment_of_unknown_kind_has_none() -> None:
    class Hidden(gym.Env[Any, Any]):
        pass

    assert state_adapter(Hidden()) is None
