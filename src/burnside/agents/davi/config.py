"""What a run of deep approximate value iteration is: hyperparameters, arms, members."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from burnside.envs.cube.core import CubeSpec
from burnside.envs.cube.symmetry import SYMMETRIES, CubeSymmetry
from burnside.errors import InvalidParameter, UnknownName

__all__ = ["ARMS", "PRESETS", "DaviConfig", "Member", "arm_symmetry"]

#: What is done with the symmetry; see :class:`Member`.
ARMS = ("baseline", "position", "conjugation", "augment", "equivariant")
_COUNTS = ("batch", "states", "states_per_round", "back_max", "label_batches")


@dataclass(frozen=True)
class DaviConfig:
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

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        object.__setattr__(self, "hidden", tuple(int(width) for width in self.hidden))
        object.__setattr__(self, "forced_copies", tuple(int(count) for count in self.forced_copies))
        if len(self.hidden) != 2 or min(self.hidden) < 1 or self.blocks < 0:
            raise InvalidParameter(
                f"hidden {self.hidden} and blocks {self.blocks}: give two widths and 0 or more blocks"
            )
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise InvalidParameter(f"{name} is {getattr(self, name)}: give at least 1")
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

    @classmethod
    def preset(cls, name: str, **changes: Any) -> DaviConfig:
        """A preset by name (``paper``, ``study``, ``laptop``, ``smoke``), with fields changed."""
        if name not in PRESETS:
            raise UnknownName("DAVI preset", name, PRESETS)
        return replace(PRESETS[name], **changes)

    def to_json(self) -> dict[str, Any]:
        """Plain values, for manifests and hashes."""
        return {f.name: list(v) if isinstance(v := getattr(self, f.name), tuple) else v for f in fields(self)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> DaviConfig:
        """The other way.

        >>> config = DaviConfig.preset("laptop")
        >>> DaviConfig.from_json(config.to_json()) == config
        True
        """
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise UnknownName("DAVI setting", sorted(unknown)[0], [f.name for f in fields(cls)])
        return cls(**values)


PRESETS: dict[str, DaviConfig] = {
    "paper": DaviConfig(
        hidden=(5000, 1000),
        blocks=4,
        batch=10_000,
        states=12_000_000_000,
        states_per_round=50_000_000,
        back_max=30,
        decay=0.9999993,
        fresh_adam=True,
        loss_threshold=0.06,
        forced_copies=(10_000_000_000,),
        label_batches=1,
    ),
    "study": DaviConfig(hidden=(256, 128), batch=500, states_per_round=10_000),
    "laptop": DaviConfig(),
    "smoke": DaviConfig(
        hidden=(64, 32), blocks=1, batch=200, states=20_000, states_per_round=2_000, back_max=6, label_batches=5
    ),
}


@dataclass(frozen=True, order=True)
class Member:
    """One run: a seed and an arm. All arms of a seed draw the same states.

    ``baseline`` sees states as they are. ``position`` sees the smallest image under the 24 rotations of the stickers
    (the paper's canonicalization). ``conjugation`` sees the smallest image under rotation with recolouring. ``augment``
    sees every training state through a random element. ``equivariant`` sees states as they are through a network that
    shares weights over the group.

    >>> Member(7, "conjugation").name
    'conjugation-7'
    """

    seed: int
    arm: str = "baseline"

    def __post_init__(self) -> None:
        """Refuse unknown arms and seeds the random streams cannot take."""
        if self.arm not in ARMS:
            raise UnknownName("arm", self.arm, ARMS)
        if not 0 <= self.seed < 2**63:
            raise InvalidParameter(f"seed is {self.seed}: give an integer from 0 to 2⁶³ − 1")

    @property
    def name(self) -> str:
        """A name that is safe in a file name."""
        return f"{self.arm}-{self.seed}"


def arm_symmetry(config: DaviConfig, spec: CubeSpec, arm: str) -> CubeSymmetry | None:
    """The group an arm uses; None for the baseline. Refuses ``position`` where it changes the task.

    >>> arm_symmetry(DaviConfig(), CubeSpec(3), "conjugation").order
    48
    """
    if arm not in ARMS:
        raise UnknownName("arm", arm, ARMS)
    if arm == "baseline":
        return None
    if arm == "augment" and config.augment_inverse and not config.group.endswith("+inverse"):
        return CubeSymmetry(spec, f"{config.group}+inverse")
    name = {"position": "position", "equivariant": config.equivariant_group}.get(arm, config.group)
    if name == "position" and spec.goal == "fixed" and (spec.n == 2 or spec.slices):
        raise InvalidParameter(
            "'position' is no symmetry of this cube: its rotations move the one solved state that is a goal; "
            "use goal='any-orientation'"
        )
    return CubeSymmetry(spec, name)
