"""DQN on any environment with discrete actions, and the choice of the fast learner for rings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from burnside._random import Stream, held_out, randint, uniform
from burnside._types import AnyArray, IntArray
from burnside.agents.common.agent import Agent, Arm, member_of, shared_arm
from burnside.agents.common.arms import Use, resolve
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.evaluation import Watch, play
from burnside.agents.common.log import Recorder
from burnside.agents.common.members import Member, check_members
from burnside.agents.common.scenes import MemberScenes
from burnside.agents.common.training import Budget
from burnside.agents.dqn import kernels
from burnside.agents.dqn.config import DQNConfig
from burnside.agents.dqn.networks import CompiledQ, QNetworks
from burnside.agents.dqn.ring import MORE, PANEL, RingDQN
from burnside.canonical.batched import form_of, with_arm
from burnside.envs.batched import BatchedEnv, Discrete, Evaluation, check_observations, select, update_rows
from burnside.envs.gymnasium_batch import as_batched, scenes_of
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["DQN", "GeneralDQN", "ring_learner", "torch_learner"]

#: Environment steps of an advance.
TICKS = 256


class DQN(Agent):
    """Deep Q-learning on an environment, with or without its symmetry.

    >>> agent = DQN("burnside/Ring1D-v0", arm="canonical").learn(2_000)
    >>> agent.log().episodes > 100, bool(agent.evaluate(50).success.mean() > 0.5)
    (True, True)

    Args:
        env: An id, a Gymnasium environment or vector environment, a function that makes one, or a
            :class:`~burnside.envs.batched.BatchedEnv`. Actions must be discrete.
        config: Settings; default: App. C's on rings, ``DQNConfig.preset("general")`` elsewhere.
        arm: What is done with the symmetry: None, a name of :mod:`burnside.agents.common.arms` (``canonical``,
            ``augment``, ``averaging``, …), a canonical form, or a symmetry through whose random elements episodes are
            played.
        symmetry: Which symmetry the arm uses; default what the environment declares, else the atlas's.
        seed: Of everything random.
        device: Of the learners that use torch: ``cpu``, ``cuda`` or ``auto``.
    """

    def __init__(
        self,
        env: Any,
        config: DQNConfig | None = None,
        arm: Arm = None,
        *,
        symmetry: EnvSymmetry | FlatSymmetry | None = None,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        base, member, scenes = as_batched(env), member_of(seed, arm), scenes_of(env) or 1
        own = arm is None or (isinstance(arm, str) and arm in ("baseline", "canonical", "augment", "equivariant"))
        encoded = config is not None and config.encoder != "onehot"
        learner: RingDQN | GeneralDQN
        if isinstance(base, RingScenes) and symmetry is None and (own or encoded):
            form = form_of(base, arm)
            learner = ring_learner(config or DQNConfig(), base, [member], arm, scenes=scenes, device=device)
        else:
            seen = resolve(base, arm, symmetry)
            form = seen.form
            learner = GeneralDQN(config or DQNConfig.preset("general"), seen.env, member, scenes, seen.use)
        super().__init__(base, learner, form)


def ring_learner(
    config: DQNConfig,
    env: RingScenes,
    members: Sequence[Member],
    arm: Arm = None,
    *,
    scenes: int = 1,
    device: str = "cpu",
) -> RingDQN | GeneralDQN:
    """The fastest learner on rings that has these settings.

    A single member with a flat network and a named arm is one compiled loop. Encoders and equivariant networks are in
    torch, with all members in one product.

    Args:
        config: Settings.
        env: The rings.
        members: All of one arm.
        arm: What they do with the symmetry, if it is not the arm they are named after but an object.
        scenes: Of every member; the compiled loop has one.
        device: Of the networks in torch: ``cpu``, ``cuda`` or ``auto``.
    """
    check_members(members)
    named = arm is None or isinstance(arm, str)
    if members[0].arm == "equivariant" or config.encoder != "onehot":
        return torch_learner(config, env, members, arm, scenes=scenes, device=device)
    if named and len(members) == 1 and not any(width % PANEL for width in config.hidden):
        return RingDQN(config, env.spec, members[0])
    return GeneralDQN(config, with_arm(env, shared_arm(members, arm)), members, scenes)


def torch_learner(
    config: DQNConfig,
    env: RingScenes,
    members: Sequence[Member],
    arm: Arm = None,
    *,
    scenes: int = 1,
    device: str = "cpu",
) -> GeneralDQN:
    """DQN on rings with networks in torch, for encoders and equivariant networks; see :func:`ring_learner`."""
    from burnside.agents.common.devices import choose_device
    from burnside.agents.dqn.torch_networks import TorchQ

    shown, seeds = shared_arm(members, arm), [member.seed for member in members]
    equivariant = isinstance(shown, str) and shown == "equivariant"
    network = TorchQ(config, env.spec, seeds, equivariant=equivariant, device=choose_device(device))
    return GeneralDQN(config, with_arm(env, None if equivariant else shown), members, scenes, network=network)


class GeneralDQN(MemberScenes):
    """Members in any batched environment; a :class:`~burnside.agents.common.training.Learner`.

    With one scene this is, step by step, the algorithm of :class:`RingDQN`. With several, all scenes of a member step
    together and count one after the other. ``use`` is what its networks and updates do with a symmetry.
    """

    NAME = "dqn"
    KEPT = ("step", "updates", "episode", "total", "length", "losses", "made", "epsilon")

    def __init__(
        self,
        config: DQNConfig,
        env: BatchedEnv,
        members: Member | Sequence[Member],
        scenes: int = 1,
        use: Use | None = None,
        *,
        network: QNetworks | None = None,
    ) -> None:
        """Before the first step; ``network`` is that of all members (default: a compiled one, with ``use``)."""
        if not isinstance(env.action, Discrete):
            raise InvalidParameter(f"the actions of {env.name} are not discrete: DQN needs numbered actions, use PPO")
        super().__init__(config, env, [members] if isinstance(members, Member) else members, scenes, use)
        self.actions = env.action.n
        self.network = network or CompiledQ(config, env.obs_dim, self.actions, self.seeds.tolist(), use)
        count = len(self.members)
        rows, each = (count, config.capacity), (count, scenes)
        self.replay = kernels.Replay(
            np.zeros((*rows, env.obs_dim), dtype=np.float32),
            np.zeros((*rows, env.obs_dim), dtype=np.float32),
            np.zeros(rows, dtype=np.int64),
            np.zeros(rows, dtype=np.float32),
            np.zeros(rows, dtype=np.bool_),
        )
        self.step = np.zeros(count, dtype=np.int64)
        # Of the episodes under way: sum of the losses, updates, and ε when they began.
        self.losses, self.made = np.zeros(each), np.zeros(each, dtype=np.int64)
        self.epsilon = np.full(each, config.epsilon(0, 0))
        self.recorder = Recorder(self.members, MORE)
        self.obs = self._observe(self.state)

    @property
    def steps(self) -> IntArray:
        """Environment steps of every member, over all its scenes."""
        return self.step.copy()

    def advance(self, budget: Budget) -> bool:
        """Up to ``TICKS`` steps of every scene of the members short of the budget."""
        for tick in range(TICKS):
            (who,) = budget.left(self.episodes, self.step).nonzero()
            if not who.size:
                return tick > 0
            self._tick(who)
        return True

    def _tick(self, who: IntArray) -> None:
        """One step of every scene of some members, with the updates that are due."""
        config, replay, members, every = self.config, self.replay, who.tolist(), len(who) == len(self.members)
        rows = None if every else self._rows(who)
        obs = self.obs if every else self.obs[who]
        actions = self._act(who, obs)
        taken = self.env.step_batch(self.state if rows is None else select(self.state, rows), actions.ravel())
        after, shape = self._observe(taken.state), actions.shape
        ended = (taken.terminated | taken.truncated).reshape(shape)
        reward = taken.reward.reshape(shape)
        over = ended if config.limit_ends else taken.terminated.reshape(shape)  # after which nothing is to come
        ends = ended.any()
        for i in range(self.scenes):
            for k, m in enumerate(members):
                slot = self.step.item(m) % config.capacity
                replay.obs[m, slot], replay.after[m, slot] = obs[k, i], after[k, i]
                replay.action[m, slot], replay.reward[m, slot] = actions[k, i], reward[k, i]
                replay.terminated[m, slot] = over[k, i]
                self.step[m] += 1
                self.total[m, i] += reward[k, i]
                self.length[m, i] += 1
            self._learn(members, i)
            if ends:
                for k in ended[:, i].nonzero()[0].tolist():
                    self._finish(members[k], i, bool(taken.success.reshape(shape)[k, i]))
        state = taken.state
        if ends:
            state = self._begin_next(who, state, ended)
            after = self._observe(state)
        self.state = state if rows is None else update_rows(self.state, rows, state)
        if every:
            self.obs = after
        else:
            self.obs[who] = after

    def _act(self, who: IntArray, obs: AnyArray) -> IntArray:
        """ε-greedy actions ``(who, scenes)``; every scene is an environment step of its own, with its own ε."""
        rows, begun = self.recorder.rows, self.step.tolist()
        each = [(m, begun[m] + i) for m in who.tolist() for i in range(self.scenes)]
        levels = np.array([self.config.epsilon(len(rows[m]), t) for m, t in each])
        owners, at = np.array(each, dtype=np.int64).T
        actions = np.empty(len(each), dtype=np.int64)
        if kernels.explore(self.seeds[owners], at, levels, self.actions, actions):
            best = self.network.values(who, obs).argmax(axis=2)
            actions = np.where(actions < 0, best.ravel(), actions)
        return actions.reshape(-1, self.scenes)

    def _learn(self, members: list[int], scene: int) -> None:
        """The updates and copies into the target network that are due after a step of a scene."""
        config, step = self.config, self.step.tolist()
        due = [m for m in members if step[m] >= config.batch and step[m] % config.update_every == 0]
        if due:
            who = np.array(due)
            slots = np.empty((len(due), config.batch), dtype=np.int64)
            for k, m in enumerate(due):
                kernels.draw(slots[k], min(step[m], config.capacity), self.seeds[m], self.updates[m])
            losses = self.network.update(who, self.replay, slots, self.updates[who])
            for k, m in enumerate(due):
                self.losses[m, scene] += losses[k]
                self.made[m, scene] += 1
                self.updates[m] += 1
        if config.target_every_steps:
            copied = [m for m in members if step[m] % config.target_every_steps == 0]
            if copied:
                self.network.sync(np.array(copied))

    def _finish(self, m: int, i: int, success: bool) -> None:
        """Log an episode that ended, and sync the target network if it is due."""
        rows, step = self.recorder.rows[m], int(self.step[m])
        loss = self.losses[m, i] / max(1, self.made[m, i])
        noted = (self.total[m, i], self.length[m, i], success, step, self.updates[m], self.epsilon[m, i], loss)
        rows.append(tuple(float(x) for x in noted))
        self.total[m, i], self.length[m, i], self.losses[m, i], self.made[m, i] = 0.0, 0, 0.0, 0
        self.epsilon[m, i] = self.config.epsilon(len(rows), step)
        if not self.config.target_every_steps and len(rows) % self.config.target_every == 0:
            self.network.sync(np.array([m]))

    def values(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """Q of every action for flat observations ``(rows, obs_dim)``."""
        return self.network.member(m)(check_observations(obs, self.env.obs_dim))[0]

    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The actions of largest value."""
        return np.asarray(self.values(obs, m).argmax(axis=1))

    def evaluate(
        self, episodes: int = 100, *, m: int = 0, seed: int = 0, greedy: bool = True, watch: Watch | None = None
    ) -> Evaluation:
        """Play episodes no training run sees; greedily, or with the least ε of training."""
        key, epsilon, network = held_out(seed), 0.0 if greedy else self.config.epsilon_end, self.network.member(m)

        def policy(obs: AnyArray, rows: IntArray, t: int) -> AnyArray:
            counter = 2 * (rows * 2**32 + t)
            explores = uniform(key, Stream.POLICY, counter) < epsilon
            return np.where(explores, randint(key, Stream.POLICY, counter + 1, self.actions), network(obs)[0].argmax(1))

        return play(self.env, policy, episodes, seed, watch=watch)

    def _more_identity(self) -> dict[str, Any]:
        return {"scenes": self.scenes}

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, at any moment between two ticks."""
        out = super().arrays()
        out["next_episode"] = out.pop("episode")  # its name in the checkpoints of DQN
        out |= {f"network/{name}": array for name, array in self.network.arrays().items()}
        return out | {f"replay/{name}": array for name, array in self.replay._asdict().items()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> Self:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays(self.arrays(), arrays)
        super().restore({**arrays, "episode": arrays["next_episode"]})
        self.network.restore({name.removeprefix("network/"): a for name, a in arrays.items()})
        for name, array in self.replay._asdict().items():
            array[...] = arrays[f"replay/{name}"]
        self.obs = self._observe(self.state)
        return self
