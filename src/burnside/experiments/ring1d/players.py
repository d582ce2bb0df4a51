"""A member in training behind one face, whichever engine its network needs.

``baseline``, ``canonical`` and ``augment`` share the plain network and run on the compiled engine. ``equivariant`` ties
the weights of its network over the ring's translations, which only the torch engine can do: it is slower by two orders
of magnitude, so presets ask for it at small rings only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from burnside._types import AnyArray
from burnside.agents.dqn.config import DQNConfig, Member
from burnside.agents.dqn.native import Evaluation, advance, evaluate
from burnside.agents.dqn.state import new_state
from burnside.envs.ring import RingSpec

__all__ = ["NativePlayer", "Player", "TorchPlayer", "make_player"]


class Player(Protocol):
    """One seed under one condition."""

    spec: RingSpec
    member: Member

    @property
    def episode(self) -> int:
        """Episodes played."""
        ...

    @property
    def log(self) -> AnyArray:
        """One row per episode, columns ``LOG_COLUMNS``."""
        ...

    def advance(self, episodes: int) -> None:
        """Train for so many episodes; any split into calls gives the same bits."""
        ...

    def evaluate(self, boards: int) -> Evaluation:
        """Greedy episodes on held-out boards."""
        ...

    def arrays(self) -> dict[str, AnyArray]:
        """The whole state."""
        ...

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Take a state."""
        ...


class NativePlayer:
    """A member of the compiled engine."""

    def __init__(self, config: DQNConfig, spec: RingSpec, member: Member) -> None:
        """Before the first episode."""
        self.spec, self.member = spec, member
        self.state = new_state(config, spec, member)

    @property
    def episode(self) -> int:
        """Episodes played."""
        return self.state.episode

    @property
    def log(self) -> AnyArray:
        """One row per episode."""
        return self.state.log

    def advance(self, episodes: int) -> None:
        """Train for so many episodes."""
        advance(self.state, episodes)

    def evaluate(self, boards: int) -> Evaluation:
        """Greedy episodes on held-out boards."""
        return evaluate(self.state, boards)

    def arrays(self) -> dict[str, AnyArray]:
        """Records as bytes, since a checkpoint keeps plain arrays."""
        out = {
            name: array.view(np.uint8) if array.dtype.names else array
            for name, array in self.state.arrays._asdict().items()
        }
        return {**out, "log": self.state.log}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Into the state, in place."""
        for name, array in self.state.arrays._asdict().items():
            found = arrays[name]
            array[...] = np.ascontiguousarray(found).view(array.dtype) if array.dtype.names else found
        self.state.log = np.array(arrays["log"])


class TorchPlayer:
    """A member of the torch engine, alone in its block."""

    def __init__(self, config: DQNConfig, spec: RingSpec, member: Member, episodes: int, device: str = "cpu") -> None:
        """Before the first episode, with room in the log for ``episodes``."""
        from burnside.agents.dqn.torch_engine import TorchBlock, choose_device

        self.spec, self.member = spec, member
        self.block = TorchBlock(config, spec, [member], episodes, device=choose_device(device))

    @property
    def episode(self) -> int:
        """Episodes played."""
        return self.block.progress(0).episode if self.block.games.counters[0, 0] else 0

    @property
    def log(self) -> AnyArray:
        """One row per episode."""
        return np.asarray(self.block.games.log[0, : self.episode])

    def advance(self, episodes: int) -> None:
        """Environment steps until so many more episodes are over."""
        until = self.episode + episodes
        while self.episode < until and self.block.active.any():
            self.block.tick()

    def evaluate(self, boards: int) -> Evaluation:
        """Greedy episodes on held-out boards."""
        return self.block.evaluate(0, boards)

    def arrays(self) -> dict[str, AnyArray]:
        """The checkpoint of the block."""
        from burnside.agents.dqn.checkpoint import to_bytes

        return {"file": to_bytes(self.block.save)}

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Into the block."""
        from burnside.agents.dqn.checkpoint import from_bytes

        from_bytes(self.block.load, arrays["file"])


def make_player(config: DQNConfig, spec: RingSpec, member: Member, episodes: int, device: str = "cpu") -> Player:
    """The player of a condition.

    >>> type(make_player(DQNConfig(), RingSpec(5), Member(0, "canonical"), 10)).__name__
    'NativePlayer'
    """
    if member.condition == "equivariant":
        return TorchPlayer(config, spec, member, episodes, device)
    return NativePlayer(config, spec, member)
