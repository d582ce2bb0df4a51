"""What a SAC run is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from burnside._configs import Config
from burnside.errors import InvalidParameter

__all__ = ["SACConfig"]


@dataclass(frozen=True)
class SACConfig(Config):
    """Hyperparameters of soft actor-critic (Haarnoja et al. 2018), with a temperature that is learned.

    Networks have two hidden layers of ReLUs: an actor with a mean and a deviation for every number of the action, and
    two critics with slow target copies. Actions are squashed by tanh and scaled to the bounds of the environment.

    >>> SACConfig().updates, SACConfig.preset("sb3").hidden
    (1, (256, 256))

    Attributes:
        hidden: Widths of the two hidden layers of all networks, multiples of 16.
        gamma: Discount.
        tau: Share by which the copies of the critics follow in an update.
        batch: Transitions in an update.
        capacity: Transitions the replay holds.
        learning_rate: Of Adam, for all networks and the temperature.
        updates: Updates for every environment step (the update-to-data ratio).
        begin: Environment steps with random actions before the first update.
        scenes: Environments per member, which step together.
        entropy: Entropy that the temperature aims at; None: minus the number of numbers in an action.
        temperature: At the start.
    """

    hidden: tuple[int, int] = (64, 64)
    gamma: float = 0.99
    tau: float = 0.005
    batch: int = 128
    capacity: int = 200_000
    learning_rate: float = 1e-3
    updates: int = 1
    begin: int = 500
    scenes: int = 1
    entropy: float | None = None
    temperature: float = 1.0

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # What Stable-Baselines3 has by default.
        "sb3": {"hidden": (256, 256), "batch": 256, "learning_rate": 3e-4, "begin": 100, "capacity": 1_000_000},
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_hidden(16)
        self.check_fraction("gamma", "tau")
        self.check_positive("learning_rate", "temperature")
        self.check_at_least(1, "batch", "updates", "scenes")
        self.check_at_least(0, "begin")
        if self.batch > self.capacity:
            raise InvalidParameter(f"batch {self.batch} must not exceed the capacity {self.capacity}")
