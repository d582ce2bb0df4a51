"""Short ways to train the learners of rings, for the tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from burnside.agents.common.log import EpisodeLog
from burnside.agents.common.members import Member
from burnside.agents.common.training import train
from burnside.agents.dqn import DQNConfig, RingDQN
from burnside.envs.ring.core import RingSpec


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
    config: DQNConfig, spec: RingSpec, members: Sequence[Member], episodes: int, block: int = 1, **options: Any
) -> list[EpisodeLog]:
    """Logs of the learner in torch, in blocks of a size, one kind of network each."""
    from burnside.agents.dqn import RingDQNTorch

    kinds = [[m for m in members if (m.arm == "equivariant") == shared] for shared in (False, True)]
    groups = [kind[i : i + block] for kind in kinds for i in range(0, len(kind), block)]
    blocks = train(
        [RingDQNTorch(config, spec, group, block=block) for group in groups], episodes=episodes, threads=1, **options
    )
    logs = {log.member: log for each in blocks for log in (each.log(m) for m in range(len(each.members)))}
    return [logs[member] for member in members]


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
