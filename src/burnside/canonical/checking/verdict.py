"""The verdict: holds, refuted or inconclusive, for each component and for the whole, with what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from burnside.canonical.checking.evidence import COMPONENTS, EnvCounterexample, Stratum, finite
from burnside.canonical.checking.rates import failure_bound
from burnside.canonical.checking.resets import ResetLaw
from burnside.mdp import Verdict

__all__ = ["Component", "EnvVerdict", "component_verdicts", "reset_component", "worst_example"]

HOLDS, REFUTED, INCONCLUSIVE = "holds", "refuted", "inconclusive"


@dataclass(frozen=True)
class Component:
    """What was found about one component.

    Attributes:
        verdict: ``"holds"``, ``"refuted"`` or ``"inconclusive"``.
        eps: the largest difference that was measured, in units of the number that differs; None if it has none.
        median: the median of the differences.
        share: of the places that were compared, those that violate it.
        samples: places that were compared.
        text: a sentence.
    """

    verdict: str
    eps: float | None
    median: float | None
    share: float
    samples: int
    text: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "eps": finite(self.eps) if self.eps is not None else None,
            "median": finite(self.median) if self.median is not None else None,
            "share": self.share,
            "samples": self.samples,
            "text": self.text,
        }


@dataclass(frozen=True)
class EnvVerdict(Verdict):
    """What :func:`check_symmetry` found; a :class:`~burnside.mdp.Verdict` with three answers.

    Attributes:
        verdict: ``"holds"``, ``"refuted"`` or ``"inconclusive"``. ``ok`` and ``bool(verdict)`` are true for the first.
        components: the same for ``dynamics``, ``reward``, ``termination``, ``truncation``, which decide about the
            whole, and ``reset``, which does not.
        method: ``"table"`` (every pair, from the environment's own ``P``), ``"deterministic"``, ``"two-sample"``,
            ``"visited pairs"`` or ``"trajectories"``.
        max_failure_rate: what ``holds`` promises: at most this share of the places of each kind violates it.
        resolution: for the last three methods, about the least difference in the probability of one outcome, or of a
            number lying below a bound, that would be seen at one place.
        pooled_resolution: the same for a difference that all places share.
        deviations: for every number of the observation and for the reward: largest and median difference, its scale,
            the share of places where it is a violation.
        worst: the number that differs most, measured by its own scale; None if none does.
        coverage: where the check looked.
        notes: what else should be known.
        advice: what would decide it, if it is inconclusive.
        canonical: what was found about the canonical form and the group: ``verdict``, ``checked``, ``text``.
        canonical_checked: observations on which the canonical form was checked, with its ``undo``.
    """

    verdict: str = INCONCLUSIVE
    components: dict[str, Component] = field(default_factory=dict)
    method: str = ""
    max_failure_rate: float = 0.01
    resolution: float = 0.0
    pooled_resolution: float = 0.0
    deviations: list[dict[str, Any]] = field(default_factory=list)
    worst: str | None = None
    coverage: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    advice: str = ""
    canonical: dict[str, Any] = field(default_factory=dict)
    canonical_checked: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "verdict": self.verdict,
            "components": {name: part.to_dict() for name, part in self.components.items()},
            "coverage": self.coverage,
            "deviations": self.deviations,
            "worst": self.worst,
            "advice": self.advice,
            "notes": list(self.notes),
            "method": self.method,
            "max_failure_rate": self.max_failure_rate,
            "resolution": self.resolution,
            "pooled_resolution": self.pooled_resolution,
            "canonical": self.canonical,
            "canonical_checked": self.canonical_checked,
        } | super().to_dict()


# ---------------------------------------------------------------------- components


@dataclass(frozen=True)
class _Rates:
    """What the places of each kind certify for one component."""

    rate: float
    kind: str
    open_: bool


def component_verdicts(
    strata: Sequence[Stratum],
    required: Sequence[str],
    confidence: float,
    max_failure_rate: float,
    power: float,
    measures: dict[str, tuple[float | None, float | None]],
) -> tuple[dict[str, Component], float]:
    """A verdict for each component, and the failure rate that all places together certify.

    ``required`` names the kinds of places that must certify the rate; at others a violation is enough to leave the
    question open. ``measures`` are the largest and median differences.
    """
    found: dict[str, Component] = {}
    worst_rate = 0.0
    for name in COMPONENTS:
        refuting = [s for s in strata if s.kind.refutes and s.violations[name]]
        others = [s for s in strata if not s.kind.refutes and s.violations[name]]
        doubtful = [s for s in strata if s.doubtful[name]]
        rates = [
            _Rates(_stratum_rate(s, name, confidence, power), s.kind.name, s.kind.name in required) for s in strata
        ]
        binding = [r for r in rates if r.open_]
        rate = max((r.rate for r in binding), default=1.0)
        worst_rate = max(worst_rate, rate)
        samples = sum(s.examined[name] for s in strata if s.kind.refutes)
        violating = sum(s.violations[name] for s in strata if s.kind.refutes)
        share = violating / samples if samples else float(bool(violating))
        if refuting:
            verdict, text = REFUTED, f"fails at {violating} of {max(samples, violating)} places"
            if all(s.kind.name == "set" for s in refuting):
                text += ", all of them states that were set and that no walk reached"
        elif others or doubtful:
            verdict, text = INCONCLUSIVE, _open_text(others, doubtful, name)
        elif rate > max_failure_rate:
            lacking = max(binding, key=lambda r: r.rate) if binding else None
            where = f" ({lacking.kind})" if lacking is not None and len(binding) > 1 else ""
            verdict = INCONCLUSIVE
            text = (
                "was not compared"
                if rate >= 1
                else f"no violation at {samples} places, but up to {100 * rate:.2g} % may fail{where}"
            )
        else:
            verdict = HOLDS
            text = (
                f"no violation at {samples} places: at most {100 * rate:.2g} % fail"
                if rate
                else f"all {samples} compared"
            )
        eps, median = measures.get(name, (None, None))
        found[name] = Component(verdict, eps, median, share, samples, text)
    return found, worst_rate


def _stratum_rate(stratum: Stratum, name: str, confidence: float, power: float) -> float:
    tried, bad = stratum.examined[name], stratum.violations[name]
    if stratum.complete and tried:
        return min(1.0, bad / tried)
    return min(1.0, failure_bound(min(bad, tried), tried, confidence) / power)


def _open_text(others: Sequence[Stratum], doubtful: Sequence[Stratum], name: str) -> str:
    if others:
        count = sum(s.violations[name] for s in others)
        return f"fails at {count} states that were set, of which it is not known whether they can be reached"
    count = sum(s.doubtful[name] for s in doubtful)
    return f"differs at {count} places by so little, beside other numbers, that rounding may explain it"


def reset_component(law: ResetLaw) -> Component:
    """The law of ``reset`` as a component."""
    return Component(law.verdict, law.eps, law.median, law.share, law.samples, law.text)


def worst_example(strata: Sequence[Stratum]) -> EnvCounterexample | None:
    """The violation to show: of the first kind of places that has one, in the order of the components."""
    for stratum in strata:
        if stratum.kind.refutes:
            for name in COMPONENTS:
                if name in stratum.examples:
                    return stratum.examples[name]
    return None
