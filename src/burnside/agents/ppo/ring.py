"""PPO on the cyclic games in torch (App. C), with the 3D encoders: members in lockstep, rollout by rollout.

Matrix kernels may choose their order of summation by the batch size, so a block that is not full is padded with
members that do nothing: a member's bits do not depend on its company. On a CPU the default block is one member, whose
encoder then looks at every distinct board of a minibatch once (steps of an episode share it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from burnside._random import Stream, hash_u64, held_out, uniform
from burnside._types import AnyArray, FloatArray, IntArray
from burnside.agents.common.adam import AdamState, Parameters, adam, new_adam
from burnside.agents.common.advantages import advantages
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.log import EpisodeLog, Recorder
from burnside.agents.common.members import Member, check_arm, check_members
from burnside.agents.common.objectives import clip_gradients, clipped_objective
from burnside.agents.common.training import Budget
from burnside.agents.ppo.config import STATS, RingPPOConfig
from burnside.agents.ppo.plain import sample
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.games import ARMS, Action, RingEvaluation, play, start, successors
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.encoders import FEATURES, GridEncoder
from burnside.nn.layers import BatchLinear, Initializer

__all__ = ["ActorCritic", "Batch", "RingPPO", "Stats", "update"]


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

    def arrays(self) -> dict[str, AnyArray]:
        return {k: getattr(self, k) for k in ("board", "pos", "length", "total", "episode", "step", "update")}


class RingPPO:
    """Members in lockstep: their games (numpy), their networks (torch), and the loop over both."""

    def __init__(
        self,
        config: RingPPOConfig,
        spec: RingSpec,
        members: Sequence[Member],
        *,
        block: int | None = None,
        device: torch.device | None = None,
    ) -> None:
        """Members before their first rollout, padded to ``block``."""
        check_members(members)
        for member in members:
            check_arm(member.arm, ARMS)
        self.config, self.spec, self.members = config, spec, list(members)
        self.device = device or torch.device("cpu")
        self.size = max(block or 0, len(members))
        # Padding repeats the first member and never plays.
        everyone = [*members, *[members[0]] * (self.size - len(members))]
        self.seeds = np.array([member.seed for member in everyone], dtype=np.int64)
        self.arms = np.array([member.arm for member in everyone])
        self.net = ActorCritic(spec, config.encoder, config.hidden, self.seeds.tolist()).to(self.device)
        self.params = {name: p.detach().clone() for name, p in self.net.named_parameters()}
        self.opt = new_adam(self.params)
        zeros = np.zeros(self.size, dtype=np.int64)
        board, pos = start(spec, self.seeds, self.arms.tolist(), zeros)
        self.games = _Games(
            board.copy(), pos.copy(), zeros.copy(), np.zeros(self.size), zeros.copy(), zeros.copy(), zeros.copy()
        )
        self.recorder = Recorder(everyone, stats=STATS)

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member (without padding)."""
        return self.games.episode[: len(self.members)].copy()

    @property
    def steps(self) -> IntArray:
        """Environment steps of every member."""
        return self.games.step[: len(self.members)].copy()

    # ------------------------------------------------------------------ one rollout and its updates

    def advance(self, budget: Budget) -> bool:
        """One rollout and its updates, for the members short of the budget."""
        active = np.zeros(self.size, dtype=np.bool_)
        active[: len(self.members)] = budget.left(self.episodes, self.steps)
        if not active.any():
            return False
        self._learn(self._rollout(active), active)
        return True

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
            noted = (games.total[m], games.length[m], solved[m], games.step[m], games.update[m])
            self.recorder.rows[m].append(tuple(float(x) for x in noted))
        games.episode[over] += 1
        seeds, arms = self.seeds[over], self.arms[over].tolist()
        games.board[over], games.pos[over] = start(self.spec, seeds, arms, games.episode[over])
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
            self.recorder.stats[m].append(tuple(float(x) for x in means[:, m]))

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

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """The log of a member, of at most ``episodes`` episodes; ``stats`` has one entry per rollout."""
        return self.recorder.log(m, episodes)

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        game = {k: getattr(self.spec, k) for k in ("n", "d", "p_mine", "end_reward", "time_limit")}
        return json.dumps({"ring-ppo": self.config.to_json(), "spec": game, "members": [m.name for m in self.members]})

    def _tensors(self) -> dict[str, Parameters]:
        return {"params": self.params, "m": self.opt.m, "v": self.opt.v}

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays; the moment is between two rollouts."""
        out = {f"games/{name}": array.copy() for name, array in self.games.arrays().items()}
        for prefix, home in self._tensors().items():
            out |= {f"{prefix}/{name}": t.cpu().numpy() for name, t in home.items()}
        return out | {"t": self.opt.t.cpu().numpy()} | self.recorder.arrays()

    def restore(self, arrays: Mapping[str, AnyArray]) -> RingPPO:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays(self.arrays(), arrays)
        for name in self.games.arrays():
            setattr(self.games, name, np.array(arrays[f"games/{name}"]))
        for prefix, home in self._tensors().items():
            for name in home:
                home[name] = self._tensor(np.array(arrays[f"{prefix}/{name}"]))
        self.opt = AdamState(self.opt.m, self.opt.v, self._tensor(np.array(arrays["t"])))
        self.recorder.restore(arrays)
        return self

    @torch.no_grad()
    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The likeliest actions for flat observations of :class:`~burnside.envs.ring.RingScenes`."""
        codes, pos = RingScenes(self.spec).boards(obs)
        params = {name: p[m : m + 1] for name, p in self.params.items()}
        features = encode(self.net, params, self._tensor(codes[None]))
        logits, _ = head(self.net, params, features, self._tensor(pos[None]))
        return np.asarray(logits[0].argmax(dim=-1).cpu().numpy())

    def evaluate(self, episodes: int = 100, *, m: int = 0, seed: int = 0, greedy: bool = True) -> RingEvaluation:
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

        return play(self.spec, self.members[m].arm, policy, episodes, seed)


