"""Deterministic environments: what an action does, against what its image does in the image of the state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from burnside.canonical.checking.access import Outcome
from burnside.canonical.checking.bench import Bench, Unreproduced
from burnside.canonical.checking.evidence import (
    COMPONENTS,
    Place,
    Stratum,
    counterexample,
    difference_text,
    outcome_text,
    worst_number,
)
from burnside.canonical.checking.reproduction import ENOUGH_MISSES, not_reproduced, replays
from burnside.canonical.checking.tolerance import Gap, nudged
from burnside.errors import BurnsideError

__all__ = ["compare_single"]

_THOROUGH, _QUICK = 32, 4  # states that differ in the last digits, before rounding is ruled out
_ENOUGH_SOLID = 5
_AGAIN = 16  # draws that tell a rare outcome from a violation
_KINDS = {"dynamics": "transition"}


def compare_single(bench: Bench, stratum: Stratum, clocks: list[int]) -> bool:
    """Compare single outcomes at all places of a kind; False if the environment turns out to be stochastic.

    Truncations that a walk saw and that do not happen again when the state is set are those of a clock: the number of
    steps after which they came is added to ``clocks``.
    """
    return _Comparison(bench, stratum, clocks).run()


class _Comparison:
    def __init__(self, bench: Bench, stratum: Stratum, clocks: list[int]) -> None:
        self.bench, self.stratum, self.clocks = bench, stratum, clocks
        self.missed: list[tuple[Place, Outcome]] = []
        self.solid = 0  # violations that no rounding explained, after many tries
        self.paid: list[float] = []  # differences of rewards alone that no rounding explained
        self.sure = False  # a violation was found, and it was not an accident
        self.failures: list[tuple[Place, tuple[Any, Any], BurnsideError]] = []

    def run(self) -> bool:
        for place in self.stratum.places:
            self.bench.progress(1)
            if not self._one(place):
                return False
            if len(self.missed) == ENOUGH_MISSES:
                break
        if self.missed and not self._explain_misses():
            return False
        self._failures()
        return True

    # ------------------------------------------------------------------ one place

    def _one(self, place: Place) -> bool:
        """Compare at a place; False if the environment is stochastic there."""
        bench, stratum = self.bench, self.stratum
        pair, g = place.pair, bench.symmetry.generators[place.j]
        try:
            image = bench.image_pair(place)
            target = bench.target(g, pair.state)
            misfit = bench.misfit(place, image, stratum)
            here, again = (bench.prober.draw(pair.state, pair.action) for _ in range(2))
            fault = None if stratum.kind.known else bench.unusable(pair, here)
        except BurnsideError:
            if stratum.kind.known:
                raise
            stratum.skipped["the environment or the symmetry fails there"] += 1
            return True
        if fault is not None:
            stratum.skipped[fault] += 1
            return True
        if misfit is not None:
            stratum.tested += 1
            stratum.add(misfit)
            return True
        if not self._same(here, again):
            return False
        self._reproduced(place, here)
        try:
            there = bench.prober.draw(target, image[1])
        except BurnsideError as error:
            self.failures.append((place, image, error))
            return True
        return self._judge(place, image, here, there)

    def _same(self, one: Outcome, other: Outcome) -> bool:
        return not self.bench.ruler.gap(one, other).parts

    def _judge(self, place: Place, image: tuple[Any, Any], here: Outcome, there: Outcome) -> bool:
        bench, stratum = self.bench, self.stratum
        g, target = (
            bench.symmetry.generators[place.j],
            bench.target(bench.symmetry.generators[place.j], place.pair.state),
        )
        expected = bench.image(g, here)
        gap = bench.ruler.gap(expected, there)
        if gap.parts:
            # Once a violation was found, it is known to be no accident.
            if not self.sure and not (
                self._repeats(place.pair.state, place.pair.action, here) and self._repeats(target, image[1], there)
            ):
                return False
            if not self._known(gap):
                tries = _THOROUGH if self.solid < _ENOUGH_SOLID else _QUICK
                gap = bench.beyond_rounding(place, image[1], here, there, tries)
            if not gap.parts:
                stratum.rounding += 1
            elif gap.parts == ("reward",):
                self.paid.append(gap.reward)
        if not stratum.kind.known and here.terminated and there.terminated and gap.observation is not None:
            # The last observation of an episode that nobody has seen: what it shows need not mean anything.
            gap = replace(gap, excess=np.zeros_like(gap.excess))
        stratum.tested += 1
        stratum.examined.update(COMPONENTS)
        doubtful = bool(gap.parts) and bench.ruler.doubtful(gap, expected, there)
        if stratum.kind.refutes:
            bench.deviations.ends_apart("terminated", float(gap.terminated))
            bench.deviations.ends_apart("truncated", float(gap.truncated))
            none = np.zeros_like(gap.excess)
            excess, paid = (none, False) if doubtful else (gap.excess, gap.reward_excess)
            bench.deviations.add(gap.observation, gap.reward, excess, paid)
        if doubtful:
            stratum.doubtful.update(gap.parts)
            return True
        if gap.parts:
            self.sure = True
            self.solid += 1
            self._note(place, image, gap, expected, there)
        return True

    def _known(self, gap: Gap) -> bool:
        """Whether rewards differ, nothing else does, and by as much as what no rounding explained at several places."""
        return gap.parts == ("reward",) and len(self.paid) >= _ENOUGH_SOLID and gap.reward >= min(self.paid)

    def _note(self, place: Place, image: tuple[Any, Any], gap: Gap, expected: Outcome, there: Outcome) -> None:
        bench, stratum = self.bench, self.stratum
        amounts = {part: self._amount(part, gap) for part in gap.parts}
        if not any(stratum.worse(part, amount) for part, amount in amounts.items()):
            stratum.violations.update(gap.parts)  # words for every place took a third of the time
            return
        said = difference_text(gap, expected, there, bench.described.names, bench.ruler)
        for part, text in said.items():
            stratum.add(
                counterexample(
                    part,
                    _KINDS.get(part, part),
                    place,
                    bench.symmetry.generators[place.j],
                    image,
                    amounts[part],
                    text,
                    stratum.kind,
                    [outcome_text(expected)],
                    [outcome_text(there)],
                )
            )

    def _amount(self, part: str, gap: Gap) -> float:
        """The size of a violation; 1 where it has none."""
        if part == "reward" and np.isfinite(gap.reward):
            return gap.reward
        if part == "dynamics" and gap.observation is not None:
            found = float(gap.observation[worst_number(gap, self.bench.ruler)])
            return found if np.isfinite(found) else 1.0
        return 1.0

    # ------------------------------------------------------------------ is it deterministic, is the state whole

    def _repeats(self, state: Any, action: Any, first: Outcome, count: int = _AGAIN) -> bool:
        return all(self._same(first, self.bench.prober.draw(state, action)) for _ in range(count))

    def _reproduced(self, place: Place, here: Outcome) -> None:
        """Compare with what the walk saw there, except for its clock."""
        if place.seen is None:
            return
        if place.seen.truncated and not here.truncated:
            self.clocks.append(place.elapsed)
        seen = replace(place.seen, truncated=here.truncated)
        if not self._same(seen, here) and not self._almost(place, seen, here):
            self.missed.append((place, here))

    def _almost(self, place: Place, seen: Outcome, here: Outcome) -> bool:
        """Whether rounding of the state that was read explains the difference."""
        moved = []
        for ulps in (1.0, 2.0, 4.0):
            try:
                state = nudged(place.pair.state, self.bench.rng, ulps)
                moved.append(self.bench.prober.draw(state, place.pair.action))
            except BurnsideError:
                continue
        apart = [self.bench.ruler.apart(o.observation, here.observation) for o in moved]
        known = [a for a in apart if a is not None]
        if not known:
            return False
        more = 4 * np.max(np.where(np.isfinite(known), known, 0.0), axis=0)
        more_reward = 4 * max(abs(o.reward - here.reward) for o in moved)
        gap = self.bench.ruler.gap(seen, here, more, more_reward if np.isfinite(more_reward) else 0.0)
        edge = gap.terminated and any(o.terminated == seen.terminated for o in moved)
        return not gap.parts or (edge and gap.parts == ("termination",))

    def _explain_misses(self) -> bool:
        """Whether what was seen and not reproduced was chance; if the state is not whole, nothing can be judged."""
        bench = self.bench
        count = replays(len(self.stratum.places), len(self.missed), bench.options.confidence)
        for place, here in self.missed:
            if not self._repeats(place.pair.state, place.pair.action, here, count):
                return False
        place, here = self.missed[0]
        assert place.seen is not None
        raise Unreproduced(not_reproduced(place.pair, place.seen, here))

    def _failures(self) -> None:
        """Images that the environment refuses. If it refuses all of them, something is wrong with the symmetry."""
        if self.failures and not self.stratum.tested and self.stratum.kind.known:
            raise self.failures[0][2]
        for place, image, error in self.failures:
            self.stratum.tested += 1
            text = f"but the environment does not take the second: {error}"
            g = self.bench.symmetry.generators[place.j]
            self.stratum.add(counterexample("dynamics", "observation", place, g, image, 1.0, text, self.stratum.kind))
