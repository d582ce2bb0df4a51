"""The comparisons behind ``check_symmetry``: what an action does, against what its image does in the image state."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from burnside.canonical.access import Outcome, Pair, StateAccess, plain_action, show, try_action, walk
from burnside.canonical.base import largest_gap, leaves
from burnside.canonical.symmetry import EnvSymmetry
from burnside.canonical.twosample import outcome_key, p_value, resolution, total_variation
from burnside.errors import InvalidParameter
from burnside.mdp import Counterexample

__all__ = ["ENOUGH", "Findings", "InvarianceCheck"]

#: Visits of a pair and of its image, to compare them.
ENOUGH = 20

_SEEDS = 2**31
_PLENTY = 5  # violations after which no more distributions are drawn: each takes many steps
_AGAIN = 16  # draws that tell a rare outcome from a violation


@dataclass
class Findings:
    """What a method reports."""

    method: str
    checked: int = 0
    eps_r: float = 0.0
    eps_p: float = 0.0
    example: Counterexample | None = None
    resolution: float = 0.0

    def add(self, example: Counterexample, reward: float, transition: float) -> None:
        """Note a violation; the worst one is kept."""
        self.eps_r, self.eps_p = max(self.eps_r, reward), max(self.eps_p, transition)
        if self.example is None or example.amount > self.example.amount:
            self.example = example


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
            return self._visited(self.symmetry)
        table = getattr(self.env.unwrapped, "P", None)
        if isinstance(table, dict | list) and isinstance(self.access.get(self.env), int):
            return self._table(table, self.access)
        pairs = self._pairs()
        found = self._deterministic(pairs, self.access)
        return self._stochastic(pairs, self.access) if found is None else found

    def _pairs(self) -> list[tuple[Pair, int]]:
        """Places met by a random walk: the start of every episode, and every fourth step or so of it."""
        found: list[tuple[Pair, int]] = []
        last: Outcome | None = None
        for pair, outcome in walk(self.env, self.access, self.rng):
            if last is None or last.terminated or self.rng.random() < 0.25:
                found.append((pair, int(self.rng.integers(len(self.symmetry.generators)))))
            last = outcome
            if len(found) == self.samples:
                break
        return found

    # ------------------------------------------------------------------ comparing

    def _same(self, x: Any, y: Any) -> bool:
        size = max([1.0, *(float(np.max(np.abs(leaf))) for leaf in leaves(x) if np.size(leaf))])
        return largest_gap(x, y) <= self.tol * (size if np.isfinite(size) else 1.0)

    def _agree(self, one: Outcome, other: Outcome) -> bool:
        return (
            self._same(one.reward, other.reward)
            and one.terminated == other.terminated
            and self._same(one.observation, other.observation)
        )

    def _image(self, g: Any, outcome: Outcome) -> Outcome:
        return Outcome(self.symmetry.act_on_observation(g, outcome.observation), outcome.reward, outcome.terminated)

    def _example(
        self, kind: str, j: int, pair: Pair, image: tuple[Any, Any], amount: float, text: str
    ) -> Counterexample:
        here = f"({show(pair.observation)}, {show(pair.action)})"
        there = f"({show(image[0])}, {show(image[1])})"
        return Counterexample(
            kind=kind,
            generator=j,
            state=show(pair.observation),
            action=show(pair.action),
            image_state=show(image[0]),
            image_action=show(image[1]),
            amount=float(amount),
            text=f"generator {j} ({self.symmetry.generators[j]!r}) maps {here} to {there}, {text}",
        )

    def _misfit(self, j: int, pair: Pair, image: tuple[Any, Any]) -> Counterexample | None:
        """An image that is no observation or no action of this environment."""
        seen, action = image
        expected = leaves(pair.observation)
        if len(leaves(seen)) != len(expected) or any(
            np.shape(a) != np.shape(b) for a, b in zip(leaves(seen), expected, strict=True)
        ):
            return self._example("observation", j, pair, image, 1.0, "whose observation is of another shape")
        if not self.env.action_space.contains(plain_action(self.env, action)):
            return self._example("action", j, pair, image, 1.0, "which is no action of this environment")
        return None

    # ------------------------------------------------------------------ the methods

    def _table(self, table: Any, access: StateAccess) -> Findings:
        """Every state, action and generator, from ``P[s][a] = [(probability, next, reward, terminated), …]``."""
        found = Findings("table")
        states = range(len(table))
        for j, s in itertools.product(range(len(self.symmetry.generators)), states):
            g = self.symmetry.generators[j]
            for a in range(len(table[s])):
                found.checked += 1
                image = int(access.act(g, s)), int(self.symmetry.act_on_action(g, a))
                pair = Pair(s, s, a)
                if image[0] not in states or image[1] not in range(len(table[image[0]])):
                    found.add(self._example("action", j, pair, image, 1.0, "which is not in the table"), 0.0, 1.0)
                    continue
                law, mean = self._law(table[s][a], lambda t, g=g: int(access.act(g, t)))
                other, other_mean = self._law(table[image[0]][image[1]], int)
                distance = 0.5 * sum(abs(law.get(k, 0.0) - other.get(k, 0.0)) for k in law.keys() | other.keys())
                if abs(mean - other_mean) > self.tol:
                    text = f"with expected reward {mean:.6g} here and {other_mean:.6g} there"
                    amount, kind = abs(mean - other_mean), "reward"
                elif distance > self.tol:
                    k = max(sorted(law.keys() | other.keys()), key=lambda k: abs(law.get(k, 0.0) - other.get(k, 0.0)))
                    ending = " and ends" if k[2] else ""
                    text = (
                        f"but the image of what happens here reaches {k[0]} with reward {k[1]:.6g}{ending} with "
                        f"probability {law.get(k, 0.0):.6g}, and there it is {other.get(k, 0.0):.6g}"
                    )
                    amount, kind = distance, "transition"
                else:
                    continue
                found.add(self._example(kind, j, pair, image, amount, text), abs(mean - other_mean), distance)
        return found

    @staticmethod
    def _law(outcomes: Any, act: Any) -> tuple[dict[tuple[int, float, bool], float], float]:
        law: dict[tuple[int, float, bool], float] = {}
        mean = 0.0
        for p, successor, reward, over in outcomes:
            key = (act(successor), round(float(reward), 9), bool(over))
            law[key] = law.get(key, 0.0) + float(p)
            mean += float(p) * float(reward)
        return law, mean

    def _deterministic(self, pairs: list[tuple[Pair, int]], access: StateAccess) -> Findings | None:
        """Compare single outcomes; None if the environment turns out to be stochastic."""
        found = Findings("deterministic")
        for pair, j in pairs:
            g = self.symmetry.generators[j]
            image = self.symmetry.act_on_observation(g, pair.observation), self.symmetry.act_on_action(g, pair.action)
            found.checked += 1
            if (misfit := self._misfit(j, pair, image)) is not None:
                found.add(misfit, 0.0, 1.0)
                continue
            target = access.act(g, pair.state)
            here, again = (self._draw(pair.state, pair.action, access) for _ in range(2))
            there = self._draw(target, image[1], access)
            if not self._agree(here, again):
                return None
            if self._agree(self._image(g, here), there):
                continue
            if found.example is not None:  # by now it is known to be no accident
                found.add(*self._difference(j, pair, image, self._image(g, here), there))
                continue
            more = [self._draw(pair.state, pair.action, access) for _ in range(_AGAIN)]
            more_there = [self._draw(target, image[1], access) for _ in range(_AGAIN)]
            if not all(self._agree(here, o) for o in more) or not all(self._agree(there, o) for o in more_there):
                return None
            found.add(*self._difference(j, pair, image, self._image(g, here), there))
        return found

    def _draw(self, state: Any, action: Any, access: StateAccess) -> Outcome:
        return try_action(self.env, access, state, action, int(self.rng.integers(_SEEDS)))

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

    def _stochastic(self, pairs: list[tuple[Pair, int]], access: StateAccess) -> Findings:
        """Compare distributions of outcomes; what looks different is drawn afresh before it is called so."""
        tests = max(1, min(len(pairs), self.samples // 25))
        found = Findings("two-sample", resolution=resolution(self.draws, tests, self.confidence))
        violations = 0
        for pair, j in pairs[:: max(1, len(pairs) // tests)][:tests]:
            g = self.symmetry.generators[j]
            image = self.symmetry.act_on_observation(g, pair.observation), self.symmetry.act_on_action(g, pair.action)
            found.checked += 1
            if (misfit := self._misfit(j, pair, image)) is not None:
                found.add(misfit, 0.0, 1.0)
                continue
            target = access.act(g, pair.state)
            for count in (self.draws, 4 * self.draws):
                here = [self._image(g, self._draw(pair.state, pair.action, access)) for _ in range(count)]
                there = [self._draw(target, image[1], access) for _ in range(count)]
                p = p_value(here, there, self.tol)
                if p >= (1 - self.confidence) / tests:
                    break
            else:
                found.add(*self._statistical(j, pair, image, here, there, p))
                violations += 1
            if violations == _PLENTY:
                break
        return found

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

    def _visited(self, symmetry: EnvSymmetry) -> Findings:
        """Without access to the state: compare pairs that were met often with images that were met often.

        This takes the observation for the state.
        """
        met: dict[Hashable, list[Outcome]] = defaultdict(list)
        places: dict[Hashable, Pair] = {}
        for pair, outcome in itertools.islice(walk(self.env, None, self.rng), 20 * self.samples):
            key = self._key(pair.observation, pair.action)
            met[key].append(outcome)
            places.setdefault(key, pair)
        jobs = []
        for key, outcomes in met.items():
            for j, g in enumerate(symmetry.generators):
                pair = places[key]
                image = symmetry.act_on_observation(g, pair.observation), symmetry.act_on_action(g, pair.action)
                other = met.get(self._key(*image), [])
                if len(outcomes) >= ENOUGH and len(other) >= ENOUGH:
                    jobs.append((j, pair, image, [self._image(g, o) for o in outcomes], other))
        if not jobs:
            raise InvalidParameter(
                f"the state of {self.env} cannot be set, and no pair was met {ENOUGH} times along with its image: "
                "give the symmetry get_state, set_state and act_on_state, or raise samples"
            )
        least = min(min(len(here), len(there)) for *_, here, there in jobs)
        found = Findings("visited pairs", len(jobs), resolution=resolution(least, len(jobs), self.confidence))
        for j, pair, image, here, there in jobs:
            p = p_value(here, there, self.tol)
            if p < (1 - self.confidence) / len(jobs):
                found.add(*self._statistical(j, pair, image, here, there, p))
        return found

    def _key(self, observation: Any, action: Any) -> Hashable:
        return outcome_key(Outcome((observation, plain_action(self.env, action)), 0.0, False), self.tol)
