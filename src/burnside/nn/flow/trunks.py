"""Velocity networks: a chunk, a time and a context to the direction in which the flow moves the chunk; and the value.

Every trunk has ``memory(tokens)``, what depends on the context alone, and ``forward(x, t, memory)``.
"""

from __future__ import annotations

from typing import Any

from burnside.nn._torch import torch
from burnside.nn.flow.blocks import DiTXBlock, Memory, RMSNorm, time_features
from burnside.nn.flow.config import FlowConfig

__all__ = ["AttentionPool", "DiTX", "DirectTrunk", "MLPTrunk", "make_trunk"]

_TIME = 256


class DiTX(torch.nn.Module):
    """ManiFlow's transformer: learned positions on actions and context, DiTX blocks, RMSNorm and an MLP at the end.

    The last layer begins at zero. ManiFlow's second time input (for consistency training) is left out: plain rectified
    flow does not use it.
    """

    def __init__(self, config: FlowConfig, token_dim: int) -> None:
        """Blocks for a chunk and a context."""
        super().__init__()
        width = config.width
        self.action = torch.nn.Linear(config.act_dim, width)
        self.action_places = torch.nn.Parameter(0.02 * torch.randn(1, config.horizon, width))
        self.context = torch.nn.Linear(token_dim, width)
        self.context_places = torch.nn.Parameter(0.02 * torch.randn(1, config.context, width))
        self.time = torch.nn.Sequential(torch.nn.Linear(_TIME, width), torch.nn.SiLU(), torch.nn.Linear(width, width))
        self.blocks: Any = torch.nn.ModuleList(DiTXBlock(width, config.heads) for _ in range(config.layers))
        self.norm = RMSNorm(width)
        last = torch.nn.Linear(width, config.act_dim)
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)
        self.out = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU("tanh"), last)

    def memory(self, tokens: torch.Tensor) -> list[Memory]:
        """Keys and values of the context in every layer."""
        context = self.context(tokens) + self.context_places
        return [block.cross.memory(context) for block in self.blocks]

    def forward(self, x: torch.Tensor, t: torch.Tensor, memory: list[Memory]) -> torch.Tensor:
        """``(batch, horizon, act_dim)`` to the same."""
        time = self.time(time_features(t, _TIME))
        h = self.action(x) + self.action_places
        for block, mine in zip(self.blocks, memory, strict=True):
            h = block(h, time, mine)
        return self.out(self.norm(h))


class MLPTrunk(torch.nn.Module):
    """A residual MLP on the flat chunk, the time and the flat context: for low-dimensional tasks, and fast."""

    def __init__(self, config: FlowConfig, token_dim: int) -> None:
        """Layers; the last one begins at zero."""
        super().__init__()
        width, self.shape = config.width, config.chunk
        size = config.horizon * config.act_dim
        self.action = torch.nn.Linear(size, width)
        self.context = torch.nn.Linear(config.context * token_dim, width)
        self.time = torch.nn.Linear(32, width)
        self.hidden = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(config.layers))
        self.out = torch.nn.Linear(width, size)
        torch.nn.init.zeros_(self.out.weight)
        torch.nn.init.zeros_(self.out.bias)

    def memory(self, tokens: torch.Tensor) -> torch.Tensor:
        """The context's share of the first layer."""
        return self.context(tokens.flatten(1))

    def forward(self, x: torch.Tensor, t: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """``(batch, horizon, act_dim)`` to the same."""
        h = self.action(x.flatten(1)) + memory + self.time(time_features(t, 32, 1000.0))
        for layer in self.hidden:
            h = h + layer(torch.nn.functional.silu(h))
        return self.out(torch.nn.functional.silu(h)).unflatten(1, self.shape)


class DirectTrunk(MLPTrunk):
    """The MLP predicts the end m of the flow, and the velocity is (m − x) / (1 − t), as it is along a straight path.

    A velocity must take the noise in x out again, which a small MLP learns slowly: as a residue, centimetres of noise
    stay in the actions of a robot. Here that is arithmetic. Past the last step of the sampler the divisor stays at half
    a step; training at the sampler's own times (``time="grid"``) never gets there.
    """

    def __init__(self, config: FlowConfig, token_dim: int) -> None:
        """As the MLP."""
        super().__init__(config, token_dim)
        self.least = 0.5 / config.steps

    def forward(self, x: torch.Tensor, t: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        """``(batch, horizon, act_dim)`` to the same."""
        left = (1.0 - t).clamp(min=self.least).reshape(-1, 1, 1)
        return (super().forward(x, t, memory) - x) / left


class AttentionPool(torch.nn.Module):
    """The value: a learned query attends to the context tokens, then an MLP to one number."""

    def __init__(self, config: FlowConfig, token_dim: int) -> None:
        """A head of width ``value_width``."""
        super().__init__()
        width, self.heads = config.value_width, config.heads
        self.tokens = torch.nn.Linear(token_dim, width)
        self.places = torch.nn.Parameter(0.02 * torch.randn(1, config.context, width))
        self.query = torch.nn.Parameter(0.02 * torch.randn(1, self.heads, 1, width // self.heads))
        self.kv = torch.nn.Linear(width, 2 * width)
        self.net = torch.nn.Sequential(
            torch.nn.Linear(width + config.value_time, width),
            torch.nn.SiLU(),
            torch.nn.Linear(width, width),
            torch.nn.SiLU(),
            torch.nn.Linear(width, 1),
        )

    def forward(self, tokens: torch.Tensor, time: torch.Tensor | None = None) -> torch.Tensor:
        """``(batch, tokens, token_dim)``, and with ``value_time`` the time ``(batch, 1)``, to ``(batch,)``."""
        h = self.tokens(tokens) + self.places
        k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.kv(h).chunk(2, dim=-1))
        query = self.query.expand(len(tokens), -1, -1, -1)
        pooled = torch.nn.functional.scaled_dot_product_attention(query, k, v)
        found = pooled.transpose(1, 2).flatten(1)
        return self.net(found if time is None else torch.cat([found, time], dim=-1))[:, 0]


def make_trunk(config: FlowConfig, token_dim: int) -> Any:
    """The trunk of a configuration."""
    return {"mlp": MLPTrunk, "direct": DirectTrunk, "ditx": DiTX}[config.trunk](config, token_dim)