# ---------------------------------------------------------------------- the network


class ActorCritic(torch.nn.Module):
    """Boards to features (the costly part, shared by all steps of an episode); features and positions to the rest.

    It holds the layers and their names; what is computed with given parameters are ``encode`` and ``head``.

    >>> net = ActorCritic(RingSpec(5, d=3), "pool", (256, 256), [0, 1])
    >>> sum(p.numel() for p in net.parameters()) // 2
    194273
    """

    places: torch.Tensor

    def __init__(self, spec: RingSpec, encoder: str, hidden: tuple[int, int], seeds: list[int]) -> None:
        """A network for every seed."""
        super().__init__()
        if encoder != "onehot" and spec.d != 3:
            raise InvalidParameter(f"the encoder {encoder!r} is for three dimensions, the game has {spec.d}")
        init = Initializer(seeds)
        self.spec = spec
        self.encoder = None if encoder == "onehot" else GridEncoder(spec.n, encoder, init)
        inputs = 2 * spec.n_cells if self.encoder is None else FEATURES + spec.d
        self.one = BatchLinear(inputs, hidden[0], init)
        self.two = BatchLinear(hidden[0], hidden[1], init)
        self.policy = BatchLinear(hidden[1], spec.n_actions, init)
        self.value = BatchLinear(hidden[1], 1, init)
        cells = torch.arange(spec.n_cells)
        if self.encoder is None:
            places = torch.eye(spec.n_cells)
        else:
            n = spec.n
            places = torch.stack([cells // n**2, cells // n % n, cells % n], dim=-1).to(torch.float32) / n
        self.register_buffer("places", places, persistent=False)

    @property
    def features(self) -> int:
        """Width of the features of a board."""
        return self.spec.n_cells if self.encoder is None else FEATURES

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        """``(members, boards, cells)`` item codes to ``(members, boards, features)``; see ``encode``."""
        end = torch.tensor(self.spec.end_reward, dtype=torch.float32, device=boards.device)
        items = torch.where(boards > 0, end, boards.to(torch.float32))
        return items if self.encoder is None else self.encoder(items.unflatten(-1, self.spec.shape))


def encode(net: ActorCritic, params: Parameters, boards: torch.Tensor) -> torch.Tensor:
    """Features of boards under given parameters."""
    return torch.func.functional_call(net, params, (boards,))


def head(
    net: ActorCritic, params: Parameters, features: torch.Tensor, pos: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Features ``(members, batch, features)`` and cells ``(members, batch)`` to logits and values.

    Written out instead of called through the module: it is called at every environment step, where ``functional_call``
    costs more than the products.
    """
    x = torch.cat([features, net.places[pos]], dim=-1)
    for layer in ("one", "two"):
        x = torch.relu(torch.baddbmm(params[f"{layer}.bias"][:, None], x, params[f"{layer}.weight"]))
    logits = torch.baddbmm(params["policy.bias"][:, None], x, params["policy.weight"])
    return logits, torch.baddbmm(params["value.bias"][:, None], x, params["value.weight"])[..., 0]


# ---------------------------------------------------------------------- the update


class Batch(NamedTuple):
    """Steps of every member, ``(members, batch)``; ``which[m, b]`` is the row of ``boards`` of step b (None: row b)."""

    boards: torch.Tensor
    which: torch.Tensor | None
    pos: torch.Tensor
    action: torch.Tensor
    log_prob: torch.Tensor  # under the policy that acted
    advantage: torch.Tensor
    target: torch.Tensor  # of the value


class Stats(NamedTuple):
    """One number per member and update."""

    policy_loss: torch.Tensor
    value_loss: torch.Tensor
    entropy: torch.Tensor
    approx_kl: torch.Tensor
    clip_fraction: torch.Tensor


def update(
    net: ActorCritic,
    params: Parameters,
    opt: AdamState,
    batch: Batch,
    config: RingPPOConfig,
    mask: torch.Tensor | None = None,
) -> tuple[Parameters, AdamState, Stats]:
    """One minibatch of every member in ``mask`` (default: all): new parameters, new optimizer state, statistics.

    Members do not mix, so the gradient of the sum of their losses is each member's own gradient.
    """
    leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
    features = encode(net, leaves, batch.boards)
    if batch.which is not None:
        features = torch.gather(features, 1, batch.which[:, :, None].expand(-1, -1, features.shape[-1]))
    logits, value = head(net, leaves, features, batch.pos)
    log_probs = torch.log_softmax(logits, dim=-1)
    log_ratio = torch.gather(log_probs, 2, batch.action[:, :, None])[:, :, 0] - batch.log_prob
    ratio = log_ratio.exp()
    advantage = batch.advantage
    if config.normalize:
        centred = advantage - advantage.mean(dim=1, keepdim=True)
        advantage = centred / (advantage.std(dim=1, keepdim=True) + 1e-8)
    policy_loss = -clipped_objective(ratio, advantage, config.clip).mean(dim=1)
    value_loss = 0.5 * (value - batch.target).square().mean(dim=1)
    entropy = -(log_probs.exp() * log_probs).sum(dim=-1).mean(dim=1)
    losses = policy_loss + config.value_weight * value_loss - config.entropy * entropy
    grads = torch.autograd.grad(losses.sum(), list(leaves.values()))
    with torch.no_grad():
        clipped = clip_gradients(dict(zip(leaves, grads, strict=True)), config.grad_clip)
        new, after = adam({k: p.detach() for k, p in leaves.items()}, clipped, opt, config.learning_rate, mask)
        stats = Stats(
            policy_loss.detach(),
            value_loss.detach(),
            entropy.detach(),
            ((ratio - 1) - log_ratio).mean(dim=1).detach(),
            ((ratio - 1).abs() > config.clip).to(torch.float32).mean(dim=1),
        )
    return new, after, stats
