"""PPO on any environment, with numbered actions or vectors: members in lockstep, each with scenes and networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from burnside._random import Stream, hash_u64, normal, uniform
from burnside._types import AnyArray, BoolArray, IntArray
from burnside.agents.common.advantages import advantages
from burnside.agents.common.agent import Agent, Arm, member_of, shared_arm
from burnside.agents.common.arms import Use, resolve
from burnside.agents.common.evaluation import Watch, play
from burnside.agents.common.log import Recorder
from burnside.agents.common.members import Member
from burnside.agents.common.scenes import MemberScenes
from burnside.agents.common.training import Budget
from burnside.agents.ppo.config import STATS, PPOConfig, RingPPOConfig
from burnside.agents.ppo.kernels import Steps
from burnside.agents.ppo.networks import ActorCritics, CompiledActorCritic
from burnside.agents.ppo.plain import sample
from burnside.canonical.batched import form_of, with_arm
from burnside.envs.batched import BatchedEnv, Discrete, Evaluation, State, check_observations, select, update_rows
from burnside.envs.gymnasium_batch import GymnasiumBatch, as_batched, scenes_of
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["PPO", "GeneralPPO", "torch_learner"]


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
        if isinstance(config, RingPPOConfig):
            if not isinstance(base, RingScenes):
                raise InvalidParameter(f"RingPPOConfig is for rings, not for {base.name}: use PPOConfig")
            form = form_of(base, arm)
            learner: GeneralPPO = torch_learner(config, base, members, arm, device)
        else:
            if config is None:
                config = PPOConfig.preset("general") if isinstance(base, GymnasiumBatch) else PPOConfig()
                if (scenes := scenes_of(env)) is not None:
                    config = PPOConfig.preset("general", scenes=scenes, batch=16 * scenes)
            seen = resolve(base, arm, symmetry)
            form, learner = seen.form, GeneralPPO(config, seen.env, members, seen.use)
        super().__init__(base, learner, form)


def torch_learner(
    config: RingPPOConfig, env: RingScenes, members: Sequence[Member], arm: Arm = None, device: str = "cpu"
) -> GeneralPPO:
    """PPO on rings with App. C's networks, which are in torch.

    Args:
        config: Settings.
        env: The rings.
        members: All of one arm.
        arm: What they do with the symmetry, if it is not the arm they are named after but an object.
        device: Of the networks: ``cpu``, ``cuda`` or ``auto``.
    """
    from burnside.agents.common.devices import choose_device
    from burnside.agents.ppo.torch_networks import TorchActorCritic

    shown = with_arm(env, shared_arm(members, arm))
    network = TorchActorCritic(config, env.spec, [member.seed for member in members], choose_device(device))
    return GeneralPPO(config, shown, members, network=network)


class GeneralPPO(MemberScenes):
    """Members with their scenes and networks; a :class:`~burnside.agents.common.training.Learner`.

    All scenes of all members step together, then every member updates its own networks.
    """

    NAME = "ppo"
    KEPT = ("updates", "epochs", "rollouts", "episode", "total", "length")

    def __init__(
        self,
        config: PPOConfig | RingPPOConfig,
        env: BatchedEnv,
        members: Sequence[Member | int],
        use: Use | None = None,
        *,
        network: ActorCritics | None = None,
    ) -> None:
        """Members (or seeds) before their first rollout; ``network`` is that of all members (default: compiled).

        ``use`` is what the compiled networks and their updates do with a symmetry.
        """
        super().__init__(config, env, members, config.scenes, use)
        self.discrete = isinstance(env.action, Discrete)
        if network is None:
            if isinstance(config, RingPPOConfig):
                raise InvalidParameter("RingPPOConfig is for the networks of rings in torch: use PPOConfig")
            network = CompiledActorCritic(config, env, self.seeds.tolist(), use)
        self.network = network
        self.epochs, self.rollouts = np.zeros((2, len(self.members)), dtype=np.int64)
        self.recorder = Recorder(self.members, stats=STATS)

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
        self._learn(who, self._rollout(who))
        self.rollouts[who] += 1
        return True

    def _meant(self, action: AnyArray) -> AnyArray:
        """Actions as the environment takes them, from rows of float32."""
        flat = action.reshape(-1, action.shape[-1])
        return flat[:, 0].astype(np.int64) if self.discrete else flat

    def _rollout(self, who: IntArray) -> dict[str, AnyArray]:
        """Arrays ``(members of who, rollout, scenes, …)``."""
        env, scenes, steps = self.env, self.config.scenes, self.config.rollout
        rows = self._rows(who)
        state: State = select(self.state, rows)
        shape, width = (len(who), steps, scenes), 1 if isinstance(env.action, Discrete) else env.action.width
        seen: dict[str, AnyArray] = {
            "obs": np.zeros((*shape, env.obs_dim), dtype=np.float32),
            "action": np.zeros((*shape, width), dtype=np.float32),
            **{name: np.zeros(shape, dtype=np.float32) for name in ("log_prob", "value", "next_value")},
            "reward": np.zeros(shape),
            **{name: np.zeros(shape, dtype=np.bool_) for name in ("terminated", "ended")},
        }
        obs = self._observe(state)
        for t in range(steps):
            chosen = self.network.act(who, obs, (self.rollouts[who] * steps + t) * scenes * width)
            seen["obs"][:, t], seen["action"][:, t] = obs, chosen.action
            seen["log_prob"][:, t], seen["value"][:, t] = chosen.log_prob, chosen.value
            step = env.step_batch(state, self._meant(seen["action"][:, t]))
            state = step.state
            obs = self._observe(state)
            reward = np.asarray(step.reward, dtype=np.float64).reshape(len(who), scenes)
            ended = (step.terminated | step.truncated).reshape(len(who), scenes)
            seen["reward"][:, t], seen["ended"][:, t] = reward, ended
            seen["terminated"][:, t] = step.terminated.reshape(len(who), scenes)
            self.total[who] += reward
            self.length[who] += 1
            if ended.any():
                # V of where a truncated episode stopped, before any reset: it bootstraps from there.
                cut = ended & ~seen["terminated"][:, t]
                seen["next_value"][:, t] = np.where(cut, self.network.values(who, obs), 0.0) if cut.any() else 0.0
                taken = (self.rollouts[who] * steps + t + 1) * scenes
                self._log_ends(who, ended, step.success.reshape(len(who), scenes), taken)
                state = self._begin_next(who, state, ended)
                obs = self._observe(state)
        last = self.network.values(who, obs)
        follow = np.concatenate([seen["value"][:, 1:], last[:, None]], axis=1)
        seen["next_value"] = np.where(seen["ended"], seen["next_value"], follow)
        self.state = update_rows(self.state, rows, state)
        return seen

    def _learn(self, who: IntArray, seen: Mapping[str, AnyArray]) -> None:
        """All epochs over the rollouts of some members, each in its own order."""
        config, count = self.config, self.config.steps_per_rollout
        reward, value, after, over, ended = (
            seen[name].swapaxes(1, 2) for name in ("reward", "value", "next_value", "terminated", "ended")
        )
        advantage = advantages(reward, value, after, over, ended, config.gamma, config.lam).swapaxes(1, 2)
        steps = Steps(
            seen["obs"].reshape(len(who), count, -1),
            seen["action"].reshape(len(who), count, -1),
            seen["log_prob"].reshape(len(who), count),
            advantage.astype(np.float32).reshape(len(who), count),
            (advantage + seen["value"]).astype(np.float32).reshape(len(who), count),
        )
        totals = np.zeros((len(who), len(STATS) + 1))
        going = np.arange(len(who))  # those whose KL estimate has not stopped them
        for _ in range(config.epochs):
            chosen = who[going]
            first = self.epochs[chosen][:, None] * count + np.arange(count)
            # 64-bit hashes: no two alike, so any sort gives one order
            order = np.argsort(hash_u64(self.seeds[chosen][:, None], Stream.REPLAY, first), axis=1)
            mine = steps if len(going) == len(who) else Steps(*(array[going] for array in steps))
            sums = totals[going]
            done = self.network.epoch(chosen, mine, order, self.updates[chosen], sums)
            totals[going] = sums
            self.updates[chosen] += done
            self.epochs[chosen] += 1
            going = going[done == count // config.batch]
            if not going.size:
                break
        for k, m in enumerate(who):
            self.recorder.stats[m].append(tuple(float(x) for x in totals[k, :-1] / max(totals[k, -1], 1.0)))

    # ------------------------------------------------------------------ results and checkpoints

    def values(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """V for flat observations."""
        rows = check_observations(obs, self.env.obs_dim)
        return np.asarray(self.network.values(np.array([m]), rows[None])[0])

    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The likeliest actions for flat observations: mean actions, or those of largest probability."""
        out = self.network.member(m)(check_observations(obs, self.env.obs_dim))[0]
        return np.asarray(out.argmax(axis=1)) if self.discrete else out

    def evaluate(
        self,
        episodes: int = 256,
        *,
        m: int = 0,
        seed: int = 0,
        greedy: bool = True,
        limit: int = 10_000,
        watch: Watch | None = None,
    ) -> Evaluation:
        """Play episodes no training run sees, with the likeliest action, or with drawn ones as in training."""
        network, log_std = self.network.member(m), self.network.log_std(m)

        def policy(obs: AnyArray, rows: IntArray, t: int) -> AnyArray:
            out, counter = network(obs)[0], rows * limit + t  # each episode has its own, whichever others still run
            if log_std is None:
                return out.argmax(axis=1) if greedy else sample(out, uniform(seed, Stream.POLICY, counter))
            width = np.arange(log_std.size)
            noise = 0.0 if greedy else normal(seed, Stream.POLICY, counter[:, None] * width.size + width)
            return np.asarray(out + np.exp(log_std) * noise, dtype=np.float32)

        return play(self.env, policy, episodes, seed, limit, watch)

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays; the moment is between two rollouts."""
        return super().arrays() | {f"network/{name}": array for name, array in self.network.arrays().items()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> Self:
        """Resume from the arrays of a learner of the same configuration."""
        super().restore(arrays)
        self.network.restore({name.removeprefix("network/"): a for name, a in arrays.items()})
        return self
