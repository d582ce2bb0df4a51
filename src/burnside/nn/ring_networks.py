"""The networks of the cyclic games in torch: from flat observations of :class:`~burnside.envs.ring.RingScenes`.

An observation is a board, which stays the same during an episode, and a place. The costly part of a network (the
encoder) looks at boards alone, so that all steps of an episode can share its result: ``encode`` the boards, then ask
the ``head`` about their features and the places. Both take their parameters as an argument, because a learner has
several sets of them (its own, those of the target network, those of one member).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from burnside.envs.ring.core import RingSpec
from burnside.errors import InvalidParameter
from burnside.groups import Action, Group
from burnside.nn._torch import torch
from burnside.nn.encoders import FEATURES, GridEncoder
from burnside.nn.layers import BatchLinear, Initializer
from burnside.nn.orbit import OrbitLinear, copies

__all__ = ["RingNetwork", "translations"]


def translations(spec: RingSpec) -> Action:
    """The translation group (Z/n)^d on the cells of a game.

    >>> translations(RingSpec(5, d=2)).is_free
    True
    """
    group = reduce(Group.__mul__, [Group.cyclic(spec.n)] * spec.d)
    cells = torch.arange(spec.n_cells).numpy()
    images = []
    for axis in range(spec.d):
        step = [1 if k == axis else 0 for k in range(spec.d)]
        images.append(spec.cell(spec.coordinates(cells) + step))
    return Action.from_generators(group, images)


class RingNetwork(torch.nn.Module):
    """Two hidden layers with ReLU, which all outputs share, behind an encoder of the board (App. C).

    The encoder ``onehot`` is none: items and one-hot place go into the first layer (1D: 2N → 128 → 128 → 4). With
    ``pool`` and ``flatten``, in three dimensions, the 128-d feature of the board and place / N do
    (:class:`~burnside.nn.encoders.GridEncoder`).

    An equivariant network cannot tell translations of the whole game apart: Q(g·s, a) = Q(s, a), exactly in the
    weights. Its hidden layers are channels of full rings (the regular representation), as many as give at least
    ``hidden`` units, and its outputs are invariant.

    >>> net = RingNetwork(RingSpec(5, d=3), "pool", (256, 256), {"policy": 64, "value": 1}, [0, 1])
    >>> logits, value = net(torch.zeros(2, 3, 125 + 3))
    >>> logits.shape, value.shape, sum(p.numel() for p in net.parameters()) // 2
    (torch.Size([2, 3, 64]), torch.Size([2, 3, 1]), 194273)
    >>> shared = RingNetwork(RingSpec(5), "onehot", (128, 128), {"q": 4}, [0], equivariant=True)
    >>> sum(p.numel() for p in shared.parameters())
    3800

    Attributes:
        context: How many of the leading numbers of an observation are the board.
        encoder: Of boards; None: the board itself is its feature.
        features: Width of the features of a board.
    """

    def __init__(
        self,
        spec: RingSpec,
        encoder: str,
        hidden: tuple[int, int],
        outputs: Mapping[str, int],
        seeds: Sequence[int],
        equivariant: bool = False,
        item_scale: float = 1.0,
        place: str = "divided",
    ) -> None:
        """A network for every seed; ``outputs`` names the layers at the end and gives their widths.

        ``item_scale`` multiplies the items of the board, and ``place`` says whether an encoder's network sees the
        place ``divided`` by N, ``onehot``, or ``relative``: one-hot, and as seen from the goal.
        """
        super().__init__()
        if encoder != "onehot" and spec.d != 3:
            raise InvalidParameter(f"the encoder {encoder!r} is for three dimensions, the game has {spec.d}")
        if encoder != "onehot" and equivariant:
            raise InvalidParameter(f"the equivariant network has no encoder {encoder!r}: use 'onehot'")
        init = Initializer(seeds)
        self.spec, self.context, self.names = spec, spec.n_cells, tuple(outputs)
        self.encoder = None if encoder == "onehot" else GridEncoder(spec.n, encoder, init)
        self.features = spec.n_cells if self.encoder is None else FEATURES
        self.item_scale, self.one_hot = item_scale, self.encoder is None or place != "divided"
        self.relative = place == "relative"
        if self.relative and self.encoder is None:
            raise InvalidParameter(
                "the place as seen from the goal is for networks with an encoder: 'pool' or 'flatten'"
            )
        if equivariant:
            ring = translations(spec)
            first, second = (copies(ring, -(-width // spec.n_cells)) for width in hidden)
            self.one: torch.nn.Module = OrbitLinear(copies(ring, 2), first, init)
            self.two: torch.nn.Module = OrbitLinear(first, second, init)
            for name, width in outputs.items():
                self.add_module(name, OrbitLinear(second, Action.trivial(ring.group, width), init))
        else:
            inputs = self.features + (1 + self.relative) * (spec.n_cells if self.one_hot else spec.d)
            self.one = BatchLinear(inputs, hidden[0], init)
            self.two = BatchLinear(hidden[0], hidden[1], init)
            for name, width in outputs.items():
                self.add_module(name, BatchLinear(hidden[1], width, init))

    def encode(self, params: Mapping[str, torch.Tensor], boards: torch.Tensor) -> torch.Tensor:
        """``(members, boards, cells)`` items to ``(members, boards, features)``."""
        if self.item_scale != 1.0:
            boards = self.item_scale * boards
        if self.encoder is None:
            return boards
        own = {name.removeprefix("encoder."): p for name, p in params.items() if name.startswith("encoder.")}
        grids = boards.unflatten(-1, self.spec.shape)
        found: torch.Tensor = torch.func.functional_call(self.encoder, own, (grids,))
        return found

    def head(
        self, params: Mapping[str, torch.Tensor], features: torch.Tensor, place: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Features and places ``(members, batch, …)`` to every output ``(members, batch, width)``.

        The layers are called one by one: ``functional_call`` would cost more than their products.
        """
        x = torch.cat([features, self._place(place)], dim=-1)
        for name in ("one", "two"):
            x = torch.relu(getattr(self, name).using(params, name, x))
        return tuple(getattr(self, name).using(params, name, x) for name in self.names)

    def _place(self, place: torch.Tensor) -> torch.Tensor:
        """Where the agent is, as the first layer sees it: one-hot, or divided by N beside the feature of an encoder."""
        if self.spec.d == 1 or not self.one_hot:
            return place
        if place.shape[-1] > self.spec.d:  # and once more, as seen from the goal
            return torch.cat([self._place(half) for half in place.split(self.spec.d, dim=-1)], dim=-1)
        digits = torch.round(place * self.spec.n).to(torch.int64)
        cell = torch.zeros_like(digits[..., 0])
        for axis in range(self.spec.d):
            cell = cell * self.spec.n + digits[..., axis]
        return torch.nn.functional.one_hot(cell, self.spec.n_cells).to(place.dtype)

    def places(self, obs: torch.Tensor) -> torch.Tensor:
        """The places of observations; if asked for, beside them the same as seen from the goal.

        >>> net = RingNetwork(RingSpec(5, d=3), "pool", (16, 16), {"q": 26}, [0], place="relative")
        >>> board = torch.zeros(1, 125); board[0, 124] = 20.0  # the goal is at (4, 4, 4)
        >>> (5 * net.places(torch.cat([board, torch.tensor([[0.8, 0.0, 0.2]])], dim=1))).round().tolist()
        [[4.0, 0.0, 1.0, 0.0, 1.0, 2.0]]
        """
        boards, place = obs[..., : self.context], obs[..., self.context :]
        if not self.relative:
            return place
        goal, n = boards.argmax(dim=-1), self.spec.n
        where = torch.stack([goal // n**axis % n for axis in range(self.spec.d - 1, -1, -1)], dim=-1)
        seen = (torch.round(place * n).to(torch.int64) - where) % n
        return torch.cat([place, seen.to(place.dtype) / n], dim=-1)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Observations ``(members, batch, obs_dim)`` to every output, with the parameters the network began with."""
        own = dict(self.named_parameters())
        return self.head(own, self.encode(own, obs[..., : self.context]), self.places(obs))
