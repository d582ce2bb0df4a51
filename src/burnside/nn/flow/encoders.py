"""Observations to context tokens: the state itself, an MLP on it, or a DP3-style network on a point cloud."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np

from burnside._random import Stream, hash_u64
from burnside._types import AnyArray
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.flow.config import FlowConfig

__all__ = ["CloudEncoder", "FlatEncoder", "StateEncoder", "make_encoder", "resample_cloud"]

Observation = dict[str, torch.Tensor]
_WARNED: set[tuple[int, int]] = set()


class FlatEncoder(torch.nn.Module):
    """One token per observation step: the normalised state."""

    def __init__(self, config: FlowConfig) -> None:
        """Nothing to learn."""
        super().__init__()
        self.token_dim = config.obs_dim

    def forward(self, observation: Observation) -> torch.Tensor:
        """``(batch, n_obs, obs_dim)``."""
        return observation["state"]


class StateEncoder(torch.nn.Module):
    """One token per observation step: an MLP (64, 64) on the state, as ManiFlow encodes proprioception."""

    def __init__(self, config: FlowConfig) -> None:
        """Two layers."""
        super().__init__()
        self.token_dim = 64
        self.net = torch.nn.Sequential(torch.nn.Linear(config.obs_dim, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))

    def forward(self, observation: Observation) -> torch.Tensor:
        """``(batch, n_obs, 64)``."""
        return self.net(observation["state"])


class CloudEncoder(torch.nn.Module):
    """One token per point: shared 64-128-256-512 with LayerNorm and ReLU, to 128; the encoded state beside each.

    There is no pooling: the trunk's cross-attention looks at all points (ManiFlow's reading of DP3).
    """

    def __init__(self, config: FlowConfig) -> None:
        """Widths as DP3's."""
        super().__init__()
        layers: list[torch.nn.Module] = []
        widths = (config.point_dim, 64, 128, 256, 512)
        for narrow, wide in pairwise(widths):
            layers += [torch.nn.Linear(narrow, wide), torch.nn.LayerNorm(wide), torch.nn.ReLU()]
        layers += [torch.nn.Linear(512, 128), torch.nn.LayerNorm(128)]
        self.points = torch.nn.Sequential(*layers)
        self.state = StateEncoder(config)
        self.token_dim = 128 + self.state.token_dim
        self.first = config.n_obs - (config.cloud_steps or config.n_obs)

    def forward(self, observation: Observation) -> torch.Tensor:
        """``(batch, steps · points, 192)``."""
        points = self.points(observation["cloud"][:, self.first :])
        state = self.state(observation)[:, self.first :, None].expand(-1, -1, points.shape[2], -1)
        return torch.cat([points, state], dim=-1).flatten(1, 2)


def make_encoder(config: FlowConfig) -> FlatEncoder | StateEncoder | CloudEncoder:
    """The encoder of a configuration."""
    if config.encoder == "cloud":
        return CloudEncoder(config)
    return StateEncoder(config) if config.encoder == "state" else FlatEncoder(config)


def resample_cloud(cloud: AnyArray, points: int, seed: int = 0) -> AnyArray:
    """A cloud ``(…, count, dim)`` with exactly ``points`` points.

    Fewer are padded by repeating points, and this is said once for every pair of counts; of more, some are taken. Which
    ones depends on the counts and on ``seed`` alone.

    >>> resample_cloud(np.arange(8.0).reshape(4, 2), 3).shape
    (3, 2)
    """
    found = np.asarray(cloud)
    if found.ndim < 2 or found.shape[-2] < 1:
        raise InvalidParameter(f"a cloud needs shape (…, count, dim) with at least one point, got {found.shape}")
    count = found.shape[-2]
    if count == points:
        return found
    draws = hash_u64(seed, Stream.MISC, np.arange(max(count, points)))
    if count > points:
        return np.ascontiguousarray(found[..., np.sort(np.argsort(draws[:count], kind="stable")[:points]), :])
    if (count, points) not in _WARNED:
        _WARNED.add((count, points))
        warnings.warn(
            f"clouds have {count} points and the policy takes {points}: padded by repeating points", stacklevel=2
        )
    extra = (draws[: points - count] % np.uint64(count)).astype(np.int64)
    return np.ascontiguousarray(np.concatenate([found, found[..., extra, :]], axis=-2))
