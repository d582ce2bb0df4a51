"""The audit: its JSON, the three factors, and where the paper's formula cannot be had."""

import json
import math

import numpy as np
import pytest

import burnside as bs
from burnside.errors import InvalidModel, InvalidParameter, NotVerified
from burnside.theory.bounds import Size, leading, ucfh

KEYS = {
    "model", "states", "pairs", "successors", "group", "verified", "quotient", "reachable", "factors", "attainable",
    "why", "bounds",
}  # fmt: skip


@pytest.mark.parametrize(
    ("symmetry", "order", "states", "pairs", "paper"),
    [("Z", 5, 80, 320, 5.0), ("D", 10, 42, 160, None), ("graph", 120, 13, 28, None)],
)
def test_ring_at_five(symmetry: str, order: int, states: int, pairs: int, paper: float | None) -> None:
    ring = bs.zoo.ring(n=5)
    found = bs.audit(ring, ring.symmetry(symmetry)).to_dict()
    assert set(found) >= KEYS
    assert (found["states"], found["pairs"], found["successors"]) == (400, 1600, 1)
    assert found["group"]["order"] == order
    assert found["quotient"] == {"states": states, "terminal_states": 0, "pairs": pairs, "successors": 1}
    assert found["factors"]["paper"] == paper
    assert found["factors"]["joint"] == pytest.approx(1600 / pairs)
    assert found["reachable"]["pairs"] == 1280
    assert found["factors"]["reachable"] == pytest.approx(1280 / found["reachable"]["quotient_pairs"])
    assert found["verified"]["ok"] and found["verified"]["exhaustive"] and found["verified"]["counterexample"] is None
    assert found["attainable"] is (paper is not None)
    json.dumps(found, allow_nan=False)


def test_fig2_as_the_paper_counts_it_and_as_it_is() -> None:
    found = bs.audit(bs.zoo.fig2())
    assert found.size.states * 4 * found.size.succ == 64
    assert found.quotient_size.pairs * found.quotient_size.succ == 16
    assert found.paper.value == 8 and not found.attainable
    assert "64 would become 8" in found.why and "= 16" in found.why
    doubled = bs.audit(bs.zoo.fig2(duplicates=True))
    assert doubled.group_order == 4
    assert doubled.quotient_size.pairs * doubled.quotient_size.succ == 8


def test_bandit_bound_by_the_formula_does_not_grow_but_the_exact_one_does() -> None:
    exact = [bs.audit(bs.zoo.bandit(n)).quotient_size.pairs for n in (4, 8, 16)]
    assert exact == [6, 10, 18]
    averages = [bs.audit(bs.zoo.bandit(n)) for n in (4, 8, 16)]
    for n, found in zip((4, 8, 16), averages, strict=True):
        assert found.paper.average is not None
        # |S̄|·|Ā| = 3·1 whatever n is
        assert n * (n + 2) / found.paper.average * found.paper.successors == pytest.approx(3)


def test_factors_are_ordered_as_proved() -> None:
    for name in bs.zoo.names():
        model = bs.zoo.make(name)
        symmetry = model.symmetry() if model.symmetries else bs.discover(model)
        found = bs.audit(model, symmetry)
        assert found.group_order is not None
        assert 1 <= found.joint <= found.group_order * (1 + 1e-12)
        assert found.reachable_factor is not None and found.reachable_factor <= found.joint * (1 + 1e-12)
        if found.paper.average is not None:  # (a) ≤ (b): the paper's count never exceeds the exact one
            assert found.paper.average >= found.joint * found.successor_factor * (1 - 1e-12)


def test_bounds_are_the_formulas_on_the_sizes() -> None:
    ring = bs.zoo.slip_ring(10)
    found = bs.audit(ring, eps=0.5, delta=0.05)
    bounds = found.bounds()
    assert bounds["M"]["joint"] == pytest.approx(leading(Size(100, 400, 2), 10, 0.5, 0.05))
    assert bounds["quotient"]["joint"] == pytest.approx(leading(Size(10, 40, 2), 10, 0.5, 0.05))
    assert bounds["quotient"]["explicit"] == pytest.approx(ucfh(Size(10, 40, 2), 10, 0.5, 0.05).episodes)
    assert bounds["M"]["paper"] == pytest.approx(10**2 * 2 * 400 * math.log(20) / 0.25)
    assert bounds["quotient"]["paper"] == pytest.approx(bounds["M"]["paper"] / 10)


