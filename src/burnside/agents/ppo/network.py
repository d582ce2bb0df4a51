"""The actor-critic of App. C: the encoder of the Q-network, two shared hidden layers, a policy and a value."""

from __future__ import annotations

from burnside.envs.ring.core import RingSpec
from burnside.errors import InvalidParameter
from burnside.nn._torch import torch
from burnside.nn.encoders import FEATURES, GridEncoder
from burnside.nn.layers import BatchLinear, Initializer

__all__ = ["ActorCritic", "Parameters", "encode", "head"]

Parameters = dict[str, torch.Tensor]


class ActorCritic(torch.nn.Module):
    """Boards to features (the costly part, shared by all steps of an episode); features and positions to the rest.

    It holds the layers and their names; what is computed with given parameters are ``encode`` and ``head``.

    >>> net = ActorCritic(RingSpec(5, d=3), "pool", (256, 256), [0, 1])
    >>> sum(p.numel() for p in net.parameters()) // 2
    194273
    """

    places: torch.Tensor

    def __init__(self, spec: RingSpec, encoder: str, hidden: tuple[int, int], seeds: list[int]) -> None:
        """A network for every seed."""
        super().__init__()
        if encoder != "onehot" and spec.d != 3:
            raise InvalidParameter(f"the encoder {encoder!r} is for three dimensions, the game has {spec.d}")
        init = Initializer(seeds)
        self.spec = spec
        self.encoder = None if encoder == "onehot" else GridEncoder(spec.n, encoder, init)
        inputs = 2 * spec.n_cells if self.encoder is None else FEATURES + spec.d
        self.one = BatchLinear(inputs, hidden[0], init)
        self.two = BatchLinear(hidden[0], hidden[1], init)
        self.policy = BatchLinear(hidden[1], spec.n_actions, init)
        self.value = BatchLinear(hidden[1], 1, init)
        cells = torch.arange(spec.n_cells)
        if self.encoder is None:
            places = torch.eye(spec.n_cells)
        else:
            n = spec.n
            places = torch.stack([cells // n**2, cells // n % n, cells % n], dim=-1).to(torch.float32) / n
        self.register_buffer("places", places, persistent=False)

    @property
    def features(self) -> int:
        """Width of the features of a board."""
        return self.spec.n_cells if self.encoder is None else FEATURES

    def forward(self, boards: torch.Tensor) -> torch.Tensor:
        """``(members, boards, cells)`` item codes to ``(members, boards, features)``; see ``encode``."""
        end = torch.tensor(self.spec.end_reward, dtype=torch.float32, device=boards.device)
        items = torch.where(boards > 0, end, boards.to(torch.float32))
        return items if self.encoder is None else self.encoder(items.unflatten(-1, self.spec.shape))


def encode(net: ActorCritic, params: Parameters, boards: torch.Tensor) -> torch.Tensor:
    """Features of boards under given parameters."""
    return torch.func.functional_call(net, params, (boards,))


def head(
    net: ActorCritic, params: Parameters, features: torch.Tensor, pos: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Features ``(members, batch, features)`` and cells ``(members, batch)`` to logits and values.

    Written out instead of called through the module: it is called at every environment step, where ``functional_call``
    costs more than the products.
    """
    x = torch.cat([features, net.places[pos]], dim=-1)
    for layer in ("one", "two"):
        x = torch.relu(torch.baddbmm(params[f"{layer}.bias"][:, None], x, params[f"{layer}.weight"]))
    logits = torch.baddbmm(params["policy.bias"][:, None], x, params["policy.weight"])
    return logits, torch.baddbmm(params["value.bias"][:, None], x, params["value.weight"])[..., 0]
