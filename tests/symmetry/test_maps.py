"""Maps as values: what they do, against brute force; how they print, compare, are written and refuse nonsense."""

import json
import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnside.errors import BurnsideError, InvalidAction, InvalidParameter, UnknownName
from burnside.symmetry import Affine, Image, Labels, MultiLabels, Rotation, Shift, SignedPermutation, Stack, Trivial
from burnside.symmetry.base import as_representation, from_data, to_data

WALKER = "0,1,5,6,7,2,3,4,8,9,10,14,15,16,11,12,13"


@st.composite
def signed(draw: Any, n: int = 5) -> SignedPermutation:
    index = draw(st.permutations(range(n)))
    return SignedPermutation(index, draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))


@given(signed(), signed())
def test_signed_permutations_are_matrices(a: SignedPermutation, b: SignedPermutation) -> None:
    x = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    for i, token in enumerate(str(a).split(",")):  # new[i] = ±old[index], read off the text by other means
        assert a(x)[i] == (-1 if token.startswith("-") else 1) * x[int(token.lstrip("-"))]
    assert np.array_equal(a(x), a.matrix() @ x)
    assert np.array_equal((a @ b).matrix(), a.matrix() @ b.matrix())
    assert (a @ a.inverse()) == a.identity() and a**-1 == a.inverse()
    assert SignedPermutation(str(a)) == a and hash(SignedPermutation(str(a))) == hash(a)
    assert np.array_equal(np.linalg.matrix_power(a.matrix(), a.order()), np.eye(5))
    assert np.array_equal((a + b).matrix(), np.block([[a.matrix(), np.zeros((5, 5))], [np.zeros((5, 5)), b.matrix()]]))


def test_minus_zero_is_a_sign() -> None:
    flip = SignedPermutation("-0,1")
    assert str(flip) == "-0,1" and flip(np.array([3.0, 4.0])).tolist() == [-3.0, 4.0]
    assert SignedPermutation(["-0", "1"]) == SignedPermutation("−0, 1") == SignedPermutation([0, 1], [-1, 1]) == flip
    assert SignedPermutation("- +") == flip and SignedPermutation("[-0, 1]") == flip


def test_by_name_and_by_slices() -> None:
    names = ["x", "left_hip", "left_knee", "right_hip", "right_knee"]
    by_name = SignedPermutation.by_names(names, {"left_hip": "-right_hip", "left_knee": "right_knee", "x": "-x"})
    by_slices = SignedPermutation.by_slices(5, swap=[((1, 3), (3, 5))], flip=[0, 1, 3])
    assert str(by_name) == str(by_slices) == "-0,-3,4,-1,2"
    with pytest.raises(UnknownName, match="right_knee"):
        SignedPermutation.by_names(names, {"left_knee": "right_kne"})
    with pytest.raises(InvalidParameter, match="cannot change places"):
        SignedPermutation.by_slices(4, swap=[((0, 2), (2, 5))])


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("0,0,1", "index 0 is used 2 times and index 2 never"),
        ("0,3", "names index 3; indices run from 0 to 1"),
        ("", "permutation of no numbers"),
        ("0,1.5", "'1.5' in '0,1.5' is not an index"),
        ("0,a", "not an index"),
        ([0, True], "not an index"),
    ],
)
def test_what_is_no_permutation(spec: Any, sentence: str) -> None:
    with pytest.raises(InvalidAction, match=sentence):
        SignedPermutation(spec)


def test_types_are_kept_or_refused() -> None:
    swap, flip = SignedPermutation("1,0"), SignedPermutation("0,-1")
    for dtype in (np.float32, np.float64, np.int8, np.int64, np.float16):
        assert swap(np.array([1, 2], dtype)).dtype == flip(np.array([1, 2], dtype)).dtype == dtype
    assert swap(np.array([1, 2], np.uint8)).dtype == np.uint8
    assert swap(np.array([True, False])).tolist() == [False, True]
    for map_ in (flip, SignedPermutation("- -")):
        with pytest.raises(InvalidParameter, match="uint8 have none"):
            map_(np.array([1, 2], np.uint8))
    with pytest.raises(InvalidParameter, match="needs 2 numbers on the last axis"):
        swap(np.zeros(3))


