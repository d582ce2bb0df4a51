"""Schedules and settings: the values of App. C, and the traps read in other people's code."""

import numpy as np
import pytest
from tests.agents.learners import compiled_logs, torch_logs

from burnside.agents.common.members import Member
from burnside.agents.dqn import DQNConfig, RingDQN
from burnside.envs.ring.core import RingSpec
from burnside.errors import BurnsideError


def test_epsilon_at_the_start_the_middle_and_the_end() -> None:
    """LeanRL clamps the slope instead of the value: its ε is at the end from step 0."""
    config = DQNConfig()
    assert config.epsilon(0) == 1.0
    assert config.epsilon(500) == pytest.approx(0.997**500) and 0.2 < config.epsilon(500) < 0.25
    assert config.epsilon(998) == 0.05 < config.epsilon(996)
    assert config.epsilon(10_000) == 0.05
    linear = DQNConfig(epsilon_steps=1000)
    assert [linear.epsilon(0, step) for step in (0, 500, 1000, 5000)] == pytest.approx([1.0, 0.525, 0.05, 0.05])


@pytest.mark.parametrize("changes", [{}, {"epsilon_steps": 700}])
def test_both_engines_follow_the_schedule(changes: dict[str, int]) -> None:
    config = DQNConfig(epsilon_decay=0.95, **changes)
    log = compiled_logs(config, RingSpec(5), [Member(0)], 80)[0]
    before = np.concatenate([[0], log.steps[:-1]])
    expected = [config.epsilon(e, int(s)) for e, s in enumerate(before)]
    assert log.more["epsilon"] == pytest.approx(expected, abs=1e-12)
    pytest.importorskip("torch")
    other = torch_logs(config, RingSpec(5), [Member(0)], 80)[0]
    before = np.concatenate([[0], other.steps[:-1]])
    assert other.more["epsilon"] == pytest.approx([config.epsilon(e, int(s)) for e, s in enumerate(before)], abs=1e-12)


def test_random_actions_are_as_frequent_as_epsilon_says() -> None:
    """With ε = 1 all four moves are equally likely; with ε = 0 an untrained network repeats itself."""
    explore = DQNConfig(epsilon_end=1.0, update_every=10**9)
    state = RingDQN(explore, RingSpec(10), Member(3)).play(200).state
    written = int(state.counters[4])
    counts = np.bincount(state.replay["action"][: min(written, 10_000)], minlength=4)
    assert abs(counts / counts.sum() - 0.25).max() < 0.03


def test_presets_are_those_of_the_paper() -> None:
    one, three = DQNConfig.preset("ring1d"), DQNConfig.preset("ring3d")
    assert (one.hidden, one.capacity, one.epsilon_decay, one.encoder) == ((128, 128), 10_000, 0.997, "onehot")
    assert (three.hidden, three.capacity, three.epsilon_decay, three.encoder) == ((256, 256), 5_000, 0.995, "pool")
    for config in (one, three):
        assert (config.gamma, config.batch, config.target_every, config.learning_rate) == (0.99, 64, 10, 1e-3)
        assert (config.epsilon_start, config.epsilon_end, config.update_every) == (1.0, 0.05, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden": (128,)},
        {"hidden": (0, 5)},
        {"loss": "l1"},
        {"encoder": "cnn"},
        {"batch": 0},
        {"batch": 20_000},
        {"gamma": 1.5},
        {"epsilon_end": 2.0},
        {"epsilon_start": 0.01},
        {"learning_rate": 0.0},
        {"update_every": 0},
        {"target_every": 0},
        {"target_every_steps": -1},
    ],
    ids=str,
)
def test_nonsense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(BurnsideError):
        DQNConfig(**changes)  # type: ignore[arg-type]


def test_the_compiled_learner_says_what_it_cannot_do() -> None:
    spec = RingSpec(5)
    for config, member in (
        (DQNConfig(hidden=(100, 128)), Member(0)),
        (DQNConfig(encoder="pool"), Member(0)),
        (DQNConfig(), Member(0, "equivariant")),
    ):
        with pytest.raises(BurnsideError, match=r"use DQN|or DQN"):
            RingDQN(config, spec, member)
    with pytest.raises(BurnsideError, match="twice"):
        compiled_logs(DQNConfig(), spec, [Member(0), Member(0)], 1)
    with pytest.raises(BurnsideError, match="canonical"):
        Member(0, "canonicl")
