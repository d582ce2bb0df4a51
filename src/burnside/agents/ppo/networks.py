"""What PPO asks of its actors and critics, and the compiled ones.

``torch_networks`` has those in torch. Either way every member has networks of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.agents.common.arms import Use
from burnside.agents.ppo import kernels
from burnside.agents.ppo.config import PPOConfig
from burnside.envs.batched import BatchedEnv, Discrete
from burnside.nn import images, mlp, mlp_kernels

__all__ = ["ActorCritics", "Chosen", "CompiledActorCritic", "initial", "layout", "parameters", "set_parameters"]


class Chosen(NamedTuple):
    """Actions ``(who, scenes, width)`` as rows of float32, their log-probabilities, and V of where they were taken."""

    action: AnyArray
    log_prob: AnyArray
    value: AnyArray


class ActorCritics(Protocol):
    """The networks of members; ``who`` are positions of members, the leading axis of what is given for them."""

    def act(self, who: IntArray, obs: AnyArray, counter: IntArray) -> Chosen:
        """Draw an action for every observation ``(who, scenes, obs_dim)``; ``counter`` is where its noise begins."""
        ...

    def values(self, who: IntArray, obs: AnyArray) -> AnyArray:
        """V of every observation."""
        ...

    def member(self, m: int) -> Callable[[AnyArray], tuple[AnyArray, ...]]:
        """One member as it is now, from observations ``(rows, obs_dim)``; its first output: logits or mean actions."""
        ...

    def log_std(self, m: int) -> AnyArray | None:
        """Logarithms of the deviations of a Gaussian policy; None if the policy is categorical."""
        ...

    def epoch(self, who: IntArray, steps: kernels.Steps, order: IntArray, made: IntArray, totals: AnyArray) -> IntArray:
        """One pass over the rollouts of members, each in its own order.

        Args:
            who: the members.
            steps: of their rollouts, ``(who, steps, …)``.
            order: in which the steps are visited, ``(who, steps)``.
            made: updates made before.
            totals: gains, per member and update, the statistics ``STATS`` and 1.

        Returns:
            The updates made; fewer than there are batches if the KL estimate passed ``target_kl``.
        """
        ...

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Resume from them."""
        ...


