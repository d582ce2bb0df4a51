"""Keys, puzzles and input checks of the searches."""

import numpy as np
import pytest

from burnside.envs.cube import CubeSpec, CubeSymmetry, scramble, solved
from burnside.envs.cube.core import children
from burnside.errors import InvalidModel, InvalidParameter, NotVerified
from burnside.search import AStarConfig, BeamConfig, CubePuzzle, astar, beam, greedy
from burnside.search.puzzle import pack_keys


@pytest.mark.parametrize("spec", [CubeSpec(2), CubeSpec(3), CubeSpec(5), CubeSpec(4, turns="slices")])
def test_children_are_those_of_the_cube(spec: CubeSpec) -> None:
    states, _ = scramble(spec, seeds=range(20), lengths=9)
    assert (CubePuzzle(spec).children(states) == children(spec, states)).all()


@pytest.mark.parametrize("spec", [CubeSpec(2), CubeSpec(3), CubeSpec(4), CubeSpec(4, turns="slices")])
def test_keys_differ_exactly_where_states_do(spec: CubeSpec) -> None:
    states, _ = scramble(spec, seeds=np.arange(3000) % 7, lengths=np.arange(3000) % 5, episodes=np.arange(3000) % 50)
    keys = CubePuzzle(spec).keys(states)
    _, by_state = np.unique(states, axis=0, return_inverse=True)
    _, by_key = np.unique(keys, axis=0, return_inverse=True)
    assert len(np.unique(by_state)) > 100
    assert len(np.unique(np.stack([by_state, by_key]), axis=1).T) == by_state.max() + 1 == by_key.max() + 1


def test_packing_fills_words_and_no_more() -> None:
    top = np.full((1, 25), 5, np.uint8)
    assert pack_keys(top[:, :24], 6).tolist() == [[6**24 - 1]]
    assert pack_keys(top, 6).tolist() == [[6**24 - 1, 5]]
    assert pack_keys(np.full((1, 8), 255, np.uint8), 256).tolist() == [[2**64 - 1]]
    with pytest.raises(InvalidParameter, match="2 to 256 values"):
        pack_keys(top, 1)


def zero(states: np.ndarray) -> np.ndarray:
    return np.zeros(len(states), np.float32)


def test_bad_input_is_one_sentence() -> None:
    spec = CubeSpec(3)
    puzzle, state = CubePuzzle(spec), solved(spec)
    with pytest.raises(InvalidModel, match="uint8"):
        astar(puzzle, state.astype(np.int64), zero)
    with pytest.raises(InvalidModel, match="takes one state, got shape"):
        astar(puzzle, solved(spec, 2), zero)
    with pytest.raises(InvalidModel, match="n=3 has 54 stickers, got 24"):
        beam(puzzle, solved(CubeSpec(2)), zero)
    with pytest.raises(InvalidParameter, match="cap must be"):
        AStarConfig(cap=0)
    with pytest.raises(InvalidParameter, match="memory must be"):
        BeamConfig(memory=-1)
    with pytest.raises(InvalidParameter, match="depth must be"):
        greedy(puzzle, state, zero, depth=0)
    scrambled, _ = scramble(spec, [1], [3])
    with pytest.raises(InvalidParameter, match="one number per state: 1 states"):
        astar(puzzle, scrambled, lambda states: np.zeros((len(states), 1)))
    with pytest.raises(InvalidParameter, match="not finite"):
        greedy(puzzle, scrambled, lambda states: np.full(len(states), np.nan))


def test_forms_that_do_not_fit_are_refused() -> None:
    state, _ = scramble(CubeSpec(3), [1], [3])
    with pytest.raises(InvalidParameter, match="n=4 and outer turns, the puzzle has n=3"):
        astar(CubePuzzle(CubeSpec(3)), state, zero, canonical=CubeSymmetry(CubeSpec(4)).canonicalizer)
    fixed = CubeSpec(2, goal="fixed")
    state, _ = scramble(fixed, [1], [3])
    with pytest.raises(NotVerified, match="any-orientation"):
        beam(CubePuzzle(fixed), state, zero, canonical=CubeSymmetry(fixed, "position").canonicalizer)
