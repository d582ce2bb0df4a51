"""Batched rules on numpy and torch, scrambles, goals, encodings, and colourings that are not a cube."""

import numpy as np
import pytest

from burnside.envs.cube import CubeSpec, apply_moves, scramble, solved
from burnside.envs.cube.core import children, draw_ansi, is_solved, move, one_hot
from burnside.envs.cube.geometry import FACES, representatives, symmetry_table
from burnside.envs.cube.pieces import check_states, parse_stickers
from burnside.errors import InvalidAction, InvalidModel, InvalidParameter, UnknownName

SPECS = [CubeSpec(2), CubeSpec(3), CubeSpec(4), CubeSpec(3, turns="slices"), CubeSpec(4, turns="slices")]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_moves_agree_in_every_shape_and_undo(spec: CubeSpec) -> None:
    states, _ = scramble(spec, np.arange(20), 15)
    assert states.dtype == np.uint8
    every = children(spec, states)
    assert every.shape == (20, spec.n_moves, spec.n_stickers) and every.dtype == np.uint8
    for a in range(spec.n_moves):
        assert np.array_equal(every[:, a], move(spec, states, a))
        assert np.array_equal(move(spec, every[:, a], a ^ 1), states)
    actions = np.arange(20) % spec.n_moves
    assert np.array_equal(move(spec, states, actions), every[np.arange(20), actions])
    assert np.array_equal(move(spec, states[0], 3), every[0, 3])
    assert np.array_equal(move(spec, states[:, None], np.arange(spec.n_moves)), every)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_torch_gives_what_numpy_gives(spec: CubeSpec) -> None:
    torch = pytest.importorskip("torch")
    states, _ = scramble(spec, np.arange(12), np.arange(12))
    tensor, actions = torch.as_tensor(states), np.arange(12) % spec.n_moves
    for ours, theirs in [
        (move(spec, states, actions), move(spec, tensor, torch.as_tensor(actions))),
        (children(spec, states), children(spec, tensor)),
        (is_solved(spec, states), is_solved(spec, tensor)),
        (one_hot(spec, states), one_hot(spec, tensor)),
        (apply_moves(spec, states, "R U"), apply_moves(spec, tensor, "R U")),
    ]:
        assert isinstance(theirs, torch.Tensor)
        assert np.array_equal(ours, theirs.numpy()) and theirs.numpy().dtype == ours.dtype


def test_scrambles_do_not_depend_on_the_batch_and_match_their_moves() -> None:
    spec = CubeSpec(3)
    states, moves = scramble(spec, np.arange(8), np.arange(8), episodes=5)
    for i in range(8):
        alone, own = scramble(spec, i, i, 5)
        assert np.array_equal(alone[0], states[i]) and own[0].tolist() == moves[i, :i].tolist()
        assert (moves[i, i:] == -1).all()
        assert np.array_equal(apply_moves(spec, solved(spec), moves[i, :i]), states[i])
    assert len(np.unique(scramble(spec, 0, 20, np.arange(100))[0], axis=0)) == 100
    counts = np.bincount(scramble(spec, 1, 1000, np.arange(24))[1].ravel(), minlength=12)
    assert (abs(counts - 2000) < 5 * np.sqrt(2000)).all()
    with pytest.raises(InvalidParameter, match="0 to 65535"):
        scramble(spec, 0, -1)


def test_goals() -> None:
    for n in (2, 3, 4):
        turned = solved(CubeSpec(n))[symmetry_table(n)[:24]]
        assert is_solved(CubeSpec(n, goal="any-orientation"), turned).all()
        assert is_solved(CubeSpec(n, goal="fixed"), turned).tolist() == [True] + [False] * 23
    both = [CubeSpec(3, goal=g) for g in ("fixed", "any-orientation")]
    states, _ = scramble(both[0], np.arange(2000), np.arange(2000) % 7)
    assert np.array_equal(is_solved(both[0], states), is_solved(both[1], states))
    assert 0 < is_solved(both[0], states).sum() < 2000


def test_one_hot_has_36_n_squared_entries() -> None:
    for n, size in ((2, 144), (3, 324), (4, 576), (5, 900)):
        spec = CubeSpec(n)
        x = one_hot(spec, scramble(spec, np.arange(3), 10)[0])
        assert x.shape == (3, size) and x.dtype == np.float32 and (x.reshape(3, -1, 6).sum(-1) == 1).all()


