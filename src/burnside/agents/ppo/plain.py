"""PPO (Schulman et al. 2017) in plain numpy: what :mod:`burnside.agents.ppo.kernels` computes, to be read first."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from burnside._types import AnyArray, FloatArray, IntArray
from burnside.agents.ppo.config import PPOConfig
from burnside.nn import mlp

__all__ = ["gradients", "log_prob_and_slope", "sample"]

Parameters = Mapping[str, AnyArray]


def sample(logits: AnyArray, u: FloatArray) -> IntArray:
    """The action at level ``u`` of the cumulated probabilities of every row.

    >>> sample(np.log([[0.5, 0.25, 0.25]] * 3), np.array([0.1, 0.6, 0.999])).tolist()
    [0, 1, 2]
    """
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    levels = np.cumsum(weights, axis=-1)
    chosen = (levels <= u[..., None] * levels[..., -1:]).sum(axis=-1)
    return np.minimum(chosen, logits.shape[-1] - 1)


def log_prob_and_slope(
    out: AnyArray, action: AnyArray, log_std: AnyArray | None
) -> tuple[AnyArray, AnyArray, AnyArray, AnyArray]:
    """Log-probability and entropy per row, and the slopes of both in the outputs of the actor.

    Args:
        out: logits (categorical policy) or mean actions (Gaussian), one row per step.
        action: ``(rows, 1)`` numbers of actions, or the actions.
        log_std: logarithms of the deviations; None: the policy is categorical.
    """
    if log_std is not None:
        z = (action - out) * np.exp(-log_std)
        log_prob = -(0.5 * z**2 + log_std + 0.5 * math.log(2 * math.pi)).sum(axis=1)
        entropy = np.full(len(out), (log_std + 0.5 + 0.5 * math.log(2 * math.pi)).sum())
        return log_prob, entropy, z * np.exp(-log_std), np.zeros_like(out)
    top = out - out.max(axis=1, keepdims=True)
    log_p = top - np.log(np.exp(top).sum(axis=1, keepdims=True))
    p, taken = np.exp(log_p), action[:, 0].astype(np.int64)
    entropy = -(p * log_p).sum(axis=1)
    return log_p[np.arange(len(out)), taken], entropy, np.eye(out.shape[1])[taken] - p, -p * (log_p + entropy[:, None])


def gradients(
    actor: Parameters,
    critic: Parameters,
    log_std: AnyArray | None,
    steps: Mapping[str, AnyArray],
    config: PPOConfig,
) -> tuple[dict[str, dict[str, AnyArray]], dict[str, float]]:
    """The gradients of a minibatch, clipped, as Adam gets them, and the statistics of the update.

    ``steps`` has ``obs``, ``action``, ``log_prob`` (under the policy that acted), ``advantage`` and ``target``. The
    loss is −mean min(ρ A, clip(ρ, 1 ± c) A) + value_weight · ½ mean (V − target)² − entropy · mean H.
    """
    count = len(steps["obs"])
    gain = steps["advantage"].astype(np.float64)
    if config.normalize:
        gain = (gain - gain.mean()) / (gain.std(ddof=1) + 1e-8)
    h1, h2, out = mlp.forward(actor, steps["obs"])
    log_prob, entropy, slope, entropy_slope = log_prob_and_slope(out, steps["action"], log_std)
    log_ratio = log_prob - steps["log_prob"]
    ratio = np.exp(log_ratio)
    bounded = np.clip(ratio, 1 - config.clip, 1 + config.clip)
    pull = np.where(ratio * gain <= bounded * gain, -gain * ratio, 0.0)[:, None] / count
    found = {"actor": mlp.backward(actor, steps["obs"], h1, h2, pull * slope - config.entropy / count * entropy_slope)}
    if log_std is not None:
        z = (steps["action"] - out) * np.exp(-log_std)
        found["log_std"] = {"log_std": (pull * (z**2 - 1)).sum(axis=0) - config.entropy}
    h1, h2, value = mlp.forward(critic, steps["obs"])
    error = value - steps["target"][:, None]
    found["critic"] = mlp.backward(critic, steps["obs"], h1, h2, config.value_weight / count * error)
    norm = math.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for part in found.values() for g in part.values()))
    shrink = min(1.0, config.grad_clip / (norm + 1e-6))
    stats = {
        "policy_loss": float(-np.minimum(ratio * gain, bounded * gain).mean()),
        "value_loss": float(0.5 * (error**2).mean()),
        "entropy": float(entropy.mean()),
        "approx_kl": float((ratio - 1 - log_ratio).mean()),
        "clip_fraction": float((np.abs(ratio - 1) > config.clip).mean()),
    }
    return {name: {key: shrink * g for key, g in part.items()} for name, part in found.items()}, stats
