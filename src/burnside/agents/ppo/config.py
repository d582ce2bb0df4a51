"""What a PPO run is: hyperparameters (App. C), and the log of a member."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from burnside._types import BoolArray, FloatArray, IntArray
from burnside.agents.dqn.config import Member
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["CONDITIONS", "ENCODERS", "PRESETS", "STATS", "Log", "PPOConfig"]

#: What is done with the symmetry; see :class:`burnside.agents.dqn.Member`.
CONDITIONS = ("baseline", "canonical", "augment")
ENCODERS = ("onehot", "pool", "flatten")
#: What is remembered of every rollout: means over its updates.
STATS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")


@dataclass(frozen=True)
class PPOConfig:
    """Hyperparameters of PPO; the defaults are the paper's 3D game (App. C).

    What the paper leaves open: one environment per member; advantages normalised in every minibatch; the value loss is
    half the mean squared error, unclipped; the old log-probabilities and values are those of the rollout; a rollout is
    cut wherever it ends and bootstrapped there; running into the time limit bootstraps, entering the goal does not; all
    layers begin as ``torch.nn.Linear`` and ``Conv3d`` do; Adam has ε = 1e-8 and a constant learning rate.

    >>> PPOConfig().updates_per_rollout
    32
    >>> PPOConfig.preset("ring3d", encoder="flatten").rollout
    512

    Attributes:
        hidden: Widths of the two hidden layers, which policy and value share.
        encoder: ``pool`` (the paper's) or ``flatten`` in three dimensions, ``onehot`` in any.
        gamma: Discount.
        lam: λ of generalised advantage estimation.
        clip: The ratio of probabilities is clipped to 1 ± this.
        epochs: Passes over a rollout.
        batch: Steps in an update; divides ``rollout``.
        rollout: Environment steps between updates.
        entropy: Weight of the entropy bonus.
        value_weight: Weight of half the mean squared error of the value.
        learning_rate: Of Adam.
        grad_clip: Greatest norm of the gradient of all parameters of a member together.
        normalize: Whether advantages are normalised in every minibatch.
    """

    hidden: tuple[int, int] = (256, 256)
    encoder: str = "pool"
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    epochs: int = 4
    batch: int = 64
    rollout: int = 512
    entropy: float = 0.1
    value_weight: float = 1.0
    learning_rate: float = 1e-4
    grad_clip: float = 0.5
    normalize: bool = True

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        object.__setattr__(self, "hidden", tuple(int(width) for width in self.hidden))
        if len(self.hidden) != 2 or min(self.hidden) < 1:
            raise InvalidParameter(f"hidden is {self.hidden}: give two positive widths")
        if self.encoder not in ENCODERS:
            raise UnknownName("encoder", self.encoder, ENCODERS)
        for name in ("gamma", "lam"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give a number from 0 to 1")
        for name in ("clip", "learning_rate", "grad_clip"):
            if not getattr(self, name) > 0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give a positive number")
        for name in ("entropy", "value_weight"):
            if not getattr(self, name) >= 0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give 0 or more")
        if self.epochs < 1 or self.batch < 1 or self.rollout < 1 or self.rollout % self.batch:
            raise InvalidParameter(
                f"epochs {self.epochs}, batch {self.batch} and rollout {self.rollout} must be at least 1, and the "
                f"batch must divide the rollout"
            )
        if self.normalize and self.batch < 2:
            raise InvalidParameter("advantages of a batch of one cannot be normalised: batch ≥ 2 or normalize=False")

    @property
    def updates_per_rollout(self) -> int:
        """Minibatches of a rollout, over all epochs."""
        return self.epochs * (self.rollout // self.batch)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> PPOConfig:
        """A preset by name (``ring1d``, ``ring3d``), with fields changed."""
        if name not in PRESETS:
            raise UnknownName("PPO preset", name, PRESETS)
        return replace(PRESETS[name], **changes)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for manifests and hashes."""
        return {f.name: list(v) if isinstance(v := getattr(self, f.name), tuple) else v for f in fields(self)}


PRESETS: dict[str, PPOConfig] = {
    "ring3d": PPOConfig(),
    # The paper has no PPO in one dimension: its 3D numbers on the 1D network.
    "ring1d": PPOConfig(hidden=(128, 128), encoder="onehot"),
}


@dataclass(frozen=True)
class Log:
    """What a member did: one entry per episode, and in ``stats`` one per rollout.

    Attributes:
        member: Whose log it is; logs carry their seed, never a position in a list.
        returns: Undiscounted return of the training episode (actions are sampled).
        lengths: Its environment steps.
        solved: Whether it entered the goal before the time limit.
        steps: Environment steps up to and including it.
        updates: Updates made when it ended.
        stats: ``policy_loss``, ``value_loss``, ``entropy``, ``approx_kl``, ``clip_fraction``: means over a rollout's
            updates.
    """

    member: Member
    returns: FloatArray
    lengths: IntArray
    solved: BoolArray
    steps: IntArray
    updates: IntArray
    stats: dict[str, FloatArray]

    @property
    def episodes(self) -> int:
        """Episodes so far."""
        return len(self.returns)
