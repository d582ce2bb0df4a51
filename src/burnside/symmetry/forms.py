"""Canonical forms of finite groups, as they follow from a declaration: of all images, the largest one.

Which image represents an orbit is free to choose (a *fundamental domain*), and the choice matters to a learner. All
forms here are exact: two observations have one form if and only if one is an image of the other. None of them can be
continuous everywhere: where the deciding numbers tie, observations that differ little may have forms that differ much.
So let a number decide that is seldom near a tie, or whose ties do not matter.

**Ties.** If the deciding numbers are equal for several images, the remaining numbers decide, in their order; if all are
equal, the images are the same (the observation is symmetric itself), and the element of the least number is taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from burnside._types import AnyArray, IntArray
from burnside.errors import InvalidParameter, UnknownName
from burnside.symmetry.acting import Acting, LeafActing, TreeActing
from burnside.symmetry.labels import Labels
from burnside.symmetry.vectors import SignedPermutation

if TYPE_CHECKING:
    from burnside.symmetry.declaration import EnvSymmetry

__all__ = ["CanonicalForm", "FiniteForm", "largest"]


class CanonicalForm:
    """``x → (x̄, g)`` with ``x̄ = g·x``; made by :func:`~burnside.symmetry.canonical_form`. Batched, no hidden state.

    Attributes:
        declaration: the symmetry.
        domain: the choice of representatives.
    """

    def __init__(self, declaration: EnvSymmetry, domain: Any) -> None:
        self.declaration, self.domain = declaration, domain
        self.act = declaration.act_on_observation
        self._act_on_action, self._inverse = declaration.act_on_action, declaration.group.inverse
        acting, elements = declaration.on("action"), declaration.elements
        self._undo: list[Any] = []  # what undoes each element, where that is one map
        if isinstance(acting, LeafActing) and elements is not None:
            self._undo = [acting.maps[self._inverse(g)] for g in elements]

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """``(x̄, g)`` with ``x̄ = g·x``, the same x̄ for the whole orbit of x."""
        raise NotImplementedError

    def undo(self, action: Any, g: Any) -> Any:
        """The action ``g⁻¹·ā`` that does to x what ``ā`` does to x̄."""
        if g.__class__ is int and 0 <= g < len(self._undo):
            return self._undo[g](action)
        return self._act_on_action(self._inverse(g), action)

    def __repr__(self) -> str:
        """Of what, and by what."""
        return f"<canonical form of {self.declaration.name} by {self.domain or 'lexicographic'}>"


class FiniteForm(CanonicalForm):
    """The largest of all images, the deciding coordinates first."""

    def __init__(self, declaration: EnvSymmetry, domain: Any) -> None:
        super().__init__(declaration, domain)
        self._acting: Acting = declaration.on("observation")
        self._score: Callable[[Any], Any] | None = domain if callable(domain) else None
        self._orders: dict[Any, IntArray] = {}
        items = domain if isinstance(domain, list) or (isinstance(domain, tuple) and not _is_pair(domain)) else [domain]
        self._first = [] if callable(domain) or domain in (None, "lexicographic") else [self._resolve(d) for d in items]
        self._labels = self._by_label() if self._score is None else None
        self._pairs = self._two_images() if self._score is None else None
        self._shape: tuple[int, ...] | None = None  # of a single vector, if that is all it takes to be fast
        if self._pairs:
            assert isinstance(self._acting, LeafActing)
            reflection: Any = self._acting.maps[1]
            self._shape, self._decides = (reflection.width,), self._pairs[0]
            self._reflect: Callable[[AnyArray], AnyArray] = operator.neg if reflection.negates else reflection.apply

    def _resolve(self, item: Any) -> tuple[str | None, int | None]:
        """(part, place) of a deciding coordinate; part None is the only array, place None the whole part."""
        names = self.declaration.names
        if isinstance(item, str) and item in names:
            item = names.index(item)
        if isinstance(item, int | np.integer) and not isinstance(item, bool):
            self._check_place(int(item))
            return None, int(item)
        tree = self._acting.inside if isinstance(self._acting, TreeActing) else {}
        key, place = item if _is_pair(item) else (item, None)
        if key in tree or str(key).split("/")[0] in map(str, tree):
            return str(key), place
        raise UnknownName("coordinate", str(item), [*names, *map(str, tree)])

    def _check_place(self, place: int) -> None:
        acting = self._acting
        if isinstance(acting, TreeActing):
            raise InvalidParameter("the observation has several arrays: name the key, or a pair (key, number)")
        if not isinstance(acting, LeafActing) or not all(isinstance(m, SignedPermutation) for m in acting.maps):
            return
        index, signs = acting._signed  # type: ignore[misc]
        if not 0 <= place < index.shape[1]:
            raise InvalidParameter(f"number {place} cannot decide: the observation has {index.shape[1]} numbers")
        moves = (index != np.arange(index.shape[1])) | (signs < 0)
        if not moves[:, place].any():
            able = ", ".join(map(str, np.flatnonzero(moves.any(axis=0))[:20].tolist()))
            raise InvalidParameter(
                f"number {place} is the same in all images, so it cannot decide: choose among {able}"
            )

    def _by_label(self) -> tuple[list[Any], list[int]] | None:
        """For single labels: the form of each, in a table."""
        if not isinstance(self._acting, LeafActing) or not isinstance(self._acting.maps[0], Labels):
            return None
        model, group = self._acting.maps[0], self.declaration.group
        table = self._acting._table
        assert table is not None
        best = np.argmax(table, axis=0)
        forms = table[best, np.arange(model.count)] + model.start
        assert group.order == len(table)
        return forms.tolist(), best.tolist()

    def _two_images(self) -> list[tuple[int, int, int]] | None:
        """For a group of two elements and one vector: (place, its partner, sign), in the order in which they decide."""
        acting = self._acting
        if not isinstance(acting, LeafActing) or acting._signed is None or acting.order != 2:
            return None
        index, signs = (part[1] for part in acting._signed)
        order = self._columns([("", np.zeros(index.size), 1)])
        changes = (index != np.arange(index.size)) | (signs < 0)
        return [(int(i), int(index[i]), int(signs[i])) for i in order if changes[i]]

    def __call__(self, x: Any) -> tuple[Any, Any]:
        """The representative, and the element that leads to it."""
        if x.__class__ is np.ndarray and x.shape == self._shape:  # one vector, two images
            place, partner, sign = self._decides
            here, there = x.item(place), x.item(partner) * sign
            if here > there:
                return x, 0
            return (self._reflect(x), 1) if here < there else self._tied(x)
        if self._labels is not None and isinstance(x, int | np.integer):
            model: Any = self._acting.maps[0]  # type: ignore[attr-defined]
            model(x)  # refuses what is not a label
            return self._labels[0][int(x) - model.start], self._labels[1][int(x) - model.start]
        found = self._acting.images(x)
        lead = self._acting.lead(x) or ()
        g = largest(*self._ranked(found, len(lead)))
        if not lead:
            chosen = int(g)
            return self.act(chosen, x), chosen
        return self.act(g, x), g

    def _tied(self, x: AnyArray) -> tuple[AnyArray, int]:
        """One vector, two images, of which the first number does not tell which is larger."""
        for place, partner, sign in self._pairs or ():
            here, there = x.item(place), x.item(partner) * sign
            if here > there:
                return x, 0
            if here < there:
                return self._reflect(x), 1
            if here != there:
                raise _nan()
        return x, 0

    def _ranked(self, images: Any, lead: int) -> tuple[AnyArray, float]:
        """Rows to compare, ``(…, images, numbers)`` with the deciding numbers first; and the tolerance."""
        parts = [part for part in self._acting.parts(images) if part[2] is not None]
        if not parts:
            raise InvalidParameter("nothing in the observation is known to move, so there are no images to choose from")
        rows = [a.reshape(*a.shape[: lead + 1], -1) for _, a, _ in parts]
        flat = rows[0] if len(rows) == 1 else np.concatenate(rows, axis=-1)
        if flat.dtype.kind == "f" and np.isnan(flat).any():
            raise _nan()
        if self._first:
            flat = flat[..., self._columns(parts)]
        tolerance = 0.0
        if not self._acting.exact and flat.dtype.kind == "f":
            finite = np.abs(flat[np.isfinite(flat)])
            tolerance = 64 * float(np.finfo(flat.dtype).eps) * max(1.0, float(finite.max(initial=0.0)))
        if self._score is not None:
            score = np.asarray(self._score(images), dtype=np.float64)
            if score.shape == flat.shape[:-1]:
                score = score[..., None]
            if score.shape[:-1] != flat.shape[:-1]:
                raise InvalidParameter(
                    f"the domain's function must give one score (or one row) per observation, for any leading axes: "
                    f"expected shape {flat.shape[:-1]}, got {score.shape}"
                )
            flat = np.concatenate([score, flat], axis=-1)
        return flat, tolerance

    def _columns(self, parts: list[tuple[str, AnyArray, int | None]]) -> IntArray:
        """All columns, the deciding ones first."""
        sizes, names = [], []
        for name, a, own in parts:
            names.append(name)
            sizes.append(int(np.prod(a.shape[a.ndim - (own or 0) :])))
        key = tuple(zip(names, sizes, strict=True))
        if key not in self._orders:
            starts = np.concatenate([[0], np.cumsum(sizes)])
            first: list[int] = []
            for part, place in self._first:
                which = [
                    i for i, name in enumerate(names) if part is None or name == part or name.startswith(f"{part}/")
                ]
                if not which:
                    raise InvalidParameter(f"the part {part!r} cannot decide: it has no axes of its own that are known")
                if place is None:
                    first += [c for i in which for c in range(int(starts[i]), int(starts[i + 1]))]
                elif 0 <= place < sizes[which[0]]:
                    first.append(int(starts[which[0]]) + int(place))
                else:
                    raise InvalidParameter(f"number {place} cannot decide: there are {sizes[which[0]]} numbers")
            seen = dict.fromkeys(first)
            self._orders[key] = np.array([*seen, *(c for c in range(int(starts[-1])) if c not in seen)])
        return self._orders[key]


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) and isinstance(item[1], int)


def _nan() -> InvalidParameter:
    return InvalidParameter("the observation has NaN entries, which have no order: remove them first")


_MANY = 16  # images from which on numbers are compared one by one, not images


def largest(rows: AnyArray, tolerance: float) -> AnyArray:
    """Which of the rows ``(…, images, numbers)`` is lexicographically largest; the first among equals.

    >>> largest(np.array([[1, 0], [2, 0], [2, 1]]), 0.0)
    np.int64(2)
    """
    if not tolerance and rows.shape[-2] > _MANY:
        return _largest_of_many(rows)
    best = np.zeros(rows.shape[:-2], dtype=np.int64)
    top = rows[..., 0, :]
    for k in range(1, rows.shape[-2]):
        other = rows[..., k, :]
        if tolerance:
            with np.errstate(invalid="ignore"):
                differs = (other != top) & ~(np.abs(other - top) <= tolerance)
        else:
            differs = other != top
        where = np.argmax(differs, axis=-1)[..., None]
        mine, theirs = (np.take_along_axis(a, where, axis=-1)[..., 0] for a in (top, other))
        # where nothing differs beyond the tolerance, the first is kept
        better = np.take_along_axis(differs, where, axis=-1)[..., 0] & (theirs > mine)
        best = np.where(better, k, best)
        top = np.where(better[..., None], other, top)
    return best[()]


def _largest_of_many(rows: AnyArray) -> AnyArray:
    """The same number by number: those rows are left that are largest so far. Most are decided by the first few."""
    left = np.ones(rows.shape[:-1], dtype=np.bool_)
    for column in np.moveaxis(rows, -1, 0):
        top = np.max(column, axis=-1, keepdims=True, where=left, initial=_least(column))
        left &= column == top
        if (left.sum(axis=-1) == 1).all():
            break
    return np.argmax(left, axis=-1)


def _least(a: AnyArray) -> Any:
    """What no entry of such an array is below."""
    if a.dtype.kind == "b":
        return False
    return -np.inf if a.dtype.kind == "f" else np.iinfo(a.dtype).min
