"""How often something can fail that was not seen to fail."""

from __future__ import annotations

import math

__all__ = ["failure_bound", "samples_needed"]


def failure_bound(violations: int, of: int, confidence: float) -> float:
    """With this confidence, at most this share fails (Clopper and Pearson); 1 if nothing was tried.

    >>> round(failure_bound(0, 459, 0.99), 4), round(failure_bound(3, 459, 0.99), 4)
    (0.01, 0.0217)
    """
    if of < 1 or violations >= of:
        return 1.0
    if violations == 0:
        return 1.0 - (1.0 - confidence) ** (1.0 / of)
    from scipy import special

    return float(special.betaincinv(violations + 1, of - violations, confidence))


def samples_needed(confidence: float, rate: float) -> int:
    """Samples without a violation that certify a failure rate of at most this.

    >>> samples_needed(0.99, 0.01)
    459
    """
    return math.ceil(math.log(1 - confidence) / math.log1p(-rate)) if rate < 1 else 1
