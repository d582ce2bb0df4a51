"""DQN on the cyclic games in torch, with a leading member axis: for GPUs, 3D encoders and equivariant networks.

Members are worked on in blocks of fixed size, in lockstep: one environment step each, then one update for those whose
turn it is (a mask). Matrix kernels may choose their order of summation by the batch size, so a block that is not full
is padded with members that do nothing: a member's bits do not depend on its company. On a CPU the default block is one
member, whose encoder then looks at every distinct board of a batch once (transitions of an episode share it) and
remembers the target network's features between syncs; on a GPU it is all members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from burnside._random import Stream, held_out, randint, uniform
from burnside._types import AnyArray, IntArray
from burnside.agents.common.adam import AdamState, Parameters, adam, new_adam
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.log import EpisodeLog, Recorder
from burnside.agents.common.members import Member, check_members
from burnside.agents.common.objectives import td_loss, td_target
from burnside.agents.common.training import Budget
from burnside.agents.dqn import ring_kernels as kernels
from burnside.agents.dqn.config import DQNConfig
from burnside.agents.dqn.ring import MORE, TRANSITION, identity, rules
from burnside.agents.dqn.ring_kernels import EPISODE, STEP, SYNC, UPDATE, WRITTEN
from burnside.envs.ring.core import RingSpec
from burnside.envs.ring.games import ARMS, Action, RingEvaluation, play
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.qnets import QNetwork, make_q

__all__ = ["TICKS", "Batch", "RingDQNTorch", "update"]

#: Environment steps of an advance.
TICKS = 128


class RingDQNTorch:
    """Members in lockstep: their games (numpy), their networks (torch), and the loop over both."""

    def __init__(
        self,
        config: DQNConfig,
        spec: RingSpec,
        members: Sequence[Member],
        *,
        block: int | None = None,
        device: torch.device | None = None,
    ) -> None:
        """Members before their first episode, padded to ``block``."""
        check_members(members)
        shared = {member.arm == "equivariant" for member in members}
        if len(shared) != 1:
            raise InvalidParameter("a block holds one kind of network: put equivariant members in blocks of their own")
        if config.double or config.limit_ends:
            raise InvalidParameter(
                "the torch learner for rings has neither double nor limit_ends: use the compiled one"
            )
        self.config, self.spec, self.members = config, spec, list(members)
        self.recorder = Recorder(members, MORE)
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
        self.games = kernels.Games(
            seeds=np.array(seeds, dtype=np.int64),
            arms=np.array([_frame(member) for member in everyone]),
            boards=np.zeros((self.size, config.capacity + 1, spec.n_cells), dtype=np.int8),
            replay=np.zeros((self.size, config.capacity), dtype=TRANSITION),
            counters=np.zeros((self.size, 5), dtype=np.int64),
            pos=np.zeros(self.size, dtype=np.int64),
            length=np.zeros(self.size, dtype=np.int64),
            total=np.zeros(self.size),
            epsilon=np.zeros(self.size),
            losses=np.zeros(self.size),
            updates=np.zeros(self.size, dtype=np.int64),
        )
        # Features of boards under the target network; only a block of one can hold them (see the module).
        width = self.net.encode(torch.zeros(self.size, 1, spec.n_cells, device=self.device)).shape[-1]
        rows = config.capacity + 1 if self.size == 1 and config.encoder != "onehot" else 0
        self.features = torch.zeros(rows, width, device=self.device)
        self.feature_stamp = np.full(rows, -1, dtype=np.int64)
        for m in range(len(members)):
            kernels.begin(self.games, self.rules, m)

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member."""
        return self.games.counters[: len(self.members), EPISODE].copy()

    @property
    def steps(self) -> IntArray:
        """Environment steps of every member."""
        return self.games.counters[: len(self.members), STEP].copy()

    def advance(self, budget: Budget) -> bool:
        """Up to ``TICKS`` environment steps of the members that are short of the budget."""
        for tick in range(TICKS):
            active = np.zeros(self.size, dtype=np.bool_)  # padding never plays
            active[: len(self.members)] = budget.left(self.episodes, self.steps)
            if not active.any():
                return tick > 0
            self.tick(active)
        return True

    def tick(self, active: AnyArray) -> None:
        """One environment step of every active member, and what follows from it."""
        games, config = self.games, self.config
        actions = np.zeros(self.size, dtype=np.int64)
        over = np.zeros(self.size, dtype=np.bool_)
        kernels.choose(games, self.rules, active, self.spec.n_actions, actions)
        if (actions < 0).any():
            actions = np.where(actions < 0, self._greedy(), actions)
        kernels.step(games, self.rules, active, actions, over)
        steps = games.counters[:, STEP]
        due = active & (games.counters[:, WRITTEN] >= config.batch) & (steps % config.update_every == 0)
        if due.any():
            self._update(due)
        ended = [int(m) for m in np.flatnonzero(over)]
        for m in ended:
            last = games.replay[m, (games.counters[m, WRITTEN] - 1) % config.capacity]
            games.counters[m, EPISODE] += 1
            self.recorder.rows[m].append(
                (
                    float(games.total[m]),
                    float(games.length[m]),
                    float(last["terminated"]),
                    float(games.counters[m, STEP]),
                    float(games.counters[m, UPDATE]),
                    float(games.epsilon[m]),
                    float(games.losses[m] / max(games.updates[m], 1)),
                )
            )
        if config.target_every_steps:
            self._sync(active & (steps % config.target_every_steps == 0))
        elif ended:
            self._sync(over & (games.counters[:, EPISODE] % config.target_every == 0))
        for m in ended:
            kernels.begin(games, self.rules, m)
            if len(self.feature_stamp):
                self.feature_stamp[games.counters[m, EPISODE] % len(self.feature_stamp)] = -1

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
        kernels.draw_all(games, self.rules, slots)
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

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """The episodes of a member; ``more`` has ``epsilon`` and ``loss``."""
        return self.recorder.log(m, episodes)

    @torch.no_grad()
    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The actions of largest value for flat observations of :class:`~burnside.envs.ring.RingScenes`."""
        codes, pos = RingScenes(self.spec).boards(obs)
        params = {name: p[m : m + 1] for name, p in self.params.items()}
        features = encode(self.net, params, self._tensor(codes[None]))
        return np.asarray(head(self.net, params, features, self._tensor(pos[None]))[0].argmax(dim=-1).cpu().numpy())

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        return identity("ring-dqn-torch", self.config, self.spec, self.members)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume; any moment between ticks will do."""
        out = {f"games/{k}": v for k, v in self.games._asdict().items() if k not in ("seeds", "arms")}
        out["games/replay"] = self.games.replay.view(np.uint8)
        for prefix, tensors in self._tensors().items():
            out |= {f"{prefix}/{name}": t.cpu().numpy() for name, t in tensors.items()}
        out |= {"t": self.opt.t.cpu().numpy(), "features": self.features.cpu().numpy()}
        return {**out, "feature_stamp": self.feature_stamp, **self.recorder.arrays()}

    def _tensors(self) -> dict[str, Parameters]:
        return {"params": self.params, "target": self.target, "m": self.opt.m, "v": self.opt.v}

    def restore(self, arrays: Mapping[str, AnyArray]) -> RingDQNTorch:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays(self.arrays(), arrays)
        for name, array in self.games._asdict().items():
            if name not in ("seeds", "arms"):
                found = np.ascontiguousarray(arrays[f"games/{name}"])
                array[...] = found.view(array.dtype) if array.dtype.names else found
        for prefix, home in self._tensors().items():
            for name in home:
                home[name] = self._tensor(np.array(arrays[f"{prefix}/{name}"]))
        self.opt = AdamState(self.opt.m, self.opt.v, self._tensor(np.array(arrays["t"])))
        self.features = self._tensor(np.array(arrays["features"]))
        self.feature_stamp = np.array(arrays["feature_stamp"])
        self.recorder.restore(arrays)
        return self

    def evaluate(self, episodes: int = 100, *, m: int = 0, seed: int = 0, greedy: bool = True) -> RingEvaluation:
        """As :meth:`RingDQN.evaluate`: the same boards, and the same random moves if it is not greedy."""
        spec, boards_seed = self.spec, held_out(seed)
        params = {name: p[m : m + 1] for name, p in self.params.items()}
        first, epsilon = np.arange(episodes) * spec.time_limit, 0.0 if greedy else self.config.epsilon_end

        @torch.no_grad()
        def policy(seen: AnyArray) -> Action:
            features = encode(self.net, params, self._tensor(seen[None]))

            @torch.no_grad()
            def act(pos: IntArray, t: int) -> IntArray:
                q = head(self.net, params, features, self._tensor(pos[None]))
                best = np.asarray(q[0].argmax(dim=-1).cpu().numpy())
                explores = uniform(boards_seed, Stream.POLICY, 2 * (first + t)) < epsilon
                return np.where(
                    explores, randint(boards_seed, Stream.POLICY, 2 * (first + t) + 1, spec.n_actions), best
                )

            return act

        return play(spec, ARMS[_frame(self.members[m])], policy, episodes, seed)


