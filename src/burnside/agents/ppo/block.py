"""Members in lockstep: a rollout of the same number of steps each, then the updates, then the next rollout.

Matrix kernels may choose their order of summation by the batch size, so a block that is not full is padded with
members that do nothing: a member's bits do not depend on its company. On a CPU the default block is one member, whose
encoder then looks at every distinct board of a minibatch once (steps of an episode share it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from burnside._random import Stream, hash_u64, uniform
from burnside._types import AnyArray, FloatArray, IntArray
from burnside.agents.dqn.config import Member
from burnside.agents.ppo.config import CONDITIONS, STATS, Log, PPOConfig
from burnside.agents.ppo.frames import Action, Episodes, held_out, play, start, successors
from burnside.agents.ppo.gae import advantages
from burnside.agents.ppo.network import ActorCritic, encode, head
from burnside.agents.ppo.objective import AdamState, Batch, Stats, new_adam, update
from burnside.envs.ring.core import RingSpec
from burnside.errors import InvalidParameter, UnknownName
from burnside.nn._torch import torch

__all__ = ["PPOBlock", "sample"]

_COLUMNS = ("returns", "lengths", "solved", "steps", "updates")


def sample(logits: AnyArray, u: FloatArray) -> IntArray:
    """The action at level ``u`` of the cumulated probabilities of every row.

    >>> sample(np.log([[0.5, 0.25, 0.25]] * 3), np.array([0.1, 0.6, 0.999])).tolist()
    [0, 1, 2]
    """
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    levels = np.cumsum(weights, axis=-1)
    chosen = (levels <= u[..., None] * levels[..., -1:]).sum(axis=-1)
    return np.minimum(chosen, logits.shape[-1] - 1)


@dataclass
class _Games:
    """Where the members are; leading axis members."""

    board: AnyArray  # (members, cells) int8
    pos: IntArray
    length: IntArray
    total: FloatArray
    episode: IntArray  # the one under way
    step: IntArray  # environment steps taken
    update: IntArray  # updates made
    rows: list[list[tuple[float, ...]]] = field(default_factory=list)  # the log, see _COLUMNS
    stats: list[list[tuple[float, ...]]] = field(default_factory=list)  # one entry per rollout, see STATS

    def arrays(self) -> dict[str, AnyArray]:
        return {k: getattr(self, k) for k in ("board", "pos", "length", "total", "episode", "step", "update")}


class PPOBlock:
    """Members in lockstep: their games (numpy), their networks (torch), and the loop over both."""

    def __init__(
        self,
        config: PPOConfig,
        spec: RingSpec,
        members: Sequence[Member],
        *,
        block: int | None = None,
        device: torch.device | None = None,
    ) -> None:
        """Members before their first rollout, padded to ``block``."""
        for member in members:
            if member.condition not in CONDITIONS:
                raise UnknownName("PPO condition", member.condition, CONDITIONS)
        if not members:
            raise InvalidParameter("a block needs at least one member")
        self.config, self.spec, self.members = config, spec, list(members)
        self.device = device or torch.device("cpu")
        self.size = max(block or 0, len(members))
        # Padding repeats the first member and never plays.
        everyone = [*members, *[members[0]] * (self.size - len(members))]
        self.seeds = np.array([member.seed for member in everyone], dtype=np.int64)
        self.conditions = np.array([member.condition for member in everyone])
        self.net = ActorCritic(spec, config.encoder, config.hidden, self.seeds.tolist()).to(self.device)
        self.params = {name: p.detach().clone() for name, p in self.net.named_parameters()}
        self.opt = new_adam(self.params)
        zeros = np.zeros(self.size, dtype=np.int64)
        board, pos = start(spec, self.seeds, self.conditions.tolist(), zeros)
        empty: list[list[tuple[float, ...]]] = [[] for _ in everyone]
        self.games = _Games(
            board.copy(), pos.copy(), zeros.copy(), np.zeros(self.size), zeros.copy(), zeros.copy(), zeros.copy(), empty
        )
        self.games.stats = [[] for _ in everyone]

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member (without padding)."""
        return self.games.episode[: len(self.members)].copy()

    # ------------------------------------------------------------------ one rollout and its updates

    def iterate(self, episodes: int | None = None) -> list[int]:
        """One rollout and its updates, for members short of ``episodes`` (default: all); returns who took part."""
        active = np.zeros(self.size, dtype=np.bool_)
        active[: len(self.members)] = True if episodes is None else self.episodes < episodes
        if active.any():
            seen = self._rollout(active)
            self._learn(seen, active)
        return [int(m) for m in np.flatnonzero(active)]

    def _tensor(self, array: AnyArray) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    @torch.no_grad()
    def _rollout(self, active: AnyArray) -> dict[str, AnyArray]:
        """Play ``rollout`` steps; arrays ``(members, rollout)``, and all boards met in ``boards``."""
        games, spec, table = self.games, self.spec, successors(self.spec)
        steps, everyone = self.config.rollout, np.arange(self.size)
        draws = uniform(self.seeds[:, None], Stream.POLICY, games.step[:, None] + np.arange(steps))
        seen: dict[str, AnyArray] = {
            name: np.zeros((self.size, steps), dtype=kind)
            for name, kind in (
                ("which", np.int64),
                ("pos", np.int64),
                ("after", np.int64),
                ("action", np.int64),
                ("reward", np.float64),
                ("terminated", np.bool_),
                ("ended", np.bool_),
            )
        }
        boards = np.zeros((self.size, steps + 1, spec.n_cells), dtype=np.int8)
        slot = np.zeros(self.size, dtype=np.int64)
        boards[:, 0] = games.board
        features = torch.zeros(self.size, steps + 1, self.net.features, device=self.device)
        current = encode(self.net, self.params, self._tensor(games.board[:, None]))
        features[:, :1] = current
        for t in range(steps):
            logits, _ = head(self.net, self.params, current, self._tensor(games.pos[:, None]))
            action = sample(logits[:, 0].cpu().numpy(), draws[:, t])
            after = table[games.pos, action]
            code = games.board[everyone, after]
            reward = np.where(code > 0, spec.end_reward, code.astype(np.float64))
            length = games.length + 1
            ended = (code > 0) | (length >= spec.time_limit)
            for name, value in (("which", slot), ("pos", games.pos), ("after", after), ("action", action)):
                seen[name][:, t] = value
            seen["reward"][:, t], seen["terminated"][:, t], seen["ended"][:, t] = reward, code > 0, ended
            games.pos = np.where(active, after, games.pos)
            games.length = np.where(active, length, games.length)
            games.total = games.total + np.where(active, reward, 0.0)
            games.step = games.step + active
            over = np.flatnonzero(ended & active)
            if over.size:
                self._reset(over, code > 0)
                slot[over] += 1
                boards[over, slot[over]] = games.board[over]
                # All members, though only some began a game: the shape of the product must not depend on company.
                current = encode(self.net, self.params, self._tensor(games.board[:, None]))
                features[self._tensor(over), self._tensor(slot[over])] = current[self._tensor(over), 0]
        seen["boards"] = boards
        return seen | self._judge(seen, features)

    def _reset(self, over: IntArray, solved: AnyArray) -> None:
        """Log the episodes that ended and begin the next ones."""
        games = self.games
        for m in over:
            games.rows[m].append(
                (games.total[m], games.length[m], float(solved[m]), games.step[m], games.update[m]),
            )
        games.episode[over] += 1
        seeds, conditions = self.seeds[over], self.conditions[over].tolist()
        games.board[over], games.pos[over] = start(self.spec, seeds, conditions, games.episode[over])
        games.length[over], games.total[over] = 0, 0.0

    def _judge(self, seen: Mapping[str, AnyArray], features: torch.Tensor) -> dict[str, AnyArray]:
        """Log-probabilities, advantages and targets of a rollout, all steps in one product."""
        index = self._tensor(seen["which"])[:, :, None].expand(-1, -1, features.shape[-1])
        mine = torch.gather(features, 1, index)
        logits, value = head(self.net, self.params, mine, self._tensor(seen["pos"]))
        _, following = head(self.net, self.params, mine, self._tensor(seen["after"]))
        action = self._tensor(seen["action"])[:, :, None]
        log_prob = torch.gather(torch.log_softmax(logits, dim=-1), 2, action)[:, :, 0]
        values = value.cpu().numpy()
        advantage = advantages(
            seen["reward"],
            values,
            following.cpu().numpy(),
            seen["terminated"],
            seen["ended"],
            self.config.gamma,
            self.config.lam,
        )
        return {
            "log_prob": log_prob.cpu().numpy(),
            "advantage": advantage.astype(np.float32),
            "target": (advantage + values).astype(np.float32),
        }

    def _learn(self, seen: Mapping[str, AnyArray], active: AnyArray) -> None:
        """All epochs over a rollout, each in an order of its own per member."""
        config, games = self.config, self.games
        done: list[Stats] = []
        for _ in range(config.epochs):
            # One epoch is one use of the stream: the counter is where its updates begin.
            first = games.update[:, None] * config.batch
            keys = hash_u64(self.seeds[:, None], Stream.REPLAY, first + np.arange(config.rollout))
            order = np.argsort(keys, axis=1, kind="stable")
            for at in range(0, config.rollout, config.batch):
                batch = self._batch(seen, order[:, at : at + config.batch])
                self.params, self.opt, stats = update(
                    self.net, self.params, self.opt, batch, config, None if active.all() else self._tensor(active)
                )
                done.append(stats)
            games.update[active] += config.rollout // config.batch
        means = torch.stack([torch.stack(list(stats)) for stats in done]).mean(dim=0).cpu().numpy()
        for m in np.flatnonzero(active):
            games.stats[m].append(tuple(float(x) for x in means[:, m]))

    def _batch(self, seen: Mapping[str, AnyArray], rows: IntArray) -> Batch:
        def pick(name: str) -> torch.Tensor:
            return self._tensor(np.take_along_axis(seen[name], rows, axis=1))

        which = np.take_along_axis(seen["which"], rows, axis=1)
        if self.size == 1:
            distinct, inverse = np.unique(which[0], return_inverse=True)
            boards, index = seen["boards"][:, distinct], self._tensor(inverse.reshape(1, -1).astype(np.int64))
        else:
            boards, index = seen["boards"][np.arange(self.size)[:, None], which], None
        names = ("pos", "action", "log_prob", "advantage", "target")
        return Batch(self._tensor(boards), index, *(pick(name) for name in names))

    # ------------------------------------------------------------------ results and checkpoints

    def log(self, m: int, episodes: int | None = None) -> Log:
        """The log of a member, of at most ``episodes`` episodes."""
        rows = np.array(self.games.rows[m][:episodes], dtype=np.float64).reshape(-1, len(_COLUMNS))
        returns, lengths, solved, steps, updates = rows.T.copy()
        stats = np.array(self.games.stats[m]).reshape(-1, len(STATS))
        return Log(
            self.members[m],
            returns,
            lengths.astype(np.int64),
            solved > 0,
            steps.astype(np.int64),
            updates.astype(np.int64),
            dict(zip(STATS, stats.T.copy(), strict=True)),
        )

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        game = {k: getattr(self.spec, k) for k in ("n", "d", "p_mine", "end_reward", "time_limit")}
        return json.dumps({"ppo": self.config.to_json(), "spec": game, "members": [m.name for m in self.members]})

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to go on, as plain arrays; the moment is between two rollouts."""
        out = {f"games/{name}": array.copy() for name, array in self.games.arrays().items()}
        for name, lists, width in (("rows", self.games.rows, len(_COLUMNS)), ("stats", self.games.stats, len(STATS))):
            out[f"log/{name}"] = np.array([row for mine in lists for row in mine], dtype=np.float64).reshape(-1, width)
            out[f"log/{name}_counts"] = np.array([len(mine) for mine in lists], dtype=np.int64)
        for prefix, tensors in (("params", self.params), ("m", self.opt.m), ("v", self.opt.v)):
            out |= {f"{prefix}/{name}": t.cpu().numpy() for name, t in tensors.items()}
        return out | {"t": self.opt.t.cpu().numpy()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> PPOBlock:
        """Go on from the arrays of a block of the same configuration."""
        like = self.arrays()
        for name, array in like.items():
            vary = name in ("log/rows", "log/stats")
            if name not in arrays or (arrays[name].shape != array.shape and not vary):
                raise InvalidParameter(f"these arrays do not belong to this block: {name} is missing or of other shape")
        for name in self.games.arrays():
            setattr(self.games, name, np.array(arrays[f"games/{name}"]))
        for name, lists in (("rows", self.games.rows), ("stats", self.games.stats)):
            ends = np.cumsum(arrays[f"log/{name}_counts"])
            parts = np.split(np.asarray(arrays[f"log/{name}"]), ends[:-1])
            lists[:] = [[tuple(row) for row in part.tolist()] for part in parts]
        for prefix, home in (("params", self.params), ("m", self.opt.m), ("v", self.opt.v)):
            for name in home:
                home[name] = self._tensor(np.array(arrays[f"{prefix}/{name}"]))
        self.opt = AdamState(self.opt.m, self.opt.v, self._tensor(np.array(arrays["t"])))
        return self

    def evaluate(self, m: int, episodes: int = 100, *, seed: int = 0, greedy: bool = True) -> Episodes:
        """Play boards no training run sees (stream EVAL of ``seed``, the same for all members).

        Greedy takes the likeliest action; otherwise actions are drawn, as in training, from stream POLICY of the
        held-out seed.
        """
        params = {name: p[m : m + 1] for name, p in self.params.items()}
        boards_seed, limit = held_out(seed), self.spec.time_limit

        @torch.no_grad()
        def act(features: torch.Tensor, pos: IntArray, t: int) -> IntArray:
            logits, _ = head(self.net, params, features, self._tensor(pos[None]))
            if greedy:
                return np.asarray(logits[0].argmax(dim=-1).cpu().numpy())
            u = uniform(boards_seed, Stream.POLICY, np.arange(episodes) * limit + t)
            return sample(logits[0].cpu().numpy(), u)

        @torch.no_grad()
        def policy(boards: AnyArray) -> Action:
            features = encode(self.net, params, self._tensor(boards[None]))
            return lambda pos, t: act(features, pos, t)

        return play(self.spec, self.members[m].condition, policy, episodes, seed)
