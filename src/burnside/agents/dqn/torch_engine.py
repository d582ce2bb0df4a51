"""The torch engine: the same algorithm with a leading member axis, for GPUs, convolutions and equivariant networks.

Members are worked on in blocks of fixed size, in lockstep: one environment step each, then one update for those whose
turn it is (a mask). Matrix kernels may choose their order of summation by the batch size, so a block that is not full
is padded with members that do nothing: a member's bits do not depend on its company. On a CPU the default block is one
member, whose encoder then looks at every distinct board of a batch once (transitions of an episode share it) and
remembers the target network's features between syncs; on a GPU it is all members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from burnside._random import Stream, randint, uniform
from burnside._types import AnyArray, IntArray
from burnside.agents.dqn import _lockstep
from burnside.agents.dqn._kernels import EPISODE, STEP, SYNC, UPDATE, WRITTEN
from burnside.agents.dqn.checkpoint import exists, read_checkpoint, write_checkpoint
from burnside.agents.dqn.config import DQNConfig, Log, Member, check_members
from burnside.agents.dqn.native import Evaluation, Progress, held_out_seed
from burnside.agents.dqn.state import LOG_COLUMNS, NATIVE_CONDITIONS, TRANSITION, identity, log_from_rows, rules
from burnside.agents.dqn.torch_update import AdamState, Batch, best_values, encode, head, new_adam, update
from burnside.envs.ring.core import RingSpec, initial, transition
from burnside.errors import InvalidParameter, UnknownName
from burnside.nn._torch import torch
from burnside.nn.qnets import make_q

__all__ = ["TorchBlock", "choose_device", "train", "train_blocks"]


def choose_device(name: str = "auto") -> torch.device:
    """``cpu``, ``cuda``, or whichever is there (``auto``).

    >>> choose_device("cpu")
    device(type='cpu')
    """
    if name not in ("auto", "cpu", "cuda"):
        raise UnknownName("device", name, ("auto", "cpu", "cuda"))
    if name == "cuda" and not torch.cuda.is_available():
        raise InvalidParameter("device 'cuda' was asked for, but torch sees no GPU here: use 'auto' or 'cpu'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


class TorchBlock:
    """Members in lockstep: their games (numpy), their networks (torch), and the loop over both."""

    def __init__(
        self,
        config: DQNConfig,
        spec: RingSpec,
        members: Sequence[Member],
        episodes: int,
        *,
        block: int | None = None,
        device: torch.device | None = None,
    ) -> None:
        """Members before their first episode, padded to ``block``, with room in the log for ``episodes``."""
        shared = {member.condition == "equivariant" for member in members}
        if len(shared) != 1:
            raise InvalidParameter("a block holds one kind of network: put equivariant members in blocks of their own")
        self.config, self.spec, self.members, self.episodes = config, spec, list(members), episodes
        self.device = device or torch.device("cpu")
        self.size = max(block or 0, len(members))
        # Padding repeats the first member and never plays.
        everyone = [*members, *[members[0]] * (self.size - len(members))]
        self.rules = rules(config, spec, Member(0))
        seeds = [member.seed for member in everyone]
        self.net = make_q(spec, config.encoder, config.hidden, seeds, shared.pop()).to(self.device)
        self.params = {name: p.detach().clone() for name, p in self.net.named_parameters()}
        self.target = {name: p.clone() for name, p in self.params.items()}
        self.opt = new_adam(self.params)
        self.games = _lockstep.Games(
            seeds=np.array(seeds, dtype=np.int64),
            conditions=np.array([_frame(member) for member in everyone]),
            boards=np.zeros((self.size, config.capacity + 1, spec.n_cells), dtype=np.int8),
            replay=np.zeros((self.size, config.capacity), dtype=TRANSITION),
            counters=np.zeros((self.size, 5), dtype=np.int64),
            pos=np.zeros(self.size, dtype=np.int64),
            length=np.zeros(self.size, dtype=np.int64),
            total=np.zeros(self.size),
            losses=np.zeros(self.size),
            updates=np.zeros(self.size, dtype=np.int64),
            log=np.zeros((self.size, episodes, len(LOG_COLUMNS))),
        )
        # Features of boards under the target network; only a block of one can hold them (see the module).
        width = self.net.encode(torch.zeros(self.size, 1, spec.n_cells, device=self.device)).shape[-1]
        rows = config.capacity + 1 if self.size == 1 and config.encoder != "onehot" else 0
        self.features = torch.zeros(rows, width, device=self.device)
        self.feature_stamp = np.full(rows, -1, dtype=np.int64)
        for m in range(len(members)):
            _lockstep.begin(self.games, self.rules, m)

    @property
    def active(self) -> AnyArray:
        """Which members still have episodes to play; padding never has."""
        playing = self.games.counters[:, EPISODE] < self.episodes
        playing[len(self.members) :] = False
        return playing

    def tick(self) -> list[int]:
        """One environment step of every active member, and what follows from it; returns whose episode ended."""
        games, config, active = self.games, self.config, self.active
        actions = np.zeros(self.size, dtype=np.int64)
        over = np.zeros(self.size, dtype=np.bool_)
        _lockstep.choose(games, self.rules, active, self.spec.n_actions, actions)
        if (actions < 0).any():
            actions = np.where(actions < 0, self._greedy(), actions)
        _lockstep.step(games, self.rules, active, actions, over)
        steps = games.counters[:, STEP]
        due = active & (games.counters[:, WRITTEN] >= config.batch) & (steps % config.update_every == 0)
        if due.any():
            self._update(due)
        ended = [int(m) for m in np.flatnonzero(over)]
        for m in ended:
            _lockstep.finish(games, m)
        if config.target_every_steps:
            self._sync(active & (steps % config.target_every_steps == 0))
        elif ended:
            self._sync(over & (games.counters[:, EPISODE] % config.target_every == 0))
        for m in ended:
            if games.counters[m, EPISODE] < self.episodes:
                _lockstep.begin(games, self.rules, m)
                if len(self.feature_stamp):
                    self.feature_stamp[games.counters[m, EPISODE] % len(self.feature_stamp)] = -1
        return ended

    def _tensor(self, array: AnyArray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    @torch.no_grad()
    def _greedy(self) -> IntArray:
        games = self.games
        rows = games.counters[:, EPISODE] % games.boards.shape[1]
        boards = self._tensor(games.boards[np.arange(self.size), rows][:, None])
        q = torch.func.functional_call(self.net, self.params, (boards, self._tensor(games.pos[:, None])))
        return np.asarray(q[:, 0].argmax(dim=-1).cpu().numpy())

    def _update(self, due: AnyArray) -> None:
        games, config = self.games, self.config
        slots = np.zeros((self.size, config.batch), dtype=np.int64)
        _lockstep.draw(games, self.rules, slots)
        seen = np.take_along_axis(games.replay, slots, axis=1)
        if len(self.feature_stamp):
            rows, inverse = np.unique(seen["board"][0], return_inverse=True)
            boards = self._tensor(games.boards[:, rows])
            which = self._tensor(inverse.reshape(1, -1).astype(np.int64))
            features = self._remembered(rows)[None, inverse.reshape(-1)]
        else:
            boards = self._tensor(games.boards[np.arange(self.size)[:, None], seen["board"]])
            which = None
            with torch.no_grad():
                features = encode(self.net, self.target, boards)
        with torch.no_grad():
            after = self._tensor(seen["after"].astype(np.int64))
            next_value = best_values(self.net, self.target, features, after)
        batch = Batch(
            boards,
            which,
            self._tensor(seen["pos"].astype(np.int64)),
            self._tensor(seen["action"].astype(np.int64)),
            self._tensor(seen["reward"].copy()),
            self._tensor(seen["terminated"] > 0),
            next_value,
        )
        self.params, self.opt, losses = update(
            self.net,
            self.params,
            self.opt,
            batch,
            gamma=config.gamma,
            rate=config.learning_rate,
            loss=config.loss,
            mask=self._tensor(due),
        )
        games.losses[due] += losses.cpu().numpy()[due]
        games.updates[due] += 1
        games.counters[due, UPDATE] += 1

    @torch.no_grad()
    def _remembered(self, rows: IntArray) -> torch.Tensor:
        """Target features of boards, computed once per board and sync; a block of one."""
        sync = int(self.games.counters[0, SYNC])
        missing = rows[self.feature_stamp[rows] != sync]
        if len(missing):
            found = encode(self.net, self.target, self._tensor(self.games.boards[:, missing]))
            self.features[self._tensor(missing)] = found[0]
            self.feature_stamp[missing] = sync
        return self.features[self._tensor(rows)]

    def _sync(self, mask: AnyArray) -> None:
        if mask.any():
            chosen = self._tensor(mask)
            for name, p in self.params.items():
                shape = (-1, *[1] * (p.ndim - 1))
                self.target[name] = torch.where(chosen.reshape(shape), p, self.target[name])
            self.games.counters[mask, SYNC] += 1

    # ------------------------------------------------------------------ results and checkpoints

    def logs(self) -> list[Log]:
        """The log of every member, of the episodes it has finished."""
        return [
            log_from_rows(member, self.games.log[m, : self.games.counters[m, EPISODE]])
            for m, member in enumerate(self.members)
        ]

    def progress(self, m: int) -> Progress:
        """How far a member is."""
        episode = int(self.games.counters[m, EPISODE])
        recent = self.games.log[m, max(0, episode - 100) : episode]
        steps, updates = int(self.games.counters[m, STEP]), int(self.games.counters[m, UPDATE])
        return Progress(self.members[m], episode, self.episodes, steps, updates, float(recent[:, 0].mean()))

    def _arrays(self) -> dict[str, AnyArray]:
        out = {f"games.{k}": v for k, v in self.games._asdict().items() if k not in ("seeds", "conditions", "log")}
        for prefix, tensors in (("params", self.params), ("target", self.target), ("m", self.opt.m), ("v", self.opt.v)):
            out |= {f"{prefix}.{name}": t.cpu().numpy() for name, t in tensors.items()}
        out |= {"t": self.opt.t.cpu().numpy(), "features": self.features.cpu().numpy()}
        return {**out, "feature_stamp": self.feature_stamp}

    def save(self, path: str | Path) -> Path:
        """Write a checkpoint; any moment between ticks will do."""
        under_way = int(self.games.counters[:, EPISODE].max()) + 1  # its row of the log has begun
        content = {**self._arrays(), "log": self.games.log[:, :under_way]}
        return write_checkpoint(path, content, identity(self.config, self.spec, self.members))

    def load(self, path: str | Path) -> TorchBlock:
        """Go on from a checkpoint of exactly this block."""
        found = read_checkpoint(path, {**self._arrays(), "log": None}, identity(self.config, self.spec, self.members))
        games = self.games._asdict()
        for name, value in found.items():
            head, _, rest = name.partition(".")
            if head == "games":
                games[rest][...] = value
            elif rest:
                home = {"params": self.params, "target": self.target, "m": self.opt.m, "v": self.opt.v}[head]
                home[rest] = self._tensor(value)
        self.opt = AdamState(self.opt.m, self.opt.v, self._tensor(found["t"]))
        self.features, self.feature_stamp = self._tensor(found["features"]), found["feature_stamp"]
        kept = min(self.episodes, found["log"].shape[1])
        games["log"][:, :kept] = found["log"][:, :kept]
        for m in range(len(self.members)):
            # A member that was finished when saved has no game under way; begin it if there now are more episodes.
            over = self.games.counters[m, WRITTEN] and games["length"][m] >= 1 and self._was_over(m)
            if over and self.games.counters[m, EPISODE] < self.episodes:
                _lockstep.begin(self.games, self.rules, m)
                if len(self.feature_stamp):
                    self.feature_stamp[self.games.counters[m, EPISODE] % len(self.feature_stamp)] = -1
        return self

    def _was_over(self, m: int) -> bool:
        """Whether the game of a member ended with its last step."""
        games = self.games
        last = games.replay[m, (games.counters[m, WRITTEN] - 1) % self.config.capacity]
        return bool(last["terminated"]) or int(games.length[m]) >= self.spec.time_limit

    @torch.no_grad()
    def evaluate(self, m: int, episodes: int = 100, *, seed: int = 0, epsilon: float = 0.0) -> Evaluation:
        """As :func:`burnside.agents.dqn.evaluate`, for one member: the same boards, and random moves with ε."""
        spec, boards_seed = self.spec, held_out_seed(seed)
        state = initial(spec, boards_seed, np.arange(episodes))
        goals, cells = spec.coordinates(state.goal), spec.coordinates(np.arange(spec.n_cells))
        frame = _frame(self.members[m])
        shift = np.zeros_like(goals)
        if frame == 1:
            shift = -goals
        elif frame == 2:
            shift = spec.coordinates(randint(boards_seed, Stream.AUGMENT, np.arange(episodes), spec.n_cells))
        moved = np.zeros_like(state.items)
        np.put_along_axis(moved, spec.cell(cells[None] + shift[:, None]), state.items, axis=1)
        params = {name: p[m : m + 1] for name, p in self.params.items()}
        features = encode(self.net, params, self._tensor(moved[None]))
        returns, lengths = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
        solved = np.zeros(episodes, dtype=np.bool_)
        for t in range(spec.time_limit):
            at = spec.cell(spec.coordinates(state.pos) + shift)
            q = head(self.net, params, features, self._tensor(at[None]))
            actions = np.asarray(q[0].argmax(dim=-1).cpu().numpy())
            counter = 2 * (np.arange(episodes) * spec.time_limit + t)
            explores = uniform(boards_seed, Stream.POLICY, counter) < epsilon
            actions = np.where(explores, randint(boards_seed, Stream.POLICY, counter + 1, spec.n_actions), actions)
            state, reward, terminated, _ = transition(state, actions)
            returns += np.where(solved, 0.0, reward)
            lengths += ~solved
            solved |= terminated
            if solved.all():
                break
        return Evaluation(returns, lengths, solved)


def _frame(member: Member) -> int:
    """The number of the translation a condition sees the game through; equivariant members see it as it is."""
    return NATIVE_CONDITIONS.index(member.condition) if member.condition in NATIVE_CONDITIONS else 0


def train(
    config: DQNConfig,
    spec: RingSpec,
    members: Sequence[Member],
    episodes: int,
    *,
    device: str = "auto",
    block: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 1_000,
    progress: Callable[[Progress], object] | None = None,
) -> list[Log]:
    """Train members to a number of episodes each; one log per member, in their order.

    As :func:`burnside.agents.dqn.train`, with ``device`` and ``block`` (members in one batch) instead of threads;
    ``every`` counts the ticks between checkpoints of a block and progress is reported per finished episode.
    """
    blocks = train_blocks(
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
    logs = {log.member: log for group in blocks for log in group.logs()}
    return [logs[member] for member in members]


def train_blocks(
    config: DQNConfig,
    spec: RingSpec,
    members: Sequence[Member],
    episodes: int,
    *,
    device: str = "auto",
    block: int | None = None,
    checkpoint: str | Path | None = None,
    every: int = 1_000,
    progress: Callable[[Progress], object] | None = None,
) -> list[TorchBlock]:
    """As :func:`train`, returning the blocks, to evaluate or to go on."""
    check_members(members, episodes, every)
    where = choose_device(device)
    done = []
    for group in _blocks(members, block, where):
        at_work = TorchBlock(config, spec, group, episodes, block=block, device=where)
        path = block_path(checkpoint, group) if checkpoint is not None else None
        if path is not None and exists(path):
            at_work.load(path)
        ticks = 0
        while at_work.active.any():
            ended = at_work.tick()
            ticks += 1
            if progress is not None:
                for m in ended:
                    progress(at_work.progress(m))
            if path is not None and (ticks % every == 0 or not at_work.active.any()):
                at_work.save(path)
        done.append(at_work)
    return done


def block_path(folder: str | Path, members: Sequence[Member]) -> Path:
    """Where the checkpoint of a block is kept: named after its first member and its size."""
    more = f"-and-{len(members) - 1}-more" if len(members) > 1 else ""
    return Path(folder) / f"torch-{members[0].name}{more}.npz"


def _blocks(members: Sequence[Member], block: int | None, device: torch.device) -> list[list[Member]]:
    kinds: list[list[Member]] = [[], []]
    for member in members:
        kinds[member.condition == "equivariant"].append(member)
    size = block or (1 if device.type == "cpu" else max(1, len(members)))
    return [kind[i : i + size] for kind in kinds for i in range(0, len(kind), size)]
