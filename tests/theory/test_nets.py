"""Farthest-point nets against the closed forms, and their quotient distances against brute force."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from burnside._types import FloatArray
from burnside.errors import InvalidParameter, UnknownName
from burnside.theory import _samplers as sm
from burnside.theory import nets
from burnside.theory.covering import cover
from burnside.theory.nets import net, numeric, space

ALL = [
    ("box:2", 0.15),
    ("torus:2", 0.7),
    ("circle", 0.3),
    ("circle/Z16", 0.05),
    ("circle^2/SO2", 0.1),
    ("sphere", 0.3),
    ("sphere/SO2", 0.1),
    ("so3", 0.8),
    ("so3/Z5", 0.6),
    ("so3/T12", 0.4),
    ("so3/O24", 0.3),
    ("so3/I60", 0.25),
    ("se2", 0.4),
    ("se3", 1.2),
    ("se2^2/se2", 0.4),
    ("se3^2/se3", 1.2),
]


def line(points: FloatArray, y: FloatArray) -> FloatArray:
    return np.abs(points[:, 0] - y[0])


def sample(name: str, n: int, seed: int = 1) -> tuple[FloatArray, nets.Distance]:
    draw, distance = space(name)
    return draw(np.random.default_rng(seed), n), distance


def test_traversal_by_hand() -> None:
    r = net(np.array([[0.0], [1.0], [4.0], [6.0]]), line)
    # from 0: farthest 6; then 4 and 1 are 2 and 1 away; then 1
    assert r.centres.tolist() == [0, 3, 2, 1]
    assert r.radii.tolist() == [6.0, 2.0, 1.0, 0.0]
    assert [r(a) for a in (7, 6, 5.9, 2, 1.5, 1, 0.5)] == [1, 1, 2, 2, 3, 3, 4]
    alphas, counts = r.curve()
    assert alphas.tolist() == [6.0, 2.0, 1.0, 0.0] and counts.tolist() == [1, 2, 3, 4]
    assert r.curve([2.0, 1.5])[1].tolist() == [2, 3]


def test_traversal_stops_and_says_so() -> None:
    points = np.arange(10.0)[:, None]
    assert len(net(points, line, max_points=3).radii) == 3
    assert net(points, line, stop_radius=2.0).radii[-1] <= 2.0
    with pytest.raises(InvalidParameter, match="smaller stop_radius"):
        net(points, line, max_points=2)(0.1)
    assert len(net(np.zeros((5, 1)), line).radii) == 1  # duplicates need one centre


def test_full_traversal_takes_every_point_once_despite_rounding() -> None:
    points, distance = sample("so3", 60)  # arccos gives d(x, x) of about 1e-8
    r = net(points, distance)
    assert sorted(r.centres.tolist()) == list(range(60)) and r.radii[-1] == 0.0


@pytest.mark.parametrize(("name", "alpha"), ALL)
def test_net_lies_between_the_closed_forms(name: str, alpha: float) -> None:
    points, distance = sample(name, 4000)
    r = net(points, distance, stop_radius=alpha / 2)
    assert (np.diff(r.radii) <= 0).all()
    count = r(alpha)
    assert count <= cover(name, alpha / 2).upper
    assert count >= cover(name, 1.3 * alpha).lower  # samples leave holes, hence 1.3
    assert count >= 2
    # it is a cover, and its centres are a packing
    chosen = points[r.centres[:count]]
    to_net = np.min([distance(points, c) for c in chosen], axis=0)
    assert to_net.max() <= alpha + 1e-7
    gaps = np.array([distance(chosen, c) for c in chosen]) + 1e9 * np.eye(count)
    assert gaps.min() > alpha - 1e-7
    assert np.allclose(gaps, gaps.T, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "alpha", "samples", "near"),
    [("sphere", 0.1, 20000, 723), ("so3", 0.5, 20000, 375), ("so3/O24", 0.2, 20000, 244)],
)
def test_known_sizes(name: str, alpha: float, samples: int, near: int) -> None:
    found = numeric(name, alpha, samples=samples)
    assert found == pytest.approx(near, rel=0.08)
    assert cover(name, alpha).lower < found < cover(name, alpha).upper


def test_finite_quotient_gains_less_than_its_order_at_coarse_resolution() -> None:
    whole, quotient = numeric("circle", 0.5, samples=3000), numeric("circle/Z16", 0.5, samples=3000)
    assert (whole, quotient) == (8, 1)  # greedy takes 8 where 7 would do
    fine = numeric("circle", 0.01, samples=20000) / numeric("circle/Z16", 0.01, samples=20000)
    assert 8 <= fine <= 32


def test_numeric_is_monotone_and_seeded() -> None:
    points, distance = sample("sphere", 3000)
    r = net(points, distance, stop_radius=0.15)
    counts = r.curve(np.linspace(0.15, 3.0, 40))[1]
    assert (np.diff(counts) <= 0).all() and counts[0] > counts[-1]
    assert numeric("so3", 0.9, samples=2000, seed=3) == numeric("so3", 0.9, samples=2000, seed=3)
    draw, _ = space("so3")
    first, other = (draw(np.random.default_rng(s), 5) for s in (0, 1))
    assert not np.allclose(first, other)


def test_circle_modulo_rotations_is_the_minimum_over_the_orbit() -> None:
    _, closed = sample("circle/Z16", 1)
    turns: list[Callable[[FloatArray], FloatArray]] = [
        lambda y, k=k: y + 2 * math.pi * k / 16  # type: ignore[misc]
        for k in range(16)
    ]
    brute = nets.orbit_distance(sm.arc, turns)
    x = np.random.default_rng(0).uniform(0, 2 * math.pi, (50, 1))
    for y in x[:10]:
        np.testing.assert_allclose(closed(x, y), brute(x, y), atol=1e-12)


def test_relative_angle_is_the_minimum_over_turns() -> None:
    """min over θ of max(|s − s' − θ|, |a − a' − θ|) on circles, by a fine grid of θ."""
    points, closed = sample("circle^2/SO2", 40)
    thetas = np.linspace(0, 2 * math.pi, 20001)[:, None]
    for x in points[1:]:
        brute = sm.arc(points[0] + thetas, x).min()
        assert closed(points[:1], x)[0] == pytest.approx(brute, abs=4e-4)


def test_rotation_quotient_is_the_minimum_over_the_group() -> None:
    points, closed = sample("so3/O24", 60)
    group = nets.quaternion_group("O24")
    for y in points[:10]:
        brute = np.min([sm.angle(points, sm.multiply(y, g)) for g in group], axis=0)
        np.testing.assert_allclose(closed(points, y), brute, atol=1e-6)
    # invariant: moving y along its orbit changes nothing, and the largest possible angle is 62.8°
    np.testing.assert_allclose(closed(points, sm.multiply(points[3], group[7])), closed(points, points[3]), atol=1e-6)
    many, distance = sample("so3/O24", 20000)
    assert 1.05 < distance(many, many[0]).max() <= math.radians(62.8)


def test_turns_about_the_axis_are_divided_out() -> None:
    _, distance = space("so3/Z4")  # even, so that half or double steps would show
    turned = np.array([[math.cos(t / 2), 0, 0, math.sin(t / 2)] for t in (math.pi / 2, math.pi / 4, 0.1)])
    np.testing.assert_allclose(distance(turned, np.array([1.0, 0, 0, 0])), [0, math.pi / 4, 0.1], atol=1e-7)


@pytest.mark.parametrize("name", ["T12", "O24", "I60"])
def test_quaternion_groups_are_groups_with_the_stated_smallest_angle(name: str) -> None:
    from burnside.theory.covering import ROTATION_GROUPS

    group = nets.quaternion_group(name)
    order, smallest = ROTATION_GROUPS[name]
    products = sm.multiply(group[:, None], group[None])
    hits = np.abs(np.einsum("ijk,lk->ijl", products, group)) > 1 - 1e-9
    assert len(group) == order and (hits.sum(axis=2) == 1).all()
    assert sm.angle(group[1:], group[0]).min() == pytest.approx(smallest)


def test_multiply_composes_rotations() -> None:
    i, j, k = np.eye(4)[1:]
    np.testing.assert_array_equal(sm.multiply(i, j), k)
    np.testing.assert_array_equal(sm.multiply(j, i), -k)
    quarter = np.array([math.sqrt(0.5), 0, 0, math.sqrt(0.5)])  # two quarter turns about z are a half turn
    assert sm.angle(sm.multiply(quarter, quarter)[None], k)[0] == pytest.approx(0.0, abs=1e-7)


def test_pose_distance_by_hand() -> None:
    _, d2 = space("se2", side=10.0, weight=2.0)
    poses = np.array([[[0.0, 0.0, 0.1]], [[3.0, 4.0, 0.1]], [[0.0, 0.0, 2 * math.pi - 0.1]]])
    np.testing.assert_allclose(d2(poses, poses[0]), [0.0, 5.0, 0.4], atol=1e-12)
    _, d3 = space("se3", weight=1.0)
    half = [math.cos(0.5), math.sin(0.5), 0.0, 0.0]  # one radian about x
    rigid = np.array([[[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]], [[0.0, 0.0, 0.5, *half]]])
    np.testing.assert_allclose(d3(rigid, rigid[0]), [0.0, 1.0], atol=1e-7)


def test_relative_pose_distance_bounds_the_quotient_metric() -> None:
    """d_G = min over g in SE(2) of max_i d(p_i, g q_i) obeys d_G ≤ relative ≤ 2·d_G + √2·sin(d_G/2)."""
    rng = np.random.default_rng(5)
    _, relative = space("se2^2/se2")
    for _ in range(20):
        p, q = (np.array([*rng.uniform(-0.5, 0.5, 2), rng.uniform(0, 2 * math.pi)]) for _ in range(2))
        q = p + 0.3 * (q - p)
        d_rel = relative(p[None, None], q[None])[0]
        # first poses at the origin; move q's pair by small g = (shift, turn), many of them
        shift, turn = rng.uniform(-0.4, 0.4, (20000, 2)), rng.uniform(-0.8, 0.8, 20000)
        shift[0], turn[0] = 0.0, 0.0
        c, s = np.cos(turn), np.sin(turn)
        moved = np.stack([c * q[0] - s * q[1], s * q[0] + c * q[1]], axis=1) + shift
        first = np.maximum(np.linalg.norm(shift, axis=1), np.abs(turn))
        gap = np.abs((q[2] + turn - p[2] + math.pi) % (2 * math.pi) - math.pi)
        second = np.maximum(np.linalg.norm(moved - p[:2], axis=1), gap)
        d_g = np.maximum(first, second).min()
        assert d_g <= d_rel + 1e-9
        assert d_rel <= 2 * d_g + math.sqrt(2) * math.sin(min(d_g, math.pi) / 2) + 1e-9


def test_samples_are_uniform() -> None:
    rng = np.random.default_rng(0)
    z = space("sphere")[0](rng, 40000)[:, 2]
    assert np.histogram(z, 4, (-1, 1))[0] == pytest.approx(10000, rel=0.05)
    q = space("so3")[0](rng, 40000)
    turned = sm.angle(q, np.array([1.0, 0, 0, 0]))
    for a in (0.8, 1.6, 2.4):
        assert (turned <= a).mean() == pytest.approx((a - math.sin(a)) / math.pi, abs=0.01)


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda: net(np.empty((0, 1)), line), InvalidParameter, "at least one point"),
        (lambda: net(np.zeros((3, 1)), line, start=3), InvalidParameter, "start"),
        (lambda: net(np.zeros((3, 1)), line, max_points=0), InvalidParameter, "max_points"),
        (lambda: net(np.zeros((3, 1)), line, stop_radius=-1.0), InvalidParameter, "stop_radius"),
        (lambda: net(np.zeros((3, 1)), lambda p, y: np.full(3, np.nan)), InvalidParameter, "NaN"),
        (lambda: net(np.zeros((3, 1)), lambda p, y: p), InvalidParameter, "3 numbers"),
        (lambda: numeric("se3", 0.05), InvalidParameter, "raise samples or alpha"),
        (lambda: numeric("circel", 0.05), UnknownName, "circle"),
        (lambda: numeric("circle", 0.05, samples=0), InvalidParameter, "samples"),
        (lambda: numeric("circle", -1.0), InvalidParameter, "alpha"),
        (lambda: nets.orbit_distance(line, []), InvalidParameter, "identity"),
        (lambda: space("box:999"), InvalidParameter, "at most 128"),
        (lambda: space("box:2", norm="l1"), InvalidParameter, "norm"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object], error: type[Exception], word: str) -> None:
    with pytest.raises(error, match=word):
        call()