def test_bounds_for_rewards_in_the_unit_interval_do_not_depend_on_units() -> None:
    ring, game = bs.zoo.ring(n=5), bs.zoo.ring_game(5)
    table, orbits = bs.audit(ring, ring.symmetry("Z")), bs.audit(game)
    assert table.reward_range == orbits.reward_range == 11.0
    assert table.bounds()["M"]["explicit"] == orbits.bounds()["M"]["explicit"]
    slip = bs.zoo.slip_ring(n=5)
    small = bs.TabularMDP(
        slip.P, slip.R * 1e-4, slip.p0, slip.H, pair_state=slip.pair_state, pair_action=slip.pair_action
    )
    for eps, valid in ((0.5, False), (1e-5, True)):
        one = bs.audit(slip, slip.symmetry("Z"), eps=eps, delta=1e-4).bounds()["M"]
        other = bs.audit(small, slip.symmetry("Z"), eps=eps * 1e-4, delta=1e-4).bounds()["M"]
        for name in ("explicit", "lower"):
            assert one[name] == (None if one[name] is None else pytest.approx(other[name], rel=1e-6))
        assert (one["lower"] is not None) is (other["lower"] is not None) is valid


def test_without_a_range_of_rewards_there_are_no_bounds_that_need_it() -> None:
    lights = bs.GraphMDP([[1, 3], [0, 2], [1, 3], [0, 2]], (0, 1), reward=lambda x, q, v: 7.0 * x[v], H=8)
    found = bs.audit(lights, bs.VertexSymmetry([[1, 2, 3, 0]]), eps=1e-5, delta=1e-4).bounds()["M"]
    assert found["explicit"] is None and found["lower"] is None and found["joint"] is not None
    with pytest.raises(InvalidModel, match="reward_range"):
        bs.GraphMDP([[1], [0]], (0, 1), reward_range=-1.0)


def test_goal_fixed_in_p0_leaves_nothing_to_save() -> None:
    found = bs.audit(bs.zoo.slip_ring(10, goal="fixed"))
    assert found.joint == 10 and found.reachable_factor == 1
    assert "a learner can save at most 1" in found.why


def test_huge_game_from_its_orbit_structure() -> None:
    found = bs.audit(bs.zoo.make("ring", n=50, d=3)).to_dict()
    assert found["factors"]["joint"] == found["factors"]["paper"] == 125_000
    assert found["group"]["order"] == 50**3 and found["attainable"] is True
    assert found["reachable"] is None and found["states"] is None
    assert found["log10"]["states"] == pytest.approx(2 * math.log10(50**3) + (50**3 - 1) * math.log10(2))
    assert not found["verified"]["exhaustive"]
    json.dumps(found, allow_nan=False)


def test_wrong_symmetry_is_refused_with_its_counterexample_or_stamped() -> None:
    grid = bs.zoo.grid(5)
    broken = grid.replace(R=grid.R + 0.25 * (np.arange(grid.n_pairs) == 3))
    with pytest.raises(NotVerified, match="is not a symmetry"):
        bs.audit(broken, grid.symmetry())
    found = bs.audit(broken, grid.symmetry(), trust=True)
    assert found.trusted and found.to_dict()["trusted"] is True
    assert found.verdict.eps_r == pytest.approx(0.25)
    near = bs.approximate(broken, grid.symmetry())
    assert found.averaged == {"eps_r": near.eps_r, "eps_p": near.eps_p, "regret_limit": near.bound}
    assert found.to_dict()["verified"]["averaged"] == found.averaged
    held = bs.audit(grid, grid.symmetry(), trust=True)
    assert not held.trusted and held.averaged is None and "does not hold" not in held.why


def test_what_an_untrue_symmetry_saves_is_not_attainable() -> None:
    n = 6
    P = np.zeros((n, 2, n))
    for s in range(n):
        P[s, 0, s - 1] = P[s, 1, (s + 1) % n] = 1
    walk = bs.TabularMDP.from_dense(P, np.eye(n)[:, :1].repeat(2, 1), np.eye(n)[0], 4, name="walk")
    found = bs.audit(walk, bs.Symmetry.from_actions(walk, [np.roll(np.arange(n), 1)], name="turns"), trust=True)
    assert found.paper.value == found.joint == 6 and found.attainable is False  # 5/6 from the mean of 1/6, H = 4
    assert "turns does not hold" in found.why and "generator 0" in found.why
    assert "ε_r = 0.833, ε_p = 0, so what is optimal there can lose up to 6.667" in found.why
    plain = found.to_dict()
    assert plain["attainable"] is False and plain["why"] == found.why and plain["trusted"] is True
    assert plain["verified"]["averaged"]["regret_limit"] == pytest.approx(2 * 4 * 5 / 6)
    json.dumps(plain, allow_nan=False)


def test_nor_are_the_orbits_of_a_game_without_that_symmetry() -> None:
    game = bs.GraphMDP([[1, 3], [0, 2], [1, 3], [0, 2]], (0, 1), reward=lambda x, q, v: float(q == 0), H=3)
    turn = bs.VertexSymmetry([[1, 2, 3, 0]], name="turn")
    with pytest.raises(NotVerified, match=r"turn is not a symmetry.*--trust"):
        bs.audit(game, turn)
    found = bs.audit(game, turn, trust=True)
    assert found.trusted and found.attainable is False and found.averaged is None
    assert "turn does not hold" in found.why and "in the sample ε_r = 1, ε_p = 0" in found.why
    with pytest.raises(InvalidParameter, match="audit takes a TabularMDP"):
        bs.audit("ring")  # type: ignore[arg-type]


