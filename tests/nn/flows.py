"""Small flow policies and what they see, for the tests of the policy and of imitation."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from burnside.nn.flow import FlowConfig, FlowPolicy  # noqa: E402

TINY = FlowConfig.preset("tiny")
MLP = FlowConfig.preset("planar", horizon=8, n_act=4, width=32, layers=2)


def policy_of(config: FlowConfig, seed: int = 0) -> FlowPolicy:
    """A policy whose zero-initialised layers are not zero, so that everything matters."""
    policy = FlowPolicy(config, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in policy.parameters():
            if not p.abs().max() > 0:
                p.copy_(0.2 * torch.randn(p.shape, generator=generator))
    return policy


def observation(config: FlowConfig, batch: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    out = {"state": rng.normal(size=(batch, config.n_obs, config.obs_dim)).astype(np.float32)}
    if config.encoder == "cloud":
        shape = (batch, config.n_obs, config.points, config.point_dim)
        out["cloud"] = rng.normal(size=shape).astype(np.float32)
    return out


def noise(policy: FlowPolicy, batch: int, seed: int = 0) -> "torch.Tensor":
    return torch.randn(batch, *policy.noise_shape, generator=torch.Generator().manual_seed(seed))
