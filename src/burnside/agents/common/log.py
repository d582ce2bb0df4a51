"""What a member did: one entry per episode, in the order of their ends, and one per rollout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from burnside._types import AnyArray, BoolArray, FloatArray, IntArray
from burnside.agents.common.members import Member

__all__ = ["COLUMNS", "EpisodeLog", "Recorder"]

#: What every learner notes of an episode.
COLUMNS = ("returns", "lengths", "success", "steps", "updates")


@dataclass(frozen=True)
class EpisodeLog:
    """The training episodes of a member. For the time to a threshold, see :func:`burnside.stats.first_reach`.

    Attributes:
        member: Whose log it is; a log knows its seed, not a position in a list.
        returns: Undiscounted return (while training: with exploration).
        lengths: Environment steps of the episode.
        success: Whether the environment called it a success (rings: the goal was entered before the time limit).
        steps: Environment steps of the member when it ended, over all its scenes.
        updates: Updates made when it ended.
        more: Further columns of a learner, one entry per episode (DQN: ``epsilon`` at its start, mean ``loss`` of its
            updates, 0 where there was none; PPO over chains: ``rollout``).
        stats: One entry per rollout, means over its updates: ``policy_loss``, ``value_loss``, ``approx_kl``, ….
    """

    member: Member
    returns: FloatArray
    lengths: IntArray
    success: BoolArray
    steps: IntArray
    updates: IntArray
    more: dict[str, FloatArray] = field(default_factory=dict)
    stats: dict[str, FloatArray] = field(default_factory=dict)

    @property
    def episodes(self) -> int:
        """Episodes so far."""
        return len(self.returns)

    @classmethod
    def from_rows(cls, member: Member, rows: AnyArray, more: Sequence[str] = ()) -> EpisodeLog:
        """From rows with the columns ``COLUMNS`` and ``more``.

        >>> EpisodeLog.from_rows(Member(3), np.array([[1.5, 4, 1, 4, 0, 0.9]]), ("epsilon",)).more
        {'epsilon': array([0.9])}
        """
        found = np.asarray(rows, dtype=np.float64).reshape(-1, len(COLUMNS) + len(more))
        returns, lengths, success, steps, updates, *rest = found.T.copy()
        whole = np.int64
        named = dict(zip(more, rest, strict=True))
        return cls(
            member, returns, lengths.astype(whole), success > 0, steps.astype(whole), updates.astype(whole), named
        )


class Recorder:
    """The growing logs of the members of a block, between a learner and its checkpoints."""

    def __init__(self, members: Sequence[Member], more: Sequence[str] = (), stats: Sequence[str] = ()) -> None:
        """Nothing has happened yet."""
        self.members, self.more, self.names = list(members), tuple(more), tuple(stats)
        self.rows: list[list[tuple[float, ...]]] = [[] for _ in members]
        self.stats: list[list[tuple[float, ...]]] = [[] for _ in members]

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member."""
        return np.array([len(mine) for mine in self.rows], dtype=np.int64)

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """The log of the member at a position, of at most ``episodes`` episodes."""
        log = EpisodeLog.from_rows(self.members[m], np.array(self.rows[m][:episodes]), self.more)
        found = np.array(self.stats[m], dtype=np.float64).reshape(len(self.stats[m]), len(self.names))
        log.stats.update(zip(self.names, found.T.copy(), strict=True))
        return log

    def arrays(self) -> dict[str, AnyArray]:
        """All rows in one array, and how many belong to each member."""
        out: dict[str, AnyArray] = {}
        width = len(COLUMNS) + len(self.more)
        for name, lists, columns in (("rows", self.rows, width), ("stats", self.stats, len(self.names))):
            flat = [row for mine in lists for row in mine]
            out[f"log/{name}"] = np.array(flat, dtype=np.float64).reshape(len(flat), columns)
            out[f"log/{name}_counts"] = np.array([len(mine) for mine in lists], dtype=np.int64)
        return out

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """The inverse of :meth:`arrays`."""
        for name, lists in (("rows", self.rows), ("stats", self.stats)):
            ends = np.cumsum(arrays[f"log/{name}_counts"])
            parts = np.split(np.asarray(arrays[f"log/{name}"]), ends[:-1])
            lists[:] = [[tuple(row) for row in part.tolist()] for part in parts]
