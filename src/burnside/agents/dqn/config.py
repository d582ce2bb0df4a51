"""What a DQN run is: hyperparameters, with the paper's (App. C) as presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from burnside._configs import Config
from burnside.errors import InvalidParameter

__all__ = ["ENCODERS", "LOSSES", "DQNConfig"]

LOSSES = ("mse", "huber")
ENCODERS = ("onehot", "pool", "flatten")


@dataclass(frozen=True)
class DQNConfig(Config):
    """Hyperparameters of DQN; the defaults are the paper's 1D game (App. C).

    Three things the paper leaves open are fields or stated here. *Loss*: ``mse`` by default, the plain reading of
    "DQN"; ``huber`` is the smooth L1 of Mnih et al. *Truncation*: running into the time limit is not an end of the
    game, so its last transition bootstraps (``terminated`` is false); the observation holds no clock. With
    ``limit_ends`` it is one, which many implementations do without saying so. *Replay*: batches are drawn uniformly
    with replacement.

    >>> DQNConfig.preset("ring1d").hidden
    (128, 128)
    >>> DQNConfig.preset("ring3d", update_every=8).capacity
    5000

    Attributes:
        hidden: Widths of the two hidden layers of the head.
        encoder: ``onehot`` (the flat observation; of a ring, items and one-hot position), or for rings in three
            dimensions ``pool`` (the paper's convolutions with adaptive average pooling) and ``flatten`` (the same
            without pooling, which keeps where things are).
        gamma: Discount.
        capacity: Transitions the replay holds.
        batch: Transitions in an update.
        learning_rate: Of Adam.
        loss: ``mse`` or ``huber``.
        double: Double DQN (van Hasselt et al. 2016): the network chooses the next action, the target network values it.
        limit_ends: Treat the time limit as an end of the game: its last transition does not bootstrap.
        update_every: Environment steps per update, once the replay holds a batch.
        target_every: Episodes between copies of the network into the target network.
        target_every_steps: If positive, environment steps between those copies instead.
        epsilon_start: Exploration in the first episode.
        epsilon_end: The least exploration.
        epsilon_decay: Factor per episode.
        epsilon_steps: If positive, ε falls linearly over that many environment steps instead.
    """

    hidden: tuple[int, int] = (128, 128)
    encoder: str = "onehot"
    gamma: float = 0.99
    capacity: int = 10_000
    batch: int = 64
    learning_rate: float = 1e-3
    loss: str = "mse"
    double: bool = False
    limit_ends: bool = False
    update_every: int = 1
    target_every: int = 10
    target_every_steps: int = 0
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_decay: float = 0.997
    epsilon_steps: int = 0

    LATER: ClassVar[tuple[str, ...]] = ("double", "limit_ends")
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ring1d": {},
        "ring3d": {"hidden": (256, 256), "encoder": "pool", "capacity": 5_000, "epsilon_decay": 0.995},
        # For environments about which nothing is known: exploration and target network by steps, not by episodes.
        "general": {
            # Tried on CartPole, three seeds of 50 000 steps: 500 in the end for all, where (64, 64) with an update of
            # 64 transitions after every step reached 54 to 101, and (128, 128) 129 to 500 after 40 000 steps.
            "hidden": (256, 256),
            "batch": 128,
            "update_every": 4,
            "capacity": 50_000,
            "loss": "huber",
            "target_every_steps": 250,
            "epsilon_steps": 10_000,
        },
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_hidden()
        self.check_known(loss=LOSSES, encoder=ENCODERS)
        if not 1 <= self.batch <= self.capacity:
            raise InvalidParameter(f"batch {self.batch} must lie between 1 and the capacity {self.capacity}")
        self.check_fraction("gamma", "epsilon_start", "epsilon_end", "epsilon_decay")
        if self.epsilon_end > self.epsilon_start:
            raise InvalidParameter(f"epsilon_end {self.epsilon_end} exceeds epsilon_start {self.epsilon_start}")
        self.check_positive("learning_rate")
        self.check_at_least(1, "update_every", "target_every")
        self.check_at_least(0, "target_every_steps", "epsilon_steps")

    def epsilon(self, episode: int, step: int = 0) -> float:
        """Exploration in an episode (or, where ``epsilon_steps`` is set, at an environment step).

        >>> config = DQNConfig()
        >>> [round(config.epsilon(e), 4) for e in (0, 1, 500, 5000)]
        [1.0, 0.997, 0.2226, 0.05]
        """
        if self.epsilon_steps:
            fraction = min(1.0, step / self.epsilon_steps)
            return self.epsilon_start + fraction * (self.epsilon_end - self.epsilon_start)
        return max(self.epsilon_end, self.epsilon_start * self.epsilon_decay**episode)