class CompiledActorCritic:
    """Two networks with two hidden layers of tanh, compiled; :mod:`burnside.agents.ppo.plain` is the same in numpy."""

    def __init__(self, config: PPOConfig, env: BatchedEnv, seeds: Sequence[int], use: Use | None = None) -> None:
        """Orthogonal weights from stream INIT of the seeds; ``use`` is what the networks do with a symmetry.

        Networks may then evaluate all images of an observation, whose rows come in blocks.
        """
        self.use, self.seeds = use, np.array(seeds, dtype=np.int64)
        self.policy = _shared(layout(env, config), use)
        self.work = mlp_kernels.scratch(self.policy.actor, self.policy.critic)
        self.rules, self._grad = rules(config), np.zeros(self.policy.size, dtype=np.float32)
        self.weights = np.stack([initial(seed, self.policy, config) for seed in seeds])
        for flat in self.weights:
            images.begin(flat, self.policy.ties)
        self.m, self.v = np.zeros_like(self.weights), np.zeros_like(self.weights)

    def _images(self, obs: AnyArray) -> AnyArray:
        """Observations as the networks see them."""
        return obs if self.use is None else self.use.images(obs)

    def act(self, who: IntArray, obs: AnyArray, counter: IntArray) -> Chosen:
        """See :class:`ActorCritics`."""
        shape, width = obs.shape[:2], 1 if self.policy.discrete else self.policy.actor.outputs
        out = Chosen(np.zeros((*shape, width), dtype=np.float32), *np.zeros((2, *shape), dtype=np.float32))
        for k, m in enumerate(who):
            drawn, rows = kernels.Drawn(out.action[k], out.log_prob[k]), self._images(obs[k])
            kernels.act(self.weights[m], self.policy, self.work, rows, self.seeds[m], counter[k], drawn)
            kernels.values(self.weights[m], self.policy, self.work, rows, out.value[k])
        return out

    def values(self, who: IntArray, obs: AnyArray) -> AnyArray:
        """See :class:`ActorCritics`."""
        out = np.zeros(obs.shape[:2], dtype=np.float32)
        for k, m in enumerate(who):
            kernels.values(self.weights[m], self.policy, self.work, self._images(obs[k]), out[k])
        return out

    def member(self, m: int) -> Callable[[AnyArray], tuple[AnyArray, ...]]:
        """See :class:`ActorCritics`."""

        def outputs(obs: AnyArray) -> tuple[AnyArray, ...]:
            rows, seen = self._images(obs), self.policy.seen
            out = np.zeros((len(rows), self.policy.actor.outputs), dtype=np.float32)
            mlp_kernels.outputs(self.weights[m], self.policy.actor, self.work, rows, out)
            return (images.turned(out, seen) if seen.mode == images.AVERAGE else out[:: seen.count],)

        return outputs

    def log_std(self, m: int) -> AnyArray | None:
        """See :class:`ActorCritics`."""
        return None if self.policy.discrete else self.weights[m, self.policy.spread :]

    def epoch(self, who: IntArray, steps: kernels.Steps, order: IntArray, made: IntArray, totals: AnyArray) -> IntArray:
        """See :class:`ActorCritics`."""
        done = np.zeros(len(who), dtype=np.int64)
        for k, m in enumerate(who):
            net = kernels.Adam(self.weights[m], self.m[m], self.v[m], self._grad)
            own, places, wanted = kernels.Steps(*(array[k] for array in steps)), order[k], self.rules
            if self.use is not None and self.use.augments:
                # as many random elements as steps, from where the updates of this epoch begin
                first = int(made[k]) * self.rules.batch
                own, places = self._augmented(self.use, int(self.seeds[m]), own, places, first)
                wanted = self.rules._replace(batch=self.rules.batch * self.use.multiplies)
            else:
                own = own._replace(obs=self._images(own.obs))
            done[k] = kernels.epoch(net, self.policy, self.work, own, places, made[k], wanted, totals[k])
        return done

    def _augmented(
        self, use: Use, seed: int, steps: kernels.Steps, order: IntArray, first: int
    ) -> tuple[kernels.Steps, IntArray]:
        """Steps with their images, and an order in which a step and its images are in the same minibatch.

        The log-probability stays that of the behaviour at the original: at the image the old policy may give another,
        and dividing by that one would correct for a behaviour that never was (2.2 times slower in a pilot).
        """
        count = len(order)
        actions = steps.action[:, 0].astype(np.int64) if self.policy.discrete else steps.action
        (obs,), moved = use.moved(seed, first, [steps.obs], actions)
        times = len(obs) // count
        rest = [np.tile(column, times) for column in (steps.log_prob, steps.advantage, steps.target)]
        found = kernels.Steps(np.ascontiguousarray(obs), moved.reshape(len(obs), -1).astype(np.float32), *rest)
        return found, (order[:, None] + count * np.arange(times)).ravel()

    def arrays(self) -> dict[str, AnyArray]:
        """See :class:`ActorCritics`."""
        return {"weights": self.weights.copy(), "m": self.m.copy(), "v": self.v.copy()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """See :class:`ActorCritics`."""
        self.weights, self.m, self.v = (np.array(arrays[name]) for name in ("weights", "m", "v"))


# ---------------------------------------------------------------------- the flat parameters of a member


def layout(env: BatchedEnv, config: PPOConfig) -> kernels.Policy:
    """Actor, critic and log deviations in one flat array."""
    discrete = isinstance(env.action, Discrete)
    outputs = env.action.n if isinstance(env.action, Discrete) else env.action.width
    actor = mlp.network(env.obs_dim, config.hidden, outputs)
    critic = mlp.network(env.obs_dim, config.hidden, 1, at=actor.end)
    return kernels.Policy(actor, critic, critic.end, critic.end + (0 if discrete else outputs), discrete)


def _shared(policy: kernels.Policy, use: Use | None) -> kernels.Policy:
    """A policy whose networks evaluate images, or share weights, as an arm says."""
    if use is None:
        return policy
    nets = [(policy.actor, "observation", "action"), (policy.critic, "observation", "value")]
    ties = use.ties(policy.size, nets, None if policy.discrete else policy.spread)
    return policy._replace(seen=use.seen, valued=use.valued, ties=ties)


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
