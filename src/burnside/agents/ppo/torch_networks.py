"""Actor and critic of App. C in torch, one network with two outputs: 3D encoders, GPUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from burnside._random import Stream, uniform
from burnside._types import AnyArray, IntArray
from burnside.agents.common.adam import Parameters
from burnside.agents.common.objectives import clipped_objective
from burnside.agents.common.torch_networks import Memory, TorchNetworks
from burnside.agents.ppo.config import RingPPOConfig
from burnside.agents.ppo.kernels import Steps
from burnside.agents.ppo.networks import Chosen
from burnside.agents.ppo.plain import sample
from burnside.envs.ring.core import RingSpec
from burnside.nn._torch import torch
from burnside.nn.ring_networks import RingNetwork

__all__ = ["Batch", "TorchActorCritic"]


class Batch(NamedTuple):
    """Steps of all members, ``(members, batch, …)``; ``target`` is that of the value."""

    obs: AnyArray
    action: torch.Tensor
    log_prob: torch.Tensor  # under the policy that acted
    advantage: torch.Tensor
    target: torch.Tensor


class TorchActorCritic(TorchNetworks):
    """The networks of members on rings; an :class:`~burnside.agents.ppo.networks.ActorCritics`.

    A single member encodes every distinct board of a rollout once, and every distinct board of a minibatch.
    """

    def __init__(
        self, config: RingPPOConfig, spec: RingSpec, seeds: Sequence[int], device: torch.device | None = None
    ) -> None:
        """Drawn as ``torch.nn.Linear`` and ``Conv3d`` are, from stream INIT of the seeds."""
        outputs = {"policy": spec.n_actions, "value": 1}
        net = RingNetwork(
            spec, config.encoder, config.hidden, outputs, seeds, item_scale=config.item_scale, place=config.place
        )
        super().__init__(net, device)
        self.config, self.seeds = config, np.array(seeds, dtype=np.int64)
        self.memory: Memory = {}  # of the boards of a rollout

    @torch.no_grad()
    def act(self, who: IntArray, obs: AnyArray, counter: IntArray) -> Chosen:
        """See :class:`~burnside.agents.ppo.networks.ActorCritics`."""
        logits, value = (found.cpu() for found in self.outputs(self.params, self.everyone(who, obs), self.memory))
        level = uniform(self.seeds[who][:, None], Stream.POLICY, counter[:, None] + np.arange(obs.shape[1]))
        action = sample(logits.numpy()[who], level)
        log_p = torch.log_softmax(logits, dim=-1).numpy()[who]
        log_prob = np.take_along_axis(log_p, action[..., None], axis=-1)
        return Chosen(action[..., None].astype(np.float32), log_prob[..., 0], value.numpy()[who][..., 0])

    @torch.no_grad()
    def values(self, who: IntArray, obs: AnyArray) -> AnyArray:
        """See :class:`~burnside.agents.ppo.networks.ActorCritics`."""
        _, value = self.outputs(self.params, self.everyone(who, obs), self.memory)
        return np.asarray(value.cpu().numpy()[who][..., 0])

    def log_std(self, m: int) -> AnyArray | None:
        """See :class:`~burnside.agents.ppo.networks.ActorCritics`; the policy is categorical."""
        return None

    def epoch(self, who: IntArray, steps: Steps, order: IntArray, made: IntArray, totals: AnyArray) -> IntArray:
        """See :class:`~burnside.agents.ppo.networks.ActorCritics`."""
        self.memory.clear()  # its features are of the parameters before
        size = self.config.batch
        for at in range(0, order.shape[1], size):
            rows = np.arange(len(who))[:, None], order[:, at : at + size]
            obs, action, *rest = (self.everyone(who, array[rows]) for array in steps)
            batch = Batch(obs, self.tensor(action.astype(np.int64)), *(self.tensor(array) for array in rest))
            totals[:, :-1] += self.update(who, batch)[who]
            totals[:, -1] += 1
        return np.full(len(who), order.shape[1] // size)

    def update(self, who: IntArray, batch: Batch) -> AnyArray:
        """One minibatch of the members ``who``; the statistics ``STATS`` of all members, ``(members, 5)``."""
        config, stats = self.config, torch.zeros(0)
        advantage = batch.advantage
        if config.normalize:
            centred = advantage - advantage.mean(dim=1, keepdim=True)
            advantage = centred / (advantage.std(dim=1, keepdim=True) + 1e-8)

        def objective(params: Parameters) -> torch.Tensor:
            nonlocal stats
            logits, value = self.outputs(params, batch.obs)
            log_probs = torch.log_softmax(logits, dim=-1)
            log_ratio = torch.gather(log_probs, 2, batch.action)[:, :, 0] - batch.log_prob
            ratio = log_ratio.exp()
            policy_loss = -clipped_objective(ratio, advantage, config.clip).mean(dim=1)
            value_loss = 0.5 * (value[..., 0] - batch.target).square().mean(dim=1)
            entropy = -(log_probs.exp() * log_probs).sum(dim=-1).mean(dim=1)
            kl = ((ratio - 1) - log_ratio).mean(dim=1)
            clipped = ((ratio - 1).abs() > config.clip).to(torch.float32).mean(dim=1)
            stats = torch.stack([policy_loss, value_loss, entropy, kl, clipped], dim=1).detach()
            return policy_loss + config.value_weight * value_loss - config.entropy * entropy

        self.descend(objective, config.learning_rate, who, config.grad_clip)
        return np.asarray(stats.cpu().numpy(), dtype=np.float64)

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Resume from the arrays of the same networks."""
        super().restore(arrays)
        self.memory.clear()
