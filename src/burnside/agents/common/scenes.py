"""What learners with several members in one batched environment share: scenes, episodes, logs, checkpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from burnside._types import AnyArray, BoolArray, IntArray
from burnside.agents.common.arms import Use
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.log import EpisodeLog, Recorder
from burnside.agents.common.members import Member, check_members
from burnside.envs.batched import BatchedEnv, State, check_observations, update_rows

__all__ = ["MemberScenes"]


class MemberScenes:
    """Members in lockstep, each with the same number of scenes; DQN, PPO and SAC build on it.

    Attributes:
        members: Seeds and arms.
        seeds: Of the members.
        scenes: Of every member.
        use: What networks and updates do with a symmetry, if anything.
        state: Of all scenes; those of a member are next to each other.
        episode: Number of the next episode to begin, for every member.
        total, length: Return and length of the episodes under way, ``(members, scenes)``.
        recorder: The logs.
    """

    #: The name of the learner in :attr:`identity`, and the attributes that a checkpoint keeps as they are.
    NAME: ClassVar[str]
    KEPT: ClassVar[tuple[str, ...]] = ("updates", "episode", "total", "length")

    def __init__(
        self, config: Any, env: BatchedEnv, members: Sequence[Member | int], scenes: int, use: Use | None
    ) -> None:
        """Before the first step of any scene."""
        self.members = [Member(each) if isinstance(each, int) else each for each in members]
        check_members(self.members)
        self.config, self.env, self.scenes, self.use = config, env, scenes, use
        self.seeds = np.array([member.seed for member in self.members], dtype=np.int64)
        count = len(self.members)
        self.updates, self.episode = np.zeros(count, dtype=np.int64), np.full(count, scenes, dtype=np.int64)
        self.total, self.length = np.zeros((count, scenes)), np.zeros((count, scenes), dtype=np.int64)
        self.state: State = env.reset_batch(np.repeat(self.seeds, scenes), np.tile(np.arange(scenes), count))
        self.recorder = Recorder(self.members)

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        members = [member.name for member in self.members]
        found = {self.NAME: self.config.to_json(), "env": self.env.name, "members": members} | self._more_identity()
        return json.dumps(found if self.use is None else found | {"symmetry": self.use.symmetry.name})

    def _more_identity(self) -> dict[str, Any]:
        return {}

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member."""
        return self.recorder.episodes

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """The log of a member, of at most ``episodes`` episodes."""
        return self.recorder.log(m, episodes)

    def _rows(self, who: IntArray) -> IntArray:
        """Where the scenes of some members are in the state."""
        return np.asarray((who[:, None] * self.scenes + np.arange(self.scenes)).ravel())

    def _observe(self, state: State) -> AnyArray:
        """Observations ``(members, scenes, obs_dim)`` of the scenes of some members."""
        width = self.env.obs_dim
        return check_observations(self.env.observe_batch(state), width).reshape(-1, self.scenes, width)

    def _log_ends(self, who: IntArray, ended: BoolArray, success: BoolArray, steps: IntArray) -> None:
        """Log the episodes that ended, ``(who, scenes)``, in the order of their scenes."""
        for k, m in enumerate(who.tolist()):
            for i in ended[k].nonzero()[0]:
                noted = (self.total[m, i], self.length[m, i], success[k, i], steps[k], self.updates[m])
                self.recorder.rows[m].append(tuple(float(x) for x in noted))
            self.total[m, ended[k]], self.length[m, ended[k]] = 0.0, 0

    def _begin_next(self, who: IntArray, state: State, ended: BoolArray) -> State:
        """Begin the next episodes where one has ended, in the order of the scenes."""
        counts = ended.sum(axis=1)
        numbers = [self.episode[m] + np.arange(count) for m, count in zip(who, counts, strict=True)]
        self.episode[who] += counts
        new = self.env.reset_batch(np.repeat(self.seeds[who], counts), np.concatenate(numbers))
        return update_rows(state, np.flatnonzero(ended.ravel()), new)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays."""
        out = {f"state/{name}": np.array(array) for name, array in self.state.items()}
        return out | {name: getattr(self, name).copy() for name in self.KEPT} | self.recorder.arrays()

    def restore(self, arrays: Mapping[str, AnyArray]) -> Self:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays({k: v for k, v in self.arrays().items() if not k.startswith("replay/")}, arrays)
        self.state = {name: np.array(arrays[f"state/{name}"]) for name in self.state}
        for name in self.KEPT:
            setattr(self, name, np.array(arrays[name]))
        self.recorder.restore(arrays)
        return self
