"""The one loop that trains: learners to a budget each, with checkpoints in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from burnside._types import IntArray
from burnside.agents.common.checkpoint import Resumable, resume, save_generation
from burnside.agents.common.log import EpisodeLog
from burnside.agents.common.members import Member, check_members
from burnside.errors import InvalidParameter

__all__ = ["Budget", "Learner", "Trainable", "checkpoint_folder", "train"]


@dataclass(frozen=True)
class Budget:
    """How far to train every member: finished episodes, or environment steps (of all its scenes together).

    A learner stops at the first moment it can after the budget is reached: PPO after whole rollouts, the compiled DQN
    for rings after whole episodes. What it did is in its log; the log may be cut at the budget.
    """

    episodes: int | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        """Exactly one of them."""
        if (self.episodes is None) == (self.steps is None) or (self.episodes or self.steps or 0) < 0:
            raise InvalidParameter(f"episodes {self.episodes}, steps {self.steps}: give one of them, 0 or more")

    def left(self, episodes: IntArray, steps: IntArray) -> Any:
        """Which members are short of it."""
        return episodes < self.episodes if self.episodes is not None else steps < (self.steps or 0)


class Trainable(Resumable, Protocol):
    """What :func:`train` needs of a learner; between two calls it is nothing but arrays."""

    members: list[Member]

    def advance(self, budget: Budget) -> bool:
        """Train the members that have not reached a budget a little further; False if there were none."""
        ...


class Learner(Trainable, Protocol):
    """A learner with one or more members that plays episodes."""

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member."""
        ...

    @property
    def steps(self) -> IntArray:
        """Environment steps of every member."""
        ...

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """What a member did, of at most ``episodes`` episodes."""
        ...


AnyLearner = TypeVar("AnyLearner", bound=Trainable)


def checkpoint_folder(folder: str | Path, learner: Trainable) -> Path:
    """Where :func:`train` keeps the checkpoints of a learner: named after its first member and its size."""
    more = f"-and-{len(learner.members) - 1}-more" if len(learner.members) > 1 else ""
    return Path(folder) / f"{type(learner).__name__}-{learner.members[0].name}{more}"


def train(
    learners: Sequence[AnyLearner],
    *,
    episodes: int | None = None,
    steps: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 20,
    progress: Callable[[AnyLearner], object] | None = None,
    threads: int | None = None,
) -> list[AnyLearner]:
    """Train learners to a budget each, side by side; returns them, in their order.

    Args:
        learners: Without a member in common.
        episodes: Budget in finished episodes of every member, those of a checkpoint included.
        steps: Budget in environment steps instead.
        checkpoint: A folder: learners found there resume, and all are saved there, at the end too.
        every: Advances of a learner (chunks, rollouts) between its checkpoints. Results do not depend on it.
        progress: Called in the calling thread after every advance of a learner.
        threads: Learners at work at the same time; default: the processors available.
    """
    budget = Budget(episodes, steps)
    check_members([member for learner in learners for member in learner.members])
    workers = threads if threads is not None else available_processors()
    if workers < 1 or every < 1:
        raise InvalidParameter(f"threads {workers} and every {every} must be at least 1")
    for learner in learners:
        if checkpoint is not None:
            resume(learner, checkpoint_folder(checkpoint, learner))
    rounds = [0] * len(learners)

    def work(position: int) -> tuple[int, bool]:
        """One advance of a learner, in a worker thread."""
        learner = learners[position]
        went_on = learner.advance(budget)
        rounds[position] += went_on
        # A finished learner that was just loaded is not written again.
        if checkpoint is not None and rounds[position] and (not went_on or rounds[position] % every == 0):
            save_generation(learner, checkpoint_folder(checkpoint, learner))
        return position, went_on

    pool = ThreadPoolExecutor(workers, thread_name_prefix="learner")
    try:
        running: set[Future[tuple[int, bool]]] = {pool.submit(work, i) for i in range(len(learners))}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                position, went_on = future.result()
                if went_on:
                    if progress is not None:
                        progress(learners[position])
                    running.add(pool.submit(work, position))
    finally:
        # After an error or Ctrl-C: running advances end within about a second, the others are not started.
        pool.shutdown(wait=True, cancel_futures=True)
    return list(learners)


def available_processors() -> int:
    """Those this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
