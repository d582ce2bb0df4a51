"""Stochastic environments: the law of what follows, against the law of what follows the image.

Every place is tested, in stages. Few draws are compared at a loose level; only what looks different is drawn afresh,
with more draws, and must look different every time to be called so. The chance that a true symmetry fails all stages by
accident is the product of their levels. Beside that, all places of a kind are tested together: a difference too small
to be seen at one place adds up over a thousand.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.canonical.base import numbers
from burnside.canonical.checking.access import Outcome, Pair
from burnside.canonical.checking.bench import Bench, Unreproduced
from burnside.canonical.checking.evidence import COMPONENTS, Place, Stratum, counterexample, outcome_text
from burnside.canonical.checking.reproduction import not_reproduced, novelty, unlikely
from burnside.canonical.checking.twosample import (
    GROUPS,
    Encoded,
    Sample,
    best,
    certainty,
    chi_square,
    distances,
    divisions,
    encode,
    p_values,
    resolution,
    statistics,
    total_variation,
)
from burnside.errors import BurnsideError

__all__ = ["POOL_DIVISIONS", "LawComparison", "Pool", "blamed", "sides_of", "some_outcomes", "stages_for"]

# How 1 − confidence, the chance to refuse a true symmetry, is divided.
_PLACES, _POOLED, _REPLAY = 0.5, 0.3, 0.1
_LEVELS = (0.2, 0.1, 0.05)  # of the first stages; the last one is repeated
_GROWTH = (1, 2, 4, 8)  # draws of the stages, in units of the first; the last one is repeated
_PLENTY = 5  # violations of a component after which no more are looked for: each takes many draws
POOL_DIVISIONS = 199
_TRACKED = 64  # numbers that are pooled one by one
_ORIENTED = 16  # numbers of the observation by whose sign places are told apart
_KINDS = {"dynamics": "transition"}


def stages_for(draws: int, target: float) -> list[tuple[int, float]]:
    """Draws and level of each stage, for a product of levels of at most the target.

    >>> stages_for(32, 1e-3)
    [(32, 0.2), (64, 0.1), (128, 0.05)]
    """
    found: list[tuple[int, float]] = []
    product = 1.0
    while product > target * (1 + 1e-9):
        k = len(found)
        level = _LEVELS[min(k, len(_LEVELS) - 1)]
        found.append((draws * _GROWTH[min(k, len(_GROWTH) - 1)], level))
        product *= level
    return found


def some_outcomes(outcomes: Sequence[Outcome], labels: Sequence[int], most: int = 4) -> tuple[str, ...]:
    """The most frequent outcomes with their numbers, or some of them if none repeats itself."""
    counts = Counter(int(label) for label in labels)
    first = {int(label): outcome for label, outcome in zip(reversed(labels), reversed(outcomes), strict=True)}
    shown = [f"{count} × {outcome_text(first[label])}" for label, count in counts.most_common(most)]
    left = len(counts) - len(shown)
    return (*shown, f"{left} other outcomes") if left > 0 else tuple(shown)


# ---------------------------------------------------------------------- all places together


@dataclass
class Pool:
    """Statistics summed over places, for the samples as they are and for every division.

    Squares see differences of either sign. Where a difference changes its sign with the side on which a place lies, as
    it must for a mirror, the signed sums see it even if it is rare: places are told apart by whether a number of the
    observation is above or below that of the image.
    """

    rows: int
    squares: dict[int, FloatArray] = field(default_factory=dict)
    signed: dict[int, FloatArray] = field(default_factory=dict)
    energy: FloatArray | None = None
    chi: dict[str, FloatArray | float] = field(default_factory=dict)
    places: int = 0

    def add(self, coded: Encoded, signs: FloatArray, sides: FloatArray) -> None:
        """Add a place."""
        self.places += 1
        keep = np.flatnonzero(coded.columns < _TRACKED)
        if not keep.size:
            return
        ranks = coded.ranks[:, keep]
        scaled = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
        away = np.abs(ranks - np.median(ranks, axis=0))
        away = (away - away.mean(axis=0)) / np.maximum(away.std(axis=0), 1e-12)
        means, spreads = signs @ scaled, signs @ away
        for i, column in enumerate(coded.columns[keep].tolist()):
            if column not in self.squares:
                self.squares[column] = np.zeros((self.rows, 2))
                self.signed[column] = np.zeros((self.rows, 2 * sides.size))
            self.squares[column][:, 0] += means[:, i] ** 2
            self.squares[column][:, 1] += spreads[:, i] ** 2
            both = means[:, i, None] * sides[None], spreads[:, i, None] * sides[None]
            self.signed[column] += np.concatenate(both, axis=1)
        if coded.ranks.shape[1] > 1:
            apart = -np.einsum("ij,ij->i", signs @ distances(coded.ranks), signs)
            self.energy = (0.0 if self.energy is None else self.energy) + apart / max(apart.mean(), 1e-300)
        for name, labels in (("dynamics", coded.observed), ("reward", coded.rewarded)):
            found = chi_square(labels, signs)
            if found is not None:
                self.chi[name] = self.chi.get(name, 0.0) + found / max(found.mean(), 1e-300)

    def ps(self) -> dict[str, float]:
        """A p-value for each group that varies."""
        groups = {
            "dynamics": [c for c in self.squares if c >= 0],
            "reward": [-1],
            "termination": [-2],
            "truncation": [-3],
        }
        found = {}
        for name, columns in groups.items():
            parts = [part for c in columns if c in self.squares for part in (self.squares[c], abs(self.signed[c]))]
            if name in self.chi:
                parts.append(np.asarray(self.chi[name])[:, None])
            if parts:
                found[name] = best(np.concatenate(parts, axis=1))
        if len(found) > 1 and self.energy is not None:
            found["joint"] = best(self.energy[:, None])
        return found

    def worst(self) -> int:
        """The number of the observation that stands out most."""
        score = {}
        for c, rows in self.squares.items():
            if c >= 0:
                part = np.concatenate([rows, abs(self.signed[c])], axis=1)
                spread = np.maximum(part.std(axis=0), 1e-300)
                score[c] = float(np.max((part[0] - part.mean(axis=0)) / spread))
        return max(score, key=lambda c: score[c], default=0)


def sides_of(pair: Pair, image: tuple[Any, Any]) -> FloatArray:
    """+1 and −1: always +1, then by the numbers of the observation, then by those of the action."""
    seen = pair.state if pair.observation is None else pair.observation
    found = [np.ones(1)]
    for x, y, most in ((seen, image[0], _ORIENTED), (pair.action, image[1], _ORIENTED // 2)):
        one, other = numbers(x)[:most], numbers(y)[:most]
        padded = np.zeros(most)
        if one.size == other.size:
            with np.errstate(invalid="ignore"):
                padded[: one.size] = np.nan_to_num(np.sign(one - other))
        found.append(padded)
    return np.concatenate(found)


def blamed(ps: dict[str, float]) -> str:
    """The component to which a difference of the joint law is put down: the one that looks most different by itself."""
    name = min(COMPONENTS, key=lambda part: ps.get(part, 1.0))
    return name if ps.get(name, 1.0) < _LEVELS[0] else "dynamics"


# ---------------------------------------------------------------------- the comparison


class LawComparison:
    """Compares distributions at all places of several kinds."""

    def __init__(self, bench: Bench, places: int, kinds: int) -> None:
        self.bench = bench
        options = bench.options
        false_alarms = 1 - options.confidence
        self.target = _PLACES * false_alarms / (max(1, places) * len(GROUPS))
        self.stages = stages_for(options.draws, 0.8 * self.target)
        self.pool_level = math.sqrt(_POOLED * false_alarms / (max(1, kinds) * len(GROUPS)))
        self.signs = divisions(options.draws, options.draws, POOL_DIVISIONS, bench.rng)
        self.fresh = False
        self.statistics = 1
        self.clocks: list[int] = []
        self._seeded = False

    def run(self, stratum: Stratum) -> None:
        """Compare at every place of one kind, then at all of them together."""
        bench = self.bench
        pool = Pool(POOL_DIVISIONS + 1)
        strange: list[tuple[float, Place, Outcome]] = []
        failures: list[tuple[Place, tuple[Any, Any], BurnsideError]] = []
        usable: list[Place] = []
        for place in stratum.places:
            bench.progress(1)
            if self._one(place, stratum, pool, strange, failures):
                usable.append(place)
        if failures and not stratum.tested and stratum.kind.known:
            raise failures[0][2]
        for place, image, error in failures:
            stratum.tested += 1
            text = f"but the environment does not take the second: {error}"
            g = bench.symmetry.generators[place.j]
            stratum.add(counterexample("dynamics", "observation", place, g, image, 1.0, text, stratum.kind))
        if unlikely([p for p, *_ in strange], bench.options.draws) < _REPLAY * (1 - bench.options.confidence):
            _, place, replayed = min(strange, key=lambda entry: entry[0])
            assert place.seen is not None
            raise Unreproduced(not_reproduced(place.pair, place.seen, replayed))
        self._together(stratum, pool, usable)

    def resolution(self, power: float) -> float:
        """The least difference in the probability of an event that is seen at one place with this probability."""
        return resolution(self.stages, power, self.statistics)

    def pooled_resolution(self, places: int) -> float:
        """The same for a difference that all places share: when the sum of its squares stands out."""
        if not places:
            return 1.0
        draws = self.bench.options.draws
        return min(1.0, math.sqrt(4.5 * math.sqrt(2 / places) * 0.5 / draws))

    # ------------------------------------------------------------------ one place

    def _one(
        self,
        place: Place,
        stratum: Stratum,
        pool: Pool,
        strange: list[tuple[float, Place, Outcome]],
        failures: list[tuple[Place, tuple[Any, Any], BurnsideError]],
    ) -> bool:
        bench, draws = self.bench, self.bench.options.draws
        pair, g = place.pair, bench.symmetry.generators[place.j]
        try:
            image = bench.image_pair(place)
            target = bench.target(g, pair.state)
            misfit = bench.misfit(place, image, stratum)
            here = self._sample(pair.state, pair.action, draws)
            fault = None if stratum.kind.known else self._fault(place, here)
        except BurnsideError:
            if stratum.kind.known:
                raise
            stratum.skipped["the environment or the symmetry fails there"] += 1
            return False
        if fault is not None:
            stratum.skipped[fault] += 1
            return False
        if misfit is not None:
            stratum.tested += 1
            stratum.add(misfit)
            return False
        try:
            there = self._sample(target, image[1], draws)
        except BurnsideError as error:
            failures.append((place, image, error))
            return False
        if place.seen is not None:
            if place.seen.truncated and not any(o.truncated for o in here):
                self.clocks.append(place.elapsed)
            replayed = Sample.of([replace(o, truncated=False) for o in here] if here[0].truncated else here)
            strange.append((novelty(replace(place.seen, truncated=False), replayed, bench.ruler), place, here[0]))
        more = bench.image_rounding(g, here[0])
        images, others = self._samples(g, here, there, stratum)
        coded = encode(images, others, bench.ruler, more)
        found = statistics(coded, self.signs)
        self.statistics = max(self.statistics, *(rows.shape[1] for rows in found.values()), 1)
        pool.add(coded, self.signs, sides_of(place.pair, image))
        level = self.stages[0][1]
        alive = {name for name, rows in found.items() if best(rows) < level}
        full = {name for name in COMPONENTS if stratum.violations[name] >= _PLENTY}
        alive -= full
        if full:
            alive.discard("joint")
        stratum.tested += 1
        stratum.examined.update(name for name in COMPONENTS if name not in full)
        confirmed = False
        ps: dict[str, float] = {}
        for count, limit in self.stages[1:]:
            if not alive:
                break
            confirmed = True
            here, there = (self._sample(s, a, count) for s, a in ((pair.state, pair.action), (target, image[1])))
            images, others = self._samples(g, here, there, stratum)
            plain = certainty(encode(images, others, bench.ruler, more), count)
            certain = {name for name in alive if plain.get(name, 1.0) < 0.1 * self.target}
            if certain:  # no need to look again
                alive = certain
                break
            ps = p_values(images, others, bench.ruler, limit, bench.rng, more)
            alive = {name for name in alive if ps.get(name, 1.0) < limit}
        if alive and confirmed:
            self._violation(place, image, stratum, alive, ps, images, others, more)
        elif stratum.kind.refutes:
            self._deviations(images, others, frozenset())
        return True

    def _samples(self, g: Any, here: list[Outcome], there: list[Outcome], stratum: Stratum) -> tuple[Sample, Sample]:
        """What the group makes of the outcomes here, and the outcomes there."""
        images = [self.bench.image(g, outcome) for outcome in here]
        if not stratum.kind.known:
            images, there = _without_last(images, there)
        return Sample.of(images), Sample.of(there)

    def _sample(self, state: Any, action: Any, count: int) -> list[Outcome]:
        """Independent outcomes; the first time, find out whether a reset without a seed draws again."""
        if not self._seeded:
            self._seeded = True
            plain = self.bench.prober.sample(state, action, 12, fresh=False)
            seeded = self.bench.prober.sample(state, action, 12, fresh=True)
            varies = [any(self.bench.ruler.gap(o, part[0]).parts for o in part) for part in (plain, seeded)]
            self.fresh = varies[1] and not varies[0]
        return self.bench.prober.sample(state, action, count, self.fresh)

    def _fault(self, place: Place, here: list[Outcome]) -> str | None:
        return next((found for o in here[:4] if (found := self.bench.unusable(place.pair, o)) is not None), None)

    # ------------------------------------------------------------------ what was found

    def _violation(
        self,
        place: Place,
        image: tuple[Any, Any],
        stratum: Stratum,
        groups: set[str],
        ps: dict[str, float],
        images: Sample,
        there: Sample,
        more: FloatArray | float,
    ) -> None:
        bench = self.bench
        parts = sorted(groups - {"joint"}, key=COMPONENTS.index) or [blamed(ps)]
        coded = encode(images, there, bench.ruler, more)
        left, right = coded.labels[: len(images)], coded.labels[len(images) :]
        apart = total_variation(left, right)
        here_said, there_said = (
            some_outcomes(side.outcomes, labels.tolist()) for side, labels in ((images, left), (there, right))
        )
        means = self._means(images, there)
        if stratum.kind.refutes:
            self._deviations(images, there, frozenset(parts))
        for part in parts:
            amount, what = self._amount(part, images, there, means, apart)
            if groups == {"joint"} and part == "dynamics":
                what = "observation, reward and ends are distributed differently together, each by itself alike"
            text = (
                f"but what follows differs in {len(images)} draws on either side: {what}; here {'; '.join(here_said)}, "
                f"there {'; '.join(there_said)}"
            )
            g = bench.symmetry.generators[place.j]
            stratum.add(
                counterexample(
                    part, _KINDS.get(part, part), place, g, image, amount, text, stratum.kind, here_said, there_said
                )
            )

    def _amount(
        self,
        part: str,
        images: Sample,
        there: Sample,
        means: tuple[FloatArray, FloatArray] | None,
        apart: float,
    ) -> tuple[float, str]:
        if part == "reward":
            one, other = (float(side.rewards.mean()) for side in (images, there))
            found = abs(one - other) if np.isfinite(one - other) else 1.0
            return found, f"the mean reward is {one:.6g} and {other:.6g}"
        if part in ("termination", "truncation"):
            column, name = (0, "terminated") if part == "termination" else (1, "truncated")
            one, other = (float(side.ends[:, column].mean()) for side in (images, there))
            return abs(one - other), f"the episode is {name} with frequency {one:.3g} and {other:.3g}"
        text = f"a distance of {apart:.3g} in total variation"
        if means is not None and means[0].size and images.values is not None and there.values is not None:
            spreads = [side.values.std(axis=0) for side in (images, there) if side.values is not None]
            score = np.fmax(means[0], np.abs(spreads[0] - spreads[1])) / np.maximum(means[1], 1e-300)
            k = int(np.argmax(np.nan_to_num(score)))
            names = self.bench.described.names
            name = names[k] if k < len(names) else f"number {k}"
            one, other = images.values[:, k].mean(), there.values[:, k].mean()
            text += (
                f", and {name} has means {one:.5g} and {other:.5g} and standard deviations {spreads[0][k]:.3g} and "
                f"{spreads[1][k]:.3g}"
            )
        return apart, text

    def _means(self, one: Sample, other: Sample) -> tuple[FloatArray, FloatArray] | None:
        """Differences of the means of all numbers, and their standard errors; frequencies, for labels."""
        left, right = one.values, other.values
        if left is None or right is None or left.shape[1] != right.shape[1]:
            return None
        label = self.bench.ruler.label
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.abs(left.mean(axis=0) - right.mean(axis=0))
            error = np.sqrt(left.var(axis=0) / len(left) + right.var(axis=0) / len(right))
        if label.size == apart.size and label.any():
            for k in np.flatnonzero(label)[:_TRACKED]:
                _, index = np.unique(np.concatenate([left[:, k], right[:, k]]), return_inverse=True)
                apart[k] = total_variation(index[: len(left)], index[len(left) :])
                error[k] = math.sqrt(0.25 * (1 / len(left) + 1 / len(right)))
        return np.nan_to_num(apart, nan=0.0), np.nan_to_num(error, nan=0.0)

    def _deviations(self, images: Sample, there: Sample, parts: frozenset[str]) -> None:
        bench = self.bench
        means = self._means(images, there)
        with np.errstate(invalid="ignore"):
            paid = abs(float(images.rewards.mean() - there.rewards.mean()))
            error = math.sqrt(float(images.rewards.var() / len(images) + there.rewards.var() / len(there)))
        excess = np.zeros(0, dtype=np.bool_)
        if means is not None:
            clear = means[0] > 4 * means[1] + 1e-300
            excess = clear if "dynamics" in parts else np.zeros_like(clear)
            bench.deviations.noise.append(means[1])
        apart = None if means is None else means[0]
        bench.deviations.add(apart, paid if np.isfinite(paid) else 0.0, excess, "reward" in parts)
        bench.deviations.reward_noise.append(error if np.isfinite(error) else 0.0)
        gaps = np.abs(images.ends.mean(axis=0) - there.ends.mean(axis=0))
        for name, gap in zip(("terminated", "truncated"), gaps.tolist(), strict=True):
            bench.deviations.ends_apart(name, gap)

    # ------------------------------------------------------------------ all places together

    def _together(self, stratum: Stratum, pool: Pool, places: list[Place]) -> None:
        """What looks different in the sum over all places is drawn afresh before it is called so."""
        alarmed = {name for name, p in pool.ps().items() if p < self.pool_level and not stratum.violations[name]}
        alarmed -= {"joint"} if stratum.violations else set()
        if not alarmed:
            return
        again = Pool(POOL_DIVISIONS + 1)
        bench = self.bench
        signs = divisions(bench.options.draws, bench.options.draws, POOL_DIVISIONS, bench.rng)
        for place in places:
            bench.progress(0)
            pair, g = place.pair, bench.symmetry.generators[place.j]
            image = bench.image_pair(place)
            here = self._sample(pair.state, pair.action, bench.options.draws)
            there = self._sample(bench.target(g, pair.state), image[1], bench.options.draws)
            coded = encode(*self._samples(g, here, there, stratum), bench.ruler, bench.image_rounding(g, here[0]))
            again.add(coded, signs, sides_of(place.pair, image))
        ps = again.ps()
        for name in sorted(alarmed, key=GROUPS.index):
            if ps.get(name, 1.0) < self.pool_level and (name != "joint" or not stratum.violations):
                self._pooled_violation(name, stratum, again, places[0], blamed(ps))

    def _pooled_violation(self, name: str, stratum: Stratum, pool: Pool, place: Place, blame: str) -> None:
        part = blame if name == "joint" else name
        names = self.bench.described.names
        k = pool.worst()
        what = {"dynamics": names[k] if k < len(names) else f"number {k}", "reward": "the reward"}.get(name, name)
        if name == "joint":
            what = "what observation, reward and ends do together"
        found = counterexample(
            part,
            _KINDS.get(part, part),
            place,
            self.bench.symmetry.generators[place.j],
            self.bench.image_pair(place),
            0.0,
            f"and so {pool.places} places to their images; at none of them alone the difference is clear, but over all "
            f"of them together the law of {what} differs, twice, at a level of {self.pool_level:.2g} each",
            stratum.kind,
        )
        stratum.add(found)


def _without_last(images: list[Outcome], there: list[Outcome]) -> tuple[list[Outcome], list[Outcome]]:
    """At states nobody has seen, the last observation of an episode need not mean anything: leave it out if all end."""
    if not all(o.terminated for o in (*images, *there)):
        return images, there
    blank = images[0].observation
    return [replace(o, observation=blank) for o in images], [replace(o, observation=blank) for o in there]
