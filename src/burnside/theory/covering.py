"""Covering numbers: how many balls of radius α a space needs, before and after dividing out a symmetry.

In a continuous problem the count of states is replaced by N(S, α), the least number of closed balls of
radius α, centred in S, whose union is S (Thm. 3). Each function returns `Bounds` with lower ≤ N ≤ upper,
equal where the number is known exactly. The three arguments behind them:

* *volume*: N balls cover, so N ≥ vol(S) / vol(ball);
* *packing*: a maximal set of points more than α apart covers, and its α/2-balls are disjoint,
  so N ≤ vol(S) / vol(α/2-ball);
* *product*: under the max metric covers multiply, N(X×Y) ≤ N(X)·N(Y), and volumes do too.

`cover(name, alpha)` finds a space by its name, as the command line does; `SPACES` lists the names.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from burnside.errors import InvalidParameter, UnknownName
from burnside.theory._checks import count, positive

__all__ = [
    "MAX_COPIES",
    "MAX_DIMENSION",
    "ROTATION_GROUPS",
    "SPACES",
    "Bounds",
    "Norm",
    "Space",
    "box",
    "circle",
    "circle_pair",
    "cover",
    "parse",
    "relative_poses",
    "se2",
    "se3",
    "so3",
    "sphere",
    "sphere_axial",
    "torus",
]

Norm = Literal["linf", "l2"]

MAX_DIMENSION = 128
MAX_COPIES = 32
ROTATION_GROUPS: dict[str, tuple[int, float]] = {
    "T12": (12, 2.0 * math.pi / 3.0),
    "O24": (24, math.pi / 2.0),
    "I60": (60, 2.0 * math.pi / 5.0),
}
"""Rotation groups of the tetrahedron, octahedron (cube), icosahedron: order, and smallest rotation angle."""

_TINY, _HUGE = 1e-9, 1e9
_SLACK = 1e-12  # relative: 0.9 / (2 * 0.03) is 15.000000000000002 in floats and must count as 15


class Bounds(NamedTuple):
    """lower ≤ N(S, α) ≤ upper; equal when N is known."""

    lower: int
    upper: int


def _length(name: str, value: float) -> float:
    number = positive(name, value)
    if not _TINY <= number <= _HUGE:
        raise InvalidParameter(f"{name} must lie between {_TINY:g} and {_HUGE:g}, not {value!r}: change the units")
    return number


def _dimension(d: int) -> int:
    if count("the dimension", d) > MAX_DIMENSION:
        raise InvalidParameter(f"the dimension must be at most {MAX_DIMENSION}, not {d}")
    return d


def _ceil(x: float) -> int:
    return max(1, math.ceil(x * (1.0 - _SLACK)))


def _at_least(log_ratio: float) -> int:
    """exp(log_ratio) rounded up to a count, from below: a power of ten when beyond the float range."""
    return _ceil(math.exp(log_ratio)) if log_ratio < 700.0 else int(10 ** math.floor(log_ratio / math.log(10.0)))


def _floor(x: float) -> int:
    return max(1, math.floor(x * (1.0 + _SLACK)))


def _check_norm(norm: str) -> None:
    if norm not in ("linf", "l2"):
        raise InvalidParameter(f"norm must be 'linf' or 'l2', not {norm!r}")


def _log_ball(d: int, radius: float) -> float:
    """log volume of the Euclidean d-ball."""
    return d * math.log(radius) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d + 1.0)


def box(d: int, alpha: float, norm: Norm = "linf", side: float = 1.0) -> Bounds:
    """The cube [0, side]^d. Exact for ℓ∞: ⌈side/2α⌉^d, as that many points can lie more than 2α apart.

    For ℓ₂: volume from below, and from above the cubes of half-diagonal α, ⌈side·√d/2α⌉^d.

    >>> box(3, 0.1), box(2, 0.1, norm="l2")
    (Bounds(lower=125, upper=125), Bounds(lower=32, upper=64))
    """
    _dimension(d)
    _check_norm(norm)
    a, s = _length("alpha", alpha), _length("side", side)
    if norm == "linf":
        exact = _ceil(s / (2.0 * a)) ** d
        return Bounds(exact, exact)
    upper = _ceil(s * math.sqrt(d) / (2.0 * a)) ** d
    return Bounds(min(upper, _at_least(_log_box(d, a, s))), upper)


def _log_box(d: int, alpha: float, side: float) -> float:
    return d * math.log(side) - _log_ball(d, alpha)


def circle(alpha: float, n: int = 1) -> Bounds:
    """The circle under arc length, divided by the n rotations of Z_n: a circle n times shorter, ⌈π/(nα)⌉.

    The gain is n only while α is below the orbit spacing 2π/n:

    >>> circle(0.5).upper / circle(0.5, n=16).upper
    7.0
    """
    exact = _ceil(math.pi / (count("n", n) * _length("alpha", alpha)))
    return Bounds(exact, exact)


def circle_pair(alpha: float) -> Bounds:
    """(S¹ × S¹)/SO(2), both turned together, max metric: the relative angle with *half* its arc, ⌈π/2α⌉.

    (Halves, because the turn can be shared between the two.) This is the counter-example to the product
    N(S/G)·N(A/G) of Thm. 3: with S = A = S¹ each quotient is a point, so the product is 1 at every α.

    >>> circle_pair(0.1)
    Bounds(lower=16, upper=16)
    """
    exact = _ceil(math.pi / (2.0 * _length("alpha", alpha)))
    return Bounds(exact, exact)


def torus(d: int, alpha: float, norm: Norm = "linf") -> Bounds:
    """d circles, arc length on each, under the max metric (`linf`) or the root of squares (`l2`).

    `linf`, with x = π/α: the product ⌈x⌉^d is an upper bound but *not* exact. Slicing gives the lower bound
    N_d ≥ ⌈x·N_{d−1}⌉ (a cube meets a fraction 1/x of the slices, and each slice needs N_{d−1} cubes), and for
    d = 2 a sheared lattice attains it (McEliece & Taylor 1973): ⌈x⌈x⌉⌉. Pairs of circles give the rest.

    >>> torus(2, 2 * math.pi / 3)  # x = 1.5: three squares do, not four
    Bounds(lower=3, upper=3)
    """
    _dimension(d)
    _check_norm(norm)
    x = math.pi / _length("alpha", alpha)
    if norm == "l2":
        upper = _ceil(x * math.sqrt(d)) ** d
        return Bounds(min(upper, _at_least(d * math.log(2.0 * math.pi) - _log_ball(d, alpha))), upper)
    lower = 1
    for _ in range(d):
        lower = _ceil(x * lower) if lower < 1e290 else lower * max(1, math.floor(x))
    flat = _ceil(x)
    upper = _ceil(x * flat) ** (d // 2) * flat ** (d % 2)
    return Bounds(min(lower, upper), upper)


def sphere(alpha: float) -> Bounds:
    """The unit sphere S² under arc length; a cap of radius α is the fraction sin²(α/2) of it.

    >>> sphere(0.1), sphere(1.6), sphere(3.2)
    (Bounds(lower=401, upper=1600), Bounds(lower=2, upper=2), Bounds(lower=1, upper=1))
    """
    a = _length("alpha", alpha)
    if a >= math.pi:
        return Bounds(1, 1)
    upper = 2 if a >= math.pi / 2.0 else _floor(math.sin(a / 4.0) ** -2.0)
    return Bounds(min(upper, _ceil(math.sin(a / 2.0) ** -2.0)), upper)


def sphere_axial(alpha: float) -> Bounds:
    """S²/SO(2), turns about one axis: only the polar angle in [0, π] is left, ⌈π/2α⌉. One dimension less.

    >>> sphere_axial(0.1)
    Bounds(lower=16, upper=16)
    """
    return circle_pair(alpha)


def _haar_ball(angle: float) -> float:
    """Fraction of SO(3) within `angle` of a rotation, (α − sin α)/π, by series where that would cancel.

    >>> round(_haar_ball(math.pi), 12), abs(_haar_ball(0.1999999999) / _haar_ball(0.2000000001) - 1) < 1e-8
    (1.0, True)
    """
    if angle >= math.pi:
        return 1.0
    if angle >= 0.2:
        return (angle - math.sin(angle)) / math.pi
    t = angle * angle
    return angle**3 / (6.0 * math.pi) * (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0)))


def so3(alpha: float, order: int = 1, smallest_angle: float = math.pi) -> Bounds:
    """SO(3) under the rotation angle, divided by a finite subgroup of that `order`.

    `smallest_angle` is the least angle of a non-trivial element of the subgroup. Up to that α, the balls of
    radius α/2 around an orbit are disjoint and the packing bound falls by the full order; beyond it the gain
    is only what monotonicity and N(SO(3)/G, α) ≤ N(SO(3), α) leave.

    >>> so3(0.5), so3(0.2, order=24, smallest_angle=math.pi / 2)
    (Bounds(lower=153, upper=1210), Bounds(lower=99, upper=785))
    """
    n, a = count("order", order), _length("alpha", alpha)
    least = positive("smallest_angle", smallest_angle)
    whole = 1 if a >= math.pi else _floor(1.0 / _haar_ball(a / 2.0))
    upper = min(whole, _floor(1.0 / (n * _haar_ball(min(a, least) / 2.0))))
    return Bounds(min(upper, _ceil(1.0 / (n * _haar_ball(a)))), upper)


def _log_poses(d: int, shift: float, turn: float, side: float) -> float:
    """log of vol/vol(ball) on [0, side]^d × SO(d), balls of radius shift and turn."""
    share = min(1.0, turn / math.pi) if d == 2 else _haar_ball(turn)
    return max(0.0, _log_box(d, shift, side)) - math.log(share)


def _poses(d: int, alpha: float, side: float, weight: float) -> Bounds:
    """[0, side]^d × SO(d) under the larger of ‖Δx‖₂ and weight·angle."""
    a, s, w = _length("alpha", alpha), _length("side", side), _length("weight", weight)
    turn = _length("alpha/weight", min(a / w, math.pi))
    places, turns = box(d, a, "l2", s), circle(turn) if d == 2 else so3(turn)
    upper = places.upper * turns.upper
    volume = _at_least(_log_poses(d, a, turn, s))
    return Bounds(min(upper, max(volume, places.lower, turns.lower)), upper)


def se2(alpha: float, side: float = 1.0, weight: float = 1.0) -> Bounds:
    """Planar poses: position in [0, side]², any heading, distance max(‖Δx‖₂, weight·angle).

    SE(2) itself is not compact and no symmetry of a bounded workspace: this is a box of it.

    >>> se2(0.5)
    Bounds(lower=8, upper=28)
    """
    return _poses(2, alpha, side, weight)


def se3(alpha: float, side: float = 1.0, weight: float = 1.0) -> Bounds:
    """Spatial poses: position in [0, side]³, any rotation, distance max(‖Δx‖₂, weight·angle).

    >>> se3(0.5)
    Bounds(lower=292, upper=9680)
    """
    return _poses(3, alpha, side, weight)


def relative_poses(d: int, k: int, alpha: float, side: float = 1.0, weight: float = 1.0) -> Bounds:
    """SE(d)^k/SE(d), k poses moved together: k−1 poses relative to the first, N(one)^(k−1) from above.

    `side` bounds the *relative* positions, a box around the first pose in its own frame; k objects in a
    workspace of side L can be as far apart as side = 2·√d·L allows. The bounds hold for the distance between
    relative poses and for the quotient metric min_g max_i d(p_i, g·q_i), which is smaller. For the lower one:
    if the quotient distance is at most α, relative rotations differ by at most 2α/weight and relative
    positions by at most 2α + side·√d·sin(α/(2·weight)); then by volume.

    >>> relative_poses(2, 1, 0.5), relative_poses(2, 2, 0.1)
    (Bounds(lower=1, upper=1), Bounds(lower=69, upper=2048))
    """
    if d not in (2, 3):
        raise InvalidParameter(f"relative poses are built for SE(2) and SE(3), not SE({d})")
    if count("the number of poses", k) > MAX_COPIES:
        raise InvalidParameter(f"the number of poses must be at most {MAX_COPIES}, not {k}")
    if k == 1:
        return Bounds(1, 1)
    a, s, w = _length("alpha", alpha), _length("side", side), _length("weight", weight)
    upper = _poses(d, a, s, w).upper ** (k - 1)
    shift = 2.0 * a + s * math.sqrt(d) * math.sin(min(a / w, math.pi) / 2.0)
    return Bounds(min(upper, _at_least((k - 1) * _log_poses(d, shift, 2.0 * a / w, s))), upper)


class Space(NamedTuple):
    """A family of named spaces: how its names look, what it is, and which keyword options it takes."""

    pattern: str
    what: str
    options: tuple[str, ...]
    bounds: Callable[..., Bounds]


def _so3_mod(group: str) -> Callable[..., Bounds]:
    return lambda alpha: so3(alpha, *ROTATION_GROUPS[group])


_POSE = ("side", "weight")

SPACES: dict[str, Space] = {
    "box:D": Space(r"box:(\d+)", "the cube [0, side]^D", ("norm", "side"), box),
    "torus:D": Space(r"torus:(\d+)", "D circles", ("norm",), torus),
    "circle": Space(r"circle", "the circle, arc length", (), circle),
    "circle/ZN": Space(r"circle/z(\d+)", "the circle modulo N rotations", (), lambda n, a: circle(a, n)),
    "circle^2/SO2": Space(r"circle\^2/so2", "two angles turned together", (), circle_pair),
    "sphere": Space(r"sphere", "the sphere S^2, arc length", (), sphere),
    "sphere/SO2": Space(r"sphere/so2", "the sphere modulo turns about an axis", (), sphere_axial),
    "so3": Space(r"so3", "rotations of space, by angle", (), so3),
    "so3/ZN": Space(
        r"so3/z(\d+)",
        "rotations modulo N turns about an axis",
        (),
        lambda n, a: so3(a, n, 2.0 * math.pi / max(2, n)),
    ),
    **{
        f"so3/{g}": Space(rf"so3/{g.lower()}", f"rotations modulo the {order} of a {solid}", (), _so3_mod(g))
        for (g, (order, _)), solid in zip(ROTATION_GROUPS.items(), ("tetrahedron", "cube", "icosahedron"), strict=True)
    },
    "se2": Space(r"se2", "planar poses, position in a box", _POSE, se2),
    "se3": Space(r"se3", "spatial poses, position in a box", _POSE, se3),
    "se2^K/se2": Space(
        r"se2\^(\d+)/se2",
        "K planar poses moved together",
        _POSE,
        lambda k, a, **o: relative_poses(2, k, a, **o),
    ),
    "se3^K/se3": Space(
        r"se3\^(\d+)/se3",
        "K spatial poses moved together",
        _POSE,
        lambda k, a, **o: relative_poses(3, k, a, **o),
    ),
}
"""The spaces `cover` and `nets.numeric` know. D, N, K are whole numbers: box:3, circle/Z16, se2^2/se2."""


def parse(name: str, options: dict[str, Any]) -> tuple[str, tuple[int, ...]]:
    """The key of `SPACES` that a name belongs to and the whole numbers in it; checks the option names.

    >>> parse("torus:2", {}), parse("SO3/o24", {})
    (('torus:D', (2,)), ('so3/O24', ()))
    """
    for key, space in SPACES.items():
        found = re.fullmatch(space.pattern, name.strip().lower())
        if found is None:
            continue
        odd = sorted(set(options) - set(space.options))
        if odd:
            takes = f"only {' and '.join(space.options)}" if space.options else "no options"
            raise InvalidParameter(f"the space {name} takes {takes}, not {', '.join(odd)}")
        if any(len(n) > 9 for n in found.groups()):
            raise InvalidParameter(f"the number in {name!r} is too large: use at most nine digits")
        return key, tuple(count(f"the number in {name!r}", int(n)) for n in found.groups())
    raise UnknownName("space", name, SPACES)


def cover(name: str, alpha: float, **options: Any) -> Bounds:
    """Bounds on N(S, α) for a space given by name; `options` are norm, side, weight where the space has them.

    >>> cover("circle/Z16", 0.5), cover("box:2", 0.25, side=2.0)
    (Bounds(lower=1, upper=1), Bounds(lower=16, upper=16))
    """
    key, numbers = parse(name, options)
    return SPACES[key].bounds(*numbers, alpha, **options)
