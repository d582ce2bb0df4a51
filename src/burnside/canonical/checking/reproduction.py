"""Whether setting the state brings back the situation: what a walk saw, against what replaying it gives.

A ``set_state`` that forgets a part of the state makes any comparison worthless: both sides are then compared in the
same wrong situation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from burnside.canonical.checking.access import Outcome, Pair, show
from burnside.canonical.checking.evidence import outcome_text
from burnside.canonical.checking.tolerance import Ruler
from burnside.canonical.checking.twosample import Sample, distances, encode

__all__ = ["ENOUGH_MISSES", "not_reproduced", "novelty", "replays", "unlikely"]

#: Misses after which a deterministic environment is not walked further.
ENOUGH_MISSES = 5


def not_reproduced(pair: Pair, seen: Outcome, replayed: Outcome) -> str:
    """The sentence: setting the state does not bring back what was seen, so nothing can be compared."""
    return (
        f"setting the state does not reproduce what was seen: at {show(pair.observation)} the action "
        f"{show(pair.action)} led to {outcome_text(seen)}, but after setting that state to {outcome_text(replayed)}; "
        "the state that is read and set must hold all that decides what happens next (see get_state and set_state)"
    )


def replays(pairs: int, misses: int, confidence: float) -> int:
    """Replays of each miss that tell a forgotten part of the state from an outcome that is just rare.

    A rare outcome of probability q is seen at a pair and in none of R replays with probability q(1 − q)^R ≤ 1/(eR), and
    so at k of n pairs with at most (n/eR)^k/k!.

    >>> replays(1000, 1, 0.99), replays(1000, 5, 0.99)
    (36788, 355)
    """
    return math.ceil(pairs / (math.e * ((1 - confidence) * math.factorial(misses)) ** (1 / misses)))


def novelty(seen: Outcome, replayed: Sample, ruler: Ruler) -> float:
    """A p-value for what was seen being one of the replays: its rank among them by mean distance to all others."""
    coded = encode(replayed, Sample.of([seen]), ruler)
    if not coded.labels.max():
        return 1.0
    count = len(coded.labels)
    away = distances(coded.ranks).mean(axis=1) if coded.ranks.shape[1] else np.zeros(count)
    away = away + (1.0 - np.bincount(coded.labels)[coded.labels] / count)
    return float(np.mean(away >= away[-1] * (1 - 1e-9)))


def unlikely(ranks: Sequence[float], draws: int) -> float:
    """One p-value for all: Fisher's combination, or the number of outcomes unlike all replays, whichever is less.

    >>> unlikely([0.5, 0.3, 0.9], 100) > 0.1, unlikely([1 / 101] * 3, 100) < 1e-4
    (True, True)
    """
    from scipy import special

    if not ranks:
        return 1.0
    fisher = float(special.chdtrc(2 * len(ranks), -2 * sum(math.log(p) for p in ranks)))
    least = 1 / (draws + 1)
    strange = sum(p <= least * (1 + 1e-9) for p in ranks)
    many = 1.0 if not strange else float(special.bdtrc(strange - 1, len(ranks), least))
    return min(1.0, 2 * min(fisher, many))