def test_model_and_symmetry_must_belong_together() -> None:
    with pytest.raises(InvalidParameter):
        bs.audit(bs.zoo.ring(5), bs.zoo.ring_game(5).symmetry())  # type: ignore[arg-type]


def test_order_beyond_json_readers_is_given_by_its_logarithm() -> None:
    ring = bs.zoo.ring(n=8)
    found = bs.audit(ring, bs.discover(ring)).to_dict()
    assert found["group"]["order"] is None and found["group"]["log10_order"] > 1000
    assert found["quotient"]["states"] <= 528
    json.dumps(found, allow_nan=False)


# ---------------------------------------------------------------------- tables of others


@pytest.mark.parametrize(
    ("name", "states", "terminal", "pairs", "classes", "reached", "acting"),
    [
        ("FrozenLake-v1", 16, 5, 44, 42, (44, 42), 4),
        ("FrozenLake8x8-v1", 64, 11, 212, 209, (212, 209), 8),
        ("CliffWalking-v1", 48, 1, 188, 167, (148, 145), 8),
    ],
)
def test_terminal_states_of_a_gymnasium_table_offer_no_choices(
    name: str, states: int, terminal: int, pairs: int, classes: int, reached: tuple[int, int], acting: int
) -> None:
    pytest.importorskip("gymnasium")
    mdp = bs.TabularMDP.from_gym(name)
    found = bs.audit(mdp, bs.discover(mdp))
    plain = found.to_dict()
    assert (plain["states"], plain["terminal_states"], plain["pairs"]) == (states, terminal, pairs)
    assert plain["quotient"]["pairs"] == classes and plain["factors"]["joint"] == pairs / classes
    assert (plain["reachable"]["pairs"], plain["reachable"]["quotient_pairs"]) == reached
    assert plain["group"]["acting_order"] == acting  # equal actions in a few states, whatever others there are
    literal = bs.TabularMDP.from_gym(name, terminal_actions=True)
    more = bs.audit(literal, bs.discover(literal)).to_dict()
    assert more["pairs"] > pairs and more["group"]["order"] > plain["group"]["order"]
    if name == "FrozenLake-v1":
        assert (more["pairs"], more["quotient"]["pairs"]) == (64, 47)
        assert more["group"]["order"] == 31_850_496 == 24**5 * 4


def test_terminal_states_do_not_count_in_the_formulas() -> None:
    """Two rooms, mirror images of each other, with a door each: only the states with choices count."""
    P = np.zeros((4, 4))
    P[[0, 1, 2, 3], [1, 2, 0, 3]] = 1  # in either room: change rooms, or leave by its own door
    mdp = bs.TabularMDP(P, [0, 1, 0, 1], [0.5, 0.5, 0, 0], 5, pair_state=[0, 0, 1, 1])
    mirror = bs.Symmetry([[1, 0, 3, 2]], [[2, 3, 0, 1]], name="mirror", order=2)
    found = bs.audit(mdp, mirror)
    assert found.paper.value == 2 and found.attainable and found.joint == 2 and found.acting_order == 2
    # a third door that no room has: its orbit is of another size, and changes nothing
    wide = bs.TabularMDP(
        np.hstack([P, np.zeros((4, 1))]), [0, 1, 0, 1], [0.5, 0.5, 0, 0, 0], 5, pair_state=[0, 0, 1, 1]
    )
    other = bs.audit(wide, bs.Symmetry([[1, 0, 3, 2, 4]], [[2, 3, 0, 1]], order=2))
    assert other.paper.value == 2 and other.paper.average == 2 and other.attainable
    assert other.bounds()["M"]["paper"] == found.bounds()["M"]["paper"] == found.bounds()["M"]["joint"]
    assert other.size.terminal == 3 and other.quotient_size.terminal == 2


def test_what_moves_terminal_states_only_is_not_in_the_order() -> None:
    P = np.array([[0.5, 0.25, 0.25]])
    mdp = bs.TabularMDP(P, [1.0], [1, 0, 0], 2, pair_state=[0])
    found = bs.audit(mdp, bs.discover(mdp))
    assert (found.group_order, found.acting_order) == (2, 1)


def test_a_model_whose_episodes_are_over_before_they_begin() -> None:
    """From p₀ nothing is ever chosen: there is no pair to reach, and none to save."""
    mdp = bs.TabularMDP([[1.0, 0.0]], [1.0], [0.0, 1.0], 3, pair_state=[0])
    found = bs.audit(mdp, bs.discover(mdp))
    assert found.reachable is not None and found.reachable["pairs"] == 0
    assert found.to_dict()["factors"]["reachable"] == 1.0
