"""``burnside discover``: which symmetries does a black box have?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from burnside.cli.console import output, print_json, progress, styled
from burnside.cli.models import load_object, make_env, parse_parameters
from burnside.errors import InvalidParameter

if TYPE_CHECKING:
    from burnside.canonical.discovery import Discovery

__all__ = ["Discover"]


@dataclass(frozen=True)
class Discover:
    """Look for symmetries of an environment, or of recorded transitions, that nobody has declared.

    Signed permutations of observations and actions are proposed from random transitions, then each is checked in the
    simulator. Recorded transitions alone can refute a proposal, not prove it.
    """

    env: Annotated[str, tyro.conf.Positional]
    """A Gymnasium id, or an npz file with observations, actions, rewards and next_observations."""
    steps: int = 10_000
    """Transitions to collect."""
    samples: int = 500
    """Places of each kind at which a proposal is checked."""
    checks: int = 12
    """The most proposals that are checked, the best first."""
    z: float = 5.0
    """Proposals may differ from the data by this many standard errors."""
    tol: float = 1e-5
    """Differences up to this count as equal in the check, relative to how much that number varies."""
    seed: int = 0
    """Seed of everything random."""
    policy: str | None = None
    """module:fn, a function of the observation that returns an action; default random actions."""
    param: tuple[str, ...] = ()
    """Arguments of the environment, as name=value."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        if not self.z > 0 or self.seed < 0:
            raise InvalidParameter(f"z must be positive and seed 0 or more, got {self.z} and {self.seed}")
        with progress(f"looking for symmetries of {self.env}"):
            found = self._discover()
        if self.json:
            print_json(found.to_dict())
        else:
            _show(found)
        return 0

    def _discover(self) -> Discovery:
        from burnside.canonical.discovery import discover_data, discover_env
        from burnside.symmetry.proposals import Transitions

        if Path(self.env).suffix == ".npz":
            return discover_data(Transitions.from_file(self.env), self.env, z=self.z)
        if not re.search(r"-v\d+$", self.env):
            raise InvalidParameter(f"{self.env!r} is neither an npz file nor a Gymnasium id such as CartPole-v1")
        env = make_env(self.env, parse_parameters(self.param))
        policy = None if self.policy is None else load_object(self.policy)
        options = {"steps": self.steps, "samples": self.samples, "checks": self.checks, "seed": self.seed}
        return discover_env(env, self.env, z=self.z, tol=self.tol, policy=policy, **options)


def _show(found: Discovery) -> None:
    console = output()
    if not found.found:
        console.print(styled((f"{found.env}: no symmetry found", "bold")), soft_wrap=True)
    else:
        console.print(styled((f"{found.env}: a group of order {found.order}", "bold")), soft_wrap=True)
    for entry in found.found + found.refuted:
        console.print(f"{entry.verdict}, of order {entry.proposal.order}", soft_wrap=True)
        console.print(f"  observation: {entry.proposal.observation}", soft_wrap=True)
        console.print(f"  action: {entry.proposal.action}", soft_wrap=True)
        parts = ", ".join(f"{name} {part['verdict']}" for name, part in entry.components.items())
        if parts:
            console.print(f"  {parts}", soft_wrap=True)
        if entry.why:
            console.print(f"  {entry.why}", soft_wrap=True)
    console.print(f"looked for: {found.tried}, from {found.transitions} transitions", soft_wrap=True)
