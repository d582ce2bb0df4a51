"""Short ways to train the learners of rings, for the tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside.agents.common.log import EpisodeLog
from burnside.agents.common.members import Member
from burnside.agents.common.training import train
from burnside.agents.dqn import DQNConfig, RingDQN
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.scenes import RingScenes


def compiled(
    config: DQNConfig, spec: RingSpec, members: Sequence[Member], episodes: int, **options: Any
) -> list[RingDQN]:
    """Members of the compiled learner, trained to a number of episodes."""
    return train([RingDQN(config, spec, member) for member in members], episodes=episodes, **options)


def compiled_logs(
    config: DQNConfig, spec: RingSpec, members: Sequence[Member], episodes: int, **options: Any
) -> list[EpisodeLog]:
    """Their logs."""
    return [learner.log() for learner in compiled(config, spec, members, episodes, **options)]


def torch_logs(
    config: DQNConfig, spec: RingSpec, members: Sequence[Member], episodes: int, **options: Any
) -> list[EpisodeLog]:
    """Logs of members with networks in torch, each a learner of its own."""
    from burnside.agents.dqn.learner import torch_learner

    learners = [torch_learner(config, RingScenes(spec), [member]) for member in members]
    return [learner.log() for learner in train(learners, episodes=episodes, threads=1, **options)]


def same_log(a: EpisodeLog, b: EpisodeLog) -> bool:
    """Whether two logs have the same bits."""
    columns = ("returns", "lengths", "success", "steps", "updates")
    return (
        a.member == b.member
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in columns)
        and all(np.array_equal(a.more[name], b.more[name]) for name in a.more)
        and all(np.array_equal(a.stats[name], b.stats[name]) for name in a.stats)
    )


def same_arrays(a: Any, b: Any) -> bool:
    """Whether two learners have the same bits."""
    one, two = a.arrays(), b.arrays()
    return one.keys() == two.keys() and all(one[k].tobytes() == two[k].tobytes() for k in one)
