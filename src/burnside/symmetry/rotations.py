"""Vectors some of whose numbers turn with the plane or with space: rotation blocks, points, quaternions, angles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.groups.rigid import matrix_to_quaternion
from burnside.symmetry.affine import Affine, Folding
from burnside.symmetry.base import Map, Representation
from burnside.symmetry.vectors import SignedPermutation, Trivial

__all__ = ["Rotation"]

Places = tuple[tuple[int, ...], ...]
_ORDERS = {"wxyz": (0, 1, 2, 3), "xyzw": (3, 0, 1, 2)}


@dataclass(frozen=True)
class Rotation(Representation):
    """A vector whose numbers turn with the group: ``Rotation((0, 2), (4, 5))`` turns these two pairs.

    Attributes:
        vectors: places of the two or three numbers of each vector: a velocity, a direction, the cosine and sine of an
            angle (in this order).
        points: the same for points, which translations move too.
        axial: places of axial (pseudo-) vectors of space, such as angular velocities: a mirror changes the sign of
            those in its plane.
        odd: places of single numbers that a reflection changes in sign: a turn rate in the plane, a joint angle, a
            torque.
        angles: places of angles in [−π, π): a turn adds to them, a reflection reverses them.
        quaternions: the four places of each quaternion.
        rot6d: the six places of each orientation that is given by two columns of its matrix.
        width: how many numbers there are; default up to the last place that is named.
        order: ``"wxyz"`` or ``"xyzw"``, the order of the numbers of a quaternion.
        body: what the axes of bodies (quaternions, rot6d) do. ``"fixed"``: a body turns in the world as a stone does
            (and a reflection mirrors it in its own x–z plane, left and right). ``"turned"``: the axes of the body turn
            as well, because its parts are renamed: Ant, whose legs change places.
        mirror: what the reflection ``y → −y`` does to the whole vector, where numbers change places (the legs of a
            robot); default what follows from the above.

    All other numbers stay as they are. In space, groups of the plane turn about the vertical, the third axis.

    A quaternion and its negative are one rotation. Where ``body`` is fixed, results have their first number (w, then x,
    y, z) that is not 0 positive, so observations should have it too.

    >>> reacher = Rotation((0, 2), (4, 5), (8, 9), odd=(3, 6, 7))
    >>> reacher
    Rotation((0, 2), (4, 5), (8, 9), odd=(3, 6, 7))
    >>> reacher.width
    10
    """

    vectors: Places = ()
    points: Places = ()
    axial: Places = ()
    odd: tuple[int, ...] = ()
    angles: tuple[int, ...] = ()
    quaternions: Places = ()
    rot6d: Places = ()
    width: int = 0
    order: str = "wxyz"
    body: str = "fixed"
    mirror: SignedPermutation | None = None

    kind = "rotation"

    def __init__(
        self,
        *vectors: tuple[int, ...],
        points: Any = (),
        axial: Any = (),
        odd: Any = (),
        angles: Any = (),
        quaternions: Any = (),
        rot6d: Any = (),
        width: int | None = None,
        order: str = "wxyz",
        body: str = "fixed",
        mirror: Any = None,
    ) -> None:
        put = object.__setattr__
        many = {"vectors": vectors, "points": points, "axial": axial, "quaternions": quaternions, "rot6d": rot6d}
        for name, value in many.items():
            put(self, name, _tuples(value, name))
        put(self, "odd", tuple(int(i) for i in odd))
        put(self, "angles", tuple(int(i) for i in angles))
        used = [i for name in many for places in getattr(self, name) for i in places] + [*self.odd, *self.angles]
        found = mirror if mirror is None or isinstance(mirror, SignedPermutation) else SignedPermutation(mirror)
        size = found.width if found is not None else max(used, default=-1) + 1
        put(self, "mirror", found)
        put(self, "width", size if width is None else int(width))
        put(self, "order", order)
        put(self, "body", body)
        self._check(used)

    def _check(self, used: list[int]) -> None:
        if self.order not in _ORDERS:
            raise UnknownName("order of quaternions", self.order, _ORDERS)
        if self.body not in ("fixed", "turned"):
            raise UnknownName("behaviour of bodies", self.body, ("fixed", "turned"))
        twice = sorted({i for i in used if used.count(i) > 1})
        if twice:
            raise InvalidAction(f"place {twice[0]} is named twice in {self!r}: every number has one meaning")
        if used and not (min(used) >= 0 and max(used) < self.width):
            raise InvalidAction(
                f"{self!r} names place {max(used)}, but has {self.width} numbers: 0 to {self.width - 1}"
            )
        sizes = {"vectors": (2, 3), "points": (2, 3), "axial": (3,), "quaternions": (4,), "rot6d": (6,)}
        for name, allowed in sizes.items():
            for places in getattr(self, name):
                if len(places) not in allowed:
                    raise InvalidAction(f"{name} have {' or '.join(map(str, allowed))} numbers each, got {places}")
        if self.mirror is not None and self.mirror.width != self.width:
            raise InvalidAction(f"mirror moves {self.mirror.width} numbers, but there are {self.width}")

    # ------------------------------------------------------------------ what it does

    @property
    def folding(self) -> Folding:
        """Angles and quaternions: which numbers mean the same."""
        quads = tuple(self._quad(q) for q in self.quaternions) if self.body == "fixed" else ()
        return Folding(tuple((i, -math.pi, 2 * math.pi) for i in self.angles), quads)  # type: ignore[arg-type]

    def _quad(self, places: tuple[int, ...]) -> tuple[int, ...]:
        """The places of w, x, y, z."""
        return tuple(places[k] for k in _ORDERS[self.order])

    def move(self, R: FloatArray, t: FloatArray | None, x: Any) -> AnyArray:
        """Vectors moved by rotations ``(…, d, d)`` (which may reflect) and translations ``(…, d)``."""
        found = np.asarray(x)
        if found.shape[-1:] != (self.width,):
            raise InvalidParameter(f"{self!r} needs {self.width} numbers on the last axis, got shape {found.shape}")
        kind = found.dtype if found.dtype.kind == "f" else np.dtype(np.float64)
        return self.folding(self._unfolded(R, t, found).astype(kind))

    def _unfolded(self, R: FloatArray, t: FloatArray | None, x: AnyArray) -> FloatArray:
        """The affine part: before angles and quaternions are brought into their range."""
        lead = np.broadcast_shapes(x.shape[:-1], R.shape[:-2])
        out = np.array(np.broadcast_to(x, (*lead, self.width)), dtype=np.float64)
        if self.mirror is not None:
            improper = np.linalg.det(R) < 0
            out = np.where(improper[..., None], self.mirror(out), out)
            flip = np.ones(R.shape[-1])
            flip[1] = -1.0
            R = np.where(improper[..., None, None], R * flip, R)
        self._turn(R, t, out)
        return out

    def _turn(self, R: FloatArray, t: FloatArray | None, out: FloatArray) -> None:
        d = R.shape[-1]
        det = np.sign(np.linalg.det(R))
        space = R if d == 3 else _embedded(R)
        for places in self.vectors:
            out[..., places] = _product(self._fitting(R, space, places), out[..., places])
        for places in self.points:
            moved = _product(self._fitting(R, space, places), out[..., places])
            if t is not None:
                moved[..., : t.shape[-1]] += t
            out[..., places] = moved
        for places in self.axial:
            out[..., places] = _product(det[..., None, None] * space, out[..., places])
        for i in self.odd:
            out[..., i] *= det
        if self.angles and d != 2:
            raise InvalidAction("angles turn with the plane; a group of space has no single angle")
        for i in self.angles:
            out[..., i] = det * out[..., i] + np.arctan2(R[..., 1, 0], R[..., 0, 0])
        for places in self.quaternions:
            quad = list(self._quad(places))
            out[..., quad] = self._quaternion(space, det, out[..., quad])
        for places in self.rot6d:
            out[..., places] = self._columns(R, space, det, out[..., places])

    def _fitting(self, R: FloatArray, space: FloatArray, places: tuple[int, ...]) -> FloatArray:
        if len(places) == 3:
            return space
        if R.shape[-1] == 3:
            raise InvalidAction(f"the pair {places} cannot turn with a group of space: give three places, or use a "
                                "group of the plane")  # fmt: skip
        return R

    def _quaternion(self, space: FloatArray, det: FloatArray, q: FloatArray) -> FloatArray:
        """Of wxyz. Turned: Q → g Q g⁻¹. Fixed: Q → g Q, and for reflections g Q m with the body's own mirror m."""
        if self.body == "turned":
            return np.concatenate([q[..., :1], _product(det[..., None, None] * space, q[..., 1:])], axis=-1)
        mirrored = q * np.array([1.0, -1.0, 1.0, -1.0])  # m Q m
        seen = np.where(det[..., None] < 0, mirrored, q)
        proper = np.where(det[..., None, None] < 0, space * np.array([1.0, -1.0, 1.0]), space)  # g m
        turn = matrix_to_quaternion(proper)[..., [3, 0, 1, 2]]
        return _hamilton(turn, seen)

    def _columns(self, R: FloatArray, space: FloatArray, det: FloatArray, v: FloatArray) -> FloatArray:
        first, second = _product(space, v[..., :3]), _product(space, v[..., 3:])
        if self.body == "fixed":
            return np.concatenate([first, det[..., None] * second], axis=-1)
        if R.shape[-1] == 3:
            raise InvalidAction("a rot6d whose body turns along needs a group of the plane: use quaternions in space")
        a, b, c, e = (R[..., i, j, None] for i in range(2) for j in range(2))
        return np.concatenate([a * first + b * second, c * first + e * second], axis=-1)

    def map(self, R: FloatArray) -> Map:
        """What one element does, as a map of its own; a signed permutation if that is all it is."""
        offset = self._unfolded(R, None, np.zeros(self.width))
        basis = self._unfolded(R, None, np.eye(self.width)) - offset
        return Affine(_tidy(basis.T), offset, self.folding).simple()

    # ------------------------------------------------------------------ as a value

    def merge(self, other: Representation) -> Representation | None:
        """One rotation for two vectors, one after the other."""
        if isinstance(other, Trivial) and other.width is not None and self.mirror is None:
            return Rotation.from_fields(self._fields() | {"width": self.width + other.width})
        if not isinstance(other, Rotation) or self.mirror or other.mirror:
            return None
        if (self.order, self.body) != (other.order, other.body) and (other._bodies and self._bodies):
            return None
        shift = self.width
        mine, theirs = self._fields(), other._fields()
        joined: dict[str, Any] = {"width": self.width + other.width}
        joined |= {key: (self if self._bodies else other)._fields()[key] for key in ("order", "body")}
        for name in ("vectors", "points", "axial", "quaternions", "rot6d"):
            joined[name] = mine[name] + tuple(tuple(i + shift for i in places) for places in theirs[name])
        for name in ("odd", "angles"):
            joined[name] = mine[name] + tuple(i + shift for i in theirs[name])
        return Rotation.from_fields(joined)

    @property
    def _bodies(self) -> bool:
        return bool(self.quaternions or self.rot6d)

    def _fields(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @classmethod
    def from_fields(cls, data: Mapping[str, Any]) -> Rotation:
        """From a dictionary of the fields."""
        found = dict(data)
        vectors = found.pop("vectors", ())
        return cls(*[tuple(places) for places in vectors], **found)

    def to_data(self) -> Any:
        """The fields that say something."""
        found: dict[str, Any] = {"kind": "rotation"}
        for name, value in self._shown().items():
            found[name] = str(value) if isinstance(value, SignedPermutation) else _lists(value)
        return found

    def _shown(self) -> dict[str, Any]:
        inferred = max([i for f in ("vectors", "points", "axial", "quaternions", "rot6d") for p in getattr(self, f)
                        for i in p] + [*self.odd, *self.angles], default=-1) + 1  # fmt: skip
        plain = {"order": "wxyz", "body": "fixed", "mirror": None}
        found = {}
        for name, value in self._fields().items():
            if name == "width":
                if self.mirror is None and value != inferred:
                    found[name] = value
            elif name in plain:
                if value != plain[name]:
                    found[name] = value
            elif value:
                found[name] = value
        return found

    def __repr__(self) -> str:
        """As it would be written."""
        shown = self._shown()
        words = [repr(places) for places in shown.pop("vectors", ())]
        words += [f"{k}={str(v) if isinstance(v, SignedPermutation) else v!r}" for k, v in shown.items()]
        return f"Rotation({', '.join(words)})"


def _tuples(value: Any, name: str) -> Places:
    """Tuples of places; a single one may be written without the outer brackets."""
    found = tuple(value)
    if found and all(isinstance(i, int | np.integer) for i in found):
        found = (found,)
    try:
        return tuple(tuple(int(i) for i in places) for places in found)
    except (TypeError, ValueError):
        raise InvalidParameter(f"{name} are tuples of places, such as (0, 2), got {value!r:.80}") from None


def _lists(value: Any) -> Any:
    return [_lists(item) for item in value] if isinstance(value, tuple) else value


def _embedded(R: FloatArray) -> FloatArray:
    """A turn or mirror of the plane as one of space, which leaves the vertical alone."""
    out = np.zeros((*R.shape[:-2], 3, 3))
    out[..., :2, :2], out[..., 2, 2] = R, 1.0
    return out


def _product(R: FloatArray, v: FloatArray) -> FloatArray:
    return (R @ v[..., None])[..., 0]


def _hamilton(p: FloatArray, q: FloatArray) -> FloatArray:
    """The product of quaternions wxyz."""
    a, b, c, d = (p[..., i] for i in range(4))
    w, x, y, z = (q[..., i] for i in range(4))
    return np.stack(
        [
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ],
        axis=-1,
    )


def _tidy(matrix: FloatArray) -> FloatArray:
    """Entries that are 0 or ±1 up to rounding are exactly so."""
    whole = np.round(matrix)
    return np.where(np.abs(whole - matrix) < 1e-12, whole, matrix) + 0.0
