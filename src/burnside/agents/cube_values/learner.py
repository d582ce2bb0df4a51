"""One network, its optimizer, and the pure update both kinds of labels share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from burnside._types import AnyArray
from burnside.agents.common.adam import AdamState, Parameters, adam, new_adam
from burnside.agents.common.checkpoint import check_arrays
from burnside.nn._torch import torch
from burnside.nn.residual import FoldedValue, ResidualValue

__all__ = ["ValueLearner", "update"]


def update(
    net: ResidualValue,
    params: Parameters,
    buffers: Parameters,
    opt: AdamState,
    states: torch.Tensor,
    targets: torch.Tensor,
    rate: float,
) -> tuple[Parameters, Parameters, AdamState, torch.Tensor]:
    """One step of Adam on the mean squared error: new parameters, running statistics, optimizer state, and the loss.

    Args:
        net: The network, for its structure; it must be in training mode.
        params: Parameters, with a leading member axis.
        buffers: Running statistics of the normalisation; not changed, new ones are returned.
        opt: Optimizer state.
        states: Colours ``(members, batch, 6n²)``, uint8.
        targets: ``(members, batch)``.
        rate: Learning rate.
    """
    leaves = {name: p.detach().requires_grad_() for name, p in params.items()}
    after = {name: b.clone() for name, b in buffers.items()}  # batch_norm writes into these
    values = torch.func.functional_call(net, {**leaves, **after}, (states,))
    error = values - targets
    losses = (error * error).mean(dim=1)  # members do not mix: the gradient of the sum is each one's own
    grads = torch.autograd.grad(losses.sum(), list(leaves.values()))
    with torch.no_grad():
        named = dict(zip(leaves, grads, strict=True))
        new, opt = adam({k: p.detach() for k, p in leaves.items()}, named, opt, rate)
    return new, after, opt, losses.detach()


class ValueLearner:
    """A network of one member on its way."""

    def __init__(self, net: ResidualValue, device: torch.device) -> None:
        """Before the first update."""
        self.device = device
        self.net = net.to(device).train()
        self.params = {name: p.detach().clone() for name, p in self.net.named_parameters()}
        stats = {name: b for name, b in self.net.named_buffers() if name.endswith((".mean", ".var"))}
        self.buffers = {name: b.detach().clone() for name, b in stats.items()}
        self.opt = new_adam(self.params)

    def step(self, states: AnyArray, targets: AnyArray, rate: float) -> float:
        """One update; returns the loss before it."""
        x = torch.from_numpy(np.ascontiguousarray(states))[None].to(self.device)
        y = torch.from_numpy(np.ascontiguousarray(targets))[None].to(self.device)
        self.params, self.buffers, self.opt, loss = update(self.net, self.params, self.buffers, self.opt, x, y, rate)
        return float(loss[0])

    def new_optimizer(self) -> None:
        """Forget the moments."""
        self.opt = new_adam(self.params)

    def tensors(self) -> Parameters:
        """Parameters and running statistics, which together are the function."""
        return {**self.params, **self.buffers}

    def write(self, tensors: Parameters) -> ResidualValue:
        """Put tensors into the network itself; returns it."""
        with torch.no_grad():
            for name, home in (*self.net.named_parameters(), *self.net.named_buffers()):
                if name in tensors:
                    home.copy_(tensors[name])
        return self.net

    def fold(self, tensors: Parameters | None = None) -> FoldedValue:
        """The network with given tensors (default: the present ones), folded for evaluation."""
        return FoldedValue(self.write(tensors if tensors is not None else self.tensors()))

    def arrays(self) -> dict[str, AnyArray]:
        """Everything needed to resume, as plain arrays."""
        groups = {"params": self.params, "buffers": self.buffers, "m": self.opt.m, "v": self.opt.v}
        out = {f"{prefix}/{name}": t.cpu().numpy() for prefix, home in groups.items() for name, t in home.items()}
        return out | {"t": self.opt.t.cpu().numpy()}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Resume from the arrays of a learner with the same network."""
        check_arrays(self.arrays(), arrays)
        self.params, self.buffers, m, v = (
            {name: self._tensor(arrays[f"{prefix}/{name}"]) for name in home}
            for prefix, home in (
                ("params", self.params),
                ("buffers", self.buffers),
                ("m", self.params),
                ("v", self.params),
            )
        )
        self.opt = AdamState(m, v, self._tensor(arrays["t"]))

    def _tensor(self, array: AnyArray) -> torch.Tensor:
        return torch.from_numpy(np.array(array)).to(self.device)
