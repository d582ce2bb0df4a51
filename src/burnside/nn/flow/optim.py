"""What optimizers remember, as plain arrays for checkpoints; and parameters likewise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from burnside._types import AnyArray
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch

__all__ = ["module_arrays", "optimizer_arrays", "restore_module", "restore_optimizer"]

_KEPT = ("step", "exp_avg", "exp_avg_sq")


def module_arrays(module: torch.nn.Module, prefix: str) -> dict[str, AnyArray]:
    """Parameters and buffers."""
    return {f"{prefix}/{name}": tensor.detach().cpu().numpy().copy() for name, tensor in module.state_dict().items()}


def restore_module(module: torch.nn.Module, arrays: Mapping[str, AnyArray], prefix: str) -> None:
    """The inverse of :func:`module_arrays`."""
    own = module.state_dict()
    for name, tensor in own.items():
        key = f"{prefix}/{name}"
        if key not in arrays or tuple(arrays[key].shape) != tuple(tensor.shape):
            raise InvalidParameter(f"these arrays belong to another network: {key} is missing or of another shape")
    module.load_state_dict({name: torch.from_numpy(np.array(arrays[f"{prefix}/{name}"])) for name in own})


def optimizer_arrays(optimizer: torch.optim.Optimizer, prefix: str) -> dict[str, AnyArray]:
    """Moments and counts of an Adam, in the order of its parameters; zeros before the first step."""
    out: dict[str, AnyArray] = {}
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for k, p in enumerate(parameters):
        state = optimizer.state.get(p, {})
        for name in _KEPT:
            empty = torch.zeros(()) if name == "step" else torch.zeros_like(p)
            out[f"{prefix}/{k}/{name}"] = torch.as_tensor(state.get(name, empty)).detach().cpu().numpy().copy()
    return out


def restore_optimizer(optimizer: torch.optim.Optimizer, arrays: Mapping[str, AnyArray], prefix: str) -> None:
    """The inverse of :func:`optimizer_arrays`."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for k, p in enumerate(parameters):
        found = {name: torch.from_numpy(np.array(arrays[f"{prefix}/{k}/{name}"])) for name in _KEPT}
        if float(found["step"]) == 0:
            optimizer.state.pop(p, None)
            continue
        optimizer.state[p] = {name: v if name == "step" else v.to(p.device) for name, v in found.items()}
