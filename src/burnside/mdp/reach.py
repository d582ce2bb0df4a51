"""What an episode can reach: the states and pairs that a learner really pays for."""

from __future__ import annotations

import numpy as np

from burnside._types import BoolArray
from burnside.mdp._checks import needs_table
from burnside.mdp.tabular import TabularMDP

__all__ = ["reachable"]


def reachable(mdp: TabularMDP) -> BoolArray:
    """Mask of the states that an episode can be in when an action is due: within H−1 steps of the support of p₀.

    Terminal states that can be reached in that time are among them, although no action is due there.

    >>> from burnside.mdp import zoo
    >>> ring = zoo.ring(n=5)
    >>> int(reachable(ring).sum())      # the goal is never drawn on the start cell
    320
    """
    needs_table(mdp, "reachable")
    seen: BoolArray = mdp.p0 > 0
    frontier = np.flatnonzero(seen)
    indptr, indices = mdp.P.indptr, mdp.P.indices
    for _ in range(mdp.H - 1):
        if frontier.size == 0:
            break
        # the pairs of a state are consecutive rows, so its successors are one stretch of the index array
        begin, end = indptr[mdp.pair_ptr[frontier]], indptr[mdp.pair_ptr[frontier + 1]]
        new = np.zeros(mdp.n_states, dtype=np.bool_)
        new[indices[_stretches(begin.astype(np.int64), end.astype(np.int64))]] = True
        new &= ~seen
        seen |= new
        frontier = np.flatnonzero(new)
    return seen


def _stretches(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The concatenation of ``range(begin[i], end[i])``."""
    lengths = end - begin
    offsets = np.repeat(begin - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
    return offsets + np.arange(int(lengths.sum()))