def _frame(member: Member) -> int:
    """The number of the translation an arm sees the game through; equivariant members see it as it is."""
    return ARMS.index(member.arm) if member.arm in ARMS else 0


class Batch(NamedTuple):
    """Transitions of every member; ``which[m, b]`` is the row of ``boards`` on which transition b was made."""

    boards: torch.Tensor
    which: torch.Tensor | None
    pos: torch.Tensor
    action: torch.Tensor
    reward: torch.Tensor
    terminated: torch.Tensor
    next_value: torch.Tensor


def best_values(net: QNetwork, params: Parameters, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """``max_a Q(s, a)`` from the features of the boards."""
    return head(net, params, features, pos).max(dim=-1).values


def head(net: QNetwork, params: Parameters, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """Action values from the features of the boards."""
    return torch.func.functional_call(_Head(net), {f"net.{k}": v for k, v in params.items()}, (features, pos))


class _Head(torch.nn.Module):
    """The head of a network as a module of its own, for ``functional_call``."""

    def __init__(self, net: QNetwork) -> None:
        super().__init__()
        self.net = net

    def forward(self, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
        return self.net.head(features, pos)


class _Encoder(torch.nn.Module):
    """The encoder of a network as a module of its own."""

    def __init__(self, net: QNetwork) -> None:
        super().__init__()
        self.net = net

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        return self.net.encode(boards)


def encode(net: QNetwork, params: Parameters, boards: torch.Tensor) -> torch.Tensor:
    """Features of boards under given parameters."""
    return torch.func.functional_call(_Encoder(net), {f"net.{k}": v for k, v in params.items()}, (boards,))


def update(
    net: QNetwork,
    params: Parameters,
    opt: AdamState,
    batch: Batch,
    *,
    gamma: float,
    rate: float,
    loss: str = "mse",
    mask: torch.Tensor | None = None,
) -> tuple[Parameters, AdamState, torch.Tensor]:
    """One update of every member in ``mask`` (default: all): new parameters, new optimizer state, loss per member.

    Members do not mix, so the gradient of the sum of their losses is each member's own gradient.
    """
    leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
    q = torch.func.functional_call(net, leaves, (batch.boards, batch.pos, batch.which))
    taken = torch.gather(q, 2, batch.action[:, :, None])[:, :, 0]
    losses = td_loss(taken, td_target(batch.reward, batch.terminated, batch.next_value, gamma), loss)
    grads = torch.autograd.grad(losses.sum(), list(leaves.values()))
    with torch.no_grad():
        named = dict(zip(leaves, grads, strict=True))
        new, after = adam({k: p.detach() for k, p in leaves.items()}, named, opt, rate, mask)
    return new, after, losses.detach()
