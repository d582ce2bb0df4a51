"""The comparisons behind ``check_symmetry``: what an action does, against what its image does in the image state."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.canonical.access import Outcome, Pair, StateAccess, plain_action, show, try_action, walk
from burnside.canonical.base import largest_gap, size_of, structure
from burnside.canonical.findings import Findings, example
from burnside.canonical.reproduction import ENOUGH_MISSES, not_reproduced, novelty, replays, unlikely
from burnside.canonical.symmetry import EnvSymmetry
from burnside.canonical.tables import check_table, has_table
from burnside.canonical.twosample import Comparison, compare, keys_of, resolution, total_variation
from burnside.errors import InvalidParameter
from burnside.mdp import Counterexample

__all__ = ["ENOUGH", "InvarianceCheck"]

#: Visits of a pair and of its image, to compare them.
ENOUGH = 20

_SEEDS = 2**31
_PLENTY = 5  # violations after which no more distributions are drawn: each takes many steps
_AGAIN = 16  # draws that tell a rare outcome from a violation
_REPLAY = 0.1  # the part of 1 − confidence that goes into the test whether setting the state brings back what was seen


@dataclass(frozen=True)
class Place:
    """A pair met by the walk, what followed there, and the number of a generator to try on it."""

    pair: Pair
    seen: Outcome
    j: int


@dataclass
class InvarianceCheck:
    """One check of one environment; :meth:`run` picks the method."""

    env: Any
    symmetry: EnvSymmetry
    access: StateAccess | None
    rng: np.random.Generator
    samples: int
    confidence: float
    tol: float
    draws: int

    def run(self) -> Findings:
        """The strongest method the environment allows."""
        if self.access is None:
            return self._visited()
        if has_table(self.env, self.access):
            return check_table(self.env, self.symmetry, self.access, self.tol)
        places = self._places()
        found = self._deterministic(places, self.access)
        return self._stochastic(places, self.access) if found is None else found

    def _places(self) -> list[Place]:
        """Places met by a random walk: the start of every episode, and every fourth step or so of it."""
        found: list[Place] = []
        last: Outcome | None = None
        for pair, outcome in walk(self.env, self.access, self.rng):
            if last is None or last.terminated or self.rng.random() < 0.25:
                found.append(Place(pair, outcome, int(self.rng.integers(len(self.symmetry.generators)))))
            last = outcome
            if len(found) == self.samples:
                break
        return found

    # ------------------------------------------------------------------ comparing

    def _same(self, x: Any, y: Any) -> bool:
        return largest_gap(x, y) <= self.tol * size_of(x)

    def _agree(self, one: Outcome, other: Outcome) -> bool:
        return (
            self._same(one.reward, other.reward)
            and one.terminated == other.terminated
            and self._same(one.observation, other.observation)
        )

    def _image(self, g: Any, outcome: Outcome) -> Outcome:
        return Outcome(self.symmetry.act_on_observation(g, outcome.observation), outcome.reward, outcome.terminated)

    def _image_pair(self, j: int, pair: Pair) -> tuple[Any, Any]:
        g = self.symmetry.generators[j]
        return self.symmetry.act_on_observation(g, pair.observation), self.symmetry.act_on_action(g, pair.action)

    def _example(
        self, kind: str, j: int, pair: Pair, image: tuple[Any, Any], amount: float, text: str
    ) -> Counterexample:
        return example(kind, j, self.symmetry.generators[j], pair, image, amount, text)

    def _misfit(self, j: int, pair: Pair, image: tuple[Any, Any]) -> Counterexample | None:
        """An image that is no observation or no action of this environment."""
        seen, action = image
        if structure(seen) != structure(pair.observation):
            return self._example("observation", j, pair, image, 1.0, "whose observation is of another shape")
        if not self.env.action_space.contains(plain_action(self.env.action_space, action)):
            return self._example("action", j, pair, image, 1.0, "which is no action of this environment")
        return None

    def _draw(self, state: Any, action: Any, access: StateAccess) -> Outcome:
        return try_action(self.env, access, state, action, int(self.rng.integers(_SEEDS)))

    # ------------------------------------------------------------------ single outcomes

    def _deterministic(self, places: list[Place], access: StateAccess) -> Findings | None:
        """Compare single outcomes; None if the environment turns out to be stochastic."""
        found = Findings("deterministic")
        missed: list[tuple[Place, Outcome]] = []
        for place in places:
            pair, j = place.pair, place.j
            g, image = self.symmetry.generators[j], self._image_pair(j, pair)
            found.checked += 1
            if (misfit := self._misfit(j, pair, image)) is not None:
                found.add(misfit, 0.0, 1.0)
                continue
            target = access.act(g, pair.state)
            here, again = (self._draw(pair.state, pair.action, access) for _ in range(2))
            there = self._draw(target, image[1], access)
            if not self._agree(here, again):
                return None
            if not self._agree(place.seen, here):
                missed.append((place, here))
                if len(missed) == ENOUGH_MISSES:
                    break
            if self._agree(self._image(g, here), there):
                continue
            # Once a violation was found, it is known to be no accident.
            if found.example is None and not (
                self._repeats(pair.state, pair.action, here, access, _AGAIN)
                and self._repeats(target, image[1], there, access, _AGAIN)
            ):
                return None
            found.add(*self._difference(j, pair, image, self._image(g, here), there))
        if not missed:
            return found
        count = replays(len(places), len(missed), self.confidence)
        if all(self._repeats(place.pair.state, place.pair.action, here, access, count) for place, here in missed):
            raise not_reproduced(missed[0][0].pair, missed[0][0].seen, missed[0][1])
        return None

    def _repeats(self, state: Any, action: Any, first: Outcome, access: StateAccess, count: int) -> bool:
        return all(self._agree(first, self._draw(state, action, access)) for _ in range(count))

    def _difference(
        self, j: int, pair: Pair, image: tuple[Any, Any], expected: Outcome, found: Outcome
    ) -> tuple[Counterexample, float, float]:
        reward = abs(expected.reward - found.reward)
        reward = reward if np.isfinite(reward) else 1.0
        if not self._same(expected.reward, found.reward):
            text, kind, amount = (
                f"with reward {expected.reward:.6g} here and {found.reward:.6g} there",
                "reward",
                reward,
            )
        elif expected.terminated != found.terminated:
            ends = "only the first ends" if expected.terminated else "only the second ends"
            text, kind, amount = f"but {ends} the episode", "termination", 1.0
        else:
            text = (
                f"and the image of what follows here is {show(expected.observation)}, but what follows there is "
                f"{show(found.observation)}"
            )
            kind, amount = "transition", 1.0
        moved = 0.0 if kind == "reward" and self._same(expected.observation, found.observation) else 1.0
        return self._example(kind, j, pair, image, amount, text), reward, moved

    # ------------------------------------------------------------------ distributions

    def _level(self, tests: int) -> float:
        """The chance of a false alarm that each of so many tests may take, for 1 − confidence in all.

        In a test, two independent samples must both look different, each at a level of its own; the chance that both
        do by accident is the product of the levels. So few permutations are enough to reach them.
        """
        return (1 - _REPLAY) * (1 - self.confidence) / tests

    def _stochastic(self, places: list[Place], access: StateAccess) -> Findings:
        """Compare distributions of outcomes; what looks different is drawn afresh before it is called so."""
        tests = max(1, min(len(places), self.samples // 25))
        # The second sample is four times as large, so it takes the stricter level.
        level = self._level(tests)
        stages = (self.draws, level ** (1 / 3)), (4 * self.draws, level ** (2 / 3))
        found, events, violations = Findings("two-sample"), 1, 0
        strange: list[tuple[float, Place, Outcome]] = []
        for place in places[:: max(1, len(places) // tests)][:tests]:
            pair, j = place.pair, place.j
            g, image = self.symmetry.generators[j], self._image_pair(j, pair)
            found.checked += 1
            if (misfit := self._misfit(j, pair, image)) is not None:
                found.add(misfit, 0.0, 1.0)
                continue
            target = access.act(g, pair.state)
            for count, limit in stages:
                drawn = [self._draw(pair.state, pair.action, access) for _ in range(count)]
                here = [self._image(g, outcome) for outcome in drawn]
                there = [self._draw(target, image[1], access) for _ in range(count)]
                if count == self.draws:
                    strange.append((novelty(place.seen, drawn, self.tol), place, drawn[0]))
                result = self._compare(here, there, limit)
                events = max(events, result.events)
                if result.p >= limit:
                    break
            else:
                found.add(*self._statistical(j, pair, image, here, there, result.p))
                violations += 1
            if violations == _PLENTY:
                break
        if unlikely([p for p, *_ in strange], self.draws) < _REPLAY * (1 - self.confidence):
            _, place, replayed = min(strange, key=lambda entry: entry[0])
            raise not_reproduced(place.pair, place.seen, replayed)
        found.resolution = resolution(self.draws, stages[0][1], self.confidence, events)
        return found

    def _compare(self, here: list[Outcome], there: list[Outcome], level: float) -> Comparison:
        return compare(here, there, self.tol, level, np.random.default_rng(self.rng.integers(_SEEDS)))

    def _statistical(
        self, j: int, pair: Pair, image: tuple[Any, Any], here: list[Outcome], there: list[Outcome], p: float
    ) -> tuple[Counterexample, float, float]:
        reward = abs(float(np.mean([o.reward for o in here]) - np.mean([o.reward for o in there])))
        distance = total_variation(here, there, self.tol)
        text = (
            f"but what follows differs: {len(here)} and {len(there)} draws have mean rewards "
            f"{np.mean([o.reward for o in here]):.4g} and {np.mean([o.reward for o in there]):.4g} and a distance of "
            f"{distance:.3g} in total variation (p = {p:.2g})"
        )
        return self._example("transition", j, pair, image, distance, text), reward, distance

    def _visited(self) -> Findings:
        """Without access to the state: compare pairs that were met often with images that were met often.

        This takes the observation for the state. Every other visit goes into a first sample and the rest into a second,
        and both must differ, as with draws.
        """
        steps = list(itertools.islice(walk(self.env, None, self.rng), 20 * self.samples))
        met: dict[Hashable, list[Outcome]] = defaultdict(list)
        places: dict[Hashable, Pair] = {}
        for (pair, outcome), key in zip(steps, self._keys([(p.observation, p.action) for p, _ in steps]), strict=True):
            met[key].append(outcome)
            places.setdefault(key, pair)
        often = [(key, pair) for key, pair in places.items() if len(met[key]) >= ENOUGH]
        jobs = []
        for j, g in enumerate(self.symmetry.generators):
            images = [self._image_pair(j, pair) for _, pair in often]
            keys = self._keys([*((pair.observation, pair.action) for _, pair in often), *images])
            by_key = {key: met[name] for key, (name, _) in zip(keys, often, strict=False)}
            for (name, pair), image, key in zip(often, images, keys[len(often) :], strict=True):
                here, there = met[name], by_key.get(key, [])
                if here is there:  # its own image: no visit may stand on both sides
                    here, there = here[0::2], here[1::2]
                if min(len(here), len(there)) >= ENOUGH:
                    jobs.append((j, pair, image, [self._image(g, o) for o in here], there))
        if not jobs:
            raise InvalidParameter(
                f"the state of {self.env} cannot be set, and no pair was met {ENOUGH} times along with its image: "
                "give the symmetry get_state, set_state and act_on_state, or raise samples"
            )
        level, events = math.sqrt(self._level(len(jobs))), 1
        found = Findings("visited pairs", len(jobs))
        for j, pair, image, here, there in jobs:
            for half in (0, 1):
                result = self._compare(here[half::2], there[half::2], level)
                events = max(events, result.events)
                if result.p >= level:
                    break
            else:
                found.add(*self._statistical(j, pair, image, here, there, result.p))
        least = min(min(len(here), len(there)) for *_, here, there in jobs)
        found.resolution = resolution(least // 2, level, self.confidence, events)
        return found

    def _keys(self, pairs: list[tuple[Any, Any]]) -> list[Hashable]:
        space = self.env.action_space
        return keys_of([(x, plain_action(space, a)) for x, a in pairs], self.tol)
