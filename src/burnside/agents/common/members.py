"""One run inside a batch of runs: a seed, and an arm that says what is done with the symmetry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from burnside.errors import InvalidParameter, UnknownName

__all__ = ["ARMS", "Member", "check_arm", "check_members"]

#: What can be done with a symmetry; see :class:`Member`. A learner or a game may know only some of them.
ARMS = (
    "baseline", "canonical", "augment", "augment-random", "averaging", "mirror-loss", "equivariant", "relaxed",
    "feature", "position", "conjugation",
)  # fmt: skip


@dataclass(frozen=True, order=True)
class Member:
    """One run inside a batch of runs: a seed under an arm. All arms of a seed get the same problems.

    ``baseline`` sees them as they are. ``canonical`` sees their canonical form (rings: rolled by −goal at reset, goal
    at the origin, App. C). ``augment`` sees them through a random group element (rings and the cube), or learns from
    all images of a transition. ``equivariant`` sees them as they are through a network that shares weights over the
    group. The other arms are those of :mod:`burnside.agents.common.arms`. The canonical forms of the cube have names
    of their own: ``position`` is the smallest image under the 24 rotations of the stickers (the paper's),
    ``conjugation`` the smallest under rotation with recolouring.
    """

    seed: int
    arm: str = "baseline"

    def __post_init__(self) -> None:
        """Refuse unknown arms and seeds the random streams cannot take."""
        check_arm(self.arm, ARMS)
        if not 0 <= self.seed < 2**63:
            raise InvalidParameter(f"seed is {self.seed}: give an integer from 0 to 2⁶³ − 1")

    @property
    def name(self) -> str:
        """A name that is safe in a file name.

        >>> Member(7, "canonical").name
        'canonical-7'
        """
        return f"{self.arm}-{self.seed}"


def check_arm(arm: str, known: Sequence[str]) -> None:
    """Refuse an arm that a learner does not know."""
    if arm not in known:
        raise UnknownName("arm", arm, known)


def check_members(members: Sequence[Member]) -> None:
    """Refuse an empty list, and members listed twice.

    >>> check_members([Member(7), Member(7)])
    Traceback (most recent call last):
    ...
    burnside.errors.InvalidParameter: a member is listed twice: give distinct (seed, arm) pairs
    """
    if not members:
        raise InvalidParameter("there are no members: give at least one (seed, arm) pair")
    if len(set(members)) != len(members):
        raise InvalidParameter("a member is listed twice: give distinct (seed, arm) pairs")
