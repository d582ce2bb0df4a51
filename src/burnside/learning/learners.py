"""The learners and what is proved about each of them: UBEV, UCFH and UCBVI, as settings without state.

======  ==========================  =============================================================================
UCFH    (ε, δ)-PAC                  at most 6·|S×A|·m·E_max mistakes, for the one ε it is given (Dann & Brunskill
                                    2015). Not Uniform-PAC: a pair is frozen after S·m·H visits.
UBEV    Uniform-PAC                 one run bounds the mistakes for every ε at once (Dann et al. 2017); only with
                                    the provable width, c = 1 and re-planning each episode.
UCBVI   regret                      a bound on the sum of the gaps (Azar et al. 2017), none on the number of
                                    ε-suboptimal episodes after the time for which it was tuned. For comparison.
======  ==========================  =============================================================================

Rewards are known, as in the paper, and need not lie in [0, 1]: UBEV and UCBVI use the range that the remaining
rewards can span, UCFH divides ε by the range of one reward.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from burnside.errors import InvalidParameter, UnknownName

__all__ = ["LEARNERS", "UBEV", "UCBVI", "UCFH", "Learner", "make_learner", "practical"]


def _positive(name: str, value: float) -> None:
    if not (isinstance(value, (int, float)) and 0 < value < float("inf")):
        raise InvalidParameter(f"{name} must be a positive number, not {value!r}")


def _whole(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidParameter(f"{name} must be a whole number of at least 1, not {value!r}")


def _one_of(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InvalidParameter(f"{name} must be {' or '.join(map(repr, known))}, not {value!r}")


@dataclass(frozen=True)
class UBEV:
    """Upper bounding the expected next-state value (Dann et al. 2017), counts pooled over time since p is stationary.

    EV_t = min(max Ṽ_{t+1}, p̂·Ṽ_{t+1} + c·span·√((2 ln ln max(n, e) + ln(21·|S×A|·H/δ))/n)); greedy; re-planned.

    Args:
        width: ``"provable"``: the span is what the rewards after t can differ by (H−t for rewards in [0, 1]).
            ``"heuristic"``: the span of Ṽ_{t+1} itself, smaller, and without a theorem.
        scale: c. Below 1 there is no theorem either.
        replan_every: episodes between two plans; the theorem speaks of 1.

    >>> UBEV().label
    'UBEV, provable width, c = 1: Uniform-PAC'
    >>> UBEV("heuristic", scale=0.3).label
    'UBEV, heuristic width (span of the optimistic values), c = 0.3: no guarantee'
    """

    width: Literal["provable", "heuristic"] = "provable"
    scale: float = 1.0
    replan_every: int = 1
    name: ClassVar[str] = "ubev"

    def __post_init__(self) -> None:
        _one_of("width", self.width, ("provable", "heuristic"))
        _positive("scale", self.scale)
        _whole("replan_every", self.replan_every)

    @property
    def guarantee(self) -> str | None:
        """What is proved of this setting, or None."""
        proved = self.width == "provable" and self.scale >= 1 and self.replan_every == 1
        return "Uniform-PAC" if proved else None

    @property
    def label(self) -> str:
        """The setting in words, with what is proved of it."""
        span = " (span of the optimistic values)" if self.width == "heuristic" else ""
        often = f", re-planned every {self.replan_every} episodes" if self.replan_every > 1 else ""
        return f"UBEV, {self.width} width{span}, c = {self.scale:g}{often}: {self.guarantee or 'no guarantee'}"


@dataclass(frozen=True)
class UCBVI:
    """UCBVI (Azar et al. 2017) with its bonus b₁ (Hoeffding) or b₂ (Bernstein), for comparison.

    The logarithm is L = ln(5·|S×A|·T/δ) with T = H·(episode cap): it is tuned to a time, as published. Its theorem
    bounds the regret until then, not the number of mistakes.

    >>> UCBVI().label
    'UCBVI, Hoeffding bonus, c = 1: regret only, not PAC'
    """

    bonus: Literal["hoeffding", "bernstein"] = "hoeffding"
    scale: float = 1.0
    replan_every: int = 1
    name: ClassVar[str] = "ucbvi"

    def __post_init__(self) -> None:
        _one_of("bonus", self.bonus, ("hoeffding", "bernstein"))
        _positive("scale", self.scale)
        _whole("replan_every", self.replan_every)

    @property
    def guarantee(self) -> str | None:
        """What is proved of this setting, or None."""
        return "regret only, not PAC" if self.scale >= 1 and self.replan_every == 1 else None

    @property
    def label(self) -> str:
        """The setting in words, with what is proved of it."""
        often = f", re-planned every {self.replan_every} episodes" if self.replan_every > 1 else ""
        return f"UCBVI, {self.bonus.title()} bonus, c = {self.scale:g}{often}: {self.guarantee or 'no guarantee'}"


@dataclass(frozen=True)
class UCFH:
    """UCFH exactly as published (Dann & Brunskill 2015, App. B), constants from :func:`burnside.theory.bounds.ucfh`.

    Args:
        support: ``"unknown"``: any state may follow (C = |S|). ``"known"``: the successors of every pair are given
            (C = max |Succ|), as the theorem assumes. On slip-type models that alone makes optimism optimal: no
            mistakes, nothing to measure.
        scale_m: factor on m, for practical runs; below 1 there is no theorem.
        bulk: sample the episodes of a phase at once (:func:`ucfh_literal`) instead of step by step.
        grain: bulk only: the trigger of a phase is checked every ``grain`` × its threshold of visits.

    >>> UCFH().label
    'UCFH as published, unknown support: (ε, δ)-PAC'
    >>> UCFH(scale_m=1e-6).label
    'UCFH with m scaled by 1e-06, unknown support: no guarantee'
    """

    support: Literal["unknown", "known"] = "unknown"
    scale_m: float = 1.0
    bulk: bool = False
    grain: float = 1e-3
    name: ClassVar[str] = "ucfh"
    #: Counts changes that give other runs from the same seed; kept runs of an older revision are not used again.
    #: 1: the confidence set has both sides of the variance condition.
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _one_of("support", self.support, ("unknown", "known"))
        _positive("scale_m", self.scale_m)
        if not 0 < self.grain <= 1:
            raise InvalidParameter(f"grain must lie in (0, 1], not {self.grain!r}")

    @property
    def guarantee(self) -> str | None:
        """What is proved of this setting, or None."""
        return "(ε, δ)-PAC" if self.scale_m >= 1 else None

    @property
    def label(self) -> str:
        """The setting in words, with what is proved of it."""
        kind = "as published" if self.scale_m == 1 else f"with m scaled by {self.scale_m:g}"
        bulk = f", phases in bulk (trigger checked to {self.grain:g})" if self.bulk else ""
        return f"UCFH {kind}, {self.support} support{bulk}: {self.guarantee or 'no guarantee'}"


Learner = UBEV | UCBVI | UCFH


def practical(pairs: int) -> UBEV:
    """The setting of UBEV that measures a model with this many pairs in seconds: heuristic width, smaller c if large.

    With the provable width the ring of 10 cells (400 pairs) takes 10⁵ mistakes, thirty times as many, and the ratio
    of M to M̄ is much the same.

    >>> practical(400).scale, practical(900).scale
    (1.0, 0.3)
    """
    return UBEV("heuristic", scale=1.0 if pairs <= 400 else 0.3)


#: Names that :func:`make_learner` understands.
LEARNERS = ("ubev", "ucbvi", "ucfh", "ucfh-literal")


def make_learner(learner: str | Learner = "ubev", scale: float | None = None, **options: Any) -> Learner:
    """The learner of that name; ``scale`` is the width factor c of UBEV and UCBVI and the factor on m of UCFH.

    >>> make_learner("ubev", scale=0.3, width="heuristic")
    UBEV(width='heuristic', scale=0.3, replan_every=1)
    """
    if not isinstance(learner, str):
        if scale is not None or options:
            raise InvalidParameter(f"{learner!r} is a finished setting: put the options into it")
        return learner
    name = learner.lower()
    if name not in LEARNERS:
        raise UnknownName("learner", learner, LEARNERS)
    kind: type[Learner] = {"ubev": UBEV, "ucbvi": UCBVI}.get(name, UCFH)
    if scale is not None:
        options["scale_m" if kind is UCFH else "scale"] = float(scale)
    if name == "ucfh-literal":
        options["bulk"] = True
    known = set(kind.__dataclass_fields__)
    for option in options:
        if option not in known:
            raise InvalidParameter(
                f"the learner {learner!r} has no option {option!r}: it takes {', '.join(sorted(known))}"
            )
    return kind(**options)
