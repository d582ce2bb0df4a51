"""The sampler of App. C as pure functions: a chain of noisy steps from noise to actions, and its log-probability.

Time runs from 0 (noise) to 1 (actions), in K equal steps h = 1/K; s = 1 − t is the noise left. A noisy step is

    x' ~ N( x·(1 − σ²h/2s) + v·h·(1 + σ²(1 − s)/2s),  (std)² ),   std = σ √h,   σ = a √(s / (1 − s)),

the stochastic equation with the same marginals as the flow (``flow_sde``, π_RL; at s = 1 the denominator is that of
the next step). With ``constant`` it is ``N(x + v·h, a²)``. Both are Euler's step if a = 0. The chain is Markov, so its
log-probability is the sum over steps; that of the initial noise does not depend on the policy and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from burnside.errors import InvalidParameter, UnknownName
from burnside.nn._torch import torch
from burnside.nn.flow.config import LOGPROBS, NOISES

__all__ = ["Schedule", "Shape", "chain_log_prob", "sample_chain", "schedule", "step_mean"]

_HALF_LOG = 0.5 * math.log(2 * math.pi)
#: A chunk and a time (one number per row) to a velocity.
Velocity = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Schedule(NamedTuple):
    """Plain numbers per step: time, factor of x, factor of v, deviation."""

    times: list[float]
    keep: list[float]
    move: list[float]
    std: list[float]


class Shape(NamedTuple):
    """How the noise of a step is spread over a chunk.

    Attributes:
        factor: of the deviation, for every number of an action ``(act_dim,)``; None: 1.
        shared: whether all actions of a chunk get the same draw. Its density is that of their mean in the window: what
            is drawn is where a chunk goes as a whole, its form is the policy's.
    """

    factor: torch.Tensor | None = None
    shared: bool = False

    def spread(self, noise: torch.Tensor) -> torch.Tensor:
        """Standard normal numbers ``(batch, horizon, act_dim)`` as noise of deviation 1 times the factor."""
        if self.shared:
            noise = noise[:, :1].expand_as(noise)
        return noise if self.factor is None else noise * self.factor

    def log_density(self, offset: torch.Tensor, std: torch.Tensor, window: slice) -> torch.Tensor:
        """Of offsets from the mean ``(batch, horizon, act_dim)``: ``(batch, numbers that count)``."""
        offset = offset[:, window]
        if self.shared:
            offset = offset.mean(dim=1, keepdim=True)
        scale = std if self.factor is None else std * self.factor
        return (-0.5 * (offset / scale).square() - scale.log() - _HALF_LOG).flatten(1)


def schedule(steps: int, noise: str, sigma: float) -> Schedule:
    """The steps of a sampler.

    >>> [round(s, 3) for s in schedule(4, "flow_sde", 0.3).std]
    [0.3, 0.26, 0.15, 0.087]
    >>> schedule(2, "constant", 0.3)
    Schedule(times=[0.0, 0.5], keep=[1.0, 1.0], move=[0.5, 0.5], std=[0.3, 0.3])
    """
    if noise not in NOISES:
        raise UnknownName("noise", noise, NOISES)
    if steps < 1 or not sigma >= 0:
        raise InvalidParameter(f"steps {steps} must be at least 1 and sigma {sigma} at least 0")
    h = 1.0 / steps
    out = Schedule([k * h for k in range(steps)], [], [], [])
    for t in out.times:
        if noise == "constant":
            keep, move, std = 1.0, h, sigma
        else:
            left = 1.0 - t
            level = sigma * math.sqrt(left / max(t, h))
            keep = 1.0 - level**2 * h / (2 * left)
            move = h * (1.0 + level**2 * t / (2 * left))
            std = level * math.sqrt(h)
        for values, value in zip(out[1:], (keep, move, std), strict=True):
            values.append(value)
    return out


#: Noise of the same size in every number, each its own.
PLAIN = Shape()


def _euler(plan: Schedule) -> Schedule:
    h = 1.0 / len(plan.times)
    return Schedule(plan.times, [1.0] * len(plan.times), [h] * len(plan.times), [0.0] * len(plan.times))


def _column(values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    return values.reshape(-1, *[1] * (like.ndim - 1))


def step_mean(
    plan: Schedule, k: int, x: torch.Tensor, velocity: Velocity, which: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | float]:
    """Mean and deviation of step k; where ``which`` is another step, Euler's (deviation 0)."""
    t = torch.full((len(x),), plan.times[k], dtype=x.dtype, device=x.device)
    v = velocity(x, t)
    if which is None:
        return plan.keep[k] * x + plan.move[k] * v, plan.std[k]
    plain, mine = _euler(plan), _column((which == k).to(x.dtype), x)
    keep = mine * plan.keep[k] + (1 - mine) * plain.keep[k]
    move = mine * plan.move[k] + (1 - mine) * plain.move[k]
    return keep * x + move * v, mine * plan.std[k]


