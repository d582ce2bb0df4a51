"""What a run of deep approximate value iteration is: hyperparameters and arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from burnside._configs import Config
from burnside.agents.common.members import check_arm
from burnside.envs.cube.core import CubeSpec
from burnside.envs.cube.symmetry import SYMMETRIES, CubeSymmetry
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["ARMS", "DaviConfig", "arm_symmetry"]

#: What is done with the symmetry; see :class:`~burnside.agents.common.members.Member`.
ARMS = ("baseline", "position", "conjugation", "augment", "equivariant")


@dataclass(frozen=True)
class DaviConfig(Config):
    """Hyperparameters; budgets are counted in states, never in seconds.

    The preset ``paper`` is DeepCubeA's published recipe. A *round* trains on ``states_per_round`` fresh states,
    labelled with one target network; after it the target network becomes the trained one if the loss of the last
    minibatch is below ``loss_threshold``. The first target network is zero everywhere.

    >>> DaviConfig.preset("paper").iterations, DaviConfig.preset("paper").rounds
    (1200000, 240)
    >>> DaviConfig.preset("smoke", batch=100).hidden
    (64, 32)

    Attributes:
        hidden: Widths of the first two layers.
        blocks: Residual blocks after them.
        batch: States in an update.
        states: States in all.
        states_per_round: States labelled with one target network.
        back_max: States are random walks from the solved cube, of 0 to this many turns, each length equally likely.
        learning_rate: Of Adam, before the first update.
        decay: Factor on the learning rate per update.
        fresh_adam: Whether every round begins with a new optimizer, as DeepCubeA's does.
        loss_threshold: See above; None copies the network after every round.
        forced_copies: Numbers of states after which the target network is copied whatever the loss (DeepCubeA's authors
            did so by hand, once).
        group: The symmetry of the arms ``conjugation`` and ``augment``.
        equivariant_group: The symmetry of the equivariant network.
        augment_inverse: Whether ``augment`` also inverts states, which keeps values.
        label_batches: Minibatches labelled together: a state that is a neighbour twice is evaluated once.
    """

    hidden: tuple[int, int] = (512, 256)
    blocks: int = 2
    batch: int = 1_000
    states: int = 400_000
    states_per_round: int = 20_000
    back_max: int = 12
    learning_rate: float = 1e-3
    decay: float = 1.0
    fresh_adam: bool = False
    loss_threshold: float | None = None
    forced_copies: tuple[int, ...] = ()
    group: str = "conjugation+mirror"
    equivariant_group: str = "conjugation"
    augment_inverse: bool = False
    label_batches: int = 10

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            "hidden": (5000, 1000),
            "blocks": 4,
            "batch": 10_000,
            "states": 12_000_000_000,
            "states_per_round": 50_000_000,
            "back_max": 30,
            "decay": 0.9999993,
            "fresh_adam": True,
            "loss_threshold": 0.06,
            "forced_copies": (10_000_000_000,),
            "label_batches": 1,
        },
        "study": {"hidden": (256, 128), "batch": 500, "states_per_round": 10_000},
        "laptop": {},
        "smoke": {
            "hidden": (64, 32),
            "blocks": 1,
            "batch": 200,
            "states": 20_000,
            "states_per_round": 2_000,
            "back_max": 6,
            "label_batches": 5,
        },
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_hidden()
        object.__setattr__(self, "forced_copies", tuple(int(count) for count in self.forced_copies))
        self.check_at_least(0, "blocks")
        self.check_at_least(1, "batch", "states", "states_per_round", "back_max", "label_batches")
        if self.batch < 2:
            raise InvalidParameter("a batch of one has no variance to normalise by: batch ≥ 2")
        if self.states_per_round % self.batch or self.states % self.batch:
            raise InvalidParameter(
                f"batch {self.batch} must divide states {self.states} and states_per_round {self.states_per_round}"
            )
        if any(count % self.states_per_round for count in self.forced_copies):
            raise InvalidParameter(f"forced_copies {self.forced_copies} must be ends of rounds")
        if not self.learning_rate > 0 or not 0 < self.decay <= 1:
            raise InvalidParameter(f"learning_rate {self.learning_rate} must be positive, decay {self.decay} in (0, 1]")
        if self.loss_threshold is not None and not self.loss_threshold > 0:
            raise InvalidParameter(
                f"loss_threshold is {self.loss_threshold}: give a positive number, or None for always"
            )
        for name in ("group", "equivariant_group"):
            if getattr(self, name) not in SYMMETRIES:
                raise UnknownName("symmetry of the cube", getattr(self, name), SYMMETRIES)
        if self.equivariant_group.endswith("+inverse"):
            raise InvalidParameter("the inverse of states does not permute the inputs: no equivariant network has it")

    @property
    def iterations(self) -> int:
        """Updates in all."""
        return self.states // self.batch

    @property
    def rounds(self) -> int:
        """Rounds, the last of which may be short."""
        return -(-self.states // self.states_per_round)

    def rate(self, iteration: int) -> float:
        """The learning rate of an update."""
        return float(self.learning_rate * self.decay**iteration)


def arm_symmetry(config: DaviConfig, spec: CubeSpec, arm: str) -> CubeSymmetry | None:
    """The group an arm uses; None for the baseline. Refuses ``position`` where it changes the task.

    >>> arm_symmetry(DaviConfig(), CubeSpec(3), "conjugation").order
    48
    """
    check_arm(arm, ARMS)
    if arm == "baseline":
        return None
    if arm == "augment" and config.augment_inverse and not config.group.endswith("+inverse"):
        return CubeSymmetry(spec, f"{config.group}+inverse")
    name = {"position": "position", "equivariant": config.equivariant_group}.get(arm, config.group)
    if name == "position" and spec.goal == "fixed" and (spec.n == 2 or spec.slices):
        raise InvalidParameter(
            "'position' is not a symmetry of this cube: its rotations move the one solved state that is a goal; "
            "use goal='any-orientation'"
        )
    return CubeSymmetry(spec, name)
