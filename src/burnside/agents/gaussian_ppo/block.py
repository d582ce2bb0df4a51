"""Members in lockstep: all scenes of all members step together, then every member updates its own networks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import AnyArray, BoolArray, FloatArray, IntArray
from burnside.agents.gaussian_ppo import _network, _update
from burnside.agents.gaussian_ppo.config import STATS, ControlLog, GaussianPPOConfig
from burnside.agents.gaussian_ppo.env import BatchEnv, State, check_observations, update_rows
from burnside.agents.gaussian_ppo.parameters import initial, layout, matrices, scratch
from burnside.agents.ppo.gae import advantages
from burnside.errors import InvalidParameter

__all__ = ["Evaluation", "GaussianBlock", "held_out"]

_COLUMNS = ("returns", "lengths", "success", "steps")


def held_out(seed: int) -> int:
    """The seed of scenes that no training run sees: 64 bits of stream EVAL, halved to fit an int64."""
    return int(hash_u64(seed, Stream.EVAL, 0) >> np.uint64(1))


@dataclass(frozen=True)
class Evaluation:
    """Episodes with the mean action, one entry per scene."""

    returns: FloatArray
    lengths: IntArray
    success: BoolArray


class GaussianBlock:
    """Members (seeds) with their scenes and networks, between two rollouts."""

    def __init__(self, config: GaussianPPOConfig, env: BatchEnv, seeds: Sequence[int]) -> None:
        """Members before their first rollout."""
        if not seeds or len(set(seeds)) != len(seeds):
            raise InvalidParameter(f"seeds {list(seeds)!r:.60} must be distinct, and at least one")
        self.config, self.env, self.seeds = config, env, [int(s) for s in seeds]
        self.layout = layout(env.obs_dim, env.act_dim, config.hidden)
        self.work = scratch(self.layout)
        members, scenes = len(self.seeds), config.scenes
        self.weights = np.stack([initial(seed, self.layout, config) for seed in self.seeds])
        self.m, self.v = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self.updates = np.zeros(members, dtype=np.int64)
        self.epochs = np.zeros(members, dtype=np.int64)
        self.rollouts = np.zeros(members, dtype=np.int64)
        self.episode = np.full(members, scenes, dtype=np.int64)  # the next one to begin
        self.total = np.zeros((members, scenes))
        self.length = np.zeros((members, scenes), dtype=np.int64)
        self._row_seeds = np.repeat(np.array(self.seeds, dtype=np.int64), scenes)
        self.state: State = env.reset_batch(self._row_seeds, np.tile(np.arange(scenes), members))
        self.rows: list[list[tuple[float, ...]]] = [[] for _ in self.seeds]
        self.stats: list[list[tuple[float, ...]]] = [[] for _ in self.seeds]

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        return json.dumps({"gaussian_ppo": self.config.to_json(), "env": self.env.name, "seeds": self.seeds})

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member."""
        return np.array([len(mine) for mine in self.rows], dtype=np.int64)

    @property
    def steps(self) -> IntArray:
        """Environment steps of every member, over all its scenes."""
        return self.rollouts * self.config.steps_per_rollout

    # ------------------------------------------------------------------ one rollout and its updates

    def iterate(self, active: BoolArray | None = None) -> None:
        """One rollout and its updates, for the members that are ``active`` (default: all)."""
        who = np.arange(len(self.seeds)) if active is None else np.flatnonzero(active)
        if not who.size:
            return
        seen = self._rollout(who)
        for k, member in enumerate(who):
            self._learn(int(member), {name: array[k] for name, array in seen.items()})
        self.rollouts[who] += 1

    def _rollout(self, who: IntArray) -> dict[str, AnyArray]:
        """Arrays ``(members of who, rollout, scenes, …)``."""
        config, env = self.config, self.env
        scenes, steps = config.scenes, config.rollout
        rows = (who[:, None] * scenes + np.arange(scenes)).ravel()
        state: State = {name: np.asarray(array)[rows] for name, array in self.state.items()}
        shape = (len(who), steps, scenes)
        seen: dict[str, AnyArray] = {
            "obs": np.zeros((*shape, env.obs_dim), dtype=np.float32),
            "action": np.zeros((*shape, env.act_dim), dtype=np.float32),
            "log_prob": np.zeros(shape, dtype=np.float32),
            "value": np.zeros(shape, dtype=np.float32),
            "next_value": np.zeros(shape, dtype=np.float32),
            "reward": np.zeros(shape),
            "terminated": np.zeros(shape, dtype=np.bool_),
            "ended": np.zeros(shape, dtype=np.bool_),
        }
        actor, critic, spread = self.layout.actor, self.layout.critic, self.layout.spread
        obs = check_observations(env.observe_batch(state), env.obs_dim).reshape(len(who), scenes, -1)
        for t in range(steps):
            seen["obs"][:, t] = obs
            for k, member in enumerate(who):
                counter = (self.rollouts[member] * steps + t) * scenes * env.act_dim
                _network.act(
                    self.weights[member],
                    actor,
                    critic,
                    spread,
                    self.work,
                    obs[k],
                    self.seeds[member],
                    counter,
                    seen["action"][k, t],
                    seen["log_prob"][k, t],
                    seen["value"][k, t],
                )
            step = env.step_batch(state, seen["action"][:, t].reshape(-1, env.act_dim))
            state = step.state
            obs = check_observations(env.observe_batch(state), env.obs_dim).reshape(len(who), scenes, -1)
            reward = np.asarray(step.reward, dtype=np.float64).reshape(len(who), scenes)
            ended = (step.terminated | step.truncated).reshape(len(who), scenes)
            seen["reward"][:, t], seen["ended"][:, t] = reward, ended
            seen["terminated"][:, t] = step.terminated.reshape(len(who), scenes)
            self.total[who] += reward
            self.length[who] += 1
            if ended.any():
                after = self._values(who, obs, ended & ~seen["terminated"][:, t])
                seen["next_value"][:, t] = after
                state = self._restart(who, state, ended, step.success.reshape(len(who), scenes), t)
                obs = check_observations(env.observe_batch(state), env.obs_dim).reshape(len(who), scenes, -1)
        last = self._values(who, obs, np.ones((len(who), scenes), dtype=np.bool_))
        follow = np.concatenate([seen["value"][:, 1:], last[:, None]], axis=1)
        seen["next_value"] = np.where(seen["ended"], seen["next_value"], follow)
        self.state = update_rows(self.state, rows, state)
        return seen

    def _values(self, who: IntArray, obs: AnyArray, where: BoolArray) -> AnyArray:
        """V where it is asked for, else zero."""
        out = np.zeros(where.shape, dtype=np.float32)
        for k, member in enumerate(who):
            chosen = np.flatnonzero(where[k])
            if chosen.size:
                found = np.zeros(chosen.size, dtype=np.float32)
                _network.values(self.weights[member], self.layout.critic, self.work, obs[k][chosen], found)
                out[k, chosen] = found
        return out

    def _restart(self, who: IntArray, state: State, ended: BoolArray, success: BoolArray, t: int) -> State:
        """Log the episodes that ended, in the order of their scenes, and begin the next ones."""
        scenes = self.config.scenes
        numbers = []
        for k, member in enumerate(who):
            over = np.flatnonzero(ended[k])
            taken = int(self.rollouts[member] * self.config.rollout + t + 1) * scenes
            columns = (self.total[member, over], self.length[member, over], success[k, over])
            self.rows[member] += [
                (total, float(length), float(won), float(taken))
                for total, length, won in zip(*(column.tolist() for column in columns), strict=True)
            ]
            self.total[member, over], self.length[member, over] = 0.0, 0
            numbers.append(self.episode[member] + np.arange(over.size))
            self.episode[member] += over.size
        rows = np.flatnonzero(ended.ravel())
        seeds = np.repeat(np.array([self.seeds[m] for m in who], dtype=np.int64), ended.sum(axis=1))
        return update_rows(state, rows, self.env.reset_batch(seeds, np.concatenate(numbers)))

    def _learn(self, member: int, seen: Mapping[str, AnyArray]) -> None:
        """All epochs over a rollout, each in an order of its own."""
        config, at = self.config, self.layout
        advantage = advantages(
            seen["reward"].T,
            seen["value"].T,
            seen["next_value"].T,
            seen["terminated"].T,
            seen["ended"].T,
            config.gamma,
            config.lam,
        ).T
        target = (advantage + seen["value"]).astype(np.float32).ravel()
        flat = advantage.astype(np.float32).ravel()
        count = config.steps_per_rollout
        totals = np.zeros(len(STATS) + 1)
        for _ in range(config.epochs):
            keys = hash_u64(self.seeds[member], Stream.REPLAY, self.epochs[member] * count + np.arange(count))
            order = np.argsort(keys)  # 64-bit hashes: no two alike, so any sort gives one order
            done = _update.epoch(
                self.weights[member],
                self.m[member],
                self.v[member],
                int(self.updates[member]),
                at.actor,
                at.critic,
                at.spread,
                self.work,
                seen["obs"].reshape(count, -1),
                seen["action"].reshape(count, -1),
                seen["log_prob"].ravel(),
                flat,
                target,
                order,
                config.batch,
                config.normalize,
                config.clip,
                config.entropy,
                config.value_weight,
                config.learning_rate,
                config.grad_clip,
                config.target_kl,
                totals,
            )
            self.updates[member] += done
            self.epochs[member] += 1
            if done < count // config.batch:
                break
        self.stats[member].append(tuple(float(x) for x in totals[:-1] / max(totals[-1], 1.0)))

    # ------------------------------------------------------------------ results and checkpoints

    def log(self, member: int, episodes: int | None = None) -> ControlLog:
        """The log of the member at a position, of at most ``episodes`` episodes."""
        rows = np.array(self.rows[member][:episodes], dtype=np.float64).reshape(-1, len(_COLUMNS))
        returns, lengths, success, steps = rows.T.copy()
        stats = np.array(self.stats[member]).reshape(-1, len(STATS))
        return ControlLog(
            self.seeds[member],
            returns,
            lengths.astype(np.int64),
            success > 0,
            steps.astype(np.int64),
            dict(zip(STATS, stats.T.copy(), strict=True)),
        )

    def parameters(self, member: int) -> dict[str, AnyArray]:
        """The networks of a member as plain matrices, see :func:`~burnside.agents.gaussian_ppo.parameters.matrices`."""
        return matrices(self.weights[member], self.layout)

    def mean_actions(self, member: int, obs: AnyArray) -> AnyArray:
        """The mean action for every row of ``obs``."""
        rows = check_observations(obs, self.env.obs_dim)
        out = np.zeros((len(rows), self.env.act_dim), dtype=np.float32)
        _network.mean_only(self.weights[member], self.layout.actor, self.work, rows, out)
        return out

    def evaluate(self, member: int, episodes: int = 256, *, seed: int = 0, limit: int = 10_000) -> Evaluation:
        """Play scenes no training run sees with the mean action; the scenes depend on ``seed`` alone."""
        env = self.env
        if episodes < 1:
            raise InvalidParameter(f"episodes is {episodes}: give at least 1")
        state = env.reset_batch(np.full(episodes, held_out(seed), dtype=np.int64), np.arange(episodes))
        playing = np.ones(episodes, dtype=np.bool_)
        returns, lengths = np.zeros(episodes), np.zeros(episodes, dtype=np.int64)
        success = np.zeros(episodes, dtype=np.bool_)
        for _ in range(limit):
            step = env.step_batch(state, self.mean_actions(member, env.observe_batch(state)))
            state = step.state
            returns += np.where(playing, step.reward, 0.0)
            lengths += playing
            success |= playing & step.success
            playing &= ~(step.terminated | step.truncated)
            if not playing.any():
                return Evaluation(returns, lengths, success)
        raise InvalidParameter(f"an episode did not end within {limit} steps: give the environment a time limit")

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to go on, as plain arrays; the moment is between two rollouts."""
        out: dict[str, AnyArray] = {f"state/{name}": np.array(array) for name, array in self.state.items()}
        for name in ("weights", "m", "v", "updates", "epochs", "rollouts", "episode", "total", "length"):
            out[name] = getattr(self, name).copy()
        for name, lists, width in (("rows", self.rows, len(_COLUMNS)), ("stats", self.stats, len(STATS))):
            out[f"log/{name}"] = np.array([row for mine in lists for row in mine], dtype=np.float64).reshape(-1, width)
            out[f"log/{name}_counts"] = np.array([len(mine) for mine in lists], dtype=np.int64)
        return out

    def restore(self, arrays: Mapping[str, AnyArray]) -> GaussianBlock:
        """Go on from the arrays of a block of the same configuration."""
        like = self.arrays()
        for name, array in like.items():
            vary = name in ("log/rows", "log/stats")
            if name not in arrays or (arrays[name].shape != array.shape and not vary):
                raise InvalidParameter(f"these arrays do not belong to this block: {name} is missing or of other shape")
        self.state = {name: np.array(arrays[f"state/{name}"]) for name in self.state}
        for name in ("weights", "m", "v", "updates", "epochs", "rollouts", "episode", "total", "length"):
            setattr(self, name, np.array(arrays[name]))
        for name, lists in (("rows", self.rows), ("stats", self.stats)):
            ends = np.cumsum(arrays[f"log/{name}_counts"])
            parts = np.split(np.asarray(arrays[f"log/{name}"]), ends[:-1])
            lists[:] = [[tuple(row) for row in part.tolist()] for part in parts]
        return self
