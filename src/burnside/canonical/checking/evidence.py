"""What the comparisons found: kind of place by kind of place, component by component, number by number."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from burnside._types import BoolArray, FloatArray
from burnside.canonical.checking.access import Outcome, Pair, show
from burnside.canonical.checking.tolerance import Gap, Ruler
from burnside.mdp.verify import Counterexample

__all__ = [
    "COMPONENTS",
    "Deviations",
    "EnvCounterexample",
    "Kind",
    "Place",
    "Stratum",
    "counterexample",
    "outcome_text",
]

#: What decides about a symmetry. The law of ``reset`` is reported beside them.
COMPONENTS = ("dynamics", "reward", "termination", "truncation")

_KEPT = 4 * 10**6  # differences that are kept to find medians


@dataclass(frozen=True)
class EnvCounterexample(Counterexample):
    """A violation in an environment, with the outcomes on both sides.

    Attributes:
        generator: the number of the generator; −1 for an element that is not among the generators.
        element: what maps the pair to its image, a generator or another element.
        component: which component it violates.
        place: how the state was found; see :class:`Kind`.
        here: outcomes at the pair, as the group maps them; some of them, if there are many.
        there: outcomes at the image of the pair.
    """

    element: Any = None
    component: str = "dynamics"
    place: str = "walk"
    here: tuple[str, ...] = ()
    there: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        more = {
            "element": show(self.element),
            "component": self.component,
            "place": self.place,
            "here": list(self.here),
            "there": list(self.there),
        }
        return super().to_dict() | more


@dataclass(frozen=True)
class Kind:
    """A kind of places.

    Attributes:
        name: in reports.
        what: how the places were found, in words.
        refutes: whether a violation there refutes the symmetry. Where nobody knows whether a state can be reached, it
            does not; then it leaves the question open.
        known: whether the environment, or the user, vouches for the states; else some of them may be impossible.
    """

    name: str
    what: str
    refutes: bool = True
    known: bool = True


@dataclass(frozen=True)
class Place:
    """A pair to check, what a walk saw there if it took that action, and the number of the generator to try.

    Negative numbers count the other elements that are tried, from the last of them.
    """

    pair: Pair
    j: int
    seen: Outcome | None = None
    elapsed: int = 0


@dataclass
class Stratum:
    """What was found at the places of one kind.

    Attributes:
        kind: of its places.
        places: those that are tried.
        tested: places that were compared.
        skipped: why others were not, and how many of them.
        rounding: places where a difference was within what rounding explains.
        violations: places where a component differs.
        doubtful: places that differ by so little that a solver's error may explain it.
        examples: the worst violation of each component.
        complete: whether every place of this kind was tried; then the failure rate is what it is.
    """

    kind: Kind
    places: list[Place] = field(default_factory=list)
    tested: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    rounding: int = 0
    violations: Counter[str] = field(default_factory=Counter)
    examined: Counter[str] = field(default_factory=Counter)
    doubtful: Counter[str] = field(default_factory=Counter)
    examples: dict[str, EnvCounterexample] = field(default_factory=dict)
    complete: bool = False

    def add(self, found: EnvCounterexample) -> None:
        """Note a violation; the worst of each component is kept."""
        self.violations[found.component] += 1
        if self.worse(found.component, found.amount):
            self.examples[found.component] = found

    def worse(self, component: str, amount: float) -> bool:
        """Whether a violation of this size would be kept as the worst."""
        best = self.examples.get(component)
        return best is None or amount > best.amount


# ---------------------------------------------------------------------- deviations, number by number


@dataclass
class Deviations:
    """Differences of every number of the observation, and of the reward, over all places that were compared.

    For distributions the difference is that of the means, and ``noise`` is the standard error of it.
    """

    names: Sequence[str]
    rows: list[FloatArray] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    noise: list[FloatArray] = field(default_factory=list)
    reward_noise: list[float] = field(default_factory=list)
    largest: FloatArray | None = None
    violated: FloatArray | None = None
    compared: int = 0
    reward_violated: int = 0
    ends: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, apart: FloatArray | None, reward: float, excess: BoolArray, reward_excess: bool) -> None:
        """Note the differences at a place, and which are violations."""
        self.compared += 1
        self.reward_violated += reward_excess
        self.rewards.append(reward)
        if apart is None or apart.size != len(self.names):
            return
        if self.largest is None or self.violated is None:
            self.largest, self.violated = np.zeros(apart.size), np.zeros(apart.size)
        np.fmax(self.largest, apart, out=self.largest)
        if excess.size == apart.size:
            self.violated += excess
        if len(self.rows) * max(1, apart.size) < _KEPT:
            self.rows.append(apart)

    def ends_apart(self, name: str, gap: float) -> None:
        """Note the difference in the frequency of an end of the episode; the largest is kept."""
        self.ends[name] = max(self.ends[name], gap)

    def table(self, ruler: Ruler) -> list[dict[str, Any]]:
        """A row for every number and one for the reward: largest and median difference, scale, share of violations."""
        found: list[dict[str, Any]] = []
        count = max(1, self.compared)
        if self.rows and self.largest is not None and self.violated is not None:
            middle = np.median(np.stack(self.rows), axis=0)
            noise = np.median(np.stack(self.noise), axis=0) if self.noise else None
            scale = ruler.scale if ruler.fits(middle.size) else np.zeros(middle.size)
            for k, name in enumerate(self.names):
                row = {
                    "name": name,
                    "index": k,
                    "largest": finite(self.largest[k]),
                    "median": finite(middle[k]),
                    "spread": finite(scale[k]),
                    "share": float(self.violated[k]) / count,
                }
                found.append(row if noise is None else row | {"noise": finite(noise[k])})
        if self.rewards:
            row = {
                "name": "reward",
                "index": None,
                "largest": finite(np.max(self.rewards)),
                "median": finite(np.median(self.rewards)),
                "spread": finite(ruler.reward_scale),
                "share": self.reward_violated / count,
            }
            found.append(row | {"noise": finite(np.median(self.reward_noise))} if self.reward_noise else row)
        return found


def finite(x: Any) -> float | None:
    """A number for JSON; None if it is not finite."""
    return float(x) if np.isfinite(x) else None


# ---------------------------------------------------------------------- words


def outcome_text(outcome: Outcome) -> str:
    """An outcome in words."""
    ends = " and termination" * outcome.terminated + " and truncation" * outcome.truncated
    return f"{show(outcome.observation)} with reward {outcome.reward:.10g}{ends}"


def counterexample(
    component: str,
    kind: str,
    place: Place,
    g: Any,
    image: tuple[Any, Any],
    amount: float,
    text: str,
    where: Kind,
    here: Sequence[str] = (),
    there: Sequence[str] = (),
) -> EnvCounterexample:
    """A violation at a place: the generator maps it to the image, and then comes the text."""
    pair = place.pair
    seen = pair.state if pair.observation is None else pair.observation
    first = f"({show(seen)}, {show(pair.action)})"
    second = f"({show(image[0])}, {show(image[1])})"
    which = "element" if place.j < 0 else f"generator {place.j}"
    remark = "" if where.name in ("walk", "policy", "table") else f" [{where.what}]"
    return EnvCounterexample(
        kind=kind,
        generator=max(place.j, -1),
        state=show(seen),
        action=show(pair.action),
        image_state=show(image[0]),
        image_action=show(image[1]),
        amount=float(amount),
        text=f"{which} ({g!r:.60}) maps {first} to {second}, {text}{remark}",
        element=g,
        component=component,
        place=where.name,
        here=tuple(here),
        there=tuple(there),
    )


def difference_text(gap: Gap, expected: Outcome, found: Outcome, names: Sequence[str], ruler: Ruler) -> dict[str, str]:
    """What differs, for every component that does."""
    said: dict[str, str] = {}
    both = (
        f"the image of what follows here is {outcome_text(expected)}, and what follows there is {outcome_text(found)}"
    )
    for part in gap.parts:
        if part == "reward":
            said[part] = f"with reward {expected.reward:.10g} here and {found.reward:.10g} there"
        elif part == "dynamics" and gap.observation is None:
            said[part] = f"but the observations that follow are of different form: {both}"
        elif part == "dynamics" and gap.observation is not None:
            k = worst_number(gap, ruler)
            name = names[k] if k < len(names) else f"number {k}"
            said[part] = f"but {name} differs by {gap.observation[k]:.4g}: {both}"
        else:
            ends = getattr(expected, "terminated" if part == "termination" else "truncated")
            verb = "terminates" if part == "termination" else "truncates"
            said[part] = f"but only the {'first' if ends else 'second'} {verb} the episode: {both}"
    return said


def worst_number(gap: Gap, ruler: Ruler) -> int:
    """The number that differs most, in units of its own scale."""
    assert gap.observation is not None
    return int(np.argmax(np.where(gap.excess, np.nan_to_num(ruler.relative(gap.observation), posinf=1e300), -1.0)))