def test_one_hot_vectors_follow_their_labels() -> None:
    turn = Labels("1,2,0")
    for a in range(3):
        assert np.array_equal(turn.one_hot()(np.eye(3)[a]), np.eye(3)[turn(a)])
    late = Labels("1,0", start=5)
    assert late(5) == 6 and late(np.array([5, 6])).tolist() == [6, 5]
    with pytest.raises(InvalidParameter, match="numbered 5…6"):
        late(4)
    with pytest.raises(InvalidParameter, match=r"numbered 0…2"):
        turn(-1)
    with pytest.raises(InvalidAction, match="have no signs"):
        Labels("-1,0")
    assert Labels.by_names(["noop", "left", "main", "right"], {"left": "right"}) == Labels("0,3,2,1")


@given(st.permutations(range(3)), st.permutations(range(3)), st.permutations(range(2)), st.permutations(range(2)))
def test_several_labels(p: Any, q: Any, t: Any, u: Any) -> None:
    a, b = MultiLabels([t, None, u], places=p), MultiLabels([u, t, None], places=q)
    for x in np.ndindex(2, 2, 2):
        point = np.array(x)
        assert np.array_equal((a @ b)(point), a(b(point)))
        assert np.array_equal(a.inverse()(a(point)), point)


@pytest.mark.parametrize("channels", ["first", "last", "none"])
def test_images_are_turned_pixel_by_pixel(channels: str) -> None:
    """Pixel (row, column) stands at x = column, y = −row; a turn of the plane must carry its value along."""
    size, rng = 4, np.random.default_rng(0)
    picture = rng.integers(0, 255, size=(size, size, 2)).astype(np.uint8)
    shown = {"first": np.moveaxis(picture, -1, 0), "last": picture, "none": picture[..., 0]}[channels]
    middle = (size - 1) / 2
    quarter = np.array([[0, -1], [1, 0]])
    matrices = {
        "turn": quarter, "half_turn": quarter @ quarter, "turn_back": quarter.T, "flip_lr": np.diag([-1, 1]),
        "flip_ud": np.diag([1, -1]), "identity": np.eye(2, dtype=int), "transpose": np.array([[0, -1], [-1, 0]]),
        "anti_transpose": np.array([[0, 1], [1, 0]]),
    }  # fmt: skip
    for op, matrix in matrices.items():
        moved = Image(op, channels)(shown)
        assert moved.dtype == np.uint8 and moved.shape == shown.shape
        for r in range(size):
            for c in range(size):
                x, y = matrix @ np.array([c - middle, middle - r])
                new = (round(middle - y), round(x + middle))
                colour = (slice(None),) if channels == "first" else ()
                assert np.array_equal(shown[(*colour, r, c)], moved[(*colour, *new)])
        for other, matrix2 in matrices.items():
            product = Image(op, channels) @ Image(other, channels)
            assert np.allclose(matrices[product.op], matrix @ matrix2)  # type: ignore[attr-defined]
            assert np.array_equal(product(shown), Image(op, channels)(Image(other, channels)(shown)))
    assert np.array_equal(Image("transpose", "none")(picture[..., 0]), picture[..., 0].T)


def test_images_that_cannot_turn() -> None:
    with pytest.raises(InvalidParameter, match="square images, got 3 × 4"):
        Image("turn")(np.zeros((3, 4, 1)))
    assert Image("flip_lr")(np.zeros((3, 4, 1))).shape == (3, 4, 1)
    with pytest.raises(UnknownName, match="flip_lr"):
        Image("flip_rl")
    with pytest.raises(InvalidParameter, match="needs images with 3 axes"):
        Image("turn")(np.zeros((3, 3)))


def test_shifts_and_phases() -> None:
    step = Shift(0.5, period=1.0, low=0.0, width=2)
    assert np.allclose(step(np.array([0.25, 0.75])), [0.75, 0.25]) and step.order() == 2
    back = Shift(np.pi, sign=-1)
    theta = np.array([[0.3], [-3.0]])
    assert np.allclose(np.exp(1j * back(theta)), np.exp(1j * (np.pi - theta)))
    assert (back(theta) >= -np.pi).all() and (back(theta) < np.pi).all()
    assert Shift(0.0, period=np.inf, sign=-1)(np.array([100.0])).tolist() == [-100.0]
    with pytest.raises(InvalidAction, match="no small finite group"):
        Shift(1.0).order()
    inside = np.array([0.1, 0.7])
    assert np.array_equal(step.identity()(inside), inside)  # bits are kept


