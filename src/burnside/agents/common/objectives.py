"""The losses of the learners that use torch, as pure functions; every tensor has a leading member axis."""

from __future__ import annotations

from burnside.agents.common.adam import Parameters
from burnside.nn._torch import torch

__all__ = ["clip_gradients", "clipped_objective", "td_loss", "td_target"]


def td_target(reward: torch.Tensor, terminated: torch.Tensor, next_value: torch.Tensor, gamma: float) -> torch.Tensor:
    """``r + γ max_a Q_target(s', a)``, without the second term where the game has ended (truncation is not an end).

    >>> one = torch.tensor([[1.0, 1.0]])
    >>> td_target(one, torch.tensor([[False, True]]), one * 10, 0.5)
    tensor([[6., 1.]])
    """
    return reward + gamma * next_value * (~terminated).to(reward.dtype)


def td_loss(q: torch.Tensor, target: torch.Tensor, kind: str) -> torch.Tensor:
    """Mean loss of every member; ``kind`` is ``mse`` or ``huber`` (smooth L1, threshold 1).

    >>> td_loss(torch.tensor([[0.0, 3.0]]), torch.tensor([[0.5, 0.0]]), "huber")
    tensor([1.3125])
    """
    error = q - target
    if kind == "huber":
        clipped = error.clamp(-1.0, 1.0)
        return (clipped * (error - 0.5 * clipped)).mean(dim=1)
    return (error * error).mean(dim=1)


def clipped_objective(ratio: torch.Tensor, advantage: torch.Tensor, clip: float) -> torch.Tensor:
    """PPO's ``min(ρ A, clip(ρ, 1 ± c) A)`` per step: no gain from moving the policy further than c.

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
