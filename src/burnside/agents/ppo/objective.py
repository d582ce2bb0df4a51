"""PPO's update (Schulman et al. 2017) as a pure function, every tensor with a leading member axis."""

from __future__ import annotations

from typing import NamedTuple

from burnside.agents.dqn.torch_update import AdamState, adam, new_adam
from burnside.agents.ppo.config import PPOConfig
from burnside.agents.ppo.network import ActorCritic, Parameters, encode, head
from burnside.nn._torch import torch

__all__ = ["AdamState", "Batch", "Stats", "clip_gradients", "clipped_objective", "new_adam", "update"]


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


def clipped_objective(ratio: torch.Tensor, advantage: torch.Tensor, clip: float) -> torch.Tensor:
    """``min(ρ A, clip(ρ, 1 ± c) A)`` per step: no gain from moving the policy further than c.

    >>> clipped_objective(torch.tensor([1.5, 0.5, 1.5]), torch.tensor([1.0, 1.0, -1.0]), 0.2)
    tensor([ 1.2000,  0.5000, -1.5000])
    """
    return torch.minimum(ratio * advantage, ratio.clamp(1.0 - clip, 1.0 + clip) * advantage)


def clip_gradients(grads: Parameters, limit: float) -> Parameters:
    """Gradients scaled so that each member's norm over all its parameters is at most ``limit``.

    >>> clipped = clip_gradients({"w": torch.tensor([[3.0, 4.0], [0.3, 0.4]])}, 1.0)
    >>> torch.linalg.vector_norm(clipped["w"], dim=1)
    tensor([1.0000, 0.5000])
    """
    squares = sum(g.flatten(1).square().sum(dim=1) for g in grads.values())
    scale = (limit / (torch.sqrt(torch.as_tensor(squares)) + 1e-6)).clamp(max=1.0)
    return {name: g * scale.reshape(-1, *[1] * (g.ndim - 1)) for name, g in grads.items()}


def update(
    net: ActorCritic,
    params: Parameters,
    opt: AdamState,
    batch: Batch,
    config: PPOConfig,
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
        chosen = torch.ones_like(opt.t, dtype=torch.bool) if mask is None else mask
        clipped = clip_gradients(dict(zip(leaves, grads, strict=True)), config.grad_clip)
        new, after = adam({k: p.detach() for k, p in leaves.items()}, clipped, opt, config.learning_rate, chosen)
        stats = Stats(
            policy_loss.detach(),
            value_loss.detach(),
            entropy.detach(),
            ((ratio - 1) - log_ratio).mean(dim=1).detach(),
            ((ratio - 1).abs() > config.clip).to(torch.float32).mean(dim=1),
        )
    return new, after, stats
