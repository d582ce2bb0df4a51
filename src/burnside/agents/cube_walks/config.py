"""What a run of learning from walks is: hyperparameters and arms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar

from burnside._configs import Config
from burnside.agents.common.members import check_arm
from burnside.envs.cube.core import CubeSpec
from burnside.errors import InvalidParameter

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["ARMS", "LONGEST_WALK", "WalkConfig", "check_cube_arm", "shipped_policy"]

#: What is done with the symmetry; see :class:`WalkConfig`.
ARMS = ("baseline", "position", "conjugation", "augment", "equivariant")
#: Turns of the longest walk there is room for in the stream of random numbers.
LONGEST_WALK = 250


@dataclass(frozen=True)
class WalkConfig(Config):
    """Hyperparameters; budgets are counted in states, never in seconds.

    The arms: ``baseline`` shows states as they are, ``position`` and ``conjugation`` show their smallest image under
    the 24 rotations of the stickers (the paper's) and under the 48 rotations and mirrors with recolouring, ``augment``
    a random one of these 48, and ``equivariant`` ties the weights over them. Walks have no preferred direction, so
    ``augment`` does not change the distribution of what is shown: it is the control that must change nothing.

    >>> WalkConfig().updates, WalkConfig.preset("smoke").states
    (4882, 20480)

    Attributes:
        hidden: Units of the first two layers; with tied weights, of the order of the group times as many channels.
        blocks: Residual blocks after them.
        batch: States in an update.
        states: States in all; a multiple of the batch.
        walk: Walks have 1 to this many turns, each length equally likely; no turn undoes the one before it.
        learning_rate: Of Adam, before the first update; it falls linearly to zero.
        length_weight: Weight of the squared error of the length (in longest walks) beside the cross-entropy.
        sides: 2 also learns the last turn of the inverse walk, for a search that turns from both sides; with tied
            weights the group then has the inversion too, 96 elements.
    """

    hidden: tuple[int, int] = (768, 192)
    blocks: int = 1
    batch: int = 1_024
    states: int = 4_999_168
    walk: int = 26
    learning_rate: float = 6e-3
    length_weight: float = 1.0
    sides: int = 1

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "smoke": {"hidden": (96, 48), "batch": 256, "states": 20_480},
        "minute": {"states": 2_048_000},
        "laptop": {},
        "shipped": {"states": 6_144_000, "sides": 2},
        # Of 85 719 weights. In pilots of 614 400 states a rate of 0.006 was behind (cross-entropy 2.11 against 2.01).
        "shipped-slices": {"hidden": (2304, 576), "states": 40_960_000, "walk": 32, "learning_rate": 2e-3},
    }

    def __post_init__(self) -> None:
        """Refuse what makes no sense, in one sentence."""
        self.check_hidden()
        self.check_at_least(0, "blocks")
        self.check_at_least(2, "batch")
        self.check_at_least(1, "states", "walk")
        self.check_positive("learning_rate")
        if not self.length_weight >= 0:
            raise InvalidParameter(f"length_weight is {self.length_weight}: give 0 or more")
        if self.states % self.batch:
            raise InvalidParameter(f"batch {self.batch} must divide states {self.states}")
        if self.walk > LONGEST_WALK:
            raise InvalidParameter(f"walk is {self.walk}: walks have at most {LONGEST_WALK} turns")
        if self.sides not in (1, 2):
            raise InvalidParameter(f"sides is {self.sides}: give 1 or 2")

    @property
    def updates(self) -> int:
        """Updates in all."""
        return self.states // self.batch

    def rate(self, update: int) -> float:
        """The learning rate of an update."""
        return self.learning_rate * (1.0 - update / self.updates)


def check_cube_arm(config: WalkConfig, spec: CubeSpec, arm: str) -> None:
    """Refuse an arm that a cube or a configuration does not have.

    >>> check_cube_arm(WalkConfig(sides=2), CubeSpec(4, "slices"), "equivariant")
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: with several solved orientations s⁻¹ has no meaning here: use sides=1
    """
    check_arm(arm, ARMS)
    if config.sides == 2 and (spec.slices or (spec.n == 2 and spec.goal != "fixed")):
        raise InvalidParameter("with several solved orientations s⁻¹ has no meaning here: use sides=1")
    if config.sides == 2 and arm not in ("baseline", "equivariant"):
        raise InvalidParameter(f"sides=2 has the arms baseline and equivariant, not {arm!r}")
    if arm == "position" and spec.goal == "fixed" and (spec.n == 2 or spec.slices):
        raise InvalidParameter("'position' moves the one solved state that is a goal: use goal='any-orientation'")


def shipped_policy(spec: CubeSpec) -> Traversable:
    """The file of the policy that comes with the package for a cube; there is none for some cubes.

    With outer turns all cubes from the 3-cube on have the same policy, because they are the same problem.

    >>> shipped_policy(CubeSpec(5)).name, shipped_policy(CubeSpec(4, "slices")).name
    ('cube3-policy.safetensors', 'cube4-slices-policy.safetensors')
    """
    name = f"cube{spec.n}-slices-policy" if spec.slices else f"cube{min(spec.n, 3)}-policy"
    return files("burnside") / "data" / f"{name}.safetensors"
