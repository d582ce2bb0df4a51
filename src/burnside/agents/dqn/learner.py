"""DQN on any environment with discrete actions, and the choice of the fast learners for rings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from burnside._random import Stream, held_out, randint, uniform
from burnside._types import AnyArray, IntArray
from burnside.agents.common.agent import ActingLearner, Agent, Arm, member_of
from burnside.agents.common.arms import Use, resolve
from burnside.agents.common.checkpoint import check_arrays
from burnside.agents.common.evaluation import play
from burnside.agents.common.log import EpisodeLog, Recorder
from burnside.agents.common.members import Member
from burnside.agents.common.training import Budget
from burnside.agents.dqn import kernels
from burnside.agents.dqn.config import DQNConfig
from burnside.agents.dqn.ring import MORE, RingDQN
from burnside.canonical.batched import form_of
from burnside.envs.batched import BatchedEnv, Discrete, Evaluation, State, check_observations, update_rows
from burnside.envs.gymnasium_batch import as_batched, scenes_of
from burnside.envs.ring.scenes import RingScenes
from burnside.errors import InvalidParameter
from burnside.nn import images, mlp, mlp_kernels
from burnside.symmetry.declaration import EnvSymmetry
from burnside.symmetry.flat import FlatSymmetry

__all__ = ["DQN", "GeneralDQN", "update"]

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
        base = as_batched(env)
        own = arm is None or arm in ("baseline", "canonical", "augment", "equivariant")  # what the fast learners know
        member, ring = member_of(seed, arm), isinstance(base, RingScenes) and own and symmetry is None
        form = None
        settings = config or (DQNConfig() if ring else DQNConfig.preset("general"))
        learner: ActingLearner
        if ring:
            form = form_of(base, arm)
        if ring and isinstance(base, RingScenes) and (member.arm == "equivariant" or settings.encoder != "onehot"):
            from burnside.agents.common.devices import choose_device
            from burnside.agents.dqn.ring_torch import RingDQNTorch

            learner = RingDQNTorch(settings, base.spec, [member], device=choose_device(device))
        elif ring and isinstance(base, RingScenes) and not any(width % 32 for width in settings.hidden):
            learner = RingDQN(settings, base.spec, member)
        else:
            seen = resolve(base, arm, symmetry)
            form, learner = seen.form, GeneralDQN(settings, seen.env, member, scenes_of(env) or 1, seen.use)
        super().__init__(base, learner, form)


class GeneralDQN:
    """One member in any batched environment; a :class:`~burnside.agents.common.training.Learner`.

    With one scene this is, step by step, the algorithm of :class:`RingDQN`. With several, all scenes step together and
    count one after the other. ``use`` is what its updates do with a symmetry.
    """

    def __init__(
        self, config: DQNConfig, env: BatchedEnv, member: Member, scenes: int = 1, use: Use | None = None
    ) -> None:
        """Before the first step."""
        if not isinstance(env.action, Discrete):
            raise InvalidParameter(f"the actions of {env.name} are not discrete: DQN needs numbered actions, use PPO")
        if any(width % mlp.COLUMNS for width in config.hidden) or config.encoder != "onehot":
            raise InvalidParameter(
                f"hidden {config.hidden} must be multiples of {mlp.COLUMNS}, and the encoder 'onehot' (the flat "
                f"observation), not {config.encoder!r}"
            )
        self.config, self.env, self.members, self.scenes = config, env, [member], scenes
        self.net = mlp.network(env.obs_dim, config.hidden, env.action.n, relu=True)
        self.work, self._grad = mlp_kernels.scratch(self.net), np.zeros(self.net.end, dtype=np.float32)
        self.weights = kernels.Weights(*(np.zeros(self.net.end, dtype=np.float32) for _ in range(4)))
        widths = (env.obs_dim, *config.hidden, env.action.n)
        mlp.set_matrices(self.weights.w, self.net, mlp.linear_parameters(member.seed, widths))
        self.use, ties = use, images.FREE
        self._asked = images.ALONE if use is None else use.seen
        if use is not None:
            ties = use.ties(self.net.end, [(self.net, "observation", "action")])
            images.begin(self.weights.w, ties)
        huber = config.loss == "huber"
        self._rules = kernels.Rules(config.gamma, config.learning_rate, huber, config.double, self._asked, ties)
        self.weights.target[:] = self.weights.w
        shape = (config.capacity, env.obs_dim)
        self.replay = kernels.Replay(
            np.zeros(shape, dtype=np.float32),
            np.zeros(shape, dtype=np.float32),
            np.zeros(config.capacity, dtype=np.int64),
            np.zeros(config.capacity, dtype=np.float32),
            np.zeros(config.capacity, dtype=np.bool_),
        )
        self.step, self.updates, self.next_episode = 0, 0, scenes
        self.total, self.length = np.zeros(scenes), np.zeros(scenes, dtype=np.int64)
        self.losses, self.made = np.zeros(scenes), np.zeros(scenes, dtype=np.int64)  # of the episodes under way
        self.epsilon = np.full(scenes, config.epsilon(0, 0))
        self.recorder = Recorder([member], MORE)
        self.state: State = env.reset_batch(np.full(scenes, member.seed, dtype=np.int64), np.arange(scenes))
        self._slots = np.zeros(config.batch, dtype=np.int64)

    @property
    def episodes(self) -> IntArray:
        """Finished episodes."""
        return self.recorder.episodes

    @property
    def steps(self) -> IntArray:
        """Environment steps, over all scenes."""
        return np.array([self.step])

    def advance(self, budget: Budget) -> bool:
        """Up to ``TICKS`` steps of every scene."""
        obs = check_observations(self.env.observe_batch(self.state), self.env.obs_dim)
        for tick in range(TICKS):
            if not budget.left(self.episodes, self.steps)[0]:
                return tick > 0
            obs = self._tick(obs)
        return True

    def _tick(self, obs: AnyArray) -> AnyArray:
        """One step of every scene with the updates that are due; returns the next observations."""
        config, seed = self.config, self.members[0].seed
        finished = len(self.recorder.rows[0])
        actions = np.zeros(self.scenes, dtype=np.int64)
        levels = np.array([config.epsilon(finished, self.step + i) for i in range(self.scenes)])
        rows = obs if self.use is None else self.use.images(obs)
        kernels.explore(self.weights.w, self.net, self.work, rows, seed, self.step, levels, actions, self._asked)
        taken = self.env.step_batch(self.state, actions)
        after = check_observations(self.env.observe_batch(taken.state), self.env.obs_dim)
        self.state, ended = taken.state, taken.terminated | taken.truncated
        for i in range(self.scenes):
            slot = self.step % config.capacity
            self.replay.obs[slot], self.replay.after[slot] = obs[i], after[i]
            self.replay.action[slot], self.replay.reward[slot] = actions[i], taken.reward[i]
            self.replay.terminated[slot] = ended[i] if config.limit_ends else taken.terminated[i]
            self.step += 1
            self.total[i] += taken.reward[i]
            self.length[i] += 1
            if self.step >= config.batch and self.step % config.update_every == 0:
                self._update(i)
            if config.target_every_steps and self.step % config.target_every_steps == 0:
                self.weights.target[:] = self.weights.w
            if ended[i]:
                self._finish(i, bool(taken.success[i]))
        if ended.any():
            over = np.flatnonzero(ended)
            numbers = self.next_episode + np.arange(over.size)
            self.next_episode += over.size
            new = self.env.reset_batch(np.full(over.size, seed, dtype=np.int64), numbers)
            self.state = update_rows(self.state, over, new)
            after = check_observations(self.env.observe_batch(self.state), self.env.obs_dim)
        return after

    def _update(self, scene: int) -> None:
        config = self.config
        size = min(self.step, config.capacity)
        kernels.draw(self._slots, size, self.members[0].seed, self.updates)
        self.updates += 1
        replay, slots = self.replay, self._slots
        if self.use is not None and (self.use.augments or self.use.count > 1):
            replay = self._images(self.use)
            slots = np.arange(len(replay.action))
        loss = kernels.update(
            self.weights, self._grad, replay, self.net, self.work, slots, self.updates, self._rules
        )  # fmt: skip
        self.losses[scene] += loss
        self.made[scene] += 1

    def _images(self, use: Use) -> kernels.Replay:
        """The transitions of the batch with their images: as more transitions, or as blocks of rows."""
        old, slots = self.replay, self._slots
        obs, after, action = old.obs[slots], old.after[slots], old.action[slots]
        rest = old.reward[slots], old.terminated[slots]
        if use.count > 1:
            return kernels.Replay(use.images(obs), use.images(after), action, *rest)
        (obs, after), moved = use.moved(self.members[0].seed, self.updates * len(slots), [obs, after], action)
        times = len(moved) // len(slots)
        return kernels.Replay(
            np.ascontiguousarray(obs), np.ascontiguousarray(after), moved, *(np.tile(x, times) for x in rest)
        )  # fmt: skip

    def _finish(self, i: int, success: bool) -> None:
        """Note an episode that ended, and sync the target network if it is time."""
        rows = self.recorder.rows[0]
        loss = self.losses[i] / max(1, self.made[i])
        noted = (self.total[i], self.length[i], success, self.step, self.updates, self.epsilon[i], loss)
        rows.append(tuple(float(x) for x in noted))
        self.total[i], self.length[i], self.losses[i], self.made[i] = 0.0, 0, 0.0, 0
        self.epsilon[i] = self.config.epsilon(len(rows), self.step)
        if not self.config.target_every_steps and len(rows) % self.config.target_every == 0:
            self.weights.target[:] = self.weights.w

    def log(self, m: int = 0, episodes: int | None = None) -> EpisodeLog:
        """The episodes so far; ``more`` has ``epsilon`` and ``loss``."""
        return self.recorder.log(m, episodes)

    def values(self, obs: AnyArray) -> AnyArray:
        """Q of every action for flat observations ``(rows, obs_dim)``."""
        rows = check_observations(obs, self.env.obs_dim)
        rows = rows if self.use is None else self.use.images(rows)
        out = np.zeros((len(rows), self.net.outputs), dtype=np.float32)
        mlp_kernels.outputs(self.weights.w, self.net, self.work, rows, out)
        if self._asked.mode == images.AVERAGE:
            return images.turned(out, self._asked)
        return out[:: len(out) // len(obs)]

    def act(self, obs: AnyArray, m: int = 0) -> AnyArray:
        """The actions of largest value."""
        return np.asarray(self.values(obs).argmax(axis=1))

    def evaluate(self, episodes: int = 100, *, m: int = 0, seed: int = 0, greedy: bool = True) -> Evaluation:
        """Play episodes no training run sees; greedily, or with the least ε of training."""
        key, epsilon, count = held_out(seed), 0.0 if greedy else self.config.epsilon_end, self.net.outputs

        def policy(obs: AnyArray, rows: IntArray, t: int) -> AnyArray:
            counter = 2 * (rows * 2**32 + t)
            explores = uniform(key, Stream.POLICY, counter) < epsilon
            return np.where(explores, randint(key, Stream.POLICY, counter + 1, count), self.act(obs))

        return play(self.env, policy, episodes, seed)

    @property
    def identity(self) -> str:
        """What a checkpoint must agree on before it may be resumed."""
        member = self.members[0].name
        found = {"dqn": self.config.to_json(), "env": self.env.name, "member": member, "scenes": self.scenes}
        return json.dumps(found if self.use is None else found | {"symmetry": self.use.symmetry.name})

    _KEPT = ("total", "length", "losses", "made", "epsilon")

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        out = {f"state/{name}": np.asarray(array) for name, array in self.state.items()}
        out |= {f"weights/{name}": array for name, array in self.weights._asdict().items()}
        out |= {f"replay/{name}": array for name, array in self.replay._asdict().items()}
        out |= {name: getattr(self, name) for name in self._KEPT}
        out["counters"] = np.array([self.step, self.updates, self.next_episode], dtype=np.int64)
        return out | self.recorder.arrays()

    def restore(self, arrays: Mapping[str, AnyArray]) -> GeneralDQN:
        """Resume from the arrays of a learner of the same configuration."""
        check_arrays(self.arrays(), arrays)
        self.state = {name: np.array(arrays[f"state/{name}"]) for name in self.state}
        for prefix, home in (("weights", self.weights), ("replay", self.replay)):
            for name, array in home._asdict().items():
                array[...] = arrays[f"{prefix}/{name}"]
        for name in self._KEPT:
            setattr(self, name, np.array(arrays[name]))
        self.step, self.updates, self.next_episode = (int(x) for x in arrays["counters"])
        self.recorder.restore(arrays)
        return self


def update(
    weights: Mapping[str, AnyArray],
    target: Mapping[str, AnyArray],
    batch: Mapping[str, AnyArray],
    config: DQNConfig,
) -> tuple[float, dict[str, AnyArray]]:
    """One DQN update in plain numpy: the loss and the gradients that Adam gets; the twin of ``kernels.update``.

    ``batch`` has ``obs``, ``after``, ``action``, ``reward`` and ``terminated``; truncation bootstraps, unless it was
    stored as an end (``limit_ends``).
    """
    rows = np.arange(len(batch["action"]))
    later = mlp.forward(target, batch["after"], relu=True)[2]
    chooser = mlp.forward(weights, batch["after"], relu=True)[2] if config.double else later
    best = later[rows, chooser.argmax(axis=1)]
    goal = batch["reward"] + config.gamma * np.where(batch["terminated"], 0.0, best)
    h1, h2, q = mlp.forward(weights, batch["obs"], relu=True)
    error = q[rows, batch["action"]] - goal
    slope = np.clip(error, -1, 1) if config.loss == "huber" else 2 * error
    loss = slope * (error - 0.5 * slope) if config.loss == "huber" else error**2
    dout = np.zeros_like(q)
    dout[rows, batch["action"]] = slope / len(rows)
    return float(loss.mean()), mlp.backward(weights, batch["obs"], h1, h2, dout, relu=True)
