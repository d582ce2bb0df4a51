"""``burnside discover``: which symmetries does a black box have?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from burnside.cli.check import open_environment
from burnside.cli.console import output, print_json, progress, styled
from burnside.cli.models import is_env_id, load_object
from burnside.cli.words import Words
from burnside.errors import InvalidParameter

if TYPE_CHECKING:
    from burnside.canonical.discovery.results import Discovery, Found

__all__ = ["Discover"]


@dataclass(frozen=True)
class Discover:
    """Look for symmetries of an environment, or of recorded transitions, that nobody has declared.

    Signed permutations and rotations of observations and actions are proposed from random play, then checked in the
    simulator. Recorded transitions alone can refute a proposal, not prove it. Exit code 0 whether or not something was
    found, for no symmetry is an answer too; 2 on bad input.
    """

    env: Annotated[str, tyro.conf.Positional] = ""
    """A Gymnasium id such as CartPole-v1, or module:function that makes an environment."""
    data: str | None = None
    """Recorded transitions instead: an npz or parquet file with observations, actions, rewards and
    next_observations, or minari:NAME."""
    steps: int = 10_000
    """Transitions to collect."""
    samples: int = 500
    """Places of each kind at which a proposal is checked."""
    checks: int = 12
    """The most proposals that are checked one by one, the best first."""
    seconds: float = 120.0
    """No new check is begun after so many seconds of the processor, counted from the last transition."""
    z: float = 5.0
    """Proposals may differ from the data by this many standard errors."""
    tol: float = 1e-6
    """Differences up to this count as equal in the check, relative to how much that number varies."""
    level: float = 0.01
    """With --data: the chance that a true symmetry among the proposals is refuted."""
    seed: int = 0
    """Seed of everything random."""
    policy: str | None = None
    """module:fn, a function of the observation that returns an action; default random actions."""
    param: Words = ()
    """Arguments of the environment, as name=value."""
    json: bool = False
    """Print one JSON object."""

    def run(self) -> int:
        """Run the command."""
        if not self.z > 0 or self.seed < 0:
            raise InvalidParameter(f"z must be positive and seed 0 or more, got {self.z} and {self.seed}")
        name = self.data or self.env
        if not name:
            raise InvalidParameter("give an environment, such as CartPole-v1, or --data FILE")
        if self.data and self.env:
            raise InvalidParameter(f"give {self.env} or --data {self.data}, not both: data are searched by themselves")
        with progress(f"looking for symmetries of {name}"):
            found = self._discover()
        if self.json:
            print_json(found.to_dict())
        else:
            _show(found)
        return 0

    def _discover(self) -> Discovery:
        from burnside.canonical.discovery.recorded import discover_data
        from burnside.canonical.discovery.search import discover_env
        from burnside.symmetry.proposals import Transitions

        file = self.data or (self.env if Path(self.env).suffix in (".npz", ".parquet") else None)
        if file is not None:
            if self.policy is not None or self.param:
                raise InvalidParameter("--policy and --param are for an environment, and data have none")
            return discover_data(Transitions.from_file(file), file, z=self.z, level=self.level, seed=self.seed)
        if not is_env_id(self.env) and ":" not in self.env:
            raise InvalidParameter(
                f"{self.env!r} is not a Gymnasium id such as CartPole-v1, a module:function, or an npz or parquet file"
            )
        env = open_environment(self.env, self.param)
        policy = None if self.policy is None else load_object(self.policy)
        options = {"steps": self.steps, "samples": self.samples, "checks": self.checks, "seed": self.seed}
        return discover_env(env, self.env, z=self.z, tol=self.tol, policy=policy, seconds=self.seconds, **options)


_SHOWN = 5  # refuted and undecided proposals that are printed


def _show(found: Discovery) -> None:
    console = output()
    held = [entry for entry in found.found if entry.verdict == "holds"]
    if held:
        sizes = " and ".join("infinitely many" if entry.order is None else str(entry.order) for entry in held)
        console.print(styled((f"{found.env}: a symmetry with {sizes} elements", "bold")), soft_wrap=True)
    elif found.found:
        console.print(styled((f"{found.env}: nothing proved, and {len(found.found)} not refuted", "bold")))
    else:
        console.print(styled((f"{found.env}: no symmetry found", "bold")), soft_wrap=True)
    for entry in found.found:
        _show_entry(entry)
    for title, entries in (("refuted", found.refuted), ("not decided", found.undecided)):
        if entries:
            console.print(styled((f"{title}: {len(entries)}", "bold")))
        for entry in entries[:_SHOWN]:
            _show_entry(entry)
        if len(entries) > _SHOWN:
            console.print(f"  … and {len(entries) - _SHOWN} more (--json lists them)")
    spent = found.budget
    limit = f" of {spent.limit:g}" if spent.limit else ""
    left = f", {spent.unchecked} proposals unchecked" if spent.unchecked else ""
    console.print(
        f"looked for: {found.tried}; {spent.transitions} transitions, {sum(spent.proposals.values())} proposals, "
        f"{spent.checks} checks in {spent.seconds:.1f}{limit} seconds of the processor after the data{left}",
        soft_wrap=True,
        markup=False,
    )


def _show_entry(entry: Found) -> None:
    console = output()
    size = "infinitely many elements" if entry.order is None else f"order {entry.order}"
    near = f" nearly, up to {entry.eps:.2g}" if entry.nearly and entry.eps is not None else ""
    only = " (the dynamics hold)" if entry.only_dynamics else ""
    how = ", in distribution only" if entry.evidence == "statistics" else ""
    console.print(f"{entry.verdict}{near}{only}: {entry.group}, {size}{how}", soft_wrap=True, markup=False)
    for observation, action in entry.generators:
        console.print(f"  observation: {observation}", soft_wrap=True, markup=False)
        console.print(f"  action: {action}", soft_wrap=True, markup=False)
    parts = ", ".join(f"{name} {part['verdict']}" for name, part in entry.components.items())
    if parts:
        console.print(f"  {parts}", soft_wrap=True)
    if entry.why:
        console.print(f"  {entry.why}", soft_wrap=True, markup=False)
