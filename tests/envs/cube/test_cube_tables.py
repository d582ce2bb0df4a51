"""Counts per depth with and without symmetry, the exact table of the 2-cube, inverse and value differences."""

import time

import numpy as np
import pytest

from burnside.envs.cube import CubeCanonicalizer, CubeSpec, CubeSymmetry, apply_moves, scramble, solved
from burnside.envs.cube.core import children, is_solved
from burnside.envs.cube.geometry import collapse, symmetry_table
from burnside.envs.cube.symmetry import inverse_states
from burnside.envs.cube.tables import TWO_STATES, ball, layers, two_index, two_states, two_table, two_values
from burnside.errors import InvalidModel, InvalidParameter

TWO_RAW = (1, 12, 114, 924, 6_539, 39_528, 199_926, 806_136)
TWO_CANONICAL = (1, 6, 27, 120, 534, 2_256, 8_969, 33_058, 114_149, 360_508, 930_588, 1_350_852, 782_536, 90_280, 276)
THREE = (1, 12, 114, 1_068, 10_011, 93_840, 878_880)
MOD_24 = (1, 2, 8, 50, 433, 3_956, 36_769)
MOD_48 = (1, 1, 5, 25, 219, 1_978, 18_395)
MOD_96 = (1, 1, 5, 17, 130)


def test_two_cube_raw_and_position() -> None:
    found = layers(CubeSpec(2), 6, "position")
    assert found.raw == TWO_RAW[:7] and found.canonical == TWO_CANONICAL[:7]
    assert [round(x, 1) for x in found.ratios] == [1.0, 1.9, 3.7, 6.8, 11.0, 16.0, 20.7]


@pytest.mark.slow
def test_two_cube_deeper() -> None:
    assert layers(CubeSpec(2), 7).raw == TWO_RAW
    found = layers(CubeSpec(2), 7, "position")
    assert found.canonical == TWO_CANONICAL[:8] and round(found.ratios[7], 1) == 23.4


@pytest.mark.parametrize("n", [3, 4, 5])
def test_position_merges_nothing_with_outer_turns(n: int) -> None:
    depth = 5 if n == 3 else 4
    found = layers(CubeSpec(n), depth, "position")
    assert found.raw == found.canonical == THREE[: depth + 1]
    assert found.ratios[-1] == 1.0


@pytest.mark.parametrize("n", [3, 4])
def test_conjugation_counts(n: int) -> None:
    assert layers(CubeSpec(n), 5, "conjugation").canonical == MOD_24[:6]
    assert layers(CubeSpec(n), 5, "conjugation+mirror").canonical == MOD_48[:6]
    assert layers(CubeSpec(n), 4, "conjugation+mirror+inverse").canonical == MOD_96


@pytest.mark.slow
def test_depth_six_ball_of_the_3_cube() -> None:
    states, distances = ball(CubeSpec(3), 6)
    assert states.shape == (983_926, 54) and np.bincount(distances).tolist() == list(THREE)
    for name, counts in (("conjugation", MOD_24), ("conjugation+mirror", MOD_48)):
        found = layers(CubeSpec(3), 6, name)
        assert found.canonical == counts
        assert round(found.raw[6] / found.canonical[6], 1) == {"conjugation": 23.9, "conjugation+mirror": 47.8}[name]


def test_slice_turns_make_position_a_real_quotient() -> None:
    found = layers(CubeSpec(4, "slices"), 4, "position")
    assert found.raw == (1, 24, 468, 9_000, 172_914) and found.canonical == (1, 24, 450, 8_328, 154_035)
    found = layers(CubeSpec(3, "slices"), 4, "position")
    assert found.raw[4] == 52_220 and found.canonical is not None and found.canonical[4] == 42_815


@pytest.mark.parametrize("n", [4, 5])
def test_larger_cubes_are_the_3_cube(n: int) -> None:
    small, big = CubeSpec(3), CubeSpec(n)
    one, moves = scramble(small, np.arange(1000), 100)
    other, same = scramble(big, np.arange(1000), 100)
    assert np.array_equal(moves, same) and np.array_equal(other, one[:, collapse(n)])
    assert np.array_equal(is_solved(small, one), is_solved(big, other))


def test_inverse_keeps_the_layers_of_the_3_cube() -> None:
    spec = CubeSpec(3)
    states, distances = ball(spec, 4)
    known = {s.tobytes(): int(d) for s, d in zip(states, distances, strict=True)}
    assert all(known[s.tobytes()] == d for s, d in zip(inverse_states(spec, states), distances, strict=True))


def test_ball_is_in_order_and_exact() -> None:
    states, distances = ball(CubeSpec(3), 3)
    assert len(np.unique(states, axis=0)) == len(states) == sum(THREE[:4])
    best = np.full(len(states), 99)
    number = {s.tobytes(): i for i, s in enumerate(states)}
    for i, row in enumerate(children(CubeSpec(3), states)):
        best[i] = min(int(distances[number[s.tobytes()]]) for s in row if s.tobytes() in number)
    assert (best[1:] == distances[1:] - 1).all()
    with pytest.raises(InvalidParameter, match="depth"):
        ball(CubeSpec(3), -1)


# The exact table.