def sample_chain(
    plan: Schedule, noise: torch.Tensor, velocity: Velocity, which: torch.Tensor | None = None, shape: Shape = PLAIN
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """A chain ``(batch, K + 1, …)`` driven by standard normal ``noise`` of the same shape, and the step means.

    ``noise[:, 0]`` is the start, ``noise[:, k + 1]`` drives step k. ``which`` makes only that step of a row noisy.
    """
    x, path, means = noise[:, 0], [noise[:, 0]], []
    for k in range(len(plan.times)):
        mean, std = step_mean(plan, k, x, velocity, which)
        x = mean + std * shape.spread(noise[:, k + 1])
        path.append(x)
        means.append(mean)
    return torch.stack(path, dim=1), means


def chain_log_prob(
    plan: Schedule,
    path: torch.Tensor,
    velocity: Velocity,
    kind: str = "sum",
    window: slice = slice(None),
    which: torch.Tensor | None = None,
    means: list[torch.Tensor] | None = None,
    shape: Shape = PLAIN,
) -> torch.Tensor:
    """Log-probability of stored chains under a velocity, ``(batch,)``.

    Args:
        plan: The steps.
        path: ``(batch, K + 1, horizon, act_dim)``.
        velocity: The policy.
        kind: ``sum`` over steps and numbers; ``mean`` of them; ``single_step`` and ``last_step``: sum over the numbers
            of the one step that was noisy.
        window: Actions of the chunk that count.
        which: That step, for ``single_step`` and ``last_step``.
        means: Means of the steps, if known (right after sampling).
        shape: Of the noise.

    >>> plan = schedule(1, "constant", 1.0)
    >>> path = torch.tensor([[[[0.0]], [[2.0]]]])             # from 0, the mean is 1, and 2 was drawn
    >>> chain_log_prob(plan, path, lambda x, t: torch.ones_like(x))
    tensor([-1.4189])
    """
    if kind not in LOGPROBS:
        raise UnknownName("logprob", kind, LOGPROBS)
    if (kind in ("single_step", "last_step")) != (which is not None):
        raise InvalidParameter("single_step needs to know which step was noisy, and only single_step does")
    if min(plan.std) <= 0:
        raise InvalidParameter("a chain without noise has no density: give sigma > 0")
    if which is not None:
        return _one_step_log_prob(plan, path, velocity, window, which, means, shape)
    total = torch.zeros(len(path), dtype=path.dtype, device=path.device)
    for k in range(len(plan.times)):
        if means is None:
            mean, _ = step_mean(plan, k, path[:, k], velocity, None)
        else:
            mean = means[k]
        each = shape.log_density(path[:, k + 1] - mean, path.new_tensor(plan.std[k]), window)
        total = total + (each.mean(dim=1) / len(plan.times) if kind == "mean" else each.sum(dim=1))
    return total


def _one_step_log_prob(
    plan: Schedule,
    path: torch.Tensor,
    velocity: Velocity,
    window: slice,
    which: torch.Tensor,
    means: list[torch.Tensor] | None,
    shape: Shape,
) -> torch.Tensor:
    """Log-density of the noisy step of every row: one evaluation of the velocity, however long the chain is."""
    rows = torch.arange(len(path), device=path.device)

    def of(values: list[float]) -> torch.Tensor:
        return torch.tensor(values, dtype=path.dtype, device=path.device)[which]

    x, after = path[rows, which], path[rows, which + 1]
    if means is None:
        mean = _column(of(plan.keep), x) * x + _column(of(plan.move), x) * velocity(x, of(plan.times))
    else:
        mean = torch.stack(means, dim=1)[rows, which]
    return shape.log_density(after - mean, _column(of(plan.std), x), window).sum(dim=1)
