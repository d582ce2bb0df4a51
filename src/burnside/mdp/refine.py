"""Partition refinement: the coarsest homomorphism (``minimise``) and the colouring that ``discover`` starts from.

Both repeat one step until nothing splits: give every pair a signature (its rewards and where it leads, in terms of the
current classes), give every state the collection of its pairs' signatures, and split classes that disagree. For
``minimise`` a state's signatures form a *set* and successors are added up by class, so that any two states from which
the same can be done end in one class. For ``discover`` they form a *multiset* of single outcomes, which is what an
automorphism preserves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from burnside._resources import needs_memory
from burnside._types import AnyArray, FloatArray, IntArray
from burnside.errors import InvalidParameter
from burnside.mdp._checks import needs_table
from burnside.mdp.quotient import Quotient, quotient_by_labels
from burnside.mdp.tabular import TabularMDP
from burnside.mdp.verify import TOLERANCE

__all__ = ["automorphism_colours", "levels", "minimise", "reward_levels"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1, _MIX2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def minimise(mdp: TabularMDP, *, tol: float = TOLERANCE) -> Quotient:
    """The coarsest homomorphic image of an MDP, with state-dependent relabelling of actions; no group is needed.

    Values are compared up to ``tol``. The classes are found with random projections of the rows and then proved: the
    homomorphism is checked on every pair, and the search repeated with more projections if two classes were confused.

    >>> from burnside.mdp import zoo
    >>> q = minimise(zoo.ring(n=5))
    >>> q.mdp.n_states, q.mdp.n_pairs
    (8, 18)
    """
    needs_table(mdp, "minimise")
    needs_memory(f"minimising {mdp.name}", 100.0 * (mdp.P.nnz + mdp.n_pairs), "make the model smaller")
    rewards = reward_levels(mdp, tol)
    for projections in (2, 4, 8):
        rng = np.random.default_rng(projections)
        states, pairs = _bisimulation(mdp, rewards, projections, rng, tol)
        result = quotient_by_labels(mdp, states, pairs)
        found = result.hom.check(mdp, result.mdp, tol=max(tol * 10, 1e-12))
        if found.ok:
            return result
    raise InvalidParameter(
        f"no homomorphism could be proved within tol={tol:g}: {found.why}; "
        f"the model has numbers that differ by about the tolerance, so pass a smaller or larger tol"
    )


def _bisimulation(
    mdp: TabularMDP, rewards: IntArray, projections: int, rng: np.random.Generator, tol: float
) -> tuple[IntArray, IntArray]:
    states = np.zeros(mdp.n_states, dtype=np.int64)
    while True:
        classes = int(states.max()) + 1
        values = rng.random((classes, projections))[states]
        projected = mdp.P @ values
        signature = [rewards, *(levels(projected[:, k], tol) for k in range(projections))]
        pairs = _number(signature)
        refined = _number([states, *_collections(mdp, pairs, as_set=True, rng=rng)])
        if int(refined.max()) + 1 == classes:
            break
        states = refined
    states = first_member_numbering(states)
    return states, first_member_numbering(_number([states[mdp.pair_state], pairs]))


def automorphism_colours(mdp: TabularMDP, tol: float = TOLERANCE) -> IntArray:
    """A colouring of the states that every automorphism preserves: the coarsest equitable one.

    States of different colour are certainly in different orbits; if all colours differ the group is trivial.
    """
    rng = np.random.default_rng(0)
    rewards = reward_levels(mdp, tol)
    probabilities = levels(mdp.P.data, tol).astype(np.uint64)
    states = np.zeros(mdp.n_states, dtype=np.int64)
    while True:
        outcome = hash64(hash64(states[mdp.P.indices].astype(np.uint64)) ^ (probabilities * _GOLDEN))
        pairs = _number([rewards, np.add.reduceat(outcome, mdp.P.indptr[:-1].astype(np.int64))])
        arrivals = np.zeros(mdp.n_states, dtype=np.uint64)  # who leads here: sums of hashes, exact modulo 2⁶⁴
        origin = hash64(_number([states[mdp.pair_state], pairs]))
        np.add.at(arrivals, mdp.P.indices, hash64(np.repeat(origin, np.diff(mdp.P.indptr)) ^ (probabilities * _GOLDEN)))
        refined = _number([states, *_collections(mdp, pairs, as_set=False, rng=rng), arrivals])
        if refined.max() == states.max():
            return first_member_numbering(states)
        states = refined


def _collections(mdp: TabularMDP, pairs: IntArray, *, as_set: bool, rng: np.random.Generator) -> list[AnyArray]:
    """For every state a fingerprint of the set or multiset of its pairs' classes, and its size."""
    fingerprint = rng.integers(0, 2**63, size=int(pairs.max()) + 1, dtype=np.uint64)
    values = fingerprint[pairs]
    if as_set:
        key = mdp.pair_state.astype(np.int64) * (int(pairs.max()) + 1) + pairs
        order = np.argsort(key, kind="stable")
        repeated = np.zeros(mdp.n_pairs, dtype=np.bool_)
        repeated[order[1:]] = np.diff(key[order]) == 0
        values = np.where(repeated, np.uint64(0), values)
        counts = mdp.over_actions(np.add, (~repeated).astype(np.int64), 0)
    else:
        counts = np.diff(mdp.pair_ptr)
    return [mdp.over_actions(np.add, values, np.uint64(0)), counts]


# ---------------------------------------------------------------------- numbering


def reward_levels(mdp: TabularMDP, tol: float) -> IntArray:
    """A number per pair; equal iff the rewards agree at every time."""
    if not mdp.time_dependent:
        return levels(mdp.R, tol)
    return _number([levels(mdp.R[t], tol) for t in range(mdp.H)])


def levels(values: FloatArray, tol: float) -> IntArray:
    """Number floats so that neighbours closer than ``tol`` share a number.

    >>> levels(np.array([0.3, 0.1 + 0.2, 1.0]), 1e-9).tolist()
    [0, 0, 1]
    """
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order]) > tol
    result = np.empty(values.size, dtype=np.int64)
    result[order] = np.concatenate([[0], np.cumsum(steps)])
    return result


def _number(columns: list[Any]) -> IntArray:
    """Number rows; equal rows share a number."""
    labels = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        _, dense = np.unique(column, return_inverse=True)
        _, labels = np.unique(labels * (int(dense.max()) + 1) + dense, return_inverse=True)
    return labels


def first_member_numbering(labels: IntArray) -> IntArray:
    """The same classes, numbered by their smallest member.

    >>> first_member_numbering(np.array([2, 0, 2, 1])).tolist()
    [0, 1, 0, 2]
    """
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return rank[inverse]


def hash64(x: AnyArray) -> AnyArray:
    """splitmix64: scatter integers over 64 bits."""
    z = x.astype(np.uint64) + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))
