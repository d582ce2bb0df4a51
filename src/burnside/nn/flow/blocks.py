"""The DiTX block of ManiFlow: self-attention, cross-attention to a context, and an MLP, each gated by the time."""

from __future__ import annotations

import math

from burnside.nn._torch import torch

__all__ = ["CrossAttention", "DiTXBlock", "Memory", "RMSNorm", "SelfAttention", "time_features"]

#: Keys and values of the context in one layer, ``(batch, heads, tokens, width / heads)`` each.
Memory = tuple[torch.Tensor, torch.Tensor]


def time_features(t: torch.Tensor, width: int, period: float = 10_000.0) -> torch.Tensor:
    """Cosines and sines of ``1000 t`` at geometric frequencies, ``(batch, width)``.

    >>> time_features(torch.zeros(1), 4)
    tensor([[1., 1., 0., 0.]])
    """
    half = width // 2
    rates = torch.exp(-math.log(period) * torch.arange(half, dtype=torch.float32, device=t.device) / half)
    angles = 1000.0 * t[:, None] * rates
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


class RMSNorm(torch.nn.Module):
    """``x / √(mean x² + ε) · weight``."""

    def __init__(self, width: int) -> None:
        """Weights begin at one."""
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Over the last axis."""
        return x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-6) * self.weight


def _heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


class SelfAttention(torch.nn.Module):
    """Attention among the tokens of a chunk."""

    def __init__(self, width: int, heads: int) -> None:
        """One product for queries, keys and values."""
        super().__init__()
        self.heads = heads
        self.qkv = torch.nn.Linear(width, 3 * width)
        self.out = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(batch, tokens, width)`` to the same."""
        q, k, v = (_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2))


class CrossAttention(torch.nn.Module):
    """Attention of a chunk to the context, with a LayerNorm per head on queries and keys (QK-norm, here only)."""

    def __init__(self, width: int, heads: int) -> None:
        """Keys and values apart from queries, so that they can be computed once."""
        super().__init__()
        self.heads = heads
        self.q = torch.nn.Linear(width, width)
        self.kv = torch.nn.Linear(width, 2 * width)
        self.q_norm = torch.nn.LayerNorm(width // heads)
        self.k_norm = torch.nn.LayerNorm(width // heads)
        self.out = torch.nn.Linear(width, width)

    def memory(self, context: torch.Tensor) -> Memory:
        """Keys and values of a context."""
        k, v = (_heads(part, self.heads) for part in self.kv(context).chunk(2, dim=-1))
        return self.k_norm(k), v

    def forward(self, x: torch.Tensor, memory: Memory) -> torch.Tensor:
        """``(batch, tokens, width)`` to the same."""
        q = self.q_norm(_heads(self.q(x), self.heads))
        mixed = torch.nn.functional.scaled_dot_product_attention(q, *memory)
        return self.out(mixed.transpose(1, 2).flatten(2))


class DiTXBlock(torch.nn.Module):
    """``x += gate · part(norm(x) · (1 + scale) + shift)`` for self-attention, cross-attention and MLP in turn.

    The nine numbers per channel come from the time through one layer that begins at zero (adaLN-zero): a new block is
    the identity.

    >>> block = DiTXBlock(8, 2)
    >>> x = torch.randn(3, 4, 8)
    >>> torch.equal(block(x, torch.randn(3, 8), block.cross.memory(torch.randn(3, 5, 8))), x)
    True
    """

    def __init__(self, width: int, heads: int, ratio: int = 4) -> None:
        """Norms without weights: scale and shift come from the time."""
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width, elementwise_affine=False) for _ in range(3))
        self.attention = SelfAttention(width, heads)
        self.cross = CrossAttention(width, heads)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, ratio * width), torch.nn.GELU("tanh"), torch.nn.Linear(ratio * width, width)
        )
        self.modulation = torch.nn.Linear(width, 9 * width)
        torch.nn.init.zeros_(self.modulation.weight)
        torch.nn.init.zeros_(self.modulation.bias)

    def forward(self, x: torch.Tensor, time: torch.Tensor, memory: Memory) -> torch.Tensor:
        """Tokens ``(batch, tokens, width)``, time ``(batch, width)`` and the memory of the context."""
        parts = self.modulation(torch.nn.functional.silu(time))[:, None].chunk(9, dim=-1)

        def ready(k: int) -> torch.Tensor:
            return self.norms[k](x) * (1 + parts[3 * k + 1]) + parts[3 * k]

        x = x + parts[2] * self.attention(ready(0))
        x = x + parts[5] * self.cross(ready(1), memory)
        return x + parts[8] * self.mlp(ready(2))
