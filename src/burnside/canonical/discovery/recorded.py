"""``discover_data``: symmetries in recorded transitions alone, tested with a stated level; nothing is proved.

A proposal is made from the first half of the data and tested on the second. What follows is predicted from observation
and action by a regression that is made symmetric, also from the first half. If the symmetry holds, and observations and
actions are distributed symmetrically, then blocks of ``(o, a, error of the prediction, reward)`` and images of other
blocks are drawn from one law and can be exchanged: the largest difference of their statistics is judged by exchanging
them at random, which keeps its level for any number of blocks. Whether observations and actions are distributed
symmetrically is tested first, in the same way; if they are not, the level holds as far as the prediction is right.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from burnside._types import FloatArray
from burnside.canonical.discovery.results import Budget, Discovery, Found
from burnside.errors import InvalidParameter
from burnside.symmetry.labels import Labels
from burnside.symmetry.proposals import Proposal, Transitions, propose

__all__ = ["discover_data"]

_BLOCKS = 60
_EXCHANGES = 1999  # at least; more where many proposals are tested
_CHUNK = 2000  # of these at once
_PRODUCTS = 14  # numbers of an observation up to which products of two of them are used


def discover_data(
    data: Transitions, name: str = "", *, z: float = 5.0, level: float = 0.01, seed: int = 0
) -> Discovery:
    """Look for signed permutations in transitions alone.

    Such a test can refute; what it does not refute is inconclusive, with the difference that it would have seen. The
    chance that any true symmetry among the proposals is refuted is at most ``level``.

    >>> rng = np.random.default_rng(0)
    >>> x, a = rng.normal(size=(6000, 2)), rng.normal(size=(6000, 1))
    >>> after = x + 0.1 * np.stack([x[:, 1], a[:, 0] - np.sin(x[:, 0])], axis=1)
    >>> found = discover_data(Transitions(x, a, -(x**2).sum(axis=1), after))
    >>> [(entry.generators, entry.verdict, entry.statistics["level"]) for entry in found.found]
    [((('-0,-1', '-0'),), 'inconclusive', 0.01)]
    """
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1, got {level}")
    began = time.process_time()
    first, second = data.halves()
    proposals = propose(first, z)
    rng = np.random.default_rng(seed)
    found: list[Found] = []
    refuted: list[Found] = []
    for proposal in proposals:
        entry = _tested(first, second, proposal, level / len(proposals), rng)
        entry = replace(entry, statistics=entry.statistics | {"level": level})
        (refuted if entry.verdict == "refuted" else found).append(entry)
    acts = f"{data.labels} labels" if data.labels else f"{data.actions.shape[1]} numbers"
    what = (
        f"signed permutations of the {data.observations.shape[1]} numbers of the observation and of the action's {acts}"
    )
    spent = Budget(
        len(data.rewards), {"signed permutations": len(proposals)}, 0, 0, 0, time.process_time() - began, 0.0
    )
    return Discovery(name, tuple(found), tuple(refuted), (), f"{what}, in data alone", spent)


@dataclass(frozen=True)
class _Columns:
    """Observation, action, change and reward as numbers, and how one proposal moves them."""

    o: FloatArray
    a: FloatArray
    change: FloatArray
    r: FloatArray

    @classmethod
    def of(cls, data: Transitions) -> _Columns:
        if data.labels:
            a: FloatArray = np.eye(data.labels)[data.actions] - 1 / data.labels
        else:
            a = np.asarray(data.actions, dtype=np.float64)
        return cls(data.observations, a, data.next_observations - data.observations, data.rewards)

    def image(self, proposal: Proposal) -> _Columns:
        act: Any = proposal.action.one_hot() if isinstance(proposal.action, Labels) else proposal.action
        move = proposal.observation
        return _Columns(move(self.o), act(self.a), move(self.change), self.r)


class _Prediction:
    """What follows, from linear regression on observation, action and products; made equivariant by averaging."""

    def __init__(self, data: _Columns, proposal: Proposal) -> None:
        self.proposal = proposal
        self.centre, self.scale = data.o.mean(axis=0), data.o.std(axis=0) + 1e-9
        x = self._inputs(data)
        targets = np.concatenate([data.change, data.r[:, None]], axis=1)
        gram = x.T @ x + 1e-6 * len(x) * np.eye(x.shape[1])
        self.weights = np.linalg.solve(gram, x.T @ targets)

    def _inputs(self, data: _Columns) -> FloatArray:
        o = (data.o - self.centre) / self.scale
        parts = [np.ones((len(o), 1)), o, data.a]
        if o.shape[1] <= _PRODUCTS:
            i, j = np.triu_indices(o.shape[1])
            parts += [o[:, i] * o[:, j], (o[:, :, None] * data.a[:, None, :]).reshape(len(o), -1)]
        return np.concatenate(parts, axis=1)

    def __call__(self, data: _Columns) -> tuple[FloatArray, FloatArray]:
        """The mean over the powers of the proposal of: move, predict, move back."""
        moved = data
        total_o, total_r = np.zeros_like(data.change), np.zeros_like(data.r)
        back: Any = self.proposal.observation.identity()
        for _ in range(self.proposal.order):
            guess = self._inputs(moved) @ self.weights
            total_o = total_o + back(guess[:, :-1])
            total_r = total_r + guess[:, -1]
            moved = moved.image(self.proposal)
            back = back @ self.proposal.observation.inverse()
        return total_o / self.proposal.order, total_r / self.proposal.order


def _tested(first: Transitions, second: Transitions, proposal: Proposal, level: float, rng: Any) -> Found:
    predict = _Prediction(_Columns.of(first), proposal)
    data = _Columns.of(second)
    guess, paid = predict(data)
    errors = _Columns(data.o, data.a, data.change - guess, data.r - paid)
    scale = np.concatenate([data.o.std(axis=0), data.a.std(axis=0)]) + 1e-12
    places = _compare(errors, proposal, rng, scale, 0.01, places=True)
    what = _compare(errors, proposal, rng, scale, level, places=False)
    symmetric = places[0] >= 0.01
    texts = ((str(proposal.observation), str(proposal.action)),)
    refuted = what[0] < level
    sure = (
        "observations and actions are distributed symmetrically, as far as the data tell, so the level is exact"
        if symmetric
        else "observations and actions are not distributed symmetrically, so the level holds if the regression is right"
    )
    why = (
        f"on the other half of the data {what[1]} differs between blocks and images of others (p = {what[0]:.2g}); "
        f"{sure}"
        if refuted
        else f"the other half of the data does not contradict it (p = {what[0]:.2g}); a difference of {what[2]:.2g} "
        f"standard deviations would have been seen; {sure}"
    )
    numbers = {"p": what[0], "resolution": what[2], "exact_level": float(symmetric)}
    return Found(
        "mirror" if proposal.order == 2 else f"C{proposal.order}", proposal.order, texts,
        "refuted" if refuted else "inconclusive", {}, "statistics", why=why, statistics=numbers,
    )  # fmt: skip


def _compare(
    data: _Columns, proposal: Proposal, rng: np.random.Generator, scale: FloatArray, level: float, *, places: bool
) -> tuple[float, str, float]:
    """p-value, what differs most, and the difference that would have been seen, in standard deviations."""
    blocks = np.array_split(np.arange(len(data.r)), _BLOCKS)
    order = rng.permutation(_BLOCKS)
    moved = data.image(proposal)
    rows = []
    words: list[str] = []
    for k, block in enumerate(blocks):
        which = data if order[k] % 2 else moved
        part = _Columns(*(x[block] for x in (which.o, which.a, which.change, which.r)))
        values, words = _statistics(part, scale, places)
        rows.append(values)
    table = np.array(rows)
    spread = table.std(axis=0)
    moving = spread > 1e-12
    if not moving.any():
        return 1.0, "nothing", math.inf
    scaled = (table[:, moving] - table[:, moving].mean(axis=0)) / spread[moving]
    side = np.where(order % 2 == 1, 1.0, -1.0)
    seen = np.abs(side @ scaled) / math.sqrt(_BLOCKS)
    worst, count = int(seen.argmax()), max(_EXCHANGES, math.ceil(2 / level))
    largest = np.empty(count)
    for at in range(0, count, _CHUNK):
        signs = np.stack([rng.permutation(side) for _ in range(min(_CHUNK, count - at))])
        largest[at : at + len(signs)] = np.abs(signs @ scaled).max(axis=1) / math.sqrt(_BLOCKS)
    bound = float(np.quantile(largest, 0.99))
    p = (1 + int((largest >= seen[worst] - 1e-9).sum())) / (1 + count)
    each = np.median(spread[moving]) * 2 / math.sqrt(_BLOCKS)
    named = [w for w, m in zip(words, moving, strict=True) if m][worst]
    return p, named, float((bound + norm.ppf(0.9)) * each)


def _statistics(part: _Columns, scale: FloatArray, places: bool) -> tuple[FloatArray, list[str]]:
    """Of one block: means and products of places, or how the errors of the prediction go along with the place."""
    x = np.concatenate([part.o, part.a], axis=1) / scale
    names = [f"observation {i}" for i in range(part.o.shape[1])] + [f"action {i}" for i in range(part.a.shape[1])]
    if places:
        i, j = np.triu_indices(x.shape[1])
        second = (x.T @ x / len(x))[i, j]
        words = [f"{names[a]} times {names[b]}" for a, b in zip(i, j, strict=True)]
        return np.concatenate([x.mean(axis=0), second]), [*names, *words]
    width = np.concatenate([part.change, part.r[:, None]], axis=1)
    size = width.std(axis=0) + 1e-12
    errors = width / size
    effects = errors.T @ x / len(x)
    words = [f"the change of observation {i}" for i in range(part.change.shape[1])] + ["the reward"]
    products = [f"{w} beside {n}" for w in words for n in names]
    squares = (errors * errors).T @ x / len(x)
    more = [f"the scatter of {p}" for p in products]
    return np.concatenate([errors.mean(axis=0), effects.ravel(), squares.ravel()]), [*words, *products, *more]
