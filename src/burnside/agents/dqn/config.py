"""What a DQN run is: hyperparameters (App. C), members, and the log of a member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from burnside._types import AnyArray, BoolArray, FloatArray, IntArray
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["CONDITIONS", "ENCODERS", "LOSSES", "PRESETS", "DQNConfig", "Log", "Member", "check_members"]

#: What is done with the symmetry; see :class:`Member`.
CONDITIONS = ("baseline", "canonical", "augment", "equivariant")
LOSSES = ("mse", "huber")
ENCODERS = ("onehot", "pool", "flatten")


@dataclass(frozen=True)
class DQNConfig:
    """Hyperparameters of DQN; the defaults are the paper's 1D game (App. C).

    Three things the paper leaves open are fields or stated here. *Loss*: ``mse`` by default, the plain reading of
    "DQN"; ``huber`` is the smooth L1 of Mnih et al. *Truncation*: running into the time limit is not an end of the
    game, so its last transition bootstraps (``terminated`` is false); the observation holds no clock. *Replay*: batches
    are drawn uniformly with replacement.

    >>> DQNConfig.preset("ring1d").hidden
    (128, 128)
    >>> DQNConfig.preset("ring3d", update_every=8).capacity
    5000

    Attributes:
        hidden: Widths of the two hidden layers of the head.
        encoder: ``onehot`` (items and one-hot position, flat), or for cubes ``pool`` (the paper's 3D convolutions with
            adaptive average pooling) and ``flatten`` (the same without pooling, which keeps where things are).
        gamma: Discount.
        capacity: Transitions the replay holds.
        batch: Transitions in an update.
        learning_rate: Of Adam.
        loss: ``mse`` or ``huber``.
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
    update_every: int = 1
    target_every: int = 10
    target_every_steps: int = 0
    epsilon_start: float = 1.0
    epsilon_end: float = 0.05
    epsilon_decay: float = 0.997
    epsilon_steps: int = 0

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        object.__setattr__(self, "hidden", tuple(int(width) for width in self.hidden))
        if len(self.hidden) != 2 or min(self.hidden) < 1:
            raise InvalidParameter(f"hidden is {self.hidden}: give two positive widths")
        if self.loss not in LOSSES:
            raise UnknownName("loss", self.loss, LOSSES)
        if self.encoder not in ENCODERS:
            raise UnknownName("encoder", self.encoder, ENCODERS)
        if not 1 <= self.batch <= self.capacity:
            raise InvalidParameter(f"batch {self.batch} must lie between 1 and the capacity {self.capacity}")
        for name in ("gamma", "epsilon_start", "epsilon_end", "epsilon_decay"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give a number from 0 to 1")
        if self.epsilon_end > self.epsilon_start:
            raise InvalidParameter(f"epsilon_end {self.epsilon_end} exceeds epsilon_start {self.epsilon_start}")
        if not self.learning_rate > 0:
            raise InvalidParameter(f"learning_rate is {self.learning_rate}: give a positive number")
        for name in ("update_every", "target_every"):
            if getattr(self, name) < 1:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give at least 1")
        for name in ("target_every_steps", "epsilon_steps"):
            if getattr(self, name) < 0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give 0 (off) or more")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> DQNConfig:
        """A preset by name (``ring1d``, ``ring3d``: App. C), with fields changed."""
        if name not in PRESETS:
            raise UnknownName("DQN preset", name, PRESETS)
        return replace(PRESETS[name], **changes)

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

    def to_json(self) -> dict[str, Any]:
        """Plain values, for manifests and hashes."""
        return {f.name: list(v) if isinstance(v := getattr(self, f.name), tuple) else v for f in fields(self)}


PRESETS: dict[str, DQNConfig] = {
    "ring1d": DQNConfig(),
    "ring3d": DQNConfig(hidden=(256, 256), encoder="pool", capacity=5_000, epsilon_decay=0.995),
}


@dataclass(frozen=True, order=True)
class Member:
    """One run inside a batch of runs: a seed under a condition.

    Conditions: ``baseline`` sees the board as it is; ``canonical`` sees it rolled by −goal at reset, goal at the origin
    (App. C); ``augment`` sees it rolled by a random translation each episode; ``equivariant`` sees it as it is through
    a network that shares weights over the translations. All conditions of a seed play the same boards.
    """

    seed: int
    condition: str = "baseline"

    def __post_init__(self) -> None:
        """Refuse unknown conditions and seeds the random streams cannot take."""
        if self.condition not in CONDITIONS:
            raise UnknownName("condition", self.condition, CONDITIONS)
        if not 0 <= self.seed < 2**63:
            raise InvalidParameter(f"seed is {self.seed}: give an integer from 0 to 2⁶³ − 1")

    @property
    def name(self) -> str:
        """A name that is safe in a file name.

        >>> Member(7, "canonical").name
        'canonical-7'
        """
        return f"{self.condition}-{self.seed}"


def check_members(members: Sequence[Member], episodes: int, every: int, least: int = 1) -> None:
    """Refuse members listed twice, fewer than ``least`` episodes, and no episodes between checkpoints.

    >>> check_members([Member(7), Member(7)], 5, 1)
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: a member is listed twice: give distinct (seed, condition) pairs
    """
    if len(set(members)) != len(members):
        raise InvalidParameter("a member is listed twice: give distinct (seed, condition) pairs")
    if episodes < least or every < 1:
        raise InvalidParameter(f"episodes {episodes} must be at least {least} and every {every} at least 1")


@dataclass(frozen=True)
class Log:
    """What a member did, one entry per episode.

    Attributes:
        member: Whose log it is; logs carry their seed, never a position in a list.
        returns: Undiscounted return of the training episode.
        lengths: Its environment steps.
        solved: Whether it entered the goal before the time limit.
        epsilon: Exploration at its start.
        steps: Environment steps up to and including it.
        updates: Updates up to and including it.
        loss: Mean loss of its updates (0 where there was none).
    """

    member: Member
    returns: FloatArray
    lengths: IntArray
    solved: BoolArray
    epsilon: FloatArray
    steps: IntArray
    updates: IntArray
    loss: FloatArray

    @property
    def episodes(self) -> int:
        """Episodes so far."""
        return len(self.returns)

    def moving_average(self, window: int = 100) -> AnyArray:
        """Mean return of the last ``window`` episodes; entry ``i`` ends with episode ``i + window − 1``."""
        if window < 1:
            raise InvalidParameter(f"window is {window}: give at least 1")
        if self.episodes < window:
            return np.empty(0)
        sums = np.cumsum(np.concatenate([[0.0], self.returns]))
        return np.asarray((sums[window:] - sums[:-window]) / window)

    def first_reaching(self, threshold: float, window: int = 100) -> int | None:
        """Episodes played when the moving average first reaches a threshold; None if it never does (censored)."""
        hits = np.flatnonzero(self.moving_average(window) >= threshold - 1e-9)
        return int(hits[0]) + window if hits.size else None
