"""Bounds against numbers worked out by hand, their ranges of validity, models beyond the float range."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from burnside.errors import InvalidParameter
from burnside.theory import bounds as b
from burnside.theory import continuous as c
from burnside.theory.bounds import Size

GOLDEN = Size(100, 400, 2)


def test_ucfh_golden_constants() -> None:
    u = b.ucfh(GOLDEN, 10, 1.0, 0.1)
    assert u.w_min == pytest.approx(1 / 4000)
    assert u.u_max == pytest.approx(400 * math.log2(4e6))
    assert u.u_max == pytest.approx(8772.63, abs=0.005)
    assert u.delta1 == pytest.approx(0.1 / (2 * 8772.627427729669 * 2))
    assert u.m == pytest.approx(2.73884e9, rel=1e-5)
    assert u.e_max == pytest.approx(101.569, abs=5e-4)
    assert u.episodes == pytest.approx(6.67637e14, rel=1e-5)
    assert u.log10_episodes == pytest.approx(math.log10(u.episodes))
    assert u.guards == ()


def test_ucfh_m_covers_the_union_bound_of_its_confidence_sets() -> None:
    u = b.ucfh(GOLDEN, 10, 1.0, 0.1)
    union = u.m / (512 * math.log2(math.log2(10)) ** 2 * 2 * 100 * math.log2(8e6) ** 2)
    assert union >= math.log(6 / u.delta1)  # the logarithm of the intervals m has to pay for


@pytest.mark.parametrize(("n", "horizon", "ratio"), [(5, 8, 26), (10, 10, 62), (20, 14, 138), (50, 28, 371)])
def test_explicit_ratio_of_rings_exceeds_the_group_order(n: int, horizon: int, ratio: int) -> None:
    """(position, goal) rings, 4 actions, C = 2, ε = 1, δ = 0.1: the logarithms shrink too."""
    full = b.ucfh(Size(n * n, 4 * n * n, 2), horizon, 1.0, 0.1).episodes
    small = b.ucfh(Size(n, 4 * n, 2), horizon, 1.0, 0.1).episodes
    assert round(full / small) == ratio > n


def test_explicit_bound_of_figure_three_collapses_with_the_quotient() -> None:
    """H = 10, ε = 0.5, δ = 0.05, 4 actions, C = 2 kept; rewards in [0, 1]."""
    at = {s: b.ucfh(Size(s, 4 * s, 2), 10, 0.5, 0.05) for s in (10**5, 2, 1)}
    assert at[10**5].episodes == pytest.approx(6.4e19, rel=0.01)
    assert at[2].episodes == pytest.approx(1.25e12, rel=0.01)
    assert at[1].episodes == 0.0
    assert at[1].log10_episodes == -math.inf
    assert "one state" in at[1].guards[0]


@pytest.mark.parametrize(("horizon", "guarded"), [(1, True), (2, True), (3, True), (4, False), (16, False)])
def test_loglog_guard_is_stated_exactly_when_it_bites(horizon: int, guarded: bool) -> None:
    u = b.ucfh(GOLDEN, horizon, 0.5, 0.1)
    assert any("log2 log2 H" in g for g in u.guards) is guarded
    assert math.isfinite(u.episodes) and u.episodes > 0


def test_loglog_factor_is_squared() -> None:
    # at H = 16, log2 log2 H = 2: m is 4 × what the factor 1 would give
    levels, union = math.log2(4 * 1e4 * 256), math.log(6 * 400 * 2 * math.log2(4 * 1e4 * 256) ** 2 / 0.1)
    assert b.ucfh(GOLDEN, 16, 1.0, 0.1).m == pytest.approx(512 * 4 * 2 * 256 * (levels + 1) ** 2 * union)


def test_reward_range_rescales_eps() -> None:
    assert b.ucfh(GOLDEN, 10, 11.0, 0.1, reward_range=11).episodes == b.ucfh(GOLDEN, 10, 1.0, 0.1).episodes


def test_eps_beyond_what_is_possible_gives_zero_and_beyond_one_is_flagged() -> None:
    none = b.ucfh(GOLDEN, 10, 10.0, 0.1)
    assert none.episodes == 0.0 and "no policy errs" in none.guards[0]
    extrapolated = b.ucfh(GOLDEN, 10, 2.0, 0.1)
    assert extrapolated.episodes > 0 and "extrapolated" in extrapolated.guards[0]
    assert b.ucfh(Size(1, 1, 1), 1, 1e9, 0.999).episodes == 0.0
    assert "C = 1" in b.ucfh(Size(4, 4, 1), 10, 0.5, 0.1).guards[0]


def test_huge_models_have_a_finite_exponent() -> None:
    n = 125_000
    s = Size(n * 2**n, 4 * n * 2**n, 2)
    u = b.ucfh(s, 10, 1.0, 0.1)
    assert u.episodes == u.u_max == math.inf and u.w_min == u.delta1 == 0.0
    log2_s = math.log2(n) + n
    assert u.e_max == pytest.approx((2 + log2_s + 2 * math.log2(10)) * log2_s)
    assert u.log10_episodes == pytest.approx(log2_s * math.log10(2), rel=1e-2)
    assert b.leading(s, 10, 1.0, 0.1) == math.inf
    assert b.leading_log10(s, 10, 1.0, 0.1) == pytest.approx(n * math.log10(2) + math.log10(4 * n * 200 * math.log(10)))
    assert b.eps_at(s, 10, 1e9, 0.1) == math.inf
    assert b.optimality_at(s, 1e9, 0.1) == 0.0


def test_a_huge_model_with_a_huge_group_has_a_finite_bound() -> None:
    assert b.theorem1(10**400, 4, 2, 10, 1.0, 0.1, 10**399, 1, 1) == pytest.approx(
        b.theorem1(10, 4, 2, 10, 1.0, 0.1, 1, 1, 1), rel=1e-9
    )


def test_leading_lemma_theorem_and_corollary_agree_on_a_free_ring() -> None:
    expected = 100 * 2 * 400 * math.log(20) / 0.25 / 10
    assert b.leading(Size(10, 40, 2), 10, 0.5, 0.05) == pytest.approx(expected)
    assert b.lemma1(Size(10, 40, 2), 10, 0.5, 0.05) == pytest.approx(expected)
    assert b.theorem1(100, 4, 2, 10, 0.5, 0.05, 10, 1, 1) == pytest.approx(expected)
    assert b.corollary1(100, 4, 2, 10, 0.5, 0.05, order=10) == pytest.approx(expected)


def test_theorem1_is_below_the_joint_count_when_a_free_group_moves_actions_too() -> None:
    # the cube: 24 rotations, 12 moves in orbits of 6, free on states: 24·6 is claimed, 24 is there
    stated = b.theorem1(2400, 12, 1, 10, 1.0, 0.1, 24, 6, 1)
    joint = b.lemma1(Size(100, 2400 * 12 // 24, 1), 10, 1.0, 0.1)
    assert joint / stated == pytest.approx(6.0)


def test_lower_by_hand_and_its_range() -> None:
    ok = b.lower(Size(13, 52, 2), 4, 1e-5, 1e-4)
    assert ok.valid and ok.why == ""
    assert ok.value == pytest.approx(2**2 * 3 * 10 * 1e10 * math.log(4 / (1e-4 + math.exp(-4) / 80)))
    assert ok.log10 == pytest.approx(math.log10(ok.value))
    uneven = b.lower(Size(10, 25, 2), 4, 1e-5, 1e-4)  # 2.5 actions on average: 1.5 · 7
    assert uneven.value / ok.value == pytest.approx(10.5 / 30)


@pytest.mark.parametrize(
    ("size", "horizon", "eps", "delta", "word", "zero"),
    [
        (Size(13, 52, 2), 4, 0.1, 1e-4, "eps <", False),
        (Size(13, 52, 2), 4, 1e-5, 0.05, "delta <", False),
        (Size(3, 12, 2), 4, 1e-5, 1e-4, "4 states", True),
        (Size(13, 13, 2), 4, 1e-5, 1e-4, "one action class", True),
        (Size(13, 52, 2), 2, 1e-5, 1e-4, "horizon", True),
    ],
)
def test_lower_says_which_assumption_fails(
    size: Size, horizon: int, eps: float, delta: float, word: str, zero: bool
) -> None:
    bound = b.lower(size, horizon, eps, delta)
    assert not bound.valid
    assert word in bound.why and ";" not in bound.why
    assert (bound.value == 0.0) is zero


def test_lower_survives_huge_models() -> None:
    bound = b.lower(Size(2**5000, 4 * 2**5000, 2), 4, 1e-5, 1e-4)
    assert bound.value == math.inf
    assert bound.log10 == pytest.approx(5000 * math.log10(2) + math.log10(4 * 3 * 1e10 * 9.40594), abs=1e-4)


def test_theorem2_as_stated_is_clipped_where_its_logarithm_turns_negative() -> None:
    assert b.theorem2_as_stated(100, 4, 10, 0.5, 0.2, 10, 2, c=0.3) == pytest.approx(100 * 20 / 0.25 * math.log(2))
    assert b.theorem2_as_stated(100, 4, 10, 0.5, 0.8, 10, 2, c=0.3) == 0.0


def test_figure_three_crossings() -> None:
    full, kept, merged = Size(10**5, 4 * 10**5, 2), Size(1, 4, 2), Size(1, 4, 1)
    assert b.episodes_for_optimality(full, 0.95, 0.05) == pytest.approx(9.6e8, rel=0.005)
    assert b.episodes_for_optimality(kept, 0.95, 0.05) == pytest.approx(9.6e3, rel=0.005)
    assert b.episodes_for_optimality(merged, 0.95, 0.05) == pytest.approx(4.8e3, rel=0.005)
    k = b.episodes_for_optimality(full, 0.95, 0.05)
    assert k == pytest.approx(400 * 2 * 4e5 * math.log(20))
    assert b.optimality_at(full, k, 0.05) == pytest.approx(0.95)
    assert b.optimality_at(full, k / 401, 0.05) == 0.0


def test_eps_at_inverts_leading() -> None:
    for eps in (0.01, 0.3, 2.0):
        assert b.eps_at(GOLDEN, 7, b.leading(GOLDEN, 7, eps, 0.1), 0.1) == pytest.approx(eps)


@pytest.mark.parametrize(
    "call",
    [
        lambda: b.ucfh(GOLDEN, 10, 0.0, 0.1),
        lambda: b.ucfh(GOLDEN, 10, math.nan, 0.1),
        lambda: b.ucfh(GOLDEN, 10, 1.0, 1.0),
        lambda: b.ucfh(GOLDEN, 0, 1.0, 0.1),
        lambda: b.ucfh(GOLDEN, 10, 1.0, 0.1, reward_range=0.0),
        lambda: b.leading(Size(0, 4, 2), 10, 1.0, 0.1),
        lambda: b.leading(Size(1, 4.5, 2), 10, 1.0, 0.1),  # type: ignore[arg-type]
        lambda: b.leading((1, 2), 10, 1.0, 0.1),  # type: ignore[arg-type]
        lambda: b.theorem1(10, 4, 2, 10, 1.0, 0.1, 0.5, 1, 1),
        lambda: b.theorem1(10, 4, 2, 10, 1.0, 0.1, math.nan, 1, 1),
        lambda: b.corollary1(10, 4, 2, 10, 1.0, 0.1, order=0),
        lambda: b.eps_at(GOLDEN, 10, 0, 0.1),
        lambda: b.episodes_for_optimality(GOLDEN, 1.0, 0.1),
        lambda: c.lipschitz_value(-1.0, 1.0, 5),
        lambda: c.alpha(1.0, 5, 1.0, c0="both"),  # type: ignore[arg-type]
        lambda: c.alpha(1.0, 5, math.inf),
        lambda: c.theorem3(1, 1, 10, 1.0, 0.1),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert "\n" not in str(caught.value) and len(str(caught.value)) > 20


def test_eps_of_any_smallness_does_not_overflow() -> None:
    assert b.leading(GOLDEN, 10, 1e-200, 0.1) == math.inf
    assert b.ucfh(GOLDEN, 10, 1e-200, 0.1).log10_episodes > 400


@pytest.mark.parametrize("l_p", [0.0, 0.5, 1.0, 1.0 + 1e-9, 2.0])
def test_lipschitz_value_is_the_recursion(l_p: float) -> None:
    expected = 0.0
    for _ in range(12):
        expected = 3.0 + l_p * expected
    assert c.lipschitz_value(3.0, l_p, 12) == pytest.approx(expected, rel=1e-12)


def test_lipschitz_value_out_of_range_is_infinite() -> None:
    assert c.lipschitz_value(1.0, 10.0, 1000) == math.inf
    assert c.lipschitz_value(0.0, 10.0, 1000) == 0.0


def test_alpha_by_hand() -> None:
    assert c.alpha(0.6, 3, 2.0) == pytest.approx(0.6 / (2 * 4 * 3 * 2))
    assert c.alpha(0.6, 3, 2.0, c0="value") == pytest.approx(0.05)
    assert c.alpha(0.6, 3, 2.0, c0=2.0) == pytest.approx(0.025)
    assert c.alpha(0.6, 3, 0.0) == math.inf


def test_theorem3_side_by_side() -> None:
    t = c.theorem3(5, 3, 10, 0.5, 0.05, pairs=40, succ=2)
    assert t.as_stated == pytest.approx(100 * 2 * 15 * math.log(20) / 0.25)
    assert t.corrected == pytest.approx(100 * 2 * 40 * math.log(20) / 0.0625)
    assert t.corrected / t.as_stated == pytest.approx(t.pair_factor * t.eps_factor)
    assert t.log10_corrected == pytest.approx(math.log10(t.corrected))
    assert t.indicative and len(t.reasons) == 6


def test_theorem3_defaults_for_successors_and_pairs() -> None:
    t = c.theorem3(5, 3, 10, 0.5, 0.05, all_actions=7)
    assert (t.succ, t.pairs) == (5, 35)


def test_terminal_states_have_no_choices() -> None:
    """The lower bound is that of the states with actions; the upper ones keep all states, and pairs are given."""
    at = (10, 1e-5, 1e-4)
    assert b.lower(Size(18, 52, 2, terminal=5), *at) == b.lower(Size(13, 52, 2), *at)
    assert not b.lower(Size(8, 12, 2, 5), *at).valid and "not terminal" in b.lower(Size(8, 12, 2, 5), *at).why
    assert b.ucfh(Size(18, 52, 2, 5), 10, 1, 0.1) == b.ucfh(Size(18, 52, 2), 10, 1, 0.1)
    with pytest.raises(InvalidParameter, match="leave none"):
        b.lower(Size(5, 12, 2, 5), *at)
