"""What a PPO run is: hyperparameters, of the general learner and of App. C's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from burnside._configs import Config
from burnside.errors import InvalidParameter

__all__ = ["ENCODERS", "STATS", "PPOConfig", "RingPPOConfig"]

ENCODERS = ("onehot", "pool", "flatten")
#: How the network behind an encoder can see the place.
PLACES = ("divided", "onehot", "relative")
#: What is remembered of every rollout: means over its updates.
STATS = ("policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction")


class _Rollouts(Config):
    """What the settings of both kinds of PPO have in common."""

    scenes: int
    rollout: int
    epochs: int
    batch: int
    normalize: bool

    @property
    def steps_per_rollout(self) -> int:
        """Environment steps of a member between updates, over all its scenes."""
        return self.scenes * self.rollout

    @property
    def updates_per_rollout(self) -> int:
        """Minibatches of a rollout, over all epochs."""
        return self.epochs * (self.steps_per_rollout // self.batch)

    def check_rollouts(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_fraction("gamma", "lam")
        self.check_positive("clip", "learning_rate", "grad_clip")
        self.check_at_least(0, "entropy", "value_weight")
        self.check_at_least(1, "scenes", "rollout", "epochs", "batch")
        if self.steps_per_rollout % self.batch:
            raise InvalidParameter(
                f"batch is {self.batch}: it must divide the {self.steps_per_rollout} steps of a rollout"
            )
        if self.normalize and self.batch < 2:
            raise InvalidParameter("advantages of a batch of one cannot be normalised: batch ≥ 2 or normalize=False")


@dataclass(frozen=True)
class PPOConfig(_Rollouts):
    """Hyperparameters of PPO: two tanh networks, actor and critic.

    With vectors as actions the policy is Gaussian, with deviations that do not depend on the state; with numbered ones
    it is categorical.

    Every member has its own ``scenes`` copies of the environment. Running into the time limit bootstraps, termination
    does not; the value loss is half the mean squared error, unclipped; layers begin orthogonal (gain √2, 0.01 for the
    mean action, 1 for the value) as in Stable-Baselines3; Adam has ε = 1e-8 and a constant rate.

    >>> PPOConfig().steps_per_rollout, PPOConfig().updates_per_rollout
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
        log_std: Logarithm of the deviation at the start (Gaussian policy).
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

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        # Chosen where learning is hardest, in the world frame at full spread: the baseline gets what suits it best.
        "planar": {"learning_rate": 3e-4, "epochs": 8},
        # For environments about which nothing is known, a few copies of each.
        "general": {"scenes": 8, "rollout": 64, "batch": 128, "epochs": 10},
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_hidden(16)
        self.check_at_least(0, "target_kl")
        self.check_rollouts()


@dataclass(frozen=True)
class RingPPOConfig(_Rollouts):
    """Hyperparameters of PPO on rings in torch, with 3D encoders; the defaults are the paper's 3D game (App. C).

    What the paper leaves open: one environment per member; advantages normalised in every minibatch; the value loss is
    half the mean squared error, unclipped; the old log-probabilities and values are those of the rollout; a rollout is
    cut wherever it ends and bootstrapped there; running into the time limit bootstraps, entering the goal does not; all
    layers begin as ``torch.nn.Linear`` and ``Conv3d`` do; Adam has ε = 1e-8 and a constant learning rate.

    >>> RingPPOConfig().updates_per_rollout
    32
    >>> RingPPOConfig.preset("ring3d", encoder="flatten").rollout
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
        item_scale: What the items of the board, −1 and 20, are multiplied by before the encoder.
        place: How an encoder's network sees the place: ``divided`` by N, ``onehot``, or ``relative``: one-hot, and once
            more as seen from the goal (what the canonical form shows, as a feature without the symmetry).
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
    item_scale: float = 1.0
    place: str = "divided"

    LATER: ClassVar[tuple[str, ...]] = ("item_scale", "place")
    #: Environments of a member.
    scenes: ClassVar[int] = 1  # type: ignore[misc]
    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "ring3d": {},
        # The paper has no PPO in one dimension: its 3D numbers on the 1D network.
        "ring1d": {"hidden": (128, 128), "encoder": "onehot"},
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_hidden()
        self.check_known(encoder=ENCODERS, place=PLACES)
        self.check_positive("item_scale")
        self.check_rollouts()
