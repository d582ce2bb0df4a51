"""Stickers, turns and rotations from integer geometry; notation; the paper's lifting from n = 2."""

import numpy as np
import pytest

from burnside.envs.cube import geometry as geo
from burnside.envs.cube.core import CubeSpec, apply_moves, solved
from burnside.envs.cube.notation import format_moves, move_names, parse_moves
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.groups import Group
from burnside.groups.permutations import inverse

SIZES = (2, 3, 4, 5, 6)


@pytest.mark.parametrize("n", SIZES)
def test_turns_are_permutations_of_order_four_moving_one_layer(n: int) -> None:
    table = geo.turn_table(n, slices=True)
    assert table.shape == (6 * n if n > 2 else 12, 6 * n * n)
    start = np.arange(6 * n * n)
    for a, perm in enumerate(table):
        assert np.array_equal(np.sort(perm), start)
        assert np.array_equal(perm[perm][perm[perm]], start) and not np.array_equal(perm[perm], start)
        assert np.array_equal(perm[table[a ^ 1]], start)  # X and X' are neighbours in the list
        outer = geo.turns(n, slices=True)[a][1] == 0
        # a side layer shows 4n stickers; the outer one also its face, of which an odd centre stays
        assert (perm != start).sum() == 4 * n + (n * n - n % 2 if outer else 0)


def test_the_convention_is_that_place_i_receives_what_was_at_perm_i() -> None:
    # R brings the right column of F (stickers 11, 14, 17) to the right column of U (2, 5, 8)
    right = geo.turn_table(3)[move_names(3).index("R")]
    assert right[[2, 5, 8]].tolist() == [11, 14, 17]
    # U brings the upper row of R to the upper row of F; and L, F, D in the same way
    up = geo.turn_table(3)[move_names(3).index("U")]
    assert up[[9, 10, 11]].tolist() == [45, 46, 47]
    front = geo.turn_table(3)[move_names(3).index("F")]
    assert front[[45, 48, 51]].tolist() == [6, 7, 8]  # the lower row of U goes to the left column of R
    assert move_names(3) == ("U", "U'", "F", "F'", "L", "L'", "D", "D'", "B", "B'", "R", "R'")


@pytest.mark.parametrize(("text", "order"), [("R U R' U'", 6), ("R U", 105), ("R U2 D' B D'", 1260), ("R L'", 4)])
def test_known_orders_of_sequences(text: str, order: int) -> None:
    spec = CubeSpec(3)
    state, start = solved(spec), np.arange(54)
    perm = apply_moves(spec, start, text)
    count, current = 1, perm
    while not np.array_equal(current, start):
        current, count = current[perm], count + 1
    assert count == order
    assert state.shape == (54,)


def test_matrices_are_the_octahedral_group() -> None:
    assert len({m.tobytes() for m in geo.matrices()}) == 48
    assert Group.from_permutations(geo.symmetry_table(2)[:24]).order == 24 == Group.octahedral().order
    assert Group.from_permutations(geo.symmetry_table(3)).order == 48 == Group.octahedral(full=True).order
    product, back = geo.products(), geo.inverse_elements()
    assert (product[np.arange(48), back] == 0).all() and (product[:24, :24] < 24).all()


@pytest.mark.parametrize("n", SIZES)
def test_tables_are_left_actions(n: int) -> None:
    table, colours, moves = geo.symmetry_table(n), geo.colour_table(), geo.turn_image(n, True)
    rng = np.random.default_rng(n)
    x = rng.integers(6, size=6 * n * n)
    for g, h in rng.integers(48, size=(60, 2)):
        gh = geo.products()[g, h]
        assert np.array_equal(x[table[h]][table[g]], x[table[gh]])
        assert np.array_equal(colours[g][colours[h]], colours[gh])
        assert np.array_equal(moves[g][moves[h]], moves[gh])


@pytest.mark.parametrize("n", SIZES)
def test_turns_are_conjugated_by_every_element(n: int) -> None:
    table, turn, image = geo.symmetry_table(n), geo.turn_table(n, True), geo.turn_image(n, True)
    start = np.arange(6 * n * n)
    for g in range(48):
        for a in range(len(turn)):  # g·(s·a) = (g·s)·(g·a) on labelled stickers
            assert np.array_equal(start[turn[a]][table[g]], start[table[g]][turn[image[g, a]]])


@pytest.mark.parametrize("n", SIZES)
def test_moves_make_two_orbits_of_six_and_one_of_twelve_with_mirrors(n: int) -> None:
    image = geo.turn_image(n)
    assert {frozenset(image[:24, a]) for a in range(12)} == {frozenset(range(0, 12, 2)), frozenset(range(1, 12, 2))}
    assert {frozenset(image[:, a]) for a in range(12)} == {frozenset(range(12))}


@pytest.mark.parametrize("n", SIZES)
def test_the_papers_lifting_gives_the_same_24_rotations(n: int) -> None:
    lifted = geo.paper_rotations(n)
    assert lifted.shape == (24, 6 * n * n)
    assert {row.tobytes() for row in lifted} == {row.tobytes() for row in geo.symmetry_table(n)[:24]}


def test_r_and_l_prime_are_a_rotation_at_n_2_only() -> None:
    for n in SIZES:
        perm = apply_moves(CubeSpec(n), np.arange(6 * n * n), "R L'")
        assert any(np.array_equal(perm, row) for row in geo.symmetry_table(n)[:24]) == (n == 2)


@pytest.mark.parametrize("n", [4, 5, 6])
def test_outer_turns_are_those_of_the_3_cube(n: int) -> None:
    pi = geo.collapse(n)
    assert np.array_equal(pi[geo.representatives(n)], np.arange(54))
    for big, small in ((geo.turn_table(n), geo.turn_table(3)), (geo.symmetry_table(n), geo.symmetry_table(3))):
        colours = np.random.default_rng(0).integers(6, size=54)
        colours[4::9] = np.arange(6)  # centre blocks are of one colour
        for p, q in zip(big, small, strict=True):
            assert np.array_equal(colours[pi][p], colours[q][pi])


def test_notation_round_trip_and_errors() -> None:
    for n in SIZES:
        for slices in (False, True):
            every = list(range(len(geo.turns(n, slices))))
            assert parse_moves(format_moves(every, n, slices), n, slices) == every
    assert parse_moves("R2 U’, F2'") == [10, 10, 1, 3, 3]
    assert parse_moves("4R 1U", n=4, slices=True) == parse_moves("L' U", n=4, slices=True)
    assert parse_moves("S E' 3F", n=5, slices=True) == [
        move_names(5, True).index("S"),
        move_names(5, True).index("E'"),
        move_names(5, True).index("S"),
    ]
    for bad in ("X", "R3", "RU", "r", "5R", "M"):
        with pytest.raises(UnknownName):
            parse_moves(bad, n=4)
    with pytest.raises(InvalidAction, match="inner layer"):
        parse_moves("M")
    with pytest.raises(InvalidAction, match="numbered 0…11"):
        format_moves([12])
    for n in (1, 0, 2.5, 41):
        with pytest.raises(InvalidParameter, match="whole number of layers"):
            CubeSpec(n)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="no edges"):
        geo.collapse(2)


def test_tables_cannot_be_changed_by_accident() -> None:
    with pytest.raises(ValueError, match="read-only"):
        geo.turn_table(3)[0, 0] = 1
    assert np.array_equal(inverse(geo.turn_table(3)[0]), geo.turn_table(3)[1])
