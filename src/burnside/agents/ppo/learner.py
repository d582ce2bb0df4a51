"""PPO on any environment, with numbered actions or vectors: members in lockstep, each with scenes and networks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import AnyArray, BoolArray, IntArray
from burnside.agents.common.advantages import advantages
from burnside.agents.common.agent import ActingLearner, Agent, Arm, member_of
from burnside.agents.common.arms import Use, resolve
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.evaluation import play
from burnside.agents.common.log import EpisodeLog, Recorder
from burnside.agents.common.members import Member, check_members
from burnside.agents.common.training import Budget
from burnside.agents.ppo import kernels
from burnside.agents.ppo.config import STATS, PPOConfig, RingPPOConfig
from burnside.canonical.batched import form_of
from burnside.envs.batched import BatchedEnv, Discrete, Evaluation, State, check_observations, select, update_rows
from burnside.envs.gymnasium_batch import GymnasiumBatch, as_batched, scenes_of
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.nn import images, mlp, mlp_kernels
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["PPO", "GeneralPPO", "initial", "layout", "parameters", "set_parameters"]


class PPO(Agent):
    """Proximal policy optimisation on an environment, with or without its symmetry.

    >>> config = PPOConfig(scenes=16, rollout=16, batch=64)
    >>> agent = PPO("burnside/Ring1D-v0", config, arm="canonical").learn(2_000)
    >>> agent.log().episodes > 50, agent.predict(np.zeros(20)) in range(4)
    (True, True)

    Args:
        env: An id, a Gymnasium environment or vector environment, a function that makes one, or a
            :class:`~burnside.envs.batched.BatchedEnv`.
        config: Settings; default: ``PPOConfig()`` where the environment is batched natively, else
            ``PPOConfig.preset("general")`` (with as many scenes as a vector environment has). A
            :class:`RingPPOConfig` chooses App. C's networks, for rings.
        arm: What is done with the symmetry: None, a name of :mod:`burnside.agents.common.arms` (``canonical``,
            ``augment``, ``averaging``, …), a canonical form, or a symmetry through whose random elements episodes are
            played.
        symmetry: Which symmetry the arm uses; default what the environment declares, else the atlas's.
        seed: Of everything random; or several seeds, which are trained side by side.
        device: Of App. C's networks: ``cpu``, ``cuda`` or ``auto``.
    """

    def __init__(
        self,
        env: Any,
        config: PPOConfig | RingPPOConfig | None = None,
        arm: Arm = None,
        *,
        symmetry: EnvSymmetry | FlatSymmetry | None = None,
        seed: int | Sequence[int] = 0,
        device: str = "cpu",
    ) -> None:
        base = as_batched(env)
        members = [member_of(each, arm) for each in ([seed] if isinstance(seed, int) else seed)]
        learner: ActingLearner
        form = None
        if isinstance(config, RingPPOConfig):
            if not isinstance(base, RingScenes):
                raise InvalidParameter(f"RingPPOConfig is for rings, not for {base.name}: use PPOConfig")
            from burnside.agents.common.devices import choose_device
            from burnside.agents.ppo.ring import RingPPO

            form = form_of(base, arm)
            learner = RingPPO(config, base.spec, members, device=choose_device(device))
        else:
            if config is None:
                config = PPOConfig.preset("general") if isinstance(base, GymnasiumBatch) else PPOConfig()
                if (scenes := scenes_of(env)) is not None:
                    config = PPOConfig.preset("general", scenes=scenes, batch=16 * scenes)
            seen = resolve(base, arm, symmetry)
            form, learner = seen.form, GeneralPPO(config, seen.env, members, seen.use)
        super().__init__(base, learner, form)


class GeneralPPO:
    """Members with their scenes and networks; a :class:`~burnside.agents.common.training.Learner`.

    All scenes of all members step together, then every member updates its own networks. ``use`` is what its updates do
    with a symmetry; then networks may be asked at all images of an observation, rows of which stand in blocks.
    """

    def __init__(
        self, config: PPOConfig, env: BatchedEnv, members: Sequence[Member | int], use: Use | None = None
    ) -> None:
        """Members (or seeds) before their first rollout."""
        self.use = use
        self.members = [Member(each) if isinstance(each, int) else each for each in members]
        check_members(self.members)
        self.config, self.env = config, env
        self.policy = _shared(layout(env, config), use)
        self.work, self._grad = _scratch(self.policy), np.zeros(self.policy.size, dtype=np.float32)
        count, scenes = len(self.members), config.scenes
        self.weights = np.stack([initial(member.seed, self.policy, config) for member in self.members])
        for flat in self.weights:
            images.begin(flat, self.policy.ties)
        self.m, self.v = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self.updates, self.epochs, self.rollouts = (np.zeros(count, dtype=np.int64) for _ in range(3))
        self.episode = np.full(count, scenes, dtype=np.int64)  # the next one to begin
        self.total, self.length = np.zeros((count, scenes)), np.zeros((count, scenes), dtype=np.int64)
        seeds = np.repeat(np.array([member.seed for member in self.members], dtype=np.int64), scenes)
        self.state: State = env.reset_batch(seeds, np.tile(np.arange(scenes), count))
        self.recorder = Recorder(self.members, stats=STATS)

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        members = [member.name for member in self.members]
        found = {"ppo": self.config.to_json(), "env": self.env.name, "members": members}
        return json.dumps(found if self.use is None else found | {"symmetry": self.use.symmetry.name})

    @property
    def episodes(self) -> IntArray:
        """Finished episodes of every member."""
        return self.recorder.episodes

    @property
    def steps(self) -> IntArray:
        """Environment steps of every member, over all its scenes."""
        return self.rollouts * self.config.steps_per_rollout

    # ------------------------------------------------------------------ one rollout and its updates

    def advance(self, budget: Budget) -> bool:
        """One rollout and its updates, for the members short of the budget."""
        return self.iterate(budget.left(self.episodes, self.steps))

    def iterate(self, active: BoolArray | None = None) -> bool:
        """One rollout and its updates, for the members that are ``active`` (default: all); False if none is."""
        who = np.arange(len(self.members)) if active is None else np.flatnonzero(active)
        if not who.size:
            return False
        seen = self._rollout(who)
        for k, member in enumerate(who):
            self._learn(int(member), {name: array[k] for name, array in seen.items()})
        self.rollouts[who] += 1
        return True

    def _observe(self, state: State, members: int) -> AnyArray:
        obs = check_observations(self.env.observe_batch(state), self.env.obs_dim)
        return obs.reshape(members, self.config.scenes, -1)

    def _images(self, obs: AnyArray) -> AnyArray:
        """Observations as the networks see them."""
        return obs if self.use is None else self.use.images(obs)

    def _meant(self, action: AnyArray) -> AnyArray:
        """Actions as the environment takes them, from rows of float32."""
        flat = action.reshape(-1, action.shape[-1])
        return flat[:, 0].astype(np.int64) if self.policy.discrete else flat

    def _rollout(self, who: IntArray) -> dict[str, AnyArray]:
        """Arrays ``(members of who, rollout, scenes, …)``."""
        env, scenes, steps = self.env, self.config.scenes, self.config.rollout
        rows = (who[:, None] * scenes + np.arange(scenes)).ravel()
        state: State = select(self.state, rows)
        shape, width = (len(who), steps, scenes), 1 if self.policy.discrete else self.policy.actor.outputs
        seen: dict[str, AnyArray] = {
            "obs": np.zeros((*shape, env.obs_dim), dtype=np.float32),
            "action": np.zeros((*shape, width), dtype=np.float32),
            **{name: np.zeros(shape, dtype=np.float32) for name in ("log_prob", "value", "next_value")},
            "reward": np.zeros(shape),
            **{name: np.zeros(shape, dtype=np.bool_) for name in ("terminated", "ended")},
        }
        obs = self._observe(state, len(who))
        for t in range(steps):
            seen["obs"][:, t] = obs
            for k, member in enumerate(who):
                w, seed = self.weights[member], self.members[member].seed
                counter = (self.rollouts[member] * steps + t) * scenes * width
                action, log_prob = seen["action"][k, t], seen["log_prob"][k, t]
                mine = self._images(obs[k])
                kernels.act(w, self.policy, self.work, mine, seed, counter, action, log_prob)
                kernels.values(w, self.policy, self.work, mine, seen["value"][k, t])
            step = env.step_batch(state, self._meant(seen["action"][:, t]))
            state = step.state
            obs = self._observe(state, len(who))
            reward = np.asarray(step.reward, dtype=np.float64).reshape(len(who), scenes)
            ended = (step.terminated | step.truncated).reshape(len(who), scenes)
            seen["reward"][:, t], seen["ended"][:, t] = reward, ended
            seen["terminated"][:, t] = step.terminated.reshape(len(who), scenes)
            self.total[who] += reward
            self.length[who] += 1
            if ended.any():
                # V of where a truncated episode stopped, before any reset: it bootstraps from there.
                seen["next_value"][:, t] = self._values(who, obs, ended & ~seen["terminated"][:, t])
                state = self._restart(who, state, ended, step.success.reshape(len(who), scenes), t)
                obs = self._observe(state, len(who))
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
                out[k, chosen] = self.values(obs[k][chosen], int(member))
        return out

    def _restart(self, who: IntArray, state: State, ended: BoolArray, success: BoolArray, t: int) -> State:
        """Log the episodes that ended, in the order of their scenes, and begin the next ones."""
        scenes = self.config.scenes
        numbers = []
        for k, member in enumerate(who):
            over = np.flatnonzero(ended[k])
            taken = float((self.rollouts[member] * self.config.rollout + t + 1) * scenes)
            columns = (self.total[member, over], self.length[member, over], success[k, over])
            self.recorder.rows[member] += [
                (total, float(length), float(won), taken, float(self.updates[member]))
                for total, length, won in zip(*(column.tolist() for column in columns), strict=True)
            ]
            self.total[member, over], self.length[member, over] = 0.0, 0
            numbers.append(self.episode[member] + np.arange(over.size))
            self.episode[member] += over.size
        seeds = np.repeat(np.array([self.members[m].seed for m in who], dtype=np.int64), ended.sum(axis=1))
        return update_rows(state, np.flatnonzero(ended.ravel()), self.env.reset_batch(seeds, np.concatenate(numbers)))

    def _learn(self, m: int, seen: Mapping[str, AnyArray]) -> None:
        """All epochs over a rollout, each in an order of its own."""
        config, count = self.config, self.config.steps_per_rollout
        reward, value, after, over, ended = (
            seen[name].T for name in ("reward", "value", "next_value", "terminated", "ended")
        )
        advantage = advantages(reward, value, after, over, ended, config.gamma, config.lam).T
        steps = kernels.Steps(
            self._images(seen["obs"].reshape(count, -1)),
            seen["action"].reshape(count, -1),
            seen["log_prob"].ravel(),
            advantage.astype(np.float32).ravel(),
            (advantage + seen["value"]).astype(np.float32).ravel(),
        )
        given, larger = steps, 1
        if self.use is not None and self.use.augments:
            larger = self.use.multiplies
        net = kernels.Adam(self.weights[m], self.m[m], self.v[m], self._grad)
        totals = np.zeros(len(STATS) + 1)
        for _ in range(config.epochs):
            keys = hash_u64(self.members[m].seed, Stream.REPLAY, self.epochs[m] * count + np.arange(count))
            order = np.argsort(keys)  # 64-bit hashes: no two alike, so any sort gives one order
            made = int(self.updates[m])
            if self.use is not None and self.use.augments:
                steps, order = self._augmented(m, given, order)
            wanted = rules(config)._replace(batch=config.batch * larger)
            done = kernels.epoch(net, self.policy, self.work, steps, order, made, wanted, totals)
            self.updates[m] += done
            self.epochs[m] += 1
            if done < count // config.batch:
                break
        self.recorder.stats[m].append(tuple(float(x) for x in totals[:-1] / max(totals[-1], 1.0)))

    def _augmented(self, m: int, steps: kernels.Steps, order: IntArray) -> tuple[kernels.Steps, IntArray]:
        """Steps with their images, and an order in which a step and its images are in the same minibatch.

        The log-probability stays that of the behaviour at the original: at the image the old policy may give another,
        and dividing by that one would correct for a behaviour that never was (2.2 times slower in a pilot).
        """
        assert self.use is not None
        count, use = len(order), self.use
        actions = steps.action[:, 0].astype(np.int64) if self.policy.discrete else steps.action
        (obs,), moved = use.moved(self.members[m].seed, int(self.epochs[m]) * count, [steps.obs], actions)
        times = len(obs) // count
        rest = [np.tile(column, times) for column in (steps.log_prob, steps.advantage, steps.target)]
        found = kernels.Steps(np.ascontiguousarray(obs), moved.reshape(len(obs), -1).astype(np.float32), *rest)
        return found, (order[:, None] + count * np.arange(times)).ravel()

    # ------------------------------------------------------------------ results and checkpoints

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """The log of a member, of at most ``episodes`` episodes; ``stats`` has one entry per rollout."""
        return self.recorder.log(m, episodes)

    def values(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """V for flat observations."""
        out = np.zeros(len(obs), dtype=np.float32)
        rows = self._images(check_observations(obs, self.env.obs_dim))
        kernels.values(self.weights[m], self.policy, self.work, rows, out)
        return out

    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The likeliest actions for flat observations: mean actions, or those of largest probability."""
        rows = self._images(check_observations(obs, self.env.obs_dim))
        out = np.zeros((len(rows), self.policy.actor.outputs), dtype=np.float32)
        mlp_kernels.outputs(self.weights[m], self.policy.actor, self.work, rows, out)
        if self.policy.seen.mode == images.AVERAGE:
            out = images.turned(out, self.policy.seen)
        out = out[:: len(out) // len(obs)]
        return np.asarray(out.argmax(axis=1)) if self.policy.discrete else out

    def evaluate(
        self, episodes: int = 256, *, m: int = 0, seed: int = 0, greedy: bool = True, limit: int = 10_000
    ) -> Evaluation:
        """Play episodes no training run sees, with the likeliest action, or with drawn ones as in training."""
        width = 1 if self.policy.discrete else self.policy.actor.outputs

        def policy(obs: AnyArray, rows: IntArray, t: int) -> AnyArray:
            if greedy:
                return self.act(obs, m)
            action, log_prob = np.zeros((len(obs), width), dtype=np.float32), np.zeros(len(obs), dtype=np.float32)
            for i, row in enumerate(rows):  # a counter of its own for every episode, whoever else still plays
                counter = (int(row) * limit + t) * width
                one = slice(i, i + 1)
                mine = self._images(obs[one])
                args = (self.weights[m], self.policy, self.work, mine, seed, counter, action[one], log_prob[one])
                kernels.act(*args)
            return self._meant(action)

        return play(self.env, policy, episodes, seed, limit)

    _KEPT = ("weights", "m", "v", "updates", "epochs", "rollouts", "episode", "total", "length")

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays; the moment is between two rollouts."""
        out: dict[str, AnyArray] = {f"state/{name}": np.array(array) for name, array in self.state.items()}
        return out | {name: getattr(self, name).copy() for name in self._KEPT} | self.recorder.arrays()

    def restore(self, arrays: Mapping[str, AnyArray]) -> GeneralPPO:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays(self.arrays(), arrays)
        self.state = {name: np.array(arrays[f"state/{name}"]) for name in self.state}
        for name in self._KEPT:
            setattr(self, name, np.array(arrays[name]))
        self.recorder.restore(arrays)
        return self


# ---------------------------------------------------------------------- the flat parameters of a member


def layout(env: BatchedEnv, config: PPOConfig) -> kernels.Policy:
    """Actor, critic and log deviations in one flat array."""
    discrete = isinstance(env.action, Discrete)
    outputs = env.action.n if isinstance(env.action, Discrete) else env.action.width
    actor = mlp.network(env.obs_dim, config.hidden, outputs)
    critic = mlp.network(env.obs_dim, config.hidden, 1, at=actor.end)
    return kernels.Policy(actor, critic, critic.end, critic.end + (0 if discrete else outputs), discrete)


def _shared(policy: kernels.Policy, use: Use | None) -> kernels.Policy:
    """A policy whose networks are asked at images, or share weights, as an arm says."""
    if use is None:
        return policy
    nets = [(policy.actor, "observation", "action"), (policy.critic, "observation", "value")]
    ties = use.ties(policy.size, nets, None if policy.discrete else policy.spread)
    return policy._replace(seen=use.seen, valued=use.valued, ties=ties)


def _scratch(policy: kernels.Policy) -> mlp_kernels.Scratch:
    return mlp_kernels.scratch(policy.actor, policy.critic)


def rules(config: PPOConfig) -> kernels.Rules:
    """What compiled code needs of the settings."""
    return kernels.Rules(
        config.batch,
        config.normalize,
        config.clip,
        config.entropy,
        config.value_weight,
        config.learning_rate,
        config.grad_clip,
        config.target_kl,
    )


def initial(seed: int, policy: kernels.Policy, config: PPOConfig) -> AnyArray:
    """Orthogonal weights from stream INIT, biases zero."""
    flat, first = np.zeros(policy.size, dtype=np.float32), 0
    for net, gain in ((policy.actor, 0.01), (policy.critic, 1.0)):
        widths = (net.obs_dim, net.h1, net.h2, net.outputs)
        found, first = mlp.orthogonal_parameters(seed, widths, gain, first)
        mlp.set_matrices(flat, net, found)
    flat[policy.spread :] = config.log_std
    return flat


def parameters(flat: AnyArray, policy: kernels.Policy) -> dict[str, AnyArray]:
    """Plain matrices by name: ``actor.w1`` … ``critic.b3``, and ``log_std`` (empty if the policy is categorical)."""
    out = {f"actor.{name}": array for name, array in mlp.matrices(flat, policy.actor).items()}
    out |= {f"critic.{name}": array for name, array in mlp.matrices(flat, policy.critic).items()}
    return out | {"log_std": np.array(flat[policy.spread :])}


def set_parameters(flat: AnyArray, policy: kernels.Policy, given: Mapping[str, AnyArray]) -> None:
    """The inverse of :func:`parameters`, in place."""
    for prefix, net in (("actor", policy.actor), ("critic", policy.critic)):
        names = ("w1", "b1", "w2", "b2", "w3", "b3")
        mlp.set_matrices(flat, net, {name: given[f"{prefix}.{name}"] for name in names})
    flat[policy.spread :] = given["log_std"]
