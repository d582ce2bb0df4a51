"""Going where chance does not go: a search for states unlike those met before.

It needs a state that can be set. From a state at the border of what is known it plays on, keeping an action for a
while, and whatever has a number, or a pair of numbers, in a range where nothing was before is kept as a new place to
start from. Every state it finds was reached by actions from the start of an episode, so a violation there is one that a
learner can meet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from burnside._types import FloatArray
from burnside.canonical.base import numbers, structure
from burnside.canonical.checking.access import Outcome, Pair, Prober, copied, step_env
from burnside.canonical.checking.spaces import Actions, Numbers
from burnside.canonical.checking.walks import Coverage, Visit
from burnside.canonical.guard import theirs

__all__ = ["explore"]

_BINS = 12  # ranges into which what the walk saw of a number is divided, and into which finite bounds are
_MOST_NUMBERS = 48  # numbers that are looked at
_MOST_PAIRS = 30  # pairs of numbers that are looked at
_KEEP = 0.2  # an action is changed so often
_LENGTH = 1 / 12  # and a try ends so often
_ARCHIVE = 6000


class _Views:
    """The cells an outcome lies in: one for each number, and for pairs of them."""

    def __init__(self, walked: FloatArray, numbers_: Numbers, rng: np.random.Generator) -> None:
        low, high = walked.min(axis=0), walked.max(axis=0)
        bounded, label = (np.append(known, False) for known in (numbers_.bounded, numbers_.label))  # the reward is last
        with np.errstate(over="ignore", invalid="ignore"):
            seen = np.where(np.isfinite(high - low) & (high > low), high - low, 1.0)
            given = np.where(bounded, np.append(numbers_.high - numbers_.low, np.inf), np.inf)
        self.center = np.where(np.isfinite(low + high), (low + high) / 2, 0.0)
        self.width = np.where(label, 1.0, np.minimum(seen, given) / _BINS)
        self.limit = np.where(np.isfinite(given), np.inf, 2.0 * _BINS)
        varying = np.flatnonzero((high > low) | bounded | label)
        reward = len(low) - 1
        self.singles: list[int] = [*rng.permutation(varying[varying != reward])[:_MOST_NUMBERS].tolist(), reward]
        pairs = [(a, b) for i, a in enumerate(self.singles) for b in self.singles[:i]]
        chosen = rng.permutation(len(pairs))[:_MOST_PAIRS]
        self.pairs = [pairs[k] for k in chosen]

    def cells(self, x: FloatArray) -> list[Hashable]:
        """The cell of each number, and of each pair of numbers."""
        z = (x - self.center) / self.width
        z[np.isnan(z)] = -1e6
        far = np.abs(z) > self.limit
        if far.any():
            # Beyond the range of the walk cells grow with the distance, so that nothing runs away forever.
            limit = self.limit[far]
            z[far] = np.sign(z[far]) * limit * (1 + np.log(np.minimum(np.abs(z[far]), 1e300) / limit))
        cell = np.floor(z).tolist()
        return [*((k, cell[k]) for k in self.singles), *((a, b, cell[a], cell[b]) for a, b in self.pairs)]


def explore(
    prober: Prober,
    visits: Sequence[Visit],
    described: Numbers,
    actions: Actions,
    budget: int,
    coverage: Coverage,
) -> Iterator[Visit]:
    """Steps into what was not seen before, until that many steps are made."""
    rng = prober.rng
    start = [v for v in visits if v.pair.state is not None]
    rows = [numbers(v.pair.observation) for v in start]
    if not start or len({row.size for row in rows}) != 1 or rows[0].size != described.label.size:
        return
    whole = bool(described.label.all()) or all(np.array_equal(row, np.round(row)) for row in rows)
    rewards = np.array([[v.outcome.reward] for v in start])
    views = _Views(np.concatenate([np.stack(rows), rewards], axis=1), described, rng)
    archive: list[tuple[Any, Any]] = []
    tries: list[int] = []
    cells: dict[Hashable, int] = {}

    def novel(outcome: Outcome) -> bool:
        """Whether an outcome lies in a cell in which nothing was before."""
        x = numbers(outcome.observation)
        if x.size != described.label.size:
            return False
        here = [*views.cells(np.append(x, outcome.reward)), ("end", outcome.terminated, outcome.truncated)]
        if whole:
            here.append((structure(outcome.observation, values=True), x.tobytes()))
        fresh = [cell for cell in here if cell not in cells]
        if len(cells) < 50 * _ARCHIVE:
            cells.update((cell, len(archive)) for cell in fresh)
        return bool(fresh)

    def keep(state: Any, observation: Any) -> None:
        if len(archive) < _ARCHIVE:
            archive.append((state, observation))
            tries.append(0)

    for visit in start:
        if novel(visit.outcome) or len(archive) < 16:
            keep(visit.pair.state, visit.pair.observation)
    made = 0
    while made < budget:
        at = _parent(tries, rng)
        tries[at] += 1
        state, seen = archive[at]
        prober.place(state, int(rng.integers(2**31)))
        action = actions.next()
        elapsed = 0
        while made < budget:
            if elapsed and rng.random() < _KEEP:
                action = actions.next()
            pair = Pair(copied(theirs("reading the state", prober.access.get, prober.env)), seen, copied(action))
            outcome = step_env(prober.env, pair.action)
            made, elapsed = made + 1, elapsed + 1
            visit = Visit(pair, outcome, 2)
            coverage.see(outcome.observation)
            fresh = novel(outcome)
            if fresh:
                yield visit
                tries[at] = 0
            if visit.over:
                break
            if fresh:
                keep(copied(theirs("reading the state", prober.access.get, prober.env)), outcome.observation)
            elif rng.random() < _LENGTH:
                break
            seen = outcome.observation


def _parent(tries: Sequence[int], rng: np.random.Generator) -> int:
    """A state to continue from: those that were tried least, and late ones, which are farther out."""
    picks = (
        rng.integers(len(tries), size=4)
        if rng.random() < 0.5
        else len(tries) - 1 - rng.integers(min(40, len(tries)), size=4)
    )
    return int(min(picks, key=lambda k: tries[int(k)]))
