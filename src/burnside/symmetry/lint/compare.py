"""Everything in which a model differs from its own image, by name and amount."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from burnside._types import AnyArray, FloatArray
from burnside.symmetry.lint.matching import BALL, FREE, HINGE, SLIDE, Matching
from burnside.symmetry.lint.motions import Rest, quaternion

__all__ = ["Comparison", "Violation", "compare"]

PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)  # mujoco.mjtGeom
_ROUND = (CAPSULE, CYLINDER)  # turned about their own axis they stay the same

Row = Callable[[FloatArray], FloatArray]
#: ``fix(model, share)``: ``share`` of the first part's value, the rest of the second's.
Fix = Callable[[Any, float], None]


@dataclass(frozen=True)
class Violation:
    """One thing in which the model differs from its image.

    Attributes:
        what: which property of what: ``"geom friction"``, ``"joint stiffness"``, ``"gravity"``.
        one: the part whose image is looked at.
        other: the part that should equal this image (the same one, where it is mapped to itself).
        amount: how much they differ, in the property's own unit; None where it is not a number.
        wanted: the value that ``one`` asks for.
        found: the value that ``other`` has.
        effect: ``"dynamics"``; ``"order"`` for what only changes the order in which a solver works, so that results
            differ by what it leaves undone; ``"sensing"`` for what only sensors notice.
        fix: repairs it in a compiled model; None if only a person can.
    """

    what: str
    one: str
    other: str
    amount: float | None
    wanted: str = ""
    found: str = ""
    effect: str = "dynamics"
    fix: Fix | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        keys = ("what", "one", "other", "amount", "wanted", "found", "effect")
        return {key: getattr(self, key) for key in keys} | {"repairable": self.fix is not None}

    def __str__(self) -> str:
        """One line."""
        size = "" if self.amount is None else f", differs by {self.amount:.4g}"
        where = self.one if self.one == self.other else f"{self.one} → {self.other}"
        values = f": {self.found} instead of {self.wanted}" if self.wanted or self.found else ""
        return f"{self.what} of {where}{values}{size}"


@dataclass(frozen=True)
class Comparison:
    """What :func:`compare` found: violations, and the images of geoms, sites, tendons and actuators.

    Attributes:
        violations: all of them.
        geoms: the image of every geom that matters; −1 for others.
        actuators: the image of every actuator.
        actuator_signs: ``new ctrl[image] = sign · old``.
    """

    violations: tuple[Violation, ...]
    geoms: AnyArray
    sites: AnyArray
    actuators: AnyArray
    actuator_signs: FloatArray


def compare(rest: Rest, matching: Matching, tolerance: float = 1e-6) -> Comparison:
    """Compare a model with its image under a matching of its bodies and joints.

    Args:
        rest: the model at rest.
        matching: who becomes who.
        tolerance: differences up to this count as equal, relative to the values (for places: to the model's size).
    """
    work = _Work(rest, matching, tolerance)
    work.world()
    work.bodies()
    work.joints()
    work.geoms()
    work.sites()
    work.contacts()
    work.tendons()
    work.actuators()
    work.equalities()
    work.sensors()
    work.solver()
    return Comparison(tuple(work.found), work.geom_map, work.site_map, work.actuator_map, work.actuator_signs)


# ---------------------------------------------------------------------- rows of numbers and what they become


def _same(row: FloatArray) -> FloatArray:
    return row


def _signed(sign: float, offset: float = 0.0) -> tuple[Row, Row]:
    """Numbers that are multiplied by a sign, and shifted."""
    return (lambda row: sign * row + offset), (lambda row: sign * (row - offset))


def _interval(sign: float, offset: float = 0.0) -> tuple[Row, Row]:
    """Intervals: a reversed one changes its ends."""
    there, back = _signed(sign, offset)
    return (lambda row: np.sort(there(row))), (lambda row: np.sort(back(row)))


def _text(value: Any) -> str:
    numbers = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel()
    if numbers.size > 6:
        return f"{numbers.size} numbers"
    words = [f"{0.0 if abs(x) < 1e-12 else x:.6g}" for x in numbers]
    return words[0] if len(words) == 1 else f"({', '.join(words)})"


class _Work:
    """One comparison under way."""

    def __init__(self, rest: Rest, matching: Matching, tolerance: float) -> None:
        self.rest, self.m, self.matching, self.tolerance = rest, rest.model, matching, tolerance
        self.motion, self.q = matching.motion, matching.motion.matrix
        self.found: list[Violation] = []
        self.geom_map = np.full(self.m.ngeom, -1)
        self.site_map = np.full(self.m.nsite, -1)
        self.tendon_map, self.tendon_signs = np.full(self.m.ntendon, -1), np.ones(self.m.ntendon)
        self.actuator_map, self.actuator_signs = np.full(self.m.nu, -1), np.ones(self.m.nu)
        joints = matching.joints
        self.involution = bool((joints[joints] == np.arange(len(joints))).all()) and self.motion.order == 2

    def add(self, *arguments: Any, **options: Any) -> None:
        self.found.append(Violation(*arguments, **options))

    def once(self, one: int, other: int, images: AnyArray) -> bool:
        """Whether a pair is to be looked at; of a mirror's two directions only one is."""
        return other >= 0 and not (self.involution and other < one and images[other] == one)

    def rows(
        self,
        what: str,
        kind: str,
        one: int,
        other: int,
        array: str,
        maps: tuple[Row, Row] = (_same, _same),
        *,
        at: tuple[Any, Any] | None = None,
        scale: float = 0.0,
        effect: str = "dynamics",
        exact: bool = False,
    ) -> bool:
        """Compare a row of an array of the model with the image of another; True if they differ.

        Args:
            what: the name of the property.
            kind: of what: for the names.
            one: the part whose image is taken.
            other: the part that should equal it.
            array: the field of the model.
            maps: what the row becomes under the motion, and the way back.
            at: where the rows are, if not at ``one`` and ``other``.
            scale: values smaller than this are not compared relative to themselves.
            effect: see :class:`Violation`.
            exact: for whole numbers, which have no mean.
        """
        if not hasattr(self.m, array):  # of another version of MuJoCo
            return False
        i, k = at or (one, other)
        values = getattr(self.m, array)
        there, back = maps
        wanted = np.asarray(there(np.array(values[i], dtype=np.float64)))
        got = np.array(values[k], dtype=np.float64)
        off = float(np.abs(wanted - got).max(initial=0.0))
        size = max(float(np.abs(wanted).max(initial=0.0)), float(np.abs(got).max(initial=0.0)), scale)
        if not off > self.tolerance * size:
            return False

        def fix(model: Any, share: float) -> None:
            target = getattr(model, array)
            image, now = np.asarray(there(np.array(target[i], float))), np.array(target[k], float)
            w = 0.5 if np.array_equal(i, k) else share
            new = (image if w >= 0.5 else now) if exact else w * image + (1 - w) * now
            target[k] = new
            if not np.array_equal(i, k):
                target[i] = back(new)

        names = self.rest.name(kind, one), self.rest.name(kind, other)
        self.add(what, *names, off, _text(wanted), _text(got), effect, fix)
        return True

    # ------------------------------------------------------------------ world and bodies

    def world(self) -> None:
        """Gravity, wind."""
        for what, relevant in (("gravity", True), ("wind", self.m.opt.density > 0 or self.m.opt.viscosity > 0)):
            vector = np.array(getattr(self.m.opt, what))
            turned = self.q @ vector
            off = float(np.abs(turned - vector).max())
            if relevant and off > self.tolerance * np.linalg.norm(vector):
                self.add(what, "world", "world", off, _text(turned), _text(vector), fix=self._average_option(what))

    def _average_option(self, what: str) -> Fix:
        def fix(model: Any, share: float) -> None:
            vector = getattr(model.opt, what)
            vector[:] = (vector + self.q @ vector) / 2

        return fix

    def bodies(self) -> None:
        """Places, masses, centres of mass, inertias."""
        m, images = self.m, self.matching.bodies
        for body in range(1, m.nbody):
            image = int(images[body])
            if m.body_weldid[body] == 0 or not self.once(body, image, images):
                continue
            if body in self.matching.misplaced:
                self.misplaced(body, image)
            heavy = self.rows("body mass", "body", body, image, "body_mass")
            self.rows("body gravity compensation", "body", body, image, "body_gravcomp")
            if max(m.body_mass[body], m.body_mass[image]) > 0:
                self.rows("body centre of mass", "body", body, image, "body_ipos",
                          self.places(body, image), scale=self.rest.extent)  # fmt: skip
                self.inertia(body, image, heavy)

    def misplaced(self, body: int, image: int) -> None:
        """A body that stands with all below it beside the image of its partner."""
        off = self.matching.misplaced[body]
        if float(np.abs(off).max()) <= self.tolerance * self.rest.extent:
            return
        m, rest = self.m, self.rest
        above, above_image = (rest.body_mat[m.body_parentid[b]] for b in (body, image))

        def fix(model: Any, share: float) -> None:
            w = 0.5 if body == image else share
            model.body_pos[image] -= w * (above_image.T @ off)
            if body != image:
                model.body_pos[body] += (1 - w) * (above.T @ self.q.T @ off)

        place = rest.body_pos[image]
        self.add("body place", rest.name("body", body), rest.name("body", image), float(np.abs(off).max()),
                 _text(place - off), _text(place), fix=fix)  # fmt: skip

    def places(self, body: int, image: int) -> tuple[Row, Row]:
        """Points in the frame of a body, as points in the frame of its image."""
        rest, q, shift = self.rest, self.q, self.matching.shifts[body]
        r1, r2, x1, x2 = rest.body_mat[body], rest.body_mat[image], rest.body_pos[body], rest.body_pos[image]
        return (
            lambda u: r2.T @ (q @ (r1 @ u + x1) + shift - x2),
            lambda u: r1.T @ (q.T @ (r2 @ u + x2 - shift) - x1),
        )

    def directions(self, body: int, image: int, sign: float) -> tuple[Row, Row]:
        """Directions in the frame of a body, as directions in the frame of its image."""
        a = self.rest.body_mat[image].T @ self.q @ self.rest.body_mat[body] * sign
        return (lambda u: a @ u), (lambda u: a.T @ u)

    def inertia(self, body: int, image: int, heavy: bool) -> None:
        rest = self.rest
        wanted, got = self.q @ rest.inertia[body] @ self.q.T, rest.inertia[image]
        off = float(np.abs(wanted - got).max())
        if off <= self.tolerance * max(np.abs(wanted).max(), np.abs(got).max()):
            return

        def fix(model: Any, share: float) -> None:
            w = 0.5 if body == image else share
            mean = w * wanted + (1 - w) * got
            _set_inertia(model, image, rest.body_mat[image].T @ mean @ rest.body_mat[image])
            if body != image:
                back = self.q.T @ mean @ self.q
                _set_inertia(model, body, rest.body_mat[body].T @ back @ rest.body_mat[body])

        self.add("body inertia", rest.name("body", body), rest.name("body", image), off,
                 _text(np.diag(wanted)), _text(np.diag(got)), fix=fix)  # fmt: skip

    # ------------------------------------------------------------------ joints

    def joints(self) -> None:
        """Axes, anchors, ranges, springs, damping, armature, friction."""
        m, images = self.m, self.matching.joints
        for joint in range(m.njnt):
            image = int(images[joint])
            if not self.once(joint, image, images):
                continue
            sign, offset = float(self.matching.signs[joint]), float(self.matching.offsets[joint])
            kind, body, body2 = m.jnt_type[joint], int(m.jnt_bodyid[joint]), int(m.jnt_bodyid[image])
            if kind in (SLIDE, HINGE):
                axial = sign * (self.motion.handedness if kind == HINGE else 1.0)
                self.rows("joint axis", "joint", joint, image, "jnt_axis",
                          self.directions(body, body2, axial), scale=1.0)  # fmt: skip
            if kind in (HINGE, BALL):
                self.anchor(joint, image)
            for what, array in _JOINT.items():
                self.rows(what, "joint", joint, image, array, exact=array.endswith("limited"))
            if m.jnt_limited[joint] and m.jnt_limited[image]:
                maps = _interval(sign, offset) if kind in (SLIDE, HINGE) else (_same, _same)
                self.rows("joint range", "joint", joint, image, "jnt_range", maps)
            if getattr(m, "jnt_actfrclimited", np.zeros(m.njnt))[joint]:
                self.rows("joint actuator force range", "joint", joint, image, "jnt_actfrcrange", _interval(sign))
            if m.jnt_stiffness[joint] and kind in (SLIDE, HINGE):
                at = (int(m.jnt_qposadr[joint]), int(m.jnt_qposadr[image]))
                size = float(np.abs(m.jnt_range[joint]).max()) or 1.0
                self.rows("joint spring reference", "joint", joint, image, "qpos_spring",
                          _signed(sign, offset), at=at, scale=size)  # fmt: skip
            d1, d2 = int(m.jnt_dofadr[joint]), int(m.jnt_dofadr[image])
            width = {FREE: 6, BALL: 3}.get(int(kind), 1)
            for what, array in _DOF.items():
                self.rows(what, "joint", joint, image, array, at=(slice(d1, d1 + width), slice(d2, d2 + width)))

    def anchor(self, joint: int, image: int) -> None:
        """Where a joint turns; along a hinge's axis the anchor may be anywhere."""
        m, rest = self.m, self.rest
        body, body2 = int(m.jnt_bodyid[joint]), int(m.jnt_bodyid[image])
        off = rest.anchor[image] - self.matching.point(body, rest.anchor[joint])
        if m.jnt_type[joint] == HINGE:
            off = off - (off @ rest.axis[image]) * rest.axis[image]
        amount = float(np.linalg.norm(off))
        if amount <= self.tolerance * rest.extent:
            return

        def fix(model: Any, share: float) -> None:
            w = 0.5 if joint == image else share
            model.jnt_pos[image] -= w * (rest.body_mat[body2].T @ off)
            if joint != image:
                model.jnt_pos[joint] += (1 - w) * (rest.body_mat[body].T @ self.q.T @ off)

        got = rest.anchor[image]
        self.add("joint anchor", rest.name("joint", joint), rest.name("joint", image), amount,
                 _text(got - off), _text(got), fix=fix)  # fmt: skip

    # ------------------------------------------------------------------ geoms, sites, contacts

    def geoms(self) -> None:
        """Type, size, place, orientation, friction and contact parameters of all geoms that touch or swim."""
        m, rest = self.m, self.rest
        matters = rest.collides.any(axis=1)
        if m.opt.density > 0 or m.opt.viscosity > 0:
            matters |= m.geom_fluid[:, 0] > 0
        groups: dict[int, list[int]] = {}
        for geom in np.flatnonzero(matters).tolist():
            body = int(m.geom_bodyid[geom])
            groups.setdefault(0 if m.body_weldid[body] == 0 else body, []).append(geom)
        for body in sorted(set(groups) | {int(b) for b in range(m.nbody) if self.matching.bodies[b] in groups}):
            image = 0 if body == 0 else int(self.matching.bodies[body])
            if image == 0 and body != 0:
                continue
            self.assign_geoms(groups.get(body, []), groups.get(image, []), body)
        for geom in np.flatnonzero(matters).tolist():
            image = int(self.geom_map[geom])
            if self.once(geom, image, self.geom_map):
                self.geom(geom, image)

    def assign_geoms(self, ours: list[int], theirs: list[int], body: int) -> None:
        from scipy.optimize import linear_sum_assignment

        m, rest = self.m, self.rest
        if ours and theirs:
            there = rest.geom_pos[ours] @ self.q.T + self.matching.shifts[body]
            costs = np.linalg.norm(there[:, None] - rest.geom_pos[theirs][None], axis=-1) / rest.extent
            planes = (m.geom_type[ours] == PLANE)[:, None] & (m.geom_type[theirs] == PLANE)[None, :]
            if planes.any():  # a plane is infinite: its frame may stand anywhere on it
                normals, normals2 = rest.geom_mat[ours][:, :, 2] @ self.q.T, rest.geom_mat[theirs][:, :, 2]
                above = np.einsum("ikx,kx->ik", there[:, None] - rest.geom_pos[theirs][None], normals2) / rest.extent
                tilt = np.linalg.norm(normals[:, None] - normals2[None], axis=-1)
                costs[planes] = (np.abs(above) + tilt)[planes]
            costs += 10.0 * (m.geom_type[ours][:, None] != m.geom_type[theirs][None, :])
            sizes = np.abs(m.geom_size[ours][:, None] - m.geom_size[theirs][None]).max(axis=-1)
            costs += np.where(planes, 0.0, sizes / rest.extent)
            costs += 1e-6 * (np.array(ours)[:, None] != np.array(theirs)[None, :])
            for i, k in zip(*linear_sum_assignment(costs), strict=True):
                self.geom_map[ours[i]] = theirs[k]
        taken = set(self.geom_map[ours].tolist())
        for geom in ours:
            if self.geom_map[geom] < 0:
                self.add("geom without a partner", rest.name("geom", geom), "–", None)
        for geom in theirs:
            if geom not in taken:
                self.add("geom without a partner", "–", rest.name("geom", geom), None)

    def geom(self, one: int, other: int) -> None:
        m = self.m
        if self.rows("geom type", "geom", one, other, "geom_type", exact=True):
            self.found[-1] = _without_fix(self.found[-1])
            return
        kind = int(m.geom_type[one])
        body, body2 = int(m.geom_bodyid[one]), int(m.geom_bodyid[other])
        if kind == PLANE:
            self.plane(one, other)
        else:
            self.rows("geom place", "geom", one, other, "geom_pos", self.places(body, body2), scale=self.rest.extent)
            if kind != MESH and kind != HFIELD:
                self.rows("geom size", "geom", one, other, "geom_size", at=_size_columns(kind, one, other))
            self.shape(one, other, kind)
        for what, array in _GEOM.items():
            self.rows(what, "geom", one, other, array, exact=array in ("geom_condim", "geom_priority"))
        if m.opt.density > 0 or m.opt.viscosity > 0:
            self.rows("geom fluid coefficients", "geom", one, other, "geom_fluid")

    def plane(self, one: int, other: int) -> None:
        rest = self.rest
        normal, got = self.q @ rest.geom_mat[one][:, 2], rest.geom_mat[other][:, 2]
        place = self.matching.point(int(self.m.geom_bodyid[one]), rest.geom_pos[one])
        names = rest.name("geom", one), rest.name("geom", other)
        tilt = float(np.abs(normal - got).max())
        if tilt > self.tolerance:
            self.add("plane normal", *names, tilt, _text(normal), _text(got))
        off = float(abs((place - rest.geom_pos[other]) @ got))
        if off > self.tolerance * rest.extent:
            self.add("plane height", *names, off)

    def shape(self, one: int, other: int, kind: int) -> None:
        """The orientation, as far as the shape shows it."""
        rest, m = self.rest, self.m
        names = rest.name("geom", one), rest.name("geom", other)
        turned, got = self.q @ rest.geom_mat[one], rest.geom_mat[other]
        if kind in _ROUND:
            axis, axis2 = turned[:, 2], got[:, 2]
            sign = 1.0 if axis @ axis2 >= 0 else -1.0
            off = float(np.linalg.norm(sign * axis - axis2))
            if off > self.tolerance:
                fix = self.turn_axis(one, other, sign)
                self.add("geom direction", *names, off, _text(sign * axis), _text(axis2), fix=fix)
        elif kind == ELLIPSOID:
            tensors = [r @ np.diag(m.geom_size[g] ** 2) @ r.T for r, g in ((turned, one), (got, other))]
            off = float(np.abs(tensors[0] - tensors[1]).max())
            if off > self.tolerance * np.abs(tensors[0]).max() and np.allclose(m.geom_size[one], m.geom_size[other]):
                self.add("geom orientation", *names, off)
        elif kind == BOX:
            off = _apart(_corners(m.geom_size[one]) @ turned.T, _corners(m.geom_size[other]) @ got.T)
            if off > self.tolerance * rest.extent and np.allclose(m.geom_size[one], m.geom_size[other]):
                self.add("geom orientation", *names, off)
        elif kind == MESH:
            off = _apart(self.vertices(one) @ turned.T, self.vertices(other) @ got.T)
            if off > max(self.tolerance, 1e-6) * rest.extent:  # vertices are stored in single precision
                self.add("mesh shape", *names, off)
        elif kind == HFIELD:
            frame = got.T @ turned
            off_or_none = self.heights(one, other, frame)
            if off_or_none is None or off_or_none > 0:
                self.add("height field", *names, off_or_none)
            elif frame[0, 0] * frame[1, 1] < 0:  # a reflection of the grid
                self.add(
                    "height field triangles", *names, None, "cut along the other diagonal", "cut along one diagonal"
                )

    def turn_axis(self, one: int, other: int, sign: float) -> Fix:
        """Both geoms turned until their axes are images of each other."""
        rest, m = self.rest, self.m
        wanted, got = sign * self.q @ rest.geom_mat[one][:, 2], rest.geom_mat[other][:, 2]

        def fix(model: Any, share: float) -> None:
            w = 0.5 if one == other else share
            mean = w * wanted + (1 - w) * got
            mean = mean / np.linalg.norm(mean)
            _point_geom(rest, model, other, mean, int(m.geom_bodyid[other]))
            if one != other:
                _point_geom(rest, model, one, sign * self.q.T @ mean, int(m.geom_bodyid[one]))

        return fix

    def vertices(self, geom: int) -> FloatArray:
        m, mesh = self.m, int(self.m.geom_dataid[geom])
        first = int(m.mesh_vertadr[mesh])
        return np.asarray(m.mesh_vert[first : first + int(m.mesh_vertnum[mesh])], dtype=np.float64)

    def heights(self, one: int, other: int, frame: FloatArray) -> float | None:
        """By how much two height fields differ; None if their axes do not map onto each other."""
        m = self.m
        a, b = int(m.geom_dataid[one]), int(m.geom_dataid[other])
        if np.abs(frame - np.diag(np.diag(frame))).max() > 1e-9 or frame[2, 2] < 0:
            return None
        shape = (int(m.hfield_nrow[a]), int(m.hfield_ncol[a]))
        if shape != (int(m.hfield_nrow[b]), int(m.hfield_ncol[b])) or not np.allclose(
            m.hfield_size[a], m.hfield_size[b]
        ):
            return None
        grids = [
            m.hfield_data[int(m.hfield_adr[f]) : int(m.hfield_adr[f]) + shape[0] * shape[1]].reshape(shape)
            for f in (a, b)
        ]
        image = grids[0][:: int(np.sign(frame[1, 1])), :: int(np.sign(frame[0, 0]))]  # rows run along y
        return float(np.abs(image - grids[1]).max()) * float(m.hfield_size[a][2])

    def sites(self) -> None:
        """Sites on which tendons, actuators and sensors are fixed."""
        m, rest = self.m, self.rest
        used = _used_sites(rest)
        for site in used:
            body = int(m.site_bodyid[site])
            place = self.matching.point(body, rest.site_pos[site])
            image = 0 if m.body_weldid[body] == 0 else int(self.matching.bodies[body])
            near = [s for s in used if (0 if m.body_weldid[m.site_bodyid[s]] == 0 else m.site_bodyid[s]) == image]
            if near:
                distances = np.linalg.norm(rest.site_pos[near] - place, axis=1) + 1e-9 * (np.array(near) != site)
                self.site_map[site] = near[int(np.argmin(distances))]
        for site in used:
            image = int(self.site_map[site])
            if image < 0:
                self.add("site without a partner", rest.name("site", site), "–", None, effect="sensing")
            elif self.once(site, image, self.site_map):
                bodies = int(m.site_bodyid[site]), int(m.site_bodyid[image])
                effect = "dynamics" if site in _acting_sites(rest) else "sensing"
                self.rows("site place", "site", site, image, "site_pos", self.places(*bodies),
                          scale=rest.extent, effect=effect)  # fmt: skip

    def contacts(self) -> None:
        """Which geoms can touch, explicit pairs with their own parameters, and the directions of friction."""
        m, rest = self.m, self.rest
        mapped = self.geom_map >= 0
        touching = rest.collides
        for one, other in zip(*np.nonzero(np.triu(touching)), strict=True):
            if not (mapped[one] and mapped[other]):
                continue
            a, b = int(self.geom_map[one]), int(self.geom_map[other])
            if not touching[a, b]:
                names = [f"{rest.name('geom', g)} and {rest.name('geom', h)}" for g, h in ((one, other), (a, b))]
                self.add("possible contact", *names, None, "can touch", "cannot touch")
        pairs = {
            frozenset((int(a), int(b))): k for k, (a, b) in enumerate(zip(m.pair_geom1, m.pair_geom2, strict=True))
        }
        images = np.full(m.npair, -1)
        for pair, number in pairs.items():
            images[number] = pairs.get(frozenset(int(self.geom_map[g]) for g in pair), -1)
        for number in range(m.npair):
            image = int(images[number])
            if image < 0:
                self.add("contact pair without a partner", self.pair_name(number), "–", None)
            elif self.once(number, image, images):
                for what, array in _PAIR.items():
                    self.rows(what, "pair", number, image, array, exact=array == "pair_dim")
        pyramids = m.opt.cone == self.rest.mujoco.mjtCone.mjCONE_PYRAMIDAL
        if pyramids and not self.motion.keeps_axes:
            self.cone()

    def pair_name(self, number: int) -> str:
        return " and ".join(self.rest.name("geom", int(g[number])) for g in (self.m.pair_geom1, self.m.pair_geom2))

    def cone(self) -> None:
        """Pyramids of friction stand along axes of the world, which turns do not keep.

        Quarter turns keep them on level floors. Between a plane and a capsule they stand along the capsule.
        """
        m = self.m
        is_quarter = bool(np.isclose(np.abs(self.q), np.round(np.abs(self.q))).all())
        level = (m.geom_type == PLANE) & (np.abs(np.abs(self.rest.geom_mat[:, 2, 2]) - 1) < 1e-9)
        planes, capsules = m.geom_type == PLANE, m.geom_type == CAPSULE
        along = (planes[:, None] & capsules[None, :]) | (capsules[:, None] & planes[None, :])
        slippery = (m.geom_condim[:, None] == 1) & (m.geom_condim[None, :] == 1)
        turned = self.rest.collides & ~along & ~slippery
        if is_quarter:
            turned &= ~(level[:, None] | level[None, :])
        if turned.any():

            def fix(model: Any, share: float) -> None:
                model.opt.cone = self.rest.mujoco.mjtCone.mjCONE_ELLIPTIC

            self.add("friction cone", "world", "world", None, "elliptic", "pyramidal", fix=fix)

    # ------------------------------------------------------------------ tendons, actuators, constraints, sensors

    def tendons(self) -> None:
        """Which tendon becomes which, and their parameters."""
        m = self.m
        paths = [self.path(t) for t in range(m.ntendon)]
        for tendon in range(m.ntendon):
            wanted = self.moved_path(paths[tendon])
            for image in range(m.ntendon):
                sign = _same_path(wanted, paths[image])
                if sign and (self.tendon_map[tendon] < 0 or image == tendon):
                    self.tendon_map[tendon], self.tendon_signs[tendon] = image, sign
        for tendon in range(m.ntendon):
            image = int(self.tendon_map[tendon])
            if image < 0:
                self.add("tendon without a partner", self.rest.name("tendon", tendon), "–", None)
            elif self.once(tendon, image, self.tendon_map):
                sign = float(self.tendon_signs[tendon])
                self.coefficients(tendon, image, self.moved_path(paths[tendon]), paths[image], sign)
                for what, array in _TENDON.items():
                    self.rows(what, "tendon", tendon, image, array)
                if m.tendon_limited[tendon]:
                    self.rows("tendon range", "tendon", tendon, image, "tendon_range", _interval(sign))
                if m.tendon_stiffness[tendon]:
                    self.rows("tendon rest length", "tendon", tendon, image, "tendon_lengthspring", _interval(sign))

    def coefficients(self, tendon: int, image: int, wanted: list[Any], got: list[Any], sign: float) -> None:
        """How much of each joint is in the sum of a linear tendon, and in that of its image."""
        names = self.rest.name("tendon", tendon), self.rest.name("tendon", image)
        found = {joint: parameter for kind, joint, parameter in got if kind == self.rest.mujoco.mjtWrap.mjWRAP_JOINT}
        for kind, joint, parameter in wanted:
            if kind == self.rest.mujoco.mjtWrap.mjWRAP_JOINT and joint in found:
                off = abs(sign * parameter - found[joint])
                if off > self.tolerance * max(abs(parameter), abs(found[joint])):
                    what = f"tendon coefficient of {self.rest.name('joint', joint)}"
                    self.add(what, *names, off, f"{sign * parameter:g}", f"{found[joint]:g}")

    def path(self, tendon: int) -> list[tuple[int, int, float]]:
        m, first = self.m, int(self.m.tendon_adr[tendon])
        where = range(first, first + int(m.tendon_num[tendon]))
        return [(int(m.wrap_type[w]), int(m.wrap_objid[w]), float(m.wrap_prm[w])) for w in where]

    def moved_path(self, path: list[tuple[int, int, float]]) -> list[tuple[int, int, float]]:
        wrap = self.rest.mujoco.mjtWrap
        found = []
        for kind, number, parameter in path:
            if kind == wrap.mjWRAP_JOINT:
                joint = int(self.matching.joints[number])
                found.append((kind, joint, parameter * float(self.matching.signs[number])))
            elif kind == wrap.mjWRAP_SITE:
                found.append((kind, int(self.site_map[number]), parameter))
            elif kind in (wrap.mjWRAP_SPHERE, wrap.mjWRAP_CYLINDER):
                found.append(
                    (kind, self.same_place(number), float(self.site_map[int(parameter)]) if parameter >= 0 else -1.0)
                )
            else:
                found.append((kind, number, parameter))
        return found

    def same_place(self, geom: int) -> int:
        """The geom in the right place on the image of a geom's body, whether it can touch anything or not; or −1."""
        m, rest = self.m, self.rest
        body = int(m.geom_bodyid[geom])
        image = 0 if m.body_weldid[body] == 0 else int(self.matching.bodies[body])
        place = self.matching.point(body, rest.geom_pos[geom])
        near = [g for g in range(m.ngeom) if int(m.geom_bodyid[g]) == image and m.geom_type[g] == m.geom_type[geom]]
        fitting = [g for g in near if np.linalg.norm(rest.geom_pos[g] - place) < 1e-6 * (1 + rest.extent)]
        return fitting[0] if fitting else -1

    def actuators(self) -> None:
        """Gears, ranges, kinds and parameters; the signs with which controls are mapped."""
        m = self.m
        options = {a: self.driven(a) for a in range(m.nu)}
        taken: set[int] = set()
        for actuator in range(m.nu):
            target, sign = self.driven_image(actuator)
            fitting = [a for a in range(m.nu) if options[a] == target and a not in taken]
            if not fitting:
                self.add("actuator without a partner", self.rest.name("actuator", actuator), "–", None)
                continue
            image = min(fitting, key=lambda a: (self.unlike(actuator, a), a != actuator))
            taken.add(image)
            self.actuator_map[actuator] = image
            self.actuator_signs[actuator] = self.actuator_sign(actuator, image, sign)
        for actuator in range(m.nu):
            image = int(self.actuator_map[actuator])
            if self.once(actuator, image, self.actuator_map):
                self.actuator(actuator, image, float(self.actuator_signs[actuator]))

    def driven(self, actuator: int) -> tuple[int, int, int]:
        m = self.m
        return int(m.actuator_trntype[actuator]), int(m.actuator_trnid[actuator, 0]), int(m.actuator_trnid[actuator, 1])

    def driven_image(self, actuator: int) -> tuple[tuple[int, int, int], float]:
        kind, first, second = self.driven(actuator)
        trn = self.rest.mujoco.mjtTrn
        sign = 1.0
        if kind in (trn.mjTRN_JOINT, trn.mjTRN_JOINTINPARENT):
            sign = float(self.matching.signs[first])
            first = int(self.matching.joints[first])
        elif kind == trn.mjTRN_TENDON:
            sign = float(self.tendon_signs[first])
            first = int(self.tendon_map[first])
        elif kind in (trn.mjTRN_SITE, trn.mjTRN_SLIDERCRANK):
            first = int(self.site_map[first])
            second = int(self.site_map[second]) if second >= 0 else second
        elif kind == trn.mjTRN_BODY:
            first = int(self.matching.bodies[first])
        return (kind, first, second), sign

    def unlike(self, one: int, other: int) -> float:
        m = self.m
        kinds = sum(int(getattr(m, a)[one] != getattr(m, a)[other]) for a in _ACTUATOR_KINDS)
        gear = 0.0
        if m.actuator_trntype[one] == self.rest.mujoco.mjtTrn.mjTRN_SITE:
            wanted = self.wrench(one)
            got = self.wrench(other, moved=False)
            gear = min(float(np.abs(wanted - got).max()), float(np.abs(wanted + got).max()))
        return kinds + gear + float(np.abs(m.actuator_gainprm[one] - m.actuator_gainprm[other]).max())

    def wrench(self, actuator: int, moved: bool = True) -> FloatArray:
        """Force and torque of an actuator on a site, in the world; as the motion moves them, if asked."""
        m = self.m
        frame = self.rest.site_mat[int(m.actuator_trnid[actuator, 0])]
        force, torque = frame @ m.actuator_gear[actuator, :3], frame @ m.actuator_gear[actuator, 3:]
        if moved:
            force, torque = self.q @ force, self.motion.handedness * self.q @ torque
        return np.concatenate([force, torque])

    def actuator_sign(self, one: int, other: int, sign: float) -> float:
        m = self.m
        if m.actuator_trntype[one] == self.rest.mujoco.mjtTrn.mjTRN_SITE:
            return 1.0 if self.wrench(one) @ self.wrench(other, moved=False) >= 0 else -1.0
        return sign * (1.0 if m.actuator_gear[one, 0] * m.actuator_gear[other, 0] >= 0 else -1.0)

    def actuator(self, one: int, other: int, sign: float) -> None:
        m, trn = self.m, self.rest.mujoco.mjtTrn
        names = self.rest.name("actuator", one), self.rest.name("actuator", other)
        if m.actuator_trntype[one] == trn.mjTRN_SITE:
            wanted, got = self.wrench(one) * sign, self.wrench(other, moved=False)
            off = float(np.abs(wanted - got).max())
            if off > self.tolerance * max(np.abs(wanted).max(), np.abs(got).max()):
                self.add("actuator gear", *names, off, _text(wanted), _text(got))
        else:
            by = 1.0 if m.actuator_gear[one, 0] * m.actuator_gear[other, 0] >= 0 else -1.0
            columns = (one, slice(0, 1)), (other, slice(0, 1))
            self.rows("actuator gear", "actuator", one, other, "actuator_gear", _signed(by), at=columns)
        for what, array in _ACTUATOR.items():
            self.rows(what, "actuator", one, other, array, exact=array in _ACTUATOR_KINDS)
        for what, array, limited in _ACTUATOR_RANGES:
            if getattr(m, limited)[one] and getattr(m, limited)[other]:
                self.rows(what, "actuator", one, other, array, _interval(sign))
        muscle = m.actuator_gaintype[one] == self.rest.mujoco.mjtGain.mjGAIN_MUSCLE
        if muscle and sign < 0:
            self.add("actuator direction", *names, None, "pushes", "pulls")
        # force = gain · ctrl + bias; odd are the constant of the bias, and what the gain takes from length and speed
        odd = np.ones(m.actuator_biasprm.shape[1])
        odd[0] = sign
        if m.actuator_biastype[one] == self.rest.mujoco.mjtBias.mjBIAS_AFFINE:
            self.rows(
                "actuator bias", "actuator", one, other, "actuator_biasprm", (lambda r: odd * r, lambda r: odd * r)
            )
        elif m.actuator_biastype[one]:
            self.rows("actuator bias", "actuator", one, other, "actuator_biasprm")
        even = np.ones(m.actuator_gainprm.shape[1])
        if m.actuator_gaintype[one] == self.rest.mujoco.mjtGain.mjGAIN_AFFINE:
            even[1:3] = sign
        self.rows("actuator gain", "actuator", one, other, "actuator_gainprm", (lambda r: even * r, lambda r: even * r))

    def equalities(self) -> None:
        """Equality constraints: each needs a partner between the images of what it connects."""
        m = self.m
        targets = [self.tied(e) for e in range(m.neq)]
        images = np.full(m.neq, -1)
        for constraint in range(m.neq):
            kind, parts = targets[constraint]
            wanted = (kind, tuple(self.image_of(k, p) for k, p in parts))
            swapped = (kind, wanted[1][::-1])
            fitting = [e for e in range(m.neq) if targets[e] in (wanted, swapped)]
            if fitting:
                images[constraint] = constraint if constraint in fitting else fitting[0]
            else:
                self.add("equality without a partner", self.rest.name("equality", constraint), "–", None)
        for constraint in range(m.neq):
            image = int(images[constraint])
            if self.once(constraint, image, images):
                for what, array in _EQUALITY.items():
                    self.rows(what, "equality", constraint, image, array)
                if m.eq_type[constraint] == self.rest.mujoco.mjtEq.mjEQ_JOINT:
                    self.joint_equality(constraint, image)

    def tied(self, constraint: int) -> tuple[int, tuple[tuple[str, int], ...]]:
        m, eq = self.m, self.rest.mujoco.mjtEq
        kind = int(m.eq_type[constraint])
        site = self.rest.mujoco.mjtObj.mjOBJ_SITE
        if kind in (eq.mjEQ_CONNECT, eq.mjEQ_WELD):
            word = "site" if m.eq_objtype[constraint] == site else "body"
        else:
            word = {int(eq.mjEQ_JOINT): "joint", int(eq.mjEQ_TENDON): "tendon"}.get(kind, "other")
        numbers = [int(m.eq_obj1id[constraint]), int(m.eq_obj2id[constraint])]
        return kind, tuple((word, n) for n in numbers if n >= 0)

    def image_of(self, kind: str, number: int) -> tuple[str, int]:
        maps = {
            "body": self.matching.bodies,
            "xbody": self.matching.bodies,
            "joint": self.matching.joints,
            "geom": self.geom_map,
            "site": self.site_map,
            "tendon": self.tendon_map,
            "actuator": self.actuator_map,
        }
        if kind == "geom" and self.geom_map[number] < 0:  # touches nothing, but may be looked at
            return kind, self.same_place(number)
        return (kind, int(maps[kind][number])) if kind in maps else (kind, number)

    def joint_equality(self, one: int, other: int) -> None:
        """``q1 = Σ c_k q2^k``: odd powers change their sign with q2, all of them with q1."""
        m, signs = self.m, self.matching.signs
        s1 = float(signs[int(m.eq_obj1id[one])])
        s2 = float(signs[int(m.eq_obj2id[one])]) if m.eq_obj2id[one] >= 0 else 1.0
        powers = s1 * s2 ** np.arange(5)
        at = ((one, slice(0, 5)), (other, slice(0, 5)))
        self.rows("equality coefficients", "equality", one, other, "eq_data",
                  (lambda r: powers * r, lambda r: powers * r), at=at)  # fmt: skip

    def sensors(self) -> None:
        """Sensors that have no partner: what an agent sees would not be symmetric."""
        m = self.m
        kinds = {int(value): name.removeprefix("mjOBJ_").lower() for name, value in self._object_types()}
        seen = [
            (int(m.sensor_type[s]), kinds.get(int(m.sensor_objtype[s]), ""), int(m.sensor_objid[s]))
            for s in range(m.nsensor)
        ]
        for sensor, (kind, word, number) in enumerate(seen):
            wanted = (kind, *self.image_of(word, number)) if number >= 0 else (kind, word, number)
            if wanted not in seen:
                name = self.rest.name("sensor", sensor)
                self.add("sensor without a partner", name, "–", None, effect="sensing")

    def _object_types(self) -> Iterable[tuple[str, Any]]:
        return [
            (n, getattr(self.rest.mujoco.mjtObj, n)) for n in dir(self.rest.mujoco.mjtObj) if n.startswith("mjOBJ_")
        ]

    def solver(self) -> None:
        """A solver that takes constraints one after the other ends elsewhere if the image has them in another order."""
        m, mujoco = self.m, self.rest.mujoco
        moved = bool((self.matching.joints != np.arange(m.njnt)).any())
        constrained = bool(self.rest.collides.any() or m.jnt_limited.any() or m.neq)
        if moved and constrained and m.opt.solver == mujoco.mjtSolver.mjSOL_PGS:

            def fix(model: Any, share: float) -> None:
                model.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON

            self.add(
                "solver order", "world", "world", None, "Newton", f"PGS, {m.opt.iterations} iterations", "order", fix
            )
        if moved and m.opt.noslip_iterations > 0 and bool(self.rest.collides.any()):

            def no_slip(model: Any, share: float) -> None:
                model.opt.noslip_iterations = 0

            found = f"{m.opt.noslip_iterations} iterations"
            self.add("noslip order", "world", "world", None, "0 iterations", found, "order", no_slip)
        for what in ("nflex", "nplugin"):
            if getattr(m, what, 0):
                self.add(f"{what[1:]} (not compared)", "world", "world", None)


# ---------------------------------------------------------------------- tables of plain properties

_JOINT = {
    "joint limited": "jnt_limited",
    "joint stiffness": "jnt_stiffness",
    "joint stiffness polynomial": "jnt_stiffnesspoly",
    "joint spring yield": "jnt_springyield",
    "joint limit margin": "jnt_margin",
    "joint limit solref": "jnt_solref",
    "joint limit solimp": "jnt_solimp",
    "joint gravity compensation by actuators": "jnt_actgravcomp",
    "joint actuator force limited": "jnt_actfrclimited",
}
_DOF = {
    "joint damping": "dof_damping",
    "joint damping polynomial": "dof_dampingpoly",
    "joint armature": "dof_armature",
    "joint friction loss": "dof_frictionloss",
    "joint friction solref": "dof_solref",
    "joint friction solimp": "dof_solimp",
}
_GEOM = {
    "geom friction": "geom_friction",
    "geom condim": "geom_condim",
    "geom priority": "geom_priority",
    "geom solmix": "geom_solmix",
    "geom solref": "geom_solref",
    "geom solimp": "geom_solimp",
    "geom margin": "geom_margin",
    "geom gap": "geom_gap",
    "geom adhesion": "geom_adhesion",
}
_PAIR = {
    "contact pair friction": "pair_friction",
    "contact pair condim": "pair_dim",
    "contact pair solref": "pair_solref",
    "contact pair solimp": "pair_solimp",
    "contact pair margin": "pair_margin",
    "contact pair gap": "pair_gap",
}
_TENDON = {
    "tendon limited": "tendon_limited",
    "tendon stiffness": "tendon_stiffness",
    "tendon damping": "tendon_damping",
    "tendon friction loss": "tendon_frictionloss",
    "tendon armature": "tendon_armature",
    "tendon limit solref": "tendon_solref_lim",
    "tendon limit solimp": "tendon_solimp_lim",
}
_ACTUATOR_KINDS = ("actuator_gaintype", "actuator_biastype", "actuator_dyntype")
_ACTUATOR = {
    "actuator kind of gain": "actuator_gaintype",
    "actuator kind of bias": "actuator_biastype",
    "actuator kind of activation": "actuator_dyntype",
    "actuator activation parameters": "actuator_dynprm",
    "actuator control limited": "actuator_ctrllimited",
    "actuator force limited": "actuator_forcelimited",
    "actuator damping": "actuator_damping",
    "actuator armature": "actuator_armature",
    "actuator delay": "actuator_delay",
}
_ACTUATOR_RANGES = (
    ("actuator control range", "actuator_ctrlrange", "actuator_ctrllimited"),
    ("actuator force range", "actuator_forcerange", "actuator_forcelimited"),
    ("actuator activation range", "actuator_actrange", "actuator_actlimited"),
)
_EQUALITY = {"equality solref": "eq_solref", "equality solimp": "eq_solimp", "equality active": "eq_active0"}


# ---------------------------------------------------------------------- small geometry


def _size_columns(kind: int, one: int, other: int) -> tuple[Any, Any]:
    used = {SPHERE: 1, CAPSULE: 2, CYLINDER: 2}.get(kind, 3)
    return (one, slice(0, used)), (other, slice(0, used))


def _without_fix(violation: Violation) -> Violation:
    return Violation(*(getattr(violation, k) for k in ("what", "one", "other", "amount", "wanted", "found", "effect")))


def _corners(size: FloatArray) -> FloatArray:
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, -1).T
    return signs * size


