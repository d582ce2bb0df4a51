"""What was found, refuted or left open, and with which budget; for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from burnside.canonical.checking.evidence import COMPONENTS
from burnside.canonical.checking.verdict import EnvVerdict
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["Budget", "Discovery", "Found", "components_of"]


@dataclass(frozen=True)
class Found:
    """A group that was proposed, and what became of it.

    Attributes:
        group: its name.
        order: how many elements it has; None if infinitely many.
        generators: for each of them what it does to observations and to actions, as text.
        verdict: ``"holds"``, ``"refuted"`` or ``"inconclusive"``.
        components: verdict and ε of dynamics, reward, termination, truncation, reset; empty if it was not checked.
        evidence: ``"simulator"`` (states were set), ``"table"`` (every pair), or ``"statistics"`` (it was compared in
            distribution: that can refute, and never proves).
        nearly: whether it holds only up to ``eps``, which the check sees.
        eps: the largest difference that was measured in dynamics or reward, in its own unit.
        why: a sentence: the counter-example, or why it is inconclusive.
        statistics: level, p-value and resolution, where the evidence is statistical.
        symmetry: the declaration, as it was checked; None for data alone.
    """

    group: str
    order: int | None
    generators: tuple[tuple[str, str], ...]
    verdict: str
    components: dict[str, Any] = field(default_factory=dict)
    evidence: str = "simulator"
    nearly: bool = False
    eps: float | None = None
    why: str = ""
    statistics: dict[str, float] = field(default_factory=dict)
    symmetry: EnvSymmetry | None = None

    @property
    def only_dynamics(self) -> bool:
        """Whether the dynamics have this symmetry though reward or ends of episodes do not."""
        return self.verdict == "refuted" and self.components.get("dynamics", {}).get("verdict") == "holds"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        found: dict[str, Any] = {
            "group": self.group,
            "order": self.order,
            "generators": [{"observation": o, "action": a} for o, a in self.generators],
            "verdict": self.verdict,
            "components": self.components,
            "evidence": self.evidence,
            "nearly": self.nearly,
            "eps": self.eps,
            "only_dynamics": self.only_dynamics,
            "why": self.why,
        }
        return found | ({"statistics": self.statistics} if self.statistics else {})


@dataclass(frozen=True)
class Budget:
    """What was spent.

    Attributes:
        transitions: that were looked at.
        proposals: made from them, by kind.
        checks: thorough ones.
        unchecked: proposals for which the time did not suffice.
        samples: places of each kind in a check.
        seconds: of the processor, after the data; ``limit`` is the most that was allowed.
        limit: see ``seconds``.
    """

    transitions: int
    proposals: dict[str, int] = field(default_factory=dict)
    checks: int = 0
    unchecked: int = 0
    samples: int = 0
    seconds: float = 0.0
    limit: float = 0.0


@dataclass(frozen=True)
class Discovery:
    """What was found, what was refuted, what was left open, and with which budget.

    Attributes:
        env: its name.
        found: groups that hold, or that were compared in distribution and not refuted (see their ``evidence``).
        refuted: groups that do not hold.
        undecided: groups about which nothing could be said.
        tried: what was looked for, in words.
        budget: what was spent.
    """

    env: str
    found: tuple[Found, ...]
    refuted: tuple[Found, ...]
    undecided: tuple[Found, ...]
    tried: str
    budget: Budget

    @property
    def order(self) -> int | None:
        """Of the largest group that holds; 1 if there is none, None if it is infinite."""
        orders = [entry.order for entry in self.found if entry.verdict == "holds"]
        return None if None in orders else max((n for n in orders if n is not None), default=1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        spent = self.budget
        return {
            "env": self.env,
            "order": self.order,
            "found": [entry.to_dict() for entry in self.found],
            "refuted": [entry.to_dict() for entry in self.refuted],
            "undecided": [entry.to_dict() for entry in self.undecided],
            "tried": {
                "what": self.tried,
                "transitions": spent.transitions,
                "proposals": sum(spent.proposals.values()),
                "by_kind": spent.proposals,
                "checks": spent.checks,
                "unchecked": spent.unchecked,
                "samples": spent.samples,
                "seconds": round(spent.seconds, 2),
                "limit_seconds": spent.limit,
            },
        }


def components_of(verdict: EnvVerdict) -> tuple[dict[str, Any], float | None]:
    """Verdict and ε of every component, and the largest ε of dynamics and reward."""
    parts = {key: {"verdict": part.verdict, "eps": part.to_dict()["eps"]} for key, part in verdict.components.items()}
    amounts = [parts[name]["eps"] for name in COMPONENTS[:2] if parts.get(name, {}).get("eps") is not None]
    return parts, max(amounts, default=None)
