"""Declarations that are no representation are refused, with a sentence that says why; rotations against other code."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turn

from burnside.errors import BurnsideError, InvalidAction, InvalidParameter
from burnside.groups.rigid import Layout
from burnside.symmetry import EnvSymmetry, Image, Labels, Rotation, Shift, SignedPermutation, Trivial
from burnside.symmetry.binding import bind
from burnside.symmetry.groups import env_group


@pytest.mark.parametrize(
    ("group", "spec", "sentence"),
    [
        ("mirror", "1,2,0", r"order 2, but its map .* applied twice is not the identity: new\[0\] is old\[2\] instead"),
        ("C4", "-0,1,2,0", "not a permutation"),
        ("C3", "1,0", "order 3, but its map .* applied 3 times is not the identity"),
        ("V4", "-0", "V4 has 2 generators: give a list of 2 maps"),
        ("V4", ["-0"], "V4 has 2 generators, but the list has 1 maps"),
        ("V4", ["1,0", "-0,1"], "do not multiply as the generators of V4 do"),
        ("D4", ["1,-0", "-0,-1"], "do not multiply as the generators of D4 do"),
        ("mirror", "labels 1,2,0", "label 0 becomes 2 instead of 0"),
        ("mirror", Shift(0.3, 1.0, 0.0), "applied twice is not the identity"),
        ("mirror", Image("turn"), "moved by half_turn instead of identity"),
        ("C6", Image(), "only quarter turns and mirrors"),
        ("S3", Image(), "not known to move the plane"),
        ("S3", Rotation((0, 1)), "not known to move the plane"),
        ("O", Image(), "moves space, not the plane"),
        ("O", Rotation((0, 1)), "give three places"),
        ("SO(2)", "-0,1", "infinitely many elements: use Rotation"),
        ("SO(3)", Rotation((0, 1)), "give three places"),
        ("SO(3)", Rotation(angles=(0,)), "no single angle"),
        ("O(2)", Rotation((0, 1), mirror="0,1"), "is not a representation of"),
        ("V4", ["0,1", "labels 0,1"], "one space"),
        ("V4", [{"a": "0"}, {"b": "0"}], "different keys"),
        ("V4", [("0",), ("0", "0")], "different lengths"),
    ],
)  # fmt: skip
def test_what_is_no_representation(group: str, spec: Any, sentence: str) -> None:
    with pytest.raises(BurnsideError, match=sentence):
        bind(env_group(group), spec)
    with pytest.raises(BurnsideError):
        EnvSymmetry(group, "trivial", spec)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rotation((0, 1), (1, 2)),
        lambda: Rotation((0, 1), width=1),
        lambda: Rotation((0,)),
        lambda: Rotation(quaternions=(0, 1, 2)),
        lambda: Rotation((0, 1), order="zyxw"),
        lambda: Rotation((0, 1), mirror="0,-1,2", width=2),
        lambda: Rotation("ab"),  # type: ignore[arg-type]
    ],
)
def test_rotations_that_make_no_sense(make: Any) -> None:
    with pytest.raises(BurnsideError):
        make()


def test_one_dictionary_per_generator() -> None:
    both = EnvSymmetry("V4", [{"a": "-0", "b": "labels 1,0"}, {"a": "0", "b": "labels 1,0"}], "trivial")
    moved = both.act_on_observation(1, {"a": np.array([2.0]), "b": 0})
    assert moved["a"].tolist() == [-2.0] and moved["b"] == 1


def test_points_of_the_wrong_shape() -> None:
    found = EnvSymmetry("mirror", {"a": "-0"}, ("-0", "trivial 2"))
    with pytest.raises(BurnsideError, match="unknown key"):
        found.act_on_observation(1, {"a": np.zeros(1), "c": np.zeros(1)})
    with pytest.raises(InvalidParameter, match="'a' is missing"):
        found.act_on_observation(1, {})
    with pytest.raises(InvalidParameter, match="tuple of 2 parts"):
        found.act_on_action(1, (np.zeros(1),))
    with pytest.raises(InvalidParameter, match="numbers 0…1, got 2"):
        EnvSymmetry("mirror", "-0", "-0").act_on_action(2, np.zeros(1))
    with pytest.raises(InvalidParameter, match="numbers 0…1, got -1"):
        EnvSymmetry("mirror", "-0", "-0").act_on_action(-1, np.zeros(1))
    with pytest.raises(InvalidParameter, match="2×2 matrices"):
        EnvSymmetry("SO(2)", Rotation((0, 1)), "trivial").act_on_observation(1, np.zeros(2))


# ---------------------------------------------------------------------- rotations, against scipy and Layout


def test_poses_as_scipy_moves_them() -> None:
    rng = np.random.default_rng(0)
    whole = Rotation(
        (0, 1, 2), points=(3, 4, 5), axial=(6, 7, 8), quaternions=(9, 10, 11, 12), rot6d=tuple(range(13, 19))
    )
    found = EnvSymmetry("SE(3)", whole, "trivial")
    body = Turn.random(rng=1)
    q = body.as_quat(canonical=True)
    x = np.concatenate([rng.normal(size=9), q[[3, 0, 1, 2]], body.as_matrix()[:, :2].T.ravel()])
    for counter in range(20):
        g = found.random_element(0, counter)
        turn, shift = Turn.from_matrix(g[:3, :3]), g[:3, 3]
        y = found.act_on_observation(g, x)
        assert np.allclose(y[:3], turn.apply(x[:3])) and np.allclose(y[3:6], turn.apply(x[3:6]) + shift)
        assert np.allclose(y[6:9], turn.apply(x[6:9]))
        assert np.allclose(y[9:13], (turn * body).as_quat(canonical=True)[[3, 0, 1, 2]])
        assert np.allclose(y[13:19], (turn * body).as_matrix()[:, :2].T.ravel())


def test_mirrored_bodies() -> None:
    """A mirror y → −y: orientations become M R M, angular velocities change sign unless they point along y."""
    M = np.diag([1.0, -1.0, 1.0])
    body = Turn.random(rng=2)
    x = np.concatenate([[1.0, 2.0, 3.0], body.as_quat(canonical=True)[[3, 0, 1, 2]], body.as_matrix()[:, :2].T.ravel()])
    mirrored = Turn.from_matrix(M @ body.as_matrix() @ M)
    for how in ("fixed", "turned"):
        rep = Rotation(axial=(0, 1, 2), quaternions=(3, 4, 5, 6), rot6d=tuple(range(7, 13)), body=how)
        for group, g in (("mirror", 1), ("O(2)", np.diag([1.0, -1.0]))):
            y = EnvSymmetry(group, rep, "trivial").act_on_observation(g, x)
            assert np.allclose(y[:3], [-1, 2, -3])
            assert np.allclose(y[3:7], mirrored.as_quat(canonical=True)[[3, 0, 1, 2]])
            assert np.allclose(y[7:], mirrored.as_matrix()[:, :2].T.ravel())


def test_turned_bodies_are_conjugated() -> None:
    rep = Rotation(quaternions=(0, 1, 2, 3), order="xyzw", body="turned") + Trivial(1)
    body = Turn.random(rng=3)
    x = np.append(body.as_quat(canonical=True), 7.0)
    for group, g, turn in (
        ("SO(3)", Turn.random(rng=4).as_matrix(), Turn.random(rng=4)),
        ("C4", 1, Turn.from_euler("z", 90, degrees=True)),
    ):
        y = EnvSymmetry(group, rep, "trivial").act_on_observation(g, x)
        assert np.allclose(np.abs(y[:4]), np.abs((turn * body * turn.inv()).as_quat(canonical=True))) and y[4] == 7.0
    # A conjugation never needs another sign: it is linear, and so exactly a signed permutation for quarter turns.
    assert isinstance(bind(env_group("C4"), rep).maps[1], SignedPermutation)  # type: ignore[attr-defined]


def test_planar_motions_as_layouts_do_them() -> None:
    layout = Layout((("robot", "point"), ("heading", "heading"), ("puck", "point"), ("grip", "scalar")))
    found = EnvSymmetry("SE(2)", Rotation((2, 3), points=((0, 1), (4, 5)), width=7), "trivial")
    x = np.random.default_rng(5).normal(size=(6, 7))
    g = found.random_element(2, np.arange(6))
    assert np.allclose(found.act_on_observation(g, x), layout.act(g, x))


def test_groups_of_the_plane_turn_space_about_the_vertical() -> None:
    found = EnvSymmetry("SE(2)", Rotation((0, 1, 2), points=(3, 4, 5)), "trivial")
    g = found.group.compose(found.group.translation([5.0, 6.0]), found.group.rotation(np.pi / 2))  # type: ignore[attr-defined]
    assert np.allclose(found.act_on_observation(g, np.array([1.0, 0, 9, 1, 0, 9])), [0, 1, 9, 5, 7, 9])


def test_reacher_in_both_ways_of_writing_its_mirror() -> None:
    """The signs that practice has for Reacher-v5, against the ones that follow from which numbers are odd."""
    signs = "0,1,-2,-3,4,-5,-6,-7,8,-9"
    odd = EnvSymmetry("O(2)", Rotation((0, 2), (4, 5), (8, 9), odd=(3, 6, 7)), Rotation(odd=(0, 1)))
    written = EnvSymmetry("O(2)", Rotation((0, 2), (4, 5), (8, 9), mirror=signs), Rotation(odd=(0, 1)))
    x = np.random.default_rng(6).normal(size=10)
    for counter in range(10):
        g = odd.random_element(0, counter)
        assert np.allclose(odd.act_on_observation(g, x), written.act_on_observation(g, x))
    mirror = np.diag([1.0, -1.0])
    assert np.allclose(odd.act_on_observation(mirror, x), SignedPermutation(signs)(x))
    assert np.allclose(odd.on("observation").matrix(mirror), SignedPermutation(signs).matrix())


def test_a_walking_robot_that_may_face_anywhere() -> None:
    """Yaw turns the velocity; a reflection also lets the legs change places, which no geometry of vectors says."""
    rep = Rotation((0, 1), mirror="0,-1,-2,4,3")
    found = EnvSymmetry("O(2)", rep, "trivial")
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert np.allclose(found.act_on_observation(np.diag([1.0, -1.0]), x), [1, -2, -3, 5, 4])
    assert np.allclose(found.act_on_observation(np.diag([-1.0, 1.0]), x), [-1, 2, -3, 5, 4])


def test_quarter_turns_come_out_exact() -> None:
    maps = bind(env_group("D4"), Rotation((0, 1), odd=(2,))).maps  # type: ignore[attr-defined]
    assert [str(m) for m in maps[:3]] == ["0,1,2", "-1,0,2", "0,-1,-2"]
    assert all(isinstance(m, SignedPermutation) for m in maps)
    with pytest.raises(InvalidAction):
        Labels("1,0") @ Labels("1,2,0")
