"""Whether two samples of outcomes come from one distribution."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.canonical.access import Outcome
from burnside.canonical.base import leaves

__all__ = ["outcome_key", "p_value", "resolution", "total_variation"]

_RARE = 5  # expected count below which the χ² approximation needs pooling


def outcome_key(outcome: Outcome, tolerance: float) -> Hashable:
    """A hashable stand-in that is equal for outcomes that agree up to the tolerance (and a rounding boundary)."""
    parts = [_rounded(np.asarray(leaf), tolerance) for leaf in leaves(outcome.observation)]
    return (*parts, _rounded(np.asarray(outcome.reward), tolerance), outcome.terminated)


def _rounded(x: AnyArray, tolerance: float) -> bytes:
    if x.dtype.kind != "f" or tolerance <= 0:
        return x.tobytes()
    # adding 0.0 turns −0.0 into 0.0, which has other bytes
    return (np.round(x.astype(np.float64), max(0, round(-math.log10(tolerance)) - 1)) + 0.0).tobytes()


def p_value(one: Sequence[Outcome], other: Sequence[Outcome], tolerance: float) -> float:
    """The probability of samples at least this different, were they of one distribution.

    A χ² test if the outcomes repeat themselves, else Kolmogorov–Smirnov on every number (with Bonferroni's correction).
    """
    from scipy import stats

    left = Counter(outcome_key(o, tolerance) for o in one)
    right = Counter(outcome_key(o, tolerance) for o in other)
    keys = sorted(left.keys() | right.keys(), key=lambda k: -(left[k] + right[k]))
    if 4 * len(keys) <= len(one) + len(other):
        counts = np.array([[left[k] for k in keys], [right[k] for k in keys]], dtype=float)
        table = _pooled(counts)
        return 1.0 if table.shape[1] < 2 else float(stats.chi2_contingency(table, correction=False).pvalue)
    a, b = _numbers(one), _numbers(other)
    if a.shape[1] != b.shape[1]:
        return 0.0
    moving = [k for k in range(a.shape[1]) if np.ptp(a[:, k]) or np.ptp(b[:, k]) or a[0, k] != b[0, k]]
    if not moving:
        return 1.0
    return min(1.0, len(moving) * min(float(stats.ks_2samp(a[:, k], b[:, k], method="asymp").pvalue) for k in moving))


def _pooled(counts: FloatArray) -> FloatArray:
    share = counts.sum(axis=1) / counts.sum()
    rare = (counts.sum(axis=0)[None] * share[:, None]).min(axis=0) < _RARE
    if rare.sum() <= 1:
        return counts
    return np.concatenate([counts[:, ~rare], counts[:, rare].sum(axis=1, keepdims=True)], axis=1)


def _numbers(outcomes: Sequence[Outcome]) -> FloatArray:
    rows = [
        np.concatenate([np.ravel(np.asarray(leaf, dtype=np.float64)) for leaf in leaves(o.observation)])
        for o in outcomes
    ]
    extra = [[o.reward, float(o.terminated)] for o in outcomes]
    return np.concatenate([np.stack(rows), np.array(extra)], axis=1)


def total_variation(one: Sequence[Outcome], other: Sequence[Outcome], tolerance: float) -> float:
    """The distance of the two empirical distributions."""
    left = Counter(outcome_key(o, tolerance) for o in one)
    right = Counter(outcome_key(o, tolerance) for o in other)
    return 0.5 * sum(abs(left[k] / len(one) - right[k] / len(other)) for k in left.keys() | right.keys())


def resolution(draws: int, tests: int, confidence: float) -> float:
    """Roughly, the least difference in the probability of an event that this many draws on either side bring to light.

    Hoeffding's inequality, once for a false alarm in any test and once for missing a true one.

    >>> round(resolution(400, 40, 0.99), 2)
    0.26
    """
    level = (1 - confidence) / max(1, tests)
    return min(1.0, (math.sqrt(math.log(2 / level)) + math.sqrt(math.log(2 / (1 - confidence)))) / math.sqrt(draws))
