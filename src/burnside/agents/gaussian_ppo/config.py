"""What a Gaussian PPO run is: hyperparameters, and the log of a member."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

from burnside._types import BoolArray, FloatArray, IntArray
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["PRESETS", "STATS", "ControlLog", "GaussianPPOConfig"]

#: What is remembered of every rollout: means over its updates.
STATS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")


@dataclass(frozen=True)
class GaussianPPOConfig:
    """Hyperparameters of PPO with continuous actions: two tanh networks, a deviation per action that sees no state.

    Every member has its own ``scenes`` copies of the environment. Running into the time limit bootstraps, termination
    does not; the value loss is half the mean squared error, unclipped; layers begin orthogonal (gain √2, 0.01 for the
    mean action, 1 for the value) as in Stable-Baselines3; Adam has ε = 1e-8 and a constant rate.

    >>> GaussianPPOConfig().steps_per_rollout, GaussianPPOConfig().updates_per_rollout
    (8192, 16)

    Attributes:
        hidden: Widths of the two hidden layers of either network, multiples of 16.
        scenes: Environments per member.
        rollout: Steps of every scene between updates.
        epochs: Passes over a rollout.
        batch: Steps in an update; divides ``scenes · rollout``.
        gamma: Discount.
        lam: λ of generalised advantage estimation.
        clip: The ratio of densities is clipped to 1 ± this.
        entropy: Weight of the entropy bonus.
        value_weight: Weight of half the mean squared error of the value.
        learning_rate: Of Adam.
        grad_clip: Greatest norm of the gradient of all parameters of a member together.
        normalize: Whether advantages are normalised in every minibatch.
        target_kl: If positive, the updates of a rollout end before the first one at which the KL estimate exceeds it.
        log_std: Logarithm of the deviation at the start.
    """

    hidden: tuple[int, int] = (64, 64)
    scenes: int = 256
    rollout: int = 32
    epochs: int = 4
    batch: int = 2048
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    entropy: float = 0.0
    value_weight: float = 0.5
    learning_rate: float = 1e-3
    grad_clip: float = 0.5
    normalize: bool = True
    target_kl: float = 0.0
    log_std: float = -0.5

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        object.__setattr__(self, "hidden", tuple(int(width) for width in self.hidden))
        if len(self.hidden) != 2 or min(self.hidden) < 16 or any(width % 16 for width in self.hidden):
            raise InvalidParameter(f"hidden is {self.hidden}: give two positive multiples of 16")
        for name in ("gamma", "lam"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give a number from 0 to 1")
        for name in ("clip", "learning_rate", "grad_clip"):
            if not getattr(self, name) > 0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give a positive number")
        for name in ("entropy", "value_weight", "target_kl"):
            if not getattr(self, name) >= 0:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give 0 or more")
        if min(self.scenes, self.rollout, self.epochs, self.batch) < 1 or self.steps_per_rollout % self.batch:
            raise InvalidParameter(
                f"scenes {self.scenes}, rollout {self.rollout}, epochs {self.epochs} and batch {self.batch} must be at "
                f"least 1, and the batch must divide the {self.steps_per_rollout} steps of a rollout"
            )
        if self.normalize and self.batch < 2:
            raise InvalidParameter("advantages of a batch of one cannot be normalised: batch ≥ 2 or normalize=False")

    @property
    def steps_per_rollout(self) -> int:
        """Environment steps of a member between updates, over all scenes."""
        return self.scenes * self.rollout

    @property
    def updates_per_rollout(self) -> int:
        """Minibatches of a rollout, over all epochs."""
        return self.epochs * (self.steps_per_rollout // self.batch)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> GaussianPPOConfig:
        """A preset by name (``planar``), with fields changed."""
        if name not in PRESETS:
            raise UnknownName("Gaussian PPO preset", name, PRESETS)
        return replace(PRESETS[name], **changes)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for manifests and hashes."""
        return asdict(self) | {"hidden": list(self.hidden)}


PRESETS: dict[str, GaussianPPOConfig] = {
    # Chosen where learning is hardest, in the world frame at full spread: the baseline gets what suits it best.
    "planar": GaussianPPOConfig(learning_rate=3e-4, epochs=8),
}


@dataclass(frozen=True)
class ControlLog:
    """What a member did: one entry per episode in the order of their ends, and in ``stats`` one per rollout.

    Attributes:
        seed: Whose log it is.
        returns: Undiscounted return of the training episode (actions are sampled).
        lengths: Its environment steps.
        success: Whether the environment called it a success.
        steps: Environment steps of the member, over all scenes, when it ended.
        stats: ``policy_loss``, ``value_loss``, ``entropy``, ``approx_kl``, ``clip_fraction``: means over a rollout's
            updates.
    """

    seed: int
    returns: FloatArray
    lengths: IntArray
    success: BoolArray
    steps: IntArray
    stats: dict[str, FloatArray]

    @property
    def episodes(self) -> int:
        """Episodes so far."""
        return len(self.returns)
