"""Environments whose state cannot be set: pairs that were met often, against images that were met often.

This takes the observation for the state, and says so. What a walk meets and cannot compare counts as if it could fail.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from burnside.canonical.checking.access import Outcome, Pair, show
from burnside.canonical.checking.evidence import COMPONENTS, Deviations, Kind, Place, Stratum, counterexample
from burnside.canonical.checking.laws import POOL_DIVISIONS, Pool, sides_of, some_outcomes
from burnside.canonical.checking.rates import failure_bound
from burnside.canonical.checking.spaces import image_action, inside
from burnside.canonical.checking.tolerance import Ruler
from burnside.canonical.checking.twosample import (
    GROUPS,
    Sample,
    certainty,
    divisions,
    encode,
    keys_of,
    p_values,
    resolution,
    total_variation,
)
from burnside.canonical.checking.walks import Visit
from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["ENOUGH", "VisitedPairs", "compare_visited"]

#: Visits of a pair and of its image, to compare them.
ENOUGH = 20

_STEPS = 30  # steps of the first walk, for each sample
_LONGEST = 8  # times that is the longest walk
_LEVEL = 0.02  # of every walk in which a pair must look different
_MOST = 300  # outcomes of a pair that are compared
_MARKOV = 1e-3


@dataclass
class VisitedPairs:
    """What was found.

    Attributes:
        stratum: pairs that were compared, and violations.
        untestable: of the visits of a fresh walk, those that could not be compared.
        visits: how many visits that were.
        least: visits of the rarest pair that was compared.
        resolution: the difference in probability that would have been seen there.
        example: a pair that could not be compared.
    """

    stratum: Stratum
    untestable: int = 0
    visits: int = 0
    least: int = 0
    resolution: float = 1.0
    example: str = ""
    hidden: str = ""


@dataclass
class _Met:
    """What followed a pair: outcomes, and before them how many steps and which pair."""

    pair: Pair
    outcomes: list[Outcome] = field(default_factory=list)
    elapsed: list[int] = field(default_factory=list)
    before: list[Hashable] = field(default_factory=list)


@dataclass(frozen=True)
class _Job:
    key: Hashable
    image_key: Hashable
    j: int


class _Walker:
    """Walks, and sorts what was met by pairs; the same pair has the same key in every walk."""

    def __init__(self, visits: Iterator[Visit], space: Any, tol: float) -> None:
        self.visits, self.space, self.tol = visits, space, tol
        self.clock: int | None = None

    def go(
        self, steps: int, known: Sequence[tuple[Any, Any]]
    ) -> tuple[dict[Hashable, _Met], list[Hashable], list[Hashable]]:
        """What this many steps met, the key of every step, and the keys of known pairs."""
        walked = list(itertools.islice(self.visits, steps))
        keys = keys_of([*((v.pair.observation, v.pair.action) for v in walked), *known], self.tol)
        own, theirs_ = keys[: len(walked)], keys[len(walked) :]
        times = [v.elapsed for v in walked if v.outcome.truncated]
        longest = max((v.elapsed for v in walked), default=0)
        # A time limit: no episode is longer, and several are as long.
        clock = longest if times.count(longest) > 1 or set(times) == {longest} else 0
        met: dict[Hashable, _Met] = {}
        last: Hashable = None
        for visit, key in zip(walked, own, strict=True):
            entry = met.setdefault(key, _Met(visit.pair))
            timed = visit.outcome.truncated and visit.elapsed == clock
            outcome = replace(visit.outcome, truncated=False) if timed else visit.outcome
            entry.outcomes.append(outcome)
            entry.elapsed.append(visit.elapsed)
            entry.before.append(None if visit.elapsed == 1 else last)
            last = key
        return met, own, theirs_


def compare_visited(
    env: Any,
    symmetry: EnvSymmetry,
    visits: Iterator[Visit],
    moves: Sequence[int],
    ruler: Ruler,
    samples: int,
    confidence: float,
    max_failure_rate: float,
    rng: np.random.Generator,
    deviations: Deviations,
    progress: Callable[[int], None],
) -> VisitedPairs:
    """Compare pairs of one walk with their images, confirm what differs on further walks, and count what is missing."""
    walker = _Walker(visits, env.action_space, ruler.tol)
    found = VisitedPairs(Stratum(Kind("visited", "pairs met often, along with their images")))
    steps = _STEPS * samples
    before = 0.5  # the share of visits that could not be compared after half as long a walk
    while True:
        met, _, _ = walker.go(steps, [])
        jobs, bad = _jobs(env, symmetry, moves, met, ruler.tol)
        found.stratum.violations.clear()
        found.stratum.examples.clear()
        for misfit in bad:
            found.stratum.tested += 1
            found.stratum.add(misfit)
        if bad:
            return found
        fresh, fresh_keys, known = walker.go(steps, [(m.pair.observation, m.pair.action) for m in met.values()])
        names = dict(zip(known, met, strict=True))
        tested = Counter(job.key for job in jobs)
        everywhere = {key for key, count in tested.items() if count == len(moves)}
        chosen = rng.choice(len(fresh_keys), min(samples, len(fresh_keys)), replace=False)
        lacking = [k for k in chosen if names.get(fresh_keys[int(k)]) not in everywhere]
        found.visits, found.untestable = len(chosen), len(lacking)
        if lacking:
            entry = fresh[fresh_keys[int(lacking[0])]]
            found.example = f"({show(entry.pair.observation)}, {show(entry.pair.action)})"
        if not lacking or failure_bound(found.untestable, found.visits, confidence) <= max_failure_rate:
            break
        lacking_share = found.untestable / found.visits
        doublings = math.log2(_LONGEST * _STEPS * samples / steps)
        # More steps do not help if the share would not fall far enough, at the rate at which it fell the last time.
        if lacking_share * min(1.0, lacking_share / before) ** doublings > max_failure_rate or doublings < 1:
            break
        before = lacking_share
        steps *= 2
    if jobs:
        _test(found, walker, symmetry, met, jobs, ruler, confidence, steps, rng, deviations, progress)
    return found


def _jobs(
    env: Any, symmetry: EnvSymmetry, moves: Sequence[int], met: dict[Hashable, _Met], tol: float
) -> tuple[list[_Job], list[Any]]:
    often = [(key, entry.pair) for key, entry in met.items() if len(entry.outcomes) >= ENOUGH]
    jobs: list[_Job] = []
    bad: list[Any] = []
    where = Kind("visited", "pairs met often, along with their images")
    for j in moves:
        g = symmetry.generators[j]
        images = []
        for _, pair in often:
            image = (
                symmetry.act_on_observation(g, pair.observation),
                image_action(env.action_space, symmetry, g, pair.action),
            )
            if not inside(env.action_space, image[1]):
                text = f"which is not an action of this environment ({env.action_space})"
                bad.append(counterexample("dynamics", "action", Place(pair, j), g, image, 1.0, text, where))
                return jobs, bad
            images.append(image)
        keys = keys_of([*((pair.observation, pair.action) for _, pair in often), *images], tol)
        by_key = dict(zip(keys, (key for key, _ in often), strict=False))
        for (key, _), image_key in zip(often, keys[len(often) :], strict=True):
            if image_key in by_key:
                jobs.append(_Job(key, by_key[image_key], j))
    return jobs, bad


# ---------------------------------------------------------------------- comparing


def _test(
    found: VisitedPairs,
    walker: _Walker,
    symmetry: EnvSymmetry,
    met: dict[Hashable, _Met],
    jobs: list[_Job],
    ruler: Ruler,
    confidence: float,
    steps: int,
    rng: np.random.Generator,
    deviations: Deviations,
    progress: Callable[[int], None],
) -> None:
    target = 0.5 * (1 - confidence) / (len(jobs) * len(GROUPS))
    walks = max(2, math.ceil(math.log(target) / math.log(_LEVEL)))
    stratum = found.stratum
    stratum.tested = len(jobs)
    stratum.examined.update({name: len(jobs) for name in COMPONENTS})
    alive = {job: set(GROUPS) for job in jobs}
    least = min(min(len(met[job.key].outcomes), len(met[job.image_key].outcomes)) for job in jobs)
    found.least = least
    found.resolution = resolution([(min(least, _MOST), _LEVEL)] * walks, 0.5, 2 * max(1, ruler.label.size) + 3)
    entries = list(met.items())
    pool_level = math.sqrt(0.3 * (1 - confidence) / len(GROUPS))
    suspects: set[str] = set()
    last = met
    for attempt in range(walks):
        progress(1)
        now = met
        if attempt:
            later, _, known = walker.go(steps, [(m.pair.observation, m.pair.action) for _, m in entries])
            now = {key: later[name] for (key, _), name in zip(entries, known, strict=True) if name in later}
        pool = Pool(POOL_DIVISIONS + 1) if attempt == 0 or suspects else None
        noted = deviations if attempt == 0 else None
        alive, certain = _alarmed(alive, now, symmetry, ruler, rng, noted, pool, jobs, 0.1 * target)
        for job, groups in certain.items():
            _conclude(found, job, groups, now, symmetry, ruler, rng)
        if certain:  # one difference that is plain to see is enough
            return
        if pool is not None:
            alarmed = {name for name, p in pool.ps().items() if p < pool_level}
            if attempt:
                for name in suspects & alarmed:
                    _pooled(found, name, pool, jobs[0], now, symmetry)
            suspects = set() if attempt else alarmed
        last = now
        if not alive and not suspects:
            return
    for job, groups in alive.items():
        _conclude(found, job, groups, last, symmetry, ruler, rng)


def _sides(job: _Job, met: dict[Hashable, _Met], symmetry: EnvSymmetry) -> tuple[Sample, Sample] | None:
    if job.key not in met or job.image_key not in met:
        return None
    here, there = met[job.key].outcomes, met[job.image_key].outcomes
    if here is there:  # its own image: no visit may stand on both sides
        here, there = here[0::2], here[1::2]
    if min(len(here), len(there)) < ENOUGH // 2:
        return None
    g = symmetry.generators[job.j]
    images = [replace(o, observation=symmetry.act_on_observation(g, o.observation)) for o in here[:_MOST]]
    return Sample.of(images), Sample.of(there[:_MOST])


def _alarmed(
    alive: dict[_Job, set[str]],
    met: dict[Hashable, _Met],
    symmetry: EnvSymmetry,
    ruler: Ruler,
    rng: np.random.Generator,
    deviations: Deviations | None,
    pool: Pool | None,
    jobs: Sequence[_Job],
    surely: float,
) -> tuple[dict[_Job, set[str]], dict[_Job, set[str]]]:
    """Of the tests that are left, those that look different again, and those that are plain to see.

    If there is a pool, all pairs go into it, each of them once.
    """
    left: dict[_Job, set[str]] = {}
    certain: dict[_Job, set[str]] = {}
    pooled: set[Hashable] = set()
    for job in jobs if pool is not None else alive:
        groups = alive.get(job, set())
        sides = _sides(job, met, symmetry)
        if sides is None:
            continue
        if pool is not None and not pooled & {job.key, job.image_key}:
            # The places of a pool must be independent: no pair may stand in two of them, as it would along an orbit.
            pooled |= {job.key, job.image_key}
            signs = divisions(len(sides[0]), len(sides[1]), POOL_DIVISIONS, rng)
            coded = encode(*sides, ruler)
            pair, g = met[job.key].pair, symmetry.generators[job.j]
            image = symmetry.act_on_observation(g, pair.observation), symmetry.act_on_action(g, pair.action)
            pool.add(coded, signs, sides_of(pair, image))
        if not groups:
            continue
        if deviations is not None:
            paid = abs(float(sides[0].rewards.mean() - sides[1].rewards.mean()))
            coded = encode(*sides, ruler)
            apart = total_variation(coded.observed[: len(sides[0])], coded.observed[len(sides[0]) :])
            deviations.add(np.array([apart]), paid if np.isfinite(paid) else 0.0, np.zeros(1, dtype=np.bool_), False)
        plain = certainty(encode(*sides, ruler), len(sides[0]))
        sure = {name for name in groups if plain.get(name, 1.0) < surely}
        if sure:
            certain[job] = sure
            continue
        ps = p_values(*sides, ruler, _LEVEL, rng)
        again = {name for name in groups if ps.get(name, 1.0) < _LEVEL}
        if again:
            left[job] = again
    return left, certain


def _pooled(
    found: VisitedPairs, name: str, pool: Pool, job: _Job, met: dict[Hashable, _Met], symmetry: EnvSymmetry
) -> None:
    """A difference that no pair shows by itself, and all of them together."""
    part = "dynamics" if name == "joint" else name
    if found.stratum.violations[part] or job.key not in met:
        return
    pair, g = met[job.key].pair, symmetry.generators[job.j]
    image = symmetry.act_on_observation(g, pair.observation), symmetry.act_on_action(g, pair.action)
    text = (
        f"and so {pool.places} pairs to their images; at none of them alone the difference is clear, but over all of "
        f"them together the law of {'what follows' if part == 'dynamics' else part} differs, in two walks"
    )
    kind = "transition" if part == "dynamics" else part
    found.stratum.add(counterexample(part, kind, Place(pair, job.j), g, image, 0.0, text, found.stratum.kind))


def _conclude(
    found: VisitedPairs,
    job: _Job,
    groups: set[str],
    met: dict[Hashable, _Met],
    symmetry: EnvSymmetry,
    ruler: Ruler,
    rng: np.random.Generator,
) -> None:
    """A difference refutes if the observation says all; if what came before matters too, the question stays open."""
    sides = _sides(job, met, symmetry)
    assert sides is not None
    pair, g = met[job.key].pair, symmetry.generators[job.j]
    for key in (job.key, job.image_key):
        if _remembers(met[key], ruler, rng):
            found.stratum.doubtful.update(groups - {"joint"} or {"dynamics"})
            found.hidden = (
                f"what follows ({show(met[key].pair.observation)}, {show(met[key].pair.action)}) depends on what came "
                "before: the observation is not the state"
            )
            return
    coded = encode(*sides, ruler)
    left, right = coded.labels[: len(sides[0])], coded.labels[len(sides[0]) :]
    apart = total_variation(left, right)
    here, there = some_outcomes(sides[0].outcomes, left.tolist()), some_outcomes(sides[1].outcomes, right.tolist())
    image = symmetry.act_on_observation(g, pair.observation), symmetry.act_on_action(g, pair.action)
    for part in sorted(groups - {"joint"}, key=COMPONENTS.index) or ["dynamics"]:
        means = [float(side.rewards.mean()) for side in sides]
        what = f"mean rewards {means[0]:.6g} and {means[1]:.6g}" if part == "reward" else part
        text = (
            f"but what followed differs in {len(left)} and {len(right)} visits ({what}; {apart:.3g} in total "
            f"variation): here {'; '.join(here)}, there {'; '.join(there)}"
        )
        amount = abs(means[0] - means[1]) if part == "reward" and np.isfinite(means[0] - means[1]) else apart
        kind = "transition" if part == "dynamics" else part
        found.stratum.add(
            counterexample(part, kind, Place(pair, job.j), g, image, amount, text, found.stratum.kind, here, there)
        )


def _remembers(entry: _Met, ruler: Ruler, rng: np.random.Generator) -> bool:
    """Whether what follows a pair depends on how late it is, or on what came before."""
    outcomes = entry.outcomes[: 2 * _MOST]
    times = np.array(entry.elapsed[: len(outcomes)])
    middle = np.median(times)
    splits = [times <= middle]
    counts: dict[Hashable, int] = defaultdict(int)
    for before in entry.before[: len(outcomes)]:
        counts[before] += 1
    for before in sorted(counts, key=lambda b: -counts[b])[:4]:
        splits.append(np.array([b == before for b in entry.before[: len(outcomes)]]))
    for split in splits:
        one = [o for o, s in zip(outcomes, split, strict=True) if s]
        other = [o for o, s in zip(outcomes, split, strict=True) if not s]
        if min(len(one), len(other)) < 5:
            continue
        ps = p_values(Sample.of(one), Sample.of(other), ruler, _MARKOV, rng)
        if min(ps.values(), default=1.0) < _MARKOV:
            return True
    return False
