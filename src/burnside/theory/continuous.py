"""Continuous spaces: how fine a net must be, and what Thm. 3 gives, as stated and corrected.

The chain: Lipschitz rewards and transitions make the value Lipschitz (`lipschitz_value`); that fixes how
fine a net has to be (`alpha`); `burnside.theory.covering` counts the net; `theorem3` puts the counts into
the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from burnside.errors import InvalidParameter
from burnside.theory._checks import count, in_unit, log10_of, positive, product

__all__ = ["REASONS", "Theorem3", "alpha", "lipschitz_value", "theorem3"]

REASONS: tuple[str, ...] = (
    "N(S/G)·N(A/G) divides by G twice: the count needed is N((S×A)/G), at most N(S/G)·N(A). For S = A = the "
    "circle under SO(2) the product is 1 at every resolution, the relative angle needs ⌈π/2α⌉ balls.",
    "A free action of an infinite group leaves no finite set invariant, so no finite equivariant net of S "
    "exists: the net has to be built on the quotient.",
    "SE(3) is not compact and does not act on a bounded workspace: quotient first (k poses become k−1 "
    "relative ones), then bound what is left.",
    "Freeness of the action is not needed for an upper bound.",
    "Half of ε pays for the discretisation, so the learner has to run at ε/2: a factor 4.",
    "The process seen through the cells is not Markov, and an ε/2-optimal policy from the start need not "
    "lift under Wasserstein-Lipschitz transitions: nearby true states may enter cells never learned. It does "
    "lift with a uniformly accurate Q (a generative model) or transitions Lipschitz in total variation.",
)
"""Why Thm. 3 is indicative and not a guarantee; (i)–(vi)."""


def _at_least_zero(name: str, value: float) -> float:
    number = float(value)
    if not (number >= 0.0 and math.isfinite(number)):
        raise InvalidParameter(f"{name} must be a finite number, zero or above, not {value!r}")
    return number


def lipschitz_value(l_r: float, l_p: float, horizon: int) -> float:
    """L_V = L_r·(1 + L_p + … + L_p^(H−1)), from V_{H+1} = 0 and L_h = L_r + L_p·L_{h+1}; inf if out of range.

    H·L_r when L_p = 1, and exponential in H when L_p > 1. An invariant V* is equally Lipschitz in the
    quotient metric, so the same constant serves M and its quotient.

    >>> lipschitz_value(2.0, 1.0, 5), round(lipschitz_value(1.0, 2.0, 4), 9), lipschitz_value(1.0, 0.0, 9)
    (10.0, 15.0, 1.0)
    """
    r, p, h = _at_least_zero("l_r", l_r), _at_least_zero("l_p", l_p), count("horizon", horizon)
    if r == 0.0:
        return 0.0
    if p in (0.0, 1.0):
        return r * (h if p else 1)
    try:
        return r * (math.expm1(h * math.log(p)) / (p - 1.0))  # accurate near p = 1 too
    except OverflowError:
        return math.inf


def alpha(eps: float, horizon: int, l_v: float, c0: Literal["policy", "value"] | float = "policy") -> float:
    """The resolution ε/(2·c₀·H·L_V) in the proof of Thm. 3, which spends ε/2 on the discretisation.

    The paper calls c₀ an absolute constant. It is 1 for the error of the *value*, |V* − V̂| ≤ H·L_V·α
    (`c0="value"`); for the loss of the *policy* that is greedy in V̂ the errors of all stages add up to
    H(H+1)·L_V·α, so c₀ = H + 1 (`c0="policy"`, the default). A constant value (L_V = 0) needs no net: inf.

    >>> alpha(1.0, 10, 5.0, c0="value"), alpha(1.1, 10, 5.0)
    (0.01, 0.001)
    """
    e, h, lv = positive("eps", eps), count("horizon", horizon), _at_least_zero("l_v", l_v)
    if isinstance(c0, str):
        if c0 not in ("policy", "value"):
            raise InvalidParameter(f"c0 must be 'policy', 'value' or a positive number, not {c0!r}")
        factor = h + 1.0 if c0 == "policy" else 1.0
    else:
        factor = positive("c0", c0)
    return e / (2.0 * factor * h * lv) if lv > 0.0 else math.inf


@dataclass(frozen=True)
class Theorem3:
    """Thm. 3 twice: as the paper states it, and with the joint quotient and ε/2. Both are indicative.

    `pair_factor` is N((S×A)/G) over N(S/G)·N(A/G), `eps_factor` the 4 of running at ε/2; their product is
    `corrected` over `as_stated`. `succ` is the C̄_α used.
    """

    as_stated: float
    corrected: float
    log10_as_stated: float
    log10_corrected: float
    pairs: int
    succ: int
    pair_factor: float
    eps_factor: float
    indicative: bool
    reasons: tuple[str, ...]


def theorem3(
    states: int,
    actions: int,
    horizon: int,
    eps: float,
    delta: float,
    *,
    pairs: int | None = None,
    all_actions: int | None = None,
    succ: int | None = None,
) -> Theorem3:
    """Thm. 3 at covering numbers already found: states = N(S/G, α), actions = N(A/G, α).

    As stated: H²·C̄_α·N(S/G)·N(A/G)·ln(1/δ)/ε². Corrected: H²·C̄_α·N((S×A)/G)·ln(1/δ)/(ε/2)². Give the joint
    count as `pairs`, or `all_actions` = N(A, α) and N(S/G)·N(A), which bounds it, is used. C̄_α is `succ`, or
    by default its largest possible value N(S/G, α).

    The circle under SO(2) at α = 0.1, where a point is left of S and of A but 16 cells of S×A:

    >>> t = theorem3(1, 1, 10, 1.0, 0.05, pairs=16)
    >>> t.pair_factor, t.eps_factor, round(t.corrected / t.as_stated, 9), t.indicative
    (16.0, 4.0, 64.0, True)
    """
    n_s, n_a = count("states", states), count("actions", actions)
    if pairs is not None:
        joint = count("pairs", pairs)
    elif all_actions is not None:
        joint = n_s * count("all_actions", all_actions)
    else:
        raise InvalidParameter("the corrected count needs pairs = N((S×A)/G, alpha) or all_actions = N(A, alpha)")
    c = n_s if succ is None else count("succ", succ)
    h, e, d = count("horizon", horizon), positive("eps", eps), in_unit("delta", delta)
    common = (h**2, c, -math.log(d), 1.0 / e, 1.0 / e)
    stated, corrected = (*common, n_s, n_a), (*common, joint, 4.0)
    return Theorem3(
        as_stated=product(*stated),
        corrected=product(*corrected),
        log10_as_stated=log10_of(*stated),
        log10_corrected=log10_of(*corrected),
        pairs=joint,
        succ=c,
        pair_factor=product(joint, over=(n_s * n_a,)),
        eps_factor=4.0,
        indicative=True,
        reasons=REASONS,
    )
