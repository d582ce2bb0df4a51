"""Episodes until an agent stops making mistakes: upper and lower bounds for finite episodic MDPs.

A *mistake* is an episode whose policy is more than ε worse than optimal from the start (Sec. "Equivariant
Sample Complexity"). The bounds see a model only through three counts, its `Size`; put in the counts of the
quotient and you have the symmetric bound (Lemma 1), because a learner that sees only orbits has exactly the
quotient as its world.

Three kinds of number live here, and they are not interchangeable:

* `ucfh`: a theorem with every constant (Dann & Brunskill 2015, Thm. 1, DB15 below). True, and enormous.
* `leading`, `lemma1`, `theorem1`, `corollary1`: the same with constants and logarithms dropped. A shape.
* `lower`, `theorem2_as_stated`: the shape of the lower bound, over a *class* of models, never for yours.

Pure functions of numbers; the standard library only. Counts may be Python ints of any size: results are
floats, ``inf`` beyond the float range, and the ``log10`` companions stay finite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from burnside.errors import InvalidParameter
from burnside.theory._checks import count, in_unit, log10_of, positive, product

__all__ = [
    "LOWER_C2",
    "LOWER_C3",
    "LOWER_EPS_SCALE",
    "LowerBound",
    "Size",
    "UCFHBound",
    "corollary1",
    "episodes_for_optimality",
    "eps_at",
    "leading",
    "leading_log10",
    "lemma1",
    "lower",
    "optimality_at",
    "rescaled",
    "theorem1",
    "theorem2_as_stated",
    "ucfh",
]

LOWER_C2 = 4.0
"""c₂ of DB15 Thm. 2, whose δ-term is ln(c₂ / (δ + c₃))."""
LOWER_C3 = math.exp(-4.0) / 80.0
"""c₃ of DB15 Thm. 2, about 1/4370; also the largest δ for which that theorem speaks."""
LOWER_EPS_SCALE = 640.0 * math.exp(4.0)
"""DB15 Thm. 2 needs ε < (H−2) / this, about H/35000."""


class Size(NamedTuple):
    """What the bounds see of a model: states |S|, admissible state-action pairs, successors per pair C.

    `terminal` of the states admit no action. They count as states (a learner has to find out how often it gets
    there), have no pairs, and the lower bound, which needs choices, leaves them out.

    >>> leading(Size(states=400, pairs=1600, succ=1), horizon=10, eps=0.1, delta=0.1) > 0
    True
    """

    states: int
    pairs: int
    succ: int
    terminal: int = 0


@dataclass(frozen=True)
class UCFHBound:
    """DB15 Thm. 1 with all its constants, and the notes on where it had to be bent.

    `episodes` is the bound 6 · pairs · m · e_max on the number of mistakes, with probability 1−δ;
    `log10_episodes` is its exponent, finite even where `episodes` is ``inf`` (−inf when it is 0).
    `guards` lists, in words, every place where the formula was guarded or used outside the theorem.
    """

    w_min: float
    u_max: float
    delta1: float
    m: float
    e_max: float
    episodes: float
    log10_episodes: float
    guards: tuple[str, ...]


class LowerBound(NamedTuple):
    """The shape of DB15 Thm. 2 with c₁ = 1, whether its assumptions hold, and if not, which fail."""

    value: float
    valid: bool
    why: str
    log10: float


def _checked(size: Size) -> Size:
    try:
        states, pairs, succ, *rest = size
        (terminal,) = rest or (0,)
    except (TypeError, ValueError):
        raise InvalidParameter(f"size must be Size(states, pairs, succ), not {size!r}") from None
    found = Size(count("states", states), count("pairs", pairs), count("succ", succ), count("terminal", terminal, 0))
    if found.terminal >= found.states:
        raise InvalidParameter(f"{found.terminal} terminal states of {found.states} leave none in which to act")
    return found


def rescaled(eps: float, reward_range: float = 1.0) -> float:
    """ε in units of the reward range: the bounds are for rewards in [0, 1], so ε is divided by max r − min r.

    The shift of the rewards must cost every policy the same, so an episode that ends early has to be modelled
    as an absorbing state and not as a shorter sum. The paper's ring (goal +10, mines −1) has range 11:

    >>> rescaled(1.1, reward_range=11)
    0.1
    """
    return positive("eps", eps) / positive("reward_range", reward_range)


def ucfh(size: Size, horizon: int, eps: float, delta: float, reward_range: float = 1.0) -> UCFHBound:
    """UCFH's mistakes, at most 6·pairs·m·E_max with probability 1−δ (DB15 Thm. 1), every constant explicit.

    With S, SA, C from `size`, log = log base 2 and ln natural:

        w_min = ε/(4HS)     U_max = SA·log(4S²H²/ε)     δ₁ = δ/(2·U_max·C)     E_max = log(H/w_min)·log S
        m = 512·(log log H)²·C·H²/ε²·log²(8H²S²/ε)·ln(6·SA·C·log²(4S²H²/ε)/δ)

    Guards, each reported in the result when it bites:

    * (log log H)² is 0 at H = 2, below 1 at H = 3 and undefined at H = 1: it is replaced by max(1, ·)², and
      by 1 at H = 1 (where rewards are known and no transition matters, so the true count is 0).
    * ε/range ≥ H: no policy can be that bad, so `episodes` is 0; the constants are shown at ε = H.
    * ε/range in (1, H) and C = 1: the formula is evaluated though DB15 assumes ε ≤ 1 and C > 1.
    * one state: log S = 0 and the bound is 0. Rewards are known, so there is nothing to learn.

    >>> b = ucfh(Size(100, 400, 2), horizon=10, eps=1, delta=0.1)
    >>> f"{b.w_min:.3g} {b.u_max:.2f} {b.m:.5e} {b.e_max:.3f} {b.episodes:.5e}"
    '0.00025 8772.63 2.73884e+09 101.569 6.67637e+14'
    """
    s, sa, c, _ = _checked(size)
    h = count("horizon", horizon)
    d = in_unit("delta", delta)
    e = rescaled(eps, reward_range)
    guards: list[str] = []

    loglog = math.log2(math.log2(h)) if h > 1 else -math.inf
    if loglog < 1.0:
        shown = f"{loglog:.3g}" if h > 1 else "undefined"
        guards.append(f"log2 log2 H is {shown} at H = {h}: replaced by 1")
        loglog = 1.0
    harmless = e >= h
    if harmless:
        guards.append(f"eps is at least H = {h} after rescaling: no policy errs, episodes = 0, constants at eps = H")
        e = float(h)
    elif e > 1.0:
        guards.append(f"eps = {e:.4g} after rescaling, outside the theorem's (0, 1]: formula extrapolated")
    if c == 1:
        guards.append("C = 1, the theorem assumes C > 1: with known successors there is nothing to learn")
    if s == 1:
        guards.append("one state: log2 |S| = 0, so the bound is 0 (known rewards leave nothing to learn)")

    log_s, log_h, log_e = math.log2(s), math.log2(h), math.log2(e)
    levels = 2.0 + 2.0 * log_s + 2.0 * log_h - log_e  # log2(4 S² H² / ε) = log2(S H / w_min)
    union = math.log(6) + math.log(sa) + math.log(c) + 2.0 * math.log(levels) - math.log(d)
    m_factors = (512.0, loglog**2, c, h**2, (levels + 1.0) ** 2, union, 1.0 / e, 1.0 / e)
    e_max = (2.0 + log_s + 2.0 * log_h - log_e) * log_s
    factors = (6.0, sa, *m_factors, 0.0 if harmless else e_max)
    return UCFHBound(
        w_min=product(e, over=(4 * h * s,)),
        u_max=product(sa, levels),
        delta1=product(d, over=(2 * sa * c, levels)),
        m=product(*m_factors),
        e_max=e_max,
        episodes=product(*factors),
        log10_episodes=log10_of(*factors),
        guards=tuple(guards),
    )


def _leading(size: Size, horizon: int, eps: float, delta: float) -> tuple[float, ...]:
    s = _checked(size)
    h, e, d = count("horizon", horizon), positive("eps", eps), in_unit("delta", delta)
    return h**2, s.succ, s.pairs, -math.log(d), 1.0 / e, 1.0 / e


def leading(size: Size, horizon: int, eps: float, delta: float) -> float:
    """H²·C·pairs·ln(1/δ)/ε²: the leading term of DB15 Thm. 1, no constants, no logarithms.

    >>> round(leading(Size(100, 400, 2), horizon=10, eps=1, delta=0.1))
    184207
    """
    return product(*_leading(size, horizon, eps, delta))


def leading_log10(size: Size, horizon: int, eps: float, delta: float) -> float:
    """log10 of `leading`, finite for models of any size.

    >>> round(leading_log10(Size(2**125000, 4 * 2**125000, 2), horizon=10, eps=1, delta=0.1))
    37632
    """
    return log10_of(*_leading(size, horizon, eps, delta))


def lemma1(quotient: Size, horizon: int, eps: float, delta: float) -> float:
    """Lemma 1: `leading` at the sizes of the quotient, H²·C̄·|S̄×Ā|·ln(1/δ)/ε².

    The right count of pairs is the number of *joint* orbits |(S×A)/G|, one per abstract state and stabiliser
    orbit of actions; it equals |S/G|·|A/G| only where every stabiliser is transitive on every action orbit.

    >>> round(lemma1(Size(10, 40, 2), 10, 1, 0.1))
    18421
    """
    return leading(quotient, horizon, eps, delta)


def _reductions(*values: float) -> tuple[float, ...]:
    for g in values:
        if not g >= 1 or g == math.inf:
            raise InvalidParameter(f"a reduction factor must be finite and at least 1, not {g!r}")
    return values


def theorem1(
    states: int,
    actions: int,
    succ: int,
    horizon: int,
    eps: float,
    delta: float,
    g_s: float,
    g_a: float,
    g_c: float,
) -> float:
    """Thm. 1 as the paper states it: H²·C·|S×A|·ln(1/δ) / (|G_S|·|G_A|·|G_C|·ε²).

    The factors are the average orbit sizes |S|/|S̄| and |A|/|A/G|, and C/C̄. The value never exceeds `lemma1`
    at the joint orbits, and falls below it when an element moves states and actions together: the formula
    then divides twice by the same group. C is not part of the optimal rate, so |G_C| is not a statistical gain.

    The paper's Fig. 2, where C·|S×A| = 64 becomes 8 (it needs a group of order 4: under the drawn Z₂ alone
    8 joint pairs remain, not 4):

    >>> round(theorem1(4, 4, 4, 1, 1, 0.1, 1, 1, 1) / theorem1(4, 4, 4, 1, 1, 0.1, 2, 2, 2), 9)
    8.0
    """
    pairs = count("states", states) * count("actions", actions)
    return product(*_leading(Size(states, pairs, succ), horizon, eps, delta), over=_reductions(g_s, g_a, g_c))


def corollary1(states: int, actions: int, succ: int, horizon: int, eps: float, delta: float, order: int) -> float:
    """Corollary 1, the ring: H²·C·|S×A|·ln(1/δ)/(|G|·ε²), G being free on states and trivial on actions.

    Here the formula and the joint orbit count agree. C is taken as preserved, which fails once |S̄| < C.

    >>> round(corollary1(100, 4, 2, 10, 1, 0.1, order=10))
    18421
    """
    return theorem1(states, actions, succ, horizon, eps, delta, count("order", order), 1, 1)


def lower(size: Size, horizon: int, eps: float, delta: float, reward_range: float = 1.0) -> LowerBound:
    """DB15 Thm. 2 with c₁ = 1: (H−2)²·(A−1)(S−3)·ln(c₂/(δ+c₃))/ε², a shape, for the worst model of this size.

    Where the number of actions depends on the state, A is the mean pairs/S, so (A−1)(S−3) becomes
    (pairs − S)·(S−3)/S; S counts the states in which there is an action, terminal ones are left out. The
    theorem speaks only for δ < e⁻⁴/80 and ε < (H−2)/(640e⁴); the value is given outside that too, with
    `valid` false and the reason in `why`. It is 0 below four states, with one action per state, and for
    H ≤ 2. At quotient sizes it bounds learners that are PAC on *all* G-invariant models of that shape: it is
    never a bound for one given model. Rewards lie in [0, 1]; others take :func:`rescaled` ε.

    >>> b = lower(Size(13, 52, 2), horizon=4, eps=1e-5, delta=1e-4)
    >>> b.valid, f"{b.value:.4e}"
    (True, '1.1287e+13')
    >>> lower(Size(3, 12, 2), horizon=10, eps=1e-5, delta=1e-4)[:3]
    (0.0, False, 'it needs at least 4 states, here 3: the bound is 0')
    """
    s = _checked(size)
    h, e, d = count("horizon", horizon), rescaled(eps, reward_range), in_unit("delta", delta)
    failures: list[str] = []
    acting = s.states - s.terminal
    if acting < 4:
        kind = "states that are not terminal" if s.terminal else "states"
        failures.append(f"it needs at least 4 {kind}, here {acting}: the bound is 0")
    if s.pairs <= acting:
        failures.append("it needs more than one action class per state on average: the bound is 0")
    if h < 3:
        failures.append(f"it needs a horizon of at least 3, here {h}: the bound is 0")
    elif e >= (h - 2) / LOWER_EPS_SCALE:
        failures.append(f"it needs eps < (H-2)/(640 e^4) = {(h - 2) / LOWER_EPS_SCALE:.3g}, here {e:.3g}")
    if d >= LOWER_C3:
        failures.append(f"it needs delta < e^-4/80 = {LOWER_C3:.3g}, here {d:.3g}")
    choices = max(0, s.pairs - acting) * max(0, acting - 3)
    factors = (max(0, h - 2) ** 2, choices, 1.0 / e, 1.0 / e, math.log(LOWER_C2 / (d + LOWER_C3)))
    exact = product(*factors, over=(acting,))
    return LowerBound(exact, not failures, "; ".join(failures), log10_of(*factors, over=(acting,)))


def theorem2_as_stated(
    states: int,
    actions: int,
    horizon: int,
    eps: float,
    delta: float,
    g_s: float,
    g_a: float,
    c: float = LOWER_C3,
) -> float:
    """Thm. 2 as the paper states it: H²·|S×A|·ln(1/δ̃) / (|G_S|·|G_A|·ε²) with δ̃ = δ + c, clipped at 0.

    The paper allows all ε, δ in (0, 1) and leaves c open (default: the c₃ of its source). Its source, DB15
    Thm. 2, is weaker: see `lower` for the range of ε and δ, the S−3 and A−1, and the class it speaks of.

    >>> round(theorem2_as_stated(100, 4, 10, 1, 0.1, g_s=10, g_a=1, c=0.1) / math.log(5))
    4000
    """
    pairs = count("states", states) * count("actions", actions)
    h, e = count("horizon", horizon), positive("eps", eps)
    tilde = in_unit("delta", delta) + positive("c", c)
    return product(h**2, pairs, max(0.0, -math.log(tilde)), 1.0 / e, 1.0 / e, over=_reductions(g_s, g_a))


def eps_at(size: Size, horizon: int, episodes: float, delta: float) -> float:
    """The ε that `leading` guarantees after that many episodes: H·√(C·pairs·ln(1/δ)/K), its inverse in ε.

    >>> round(eps_at(Size(100, 400, 2), 10, leading(Size(100, 400, 2), 10, 0.3, 0.1), 0.1), 12)
    0.3
    """
    s, h, k = _checked(size), count("horizon", horizon), positive("episodes", episodes)
    return h * math.sqrt(product(s.succ, s.pairs, -math.log(in_unit("delta", delta)), over=(k,)))


def optimality_at(size: Size, episodes: float, delta: float) -> float:
    """Guaranteed fraction of the optimum after K episodes, 1 − ε(K)/H clipped at 0 (Fig. 3; H cancels).

    The optimum is taken as its largest possible value H, the most lenient reading of "95 % optimality": a
    smaller optimum R* asks for ε = 0.05·R*, so for (H/R*)² times the episodes.

    >>> optimality_at(Size(10**5, 4 * 10**5, 2), 1e6, 0.05)
    0.0
    >>> round(optimality_at(Size(10**5, 4 * 10**5, 2), 9.6e8, 0.05), 3)
    0.95
    """
    return max(0.0, 1.0 - eps_at(size, 1, episodes, delta))


def episodes_for_optimality(size: Size, fraction: float, delta: float) -> float:
    """Episodes until `optimality_at` reaches `fraction`: C·pairs·ln(1/δ)/(1−fraction)².

    At 95 % that is 400·C·pairs·ln(1/δ). Fig. 3 of the paper has |S| = 10⁵ and names neither |A|, C nor δ;
    with 4 actions, C = 2 and δ = 0.05, before and after dividing out a group of order 10⁵:

    >>> f"{episodes_for_optimality(Size(10**5, 4 * 10**5, 2), 0.95, 0.05):.1e}"
    '9.6e+08'
    >>> f"{episodes_for_optimality(Size(1, 4, 2), 0.95, 0.05):.1e}"
    '9.6e+03'
    """
    return leading(size, 1, 1.0 - in_unit("fraction", fraction), delta)