def test_bad_parameters() -> None:
    spec = CubeSpec(3)
    with pytest.raises(UnknownName, match="did you mean 'outer'"):
        CubeSpec(3, turns="outr")
    with pytest.raises(UnknownName, match="goal"):
        CubeSpec(3, goal="solved")
    with pytest.raises(InvalidAction, match="numbered 0…11"):
        move(spec, solved(spec), 12)
    with pytest.raises(InvalidAction, match="whole numbers"):
        move(spec, solved(spec), 1.5)
    with pytest.raises(InvalidModel, match="54 stickers"):
        is_solved(spec, np.zeros(24))


# What is wrong with a colouring.


@pytest.mark.parametrize("spec", [*SPECS, CubeSpec(6), CubeSpec(3, goal="any-orientation")], ids=str)
def test_every_reachable_state_passes(spec: CubeSpec) -> None:
    states, _ = scramble(spec, np.arange(200), 30)
    check_states(spec, states)
    if spec.goal == "any-orientation":
        check_states(spec, states[:, symmetry_table(spec.n)[7]])


def swapped(n: int, *pairs: tuple[int, int]) -> np.ndarray:
    state = solved(CubeSpec(n))
    for i, j in pairs:
        state[[i, j]] = state[[j, i]]
    return state


def test_impossible_cubes_are_named() -> None:
    spec = CubeSpec(3)
    state = solved(spec)
    state[4] = 1
    with pytest.raises(InvalidModel, match="state 0 has 8 stickers of colour U: each colour must occur 9 times"):
        check_states(spec, state)
    with pytest.raises(InvalidModel, match="one edge is flipped"):
        check_states(spec, swapped(3, (7, 10)))  # U7 and F1 are the edge UF
    with pytest.raises(InvalidModel, match="piece that does not exist: FRU at the corner URF"):
        check_states(spec, swapped(3, (8, 11)))  # mirrored colours
    with pytest.raises(InvalidModel, match="two pieces are exchanged"):
        check_states(spec, swapped(3, (10, 46)))  # UF and UR, by their other stickers
    twisted = solved(spec)
    twisted[[8, 45, 11]] = twisted[[11, 8, 45]]  # URF turned in its place
    with pytest.raises(InvalidModel, match="corners are twisted"):
        check_states(spec, np.stack([solved(spec), twisted]))
    small = solved(CubeSpec(2))
    small[[3, 20, 5]] = small[[5, 3, 20]]
    with pytest.raises(InvalidModel, match="corners are twisted"):
        check_states(CubeSpec(2), small)
    with pytest.raises(InvalidModel, match="outer turns"):
        check_states(CubeSpec(4), swapped(4, (5, 21)))  # centre stickers of U and F
    check_states(CubeSpec(4, turns="slices"), swapped(4, (5, 21)))
    with pytest.raises(InvalidModel, match="turned cube"):
        check_states(spec, solved(spec)[symmetry_table(3)[5]])
    with pytest.raises(InvalidModel, match="not a rotation"):
        check_states(spec, swapped(3, (4, 13)))
    with pytest.raises(InvalidModel, match="0 to 5"):
        check_states(spec, np.full(54, 6))


def test_duplicate_pieces_are_named() -> None:
    state = solved(CubeSpec(3))
    state[37], state[16] = 1, 4  # B of the edge UB becomes F, F of DF becomes B: UF and DB are there twice
    with pytest.raises(InvalidModel, match=r"edge piece .* 2 times"):
        check_states(CubeSpec(3), state)


def test_stickers_from_text() -> None:
    spec = CubeSpec(4)
    state = scramble(spec, 3, 20)[0][0]
    text = "".join(FACES[c] for c in state)
    assert np.array_equal(parse_stickers(text), state)
    assert np.array_equal(parse_stickers(" ".join(text[i : i + 16] for i in range(0, 96, 16)), spec), state)
    with pytest.raises(InvalidModel, match="letters U F L D B R, got W"):
        parse_stickers("W" * 24)
    with pytest.raises(InvalidModel, match="got 23 letters"):
        parse_stickers("U" * 23)
    assert len(representatives(4)) == 54


def test_drawing() -> None:
    spec = CubeSpec(3)
    text = draw_ansi(spec, apply_moves(spec, solved(spec), "U"))
    assert text.splitlines()[3] == "F F F R R R B B B L L L"
    assert "\x1b[" in draw_ansi(spec, solved(spec), colour=True)
