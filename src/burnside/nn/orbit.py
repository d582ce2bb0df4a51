"""Linear layers that are exactly equivariant, by sharing weights over the orbits of index pairs.

A linear map W commutes with a group that permutes inputs and outputs exactly if ``W[g·o, g·i] = W[o, i]``: W is
constant on the orbits of pairs. So one number per orbit is all the freedom there is, and there are
``(1/|G|) Σ_g fix_O(g) · fix_I(g)`` of them (Burnside's lemma). No basis is solved for, and nothing is approximate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import reduce

from burnside.errors import InvalidParameter
from burnside.groups import Action
from burnside.nn._torch import torch
from burnside.nn.layers import Initializer

__all__ = ["OrbitLinear", "copies"]


def copies(action: Action, count: int) -> Action:
    """``count`` disjoint copies of an action: channels, each of them a full set of points.

    >>> from burnside.groups import Group
    >>> copies(Action.natural(Group.cyclic(5)), 3).size
    15
    """
    if count < 1:
        raise InvalidParameter(f"count is {count}: give at least 1")
    return reduce(Action.disjoint, [action] * count)


class OrbitLinear(torch.nn.Module):
    """``y = W x + b`` with ``W[o, i] = θ[orbit of (o, i)]`` and ``b[o] = β[orbit of o]``, so that f(g·x) = g·f(x).

    Here ``(g·x)[g·i] = x[i]``, on inputs and on outputs. Orbits are found from generators by union-find, so the group
    is never enumerated. A circular convolution with a full kernel is the case of a cyclic group acting on itself:

    >>> from burnside.groups import Group
    >>> ring = Action.natural(Group.cyclic(5))
    >>> layer = OrbitLinear(ring, ring, Initializer([0]))
    >>> layer.theta.shape, layer.beta.shape
    (torch.Size([1, 5]), torch.Size([1, 1]))
    >>> x = torch.arange(5.0).reshape(1, 1, 5)
    >>> torch.allclose(layer(x.roll(2, -1)), layer(x).roll(2, -1), atol=1e-6)
    True

    With the trivial action on the outputs it is an invariant layer. Initialised as ``torch.nn.Linear``: uniform on
    ±1/√inputs, which is the right scale because every output adds up as many terms as there are inputs.
    """

    labels: torch.Tensor
    bias_labels: torch.Tensor

    def __init__(self, in_action: Action, out_action: Action, init: Initializer | None = None) -> None:
        """A layer for every member of ``init`` (default: one member, seed 0)."""
        super().__init__()
        init = init or Initializer([0])
        pairs = out_action.product(in_action)  # pair (o, i) has the number o · inputs + i
        self.inputs, self.outputs = in_action.size, out_action.size
        self.register_buffer("labels", torch.from_numpy(pairs.orbits().copy()), persistent=False)
        self.register_buffer("bias_labels", torch.from_numpy(out_action.orbits().copy()), persistent=False)
        bound = 1.0 / math.sqrt(max(1, self.inputs))
        self.theta = torch.nn.Parameter(init.uniform((pairs.n_orbits,), bound))
        self.beta = torch.nn.Parameter(init.uniform((out_action.n_orbits,), bound))

    def matrix(self, theta: torch.Tensor | None = None) -> torch.Tensor:
        """W of every member, ``(members, outputs, inputs)``, from its own numbers or from others of their shape."""
        found = self.theta if theta is None else theta
        return found[:, self.labels].reshape(-1, self.outputs, self.inputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``(members, batch, inputs)`` to ``(members, batch, outputs)``."""
        return torch.baddbmm(self.beta[:, None, self.bias_labels], x, self.matrix().transpose(1, 2))

    def using(self, params: Mapping[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
        """As :meth:`forward`, with the parameters that ``params`` has under the name of the layer."""
        theta, beta = params[f"{name}.theta"], params[f"{name}.beta"]
        return torch.baddbmm(beta[:, None, self.bias_labels], x, self.matrix(theta).transpose(1, 2))