def test_affine_maps() -> None:
    with pytest.raises(InvalidAction, match="cannot be inverted"):
        Affine([[1, 1], [1, 1]])
    turn = Affine([[0, -1], [1, 0]])
    assert turn.order() == 4 and turn.simple() == SignedPermutation("-1,0")
    assert (turn @ SignedPermutation("1,0")).difference(Affine([[-1, 0], [0, 1]])) is None
    assert turn.difference(turn.identity()) == "new[0] is -1·old[1] instead of +1·old[0]"


VALUES = [
    SignedPermutation(WALKER), SignedPermutation("-0"), Labels("1,0"), Labels("1,0", start=3), Trivial(), Trivial(4),
    MultiLabels([None, "1,0"], places="1,0"), Image(), Image("flip_lr"), Image("turn", "first", "1,0"),
    Shift(0.5, 1.0, 0.0), Shift(0.0, period=float("inf"), sign=-1), Affine([[0.0, 1.0], [2.0, 0.5]], [1.0, 0.0]),
    Rotation((0, 2), (4, 5), odd=(3,), width=9), Rotation(quaternions=(0, 1, 2, 3), order="xyzw", body="turned"),
    Rotation((0, 1), mirror="0,-1,3,2"), Rotation(points=((0, 1, 2),), rot6d=((3, 4, 5, 6, 7, 8),), angles=()),
    Stack(Image("turn"), 4), as_representation({"a": "0,-1", "b": ("labels 1,0", "trivial")}),
    as_representation(["-0,1", "0,-1"]), Trivial(2) + Shift(0.5) + Rotation((0, 1)), SignedPermutation("-0") * 3,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_are_written_and_read(value: Any) -> None:
    data = to_data(value)
    again = from_data(json.loads(json.dumps(data)))
    assert again == value and hash(again) == hash(value) and repr(again) == repr(value)
    assert again != SignedPermutation("1,0,2")
    assert from_data(tomllib.loads(f"value = {toml(data)}")["value"]) == value


def toml(data: Any) -> str:
    if isinstance(data, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in data.items()) + "}"
    return "[" + ", ".join(map(toml, data)) + "]" if isinstance(data, list) else json.dumps(data)


@pytest.mark.parametrize(
    "data", [5, {"kind": "rotaton"}, {"vectors": []}, {"kind": "rotation", "spin": 1}, {"kind": "stack"},
             {"kind": "dict"}, [], {"kind": "signed"}, {"kind": "labels", "table": "0,0"}]
)  # fmt: skip
def test_files_that_say_nothing(data: Any) -> None:
    with pytest.raises(BurnsideError):
        from_data(data)


def test_sums() -> None:
    assert SignedPermutation("-0") + Trivial(2) == SignedPermutation("-0,1,2")
    assert Trivial(1) + SignedPermutation("-0") == SignedPermutation("0,-1")
    assert Rotation((0, 1)) + Trivial(1) + Rotation((0, 1), odd=(2,)) == Rotation((0, 1), (3, 4), odd=(5,))
    with pytest.raises(InvalidParameter, match="cannot be added"):
        SignedPermutation("0") + Image("turn")
    with pytest.raises(InvalidParameter, match="not a representation"):
        as_representation(3)


@pytest.mark.parametrize("spec", [[-0, -1], (-0, 2, -1), np.array([0, -1])])
def test_a_zero_whose_sign_was_lost_is_refused(spec):
    with pytest.raises(InvalidAction, match="a number 0 has no sign"):
        SignedPermutation(spec)


def test_a_zero_whose_sign_is_plain_is_taken():
    assert str(SignedPermutation(["-0", -1])) == "-0,-1"
    assert str(SignedPermutation([0, 1], [-1, -1])) == "-0,-1"
    assert str(SignedPermutation([1, 0])) == "1,0"
