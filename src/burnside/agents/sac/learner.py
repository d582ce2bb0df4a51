"""Soft actor-critic on any environment whose actions are vectors: members in lockstep, each with its own networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from burnside._random import Stream, hash_u64, held_out, uniform
from burnside._types import AnyArray, IntArray
from burnside.agents.common.agent import Agent, Arm, member_of
from burnside.agents.common.arms import Use, resolve
from burnside.agents.common.evaluation import play
from burnside.agents.common.log import Recorder
from burnside.agents.common.members import Member
from burnside.agents.common.scenes import MemberScenes
from burnside.agents.common.training import Budget
from burnside.agents.sac import kernels
from burnside.agents.sac.config import SACConfig
from burnside.envs.batched import BatchedEnv, Box, Evaluation, State, check_observations, select, update_rows
from burnside.envs.gymnasium_batch import as_batched
from burnside.errors import InvalidParameter
from burnside.nn import images, mlp, mlp_kernels
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["SAC", "GeneralSAC"]

#: Steps of every scene in an advance.
TICKS = 256
STATS = ("value_loss", "temperature", "entropy")


class SAC(Agent):
    """Soft actor-critic on an environment, with or without its symmetry.

    >>> agent = SAC("Pendulum-v1", SACConfig(hidden=(16, 16), begin=100), arm="averaging").learn(400)
    >>> agent.log().episodes, agent.predict(np.array([1.0, 0.0, 0.0], dtype=np.float32)).shape
    (2, (1,))

    Args:
        env: An id, a Gymnasium environment, a function that makes one, or a
            :class:`~burnside.envs.batched.BatchedEnv`. Actions must be vectors.
        config: Settings.
        arm: What is done with the symmetry: None, a name of :mod:`burnside.agents.common.arms` (``canonical``,
            ``augment``, ``averaging``, …), or a canonical form.
        symmetry: Which symmetry the arm uses; default what the environment declares, else the atlas's.
        seed: Of everything random; or several seeds, which are trained side by side.
    """

    def __init__(
        self,
        env: Any,
        config: SACConfig | None = None,
        arm: Arm = None,
        *,
        symmetry: EnvSymmetry | FlatSymmetry | None = None,
        seed: int | Sequence[int] = 0,
    ) -> None:
        base = as_batched(env)
        members = [member_of(each, arm) for each in ([seed] if isinstance(seed, int) else seed)]
        seen = resolve(base, arm, symmetry)
        super().__init__(base, GeneralSAC(config or SACConfig(), seen.env, members, seen.use), seen.form)


class GeneralSAC(MemberScenes):
    """Members with their scenes, replay and networks; a :class:`~burnside.agents.common.training.Learner`.

    ``use`` is what its updates do with a symmetry.
    """

    NAME = "sac"
    KEPT = ("ticks", "updates", "episode", "total", "length")

    def __init__(
        self, config: SACConfig, env: BatchedEnv, members: Sequence[Member | int], use: Use | None = None
    ) -> None:
        """Before the first step."""
        if not isinstance(env.action, Box):
            raise InvalidParameter(f"the actions of {env.name} are numbered: SAC needs vectors, use DQN or PPO")
        super().__init__(config, env, members, config.scenes, use)
        self.width = env.action.width
        low, high = (
            np.broadcast_to(np.asarray(b, dtype=np.float32), self.width) for b in (env.action.low, env.action.high)
        )
        if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
            raise InvalidParameter(f"the actions of {env.name} have no finite bounds, which SAC needs")
        self._middle, self._half = (low + high) / 2, (high - low) / 2
        self.nets = _networks(env.obs_dim, self.width, config, use)
        self._works = mlp_kernels.scratch(self.nets.actor), mlp_kernels.scratch(self.nets.one, self.nets.two)
        self._grads = tuple(np.zeros(net.end, dtype=np.float32) for net in (self.nets.actor, self.nets.two))
        self.weights = [_initial(member.seed, self.nets, config) for member in self.members]
        shape = (len(self.members), config.capacity)
        self.replay: dict[str, AnyArray] = {
            "obs": np.zeros((*shape, env.obs_dim), dtype=np.float32),
            "action": np.zeros((*shape, self.width), dtype=np.float32),
            "reward": np.zeros(shape, dtype=np.float32),
            "after": np.zeros((*shape, env.obs_dim), dtype=np.float32),
            "terminated": np.zeros(shape, dtype=np.bool_),
        }
        self.ticks = np.zeros(len(self.members), dtype=np.int64)
        self.recorder = Recorder(self.members, stats=STATS)

    @property
    def steps(self) -> IntArray:
        """Environment steps of every member, over all its scenes."""
        return self.ticks * self.config.scenes

    # ------------------------------------------------------------------ steps and updates

    def advance(self, budget: Budget) -> bool:
        """Up to ``TICKS`` steps of every scene of the members short of the budget, with the updates that are due."""
        stats = np.zeros((len(self.members), len(STATS) + 1))
        for tick in range(TICKS):
            who = np.flatnonzero(budget.left(self.episodes, self.steps))
            if not who.size:
                self._note(stats)
                return tick > 0
            self._tick(who, stats)
        self._note(stats)
        return True

    def _note(self, stats: AnyArray) -> None:
        for m, row in enumerate(stats):
            if row[-1]:
                self.recorder.stats[m].append(tuple(float(x) for x in row[:-1] / row[-1]))

    def _tick(self, who: IntArray, stats: AnyArray) -> None:
        """One step of every scene of some members, and their updates."""
        config, scenes = self.config, self.config.scenes
        rows = self._rows(who)
        state: State = select(self.state, rows)
        obs = self._observe(state)
        action = np.stack([self._draw(int(m), obs[k]) for k, m in enumerate(who)])
        step = self.env.step_batch(state, self._scaled(action.reshape(rows.size, -1)))
        after = self._observe(step.state)
        reward = np.asarray(step.reward, dtype=np.float64).reshape(who.size, scenes)
        terminated = step.terminated.reshape(who.size, scenes)
        ended = terminated | step.truncated.reshape(who.size, scenes)
        for k, m in enumerate(who):
            slots = (self.ticks[m] * scenes + np.arange(scenes)) % config.capacity
            seen = {"obs": obs[k], "action": action[k], "reward": reward[k], "after": after[k]}
            for name, column in (seen | {"terminated": terminated[k]}).items():
                self.replay[name][m, slots] = column
        self.total[who] += reward
        self.length[who] += 1
        self.ticks[who] += 1
        state = step.state
        if ended.any():
            self._log_ends(who, ended, step.success.reshape(who.size, scenes), self.steps[who])
            state = self._begin_next(who, state, ended)
        self.state = update_rows(self.state, rows, state)
        for m in who:
            if self.ticks[m] * scenes >= max(config.begin, config.batch):
                for _ in range(config.updates * scenes):
                    self._update(int(m), stats[m])

    def _draw(self, m: int, obs: AnyArray) -> AnyArray:
        """Actions in (−1, 1): uniform at first, then the policy's."""
        seed, first = self.members[m].seed, int(self.ticks[m]) * obs.shape[0] * self.width
        action = np.zeros((len(obs), self.width), dtype=np.float32)
        if self.ticks[m] * len(obs) < self.config.begin:
            numbers = uniform(seed, Stream.EXPLORE, first + np.arange(action.size))
            return np.asarray(2 * numbers - 1, dtype=np.float32).reshape(action.shape)
        rows = obs if self.use is None else self.use.images(obs)
        kernels.act(self.weights[m].actor, self.nets, self._works[0], rows, seed, first, False, action)
        return action

    def _scaled(self, action: AnyArray) -> AnyArray:
        return np.asarray(self._middle + self._half * action, dtype=np.float32)

    def _update(self, m: int, stats: AnyArray) -> None:
        config, seed = self.config, self.members[m].seed
        size = min(int(self.ticks[m]) * config.scenes, config.capacity)
        counters = int(self.updates[m]) * config.batch + np.arange(config.batch)
        slots = (hash_u64(seed, Stream.REPLAY, counters) % np.uint64(size)).astype(np.int64)
        seen = {name: column[m, slots] for name, column in self.replay.items()}
        if self.use is not None and self.use.augments:
            first = int(self.updates[m]) * config.batch
            (obs, after), action = self.use.moved(seed, first, [seen["obs"], seen["after"]], seen["action"])
            times = len(action) // config.batch
            seen |= {"obs": obs, "after": after, "action": action}
            seen |= {name: np.tile(seen[name], times) for name in ("reward", "terminated")}
        elif self.use is not None:
            seen |= {name: self.use.images(seen[name]) for name in ("obs", "after")}
        batch = kernels.Batch(**{name: np.ascontiguousarray(column) for name, column in seen.items()})
        self.updates[m] += 1
        target = -float(self.width) if config.entropy is None else config.entropy
        rules = kernels.Rules(config.gamma, config.tau, config.learning_rate, target)
        args = (self.weights[m], self._grads, self.nets, self._works, batch, rules, seed, int(self.updates[m]), stats)
        kernels.update(*args)

    # ------------------------------------------------------------------ results and checkpoints

    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The middle of the policy for flat observations."""
        return self._choose(obs, m, 0, 0, greedy=True)

    def _choose(self, obs: AnyArray, m: int, seed: int, counter: int, *, greedy: bool) -> AnyArray:
        rows = check_observations(obs, self.env.obs_dim)
        action = np.zeros((len(rows), self.width), dtype=np.float32)
        rows = rows if self.use is None else self.use.images(rows)
        kernels.act(self.weights[m].actor, self.nets, self._works[0], rows, seed, counter, greedy, action)
        return self._scaled(action)

    def evaluate(self, episodes: int = 100, *, m: int = 0, seed: int = 0, greedy: bool = True) -> Evaluation:
        """Play episodes no training run sees, with the middle of the policy, or with drawn actions."""
        key = held_out(seed)

        def policy(obs: AnyArray, rows: IntArray, t: int) -> AnyArray:
            if greedy:
                return self.act(obs, m)
            each = [self._choose(obs[i : i + 1], m, key, (int(row) * 10_000 + t) * self.width, greedy=False)
                    for i, row in enumerate(rows)]  # fmt: skip
            return np.concatenate(each)

        return play(self.env, policy, episodes, seed)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume; of the replay what has been written."""
        filled = int(min(self.steps.max(initial=0), self.config.capacity))
        out = super().arrays() | {f"replay/{name}": column[:, :filled] for name, column in self.replay.items()}
        for m, weights in enumerate(self.weights):
            out |= {f"weights/{m}/{name}": array for name, array in weights._asdict().items()}
        return out

    def restore(self, arrays: Mapping[str, AnyArray]) -> Self:
        """Resume from the arrays of a learner of the same configuration."""
        super().restore(arrays)
        for name, column in self.replay.items():
            kept = arrays[f"replay/{name}"]
            column[:, : kept.shape[1]] = kept
        for m, weights in enumerate(self.weights):
            for name, array in weights._asdict().items():
                array[...] = arrays[f"weights/{m}/{name}"]
        return self


