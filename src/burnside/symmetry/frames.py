"""Canonical forms of continuous groups, by a frame that moves along; and :func:`canonical_form` for both sorts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.errors import InvalidAction, InvalidParameter, UnknownName
from burnside.groups.rigid import quaternion_to_matrix, rigid, rot6d_to_matrix, so2_exp
from burnside.symmetry.acting import Acting, ConcatActing, RotationActing, TreeActing
from burnside.symmetry.forms import CanonicalForm, FiniteForm, largest
from burnside.symmetry.groups import ContinuousGroup

if TYPE_CHECKING:
    from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["Frame", "FrameForm", "canonical_form"]


@dataclass(frozen=True)
class Frame:
    """Where a canonical view stands and looks, read off the observation.

    Attributes:
        direction: places of a vector; the view looks along it (its horizontal part, if the group turns the plane and
            the vector has three numbers).
        second: places of a second vector, for rotations of space: it ends up in the x–y plane.
        angle: place of an angle; the view looks that way.
        orientation: places of a quaternion (4) or of two columns of a rotation matrix (6).
        position: places of the point where the view stands, for SE(2) and SE(3).
        key: the key of the array, for ``Dict`` spaces.
        order: of the numbers of a quaternion.

    Where the direction is the zero vector there is no way to look, so the world's is taken: the form jumps there.

    >>> from burnside.symmetry import EnvSymmetry, Rotation
    >>> arm = EnvSymmetry("SO(2)", Rotation((0, 1), (2, 3)), "trivial", domain=Frame(direction=(0, 1)))
    >>> arm.canonicalizer(np.array([0.0, 2.0, 1.0, 0.0]))[0].round(6).tolist()
    [2.0, 0.0, 0.0, -1.0]
    """

    direction: tuple[int, ...] = ()
    second: tuple[int, ...] = ()
    angle: int | None = None
    orientation: tuple[int, ...] = ()
    position: tuple[int, ...] = ()
    key: str | None = None
    order: str = "wxyz"

    def __post_init__(self) -> None:
        for name in ("direction", "second", "orientation", "position"):
            object.__setattr__(self, name, tuple(int(i) for i in getattr(self, name)))
        ways = [bool(self.direction), self.angle is not None, bool(self.orientation)]
        if sum(ways) != 1:
            raise InvalidParameter("a frame looks along one direction, angle or orientation: give exactly one of them")
        if self.orientation and len(self.orientation) not in (4, 6):
            raise InvalidParameter(f"an orientation has 4 or 6 numbers, got the places {self.orientation}")
        if self.order not in ("wxyz", "xyzw"):
            raise UnknownName("order of quaternions", self.order, ("wxyz", "xyzw"))

    def pose(self, group: ContinuousGroup, x: AnyArray) -> FloatArray:
        """The element of the group that brings the world's view to this one; one for each row."""
        seen = np.asarray(x, dtype=np.float64)
        turn = self._plane(seen) if group.dimension == 2 else self._space(seen)
        if not group.has_translations:
            return turn
        if len(self.position) < group.dimension:
            raise InvalidParameter(f"{group} has translations: the frame needs a position of {group.dimension} places")
        return rigid(turn, seen[..., self.position[: group.dimension]])

    def _plane(self, x: FloatArray) -> FloatArray:
        if self.angle is not None:
            return so2_exp(x[..., self.angle])
        ahead = x[..., self.direction[:2]] if self.direction else self._matrix(x)[..., :2, 0]
        length = np.sqrt((ahead * ahead).sum(axis=-1))
        safe = np.where(length > 0, length, 1.0)
        c = np.where(length > 0, ahead[..., 0] / safe, 1.0)
        s = np.where(length > 0, ahead[..., 1] / safe, 0.0)
        return np.stack([np.stack([c, -s], axis=-1), np.stack([s, c], axis=-1)], axis=-2)

    def _space(self, x: FloatArray) -> FloatArray:
        if self.orientation:
            return self._matrix(x)
        if len(self.direction) != 3 or len(self.second) != 3:
            raise InvalidParameter("in space a frame needs an orientation, or a direction and a second vector")
        pair = np.concatenate([x[..., self.direction], x[..., self.second]], axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            turn = rot6d_to_matrix(pair)
        parallel = ~np.isfinite(turn).all(axis=(-2, -1))
        return np.where(parallel[..., None, None], np.eye(3), turn)

    def _matrix(self, x: FloatArray) -> FloatArray:
        found = x[..., self.orientation]
        if len(self.orientation) == 6:
            return rot6d_to_matrix(found)
        return quaternion_to_matrix(found[..., [1, 2, 3, 0]] if self.order == "wxyz" else found)

    def to_dict(self) -> dict[str, Any]:
        """The fields that say something."""
        found = {}
        for f in fields(self):
            value = getattr(self, f.name)
            if value != f.default:
                found[f.name] = list(value) if isinstance(value, tuple) else value
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Frame:
        """From what :meth:`to_dict` wrote."""
        try:
            return cls(**data)
        except TypeError as error:
            raise InvalidParameter(f"a frame cannot be read from {dict(data)!r:.80}: {error}") from None


class FrameForm(CanonicalForm):
    """The view from a frame that moves along with the observation."""

    def __init__(self, declaration: EnvSymmetry, domain: Any) -> None:
        super().__init__(declaration, domain)
        group = declaration.group
        assert isinstance(group, ContinuousGroup)
        self._group: ContinuousGroup = group
        self._part: Acting = declaration.on("observation")
        if domain is None:
            raise InvalidParameter(f"{group} has infinitely many images: say by domain=Frame(…) which one is canonical")
        if not isinstance(domain, Frame):
            if not callable(domain):
                raise InvalidParameter(f"the domain of {group} is a Frame or a function to frames, got {domain!r:.60}")
            self._pose: Callable[[Any], Any] = domain
        else:
            self._pose = self._frame(domain)

    def _frame(self, frame: Frame) -> Callable[[Any], Any]:
        part = self._part
        if frame.key is not None:
            if not isinstance(part, TreeActing) or frame.key not in part.inside:
                raise UnknownName("key", frame.key, map(str, getattr(part, "inside", ())))
            part = part.inside[frame.key]
        elif isinstance(part, TreeActing):
            raise InvalidParameter("the observation has several arrays: say which one by Frame(…, key=…)")
        if not isinstance(part, RotationActing | ConcatActing):
            raise InvalidParameter("a frame is read off a vector that turns: use Rotation for that part")
        self._check_moves_along(frame, part)
        return lambda x: frame.pose(self._group, np.asarray(x if frame.key is None else x[frame.key]))

    def _check_moves_along(self, frame: Frame, part: RotationActing | ConcatActing) -> None:
        """F(g·x) = g F(x), tried on random vectors: else the numbers are not a vector, point or angle of the group."""
        width = part.width if isinstance(part, ConcatActing) else part.rotation.width
        used = (*frame.direction, *frame.second, *frame.orientation, *frame.position)
        highest = max([*used, -1 if frame.angle is None else frame.angle])
        if highest >= width:
            raise InvalidParameter(f"the frame names place {highest}, but there are {width} numbers")
        x = np.random.default_rng(0).normal(size=(8, width))
        g = self._group.random_element(0, np.arange(8))
        if self._group.has_reflections:  # they are dealt with after turning
            improper = np.linalg.det(g) < 0
            g = np.where(improper[:, None, None], g * np.array([1.0, -1.0]), g)
        here, there = frame.pose(self._group, part.act(g, x)), np.matmul(g, frame.pose(self._group, x))
        if not np.allclose(here, there, atol=1e-6):
            raise InvalidAction(
                f"{frame!r} does not move along with {self._group}: the places it names are not a vector, angle, "
                "orientation or point of the representation"
            )

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """The view from the frame, and the element that leads to it."""
        g = self._group.inverse(self._pose(x))
        x_bar = self.act(g, x)
        if not self._group.has_reflections:
            return x_bar, g
        # O(2): the frame has fixed the turn; of the view and its mirror image, the larger one
        mirror = np.diag([1.0, -1.0])
        flipped = self.act(mirror, x_bar)
        lead = len(self._group.lead(g))
        rows = []
        for y in (x_bar, flipped):
            parts = [a.reshape(*a.shape[:lead], -1) for _, a, own in self._part.parts(y) if own is not None]
            rows.append(np.concatenate(parts, axis=-1))
        pair = np.stack(rows, axis=-2)
        kind = np.finfo(pair.dtype).eps if pair.dtype.kind == "f" else 0.0
        chosen = largest(pair, 64 * float(kind) * max(1.0, float(np.abs(pair).max(initial=0.0))))
        g = np.where(np.asarray(chosen)[..., None, None] == 1, np.matmul(mirror, g), g)
        return self.act(g, x), g


def canonical_form(declaration: EnvSymmetry, domain: Any = None) -> CanonicalForm:
    """The canonical form of a declaration; a :class:`burnside.canonical.Canonicalizer`.

    Args:
        declaration: the symmetry.
        domain: which image represents its orbit.

            For finite groups: a number or a name (the image where this coordinate is *largest*: positive, if the group
            changes its sign), a key of a ``Dict`` space, a pair (key, number), or a list of these, the first deciding
            first; ``"lexicographic"`` or None (all coordinates in their order); or a function of your own, from
            observations with any leading axes to scores (or rows of scores), the largest of which wins.

            For continuous groups: a :class:`Frame`, or a function from observations to frames (elements of the group
            that move along with the observation).

    >>> from burnside.symmetry import EnvSymmetry
    >>> cartpole = EnvSymmetry("mirror", "- - - -", "labels 1,0", names=("x", "v", "angle", "turn"))
    >>> form = canonical_form(cartpole, domain="angle")
    >>> x_bar, g = form(np.array([0.1, 0.0, -0.2, 0.3]))
    >>> x_bar, g, form.undo(0, g)
    (array([-0.1, -0. ,  0.2, -0.3]), 1, 1)
    """
    if declaration.elements is None:
        return FrameForm(declaration, domain)
    if isinstance(domain, Frame):
        raise InvalidParameter(f"a frame is for continuous groups; {declaration.group} needs a coordinate")
    return FiniteForm(declaration, domain)
