"""Group averaging: any network made exactly equivariant, by the mean over all images of its input.

For a network f and a finite group G that acts on inputs and outputs, ``f̄(x) = (1/|G|) Σ_g g⁻¹·f(g·x)`` is equivariant,
``f̄(g·x) = g·f̄(x)``, whatever f is and also while it learns. No layer changes; a pass costs |G| passes of f in one
batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burnside.errors import InvalidParameter, UnknownName
from burnside.nn._torch import torch
from burnside.nn.tensor_action import InvariantAction, TensorAction, action_on
from burnside.symmetry.concrete import finite, represented
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["GroupAverage"]


_WHAT = ("observation", "action")
#: What a network may be: its inputs, and whether it answers with something that moves as actions do.
_KINDS = {
    "policy": (("observation",), True),
    "value": (("observation",), False),
    "q": (("observation", "action"), False),
}


class GroupAverage(torch.nn.Module):
    """A module averaged over a finite group: a policy's means or logits, a value, Q(s, ·), Q(s, a).

    Args:
        module: any torch module with one tensor as its result.
        inputs: how the group acts on each argument (``burnside.nn.tensor_action``); :meth:`of` finds it.
        output: how it acts on the result; None: not at all, as on a value.

    >>> import gymnasium as gym
    >>> from burnside.symmetry import EnvSymmetry
    >>> mirror = EnvSymmetry("mirror", "- - - -", "labels 1,0")
    >>> q = GroupAverage.of(torch.nn.Linear(4, 2), mirror, gym.make("CartPole-v1"))
    >>> x = torch.randn(3, 4)
    >>> torch.allclose(q(-x), q(x).flip(-1), atol=1e-6)
    True
    """

    @classmethod
    def of(
        cls, module: torch.nn.Module, symmetry: EnvSymmetry, env: Any, kind: str = "policy", *, turns: int = 8
    ) -> GroupAverage:
        """From a declaration and an environment, whose spaces are asked.

        Args:
            module: the network. It is given observations as flat vectors or pictures, and labels as one-hot vectors.
            symmetry: the declaration.
            env: the environment, or anything with ``observation_space`` and ``action_space``.
            kind: ``"policy"``: means, logits or Q(s, ·) of an observation; ``"value"``: V(s); ``"q"``: Q(s, a).
            turns: a continuous group is approximated by as many turns, see ``burnside.symmetry.concrete.finite``.
        """
        if kind not in _KINDS:
            raise UnknownName("kind of network", kind, _KINDS)
        spaces = {what: getattr(env, f"single_{what}_space", getattr(env, f"{what}_space")) for what in _WHAT}
        symmetry.check_spaces(spaces["observation"], spaces["action"])
        found = finite(represented(symmetry, spaces["observation"], spaces["action"]), turns)
        takes, answers = _KINDS[kind]
        output = action_on(found.on("action"), spaces["action"], logits=True) if answers else None
        return cls(module, [action_on(found.on(what), spaces[what]) for what in takes], output)

    def __init__(
        self, module: torch.nn.Module, inputs: Sequence[TensorAction], output: TensorAction | None = None
    ) -> None:
        """Keep the module; its parameters are the only ones."""
        super().__init__()
        if not inputs:
            raise InvalidParameter("a network that is averaged needs how the group acts on each of its inputs")
        self.module = module
        self.inputs = torch.nn.ModuleList(inputs)
        self.output = InvariantAction(inputs[0].order) if output is None else output
        orders = {action.order for action in [*inputs, self.output]}
        if len(orders) > 1:
            raise InvalidParameter(f"one group acts on inputs and output, but these have {sorted(orders)} elements")

    def forward(self, *x: torch.Tensor) -> torch.Tensor:
        """The mean over all elements."""
        if len(x) != len(self.inputs):
            raise InvalidParameter(f"this network has {len(self.inputs)} inputs, got {len(x)}")
        images = [action.images(tensor) for action, tensor in zip(self.inputs, x, strict=True)]  # type: ignore[operator]
        return self.output.back(self.module(*images)).mean(0)
