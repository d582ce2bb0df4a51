"""Adam as a pure function of parameters with a leading member axis; members outside the mask are unchanged."""

from __future__ import annotations

from typing import NamedTuple

from burnside.nn._torch import torch

__all__ = ["AdamState", "Parameters", "adam", "new_adam"]

Parameters = dict[str, torch.Tensor]


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


def _where(mask: torch.Tensor, new: torch.Tensor, old: torch.Tensor) -> torch.Tensor:
    return torch.where(mask.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def adam(
    params: Parameters, grads: Parameters, opt: AdamState, rate: float, mask: torch.Tensor | None = None
) -> tuple[Parameters, AdamState]:
    """One step of Adam (β 0.9 and 0.999, ε 1e-8) for the members in ``mask`` (default: all)."""
    chosen = torch.ones_like(opt.t, dtype=torch.bool) if mask is None else mask
    t = opt.t + chosen.to(opt.t.dtype)
    count = t.clamp(min=1).to(torch.float64)
    scale = (rate / (1.0 - 0.9**count)).to(torch.float32)
    root = (1.0 / torch.sqrt(1.0 - 0.999**count)).to(torch.float32)
    everyone = bool(chosen.all())
    new, m, v = {}, {}, {}
    for name, p in params.items():
        shape = (-1, *[1] * (p.ndim - 1))
        g = grads[name]
        m1 = torch.lerp(opt.m[name], g, 0.1)
        v1 = torch.addcmul(opt.v[name] * 0.999, g, g, value=0.001)
        p1 = p - scale.reshape(shape) * m1 / (v1.sqrt() * root.reshape(shape) + 1e-8)
        if not everyone:
            m1, v1, p1 = _where(chosen, m1, opt.m[name]), _where(chosen, v1, opt.v[name]), _where(chosen, p1, p)
        new[name], m[name], v[name] = p1, m1, v1
    return new, AdamState(m, v, t)