def _apart(a: FloatArray, b: FloatArray) -> float:
    """The largest distance of a point of one set from the nearest of the other."""
    from scipy.spatial import cKDTree

    there, back = cKDTree(a).query(b)[0], cKDTree(b).query(a)[0]
    return float(max(np.max(there), np.max(back)))


def _set_inertia(model: Any, body: int, tensor: FloatArray) -> None:
    """Put an inertia tensor, in the frame of the body, as principal moments and their axes."""
    moments, axes = np.linalg.eigh(tensor)
    model.body_inertia[body] = moments
    model.body_iquat[body] = quaternion(axes * np.sign(np.linalg.det(axes)))


def _point_geom(rest: Rest, model: Any, geom: int, axis: FloatArray, body: int) -> None:
    """Turn a geom the short way until its axis has a direction of the world."""
    frame = rest.geom_mat[geom]
    model.geom_quat[geom] = quaternion(rest.body_mat[body].T @ _between(frame[:, 2], axis) @ frame)


def _between(a: FloatArray, b: FloatArray) -> FloatArray:
    """The shortest turn that takes one direction to another (not the opposite one)."""
    v, c = np.cross(a, b), float(a @ b)
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + cross + cross @ cross / (1 + c)


def _same_path(a: list[tuple[int, int, float]], b: list[tuple[int, int, float]]) -> float:
    """+1 or −1 if two tendons are the same up to the sign of a linear one; 0 if they are not."""
    if len(a) != len(b):
        return 0.0
    if a and all(kind == 1 for kind, _, _ in (*a, *b)):  # mjWRAP_JOINT: a sum over joints, in any order
        ours, theirs = ({n: p for _, n, p in path} for path in (a, b))
        if set(ours) != set(theirs):
            return 0.0
        for sign in (1.0, -1.0):
            # the same whichever of both is asked, or one would have a partner that has none
            if all(abs(ours[n] - sign * theirs[n]) <= 0.5 * max(abs(ours[n]), abs(theirs[n])) for n in ours):
                return sign
        return 0.0
    for path in (b, b[::-1]):
        if all(x[:2] == y[:2] and abs(x[2] - y[2]) < 1e-6 for x, y in zip(a, path, strict=True)):
            return 1.0
    return 0.0


def _acting_sites(rest: Rest) -> set[int]:
    """Sites that forces act on: of tendons, actuators and constraints."""
    m, mujoco = rest.model, rest.mujoco
    found = {int(n) for n, kind in zip(m.wrap_objid, m.wrap_type, strict=True) if kind == mujoco.mjtWrap.mjWRAP_SITE}
    site_like = (mujoco.mjtTrn.mjTRN_SITE, mujoco.mjtTrn.mjTRN_SLIDERCRANK)
    for actuator in range(m.nu):
        if m.actuator_trntype[actuator] in site_like:
            found |= {int(n) for n in m.actuator_trnid[actuator] if n >= 0}
    for constraint in range(m.neq):
        if m.eq_objtype[constraint] == mujoco.mjtObj.mjOBJ_SITE:
            found |= {int(m.eq_obj1id[constraint]), int(m.eq_obj2id[constraint])}
    return found


def _used_sites(rest: Rest) -> list[int]:
    m = rest.model
    sensed = m.sensor_objid[m.sensor_objtype == rest.mujoco.mjtObj.mjOBJ_SITE]
    return sorted(_acting_sites(rest) | {int(s) for s in sensed})