def test_exact_table_of_the_2_cube() -> None:
    two_table()
    two_table.cache_clear()
    start = time.perf_counter()
    table = two_table()
    assert time.perf_counter() - start < 20  # well below a second on an idle machine
    assert table.dtype == np.int8 and len(table) == TWO_STATES == sum(TWO_CANONICAL)
    assert tuple(np.bincount(table).tolist()) == TWO_CANONICAL


def test_numbers_of_two_cubes() -> None:
    spec = CubeSpec(2)
    index = np.random.default_rng(0).integers(TWO_STATES, size=20_000)
    states = two_states(index)
    assert np.array_equal(two_index(states), index)
    turned = states[:, symmetry_table(2)[:24]]  # every rotation has the same number
    assert (two_index(turned[:2000]) == index[:2000, None]).all()
    assert two_index(solved(spec)) == 0 and two_states(0).tolist() == solved(spec).tolist()
    assert two_index(states.reshape(100, 200, 24)).shape == (100, 200)


def test_values_satisfy_the_bellman_equation() -> None:
    spec = CubeSpec(2)
    states = scramble(spec, np.arange(5000), np.arange(5000) % 30)[0]
    value = two_values(states)
    assert np.array_equal(value == 0, is_solved(spec, states))
    after = two_values(children(spec, states)).min(axis=1)
    assert (after[value > 0] == value[value > 0] - 1).all()
    depth = np.arange(5000) % 30
    assert (value <= depth).all()
    for symmetry in ("position", "conjugation+mirror", "conjugation+mirror+inverse"):
        assert np.array_equal(two_values(CubeCanonicalizer(CubeSymmetry(spec, symmetry))(states)[0]), value)


def test_one_goal_orientation_changes_values_within_seven_moves() -> None:
    # the trap: R·L' is two turns from the goal 'fixed' and none from the goal in any orientation
    states, distances = ball(CubeSpec(2, goal="fixed"), 5)
    gap = distances - two_values(states)
    assert set(np.unique(gap).tolist()) == {0, 2, 4}
    assert two_values(apply_moves(CubeSpec(2), solved(CubeSpec(2)), "R L'")) == 0


@pytest.mark.slow
def test_values_with_one_goal_orientation_differ_on_52115_states() -> None:
    # of the 24 orientations of all states up to value 7, those not equally near to the one goal
    states, distances = ball(CubeSpec(2, goal="fixed"), 7)
    value = two_values(states)
    assert 24 * sum(TWO_CANONICAL[:8]) - (value == distances).sum() == 52_115
    assert set(np.unique(distances - value).tolist()) <= {0, 2, 4, 6}


def test_inverse_keeps_values_but_not_the_number_of_best_moves() -> None:
    spec = CubeSpec(2)
    states = two_states(np.random.default_rng(1).integers(TWO_STATES, size=20_000))
    back = inverse_states(spec, states)
    assert np.array_equal(two_values(states), two_values(back))
    best = [(two_values(children(spec, s)) == two_values(s)[:, None] - 1).sum(axis=1) for s in (states, back)]
    assert abs((best[0] != best[1]).mean() - 0.468) < 0.02


@pytest.mark.slow
def test_inverse_keeps_every_value_of_the_2_cube() -> None:
    table = two_table()
    for part in np.array_split(np.arange(TWO_STATES), 20):
        assert np.array_equal(two_values(inverse_states(CubeSpec(2), two_states(part))), table[part])


@pytest.mark.slow
def test_conjugation_after_position_at_n_2() -> None:
    spec = CubeSpec(2)
    symmetry = CubeSymmetry(spec, "conjugation+mirror")
    counts = {24: 0, 48: 0}
    for part in np.array_split(np.arange(TWO_STATES), 20):
        for order in counts:
            states, least = two_states(part), part.copy()
            for g in range(order - 24, order):
                least = np.minimum(least, two_index(symmetry.colours[g][states[:, symmetry.perms[g]]]))
            part = part[least == part]  # the mirrors need only be tried on what represents a class of the rotations
            counts[order] += len(part)
    assert counts == {24: 154_608, 48: 77_802}


def test_what_is_wrong_with_a_2_cube() -> None:
    state = solved(CubeSpec(2))
    with pytest.raises(InvalidModel, match="state 0 has a corner that does not exist"):
        two_index(np.zeros(24, np.uint8))
    twisted = state.copy()
    twisted[[3, 20, 5]] = twisted[[5, 3, 20]]
    with pytest.raises(InvalidModel, match="state 1 cannot be solved: a single corner is twisted"):
        two_index(np.stack([state, twisted]))
    double = state.copy()
    double[[2, 4, 9]] = state[[3, 20, 5]][[0, 1, 2]]  # URF also at UFL
    with pytest.raises(InvalidModel, match="twice"):
        two_index(double)
    with pytest.raises(InvalidModel, match="0 to 5"):
        two_index(np.full(24, 7))
    with pytest.raises(InvalidParameter, match="3674159"):
        two_states(TWO_STATES)


def test_layers_as_plain_values() -> None:
    assert layers(CubeSpec(3), 1).to_dict() == {"raw": [1, 12], "canonical": None}
    assert layers(CubeSpec(3), 1).ratios == (1.0, 1.0)
