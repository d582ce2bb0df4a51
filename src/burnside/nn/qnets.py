"""Q-networks of the cyclic games, each a function of boards and positions: ``(members, batch)`` → action values.

Boards come once per game and positions per transition, because the costly part of a network (the encoder) looks at
boards alone: transitions of one episode share its result.
"""

from __future__ import annotations

from functools import reduce

from burnside.envs.ring.core import RingSpec
from burnside.errors import InvalidParameter
from burnside.groups import Action, Group
from burnside.nn._torch import torch
from burnside.nn.encoders import FEATURES, GridEncoder
from burnside.nn.layers import BatchLinear, Initializer
from burnside.nn.orbit import OrbitLinear, copies

__all__ = ["EquivariantQ", "GridQ", "OneHotQ", "QNetwork", "make_q"]


class QNetwork(torch.nn.Module):
    """The common shape: ``encode`` boards, then ``head`` the features of a transition's board with its position."""

    def __init__(self, spec: RingSpec) -> None:
        """A network for a game."""
        super().__init__()
        self.spec = spec

    def items(self, boards: torch.Tensor) -> torch.Tensor:
        """Item codes as the values the agent sees: 0, −1, E."""
        end = torch.tensor(self.spec.end_reward, dtype=torch.float32, device=boards.device)
        return torch.where(boards > 0, end, boards.to(torch.float32))

    def encode(self, boards: torch.Tensor) -> torch.Tensor:
        """``(members, boards, cells)`` codes to ``(members, boards, features)``."""
        raise NotImplementedError

    def head(self, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
        """``(members, batch, features)`` and ``(members, batch)`` cells to ``(members, batch, actions)``."""
        raise NotImplementedError

    def forward(self, boards: torch.Tensor, pos: torch.Tensor, which: torch.Tensor | None = None) -> torch.Tensor:
        """Action values; ``which[m, b]`` is the board of transition b (default: one board each)."""
        features = self.encode(boards)
        if which is not None:
            features = torch.gather(features, 1, which[:, :, None].expand(-1, -1, features.shape[-1]))
        return self.head(features, pos)


def _onehot(pos: torch.Tensor, cells: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(pos, cells).to(torch.float32)


class OneHotQ(QNetwork):
    """Items and one-hot position through two hidden layers (App. C, 1D): 2N → 128 → 128 → 4.

    >>> net = OneHotQ(RingSpec(5), (128, 128), Initializer([0, 1]))
    >>> net(torch.zeros(2, 3, 5), torch.zeros(2, 3, dtype=torch.int64)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, spec: RingSpec, hidden: tuple[int, int], init: Initializer) -> None:
        """Layers in the order in which the native engine draws them."""
        super().__init__(spec)
        self.one = BatchLinear(2 * spec.n_cells, hidden[0], init)
        self.two = BatchLinear(hidden[0], hidden[1], init)
        self.out = BatchLinear(hidden[1], spec.n_actions, init)

    def encode(self, boards: torch.Tensor) -> torch.Tensor:
        """The items themselves."""
        return self.items(boards)

    def head(self, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
        """The network."""
        x = torch.cat([features, _onehot(pos, self.spec.n_cells)], dim=-1)
        return self.out(torch.relu(self.two(torch.relu(self.one(x)))))


class GridQ(QNetwork):
    """The 3D network of App. C: encoder → 128, with position / N, → 256 → 256 → 64.

    >>> net = GridQ(RingSpec(5, d=3), "pool", (256, 256), Initializer([0]))
    >>> net(torch.zeros(1, 2, 125), torch.zeros(1, 2, dtype=torch.int64)).shape
    torch.Size([1, 2, 64])
    """

    def __init__(self, spec: RingSpec, encoder: str, hidden: tuple[int, int], init: Initializer) -> None:
        """``encoder`` is ``pool`` or ``flatten``."""
        super().__init__(spec)
        if spec.d != 3:
            raise InvalidParameter(f"the encoder {encoder!r} is for three dimensions, the game has {spec.d}")
        self.encoder = GridEncoder(spec.n, encoder, init)
        self.one = BatchLinear(FEATURES + 3, hidden[0], init)
        self.two = BatchLinear(hidden[0], hidden[1], init)
        self.out = BatchLinear(hidden[1], spec.n_actions, init)

    def encode(self, boards: torch.Tensor) -> torch.Tensor:
        """The 128-d feature of every board."""
        return self.encoder(self.items(boards).unflatten(-1, self.spec.shape))

    def head(self, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
        """Feature and pos / N through the two hidden layers."""
        n = self.spec.n
        place = torch.stack([pos // n**2, pos // n % n, pos % n], dim=-1).to(torch.float32) / n
        x = torch.cat([features, place], dim=-1)
        return self.out(torch.relu(self.two(torch.relu(self.one(x)))))


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


class EquivariantQ(QNetwork):
    """A network that translations of the whole game cannot tell apart: Q(g·s, a) = Q(s, a), exactly in the weights.

    Hidden layers are channels of full rings (the regular representation), the values are invariant: orbit-shared layers
    2 rings → c rings → c rings → actions. ``c`` is such that a hidden layer has at least ``hidden`` units.

    >>> net = EquivariantQ(RingSpec(5), (128, 128), Initializer([0]))
    >>> net.channels, sum(p.numel() for p in net.parameters())
    ((26, 26), 3800)
    """

    def __init__(self, spec: RingSpec, hidden: tuple[int, int], init: Initializer) -> None:
        """Channels from widths."""
        super().__init__(spec)
        ring = translations(spec)
        self.channels = tuple(-(-width // spec.n_cells) for width in hidden)
        first, second = (copies(ring, c) for c in self.channels)
        self.one = OrbitLinear(copies(ring, 2), first, init)
        self.two = OrbitLinear(first, second, init)
        self.out = OrbitLinear(second, Action.trivial(ring.group, spec.n_actions), init)

    def encode(self, boards: torch.Tensor) -> torch.Tensor:
        """The items themselves."""
        return self.items(boards)

    def head(self, features: torch.Tensor, pos: torch.Tensor) -> torch.Tensor:
        """The network."""
        x = torch.cat([features, _onehot(pos, self.spec.n_cells)], dim=-1)
        return self.out(torch.relu(self.two(torch.relu(self.one(x)))))


def make_q(
    spec: RingSpec, encoder: str, hidden: tuple[int, int], seeds: list[int], equivariant: bool = False
) -> QNetwork:
    """The network of a DQN run for a list of seeds."""
    init = Initializer(seeds)
    if equivariant:
        return EquivariantQ(spec, hidden, init)
    if encoder == "onehot":
        return OneHotQ(spec, hidden, init)
    return GridQ(spec, encoder, hidden, init)