# ---------------------------------------------------------------------- networks


def _networks(obs_dim: int, width: int, config: SACConfig, use: Use | None) -> kernels.Nets:
    actor = mlp.network(obs_dim, config.hidden, 2 * width, relu=True)
    one = mlp.network(obs_dim + width, config.hidden, 1, relu=True)
    two = mlp.network(obs_dim + width, config.hidden, 1, at=one.end, relu=True)
    nets = kernels.Nets(actor, one, two, width)
    if use is None or use.augments:
        return nets
    moves = np.linalg.inv(use.symmetry.turns.astype(np.float64))
    if not np.isin(np.round(np.abs(moves), 6), (0.0, 1.0)).all():
        raise InvalidParameter(
            f"{use.symmetry.name} turns actions: deviations along the axes cannot follow, use canonical or augment"
        )
    seen = images.ALONE
    if use.count > 1:
        both = np.zeros((use.count, 2 * width, 2 * width), dtype=np.float32)
        both[:, :width, :width] = use.symmetry.turns
        both[:, width:, width:] = np.abs(use.symmetry.turns)  # deviations change places, not signs
        seen = use.seen._replace(turns=both)
    return nets._replace(
        seen=seen,
        valued=use.valued,
        moves=np.ascontiguousarray(moves, dtype=np.float32),
        actor_ties=use.ties(actor.end, [(actor, "observation", "actions and deviations")]),
        critic_ties=use.ties(two.end, [(one, "both", "value"), (two, "both", "value")]),
    )


def _initial(seed: int, nets: kernels.Nets, config: SACConfig) -> kernels.Weights:
    """Weights as PyTorch's ``Linear`` draws them, each network from a seed of its own."""
    flat = [np.zeros(nets.actor.end, dtype=np.float32), np.zeros(nets.two.end, dtype=np.float32)]
    for number, (net, home) in enumerate(((nets.actor, 0), (nets.one, 1), (nets.two, 1))):
        own = int(hash_u64(seed, Stream.INIT, (1 << 40) + number)) >> 1
        widths = (net.obs_dim, net.h1, net.h2, net.outputs)
        mlp.set_matrices(flat[home], net, mlp.linear_parameters(own, widths))
    images.begin(flat[0], nets.actor_ties)
    images.begin(flat[1], nets.critic_ties)
    zeros = [np.zeros_like(flat[0]), np.zeros_like(flat[0]), np.zeros_like(flat[1]), np.zeros_like(flat[1])]
    temperature = np.array([np.log(config.temperature), 0.0, 0.0], dtype=np.float32)
    actor, critic = flat
    return kernels.Weights(
        actor, zeros[0], zeros[1], critic, zeros[2], zeros[3], critic.copy(), temperature
    )  # fmt: skip
