"""Closed-form covering numbers: hand-worked values, explicit covers, and what must hold between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from burnside.errors import InvalidParameter, UnknownName
from burnside.theory import covering as cv
from burnside.theory.covering import Bounds, cover

NAMES = [
    "box:1",
    "box:3",
    "torus:1",
    "torus:2",
    "torus:3",
    "circle",
    "circle/Z16",
    "circle^2/SO2",
    "sphere",
    "sphere/SO2",
    "so3",
    "so3/Z5",
    "so3/T12",
    "so3/O24",
    "so3/I60",
    "se2",
    "se3",
    "se2^2/se2",
    "se3^2/se3",
    "se2^3/se2",
]


@pytest.mark.parametrize(
    ("name", "alpha", "options", "expected"),
    [
        ("box:2", 0.25, {}, (4, 4)),
        ("box:2", 0.24, {}, (9, 9)),
        ("box:1", 0.03, {"side": 0.9}, (15, 15)),  # 0.9 / 0.06 is 15.000000000000002 in floats
        ("box:2", 0.1, {"norm": "l2"}, (32, 64)),  # 1/(π·0.01) = 31.8; ⌈√2/0.2⌉² = 8²
        ("circle", 0.5, {}, (7, 7)),
        ("circle/Z16", 0.5, {}, (1, 1)),
        ("circle/Z4", 0.1, {}, (8, 8)),  # π/0.4 = 7.85
        ("torus:1", 0.5, {}, (7, 7)),
        ("torus:2", 0.5, {}, (44, 44)),  # ⌈6.283 · 7⌉, below 7²
        ("torus:3", 0.5, {}, (277, 308)),  # ⌈6.283 · 44⌉ and 44 · 7
        ("sphere", math.pi / 2, {}, (2, 2)),
        ("sphere/SO2", 0.1, {}, (16, 16)),
        ("so3", 0.5, {}, (153, 1210)),
        ("so3", math.pi, {}, (1, 1)),
        ("so3/O24", 0.2, {}, (99, 785)),
        ("so3/Z5", 2.0, {}, (1, 15)),  # beyond 2π/5 the packing count stays at its value there
        ("se2", 0.5, {}, (8, 28)),  # volume (4/π)·2π = 8; ⌈√2⌉²·⌈2π⌉
        ("se2", 0.5, {"weight": 0.1}, (2, 4)),  # any angle is within 0.5; volume 4/π
        ("se2^1/se2", 0.1, {}, (1, 1)),
        ("se2^3/se2", 0.1, {}, (4658, 2048**2)),
        ("circle^2/SO2", 0.1, {}, (16, 16)),
    ],
)
def test_by_hand(name: str, alpha: float, options: dict[str, Any], expected: tuple[int, int]) -> None:
    assert cover(name, alpha, **options) == Bounds(*expected)


@pytest.mark.parametrize("name", NAMES)
def test_ordered_at_least_one_and_monotone(name: str) -> None:
    table = [cover(name, a) for a in np.geomspace(1e-3, 20.0, 200)]
    assert all(1 <= b.lower <= b.upper for b in table)
    for fine, coarse in itertools.pairwise(table):
        assert fine.lower >= coarse.lower and fine.upper >= coarse.upper
    assert table[-1] == Bounds(1, 1)


@pytest.mark.parametrize(
    ("quotient", "whole", "order"),
    [("circle/Z16", "circle", 16), ("so3/O24", "so3", 24), ("so3/I60", "so3", 60), ("so3/Z5", "so3", 5)],
)
def test_a_finite_group_gains_at_most_its_order(quotient: str, whole: str, order: int) -> None:
    for a in np.geomspace(1e-3, 4.0, 100):
        small, full = cover(quotient, a), cover(whole, a)
        assert small.upper <= full.upper
        assert small.lower >= full.lower // order and small.upper * order >= full.lower


def test_the_gain_reaches_the_order_only_below_the_orbit_spacing() -> None:
    gain = {a: cover("circle", a).lower / cover("circle/Z16", a).lower for a in (0.5, 0.001)}
    assert gain[0.5] == 7.0
    assert gain[0.001] == pytest.approx(16, rel=0.01)


@pytest.mark.parametrize("x", [1.5, 2.1, 2.5, 3.9, 6.283])
def test_the_sheared_lattice_covers_the_torus(x: float) -> None:
    """The cover behind `torus(2, ·)`: N = ⌈x⌈x⌉⌉ squares at (i/N, i·m/N), m = ⌊N/x⌋, fewer than ⌈x⌉²."""
    n = cv.torus(2, math.pi / x).upper
    assert n < math.ceil(x) ** 2 or x == 3.9  # 3.9 · 4 = 15.6 rounds up to 16 = 4²
    i = np.arange(n)
    corners = np.stack([i / n, (i * math.floor(n / x) / n) % 1.0], axis=1)
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 173)] * 2), axis=-1).reshape(-1, 1, 2)
    reach = ((grid - corners) % 1.0).max(axis=2)
    assert reach.min(axis=1).max() <= 1.0 / x + 1e-9


def test_product_formula_of_theorem3_misses_the_relative_angle() -> None:
    """S = A = circle, SO(2) turning both: S/G and A/G are points, (S×A)/G is not."""
    for a in (0.5, 0.1, 0.01):
        assert cover("circle^2/SO2", a).lower == math.ceil(math.pi / (2 * a)) > 1


def test_dimension_drop_shows_in_the_exponent() -> None:
    """Halving α multiplies N by 2^d; SE(2)^2 has d = 6, its quotient 3; the sphere 2, its quotient 1."""
    for name, d in [("se2^2/se2", 3), ("se3^2/se3", 6), ("sphere", 2), ("sphere/SO2", 1), ("so3", 3)]:
        growth = cover(name, 1e-4).upper / cover(name, 2e-4).upper
        assert math.log2(growth) == pytest.approx(d, abs=0.02)


def test_huge_counts_stay_exact_ints() -> None:
    b = cover("box:128", 1e-9, norm="l2")
    assert 1 <= b.lower <= b.upper and len(str(b.upper)) > 1000
    t = cover("torus:128", 1e-9)
    assert 0.99 < math.log(t.lower) / math.log(t.upper) <= 1.0
    assert cover("se3^32/se3", 1e-3).lower > 10**300


def test_small_rotations_do_not_cancel() -> None:
    assert cover("so3", 1e-6).lower == pytest.approx(6 * math.pi * 1e18, rel=1e-9)


def test_every_registry_entry_is_reachable_by_name() -> None:
    for key, space in cv.SPACES.items():
        name = key.replace(":D", ":2").replace("ZN", "Z3").replace("^K", "^2")
        assert cv.parse(name, {})[0] == key
        options: dict[str, Any] = {"norm": "l2", "side": 0.5, "weight": 2.0}
        assert cover(name, 0.3, **{k: options[k] for k in space.options}).lower >= 1


def test_names_are_case_insensitive_and_typos_are_helped() -> None:
    assert cover("SO3/o24", 0.2) == cover("so3/O24", 0.2)
    with pytest.raises(UnknownName, match="did you mean 'sphere'"):
        cover("spere", 0.1)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cover("circle", 0.0), "alpha"),
        (lambda: cover("circle", math.nan), "alpha"),
        (lambda: cover("circle", 1e-12), "units"),
        (lambda: cover("circle", 0.1, side=2.0), "no options"),
        (lambda: cover("se2", 0.1, norm="l2"), "only side and weight"),
        (lambda: cover("box:2", 0.1, norm="l1"), "norm"),
        (lambda: cover("box:0", 0.1), "at least 1"),
        (lambda: cover("box:1000", 0.1), "128"),
        (lambda: cover("circle/Z12345678901", 0.1), "nine digits"),
        (lambda: cover("se2^33/se2", 0.1), "32"),
        (lambda: cover("se2", 1e-5, weight=1e6), "alpha/weight"),
        (lambda: cv.relative_poses(4, 2, 0.1), "SE\\(4\\)"),
    ],
)
def test_bad_input_is_refused(call: Callable[[], object], word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        call()
