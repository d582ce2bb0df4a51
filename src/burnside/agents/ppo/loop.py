"""Training members to a number of episodes each, block by block, with checkpoints in a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnside.agents.dqn.checkpoint import exists, load, save
from burnside.agents.dqn.config import Member, check_members
from burnside.agents.dqn.torch_engine import choose_device
from burnside.agents.ppo.block import PPOBlock
from burnside.agents.ppo.config import Log, PPOConfig
from burnside.envs.ring.core import RingSpec

__all__ = ["Progress", "blocks", "train", "train_blocks"]


@dataclass(frozen=True)
class Progress:
    """How far one member is, after a rollout."""

    member: Member
    episode: int
    episodes: int
    steps: int
    updates: int


def blocks(members: Sequence[Member], device: str, block: int | None = None) -> list[list[Member]]:
    """Members in groups: of ``block``, by default of one on a CPU (see ``block``) and all together on a GPU."""
    size = block or (1 if device == "cpu" else max(1, len(members)))
    return [list(members[i : i + size]) for i in range(0, len(members), size)]


def train(
    config: PPOConfig,
    spec: RingSpec,
    members: Sequence[Member],
    episodes: int,
    *,
    device: str = "auto",
    block: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 20,
    progress: Callable[[Progress], object] | None = None,
) -> list[Log]:
    """Train members to a number of episodes each; one log of that length per member, in their order.

    Args:
        config: hyperparameters.
        spec: the game.
        members: seeds and conditions.
        episodes: of every member. A rollout is never cut short, so a member may play a few more than its log shows.
        device: ``cpu``, ``cuda`` or ``auto``.
        block: members in one batch; default one on a CPU, all on a GPU.
        checkpoint: folder for checkpoints; those in it are resumed, with more episodes if more are asked for.
        every: rollouts between checkpoints.
        progress: called after every rollout of a member.

    >>> config = PPOConfig.preset("ring1d", hidden=(16, 16), rollout=64, batch=32)
    >>> (log,) = train(config, RingSpec(5), [Member(3)], 4, device="cpu")
    >>> log.member.seed, log.episodes
    (3, 4)
    """
    done = train_blocks(
        config,
        spec,
        members,
        episodes,
        device=device,
        block=block,
        checkpoint=checkpoint,
        every=every,
        progress=progress,
    )
    logs = {member: at.log(m, episodes) for at in done for m, member in enumerate(at.members)}
    return [logs[member] for member in members]


def train_blocks(
    config: PPOConfig,
    spec: RingSpec,
    members: Sequence[Member],
    episodes: int,
    *,
    device: str = "auto",
    block: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 20,
    progress: Callable[[Progress], object] | None = None,
) -> list[PPOBlock]:
    """As :func:`train`, returning the blocks, to evaluate or to go on."""
    check_members(members, episodes, every)
    where = choose_device(device)
    done = []
    for group in blocks(members, where.type, block):
        at_work = PPOBlock(config, spec, group, block=block, device=where)
        path = Path(checkpoint) / f"ppo-{group[0].name}-{len(group)}.npz" if checkpoint is not None else None
        if path is not None and exists(path):
            load(at_work, path)
        rollouts = 0
        while took_part := at_work.iterate(episodes):
            rollouts += 1
            if path is not None and rollouts % every == 0:
                save(at_work, path)
            if progress is not None:
                for m in took_part:
                    games = at_work.games
                    count, steps, made = int(games.episode[m]), int(games.step[m]), int(games.update[m])
                    progress(Progress(at_work.members[m], count, episodes, steps, made))
        if path is not None:
            save(at_work, path)
        done.append(at_work)
    return done
