"""The CPU engine: every member is one compiled loop, members are spread over threads.

Compiled code releases Python's lock, so threads run side by side. No BLAS is called: the products are ours
(``_gather``), hence no thread pool to tame and the same bits whatever else runs. A member is worked on by one thread
at a time, in chunks of episodes, between which progress is reported, checkpoints are written and Ctrl-C is heard.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import BoolArray, FloatArray, IntArray
from burnside.agents.dqn.checkpoint import exists
from burnside.agents.dqn.config import DQNConfig, Log, Member, check_members
from burnside.agents.dqn.state import LOG_COLUMNS, MemberState, layout, load, new_state, rules, save, scratch
from burnside.envs.ring.core import RingSpec
from burnside.errors import InvalidParameter

__all__ = ["Evaluation", "Progress", "advance", "checkpoint_path", "evaluate", "held_out_seed", "train", "train_states"]

#: Environment steps per chunk, roughly: half a second.
_CHUNK_STEPS = 4_000


@dataclass(frozen=True)
class Progress:
    """How far one member is, after a chunk."""

    member: Member
    episode: int
    episodes: int
    steps: int
    updates: int
    recent_return: float


@dataclass(frozen=True)
class Evaluation:
    """Greedy episodes on held-out boards, one entry per board."""

    returns: FloatArray
    lengths: IntArray
    solved: BoolArray


def advance(state: MemberState, episodes: int) -> MemberState:
    """Train a member in place for a number of episodes, in this thread; any split into calls gives the same bits.

    >>> state = advance(new_state(DQNConfig(), RingSpec(5), Member(1)), 3)
    >>> state.episode, len(state.to_log().returns)
    (3, 3)
    """
    from burnside.agents.dqn import _loop

    if episodes < 0:
        raise InvalidParameter(f"episodes is {episodes}: give 0 or more")
    config, spec = state.config, state.spec
    log = np.zeros((episodes, len(LOG_COLUMNS)))
    net, constants = layout(config, spec), rules(config, spec, state.member)
    _loop.play(state.arrays, scratch(config, spec), net, constants, log, episodes)
    state.log = np.concatenate([state.log, log])
    return state


def checkpoint_path(folder: str | Path, member: Member) -> Path:
    """Where :func:`train` keeps the checkpoint of a member."""
    return Path(folder) / f"{member.name}.npz"


def train(
    config: DQNConfig,
    spec: RingSpec,
    members: Sequence[Member],
    episodes: int,
    *,
    checkpoint: str | Path | None = None,
    every: int = 1_000,
    progress: Callable[[Progress], object] | None = None,
    threads: int | None = None,
) -> list[Log]:
    """Train members to a number of episodes each; one log per member, in their order.

    Args:
        config: Hyperparameters, the same for all.
        spec: The game.
        members: Seeds under conditions; no two alike.
        episodes: Episodes each has played in the end, those of a checkpoint included.
        checkpoint: A folder: members found there go on from where they were, and all are saved there.
        every: Episodes between checkpoints of a member.
        progress: Called in the calling thread after every chunk of a member.
        threads: Members at work at the same time; default: the processors available.

    >>> logs = train(DQNConfig(), RingSpec(5), [Member(7), Member(3, "canonical")], 5)
    >>> [(log.member.seed, log.episodes) for log in logs]
    [(7, 5), (3, 5)]
    """
    states = train_states(
        config, spec, members, episodes, checkpoint=checkpoint, every=every, progress=progress, threads=threads
    )
    return [state.to_log() for state in states]


def train_states(
    config: DQNConfig,
    spec: RingSpec,
    members: Sequence[Member],
    episodes: int,
    *,
    checkpoint: str | Path | None = None,
    every: int = 1_000,
    progress: Callable[[Progress], object] | None = None,
    threads: int | None = None,
) -> list[MemberState]:
    """As :func:`train`, returning the states, for :func:`evaluate` or to go on."""
    check_members(members, episodes, every, least=0)
    workers = threads if threads is not None else _processors()
    if workers < 1:
        raise InvalidParameter(f"threads is {workers}: give at least 1")
    states = [_start(config, spec, member, checkpoint) for member in members]
    saved = [state.episode for state in states]

    def chunk(position: int) -> int:
        """One chunk of a member, in a worker thread; the checkpoint is due at fixed episodes."""
        state = states[position]
        until_save = every - state.episode % every if checkpoint is not None else episodes
        advance(state, min(_chunk_episodes(state), until_save, episodes - state.episode))
        finished = state.episode >= episodes
        if checkpoint is not None and (finished or state.episode % every == 0) and state.episode > saved[position]:
            save(state, checkpoint_path(checkpoint, state.member))
            saved[position] = state.episode
        return position

    pool = ThreadPoolExecutor(workers, thread_name_prefix="dqn")
    try:
        running: set[Future[int]] = {pool.submit(chunk, i) for i, s in enumerate(states) if s.episode < episodes}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                position = future.result()
                if progress is not None:
                    progress(_progress(states[position], episodes))
                if states[position].episode < episodes:
                    running.add(pool.submit(chunk, position))
    finally:
        # After an error or Ctrl-C: the chunks at work end within a second or so, the others are not begun.
        pool.shutdown(wait=True, cancel_futures=True)
    return states


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _start(config: DQNConfig, spec: RingSpec, member: Member, checkpoint: str | Path | None) -> MemberState:
    if checkpoint is not None:
        path = checkpoint_path(checkpoint, member)
        if exists(path):
            return load(path, config, spec, member)
    return new_state(config, spec, member)


def _chunk_episodes(state: MemberState) -> int:
    """Episodes that make about ``_CHUNK_STEPS`` steps, going by the last ones."""
    recent = state.log[-50:, 1]
    length = float(recent.mean()) if recent.size else float(state.spec.time_limit)
    return max(1, int(_CHUNK_STEPS / max(length, 1.0)))


def _progress(state: MemberState, episodes: int) -> Progress:
    last = state.log[-100:]
    steps, updates = (int(last[-1, k]) for k in (4, 5))
    return Progress(state.member, state.episode, episodes, steps, updates, float(last[:, 0].mean()))


def held_out_seed(seed: int) -> int:
    """The seed of held-out boards: training boards are a function of (seed, ENV), a hashed seed opens a fresh family.

    >>> held_out_seed(0) != held_out_seed(1)
    True
    """
    return int(hash_u64(seed, Stream.EVAL, 0)) >> 1


def evaluate(state: MemberState, episodes: int = 100, *, seed: int = 0, epsilon: float = 0.0) -> Evaluation:
    """Play greedily on boards no training run sees: those of stream EVAL of ``seed``, the same for all members.

    ``epsilon`` is the probability of a random move instead (the training policy has ``config.epsilon_end``).

    >>> found = evaluate(new_state(DQNConfig(), RingSpec(5), Member(0)), 20)
    >>> found.returns.shape
    (20,)
    """
    from burnside.agents.dqn import _loop

    if episodes < 1:
        raise InvalidParameter(f"episodes is {episodes}: give at least 1")
    config, spec = state.config, state.spec
    out = np.zeros((episodes, 3))
    net, constants = layout(config, spec), rules(config, spec, state.member)
    _loop.evaluate(
        state.arrays.weights, scratch(config, spec), net, constants, held_out_seed(seed), episodes, epsilon, out
    )
    return Evaluation(out[:, 0].copy(), out[:, 1].astype(np.int64), out[:, 2] > 0)
