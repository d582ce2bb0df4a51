"""Generalised advantage estimation (Schulman et al. 2016), in which a time limit is not the end of the game."""

from __future__ import annotations

import numpy as np

from burnside._types import ArrayLike, FloatArray
from burnside.errors import InvalidParameter

__all__ = ["advantages"]


def advantages(
    rewards: ArrayLike,
    values: ArrayLike,
    next_values: ArrayLike,
    terminated: ArrayLike,
    ended: ArrayLike,
    gamma: float,
    lam: float,
) -> FloatArray:
    """``A_t = δ_t + γλ A_{t+1}`` within an episode, ``δ_t = r_t + γ V(s'_t) − V(s_t)``; time is the last axis.

    Two different ends: after a *terminated* step there is nothing to come, so V(s') is left out of δ; after any step
    that *ended* an episode (terminated, or truncated by the time limit) the sum stops, because the next row belongs to
    another episode. A truncated step keeps its V(s'), and so does the last step of the rollout.

    Args:
        rewards: ``(…, T)``.
        values: V of the state each step was taken in.
        next_values: V of the state each step led to, in the same episode: not of the state after a reset.
        terminated: where the game was over.
        ended: where the episode was over, for whatever reason.
        gamma: discount.
        lam: λ; 0 gives δ, 1 the return that was seen minus V.

    >>> advantages([1, 1], [0, 0], [0, 8], [False, False], [False, True], gamma=0.5, lam=0.5).tolist()
    [2.25, 5.0]
    """
    r, v, w = (np.asarray(x, dtype=np.float64) for x in (rewards, values, next_values))
    over, last = np.asarray(terminated, dtype=np.bool_), np.asarray(ended, dtype=np.bool_)
    if not r.shape == v.shape == w.shape == over.shape == last.shape or r.ndim < 1:
        raise InvalidParameter(f"all arrays need one shape (…, T), got {r.shape}, {v.shape}, {w.shape}, {over.shape}")
    if (over & ~last).any():
        raise InvalidParameter("a step is terminated but its episode has not ended")
    delta = r + gamma * np.where(over, 0.0, w) - v
    out = np.zeros_like(delta)
    running = np.zeros(delta.shape[:-1])
    for t in range(delta.shape[-1] - 1, -1, -1):
        running = delta[..., t] + gamma * lam * np.where(last[..., t], 0.0, running)
        out[..., t] = running
    return out
