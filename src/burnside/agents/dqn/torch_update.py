"""DQN's update as pure functions of parameters, optimizer state and batch, every tensor with a leading member axis."""

from __future__ import annotations

from typing import NamedTuple

from burnside.nn._torch import torch
from burnside.nn.qnets import QNetwork

__all__ = [
    "AdamState",
    "Batch",
    "Parameters",
    "adam",
    "best_values",
    "encode",
    "head",
    "new_adam",
    "td_loss",
    "td_target",
    "update",
]

Parameters = dict[str, torch.Tensor]


class Batch(NamedTuple):
    """Transitions of every member; ``which[m, b]`` is the row of ``boards`` on which transition b was made."""

    boards: torch.Tensor
    which: torch.Tensor | None
    pos: torch.Tensor
    action: torch.Tensor
    reward: torch.Tensor
    terminated: torch.Tensor
    next_value: torch.Tensor


class AdamState(NamedTuple):
    """First and second moments, and the updates each member has made."""

    m: Parameters
    v: Parameters
    t: torch.Tensor


def new_adam(params: Parameters) -> AdamState:
    """Before the first update."""
    zeros = {name: torch.zeros_like(p) for name, p in params.items()}
    first = next(iter(params.values()))
    count = torch.zeros(first.shape[0], dtype=torch.int64, device=first.device)
    return AdamState(zeros, {name: torch.zeros_like(p) for name, p in params.items()}, count)


def td_target(reward: torch.Tensor, terminated: torch.Tensor, next_value: torch.Tensor, gamma: float) -> torch.Tensor:
    """``r + γ max_a Q_target(s', a)``, without the second term where the game has ended (truncation is no end).

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


def best_values(net: QNetwork, params: Parameters, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """``max_a Q(s, a)`` from the features of the boards."""
    return head(net, params, features, pos).max(dim=-1).values


def head(net: QNetwork, params: Parameters, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
    """Action values from the features of the boards."""
    return torch.func.functional_call(_Head(net), {f"net.{k}": v for k, v in params.items()}, (features, pos))


class _Head(torch.nn.Module):
    """The head of a network as a module of its own, for ``functional_call``."""

    def __init__(self, net: QNetwork) -> None:
        super().__init__()
        self.net = net

    def forward(self, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
        return self.net.head(features, pos)


class _Encoder(torch.nn.Module):
    """The encoder of a network as a module of its own."""

    def __init__(self, net: QNetwork) -> None:
        super().__init__()
        self.net = net

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        return self.net.encode(boards)


def encode(net: QNetwork, params: Parameters, boards: torch.Tensor) -> torch.Tensor:
    """Features of boards under given parameters."""
    return torch.func.functional_call(_Encoder(net), {f"net.{k}": v for k, v in params.items()}, (boards,))


def _where(mask: torch.Tensor, new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    return torch.where(mask.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def adam(
    params: Parameters, grads: Parameters, opt: AdamState, rate: float, mask: torch.Tensor
) -> tuple[Parameters, AdamState]:
    """One step of Adam (β 0.9 and 0.999, ε 1e-8) for the members in ``mask``; the others keep theirs."""
    t = opt.t + mask.to(opt.t.dtype)
    count = t.clamp(min=1).to(torch.float64)
    scale = (rate / (1.0 - 0.9**count)).to(torch.float32)
    root = (1.0 / torch.sqrt(1.0 - 0.999**count)).to(torch.float32)
    everyone = bool(mask.all())
    new, m, v = {}, {}, {}
    for name, p in params.items():
        shape = (-1, *[1] * (p.ndim - 1))
        g = grads[name]
        m1 = torch.lerp(opt.m[name], g, 0.1)
        v1 = torch.addcmul(opt.v[name] * 0.999, g, g, value=0.001)
        p1 = p - scale.reshape(shape) * m1 / (v1.sqrt() * root.reshape(shape) + 1e-8)
        if not everyone:
            m1, v1, p1 = _where(mask, m1, opt.m[name]), _where(mask, v1, opt.v[name]), _where(mask, p1, p)
        new[name], m[name], v[name] = p1, m1, v1
    return new, AdamState(m, v, t)


def update(
    net: QNetwork,
    params: Parameters,
    opt: AdamState,
    batch: Batch,
    *,
    gamma: float,
    rate: float,
    loss: str = "mse",
    mask: torch.Tensor | None = None,
) -> tuple[Parameters, AdamState, torch.Tensor]:
    """One update of every member in ``mask`` (default: all): new parameters, new optimizer state, loss per member.

    Members do not mix, so the gradient of the sum of their losses is each member's own gradient.
    """
    leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
    q = torch.func.functional_call(net, leaves, (batch.boards, batch.pos, batch.which))
    taken = torch.gather(q, 2, batch.action[:, :, None])[:, :, 0]
    losses = td_loss(taken, td_target(batch.reward, batch.terminated, batch.next_value, gamma), loss)
    grads = torch.autograd.grad(losses.sum(), list(leaves.values()))
    with torch.no_grad():
        chosen = torch.ones_like(opt.t, dtype=torch.bool) if mask is None else mask
        new, after = adam(
            {k: p.detach() for k, p in leaves.items()}, dict(zip(leaves, grads, strict=True)), opt, rate, chosen
        )
    return new, after, losses.detach()
