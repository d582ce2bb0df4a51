"""Rigid motions against scipy's Rotation, against each other, and at the angles where formulas break."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from burnside.errors import InvalidParameter, UnknownName
from burnside.groups import rigid as rg

torch = pytest.importorskip("torch")

numbers = st.floats(-10, 10, allow_nan=False)
vectors = arrays(np.float64, (3,), elements=numbers)
turns = arrays(np.float64, (3,), elements=st.floats(-4, 4, allow_nan=False))  # angles up to 4√3, beyond a full turn
angles = st.floats(-10, 10, allow_nan=False)
fast = settings(max_examples=60, deadline=None)

# Angles at which series, sinc and the largest of four numbers change over, and the singular ones
EDGES = [0.0, 1e-12, 1e-8, 1e-5, 1e-4, 2.1e-4, 1e-3, 0.299, 0.3, 0.301, 2.0, math.pi - 1e-3, math.pi - 1e-7, math.pi]


def motion(w: np.ndarray, t: np.ndarray) -> np.ndarray:
    return rg.rigid(Rotation.from_rotvec(w).as_matrix(), t)


def planar(angle: float, t: np.ndarray) -> np.ndarray:
    return rg.rigid(rg.so2_exp(angle), t)


def random_motions(n: int, d: int = 3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if d == 2:
        return rg.rigid(rg.so2_exp(rng.uniform(-4, 4, n)), rng.normal(size=(n, 2)))
    return rg.rigid(Rotation.random(n, random_state=seed).as_matrix(), rng.normal(size=(n, 3)))


# ---------------------------------------------------------------------- against scipy


@fast
@given(turns, turns)
def test_rotations_agree_with_scipy(w: np.ndarray, u: np.ndarray) -> None:
    one, other = Rotation.from_rotvec(w), Rotation.from_rotvec(u)
    R, S = rg.so3_exp(w), rg.so3_exp(u)
    assert np.allclose(R, one.as_matrix(), atol=1e-14)
    assert np.allclose(rg.compose(R, S), (one * other).as_matrix(), atol=1e-13)
    q, theirs = rg.matrix_to_quaternion(R), one.as_quat()
    assert min(np.abs(q - theirs).max(), np.abs(q + theirs).max()) < 1e-13 and q[3] >= 0
    assert np.allclose(rg.quaternion_to_matrix(3.7 * theirs), one.as_matrix(), atol=1e-14)
    log, expected = rg.so3_log(R), one.as_rotvec()
    assert np.linalg.norm(log) <= math.pi + 1e-12
    if np.linalg.norm(expected) < math.pi - 1e-6:
        assert np.allclose(log, expected, atol=1e-9)
    assert np.allclose(rg.so3_exp(log), R, atol=1e-13)


@fast
@given(turns, vectors, vectors)
def test_actions_agree_with_scipy(w: np.ndarray, t: np.ndarray, p: np.ndarray) -> None:
    turn, g = Rotation.from_rotvec(w), motion(w, t)
    assert np.allclose(rg.act_points(g, p), turn.apply(p) + t, atol=1e-12)
    assert np.allclose(rg.act_vectors(g, p), turn.apply(p), atol=1e-12)
    velocity = np.concatenate([p, t])
    assert np.allclose(rg.act_velocities(g, velocity), np.concatenate([turn.apply(p), turn.apply(t)]), atol=1e-12)
    other = Rotation.from_rotvec(p / 4)
    moved = rg.act_rot6d(g, rg.matrix_to_rot6d(other.as_matrix()))
    assert np.allclose(rg.rot6d_to_matrix(moved), (turn * other).as_matrix(), atol=1e-12)


@fast
@given(arrays(np.float64, (6,), elements=st.floats(-3, 3, allow_nan=False)))
def test_exponentials_are_those_of_matrices(xi: np.ndarray) -> None:
    twist = np.zeros((4, 4))
    twist[:3, :3], twist[:3, 3] = rg.hat(xi[3:]), xi[:3]
    assert np.allclose(rg.se3_exp(xi), expm(twist), atol=1e-12)
    flat = np.array([[0, -xi[3], xi[0]], [xi[3], 0, xi[1]], [0, 0, 0]])
    assert np.allclose(rg.se2_exp(xi[[0, 1, 3]]), expm(flat), atol=1e-12)


# ---------------------------------------------------------------------- axioms


@fast
@given(turns, vectors, turns, vectors, vectors)
def test_space_group_axioms(w: np.ndarray, t: np.ndarray, u: np.ndarray, s: np.ndarray, p: np.ndarray) -> None:
    g, h = motion(w, t), motion(u, s)
    assert rg.is_motion(g)
    assert np.allclose(rg.compose(g, rg.invert(g)), np.eye(4), atol=1e-13)
    assert np.allclose(rg.act_points(rg.compose(g, h), p), rg.act_points(g, rg.act_points(h, p)), atol=1e-11)
    assert np.allclose(rg.invert(rg.compose(g, h)), rg.compose(rg.invert(h), rg.invert(g)), atol=1e-11)
    assert np.allclose(rg.act_poses(g, h), g @ h, atol=1e-12)
    assert np.allclose(rg.pose9_to_motion(rg.act_pose9(g, rg.motion_to_pose9(h))), g @ h, atol=1e-11)
    xi = np.concatenate([p, u]) / 5
    assert np.allclose(rg.se3_exp(rg.adjoint(g) @ xi), g @ rg.se3_exp(xi) @ rg.invert(g), atol=1e-10)


@fast
@given(angles, angles, arrays(np.float64, (3, 2), elements=numbers))
def test_plane_group_axioms(a: float, b: float, v: np.ndarray) -> None:
    g, h = planar(a, v[0]), planar(b, v[1])
    assert rg.is_motion(g)
    assert np.allclose(rg.compose(g, rg.invert(g)), np.eye(3), atol=1e-13)
    assert np.allclose(rg.act_points(rg.compose(g, h), v[2]), rg.act_points(g, rg.act_points(h, v[2])), atol=1e-11)
    assert np.allclose(rg.rotation(rg.compose(g, h)), rg.so2_exp(a + b), atol=1e-12)
    assert abs(math.remainder(float(rg.so2_log(rg.so2_exp(a))) - a, 2 * math.pi)) < 1e-12
    assert np.allclose(rg.act_velocities(g, [1.0, 0.0, b]), [math.cos(a), math.sin(a), b], atol=1e-14)
    xi = np.array([*v[2], b]) / 5
    assert np.allclose(rg.se2_exp(rg.adjoint(g) @ xi), g @ rg.se2_exp(xi) @ rg.invert(g), atol=1e-10)


# ---------------------------------------------------------------------- singular angles


@pytest.mark.parametrize("theta", EDGES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exp_and_log_at_the_edges(theta: float, dtype: str) -> None:
    eps = np.finfo(dtype).eps
    rng = np.random.default_rng(3)
    axes = np.concatenate([np.eye(3), -np.eye(3), rng.normal(size=(20, 3))])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    w = (theta * axes).astype(dtype)
    R = rg.so3_exp(w)
    assert R.dtype == dtype and np.abs(R - Rotation.from_rotvec(w.astype(float)).as_matrix()).max() < 8 * eps
    log = rg.so3_log(R)
    assert np.isfinite(log).all() and log.dtype == dtype
    if theta < math.pi - 1e-4:
        # an axis is only as well known as the off-diagonal numbers: absolutely to eps, and near 0 relatively as well
        assert np.abs(log - w).max() < 40 * eps
    else:  # the axis up to sign
        gap = np.minimum(np.abs(log - w).max(axis=1), np.abs(log + w).max(axis=1))
        assert gap.max() < 40 * eps
    assert np.abs(rg.so3_exp(log) - R).max() < 20 * eps
    xi = np.concatenate([rng.normal(size=(26, 3)), w], axis=1).astype(dtype)
    g = rg.se3_exp(xi)
    back = rg.se3_log(g)
    assert np.isfinite(back).all() and np.abs(rg.se3_exp(back) - g).max() < 60 * eps
    if theta < math.pi - 1e-4:
        assert np.abs(back - xi).max() < 100 * eps
    for sign in (1, -1):
        flat = np.array([0.4, -1.2, sign * theta], dtype)
        again = rg.se2_log(rg.se2_exp(flat))
        if theta < math.pi:
            assert np.abs(again - flat).max() < 20 * eps
        assert np.abs(rg.se2_exp(again) - rg.se2_exp(flat)).max() < 20 * eps


def test_small_rotations_keep_their_relative_precision() -> None:
    for size in (1e-30, 1e-12, 1e-6):
        assert rg.so3_log(rg.so3_exp([0.0, size, 0.0])) == pytest.approx([0.0, size, 0.0], rel=1e-12)


def test_hand_computed_values() -> None:
    quarter = rg.rigid([[0, -1, 0], [1, 0, 0], [0, 0, 1]], [1, 2, 3])
    assert rg.matrix_to_quaternion(rg.rotation(quarter)) == pytest.approx([0, 0, math.sqrt(0.5), math.sqrt(0.5)])
    assert rg.matrix_to_rot6d(rg.rotation(quarter)).tolist() == [0, 1, 0, -1, 0, 0]
    assert rg.matrix_to_rot6d(rg.rotation(quarter), "rows").tolist() == [0, -1, 0, 1, 0, 0]  # PyTorch3D's order
    assert rg.act_points(quarter, [1, 0, 0]).tolist() == [1, 3, 3]
    assert rg.so3_log(rg.rotation(quarter)) == pytest.approx([0, 0, math.pi / 2])
    # a quarter of a circle of radius 2/π: the twist (1, 0, π/2) moves to (2/π, 2/π)
    assert rg.se2_exp([1, 0, math.pi / 2])[:2, 2] == pytest.approx([2 / math.pi, 2 / math.pi])


def test_rot6d_survives_noise_and_round_trips() -> None:
    R = Rotation.random(200, random_state=1).as_matrix()
    for convention in ("columns", "rows"):
        v = rg.matrix_to_rot6d(R, convention)
        assert np.allclose(rg.rot6d_to_matrix(v, convention), R, atol=1e-14)
        noisy = rg.rot6d_to_matrix(v + np.random.default_rng(0).normal(0, 0.1, v.shape), convention)
        assert rg.is_motion(rg.rigid(noisy), 1e-12)
        assert np.allclose(rg.quaternion_to_rot6d(rg.rot6d_to_quaternion(v, convention), convention), v, atol=1e-13)
        g = random_motions(200)
        turned = rg.rotation(g) @ R
        assert np.allclose(rg.act_rot6d(g, v, convention), rg.matrix_to_rot6d(turned, convention), atol=1e-13)


# ---------------------------------------------------------------------- numpy and torch

CASES = [
    ("so3_exp", lambda: (np.random.default_rng(0).normal(size=(5, 3)),)),
    ("so3_log", lambda: (rg.rotation(random_motions(5)),)),
    ("se3_exp", lambda: (np.random.default_rng(0).normal(size=(5, 6)),)),
    ("se3_log", lambda: (random_motions(5),)),
    ("se2_exp", lambda: (np.random.default_rng(0).normal(size=(5, 3)),)),
    ("se2_log", lambda: (random_motions(5, 2),)),
    ("so2_exp", lambda: (np.random.default_rng(0).normal(size=(5,)),)),
    ("so2_log", lambda: (rg.rotation(random_motions(5, 2)),)),
    ("compose", lambda: (random_motions(5), random_motions(5, seed=1))),
    ("invert", lambda: (random_motions(5, 2),)),
    ("adjoint", lambda: (random_motions(5),)),
    ("act_points", lambda: (random_motions(5), np.random.default_rng(0).normal(size=(7, 5, 3)))),
    ("act_velocities", lambda: (random_motions(5, 2), np.random.default_rng(0).normal(size=(5, 3)))),
    ("act_rot6d", lambda: (random_motions(5), np.random.default_rng(0).normal(size=(5, 6)))),
    ("act_pose9", lambda: (random_motions(5), np.random.default_rng(0).normal(size=(5, 9)))),
    ("matrix_to_quaternion", lambda: (rg.rotation(random_motions(50)),)),
    ("quaternion_to_matrix", lambda: (np.random.default_rng(0).normal(size=(5, 4)),)),
    ("rot6d_to_matrix", lambda: (np.random.default_rng(0).normal(size=(5, 6)),)),
    ("motion_to_pose9", lambda: (random_motions(5),)),
]


@pytest.mark.parametrize(("name", "make"), CASES, ids=[name for name, _ in CASES])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch_gives_the_same_numbers(name: str, make, dtype: str) -> None:
    given_ = [a.astype(dtype) for a in make()]
    tensors = [torch.from_numpy(a) for a in given_]
    ours, theirs = getattr(rg, name)(*given_), getattr(rg, name)(*tensors)
    assert ours.dtype == dtype and theirs.dtype == getattr(torch, dtype) and tuple(theirs.shape) == ours.shape
    assert np.abs(ours - theirs.numpy()).max() < 30 * np.finfo(dtype).eps
    # one alone equals the same among others
    alone = getattr(rg, name)(*(a[..., :1, :] if a.ndim == 3 and a.shape[0] == 7 else a[:1] for a in given_))
    first = ours[..., :1, :] if ours.ndim == 3 and ours.shape[0] == 7 else ours[:1]
    assert np.abs(alone - first).max() <= 4 * np.finfo(dtype).eps


def test_gradients_are_finite_at_angle_zero() -> None:
    w = torch.zeros(2, 3, dtype=torch.float64)
    w[1, 0] = 0.5
    xi = torch.cat([torch.ones_like(w), w], dim=1).requires_grad_()
    v = torch.tensor([[1.0, 0, 0, 0, 1, 0]], dtype=torch.float64, requires_grad=True)
    (rg.rot6d_to_matrix(v).sum() + rg.se3_exp(xi).sum()).backward()
    assert torch.isfinite(xi.grad).all() and torch.isfinite(v.grad).all()
    assert xi.grad[0, :3].tolist() == [1.0, 1.0, 1.0]  # at ω = 0 the translation is v


def test_rigid_does_not_load_torch() -> None:
    code = (
        "import sys, burnside.groups.rigid, burnside.envs.planar; print('torch' in sys.modules, 'numba' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]


# ---------------------------------------------------------------------- layouts


def test_layout_acts_part_by_part() -> None:
    layout = rg.Layout((("p", "point"), ("turn", "rot6d"), ("v", "vector"), ("grip", "scalar")), d=3)
    assert layout.width == 13 and layout.of_kind("point", "scalar") == ("p", "grip")
    g, x = random_motions(6), np.random.default_rng(0).normal(size=(6, 13))
    y = layout.act(g, x)
    assert np.allclose(y[:, :3], rg.act_points(g, x[:, :3]), atol=1e-14)
    assert np.allclose(y[:, 3:9], rg.act_rot6d(g, x[:, 3:9]), atol=1e-14)
    assert np.allclose(y[:, 9:12], rg.act_vectors(g, x[:, 9:12]), atol=1e-14)
    assert np.array_equal(y[:, 12], x[:, 12])
    tensor = layout.act(torch.from_numpy(g), torch.from_numpy(x).float())
    assert tensor.dtype == torch.float32 and np.allclose(tensor.numpy(), y, atol=1e-5)
    assert layout.act(g[0], x.astype(np.float32)).dtype == np.float32
    assert layout.act(g[:, None], x).shape == (6, 6, 13)  # leading axes broadcast
    back = layout.act(rg.invert(g), y)
    assert np.allclose(back, x, atol=1e-13)


def test_layout_of_scalars_alone() -> None:
    layout = rg.Layout((("a", "scalar"), ("b", "scalar")))
    assert layout.act(rg.identity(2), [1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rg.act_points(np.eye(5), [1, 2]), "3×3"),
        (lambda: rg.act_vectors(np.eye(3), [1.0, 2.0, 3.0]), "2 numbers"),
        (lambda: rg.rigid(np.eye(4)), "2×2 or 3×3"),
        (lambda: rg.rigid(np.eye(2), [1, 2, 3]), "has 2 numbers"),
        (lambda: rg.identity(4), "2 or 3 dimensions"),
        (lambda: rg.quaternion_to_matrix([1, 2, 3]), "4 numbers"),
        (lambda: rg.matrix_to_quaternion(np.eye(2)), "3×3"),
        (lambda: rg.compose(), "at least one"),
        (lambda: rg.Layout((("a", "point"), ("a", "point"))), "differ"),
        (lambda: rg.Layout((("a", "rot6d"),)), "3 dimensions"),
        (lambda: rg.Layout((("a", "point"),)).act(np.eye(3), [1, 2, 3]), "2 numbers"),
        (lambda: rg.Layout((("a", "point"),)).act(np.eye(4), [1, 2]), "3×3 matrix"),
    ],
)
def test_bad_input_is_explained(call, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        call()


def test_unknown_names_are_explained() -> None:
    with pytest.raises(UnknownName, match="columns"):
        rg.rot6d_to_matrix(np.ones(6), "colums")
    with pytest.raises(UnknownName, match="point"):
        rg.Layout((("a", "pont"),))
    with pytest.raises(UnknownName, match="puck"):
        rg.Layout((("puck", "point"),)).slice("pukc")
