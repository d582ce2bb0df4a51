"""Placements against stickers: turns, symmetries and the inversion permute them as they should."""

import numpy as np
import pytest

from burnside.envs.cube import CubeSpec, CubeSymmetry, apply_moves, scramble, solved
from burnside.envs.cube.placements import placements
from burnside.envs.cube.symmetry import inverse_states
from burnside.errors import InvalidModel, InvalidParameter

SPECS = [CubeSpec(2), CubeSpec(3), CubeSpec(3, "slices"), CubeSpec(4, "slices"), CubeSpec(5, "slices")]


@pytest.mark.parametrize(
    ("spec", "counts"), list(zip(SPECS, [(8, 192), (20, 480), (26, 516), (56, 912), (98, 1380)], strict=True))
)
def test_turns_and_symmetries_are_those_of_the_stickers(spec: CubeSpec, counts: tuple[int, int]) -> None:
    world = placements(spec)
    assert (world.pieces, world.count) == counts
    states, moves = scramble(spec, np.arange(4), 30)
    rows = world.encode(states)
    for k in range(4):
        row = world.encode(solved(spec))
        for turn in moves[k]:
            row = world.on_turns[turn][row]
        assert (world.sorted(row) == rows[k]).all() and (world.decode(row) == states[k]).all()
    symmetry = CubeSymmetry(spec, "conjugation+mirror")
    for g in range(48):
        assert (world.sorted(world.on_symmetries[g][rows]) == world.encode(symmetry.act(g, states))).all()
    assert len(world.goals) == (24 if spec.goal == "any-orientation" else 1)


@pytest.mark.parametrize("n", [2, 3])
def test_the_inversion_and_turns_of_the_inverse(n: int) -> None:
    spec = CubeSpec(n)
    world = placements(spec)
    states, _ = scramble(spec, np.arange(5), 25)
    rows = world.encode(states)
    backwards = inverse_states(spec, states)
    assert (world.sorted(world.on_inverse[rows]) == world.encode(backwards)).all()
    for turn in (0, 7):
        after = inverse_states(spec, apply_moves(spec, backwards, [turn]))
        assert (world.sorted(world.on_left_turns[turn][rows]) == world.encode(after)).all()


def test_rotations_that_keep_the_colours_also_move_the_centres() -> None:
    spec = CubeSpec(3, goal="any-orientation")
    world = placements(spec, centres=True)
    states, _ = scramble(spec, np.arange(3), 20)
    symmetry = CubeSymmetry(spec, "position")
    for g in range(24):
        assert (
            world.sorted(world.on_positions[g][world.encode(states)]) == world.encode(symmetry.act(g, states))
        ).all()


def test_a_larger_cube_with_outer_turns_is_a_three_cube() -> None:
    moves = "R U F' L2 D B'"
    small, large = (apply_moves(CubeSpec(n), solved(CubeSpec(n)), moves) for n in (3, 6))
    assert (placements(CubeSpec(6)).encode(large) == placements(CubeSpec(3)).encode(small)).all()


def test_what_is_refused() -> None:
    world = placements(CubeSpec(3))
    state = solved(CubeSpec(3))
    state[0] = 3
    with pytest.raises(InvalidModel, match="a piece does not exist"):
        world.encode(state)
    with pytest.raises(InvalidParameter, match="no meaning"):
        _ = placements(CubeSpec(4, "slices")).on_inverse
    with pytest.raises(InvalidParameter, match="up to n=9"):
        placements(CubeSpec(12, "slices"))
